"""Every way TensorFlow runs a graph: the same numbers with and without Tektite, and Tektite did run."""

import numpy as np
import pytest

# Whole models: largest difference relative to the largest output.
TOLERANCE = 2e-5

FUNCTION = """
w, b = tf.Variable(normal(8, 8)), tf.Variable(normal(8))
@tf.function
def f(x):
    return tf.nn.relu(tf.matmul(x, w) * 2.0 + b) * 0.5 + 1.0
"""

HOSTS = {
    "tf.function": FUNCTION + """
x = tf.constant(normal(4, 8))
report(y=[f(x) for _ in range(4)], other_shape=f(tf.constant(normal(3, 8))))
""",
    "input signature with unknown sizes": """
w = tf.Variable(normal(8, 8))
@tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32)])
def f(x):
    return tf.nn.relu(tf.matmul(x, w) * 2.0) + 1.0
report(y=[f(tf.constant(normal(n, 8))) for n in (1, 4, 7, 1)])
""",
    "keras predict and call": """
import keras
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Input([8]), keras.layers.Dense(16, activation="relu"),
                          keras.layers.Rescaling(2.0, offset=1.0), keras.layers.Dense(4)])
x = normal(10, 8)
report(predict=model.predict(x, batch_size=4, verbose=0), call=model(x),
       compiled=tf.function(model)(x))
""",
    "keras fit": """
import keras
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Input([8]), keras.layers.Dense(16, activation="relu"),
                          keras.layers.Rescaling(2.0, offset=1.0), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = normal(64, 8), normal(64, 1)
losses = model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=0).history["loss"]
report(losses=losses, weights=[v.numpy() for v in model.weights])
""",
    "saved model signature": """
import tempfile
class Module(tf.Module):
    def __init__(self):
        self.w = tf.Variable(normal(8, 8))
    @tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32)])
    def serve(self, x):
        return {"y": tf.nn.relu(tf.matmul(x, self.w) * 2.0 + 1.0)}
module = Module()
with tempfile.TemporaryDirectory() as folder:
    tf.saved_model.save(module, folder, signatures={"serving_default": module.serve})
    serve = tf.saved_model.load(folder).signatures["serving_default"]
    report(y=[serve(x=tf.constant(normal(4, 8)))["y"] for _ in range(3)])
""",
    "session": """
tf1 = tf.compat.v1
with tf.Graph().as_default(), tf1.Session() as session:
    x = tf1.placeholder(tf.float32, [None, 8])
    w = tf1.get_variable("w", initializer=normal(8, 8), use_resource=True)
    ref = tf1.get_variable("ref", initializer=normal(8), use_resource=False)
    hidden = tf.nn.relu(tf.matmul(x, w) * 2.0 + ref)
    y = tf.nn.relu(hidden * 3.0 + 1.0)
    update = w.assign(w * 0.5)
    session.run(tf1.global_variables_initializer())
    feed = {x: normal(4, 8)}
    first = session.run(y, feed)
    both = session.run([hidden, y], feed)
    fed_inside = session.run(y, {hidden: normal(4, 8)})
    session.run(update)
    report(first=first, both=both, fed_inside=fed_inside, after=session.run(y, feed))
""",
    "tf.data map": """
w = tf.Variable(normal(8))
data = tf.data.Dataset.from_tensor_slices(normal(12, 8))
serial = data.map(lambda x: tf.nn.relu(x * 2.0 + w) * 0.5).batch(5)
parallel = data.map(lambda x: tf.nn.relu(x * 2.0 + w) * 0.5, num_parallel_calls=4).batch(5)
report(serial=list(serial), parallel=list(parallel))
""",
    "two threads": FUNCTION + """
x = [tf.constant(normal(4 + i, 8)) for i in range(2)]
out = [[], []]
def work(i):
    for _ in range(200):
        out[i].append(f(x[i]).numpy())
threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
for t in threads: t.start()
for t in threads: t.join()
report(same=[all((o == out[i][0]).all() for o in out[i]) for i in range(2)], y=[o[0] for o in out])
""",
    "mirrored strategy": """
strategy = tf.distribute.MirroredStrategy(["CPU:0"])
with strategy.scope():
    w = tf.Variable(normal(8, 8))
@tf.function
def step(x):
    return strategy.run(lambda x: tf.nn.relu(tf.matmul(x, w) * 2.0 + 1.0), args=(x,))
x = tf.constant(normal(4, 8))
report(y=[strategy.experimental_local_results(step(x)) for _ in range(3)])
""",
    "one device strategy": """
strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
with strategy.scope():
    w = tf.Variable(normal(8, 8))
@tf.function
def step(x):
    return strategy.run(lambda x: tf.nn.relu(tf.matmul(x, w) * 2.0 + 1.0), args=(x,))
report(y=[step(tf.constant(normal(4, 8))) for _ in range(3)])
""",
    "gradient tape": """
w = tf.Variable(normal(8, 8))
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.relu(tf.matmul(x, w) * 0.1 + 1.0) * 0.1)
    gradient = tape.gradient(loss, w)
    w.assign_sub(gradient * 0.01)
    return loss, gradient
x = tf.constant(normal(4, 8))
report(steps=[step(x) for _ in range(20)], w=w)
""",
    # Constant folding leaves shapes that wait for the reads of the filters, which is no cycle.
    "gradients of convolution and pooling": """
import keras
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Input([12, 12, 3]), keras.layers.Conv2D(8, 3, strides=2, padding="same"),
                          keras.layers.ReLU(), keras.layers.MaxPooling2D(3, 2, padding="same"),
                          keras.layers.Conv2D(8, 1), keras.layers.Flatten(), keras.layers.Dense(2)])
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True)))
    return [loss] + tape.gradient(loss, model.trainable_variables)
report(y=[step(tf.constant(normal(4, 12, 12, 3))) for _ in range(2)])
""",
    "loops and branches": """
w = tf.Variable(normal(8))
@tf.function
def f(x, n):
    for _ in tf.range(n):
        x = tf.nn.relu(x * 0.9 + w)
    if tf.reduce_sum(x) > 1e6:
        x = tf.nn.relu(x * 5.0 + 2.0)
    else:
        x = tf.nn.relu(x * 3.0 - 1.0) * 2.0
    return x * 2.0 + 1.0
x = tf.constant(normal(4, 8))
report(y=[f(x, tf.constant(n)) for n in (0, 1, 5)])
""",
    "reads around an update": """
v = tf.Variable(normal(4, 8))
@tf.function
def f(x):
    before = tf.nn.relu(x * v + 1.0)
    v.assign_add(tf.ones_like(v))
    after = tf.nn.relu(x * v + 1.0)
    return before, after
x = tf.constant(normal(4, 8))
report(y=[f(x) for _ in range(3)], v=v)
""",
    "calls within calls": """
w = tf.Variable(normal(8, 8))
@tf.function
def inner(x):
    return tf.nn.relu(tf.matmul(x, w) * 2.0)
@tf.function
def outer(x):
    return inner(inner(x) * 0.1) + 1.0
report(y=[outer(tf.constant(normal(4, 8))) for _ in range(2)])
""",
}


def flatten(value) -> list[float]:
    if isinstance(value, dict):
        return [x for v in value.values() for x in flatten(v)]
    if isinstance(value, list):
        return [x for v in value for x in flatten(v)]
    return [float(value)]


@pytest.mark.parametrize("host", HOSTS)
def test_same_numbers(run_pair, host):
    plain, compiled = run_pair(HOSTS[host])
    assert plain.stats == {}
    expected, actual = np.array(flatten(plain.values)), np.array(flatten(compiled.values))
    assert expected.shape == actual.shape
    assert np.abs(expected - actual).max() <= TOLERANCE * np.abs(expected).max()
    assert compiled.host["clusters_placed"] > 0, compiled.stats
    assert compiled.stats["runs"] > 0, compiled.stats
    assert compiled.host["fallbacks"] == {}, compiled.stats


@pytest.mark.parametrize("host", ["tf.function", "session", "saved model signature", "keras fit"])
def test_unset_leaves_everything_to_tensorflow(run_program, host):
    result = run_program(HOSTS[host])
    assert result.host["graphs"] == 0
    assert "runs" not in result.stats, "the compiler was opened for nothing"
