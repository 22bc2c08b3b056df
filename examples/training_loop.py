"""A training loop written by hand: gradients, an Adam step in plain TensorFlow ops, and a learning rate schedule.

    build/venv/bin/python examples/training_loop.py
    TEKTITE=1 build/venv/bin/python examples/training_loop.py

The whole step is one cluster: forward pass, gradients and the assignments to the variables.
"""
import numpy as np
import tektite
import tensorflow as tf

random = np.random.default_rng(1)
x = tf.constant(random.standard_normal((256, 32)), tf.float32)
labels = tf.constant(random.integers(0, 4, 256), tf.int32)


def variable(*shape, scale=0.0):
    return tf.Variable(random.standard_normal(shape).astype(np.float32) * scale)


parameters = [variable(32, 64, scale=0.2), variable(64), variable(64, 4, scale=0.2), variable(4)]
first_moments = [tf.Variable(tf.zeros_like(p)) for p in parameters]
second_moments = [tf.Variable(tf.zeros_like(p)) for p in parameters]


@tf.function
def step(rate):
    w1, b1, w2, b2 = parameters
    with tf.GradientTape() as tape:
        hidden = tf.nn.relu(tf.matmul(x, w1) + b1)
        logits = tf.matmul(hidden, w2) + b2
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    for p, m, v, gradient in zip(parameters, first_moments, second_moments, tape.gradient(loss, parameters)):
        m.assign(0.9 * m + 0.1 * gradient)
        v.assign(0.99 * v + 0.01 * tf.square(gradient))
        p.assign_sub(rate * m / (tf.sqrt(v) + 1e-6))
    return loss


for i in range(60):
    # A tensor, not a number: TensorFlow traces a function again for every new Python number.
    loss = step(tf.constant(0.01 * 0.97**i))
    if i % 10 == 0:
        print(f"step {i}: loss {loss:.4f}")
        tektite.wait_until_compiled()  # only so that this short program shows compiled steps

host = tektite.stats().get("host", {})
print("clusters:", host.get("clusters_placed", 0))
print("compiled calls:", host.get("runs", 0))
print("variables updated by compiled code:", host.get("updates", 0))
