"""TensorFlow's own optimizers, whose ops update variables: the same weights and slots after twenty steps."""

import numpy as np
import pytest

from tests.end_to_end.batches import Batch

MODEL = """
v1 = tf.compat.v1
def variable(*shape):
    return v1.get_variable(f"v{rng.integers(1 << 30)}", initializer=normal(*shape) * np.float32(0.3), use_resource=True)
inputs, targets = normal(32, 12), normal(32, 3)
def loss_of(x, y, w, b, u):
    return tf.reduce_mean(tf.square(tf.matmul(tf.tanh(tf.matmul(x, w) + b), u) - y))
"""

SESSION = MODEL + """
v1.reset_default_graph()
x, y = v1.placeholder(tf.float32, [None, 12]), v1.placeholder(tf.float32, [None, 3])
weights = [variable(12, 40), variable(40), variable(40, 3)]
loss = loss_of(x, y, *weights)
steps = v1.train.get_or_create_global_step()
optimizer = OPTIMIZER
step = optimizer.minimize(loss, global_step=steps)
slots = [optimizer.get_slot(w, name) for w in weights for name in optimizer.get_slot_names()]
with v1.Session() as session:
    session.run(v1.global_variables_initializer())
    losses = [session.run([loss, step], {x: inputs, y: targets})[0] for _ in range(20)]
    report(losses=losses, weights=session.run(weights), slots=session.run(slots), steps=session.run(steps))
"""

FUNCTION = MODEL + """
weights = [tf.Variable(normal(*shape) * np.float32(0.3)) for shape in ((12, 40), (40,), (40, 3))]
steps = tf.Variable(0, dtype=tf.int64)
optimizer = OPTIMIZER
@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(x, y, *weights)
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights), global_step=steps)
    return loss
losses = [step(tf.constant(inputs), tf.constant(targets)) for _ in range(20)]
slots = [optimizer.get_slot(w, name) for w in weights for name in optimizer.get_slot_names()]
report(losses=losses, weights=weights, slots=slots, steps=steps)
"""

OPTIMIZERS = {
    "gradient descent": "v1.train.GradientDescentOptimizer(0.1)",
    "momentum": "v1.train.MomentumOptimizer(0.05, 0.9)",
    "Nesterov": "v1.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True)",
    "Adam": "v1.train.AdamOptimizer(0.01)",
    "Adagrad": "v1.train.AdagradOptimizer(0.1)",
    "Adadelta": "v1.train.AdadeltaOptimizer(1.0)",
    "RMSProp": "v1.train.RMSPropOptimizer(0.01, momentum=0.5)",
    "centered RMSProp": "v1.train.RMSPropOptimizer(0.01, centered=True)",
    "Ftrl": "v1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001, l2_regularization_strength=0.01)",
    "Ftrl with shrinkage": "v1.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.01)",
    "proximal Adagrad": "v1.train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.001)",
    "proximal gradient descent": "v1.train.ProximalGradientDescentOptimizer(0.1, l1_regularization_strength=0.001)",
    "Adagrad by dual averages": "v1.train.AdagradDAOptimizer(0.1, steps, l2_regularization_strength=0.01)",
}


# The last one asks for its slots by a graph.
IN_FUNCTIONS = [name for name in OPTIMIZERS if "steps" not in OPTIMIZERS[name]]


SESSIONS = Batch("optimizers in sessions", {n: SESSION.replace("OPTIMIZER", text) for n, text in OPTIMIZERS.items()},
                 preamble="tf.compat.v1.disable_eager_execution()")
FUNCTIONS = Batch("optimizers in functions", {n: FUNCTION.replace("OPTIMIZER", OPTIMIZERS[n]) for n in IN_FUNCTIONS})


@pytest.mark.parametrize("batch,name", [(batch, name) for batch in (SESSIONS, FUNCTIONS) for name in batch.programs],
                         ids=lambda value: getattr(value, "name", value))
def test_optimizers(run_batch, batch, name):
    plain, compiled = run_batch(batch, name)
    assert plain.values["losses"][-1] < plain.values["losses"][0]
    assert compiled.values["steps"] == plain.values["steps"] == 20
    for key in ("losses", "weights", "slots"):
        for ours, theirs in zip(compiled.values[key], plain.values[key], strict=True):
            theirs = np.asarray(theirs)
            # Adam and Adadelta divide by the size of gradients that may be next to nothing.
            assert np.abs(np.asarray(ours) - theirs).max() <= 2e-4 * max(np.abs(theirs).max(), 1e-3), key
    assert compiled.host["updates"] >= 20 * 3  # of each weight in each step
    assert compiled.host["fallbacks"] == {}
    assert not any("ResourceApply" in v["example"] for v in compiled.stats["left_out"].values()), compiled.stats
