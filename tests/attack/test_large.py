"""More than 2^31 elements in one tensor, through compiled code: places are counted in 64 bits.

Guards against: an element's index, an offset or a number of chunks that is computed in 32 bits."""

import pytest

PROGRAM = """
n = (1 << 31) + 77
x = np.zeros(n, np.bool_ if KIND == "bool" else np.int8)
x[[5, (1 << 31) - 1, 1 << 31, n - 3]] = 1
places = np.array([0, 5, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, n - 3, n - 1], np.int64)

@tf.function(input_signature=[tf.TensorSpec([None], tf.bool if KIND == "bool" else tf.int8),
                              tf.TensorSpec([None], tf.int64)])
def f(x, places):
    if KIND == "bool":
        y = tf.cast(tf.logical_not(x), tf.uint8)  # a result of as many elements
    else:
        y = tf.bitwise.bitwise_xor(x + tf.constant(2, tf.int8), tf.constant(1, tf.int8))
    ones = tf.reduce_sum(tf.cast(tf.cast(x, tf.bool), tf.int64))
    return y, ones, tf.gather(x, places), x[-3:], x[1 << 31:(1 << 31) + 2]

small = f(tf.constant(x[:100]), places[:2])
small = f(tf.constant(x[:200]), places[:2])
y, ones, gathered, end, middle = f(x, places)
y = y.numpy()

def wanted(part):
    return np.logical_not(part) if KIND == "bool" else (part + np.int8(2)) ^ np.int8(1)

step = 1 << 26  # a copy of all would take as much memory again
same = all(np.array_equal(y[i:i + step], wanted(x[i:i + step])) for i in range(0, n, step))
report(ones=ones, gathered=np.asarray(gathered).astype(int), end=np.asarray(end).astype(int),
       middle=np.asarray(middle).astype(int), same=same)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bool", "int8"])
def test_more_elements_than_32_bits_count(run_program, kind):
    result = run_program(f"KIND = {kind!r}\n" + PROGRAM, tektite="1", timeout=900)
    assert result.host["runs"] >= 3 and result.host["fallbacks"] == {}
    assert result.values["ones"] == 4
    assert result.values["gathered"] == [0, 1, 1, 1, 0, 1, 0]
    assert result.values["end"] == [1, 0, 0] and result.values["middle"] == [1, 0]
    assert result.values["same"]
