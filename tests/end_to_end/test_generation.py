"""Text generation as programs write it: a loop over tokens with a cache of keys and values, which is one step of one cluster."""
import numpy as np
import pytest

from tests.end_to_end.batches import Batch

MODEL = """
from tensorflow.compiler.tf2xla.python import xla
LAYERS, HIDDEN, HEADS, VOCABULARY, LENGTH, PROMPT = 2, 32, 2, 97, 20, 5
SIZE = HIDDEN // HEADS

def weight(*shape, scale=None):
    return tf.Variable(np.random.default_rng([3, *shape]).normal(0, scale or shape[0] ** -0.5, shape).astype("f"))

tokens_table, positions_table = weight(VOCABULARY, HIDDEN, scale=1.0), weight(LENGTH, HIDDEN, scale=1.0)
head = weight(HIDDEN, VOCABULARY)
blocks = [{name: weight(*shape) for name, shape in (("q", (HIDDEN, HIDDEN)), ("k", (HIDDEN, HIDDEN + i)), ("v", (HIDDEN, HIDDEN)),
          ("out", (HIDDEN, HIDDEN)), ("wide", (HIDDEN, 4 * HIDDEN)), ("narrow", (4 * HIDDEN, HIDDEN)))} for i in range(LAYERS)]

def norm(x):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5)

def heads(x):
    return tf.reshape(x, [tf.shape(x)[0], tf.shape(x)[1], HEADS, SIZE])

def put(cache, index, update):
    return xla.dynamic_update_slice(cache, update, [0, index, 0, 0])

def step(tokens, cache, index):
    positions = tf.range(tf.shape(tokens)[1]) + index
    x = tf.gather(tokens_table, tokens) + tf.slice(positions_table, [index, 0], [tf.shape(tokens)[1], HIDDEN])
    caches = []
    for i, w in enumerate(blocks):
        h = norm(x)
        q, k, v = h @ w["q"], (h @ w["k"])[..., :HIDDEN], h @ w["v"]
        keys, values = put(cache[:, i, 0], index, heads(k)), put(cache[:, i, 1], index, heads(v))
        scores = tf.einsum("bqhs,bkhs->bhqk", heads(q) * SIZE ** -0.5, keys)
        seen = tf.range(LENGTH)[None] <= positions[:, None]
        mixed = tf.einsum("bhqk,bkhs->bqhs", tf.nn.softmax(tf.where(seen, scores, -1e9)), values)
        x = x + tf.reshape(mixed, tf.shape(x)) @ w["out"]
        x = x + tf.nn.gelu(norm(x) @ w["wide"]) @ w["narrow"]
        caches.append(tf.stack([keys, values], 1))
    return norm(x)[:, -1] @ head, tf.stack(caches, 1)

def begin(prompt):
    cache = tf.zeros([prompt.shape[0], LAYERS, 2, LENGTH, HEADS, SIZE])
    return step(prompt[:, :PROMPT - 1], cache, 0)[1], tf.constant(PROMPT)

def generate(prompt, choose, stop=-1):
    cache, index = begin(prompt)
    def goes_on(prompt, cache, index, done):
        return (index < LENGTH) & ~tf.reduce_all(done)
    def turn(prompt, cache, index, done):
        logits, cache = step(tf.slice(prompt, [0, index - 1], [prompt.shape[0], 1]), cache, index - 1)
        token = tf.where(done, 0, tf.cast(choose(logits, index), tf.int32))
        return put_token(prompt, index, token), cache, index + 1, done | (token == stop)
    done = tf.zeros(prompt.shape[0], tf.bool)
    return tf.while_loop(goes_on, turn, (prompt, cache, index, done))[0]

def put_token(prompt, index, token):
    return xla.dynamic_update_slice(prompt, token[:, None], [0, index])

def greedy(logits, index):
    return tf.argmax(logits, -1)

def top_k(logits, index):
    best, tokens = tf.math.top_k(logits, 5)
    noise = tf.random.stateless_uniform(tf.shape(best), tf.stack([index, 7]), 1e-6, 1.0)
    return tf.gather(tokens, tf.argmax(best - tf.math.log(-tf.math.log(noise)), -1), batch_dims=1)

# As KerasHub's samplers draw.
def draws(probabilities, index):
    return tf.random.stateless_categorical(tf.math.log(probabilities), 1, tf.stack([index, 5]), tf.int32)[:, 0]

def random(logits, index):
    return draws(tf.nn.softmax(logits), index)

def top_k_of_heap(logits, index):
    best, tokens = tf.math.top_k(tf.nn.softmax(logits), 5, sorted=False)
    return tf.gather(tokens, draws(best, index), batch_dims=1)

def top_p(logits, index):
    best, tokens = tf.math.top_k(tf.nn.softmax(logits), VOCABULARY)
    below = tf.cumsum(best, -1) <= .7
    kept = tf.concat([tf.ones_like(below[:, :1]), below[:, :-1]], -1)
    return tf.gather(tokens, draws(tf.where(kept, best, 0.), index), batch_dims=1)

def beam(prompt, width=3):
    batch = prompt.shape[0]
    wide = lambda x: tf.repeat(x, width, 0)
    cache, index = begin(prompt)
    def turn(prompt, cache, index, scores):
        logits, cache = step(tf.slice(prompt, [0, index - 1], [prompt.shape[0], 1]), cache, index - 1)
        scores = tf.reshape(scores[..., None] + tf.reshape(tf.nn.log_softmax(logits), [batch, width, -1]), [batch, -1])
        scores, best = tf.math.top_k(scores, width)
        rows = tf.reshape(best // VOCABULARY + tf.range(batch)[:, None] * width, [-1])
        token = tf.reshape(best % VOCABULARY, [-1])
        return put_token(tf.gather(prompt, rows), index, token), tf.gather(cache, rows), index + 1, scores
    scores = tf.tile([[0.0] + [-1e9] * (width - 1)], [batch, 1])
    return tf.while_loop(lambda p, c, index, s: index < LENGTH, turn, (wide(prompt), wide(cache), index, scores))[0]

def by_scatter(prompt):
    # Weights stand still and a variable holds the text.
    text = tf.identity(prompt)
    for index in tf.range(PROMPT, LENGTH):
        last = tf.gather(tokens_table, text[:, index - 1])
        token = tf.argmax(norm(last + positions_table[index]) @ head, -1, tf.int32)
        places = tf.stack([tf.range(prompt.shape[0]), tf.fill([prompt.shape[0]], index)], 1)
        text = tf.tensor_scatter_nd_update(text, places, token)
    return text

prompts = tf.constant(np.random.default_rng(5).integers(1, VOCABULARY, (2, LENGTH)).astype("i"))
"""

PROGRAMS = {
    "greedy": "lambda p: generate(p, greedy)",
    "greedy, stops": "lambda p: generate(p, greedy, 94)",
    "random": "lambda p: generate(p, random)",
    "top k": "lambda p: generate(p, top_k)",
    "top k of a heap": "lambda p: generate(p, top_k_of_heap)",
    "top p": "lambda p: generate(p, top_p)",
    "beam": "lambda p: beam(p)",
    "scatter": "by_scatter",
}
DRAWS = ("random", "top k", "top k of a heap", "top p")
TEXT = """
f = tf.function({program}, jit_compile={jit})
report(y=[f(prompts) for _ in range(4)])
"""
TEXTS = {f"{name}, jit_compile={jit}": TEXT.format(program=program, jit=jit) for name, program in PROGRAMS.items()
         for jit in (False, True) if name not in DRAWS or not jit}  # XLA draws other numbers
# The numbers of a row depend on how TensorFlow divides the rows among its threads.
CLASSES = """
f = tf.function(lambda x, s: [tf.random.stateless_categorical(x + 0, n, s) for n in (1, 3)])
cases = [(2, 20000), (3, 9000), (7, 20000), (33, 1000), (200, 77), (600, 7), (5000, 33)]
report(y=[f(tf.constant(normal(*shape)), [k, 8])[i] for k, shape in enumerate(cases) for i in range(2)])
"""
BATCH = Batch("generation", {**TEXTS, "classes": CLASSES}, MODEL)


@pytest.mark.parametrize("name", TEXTS)
def test_generation(run_batch, name):
    """A slice at a place that is data kept such a loop from being compiled."""
    plain, compiled = run_batch(BATCH, name)
    for ours, theirs in zip(compiled.values["y"], plain.values["y"], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert compiled.host["clusters_placed"] == 1 and compiled.host["runs"] > 0
    assert "NOT_COMPILE_TIME" not in compiled.stats["left_out"]


def test_classes_are_drawn_as_by_tensorflows_threads(run_batch):
    plain, compiled = run_batch(BATCH, "classes")
    for ours, theirs in zip(compiled.values["y"], plain.values["y"], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert compiled.host["runs"] >= 7 and compiled.host["clusters_placed"] >= 7
