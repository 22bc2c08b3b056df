"""Loops whose arrays grow, and recurrent layers as Keras 2 calls them: each a cluster with its loop.

The compiler took the first size of such an array for its length. The check of it failed in every call, and TensorFlow's
kernels did all of the work again. Functions of a group (Keras 2's) kept no loop in training: Grappler put the original of a
function in the place of its copy.
"""
import numpy as np
import pytest

from tests.end_to_end.batches import Batch

# Each defines f and its calls' arguments; `loops` is how many are kept in its clusters.
PROGRAMS = {
    "translation that ends early": (1, """
table, w, out = tf.Variable(normal(20, 8)), tf.Variable(normal(8, 8)), tf.Variable(normal(8, 20))

@tf.function(input_signature=[tf.TensorSpec([None, 8])])
def f(state):
    token = tf.ones([tf.shape(state)[0]], tf.int64)
    done = token < 0
    tokens = tf.TensorArray(tf.int64, size=1, dynamic_size=True)
    for t in tf.range(30):
        state = tf.tanh(state @ w + tf.gather(table, token))
        token = tf.argmax(state @ out, -1)
        done = done | (token % 3 == 0)
        tokens = tokens.write(t, tf.where(done, tf.constant(0, tf.int64), token))
        if tf.reduce_all(done):
            break
    return tf.transpose(tokens.stack())

calls = [(tf.constant(normal(n, 8)),) for n in (4, 2, 5)]
"""),
    "as many turns as the caller says": (1, """
w = tf.Variable(normal(8, 8))

@tf.function(input_signature=[tf.TensorSpec([3, 8]), tf.TensorSpec([], tf.int32)])
def f(x, n):
    rows = tf.TensorArray(tf.float32, 1, dynamic_size=True)
    for i in tf.range(n):
        x = tf.tanh(x @ w)
        rows = rows.write(i, x)
    return rows.stack(), x

calls = [(tf.constant(normal(3, 8)), tf.constant(n)) for n in (5, 9, 2)]
"""),
    "an array of the size that the caller says": (1, """
w = tf.Variable(normal(8, 8))

@tf.function(input_signature=[tf.TensorSpec([3, 8]), tf.TensorSpec([], tf.int32)])
def f(x, n):
    rows = tf.TensorArray(tf.float32, n + 1)
    for i in tf.range(n + 1):
        x = tf.tanh(x @ w)
        rows = rows.write(i, x)
    return rows.stack()

calls = [(tf.constant(normal(3, 8)), tf.constant(n)) for n in (5, 9, 2)]
"""),
    "a gradient": (2, """
w = tf.Variable(normal(8, 8))

@tf.function(input_signature=[tf.TensorSpec([None, 8])])
def f(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        rows, y = tf.TensorArray(tf.float32, 0, dynamic_size=True), x
        for i in tf.range(6):
            y = tf.tanh(y @ w)
            rows = rows.write(i, y)
        loss = tf.reduce_sum(rows.stack() ** 2)
    return tape.gradient(loss, [x, w])

calls = [(tf.constant(normal(n, 8)),) for n in (4, 2, 5)]
"""),
    "a function of a group": (2, """
w = tf.Variable(normal(8, 8))

def turns(x, w):
    return tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, tf.tanh(y @ w)), (0, x))[1]

grouped = tf.function(turns, autograph=False, experimental_attributes={
    "api_implements": "turns", "api_preferred_device": "CPU"})

@tf.function(input_signature=[tf.TensorSpec([None, 8])])
def f(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(grouped(x, tf.convert_to_tensor(w)) ** 2)
    return tape.gradient(loss, [x, w])

calls = [(tf.constant(normal(n, 8)),) for n in (4, 2, 5)]
"""),
}

TEXT = """
{program}
y = [v for arguments in calls * 2 for v in tf.nest.flatten(f(*arguments))]
report(y=y, kinds=[v.dtype.name + str(v.shape) for v in y])
"""
ALL = Batch("growing lists", {name: TEXT.format(program=program) for name, (_, program) in PROGRAMS.items()},
            TEKTITE_FLAGS="--compile=sync --compare=false --min_cluster_cost=1")


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_with_arrays_that_grow(run_batch, name):
    plain, compiled = run_batch(ALL, name)
    assert compiled.values["kinds"] == plain.values["kinds"]
    for ours, theirs in zip(compiled.values["y"], plain.values["y"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    assert compiled.host["kept_loops"] == PROGRAMS[name][0] and compiled.host["lowered_loops"] == 0
    assert not {"CHECK_FAILED", "NO_CODE"} & compiled.host["fallbacks"].keys(), compiled.host
