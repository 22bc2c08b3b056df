"""A zoo of loops, stock TensorFlow against Tektite: results, losses, and how much of each model is compiled whole."""
import numpy as np
import pytest

from tests.end_to_end.batches import Batch
from tests.end_to_end.loops.loop_zoo import FUNCTIONS, LAYERS, LONG, MODEL, SESSION

# Counts what a first call of f adds to the counters, and what explain says of it.
COUNT = """
def counted():
    s = tektite.stats() if tektite.is_active() else {}
    return np.array([s.get("ops", 0), s.get("clustered_ops", 0), s.get("host", {}).get("clusters_placed", 0)])
"""

INFERENCE = COUNT + """
f = tf.function(model, input_signature=[tf.TensorSpec(model.inputs[0].shape, model.inputs[0].dtype)])
before = counted()
sizes = [(batch, time)] * 3 if words == "fixed" else [(batch, time), (1, 1), (batch, 4), (0, 3), (batch, time)]
if any(isinstance(layer, L.Reshape) for layer in model.layers):
    sizes = [s for s in sizes if s[0]]  # of nothing, TensorFlow cannot tell a size that is -1
y = []
for n, t in sizes:
    y.append(f(tf.constant(sequences(n, t))))
    if len(y) == 1:
        run_time = counted() - before
said = tektite.explain(f) if tektite.is_active() else None
report(y=y, run_time=run_time, said=[] if said is None else [said.ops, said.clustered, len(said.clusters)])
"""

TRAINING = """
model.compile({optimizer}, "mse", metrics=["mae"], jit_compile=False, {options})
x, y = sequences(4 * batch, time), normal(4 * batch, 2)
before = counted()
losses = [[float(v) for v in model.train_on_batch(x[:batch], y[:batch])]]
run_time = counted() - before
{rest}
report(losses=losses, weights=[w.numpy().astype(np.float32) for w in model.weights if "seed" not in w.path],
       run_time=run_time, **results)
"""
# What follows the first step: further ones of the same function, fit, or what traces the model three times more.
STEPS = """
for step in range(1, 12):
    part = slice(step % 4 * batch, (step % 4 + 1) * batch)
    losses.append([float(v) for v in model.train_on_batch(x[part], y[part])])
results = {}
"""
FIT = """
class Watch(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs):
        losses.append([logs["loss"], logs["mae"]])
model.fit(x, y, batch_size=batch, epochs=3, shuffle=False, verbose=0, callbacks=[Watch()])
results = {}
"""
FIT_AND_USE = FIT + """
results = dict(evaluated=model.evaluate(x, y, batch_size=batch, verbose=0),
               y=model.predict(x, batch_size=batch, verbose=0))
"""
ADAM = "keras.optimizers.Adam(0.003)"

FUNCTION = """
w = tf.Variable(normal(6, 6) * 0.5)
{program}
g = tf.function(f, input_signature=[tf.TensorSpec([{rows}, 6])])
report(y=[v for n in {sizes} for v in tf.nest.flatten(g(tf.constant(normal(n, 6))))])
"""


def model_of(name, policy="float32"):
    layers, words = LAYERS[name]
    return MODEL.format(layers=layers, words=words, policy=policy)


def training_of(name, rest, optimizer=ADAM, options="", policy="float32"):
    return model_of(name, policy) + COUNT + TRAINING.format(optimizer=optimizer, options=options, rest=rest)


def same(ours, theirs, tolerance=2e-5):
    """Within `tolerance` of the largest element, and NaN where stock TensorFlow has them."""
    for a, b in zip(ours, theirs, strict=True):
        b = np.asarray(b)
        largest = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(largest, 1e-6))


def same_training(compiled, plain, tolerance):
    same(compiled.values["losses"], plain.values["losses"], tolerance)
    assert compiled.values.keys() == plain.values.keys()
    for name in compiled.values.keys() - {"losses", "run_time"}:
        same(compiled.values[name], plain.values[name], 10 * tolerance)
    assert "NO_CODE" not in compiled.host["fallbacks"], compiled.host


INFERENCE_OF_ALL = Batch("inference", {name: model_of(name) + INFERENCE for name in LAYERS})


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYERS)
def test_inference(run_batch, name):
    plain, compiled = (result.values for result in run_batch(INFERENCE_OF_ALL, name))
    same(compiled["y"], plain["y"])
    ops, clustered, clusters = compiled["run_time"]
    assert clustered >= 0.95 * ops and clusters <= 3
    said_ops, said_clustered, said_clusters = compiled["said"]
    assert said_clustered >= 0.95 * said_ops and said_clusters == clusters


TRAINING_OF_ALL = Batch("training", {name: training_of(name, STEPS) for name in LAYERS}, TEKTITE_FLAGS="--min_cluster_cost=1")


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYERS)
def test_training(run_batch, name):
    plain, compiled = run_batch(TRAINING_OF_ALL, name)
    same_training(compiled, plain, 1e-4)
    ops, clustered, clusters = compiled.values["run_time"]
    small = compiled.stats["left_out"].get("TOO_SMALL", {"ops": 0})["ops"]  # initial values of metrics
    assert clustered >= 0.95 * (ops - small) and clusters <= 3, compiled.stats["left_out"]


# What a user sets, of the optimizer and in compile(...).
SETTINGS = {
    "several steps at once": (ADAM, "steps_per_execution=3"),
    "steps that do not divide": (ADAM, "steps_per_execution=4"),
    "accumulated gradients": ("keras.optimizers.Adam(0.003, gradient_accumulation_steps=2)", ""),
    "clipped, with momentum and averages":
        ("keras.optimizers.SGD(0.01, momentum=0.9, clipnorm=0.5, use_ema=True)", ""),
}
SET_MODELS = {
    "several steps at once": ["lstm", "masked sequences"],
    "steps that do not divide": ["gru", "stateful"],
    "accumulated gradients": ["text", "lstm"],
    "clipped, with momentum and averages": ["masked sequences", "gru"],
}
# An optimizer's settings change nothing of evaluate and predict.
EVERY_SETTING = Batch("settings", {
    f"{name}, {setting}": training_of(name, FIT_AND_USE if SETTINGS[setting][1] else FIT, *SETTINGS[setting])
    for setting, names in SET_MODELS.items() for name in names})


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY_SETTING.programs)
def test_settings(run_batch, name):
    plain, compiled = run_batch(EVERY_SETTING, name)
    same_training(compiled, plain, 1e-4)


MIXED_MODELS = ["lstm", "gru", "bidirectional", "masked lstm", "conv lstm 2d"]
MIXED_PRECISION = Batch("mixed precision", {
    f"{name}, {policy}": training_of(name, FIT_AND_USE if name == "lstm" else STEPS, policy=policy)
    for name in MIXED_MODELS for policy in ("mixed_bfloat16", "mixed_float16")})


@pytest.mark.slow
@pytest.mark.parametrize("name", MIXED_PRECISION.programs)
def test_mixed_precision(run_batch, name):
    plain, compiled = run_batch(MIXED_PRECISION, name)
    same_training(compiled, plain, 2e-2)


def functions(rows, sizes):
    texts = {name: FUNCTION.format(program=text, rows=rows, sizes=sizes) for name, text in FUNCTIONS.items()}
    return Batch(f"functions of {rows} rows", texts)


FUNCTIONS_OF_ROWS = [functions("None", [5, 1, 3, 5]), functions("4", [4, 4])]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("batch", FUNCTIONS_OF_ROWS, ids=lambda batch: batch.name)
def test_functions(run_batch, batch, name):
    plain, compiled = run_batch(batch, name)
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["runs"] > 0


# Sequences of length 0 among others: loops without a turn, which are no reason to leave a call to TensorFlow.
NOTHING = """
def total(x):
    y = tf.zeros([6])
    for row in x:
        y = tf.tanh(y + row) + 0.5
    return y
def mapped(x):
    return tf.map_fn(lambda r: tf.tanh(r) * tf.reduce_sum(r), x)
def scanned(x):
    return tf.scan(lambda a, r: tf.tanh(a) * 0.5 + r, x, tf.ones([6]))
def gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(total(x) ** 2)
    return tape.gradient(y, x)
y = []
for f in (total, mapped, scanned, gradient):
    g = tf.function(f, input_signature=[tf.TensorSpec([None, 6])])
    y += [g(tf.constant(normal(n, 6))) for n in (5, 0, 0, 0, 3, 0)]
report(y=y)
"""


def test_sequences_of_length_zero(run_pair):
    plain, compiled = run_pair(NOTHING)
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["runs"] == 4 * 6, compiled.stats["fallbacks"]


def test_a_session(run_pair):
    plain, compiled = run_pair(SESSION)
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["runs"] > 0


# Each turn of either would leave something behind that is not given back.
def test_a_million_turns_need_no_memory(run_program):
    result = run_program(LONG, tektite="1")
    assert result.values["megabytes"] < 16
    assert result.host["kept_loops"] == 2 and result.host["runs"] == 4
