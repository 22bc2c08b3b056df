"""A fused ReLU of NaN: 0 in oneDNN's kernels, NaN in TensorFlow's own.  Compiled code follows the kernels that would
run on this machine."""

import pytest

PROGRAM = """
w, bias = tf.constant(normal(4, 3)), tf.constant(normal(3))
kernel = tf.constant(normal(3, 3, 2, 5))

@tf.function
def dense(x):
    return tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), bias))

@tf.function
def image(x):
    return tf.nn.relu6(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "SAME"), tf.ones([5])))

rows, pixels = normal(6, 4), normal(2, 6, 7, 2)
rows[2, 1] = pixels[1, 3, 3, 0] = np.nan
report(**{name: tf.math.is_nan(result) for name, result in (("dense", dense(rows)), ("image", image(pixels)))})
"""


# The second one finds what the first has left in the disk cache.
@pytest.mark.parametrize("onednn", ["0", "1"])
def test_nan_ends_where_tensorflow_lets_it_end(run_pair, onednn):
    plain, ours = run_pair(PROGRAM, TF_ENABLE_ONEDNN_OPTS=onednn)
    assert ours.host["runs"] > 0
    assert ours.values == plain.values
