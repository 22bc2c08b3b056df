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
    plain, compiled = run_pair(PROGRAM.format(sizes=(*groups, stride)), TEKTITE_FLAGS="--compile=sync --compare=false")
    for want, got in zip(plain.values["y"], compiled.values["y"], strict=True):
        w, g = np.asarray(want), np.asarray(got)
        assert w.shape == g.shape
        np.testing.assert_allclose(g, w, rtol=0, atol=1e-5 * np.abs(w).max())
    assert compiled.stats["clusters"] >= 1
    assert not compiled.stats["fallbacks"], compiled.stats["fallback_examples"]


# XLA's alone: TensorFlow's kernel asks for as many channels as the filter takes, and still says so below.
VOLUMES = """
def step(x, kernel):
    with tf.GradientTape() as tape:
        tape.watch([x, kernel])
        y = tf.nn.conv3d(x, kernel, [1, 1, 2, 2, 1], "SAME")
        loss = tf.reduce_sum(tf.sin(y))
    return [y, *tape.gradient(loss, [x, kernel])]

xla, results = tf.function(step, jit_compile=True), []
for window, channels in (((1, 3, 3, 1, 24), 24), ((3, 1, 1, 1, 24), 24), ((2, 3, 3, 4, 12), 12), ((3, 3, 3, 2, 16), 8)):
    x, kernel = tf.constant(normal(2, 4, 7, 6, channels)), tf.constant(normal(*window))
    results += [[xla(x, kernel), xla(x, kernel)][1]]
said = ""
try:
    tf.function(lambda x, k: tf.nn.conv3d(x, k, [1] * 5, "SAME") * 2)(x, kernel)
except tf.errors.InvalidArgumentError as error:
    said = error.message
report(y=results, said=said)
"""


def test_groups_of_volumes(run_pair):
    """A function with such a convolution was XLA's in every call; the message of TensorFlow's kernel stays."""
    flags = "--compile=sync --compare=false --min_cluster_cost=0"
    plain, compiled = run_pair(VOLUMES, TEKTITE_FLAGS=flags)
    for want, got in zip(sum(plain.values["y"], []), sum(compiled.values["y"], []), strict=True):
        w, g = np.asarray(want), np.asarray(got)
        np.testing.assert_allclose(g, w, rtol=0, atol=1e-5 * np.abs(w).max())
    assert "must have the same depth" in plain.values["said"] and "must have the same depth" in compiled.values["said"]
    assert compiled.stats["host"]["runs"] >= 8
