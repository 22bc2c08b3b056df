"""The stream of random numbers is TensorFlow's, with compiled code and after it."""
import numpy as np
import pytest

KERAS = """
import keras
keras.utils.set_random_seed(3)
layers = keras.layers
model = keras.Sequential([
    keras.Input((64,)), layers.Dense(256, activation="relu"), layers.Dropout(0.4), layers.GaussianNoise(0.1),
    layers.Dense(256, activation="relu"), layers.Dropout(0.2, noise_shape=(None, 1)), layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
x, y = normal(512, 64), np.arange(512) % 10
losses = model.fit(x, y, epochs=6, batch_size=64, verbose=0).history["loss"]
report(losses=np.array(losses), seeds=[v for v in model.non_trainable_variables])
"""


# Which side of a comparison runs a step is up to the clock, so both sides must draw the same.
@pytest.mark.parametrize("flags", ["--compile=sync --compare=false", ""])
def test_dropout(run_pair, flags):
    plain, compiled = run_pair(KERAS, TEKTITE_FLAGS=flags)
    np.testing.assert_allclose(compiled.values["losses"], plain.values["losses"], rtol=1e-5)
    for ours, theirs in zip(compiled.values["seeds"], plain.values["seeds"], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    if flags:
        assert compiled.host["runs"] > 0 and compiled.host["fallbacks"] == {}
        assert not any("Random" in v["example"].split("'")[0] and "Shuffle" not in v["example"]
                       for v in compiled.stats["left_out"].values()), compiled.stats["left_out"]


PROGRAMS = {
    "uniform": "lambda s: tf.random.stateless_uniform([3, 65537], s) * 2.0 - 1.0",
    "of a size that varies": "lambda s: tf.random.stateless_uniform(tf.shape(x), s) + x",
    "integers": "lambda s: tf.random.stateless_uniform([70001], s, 0, 1000, tf.int64) * 3 + 1",
    "in a loop": "in_a_loop",
    "for each row": "lambda s: tf.map_fn(lambda r: tf.random.stateless_uniform([5], [s[0], tf.cast(r[0] * 1e4, s.dtype)]) + r[0], x)",
}
TEXT = """
x = tf.constant(normal(30, 40))
def in_a_loop(s):
    y = x
    for i in tf.range(7):
        y = tf.tanh(y) + tf.random.stateless_uniform([30, 40], s + i)
    return y
f = tf.function({program})
report(y=[f(tf.constant([n, 5 * n])) for n in (1, 2, -7, 1)])
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(run_pair, name):
    plain, compiled = run_pair(TEXT.format(program=PROGRAMS[name]),
                               TEKTITE_FLAGS="--compile=sync --compare=false --min_cluster_cost=1")
    for ours, theirs in zip(compiled.values["y"], plain.values["y"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
    assert compiled.host["runs"] > 0 and not compiled.host["fallbacks"], compiled.stats


GENERATOR = """
g = tf.random.Generator.from_seed(5)
@tf.function
def f(x):
    noise = x + g.normal(tf.shape(x), stddev=0.5)
    whole = g.uniform([7], 0, 100, tf.int64) * 3
    return noise, whole, g.uniform([2, 3]) - 0.5, g.uniform_full_int([3], tf.uint32)
@tf.function
def skip(x):
    g.skip(3)
    return tf.tanh(x) * 2.0 + g.normal([30, 40])
x = tf.constant(normal(30, 40))
floats, integers, states = [], [], []
for turn in range(6):
    noise, whole, uniform, full = f(x)
    floats += [noise, uniform, g.normal([5]), skip(x)]
    integers += [whole, full]
    states.append(g.state)
    if turn == 2:
        g.reset_from_seed(9)
    if turn == 4:
        g.reset([-2, -1, 7])  # the counter runs over
report(floats=floats, integers=integers, states=states)
"""


# Compiled code, TensorFlow's kernels, and both in turn.
@pytest.mark.parametrize("flags", ["--compile=sync --compare=false", ""])
def test_generators(run_pair, flags):
    plain, compiled = run_pair(GENERATOR, TEKTITE_FLAGS=f"{flags} --min_cluster_cost=1")
    assert compiled.values["states"] == plain.values["states"]
    assert compiled.values["integers"] == plain.values["integers"]
    for ours, theirs in zip(compiled.values["floats"], plain.values["floats"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    if flags:
        assert compiled.host["updates"] > 0 and compiled.host["fallbacks"] == {}
