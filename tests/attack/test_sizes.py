"""Requests for more than there is: TensorFlow's own error, whatever the sizes of inner buffers come to in 64 bits.

Guards against: sizes that wrapped in the plan of a call, so that a request of 2^62 elements got an arena of a few
bytes and killed the process.  Each case runs with and without the plugin; outcomes must be the same.

Every tensor that TensorFlow itself would make is either small or larger than any machine's memory: between the two it
would be filled."""

import pytest

OUTCOMES = """
def outcome(call):
    try:
        call()
        return "no error"
    except Exception as error:
        return type(error).__name__

def ones(n):
    return tf.ones([n])
"""

# Name: the function, its specs, small arguments, then arguments that cannot be served.
CASES = {
    "inner buffers of 2^62 elements": """
def f(a, b, c):
    t = a[:, None, None] + b[None, :, None] * c[None, None, :]
    return tf.reduce_max(tf.cumsum(tf.exp(t), axis=2))
specs = [tf.TensorSpec([None])] * 3
small = [[ones(n) for n in sizes] for sizes in ((3, 4, 5), (5, 6, 7), (2, 9, 4))]
large = [[ones(n) for n in sizes] for sizes in ((1 << 21, 1 << 21, 1 << 20), (1 << 20, 1 << 20, 1 << 20),
                                                (1 << 20, 1 << 21, 1 << 21))]
""",
    "an outer product that is sorted": """
def f(a, b):
    return tf.reduce_sum(tf.sort(tf.exp(a[:, None] * b), axis=1)[:, 0] * 2.0)
specs = [tf.TensorSpec([None])] * 2
small = [[ones(n) for n in sizes] for sizes in ((3, 4), (5, 6), (2, 9))]
large = [[ones(1 << 24), ones(1 << 24)]]
""",
    "a broadcast to sizes of a tensor": """
def f(x, shape):
    return tf.reduce_sum(tf.cumsum(tf.broadcast_to(tf.exp(x), shape) * 2.0, axis=0))
specs = [tf.TensorSpec([]), tf.TensorSpec([2], tf.int64)]
small = [[tf.constant(1.0), tf.constant(s, tf.int64)] for s in ([3, 4], [5, 6], [2, 9])]
large = [[tf.constant(1.0), tf.constant(s, tf.int64)]
         for s in ([1 << 31, 1 << 31], [1 << 32, 1 << 32], [1 << 62, 4], [(1 << 63) - 1, 1], [1, (1 << 63) - 1],
                   [1 << 62, 1 << 62], [-1, 4], [-(1 << 63), 2], [1 << 33, 1 << 30])]
""",
    "a fill, a pad, a tile and a reshape": """
def f(x, n):
    y = tf.fill([n, 3], 2.0) * tf.exp(x)
    y = tf.pad(y, [[n, n], [0, 0]])
    return tf.reduce_max(tf.cumsum(tf.reshape(tf.tile(y, [n, n]), [-1]) * 2.0))
specs = [tf.TensorSpec([]), tf.TensorSpec([], tf.int64)]
small = [[tf.constant(1.0), tf.constant(n, tf.int64)] for n in (2, 3, 5)]
large = [[tf.constant(1.0), tf.constant(n, tf.int64)]
         for n in (-1, 1 << 21, 1 << 40, 1 << 61, 1 << 62, (1 << 63) - 1, -(1 << 63))]
""",
    "sizes of a range and of a one_hot": """
def f(x, n):
    y = tf.cast(tf.range(n), tf.float32) * x
    return tf.reduce_sum(tf.cumsum(tf.one_hot(tf.cast(y, tf.int32), tf.cast(n, tf.int32)) * 2.0, axis=1))
specs = [tf.TensorSpec([]), tf.TensorSpec([], tf.int64)]
small = [[tf.constant(1.0), tf.constant(n, tf.int64)] for n in (2, 3, 5)]
large = [[tf.constant(1.0), tf.constant(n, tf.int64)] for n in (1 << 24, 1 << 40, 1 << 62)]
""",
}

ATTACK = """
g = tf.function(f, input_signature=specs)
before = [float(g(*args)) for args in small]
errors = [outcome(lambda: g(*args)) for args in large]
report(before=before, errors=errors, after=[float(g(*args)) for args in small])
"""


@pytest.mark.parametrize("case", CASES)
def test_too_large_is_tensorflows_error(run_pair, case):
    # The allocator of TensorFlow's oneDNN kernels tries for ten seconds what it cannot have.
    plain, compiled = run_pair(OUTCOMES + CASES[case] + ATTACK, TF_ENABLE_ONEDNN_OPTS="0")
    assert "no error" not in plain.values["errors"], "the attack asks for too little"
    assert compiled.values["errors"] == plain.values["errors"]
    assert compiled.values["after"] == pytest.approx(plain.values["after"], rel=1e-5)
    assert compiled.stats["runs"] > 0


ROWS_WITHOUT_ELEMENTS = """
functions = {
    "sum": lambda x: tf.reduce_sum(tf.exp(x) * 2.0),
    "softmax": lambda x: tf.reduce_sum(tf.nn.softmax(x * 2.0 + 1.0)),
    "cumsum": lambda x: tf.cumsum(x * 2.0, axis=1) + 1.0,
    "variance": lambda x: tf.reduce_sum((x - tf.reduce_mean(x, axis=0)) ** 2),
    "select": lambda x: tf.reduce_sum(tf.where(x > 0, x, 0.0)),
    "three dimensions": lambda x: tf.reduce_max(tf.nn.relu(x)[:, None] * tf.ones([1, 3, 1]), axis=[0, 2]),
}
n = 1 << 40
results = {}
for name, function in functions.items():
    f = tf.function(function, input_signature=[tf.TensorSpec([None, None])])
    g = tf.function(function, input_signature=[tf.TensorSpec([n, 0])])
    for sizes in ([4, 3], [5, 7], [2, 9]):
        f(tf.ones(sizes))
    x = tf.zeros([n, 0])
    of_any, of_these = f(x), g(x)
    results[name] = [list(of_any.shape), list(of_these.shape)]
    if of_any.shape.rank == 0:
        results[name] += [float(of_any), float(of_these)]
report(results=results)
"""


def test_many_rows_without_elements(run_pair):
    """Guards against: a loop over 2^40 rows that have nothing to do."""
    plain, compiled = run_pair(ROWS_WITHOUT_ELEMENTS, TEKTITE_FLAGS="--compile=sync "
                               "--min_cluster_cost=0 --compare=false --cache_dir=off")
    assert compiled.values == plain.values
    assert compiled.stats["runs"] >= 20
