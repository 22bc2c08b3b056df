"""Compiles single parts of a program: a scope, and a function that must compile as a whole.

    TEKTITE=0 build/venv/bin/python examples/scopes.py    # stock TensorFlow: the annotations do nothing
    build/venv/bin/python examples/scopes.py              # only what is annotated is compiled
    TEKTITE=1 build/venv/bin/python examples/scopes.py    # everything else as well
"""
import numpy as np
import tektite
import tensorflow as tf

random = np.random.default_rng(1)
weights = tf.Variable(random.standard_normal((128, 128)).astype(np.float32) / 11.0)


@tf.function
def network(x):
    hidden = tf.nn.relu(tf.matmul(x, weights))  # no annotation
    with tektite.scope("attention"):  # these ops form clusters of their own
        scores = tf.nn.softmax(tf.matmul(hidden, hidden, transpose_b=True) / 11.0)
        return tf.matmul(scores, hidden)


def normalize(x):
    mean = tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-6)


# Tracing raises NotCompiledError, which names the op, where an op cannot be compiled.
# With TEKTITE=0 nothing can be compiled, so nothing is demanded.
normalized = tektite.jit(normalize, must_compile=tektite.is_active())

x = tf.constant(random.standard_normal((64, 128)), tf.float32)
for _ in range(3):
    result = normalized(network(x))
    tektite.wait_until_compiled()
print(f"result: largest {tf.reduce_max(result):.5f}, mean of squares {tf.reduce_mean(result * result):.5f}")

# Prints what Tektite would compile of a function, without running it.
if tektite.is_active():
    report = tektite.explain(normalize, tf.TensorSpec([None, 128]))
    print(f"explain: {report.clustered} of {report.ops} ops of normalize compile")

host = tektite.stats().get("host", {})
print("clusters:", host.get("clusters_placed", 0))
print("compiled calls:", host.get("runs", 0))
