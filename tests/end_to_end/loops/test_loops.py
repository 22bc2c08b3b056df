"""Values that are needed before a loop, in it and behind it."""
import numpy as np
import pytest

from tests.end_to_end.batches import Batch

PROGRAMS = {
    "before and behind": "lambda x: tf.map_fn(lambda r: tf.sin(r) * 2.0, tf.tanh(x) + 1.0) + tf.tanh(x) * 3.0",
    "in it, too": "lambda x: tf.map_fn(lambda r: r * tf.reduce_sum(tf.exp(x)) + 1.0, tf.exp(x)) * tf.exp(x)",
    "one after the other": "lambda x: chain(chain(tf.exp(x)) * tf.exp(x) + 1.0) * tf.exp(x)",
    "one in the other":
        "lambda x: tf.map_fn(lambda r: tf.map_fn(lambda v: tf.tanh(v) + tf.reduce_sum(r * 2.0), tf.exp(r) * 0.5) * r"
        " + tf.exp(r), tf.exp(x)) + tf.exp(x) * 2.0",
    "a sum so far": "lambda x: tf.scan(lambda a, r: tf.tanh(a) * 0.5 + r, tf.exp(x)) + tf.exp(x) * 2.0",
    "turns of two values": "lambda x: swap(tf.exp(x) * 2.0) + tf.exp(x) * 0.5",
    "gradient": "gradient",
    "until a sum is large": "until",
}

TEXT = """
def chain(x):
    return tf.map_fn(lambda r: tf.tanh(r) * 2.0 + 1.0, x)

def swap(x):  # what comes out first was put in second
    return tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, tf.tanh(b) + 1.0, a * 0.5),
                         (0, tf.zeros_like(x), x))[1]

def gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.exp(x) * 0.5
        z = tf.map_fn(lambda r: tf.tanh(r) * tf.reduce_mean(y), y) * y + 1.0
    return tape.gradient(z, x)

def until(x):
    y = tf.exp(x)
    while tf.reduce_sum(y) < 1e4:
        y = y * 1.5 + tf.abs(x)
    return y * 2.0 + tf.exp(x)

f = tf.function({program}, input_signature={signature})
report(y=[f(tf.constant(normal(n, 6))) for n in (5, 1, 3, 5)])
"""


# Where sizes are known, nothing but the values themselves goes into a loop.
TEXTS = {f"{name}, {sizes}": TEXT.format(program=program, signature=signature) for name, program in PROGRAMS.items()
         for sizes, signature in (("known sizes", None), ("unknown sizes", "[tf.TensorSpec([None, None])]"))}
BATCHES = [Batch("loops " + flags, TEXTS, TEKTITE_FLAGS=flags) for flags in ("--keep_loops=false", "--keep_loops")]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: batch.name)
def test_loops(run_batch, batch, name):
    plain, compiled = run_batch(batch, name)
    for ours, theirs in zip(compiled.values["y"], plain.values["y"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)
    assert compiled.host["clusters_placed"] >= (1 if compiled.host["kept_loops"] else 2)
    assert compiled.host["runs"] > 0


def test_layers_round_a_recurrent_one(run_pair):
    plain, compiled = run_pair("""
import keras
keras.utils.set_random_seed(5)
inputs = keras.Input((None, 8))
before = keras.layers.Dense(16, activation="gelu")(inputs)
after = keras.layers.LSTM(16, return_sequences=True, unroll=False)(before)
model = keras.Model(inputs, keras.layers.Dense(4)(keras.layers.Add()([before, after])))
f = tf.function(model)
report(y=[f(tf.constant(normal(2, n, 8))) for n in (7, 1, 4)])
""")
    for ours, theirs in zip(compiled.values["y"], plain.values["y"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)
