"""Calls and clusters that cannot be compiled give way: their host's kernels run with no attempt before them."""

# A check that fails in every call: XLA takes the nearest row.
FAILING = """
rows = tf.constant(normal(5, 6))
f = tf.function(lambda i: tf.tanh(tf.gather(rows, i)) * 2.0, jit_compile=True)
y = [f(tf.constant([0, 7, -3])) for _ in range(60)]
runs = tektite.stats().get("host", {}).get("runs", 0)
y += [f(tf.constant([0, 7, -3])) for _ in range(40)]
report(y=[y[0], y[-1]], late=tektite.stats().get("host", {}).get("runs", 0) - runs)
"""


def test_a_function_of_xlas_whose_checks_fail_is_xlas_again(run_pair):
    plain, compiled = run_pair(FAILING)
    assert compiled.values["y"] == plain.values["y"]
    assert compiled.host["fallbacks"]["CHECK_FAILED"] == 3
    assert compiled.values["late"] == 0


# No code is made of so many elements.
REFUSED = """
w = tf.Variable(normal(64, 64))
@tf.function
def f(x, v):
    for _ in range(4):
        x = tf.nn.softmax(x @ w) + tf.tanh(x)
    s = tf.math.cumulative_logsumexp(v + x[0, 0])
    return tf.nn.softmax(tf.exp(x * s[-1]) @ w) + 1.0
x, v = tf.constant(normal(64, 64)), tf.constant(normal(66000))
y = []
for n in range(24):
    y.append(f(x, v))
    if n == 8 and tektite.is_active():
        tektite.wait_until_compiled()  # the cluster is made again behind the calls
small = f(x, v[:1000])
report(y=[y[0], y[-1], small])
"""


def test_a_cluster_is_made_again_without_the_node_that_is_refused(run_pair):
    import numpy as np

    plain, compiled = run_pair(REFUSED, TEKTITE_FLAGS="--cache_dir=off")
    np.testing.assert_allclose(compiled.values["y"], plain.values["y"], rtol=2e-4, atol=1e-5)
    assert compiled.host["remade_clusters"] == 1
    assert compiled.host["fallbacks"]["NO_CODE"] == 3
    assert compiled.host["fallbacks"]["TOO_MANY_FAILURES"] == 24 - 3
    assert compiled.host["runs"] > 24 + 10  # those inside, of two clusters


def test_calls_to_be_reproducible_do_not_depend_on_earlier_ones(run_pair):
    _, compiled = run_pair(REFUSED, TEKTITE_FLAGS="--cache_dir=off --reproducible")
    assert "TOO_MANY_FAILURES" not in compiled.host["fallbacks"]
