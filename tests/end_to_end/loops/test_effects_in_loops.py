"""Effects in loops that TensorFlow runs beside a cluster come in the order of the turns."""
import pytest

from tests.end_to_end.batches import Batch

# What is right comes from the loop in Python, op by op: TensorFlow's own turns are not always in order on a busy machine.
# Each number of turns is traced by itself, and begins to draw anew.
IN_ORDER = """
tf.config.run_functions_eagerly(True)
report(in_order=[(tf.random.set_seed(1), %s)[1] for n in %s])
tf.config.run_functions_eagerly(False)
"""
# The cluster that counts the turns ran ahead of the draws, which then came last first.
PROGRAMS = {
    "draws": """
tf.random.set_seed(1)
@tf.function
def f(x, n):
    for _ in tf.range(n):
        u = tf.random.uniform([3], seed=3)
        x = tf.tanh(x * 0.9) + u
    return x
report(y=[f(tf.zeros([3]), n) for n in (4, 7)])
""" + IN_ORDER % ("f(tf.zeros([3]), n)", (4, 7)),
    "draws in a loop around a loop": """
tf.random.set_seed(1)
@tf.function
def f(x, n):
    out = tf.TensorArray(tf.float32, n)
    for i in tf.range(n):
        out = out.write(i, tf.random.uniform([], seed=3))
        for _ in tf.range(3):
            x = tf.tanh(x * 0.9) + tf.random.normal([], seed=4)
    return tf.concat([x[None], out.stack()], 0)
report(y=[f(tf.constant(0.5), n) for n in (4, 6)])
""" + IN_ORDER % ("f(tf.constant(0.5), n)", (4, 6)),
    "draws of a branch": """
tf.random.set_seed(1)
@tf.function
def f(x, n):
    for i in tf.range(n):
        if i % 2 == 0:
            x = tf.tanh(x * 0.9) + tf.random.uniform([], seed=3)
        else:
            x = tf.exp(-x) * 0.5
    return x
report(y=[f(tf.constant(0.5), n) for n in (5, 8)])
""" + IN_ORDER % ("f(tf.constant(0.5), n)", (5, 8)),
}
ALL = Batch("effects in loops", PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_effects_come_in_the_order_of_the_turns(run_batch, name):
    plain, compiled = run_batch(ALL, name)
    for ours, right in zip(compiled.values["y"], plain.values["in_order"], strict=True):
        assert ours == pytest.approx(right, rel=1e-5)
    assert compiled.host["clusters_placed"] > 0
