"""One artifact for many shapes, in TensorFlow: the same numbers as without Tektite, and few compiles."""

import numpy as np
import pytest

TOLERANCE = 2e-5

# Two encoder layers on texts of any length: embeddings, attention, layer norms, gelu, a pooled result.
ENCODER = """
H, HEADS, FFN, VOCAB = 32, 4, 64, 100
init = lambda *s: tf.Variable(normal(*s) * 0.2)
words, places = init(VOCAB, H), init(64, H)
layers = [dict(qkv=init(H, 3 * H), o=init(H, H), up=init(H, FFN), down=init(FFN, H), g=init(H), b=init(H))
          for _ in range(2)]

def norm(x, g, b):
    mean = tf.reduce_mean(x, -1, keepdims=True)
    var = tf.reduce_mean(tf.math.squared_difference(x, mean), -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(var + 1e-5) * (1 + g) + b

@tf.function(SIGNATURE)
def encode(ids):
    batch, length = tf.shape(ids)[0], tf.shape(ids)[1]
    x = tf.gather(words, ids) + places[:length][tf.newaxis]
    for l in layers:
        q, k, v = tf.split(tf.matmul(tf.reshape(x, [-1, H]), l["qkv"]), 3, -1)
        q, k, v = (tf.transpose(tf.reshape(t, [batch, length, HEADS, -1]), [0, 2, 1, 3]) for t in (q, k, v))
        a = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / np.float32((H // HEADS) ** 0.5))
        a = tf.reshape(tf.transpose(tf.matmul(a, v), [0, 2, 1, 3]), [batch, length, H])
        x = norm(x + tf.tensordot(a, l["o"], 1), l["g"], l["b"])
        x = norm(x + tf.tensordot(tf.nn.gelu(tf.tensordot(x, l["up"], 1)), l["down"], 1), l["g"], l["b"])
    total = tf.reduce_sum(x, 1) / tf.cast(length, tf.float32)
    return x, total

shapes = [(1 + i % 8, 5 + (7 * i) % 47) for i in range(50)]
results = [encode(tf.constant(rng.integers(0, VOCAB, s).astype(np.int32))) for s in shapes]
report(sums=[r[0].numpy().sum() for r in results], last=results[-1][0], totals=[r[1] for r in results])
"""

SIGNATURES = {
    "unknown from the start": "input_signature=[tf.TensorSpec([None, None], tf.int32)]",
    "relaxed by tf.function": "reduce_retracing=True",
}


# Sizes that come as values: a shape is an argument, too.
VALUES = """
@tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32), tf.TensorSpec([2], tf.int32),
                              tf.TensorSpec([], tf.int32)])
def f(x, shape, count):
    y = tf.tanh(tf.reshape(x, shape) * 2.0) + 1.0
    return tf.reduce_sum(y, 0) * tf.cast(count, tf.float32), tf.tile(y, [2, 1])[:count]

report(y=[f(normal(n, 6), tf.constant([2 * n, 3]), tf.constant(n)) for n in range(2, 12)])
"""


def test_sizes_as_values(run_pair):
    plain, compiled = run_pair(VALUES, TEKTITE_FLAGS="--compile=sync --compare=false --hot_calls=0")
    for want, got in zip(plain.values["y"], compiled.values["y"]):
        for w, g in zip(want, got):
            np.testing.assert_allclose(g, w, rtol=TOLERANCE, atol=TOLERANCE)
    stats = compiled.stats
    assert not stats["fallbacks"], stats["fallback_examples"]
    assert stats["generic_artifacts"] + stats["specialized_artifacts"] <= 3 * stats["clusters"], stats


# Strides with SAME padding, which depends on whether a size is odd; images of every size.
CONVOLUTIONS = """
init = lambda *s: tf.Variable(normal(*s) * 0.3)
stem, a, b, skip, deep, head = (init(3, 3, 3, 8), init(3, 3, 8, 16), init(3, 3, 16, 16), init(1, 1, 8, 16),
                                init(5, 5, 16, 1), init(1, 1, 16, 4))

@tf.function(input_signature=[tf.TensorSpec([None, None, None, 3], tf.float32)])
def f(x):
    x = tf.nn.relu(tf.nn.conv2d(x, stem, 2, "SAME"))
    y = tf.nn.relu(tf.nn.conv2d(x, a, 2, "SAME"))
    x = tf.nn.relu(tf.nn.conv2d(y, b, 1, "SAME") + tf.nn.conv2d(x, skip, 2, "SAME"))
    x = tf.nn.depthwise_conv2d(x, deep, [1, 2, 2, 1], "SAME")
    x = tf.nn.max_pool2d(x, 3, 2, "SAME") + tf.nn.avg_pool2d(x, 3, 2, "SAME")
    return tf.nn.conv2d(x, head, 1, "SAME")

report(y=[f(normal(1 + i % 2, 30 + (7 * i) % 37, 33 + (5 * i) % 29, 3)) for i in range(20)])
"""


def test_images_of_twenty_sizes(run_pair):
    flags = "--compile=sync --compare=false --hot_calls=0"
    plain, compiled = run_pair(CONVOLUTIONS, TEKTITE_FLAGS=flags)
    for w, g in zip(plain.values["y"], compiled.values["y"]):
        w, g = np.asarray(w), np.asarray(g)
        assert w.shape == g.shape
        np.testing.assert_allclose(g, w, rtol=0, atol=TOLERANCE * np.abs(w).max())
    stats = compiled.stats
    assert not stats["fallbacks"], stats["fallback_examples"]
    assert stats["generic_artifacts"] >= 1, stats["generic_refusal_example"]
    assert stats["generic_artifacts"] + stats["specialized_artifacts"] <= 3 * stats["clusters"], stats


# A training step of convolutions for any number of images of any size: gradients of filters, strided,
# grouped and depthwise ones among them, of padding that depends on sizes, and of a concatenation.
TRAINING = """
init = lambda *s: tf.Variable(normal(*s) * 0.3)
stem, left, right, deep, grouped = (init(3, 3, 4, 8), init(3, 3, 8, 8), init(1, 1, 8, 4), init(3, 3, 12, 1),
                                    init(3, 3, 6, 4))
weights = [stem, left, right, deep, grouped]

@tf.function(input_signature=[tf.TensorSpec([None, None, None, 4], tf.float32)])
def step(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.relu(tf.nn.conv2d(x, stem, 2, "SAME"))
        y = tf.concat([tf.nn.conv2d(y, left, 1, "SAME"), tf.nn.conv2d(y, right, 1, "SAME")], -1)
        y = tf.nn.depthwise_conv2d(tf.tanh(y), deep, [1, 2, 2, 1], "VALID")
        y = tf.concat([y, tf.nn.conv2d(y, grouped, 1, "SAME"), y], -1)
        loss = tf.reduce_sum(tf.square(y))
    return tape.gradient(loss, [x, *weights])

report(y=[step(normal(*size, 4)) for size in ((2, 17, 20), (1, 12, 9), (3, 5, 6), (1, 5, 5), (5, 16, 7))])
"""


def test_training_steps_of_any_size(run_pair):
    plain, compiled = run_pair(TRAINING, TEKTITE_FLAGS="--compile=sync --compare=false --hot_calls=0")
    for want, got in zip(plain.values["y"], compiled.values["y"]):
        for w, g in ((np.asarray(a), np.asarray(b)) for a, b in zip(want, got)):
            assert w.shape == g.shape
            np.testing.assert_allclose(g, w, rtol=0, atol=TOLERANCE * np.abs(w).max(initial=0))
    stats = compiled.stats
    assert not stats["fallbacks"], stats["fallback_examples"]
    assert stats["generic_artifacts"] >= 1, stats["generic_refusal_example"]
    assert stats["generic_artifacts"] + stats["specialized_artifacts"] <= 3 * stats["clusters"], stats


@pytest.mark.parametrize("signature", SIGNATURES.values(), ids=SIGNATURES.keys())
def test_fifty_shapes(run_pair, signature):
    plain, compiled = run_pair(ENCODER.replace("SIGNATURE", signature), TEKTITE_FLAGS="--compile=sync --compare=false --hot_calls=0")
    assert plain.values.keys() == compiled.values.keys()
    for name in plain.values:
        want, got = plain.values[name], compiled.values[name]
        for w, g in ((np.asarray(a), np.asarray(b)) for a, b in zip(want, got)):
            np.testing.assert_allclose(g, w, rtol=0, atol=TOLERANCE * max(1.0, np.abs(w).max()))
    stats = compiled.stats
    assert not stats["fallbacks"], stats["fallback_examples"]
    artifacts = stats["generic_artifacts"] + stats["specialized_artifacts"]
    assert artifacts <= 3 * stats["clusters"], stats
    assert stats["generic_artifacts"] >= 1, stats["generic_refusal_example"]


# The statistics of no images are NaN, their gradients 0.
BATCHES = """
scale, offset = tf.constant(normal(4)), tf.constant(normal(4))
@tf.function(input_signature=[tf.TensorSpec([None, 5, 3, 4], tf.float32)])
def f(x):
    norm = tf.raw_ops.FusedBatchNormV3(x=x, scale=scale, offset=offset, mean=tf.ones(4), variance=tf.ones(4),
                                       epsilon=1e-3, exponential_avg_factor=0.3)
    return [norm.y, norm.batch_mean, norm.batch_variance, *tf.gradients(norm.y ** 2, [x, scale, offset])]

report(y=[f(tf.constant(normal(n, 5, 3, 4))) for n in (4, 3, 0, 2)])
"""


def test_batch_norm_of_any_number_of_images(run_pair):
    plain, compiled = run_pair(BATCHES, TEKTITE_FLAGS="--hot_calls=0")
    for want, got in zip(plain.values["y"], compiled.values["y"]):
        for w, g in ((np.asarray(a), np.asarray(b)) for a, b in zip(want, got)):
            assert w.shape == g.shape
            np.testing.assert_allclose(g, w, rtol=0, atol=TOLERANCE * np.abs(w).max(initial=1))
    assert compiled.stats["runs"] == 4 and compiled.stats["generic_artifacts"] == 1, compiled.stats


# Means of integers, of rows that there are at tracing and not in each call: 0 of none, not a quotient by 0.
MEANS = """
def means(x, dtype):
    rows = tf.cast(tf.split(tf.range(tf.shape(x)[0]), [1, -1])[1], dtype)
    rows = tf.stack([rows, rows], -1) * 2
    return [tf.reduce_mean(rows, axes, keepdims=keep) for axes, keep in (([0, 1], False), ([0], True), ([1], False))]

@tf.function(input_signature=[tf.TensorSpec([None, 1], tf.float32)])
def f(x):
    return [means(x, dtype) for dtype in (tf.int32, tf.int64, tf.int8, tf.uint8, tf.float32)]

report(y=[f(tf.ones([n, 1])) for n in (7, 1, 3, 1)])
"""


@pytest.mark.parametrize("tier", ["generic", "specialized"])
def test_means_of_no_rows(run_pair, tier):
    plain, compiled = run_pair(MEANS, TEKTITE_FLAGS=f"--tier={tier}")
    for want, got in zip(plain.values["y"], compiled.values["y"]):
        for w, g in zip((w for typed in want for w in typed), (g for typed in got for g in typed)):
            np.testing.assert_array_equal(g, w)
    assert compiled.stats["runs"] == 4, compiled.stats


# In functions that are XLA's: some of XLA's answers are 0 and some a quotient by 0.
XLA_MEANS = """
def folded(dtype):
    return tf.function(lambda x: tf.reduce_mean(tf.cast(tf.split(tf.range(tf.shape(x)[0]), [1, -1])[1], dtype)), jit_compile=True)

def given(dtype):
    return tf.function(lambda x: [tf.reduce_mean(tf.cast(x, dtype), axes) for axes in ([0], [0, 1])], jit_compile=True)

types = (tf.int32, tf.uint8)
functions = [folded(t) for t in types]
report(folded=[[f(tf.ones([n, 1])) for n in (4, 1, 3, 1)] for f in functions],
       given=[given(t)(tf.ones([n, 2])) for t in types for n in (3, 0)])
"""


def test_means_of_no_rows_are_xlas(run_pair):
    plain, compiled = run_pair(XLA_MEANS, TEKTITE_FLAGS="--xla_guard=false")
    for name in ("folded", "given"):
        for want, got in zip(plain.values[name], compiled.values[name]):
            for w, g in zip(want, got):
                np.testing.assert_array_equal(g, w)
    assert compiled.stats["runs"] > 0, compiled.stats
