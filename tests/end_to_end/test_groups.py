"""Convolutions of groups and their gradients against stock TensorFlow."""

import numpy as np
import pytest

# Groups, channels and features of each: less than a vector, several in one, more groups than are ever taken apart,
# and sizes that fit none.
GROUPS = [(32, 4, 4), (64, 2, 2), (2, 24, 24), (7, 3, 5), (40, 1, 2), (3, 16, 16)]

PROGRAM = """
groups, channels, features, stride = {sizes}
kernel = tf.Variable(normal(3, 3, channels, groups * features) * 0.2)
bias = tf.Variable(normal(groups * features))

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, stride, "SAME"), bias))
        loss = tf.reduce_sum(y * y)
    return [y, *tape.gradient(loss, [x, kernel, bias])]

x = tf.constant(normal(2, 9, 10, groups * channels))
report(y=[step(x), step(x)][1])
"""


@pytest.mark.parametrize("stride", (1, 2))
@pytest.mark.parametrize("groups", GROUPS, ids=lambda g: "x".join(map(str, g)))
def test_training_step(run_pair, groups, stride):
    plain, compiled = run_pair(PROGRAM.format(sizes=(*groups, stride)), TEKTITE_FLAGS="--compile=sync --contest=false")
    for want, got in zip(plain.values["y"], compiled.values["y"], strict=True):
        w, g = np.asarray(want), np.asarray(got)
        assert w.shape == g.shape
        np.testing.assert_allclose(g, w, rtol=0, atol=1e-5 * np.abs(w).max())
    assert compiled.stats["clusters"] >= 1
    assert not compiled.stats["fallbacks"], compiled.stats["fallback_examples"]
