"""Long calls for which no caller waits any more end, with the error that users know.

A kernel is left between its chunks; one that has a single chunk (a sum of everything) ends first.

Guards against: compiled code that ran for a minute, deaf to a timeout, where TensorFlow refuses because memory is
out."""

PROGRAM = """
import threading
from tensorflow.python.eager import cancellation
n = 1 << 19  # the outer product has 2^38 elements: a TiB, some minutes of work

@tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])])
def f(a, b):
    return tf.reduce_max(tf.reduce_sum(tf.exp(tf.sin(a[:, None] * b)), axis=1))

def message(call):
    try:
        return f"result {call()}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"

small = [float(f(tf.ones([k]), tf.ones([k + 1]))) for k in (2, 3, 5)]
manager = cancellation.CancellationManager()
cancellable = manager.get_cancelable_function(f.get_concrete_function())
a, b = tf.ones([n]), tf.ones([n])
outcome = []
thread = threading.Thread(target=lambda: outcome.append(message(lambda: float(cancellable(a, b)))))
before = tektite.stats()["host"]["runs"]
thread.start()
while tektite.stats()["host"]["runs"] == before and thread.is_alive():
    thread.join(0.01)
thread.join(0.5)
in_time = thread.is_alive()
manager.start_cancel()
thread.join()

tf1 = tf.compat.v1
with tf.Graph().as_default(), tf1.Session() as session:
    x, y = tf1.placeholder(tf.float32, [None]), tf1.placeholder(tf.float32, [None])
    z = tf.reduce_max(tf.reduce_sum(tf.exp(tf.sin(x[:, None] * y)), axis=1))
    for k in (2, 3, 5):
        session.run(z, {x: np.ones(k), y: np.ones(k + 1)})
    feeds = {x: np.ones(n, np.float32), y: np.ones(n, np.float32)}
    timeout = message(lambda: session.run(z, feeds, options=tf1.RunOptions(timeout_in_ms=500)))
    after = float(session.run(z, {x: np.ones(2), y: np.ones(3)}))
report(outcome=outcome, in_time=in_time, timeout=timeout, small=small, after=after)
"""


def test_a_cancelled_call_ends(run_program):
    result = run_program(PROGRAM, tektite="1", TEKTITE_FLAGS="--tier=generic")
    assert result.values["in_time"], "the call was over before it could be cancelled"
    assert result.values["outcome"][0].startswith("CancelledError")
    assert result.values["timeout"].startswith("DeadlineExceededError")
    assert result.host["fallbacks"]["CANCELLED"] == 2
    assert abs(result.values["after"] - result.values["small"][0]) < 1e-3
