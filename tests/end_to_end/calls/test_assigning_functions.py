"""Branches, loops and functions for XLA that assign to variables are compiled with what calls them."""
import numpy as np
import pytest

from tests.end_to_end.batches import Batch

# name: (kept branches and loops, calls for XLA, the program). Each defines step(x) of x [n, 6].
PROGRAMS = {
    "one branch assigns": (1, 0, """
def step(x):
    def large():
        v.assign(v * 0.5 + tf.reduce_sum(x, 0))
        return tf.tanh(x)
    return tf.cond(tf.reduce_sum(x) > 0.0, large, lambda: x * 2.0) + v
"""),
    "both assign, and nothing else": (1, 0, """
def step(x):
    tf.cond(tf.reduce_sum(x) > 0.0, lambda: v.assign_add(tf.exp(-x[0])), lambda: v.assign_sub(tf.ones([6])))
    return v + 1.0
"""),
    "each another": (1, 0, """
def step(x):
    def first():
        v.assign(tf.tanh(v) + x[0])
        return 1.0
    def second():
        u.assign(u + v)
        return 2.0
    return tf.cond(tf.reduce_sum(x) > 0.0, first, second) * x
"""),
    "read before and behind": (1, 0, """
def step(x):
    before = v * 2.0
    v.assign_add(tf.ones([6]))
    tf.cond(x[0, 0] > 0.0, lambda: v.assign(v * 3.0 + before), lambda: v.assign(before))
    behind = tf.tanh(v)
    v.assign_sub(x[0])
    return before + behind
"""),
    "a branch in a branch": (1, 0, """
def step(x):
    def inner():
        v.assign_add(x[0])
        return tf.cond(x[0, 1] > 0.0, lambda: u.assign(tf.exp(-tf.abs(v))), lambda: u.assign_add(v))
    return tf.cond(x[0, 0] > 0.0, inner, lambda: u + 0.0) * 2.0
"""),
    "by a number": (1, 0, """
def step(x):
    which = tf.cast(tf.abs(x[0, 0]) * 3.0, tf.int32)
    return tf.switch_case(which, [lambda: v.assign_add(x[0]), lambda: v.assign(v * 0.5), lambda: v + 1.0]) + v
"""),
    "a known branch": (1, 0, """
def step(x):
    return tf.cond(tf.rank(x) > 1, lambda: v.assign_add(tf.tanh(x[0])), lambda: v + 0.0) * 2.0
"""),
    "in a loop": (1, 0, """
def step(x):
    for i in tf.range(3):
        tf.cond(x[0, 0] > 0.0, lambda: v.assign_add(x[0]), lambda: v.assign(v * 0.5))
        x = tf.tanh(x) + v
    return x
"""),
    "in a loop of a loop": (1, 0, """
def step(x):
    for i in tf.range(3):
        u.assign(u * 0.5)
        for j in tf.range(i):
            v.assign_add(u + x[0])
            x = tf.tanh(x) + v
    return x + u
"""),
    "a loop that trains": (1, 0, """
def step(x):
    loss = 0.0
    for i in tf.range(5):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(x @ w) - 0.5))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        count.assign_add(1)
    return loss + w[0] + tf.cast(count, tf.float32)
"""),
    "a loop of no turns": (1, 0, """
def step(x):
    for i in tf.range(tf.cast(x[0, 0] * 0.0, tf.int32)):
        v.assign_add(x[0])
    return x + v
"""),
    "a loop whose condition reads": (1, 0, """
def step(x):
    count.assign(0)
    while count < tf.shape(x)[0]:
        count.assign_add(1)
        v.assign(tf.tanh(v) + x[0])
    return x + v
"""),
    "a generator in a loop": (1, 0, """
def step(x):
    for i in tf.range(3):
        x = tf.tanh(x) + generator.normal([6]) + tf.cast(generator.uniform([6], -5, 9, tf.int32), tf.float32)
    return x
"""),
    "a function for XLA": (0, 1, """
@tf.function(jit_compile=True)
def inner(x):
    v.assign(v * 0.5 + tf.reduce_sum(x, 0))
    return tf.tanh(x) + v
def step(x):
    return inner(x * 2.0) + v
"""),
    "two of them": (0, 2, """
@tf.function(jit_compile=True)
def inner(x):
    v.assign_add(tf.tanh(x[0]))
    u.assign_sub(v)
@tf.function(jit_compile=True)
def outer(x):
    inner(x)
    return u * 2.0 + v
def step(x):
    inner(x + 1.0)
    y = outer(x)
    return y + u
"""),
    "one that only reads": (0, 1, """
@tf.function(jit_compile=True)
def inner(x):
    return tf.tanh(x @ w) + v
def step(x):
    v.assign_add(x[0])
    y = inner(x)
    v.assign_sub(y[0])
    return y
"""),
}

TEXT = """
v, u, w = tf.Variable(normal(6)), tf.Variable(normal(6)), tf.Variable(normal(6, 6))
count, generator = tf.Variable(0), tf.random.Generator.from_seed(4)
{program}
step = tf.function(step, input_signature=[tf.TensorSpec([None, 6])])
y = []
for n in (3, 1, 4, 2, 3, 3, 5):
    y += [step(tf.constant(normal(n, 6))), v.numpy(), u.numpy()]
report(y=y)
"""


def same(ours, theirs, tolerance=2e-5):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


TEXTS = {name: TEXT.format(program=program) for name, (_, _, program) in PROGRAMS.items()}
BATCHES = [Batch("assigning functions " + flags, TEXTS, TEKTITE_FLAGS=flags) for flags in ("", "--compare")]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: batch.name)
def test_values_are_tensorflows(run_batch, batch, name):
    kept, calls, _ = PROGRAMS[name]
    plain, compiled = run_batch(batch, name)
    same(compiled.values["y"], plain.values["y"])
    if batch is BATCHES[0]:
        assert compiled.host["kept_loops"] >= kept and compiled.host["xla_calls"] >= calls
        assert "NO_CODE" not in compiled.host["fallbacks"]
        assert compiled.host["updates"] > 0


# The step is one call of a function for XLA, which assigns to every weight.
FIT = """
import keras
keras.utils.set_random_seed(2)
model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(16, activation="tanh"), keras.layers.{normalize}(),
                          keras.layers.Dense(3)])
model.compile({optimizer}, keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"], {options})
x, y = normal(64, 12), np.arange(64) % 3
x[{spoilt}:] = np.inf
history = model.fit(x, y, epochs=4, batch_size=16, shuffle=False, verbose=0).history
report(losses=history["loss"], accuracy=history["accuracy"], weights=[v.numpy() for v in model.weights],
       evaluated=model.evaluate(x, y, batch_size=16, verbose=0))
"""


def test_fit_of_a_model_for_xla(run_pair):
    plain, compiled = run_pair(FIT.format(optimizer="'adam'", options="jit_compile=True", normalize="BatchNormalization",
                                            spoilt=64))
    for name, value in plain.values.items():
        same([np.hstack([np.ravel(v) for v in compiled.values[name]])], [np.hstack([np.ravel(v) for v in value])], 1e-4)
    assert compiled.host["xla_calls"] >= 2  # fit's, evaluate's


# The last batch's gradients are not finite, so its step is left out and the scale halved; the others raise it.
def test_scaled_losses(run_pair):
    optimizer = "keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.05, momentum=0.9), dynamic_growth_steps=3)"
    plain, compiled = run_pair(
        FIT.format(optimizer=optimizer, options="jit_compile=False", normalize="Activation", spoilt=60).replace(
            "Activation()", "Activation('tanh')") + """
report(losses=history["loss"], variables=[v.numpy() for v in model.optimizer.variables],
       weights=[v.numpy() for v in model.weights])
""")
    for name, value in plain.values.items():
        same([np.hstack([np.ravel(v) for v in compiled.values[name]])], [np.hstack([np.ravel(v) for v in value])], 1e-4)
    assert compiled.host["kept_loops"] >= 1
    assert np.isnan(plain.values["losses"]).all()
    assert all(np.isfinite(v).all() for v in plain.values["weights"])
