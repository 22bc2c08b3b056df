"""Compilation is a function of the graph, the machine and the flags: two processes that compile the same programs, in turn and with
four threads, store the same bytes.  Guards against code that depends on addresses, on the order of a hash table or on a clock."""
import os

import pytest

from tests.conftest import run

HEADER_TIME = slice(24, 32)  # when an entry was written (jit/cache/entry.h)
DIGEST_BYTES = 16

PROGRAM = """
tf.keras.utils.set_random_seed(1)
x = tf.random.stateless_normal([8, 16, 16, 3], [1, 2])
t = tf.random.stateless_normal([8, 12, 32], [3, 4])
images = tf.keras.Sequential([tf.keras.layers.Conv2D(8, 3, activation="relu"), tf.keras.layers.DepthwiseConv2D(3),
                              tf.keras.layers.MaxPooling2D(), tf.keras.layers.BatchNormalization(),
                              tf.keras.layers.Flatten(), tf.keras.layers.Dense(10, activation="softmax")])
series = tf.keras.Sequential([tf.keras.layers.LSTM(24, return_sequences=True), tf.keras.layers.Dense(5, activation="gelu")])
drawn = tf.keras.Sequential([tf.keras.layers.Conv2DTranspose(4, 3, strides=2), tf.keras.layers.GroupNormalization(2),
                             tf.keras.layers.AveragePooling2D(3), tf.keras.layers.Conv2D(6, 1, activation="swish")])
words = tf.keras.Sequential([tf.keras.layers.Embedding(50, 16), tf.keras.layers.Bidirectional(tf.keras.layers.GRU(8)),
                             tf.keras.layers.LayerNormalization(), tf.keras.layers.Dense(1, activation="sigmoid")])
attend = tf.keras.layers.MultiHeadAttention(4, 8)
attend(t, t)
images.compile("adam", "sparse_categorical_crossentropy")

@tf.function(jit_compile=False)
def order(a):
    values, places = tf.math.top_k(a, 5)
    return tf.sort(a), tf.argsort(a), values, places, tf.cumsum(a, 1), tf.linalg.inv(a[:, :8] @ tf.transpose(a[:, :8]) + tf.eye(8))

@tf.function
def mixed(a):
    b = tf.cast(a, tf.bfloat16)
    return tf.cast(b @ tf.transpose(b), tf.float32), tf.signal.fft(tf.cast(a, tf.complex64)), tf.cast(a, tf.float64) ** 2

for batch in (8, 5):
    tf.function(images)(x[:batch])
    tf.function(series)(t[:batch])
    tf.function(drawn)(x[:batch])
    tf.function(words)(tf.range(batch * 9)[:, None] % 50)
    tf.function(attend)(t[:batch], t[:batch])
images.fit(x, tf.range(8) % 10, epochs=2, batch_size=4, verbose=0, shuffle=False)
order(t[:, 0, :])
mixed(t[:, 0, :])
report(done=True)
"""


# Networks as people load them; their weights are random.
NETWORKS = """
tf.keras.utils.set_random_seed(1)

def encoder(tokens=16, width=64, heads=4, blocks=2):
    words = x = tf.keras.Input((tokens,), dtype=tf.int32)
    x = tf.keras.layers.Embedding(100, width)(x)
    for _ in range(blocks):
        x = tf.keras.layers.LayerNormalization()(x + tf.keras.layers.MultiHeadAttention(heads, width // heads)(x, x))
        inner = tf.keras.layers.Dense(4 * width, activation="gelu")(x)
        x = tf.keras.layers.LayerNormalization()(x + tf.keras.layers.Dense(width)(inner))
    return tf.keras.Model(words, tf.keras.layers.Dense(2)(x[:, 0]))

image = tf.random.stateless_normal([1, 96, 96, 3], [1, 2])
mobile = tf.keras.applications.MobileNetV2((96, 96, 3), alpha=0.35, weights=None, classes=10)
residual = tf.keras.applications.ResNet50(input_shape=(32, 32, 3), weights=None, classes=10)
tf.function(mobile)(image)
tf.function(residual)(image[:, :32, :32])
tf.function(encoder())(tf.range(32)[None, :16])
report(done=True)
"""


def stored(program: str, folder, threads: int) -> dict[str, bytes]:
    run(program, "1", fresh=True, XDG_CACHE_HOME=str(folder), TF_NUM_INTEROP_THREADS="1",
        TF_NUM_INTRAOP_THREADS=str(threads), OMP_NUM_THREADS=str(threads))
    entries = {}
    for entry in sorted((folder / "tektite").glob("*.entry")):
        content = bytearray(entry.read_bytes()[:-DIGEST_BYTES])
        content[HEADER_TIME] = bytes(8)
        entries[entry.name] = bytes(content)
    return entries


@pytest.mark.parametrize("program, least", [(PROGRAM, 40), (NETWORKS, 60)], ids=["layers", "networks"])
def test_two_processes_store_the_same_bytes(program, least, tmp_path):
    first, second = stored(program, tmp_path / "first", 1), stored(program, tmp_path / "second", 4)
    assert len(first) > least and set(first) == set(second)
    different = [name for name in first if first[name] != second[name]]
    assert not different, different
