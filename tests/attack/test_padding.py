"""Padding in gradients of 2-D filters is zeros that are multiplied, in TensorFlow's kernels and in compiled code: an
infinite gradient of the result makes NaN at the taps that meet padding there (docs/numbers.md)."""

PROGRAM = """
@tf.function(jit_compile=False)
def gradient(x, dy, stride):
    return 2 * tf.raw_ops.Conv2DBackpropFilter(
        input=x, filter_sizes=[3, 3, 8, 16], out_backprop=dy, strides=[1, stride, stride, 1], padding="EXPLICIT",
        explicit_paddings=[0, 0, 1, 1, 1, 1, 0, 0])

def kinds(array):
    array = np.asarray(array, np.float64)
    return "".join(np.where(np.isnan(array), "n", np.where(np.isinf(array), "i", ".")))

found = {}
for stride, places in ((1, 6), (2, 3)):
    for dtype in ("float32", "bfloat16", "float16"):
        for value in (np.inf, np.nan):
            x, dy = rng.random((2, 6, 6, 8)) + 1, rng.random((2, places, places, 16)) + 1
            dy[0, 0, 0, 2] = value
            result = gradient(tf.cast(x, dtype), tf.cast(dy, dtype), stride)
            found["%s, stride %d, %s" % (dtype, stride, value)] = kinds(tf.cast(result, "float64")[:, :, 3, 2].numpy().ravel())
report(**found)
"""


def test_gradients_of_filters_multiply_it(run_pair):
    plain, compiled = run_pair(PROGRAM)
    assert compiled.host["runs"] >= 2 and not any(compiled.stats["fallbacks"].values()), compiled.stats
    assert compiled.values == plain.values
    for name, kinds in compiled.values.items():
        assert kinds == ("nnnnnnnnn" if "nan" in name else "nnnniinii"), name
