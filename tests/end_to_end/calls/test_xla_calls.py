"""--take_over_xla: functions with jit_compile=True that a graph calls. The reference is XLA: TEKTITE=0."""
import numpy as np
import pytest

from tests.end_to_end.batches import Batch

TAKE_OVER = "--take_over_xla"  # the default

# Each program returns y of x, of 6 columns; `calls` is how many calls for XLA are in clusters.
PROGRAMS = {
    "a chain": (1, """
inner = jit(lambda x: tf.tanh(x * 2.0 + 1.0) * 0.5)
def f(x):
    return inner(x)
"""),
    "between other ops": (1, """
inner = jit(lambda x, n: tf.nn.softmax(x @ w) + n)
def f(x):
    return tf.exp(inner(x * 0.5, tf.reduce_sum(x))) + 1.0
"""),
    "several results, one of them an argument": (1, """
inner = jit(lambda x: (tf.exp(x), x, tf.reduce_sum(x, axis=1)))
def f(x):
    a, b, c = inner(x + 1.0)
    return a * b + c[:, None]
"""),
    "no arguments": (1, """
inner = jit(lambda: tf.tanh(tf.matmul(w, w)) * 2.0)
def f(x):
    return x @ inner()
"""),
    "a variable that is read": (1, """
inner = jit(lambda x: tf.tanh(x @ w + b) * 0.5)
def f(x):
    return inner(x) + b
"""),
    "a variable that is read, and assigned to around it": (1, """
inner = jit(lambda x: tf.tanh(x + b) * 0.5)
def f(x):
    b.assign_add(tf.ones_like(b))
    y = inner(x)
    b.assign_sub(tf.ones_like(b))
    return y
"""),
    "called twice": (2, """
inner = jit(lambda x: tf.tanh(x @ w) + 1.0)
def f(x):
    return inner(inner(x)) * 2.0
"""),
    "one in the other": (1, """
inmost = jit(lambda x: tf.tanh(x) + 1.0)
inner = jit(lambda x: inmost(x) * inmost(x + 1.0))
def f(x):
    return inner(x) * 2.0
"""),
    "behind a plain call": (1, """
inner = jit(lambda x: tf.tanh(x) + 1.0)
plain = tf.function(lambda x: inner(x * 0.5) * 2.0)
def f(x):
    return plain(x)
"""),
    "a gradient": (2, """
inner = jit(lambda x: tf.tanh(x @ w) * tf.exp(x * 0.1))
def f(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(inner(x) * x)
    return tape.gradient(y, x)
"""),
    "arithmetic on shapes": (1, """
inner = jit(lambda x: tf.reshape(tf.transpose(x), [tf.shape(x)[0], tf.shape(x)[1]]) + tf.cast(tf.shape(x)[0], tf.float32))
def f(x):
    return inner(x) * 2.0
"""),
    "a loop around it": (1, """
inner = jit(lambda x: tf.tanh(x) + 1.0)
def f(x):
    for _ in tf.range(3):
        x = inner(x) * 0.5
    return x
"""),
    "random numbers": (0, """
inner = jit(lambda x: x + tf.random.stateless_uniform([6], [1, 2]) * 0.0)
def f(x):
    return inner(x) * 2.0
"""),
    "a variable that is assigned to": (1, """
def step(x):
    b.assign(tf.ones_like(b) * 2.0)
    return tf.tanh(x) + b
inner = jit(step)
def f(x):
    return inner(x) * 2.0
"""),
    "a loop in it": (0, """
inner = jit(lambda x: tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.tanh(v) + 1.0), (0, x))[1])
def f(x):
    return inner(x) * 2.0
"""),
    "by a scope's word not": (0, """
inner = jit(lambda x: tf.tanh(x) + 1.0)
def f(x):
    with tf.xla.experimental.jit_scope(compile_ops=False):
        return inner(x) * 2.0
"""),
}

TEXT = """
jit = lambda f: tf.function(f, jit_compile=True)
w, b = tf.Variable(normal(6, 6)), tf.Variable(normal(6))
{program}
f = tf.function(f, input_signature=[tf.TensorSpec([None, 6])])
special = np.array([[np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0]], np.float32)
y = [f(tf.constant(v)) for v in (normal(5, 6), normal(1, 6), normal(0, 6), special, normal(5, 6))]
report(y=[np.nan_to_num(v, nan=12345.0) for v in y])
"""


def same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


# Calls in loops that are kept are not counted.
ALL = Batch("XLA calls", {name: TEXT.format(program=program) for name, (_, program) in PROGRAMS.items()},
            TEKTITE_FLAGS=f"{TAKE_OVER} --keep_loops=false")


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_xla(run_batch, name):
    calls, _ = PROGRAMS[name]
    plain, compiled = run_batch(ALL, name)
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["xla_calls"] == calls
    assert "NO_CODE" not in compiled.host["fallbacks"]
    if calls == 0:
        assert compiled.stats["left_out"].keys() & {"FUNCTION_BODY", "XLA_COMPILE_FALSE"}


def test_without_the_flag_none_is_taken(run_pair):
    _, compiled = run_pair(TEXT.format(program=PROGRAMS["a chain"][1]), TEKTITE_FLAGS="--take_over_xla=false")
    assert compiled.host["xla_calls"] == 0
    assert "MUST_COMPILE" in compiled.stats["left_out"]


def test_a_loop_in_it_is_kept_with_it(run_pair):
    plain, compiled = run_pair(TEXT.format(program=PROGRAMS["a loop in it"][1]),
                               TEKTITE_FLAGS=f"{TAKE_OVER} --keep_loops")
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["xla_calls"] == 1


# XLA takes the nearest row, TensorFlow raises an error: where compiled code would have to, the call is XLA's.
def test_a_place_out_of_range_is_the_nearest(run_pair):
    plain, compiled = run_pair("""
inner = tf.function(lambda x, i: tf.gather(x, i) * 2.0, jit_compile=True)
f = tf.function(lambda x, i: inner(x, i) + 1.0)
report(y=[f(tf.constant(normal(5, 6)), tf.constant(i)) for i in ([0, 4], [7, -3], [1, 1])])
""", TEKTITE_FLAGS=TAKE_OVER)
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["xla_calls"] == 1 and compiled.host["fallbacks"] == {"CHECK_FAILED": 1}


def test_a_division_by_zero_is_no_error(run_pair):
    plain, compiled = run_pair("""
inner = tf.function(lambda x, i: x // i + 1, jit_compile=True)
f = tf.function(lambda x, i: inner(x, i) * 2)
report(y=[f(tf.constant([7, -7, 0]), tf.constant(i)) for i in ([2, 2, 2], [0, 1, 2], [-1, -2, -3])])
""", TEKTITE_FLAGS=TAKE_OVER)
    assert compiled.values["y"] == plain.values["y"]
    assert compiled.host["xla_calls"] == 1 and compiled.host["fallbacks"] == {"CHECK_FAILED": 1}


# A cluster's other side is XLA: undecided, lost, or without code.
@pytest.mark.parametrize("flags", ["--compare=true", "--compile=async --compile_after_percent=0"])
def test_the_other_side_is_xlas(run_pair, flags):
    plain, compiled = run_pair("""
import time
inner = tf.function(lambda x: tf.nn.softmax(x @ w, axis=-1), jit_compile=True)
w = tf.Variable(normal(6, 6))
f = tf.function(lambda x: inner(x * 0.5) + 1.0)
x = normal(9, 6)
y = []
while len(y) < 30 or not sum(tektite.stats().get("host", {}).get("fallbacks", {"": 1}).values()) and len(y) < 1000:
    y.append(f(tf.constant(x)))
    time.sleep(0.01)  # XLA's side of it is made in the background
report(y=y[:30])
""", TEKTITE_FLAGS=f"{TAKE_OVER} --cache_dir=off {flags}")
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["xla_calls"] == 1 and sum(compiled.host["fallbacks"].values()) > 0


# Keras calls a function of its own with jit_compile=True for every convolution of groups.
def test_convolutions_of_groups_in_keras(run_pair):
    plain, compiled = run_pair("""
import keras
keras.utils.set_random_seed(1)
model = keras.Sequential([
    keras.Input((12, 12, 8)), keras.layers.Conv2D(16, 3, groups=4, padding="same", activation="gelu"),
    keras.layers.LayerNormalization(), keras.layers.Conv2D(16, 5, groups=16, strides=2), keras.layers.Flatten(),
    keras.layers.Dense(3)])
model.compile("sgd", "mse")
x, y = normal(8, 12, 12, 8), normal(8, 3)
before = model.predict(x, verbose=0)
predicted = tektite.stats().get("host", {}).get("xla_calls", 0)
model.fit(x, y, batch_size=4, epochs=2, verbose=0, shuffle=False)
report(y=[before, model.predict(x, verbose=0)], weights=model.get_weights(), predicted=predicted)
""", TEKTITE_FLAGS=TAKE_OVER)
    for ours, theirs in zip(compiled.values["y"] + compiled.values["weights"],
                            plain.values["y"] + plain.values["weights"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)
    assert compiled.values["predicted"] == 2
    # Forward and backward of two layers in a step, and in the first function that predicts.
    assert compiled.host["xla_calls"] >= 2 + 4


def test_explain_says_what_runs(run_program):
    result = run_program("""
plain = tf.function(lambda x: tf.exp(x) + 1.0)
inner = tf.function(lambda x: plain(tf.tanh(x)) * 0.5, jit_compile=True)
odd = tf.function(lambda x: inner(x) + tf.random.normal([4, 6]), jit_compile=True)
spec = tf.TensorSpec([4, 6])
explained = [tektite.explain(f, spec) for f in (
    tf.function(lambda x: inner(x) + 1.0), tf.function(lambda x: odd(x) * 2.0), inner, odd)]
report(all=[[e.ops, e.clustered, sorted({n.reason for n in e.left_out})] for e in explained])
""", tektite="1", TEKTITE_FLAGS=TAKE_OVER)
    nested, nested_odd, called, called_odd = result.values["all"]
    assert nested == [2, 2, []]
    assert nested_odd == [2, 1, ["FUNCTION_BODY"]]
    assert called == [1, 1, []]
    assert called_odd == [1, 0, ["FUNCTION_BODY"]]


# Python calls them: what a call of one would be in a graph is asked for, and made where it would be compiled.
CALLED = """
w, c = tf.Variable(normal(6, 6)), tf.Variable(1.0)
f = tf.function(lambda x: tf.nn.softmax(tf.tanh(x @ w)) * c, jit_compile=True)

@tf.function(jit_compile=True)
def step(x):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.tanh(x @ w) ** 2.0)
    return {"y": y, "d": tape.gradient(y, w)}

@tf.function(jit_compile=True)
def assigns(x):
    c.assign_add(1.0)
    return x * c

@tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None, 6])])
def stops(x):
    return tf.reshape(x, [5, 6]) * 2.0

y = []
for n in (5, 1, 0, 5, 5, 5, 5):
    x = tf.constant(normal(n, 6))
    with tf.GradientTape() as tape:
        z = tf.reduce_sum(f(x))
    y += [f(x), *tf.nest.flatten(step(x)), tape.gradient(z, w), assigns(x)]
    w.assign_add(tf.ones_like(w) * 0.1)
errors = []
for n in (5, 4):
    try:
        y.append(stops(tf.constant(normal(n, 6))))
    except tf.errors.OpError as error:
        errors.append(type(error).__name__)
if tektite.is_active():
    tektite.wait_until_compiled()  # XLA compiles fallbacks in the background, too, and is not to be met by the exit
report(y=y, errors=errors)
"""


@pytest.mark.parametrize("flags", ["", "--compare"])
def test_calls_from_python(run_pair, flags):
    plain, compiled = run_pair(CALLED, TEKTITE_FLAGS=flags)
    same(compiled.values["y"], plain.values["y"])
    assert compiled.values["errors"] == plain.values["errors"]
    assert compiled.host["xla_calls"] >= 4  # f, its forward and backward function, step; of several shapes
    assert compiled.host["fallbacks"].get("NO_CODE", 0) <= 1  # the call whose error is XLA's


def test_calls_from_python_without_the_flag(run_pair):
    plain, compiled = run_pair(CALLED, TEKTITE_FLAGS="--take_over_xla=false")
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["xla_calls"] == 0
