"""Functions with jit_compile=True have XLA's values, taken over or not. The reference is XLA: TEKTITE=0.

Each group is one function, so that XLA compiles few of them; the groups that XLA keeps hold the ops of
clustering/xla_differences.h. docs/numbers.md has the table."""
import numpy as np
import pytest

from tests.end_to_end.batches import Batch

PREAMBLE = """
S = tf.constant(np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, .5, 2.5, -2.5, 7, 200, -200, 3e9, -3e9, 1e20, -1e20, 3e38,
                          -3e38, 100], np.float32))
X, Y = [tf.reshape(v, [-1]) for v in tf.meshgrid(S, S)]
N = tf.constant([3, np.nan, -0.0, 0, 1, np.inf, -np.inf, np.nan, 0, -0.0, -1, 3], tf.float32)
M = tf.constant([[1, np.nan, 2], [np.nan, 1, 2], [1, 2, np.nan], [np.nan] * 3, [-np.inf] * 3, [np.inf, np.nan, -np.inf],
                 [0, -0.0, 0], [-0.0, 0, -0.0], [np.inf, np.inf, 1], [2, 2, 1]], tf.float32)
W = tf.reshape(tf.range(12.0), [4, 3])
I = tf.constant([0, -1, 4, 3, 100, -100])

def gradients(functions, x):
    out = []
    for f in functions:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        out.append(tape.gradient(y, x))
    return out

def answer(f, *args):
    f = tf.function(f, jit_compile=True)
    y = [f(*args) for _ in range(3)]  # the same from the first call to the last
    for later in y[1:]:
        for a, b in zip(tf.nest.flatten(y[0]), tf.nest.flatten(later)):
            np.testing.assert_array_equal(a, b)
    return [np.where(np.isnan(v), 12345.0, v) if v.dtype.is_floating else v for v in tf.nest.flatten(y[0])]
"""

# `calls`: how many are taken over.
GROUPS = {
    "functions of one number": (1, """
report(y=answer(lambda x: [f(x) for f in (tf.abs, tf.sign, tf.exp, tf.math.log, tf.math.log1p, tf.sqrt, tf.math.rsqrt, tf.square, tf.tanh,
    tf.sigmoid, tf.nn.relu, tf.nn.relu6, tf.nn.elu, tf.nn.selu, tf.nn.leaky_relu, tf.nn.softplus, tf.floor, tf.round, tf.sin, tf.atan,
    tf.math.erf, tf.math.is_nan, tf.math.is_inf, tf.math.is_finite, lambda x: tf.clip_by_value(x, -1., 1.), lambda x: x % 1.)], S))
"""),
    "gradients": (1, """
report(y=answer(lambda x: gradients([tf.nn.relu, tf.nn.relu6, tf.nn.elu, tf.nn.selu, tf.nn.leaky_relu, tf.nn.softplus, tf.sqrt, tf.math.rsqrt,
    tf.tanh, tf.sigmoid, lambda x: 2 * tf.sqrt(tf.nn.relu(x)), lambda x: tf.math.log(tf.nn.relu6(x)), lambda x: tf.maximum(x, 0.5),
    lambda x: tf.reduce_max(M * x[:3], axis=1)], x), S))
"""),
    "rewritten forms": (1, """
report(y=answer(lambda x: [tf.sqrt(tf.square(x * 1e20)), tf.math.log(tf.exp(x)), tf.exp(x) * tf.exp(-x),
    *gradients([lambda x: tf.sqrt(tf.square(x * 1e20)), lambda x: tf.math.log(tf.exp(x))], x)], S))
"""),
    # What XLA makes of these before it compiles overflows elsewhere on the way, or nowhere.
    "more rewritten forms": (1, """
report(y=answer(lambda x: [x * 1e20 * 1e20, x * 1e-30 * 1e-30, x * 1e30 * 1e-30, x / 3e38, x / 3, x / 1e20 / 1e20, x * 1e20 / 1e20, x / 1e20 * 1e20,
    x * 2 / 2, (1e20 / x) / 1e20, 1e20 / (1e30 / x), 1 / (1 / x), tf.math.reciprocal(1 / x), (x + 1e20) - 1e20, (x - 3e38) + 3e38,
    tf.pow(x, .5), tf.pow(x, -.5), tf.pow(x, 2.), tf.pow(x, 3.), tf.pow(x, 0.), tf.pow(x, 1.5),
    tf.sqrt(x) * tf.sqrt(x), tf.math.rsqrt(x) * tf.math.rsqrt(x), x / tf.sqrt(x), 1 / tf.math.rsqrt(x), tf.exp(x) / tf.exp(x), 1 / tf.exp(x),
    tf.exp(tf.math.log(x)), tf.math.log(tf.math.rsqrt(x)), tf.math.log(tf.sqrt(x)), tf.math.log(1 / x), tf.math.rsqrt(x * x), tf.maximum(0., x),
    tf.minimum(1., x), tf.maximum(tf.minimum(x, 1.), -1.), x - x, x / x, x * 0., 0. * x], S))
"""),
    "more rewritten forms of two": (1, """
report(y=answer(lambda x, y: [x / (y / 3e30), x / (y / x), (x / y) / (y / x), x / tf.sqrt(y), x / tf.math.rsqrt(y), x / tf.exp(y), tf.exp(x) / tf.exp(y),
    (x * 1e20) * (y * 1e20), x * 1e30 * y * 1e-30, (x / y) * y, (x * y) / y, x - (x - y), 1 - (1 - x) * (1 - y), tf.sqrt(x * x + y * y),
    tf.sqrt(x) * tf.sqrt(y)], X, Y))
"""),
    # Of denormal numbers XLA's powers are those of another one. A gradient's exponent is a difference of two constants.
    "fractional powers": (1, """
D = tf.concat([S, tf.constant([1e-38, -1e-38, 1e-40, -1e-40, 1e-45, -1e-45, 1.2e-38])], 0)
powers = [lambda x, e=e: tf.pow(x, e) for e in (.5, -.5, 1 / 3, 1.5, -1.5, 2.5, -.1, 3., -3.)]
report(y=answer(lambda x: [*[f(x) for f in powers], *gradients(powers, x)], D))
"""),
    "reductions of one element": (1, """
report(y=answer(lambda x: [f(x) for f in (lambda x: tf.norm(x, axis=1), lambda x: tf.norm(x, axis=1, keepdims=True),
    *(lambda x, f=f: f(x, 1) for f in (tf.reduce_sum, tf.reduce_max, tf.reduce_min, tf.reduce_prod,
    tf.reduce_mean, tf.reduce_logsumexp, tf.math.reduce_std, tf.cumsum)), tf.nn.softmax, lambda x: tf.nn.l2_normalize(x, axis=1))], S[:, None]))
"""),
    "gradients of rewritten forms": (1, """
report(y=answer(lambda x: gradients([lambda x: tf.sqrt(x) * tf.sqrt(x), lambda x: tf.square(tf.sqrt(x)), lambda x: 1 / tf.math.rsqrt(x),
    lambda x: x * tf.math.rsqrt(x), lambda x: tf.math.reciprocal(tf.math.reciprocal(x)), lambda x: tf.math.log(1 / x),
    lambda x: x * 1e20 * 1e20], x), S))
"""),
    "powers of powers, which are given back": (1, """
report(y=answer(lambda x: [tf.pow(tf.pow(x, 2.), .5), tf.pow(tf.exp(x), 2.5), tf.math.log(tf.pow(x, 1.3))], S))
"""),
    "functions of two numbers": (1, """
report(y=answer(lambda x, y: [f(x, y) for f in (tf.add, tf.multiply, tf.divide, tf.maximum, tf.minimum, tf.math.xlogy, tf.math.divide_no_nan,
    tf.math.multiply_no_nan, tf.less, tf.equal, lambda x, y: tf.raw_ops.ApproximateEqual(x=x, y=y, tolerance=1.0))], X, Y))
"""),
    "casts": (1, """
report(y=answer(lambda x: [tf.cast(v, t) for v in (x, tf.cast(x, tf.float64), tf.cast(x, tf.float16), tf.cast(x, tf.bfloat16))
    for t in (tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64)], S))
"""),
    "shifts": (1, """
report(y=answer(lambda i: [f(tf.cast(i[:, None], t), tf.cast(i[None], t)) for f in (tf.bitwise.left_shift, tf.bitwise.right_shift)
    for t in (tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64)],
    tf.constant([0, 1, 2, 7, 8, 15, 16, 31, 32, 33, 63, 64, -1, -2, -31, -64, 2**31 - 1, -2**31, 127, -128])))
"""),
    "overflow of integers": (1, """
report(y=answer(lambda i: [i + i, i * i, -i, tf.abs(i), tf.square(i), tf.reduce_sum(i), tf.reduce_prod(i), tf.cast(i, tf.int8)],
    tf.constant([2**31 - 1, -2**31, 1, 65536, -3])))
"""),
    "order": (1, """
report(y=answer(lambda n, m: [tf.sort(n), tf.argsort(n, stable=True), tf.sort(n, direction="DESCENDING"), tf.math.top_k(n, 5), tf.math.top_k(m, 2)],
    N, M))
"""),
    "reductions": (1, """
report(y=answer(lambda m: [f(m, axis=1) for f in (tf.reduce_max, tf.reduce_min, tf.argmax, tf.argmin, tf.reduce_sum, tf.reduce_mean,
    tf.reduce_logsumexp, tf.nn.softmax, tf.nn.log_softmax)], M))
"""),
    "places out of range": (1, """
report(y=answer(lambda w, i: [tf.gather(w, i), tf.gather(w, i, axis=1), tf.gather_nd(w, tf.stack([i, i], 1)), tf.scatter_nd(i[:, None], tf.ones([6, 3]), [4, 3]),
    tf.tensor_scatter_nd_update(w, i[:, None], tf.ones([6, 3])), tf.math.unsorted_segment_sum(tf.ones([6, 3]), i, 4), tf.one_hot(i, 4)], W, I))
"""),
    "division by zero": (1, """
report(y=answer(lambda i: [i // (i - i), i % (i - i)], tf.constant([7, -7, 0, 2**31 - 1])))
"""),
    "in a loop": (1, """
report(y=answer(lambda x: tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.maximum(v, 0.5) + tf.cast(tf.cast(v, tf.int32), tf.float32)),
    (0, x))[1], S))
"""),
    "special functions": (0, """
report(y=answer(lambda x: [tf.math.erfinv(x / 1e38), tf.math.ndtri(x / 1e38), tf.math.bessel_i0e(x), tf.math.zeta(x, x[::-1])], S))
"""),
    "complex numbers": (0, """
report(y=answer(lambda x, y: [f(g(tf.complex(x, y))) for g in (tf.exp, tf.math.log, tf.sqrt) for f in (tf.math.real, tf.math.imag)], X, Y))
"""),
}
ALL = Batch("XLA's values", {name: text for name, (_, text) in GROUPS.items()}, PREAMBLE, TEKTITE_FLAGS="--xla_guard=false")


@pytest.mark.parametrize("name", GROUPS)
def test_values_are_those_of_xla(run_batch, name):
    plain, compiled = run_batch(ALL, name)
    for k, (ours, theirs) in enumerate(zip(compiled.values["y"], plain.values["y"], strict=True)):
        np.testing.assert_allclose(np.array(ours, float), np.array(theirs, float), rtol=1e-5, atol=1e-30, err_msg=str(k))
    assert compiled.host["xla_calls"] == GROUPS[name][0]


# XLA chooses between a gradient and 0 where TensorFlow multiplies by 0: a training turned to NaN when it was taken over.
TRAINING = """
w = tf.Variable(normal(6, 6))
@tf.function(jit_compile=True)
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(2 * tf.sqrt(tf.nn.relu(x @ w)))
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss
x = tf.constant(normal(9, 6))
losses = [step(x) for _ in range(60)]

import keras
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input([6]), keras.layers.Dense(8), keras.layers.Lambda(lambda x: tf.sqrt(tf.nn.relu(x)))])
model.compile("sgd", "mse", jit_compile=True)
losses += model.fit(x, normal(9, 8), batch_size=3, epochs=5, verbose=0, shuffle=False).history["loss"]

inner = tf.function(lambda x: tf.sqrt(tf.nn.relu(x @ w)), jit_compile=True)
for _ in range(3):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(inner(x))
    losses += [y, tf.reduce_sum(tape.gradient(y, w))]
report(losses=losses)
"""


def test_a_training_that_works_in_xla_works(run_pair):
    plain, compiled = run_pair(TRAINING, TEKTITE_FLAGS="--xla_guard=false")
    assert np.all(np.isfinite(plain.values["losses"]))
    np.testing.assert_allclose(compiled.values["losses"], plain.values["losses"], rtol=2e-4, atol=1e-5)
    assert compiled.host["xla_calls"] >= 3


# XLA joins the product and the sum into one rounding: no product overflows. A call that has changed its variable in place, or a step that
# went on with infinite weights, would differ for good.
GUARDED = """
w = tf.Variable(tf.fill([5], 2e38))
@tf.function(jit_compile=True)
def step(x):
    w.assign(w * x - 1e38)
    return tf.reduce_sum(w * 1e-38)
y = []
for x in [tf.constant(1.0)] * 30 + [tf.constant(2.0)] * 2 + [tf.constant(1.0)] * 4:
    y.append(step(x))
    w.assign(tf.fill([5], 2e38))
f = tf.function(lambda x, z: x * z - 1e38, jit_compile=True)
y += [f(tf.constant([1.0, 2e38]), tf.constant(z)) for z in [1.0] * 40 + [2.0] * 20]
runs = tektite.stats().get("host", {}).get("runs", 0)
y += [f(tf.constant([1.0, 2e38]), tf.constant(2.0)) for _ in range(20)]
late = tektite.stats().get("host", {}).get("runs", 0) - runs
infinite = tf.function(lambda x: tf.math.log(x) + 1.0, jit_compile=True)  # in XLA, too
y += [tf.math.exp(infinite(tf.constant([0.0, 1.0]))) for _ in range(40)]
report(y=y, late=late)
"""


def test_results_that_are_not_finite_are_compared_with_xla(run_pair):
    plain, compiled = run_pair(GUARDED)
    for ours, theirs in zip(compiled.values["y"], plain.values["y"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert compiled.host["xla_calls"] == 3 and compiled.values["late"] == 0
    # The last of `step` and `f` are XLA's; of `infinite` the first calls were compared.
    assert compiled.host["fallbacks"]["HOST_UNLIKE_XLA"] >= 6 + 1 + 8


def test_nothing_is_compared_without_the_guard(run_pair):
    plain, compiled = run_pair(GUARDED, TEKTITE_FLAGS="--xla_guard=false")
    assert np.all(np.isfinite(np.concatenate([np.ravel(v) for v in plain.values["y"]])))
    assert not np.all(np.isfinite(np.concatenate([np.ravel(v) for v in compiled.values["y"]])))
    assert "HOST_UNLIKE_XLA" not in compiled.host["fallbacks"]
