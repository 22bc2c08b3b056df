"""Direct calls from several threads, on several devices and while variables change."""

from tests.end_to_end.calls.direct_calls import MODEL, check_close


def test_threads_share_a_function(run_pair):
    plain, compiled = run_pair(MODEL + """
inputs = [tf.constant(normal(8, 24)) for _ in range(6)]
wanted, wrong = [tf.nn.softmax(tf.matmul(a, w) + b).numpy() for a in inputs], []
def work(i):
    for _ in range(150):
        y = f(inputs[i]).numpy()
        if not np.allclose(y, wanted[i], rtol=1e-4, atol=1e-6):
            wrong.append(i)
threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]
report(wrong=wrong)
assert os.environ["TEKTITE"] == "0" or direct() > before + 600
""")
    assert plain.values == compiled.values == {"wrong": []}


def test_threads_while_a_function_is_traced_again(run_pair):
    plain, compiled = run_pair(MODEL + """
wrong, captures = [], f.get_concrete_function(x).captured_inputs
def work(i):
    a = tf.constant(normal(8, 24))
    wanted = tf.nn.softmax(tf.matmul(a, w) + b).numpy()
    for step in range(120):
        if step % 20 == 10:
            f(tf.constant(normal(20 + 6 * i + step // 20, 24)))  # a shape of its own
        if i == 0 and step % 15 == 5:  # equal values in other tensors
            f.get_concrete_function(x).set_external_captures([tf.identity(c) for c in captures])
        if not np.allclose(f(a).numpy(), wanted, rtol=1e-4, atol=1e-6):
            wrong.append(i)
threads = [threading.Thread(target=work, args=(i,)) for i in range(5)]
[t.start() for t in threads]; [t.join() for t in threads]
report(wrong=wrong)
""")
    assert plain.values == compiled.values == {"wrong": []}


def test_variables_on_two_devices(run_pair):
    plain, compiled = run_pair("""
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0],
                                           [tf.config.LogicalDeviceConfiguration()] * 2)
with tf.device("CPU:0"):
    w = tf.Variable(normal(24, 16))
with tf.device("CPU:1"):
    b = tf.Variable(normal(16))
f = tf.function(lambda x: tf.nn.softmax(tf.matmul(x, w) + b))
x = tf.constant(normal(8, 24))
report(ys=[f(x) for _ in range(20)])
""")
    check_close(plain, compiled)


def test_predictions_while_variables_change(run_program):
    result = run_program(MODEL + """
stop, wrong = threading.Event(), []
b.assign(tf.zeros([16]))
def assign():
    while not stop.is_set():
        w.assign(tf.fill([24, 16], float(rng.integers(1, 5))))
thread = threading.Thread(target=assign)
w.assign(tf.fill([24, 16], 1.0))
thread.start()
for _ in range(1500):
    y = f(x).numpy()
    if np.abs(y - 1 / 16).max() > 1e-6:  # every column is the same, whichever value it was
        wrong.append(y.tolist())
stop.set(); thread.join()
report(wrong=wrong[:1], direct=direct() - before)
""", tektite="1")
    assert result.values["wrong"] == []
    assert result.values["direct"] > 100
