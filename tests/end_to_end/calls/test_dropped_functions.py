"""Functions go while their fallbacks are prepared behind their calls."""

# XLA asks for Python's lock while it compiles, and takes seconds here.
DROPPED = """
import faulthandler, gc, time
faulthandler.dump_traceback_later(100, exit=True)

def make(k):
    def f(x):
        for i in range(30):
            x = tf.nn.softmax(tf.tanh(x @ x * (k + 1.5)) * (i + 0.5)) + tf.sin(x)
        return x
    return tf.function(f, jit_compile=True)

longest, ends = 0.0, False
def watch():
    global longest
    last = time.perf_counter()
    while not ends:
        time.sleep(0.002)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now

x = tf.ones([64, 64])
took = []
for k in range(3):
    f = make(k)
    for _ in range(5):
        f(x)
    time.sleep(0.05)
    if k == 1:
        watcher = threading.Thread(target=watch)
        watcher.start()
    began = time.perf_counter()
    del f
    gc.collect()
    took.append(time.perf_counter() - began)
    if k == 1:
        ends = True
        watcher.join()
tektite.wait_until_compiled()
report(took=took, longest=longest)
"""


def test_dropping_a_function_waits_for_nothing(run_program):
    """The destructor waited with Python's lock for a thread that waited for Python's lock: for ever."""
    result = run_program(DROPPED, tektite="1", timeout=150, TEKTITE_FLAGS="--compare --cache_dir=off")
    assert result.host["prepared_fallbacks"] >= 1
    assert max(result.values["took"]) < 1.0 and result.values["longest"] < 1.0


# A session's devices go with it: it waits for the work on them.
SESSIONS = """
tf1 = tf.compat.v1
values = []
for k in range(6):
    with tf.Graph().as_default(), tf1.Session() as session:
        w = tf1.get_variable("w", initializer=normal(32, 32), use_resource=True)
        x = tf1.placeholder(tf.float32, [4, 32])
        y = tf.nn.softmax(tf.tanh(x @ w) * (k + 1.0))
        session.run(tf1.global_variables_initializer())
        for _ in range(3 + k):
            values.append(session.run(y, {x: np.ones([4, 32], np.float32)}).sum())
report(y=values)
"""


def test_sessions_close_while_fallbacks_are_prepared(run_pair):
    plain, compiled = run_pair(SESSIONS, TEKTITE_FLAGS="--compare --cache_dir=off")
    assert max(abs(a - b) for a, b in zip(compiled.values["y"], plain.values["y"], strict=True)) < 1e-4
    assert compiled.host["prepared_fallbacks"] >= 1
