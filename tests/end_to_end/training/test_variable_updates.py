"""Variables that compiled code assigns to have TensorFlow's values after every step, whatever other code uses them."""

import numpy as np
import pytest

from tests.end_to_end.batches import Batch

TRAINING = """
import keras
keras.utils.set_random_seed(3)
model = keras.Sequential([
    keras.Input((24,)), keras.layers.Dense(40, activation="relu"), keras.layers.BatchNormalization(),
    keras.layers.Dense(40, activation="tanh", kernel_regularizer="l2"), keras.layers.Dense(5)])
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = OPTIMIZER
optimizer.build(model.trainable_variables)
@tf.function
def step(x, labels):
    with tf.GradientTape() as tape:
        loss = loss_of(labels, model(x, training=True)) + sum(model.losses)
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    return loss
predict = tf.function(lambda x: model(x, training=False))
x, labels = tf.constant(normal(32, 24)), tf.constant(rng.integers(0, 5, 32))
"""

STEPS = """
losses, weights, predictions = [], [], []
for i in range(8):
    losses.append(step(x, labels))
    weights.append([w.numpy() for w in model.weights] + [v.numpy() for v in optimizer.variables])
    predictions.append(predict(x))
report(losses=losses, weights=weights, predictions=predictions)
"""

OPTIMIZERS = {
    "SGD": "keras.optimizers.SGD(0.05)",
    "momentum": "keras.optimizers.SGD(0.05, momentum=0.9)",
    "Nesterov": "keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True)",
    "Adam": "keras.optimizers.Adam(0.01)",
    "AMSGrad": "keras.optimizers.Adam(0.01, amsgrad=True)",
    "AdamW": "keras.optimizers.AdamW(0.01)",
    "RMSprop": "keras.optimizers.RMSprop(0.01, momentum=0.5, centered=True)",
    "Adagrad": "keras.optimizers.Adagrad(0.05)",
    "Adadelta": "keras.optimizers.Adadelta(0.5)",
    "Adamax": "keras.optimizers.Adamax(0.01)",
    "Ftrl": "keras.optimizers.Ftrl(0.05)",
    "Lion": "keras.optimizers.Lion(0.001)",
    "clipnorm": "keras.optimizers.Adam(0.01, clipnorm=0.5)",
    "global_clipnorm": "keras.optimizers.Adam(0.01, global_clipnorm=0.5)",
    "moving average": "keras.optimizers.SGD(0.05, use_ema=True, ema_overwrite_frequency=3)",
}


def flat(value):
    return [x for v in value for x in flat(v)] if isinstance(value, list) else [value]


def check_close(plain, compiled, tolerance):
    for name, value in plain.values.items():
        for a, b in zip(value, compiled.values[name], strict=True):
            a, b = np.asarray(flat(a)), np.asarray(flat(b))
            assert np.abs(a - b).max() <= tolerance * max(np.abs(a).max(), 1e-6), name


ALL_OPTIMIZERS = Batch("optimizers of Keras", {name: TRAINING.replace("OPTIMIZER", optimizer) + STEPS
                                               for name, optimizer in OPTIMIZERS.items()})


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(run_batch, name):
    plain, compiled = run_batch(ALL_OPTIMIZERS, name)
    # Lion takes signs, and Adam divides by the size of a gradient that may be next to nothing.
    check_close(plain, compiled, 2e-3 if name == "Lion" else 2e-4)
    assert compiled.host["updates"] > 0
    assert compiled.host["fallbacks"] == {}


def test_training_steps_beside_predictions(run_pair):
    text = TRAINING.replace("OPTIMIZER", OPTIMIZERS["Adam"]) + """
stop, wrong = [], []
def read():
    while not stop:
        y = predict(x).numpy()
        if not np.isfinite(y).all():
            wrong.append(y)
readers = [threading.Thread(target=read) for _ in range(2)]
predict(x)
for r in readers: r.start()
losses = [step(x, labels).numpy() for _ in range(40)]
stop.append(True)
for r in readers: r.join()
report(losses=losses, last=[predict(x)], wrong=[len(wrong)])
"""
    plain, compiled = run_pair(text)
    check_close(plain, compiled, 1e-2)
    assert compiled.values["wrong"] == [0]


# Each program reports what has to be the same to the bit.
PROGRAMS = {
    "reads after writes, and two writes": """
v = tf.Variable(normal(4, 8))
@tf.function
def f(x):
    before = v.read_value() * 1.0
    v.assign_add(x * 2.0)
    between = v * 3.0
    v.assign(v * 0.5 - x)
    return before, between, v.read_value()
ys = [f(tf.constant(normal(4, 8))) for _ in range(4)]
report(ys=ys, v=v)
""",
    "two variables change places": """
a, b = tf.Variable(normal(64)), tf.Variable(normal(64))
@tf.function
def f():
    x, y = a * 2.0, b + 1.0
    a.assign(y)
    b.assign(x)
for _ in range(5): f()
report(a=a, b=b)
""",
    "one variable becomes the other": """
a, b = tf.Variable(normal(64)), tf.Variable(normal(64))
@tf.function
def f(x):
    b.assign(a)
    a.assign_sub(x * x)
    return a * 2.0
ys = [f(tf.constant(normal(64))) for _ in range(4)]
report(a=a, b=b, ys=ys)
""",
    "one variable under two names": """
v = tf.Variable(normal(8))
@tf.function
def f(a, b):
    a.assign_add(b * 2.0)
    return b * 3.0
ys = [f(v, v) for _ in range(3)]
report(ys=ys, v=v)
""",
    "who holds the old value keeps it": """
v = tf.Variable(normal(1000))
@tf.function
def f(x):
    v.assign_add(x * 0.5)
kept = []
for _ in range(5):
    kept.append(v.read_value())
    f(tf.constant(normal(1000)))
report(kept=kept, v=v)
""",
    "updates from elsewhere": """
v, w = tf.Variable(normal(32)), tf.Variable(normal(32))
@tf.function
def f(x):
    v.assign_sub(x * w)
    w.assign(tf.nn.relu(w) - 0.125 * x)
ys = []
for i in range(6):
    f(tf.constant(normal(32)))
    v.assign_add(normal(32))
    if i == 2: w.assign(v)
    ys.append(v.numpy())
report(ys=ys, v=v, w=w)
""",
    "sparse updates of what is assigned to": """
v = tf.Variable(normal(16, 4))
@tf.function
def f(x):
    v.assign_sub(x * 0.25)
    return v * 2.0
ys = []
for i in range(6):
    ys.append(f(tf.constant(normal(16, 4))))
    if i >= 2: v.scatter_add(tf.IndexedSlices(normal(1, 4), [i]))
report(ys=ys, v=v)
""",
    "a value that cannot be used": """
v = tf.Variable(normal(8))
@tf.function
def f(x, labels):
    v.assign_add(x * 2.0)
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, v[tf.newaxis] * 1.0)
f(tf.constant(normal(8)), tf.constant([3]))
before = v.numpy()
try:
    f(tf.constant(normal(8)), tf.constant([9]))
except tf.errors.InvalidArgumentError:
    pass
between = v.numpy()
f(tf.constant(normal(8)), tf.constant([2]))
report(before=before, between=between, v=v)
""",
    "another shape": """
v = tf.Variable(normal(3), shape=[None])
@tf.function
def f(x):
    v.assign(x * 2.0 + 1.0)
for n in (3, 3, 5, 4): f(tf.constant(normal(n)))
report(v=v)
""",
    "a loop": """
v, n = tf.Variable(normal(16)), tf.Variable(0)
@tf.function
def f(x):
    for _ in tf.range(5):
        v.assign(v * 0.5 + x)
        n.assign_add(1)
    return v * 2.0
ys = [f(tf.constant(normal(16))) for _ in range(3)]
report(ys=ys, v=v, n=n)
""",
    "variables of many types": """
types = [tf.float64, tf.float16, tf.bfloat16, tf.int32, tf.int64]
vs = [tf.Variable(tf.cast(normal(40) * 9, t)) for t in types]
@tf.function
def f(x):
    for v in vs:
        v.assign_add(tf.cast(x, v.dtype) * v)
        v.assign_sub(tf.cast(x, v.dtype))
for _ in range(3): f(tf.constant(normal(40) * 3))
report(vs=[tf.cast(v, tf.float64) for v in vs])
""",
    "nothing and one": """
empty, one = tf.Variable(tf.zeros([0, 3])), tf.Variable(2.0)
@tf.function
def f(x):
    empty.assign_add(empty * x)
    one.assign(one * x + 1.0)
for _ in range(3): f(tf.constant(float("inf")))
report(empty=empty, one=[str(one.numpy())])
""",
}

A_SESSION = """
tf.compat.v1.disable_eager_execution()
v = tf.compat.v1.get_variable("v", initializer=normal(64), use_resource=True)
x = tf.compat.v1.placeholder(tf.float32, [64])
train = v.assign_sub((v - x) * 0.125)
with tf.compat.v1.Session() as session:
    session.run(tf.compat.v1.global_variables_initializer())
    for _ in range(4): session.run(train, {x: normal(64)})
    report(v=session.run(v))
"""
ALL_PROGRAMS = Batch("programs that update", PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(run_batch, name):
    plain, compiled = run_batch(ALL_PROGRAMS, name)
    assert compiled.values == plain.values
    assert compiled.host["clusters_placed"] > 0


def test_a_session(run_pair):
    plain, compiled = run_pair(A_SESSION)
    assert compiled.values == plain.values
    assert compiled.host["clusters_placed"] > 0


def test_no_update_is_lost_between_threads(run_program):
    text = """
v, n = tf.Variable(tf.zeros([2000])), tf.Variable(0, dtype=tf.int64)
@tf.function
def f(x):
    n.assign_add(1)
    v.assign_add(x * 2.0)
    return tf.reduce_sum(v)
x = tf.ones([2000])
f(x)
def work():
    for _ in range(200): f(x)
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
for _ in range(100): v.assign_add(x)
for t in threads: t.join()
report(n=n, v=[v.numpy().min(), v.numpy().max()])
"""
    result = run_program(text, tektite="1")
    assert result.values == {"n": 601, "v": [1302.0, 1302.0]}
    assert result.host["updates"] > 0


def test_updates_stay_in_place(run_program):
    text = """
v, m = tf.Variable(normal(256, 256)), tf.Variable(normal(256, 256))
@tf.function
def f(g):
    m.assign_add((g - m) * 0.125)
    v.assign_sub(m * 0.5)
for _ in range(10): f(tf.constant(normal(256, 256)))
report(done=1)
"""
    host = run_program(text, tektite="1").host
    assert host["updates"] == 20
    assert host["copied_updates"] <= 4  # other tensors share the first values
