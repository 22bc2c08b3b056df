"""The surroundings of a training step: callbacks, checkpoints, strategies, their own loops.  The same losses, weights
and files with and without Tektite, and Tektite did run."""

import numpy as np
import pytest

# Losses and weights after some twenty steps, relative to the largest one.
TOLERANCE = 2e-5

MODEL = """
import shutil, tempfile
from pathlib import Path
import keras
folder = Path(tempfile.mkdtemp())
x, y = normal(64, 8), normal(64, 1)

def make(**options):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Input([8]), keras.layers.Dense(16, activation="gelu"),
                              keras.layers.BatchNormalization(), keras.layers.Dropout(0.2), keras.layers.Dense(1)])
    model.compile(**{"optimizer": keras.optimizers.Adam(1e-2), "loss": "mse", **options})
    return model

def fit(model, **options):
    return model.fit(x, y, **{"batch_size": 16, "epochs": 4, "verbose": 0, "shuffle": False, **options}).history

def weights(model):
    return [v.numpy() for v in model.weights if v.dtype != "uint32"]
"""

PROGRAMS = {
    "callbacks": """
seen = []
model = make(metrics=["mae"])
history = fit(model, epochs=12, validation_split=0.25, callbacks=[
    keras.callbacks.EarlyStopping(monitor="val_loss", patience=2, restore_best_weights=True),
    keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=1),
    keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.9),
    keras.callbacks.CSVLogger(folder / "log.csv"),
    keras.callbacks.TerminateOnNaN(),
    keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(logs["loss"]))])
report(history=history, seen=seen, weights=weights(model), lines=len((folder / "log.csv").read_text().splitlines()))
""",
    "a checkpoint of each epoch, and the best one loaded": """
model = make()
history = fit(model, callbacks=[
    keras.callbacks.ModelCheckpoint(folder / "{epoch:02d}.weights.h5", save_weights_only=True),
    keras.callbacks.ModelCheckpoint(folder / "best.keras", monitor="loss", save_best_only=True)])
again = keras.saving.load_model(folder / "best.keras")
report(history=history, files=sorted(p.name for p in folder.iterdir()), predicted=again.predict(x, verbose=0),
       continued=fit(again, epochs=2))
""",
    "training that was interrupted and goes on": """
class Interrupt(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            raise KeyboardInterrupt
first, second = make(), make()
def backup():
    return keras.callbacks.BackupAndRestore(folder / "backup", delete_checkpoint=False)
try:
    fit(first, callbacks=[backup(), Interrupt()])
except KeyboardInterrupt:
    pass
history = fit(second, callbacks=[backup()])
report(history=history, epochs=len(history["loss"]), weights=weights(second))
""",
    "TensorBoard with histograms and a profile": """
model = make()
history = fit(model, callbacks=[keras.callbacks.TensorBoard(folder, histogram_freq=1, write_graph=True, update_freq=2)])
tags = set()
for path in folder.rglob("*tfevents*"):
    for event in tf.compat.v1.train.summary_iterator(str(path)):
        tags |= {value.tag for value in event.summary.value}
report(history=history, tags=sorted(tags))
""",
    "gradients that add up": """
model = make(optimizer=keras.optimizers.Adam(1e-2, gradient_accumulation_steps=3))
report(history=fit(model), weights=weights(model))
""",
    "a moving average of the weights": """
model = make(optimizer=keras.optimizers.SGD(1e-2, momentum=0.9, use_ema=True, ema_overwrite_frequency=5, clipnorm=0.5))
report(history=fit(model), weights=weights(model))
""",
    "run_eagerly": """
tf_function = make()
eager = make(run_eagerly=True)
report(history=fit(tf_function), eager=fit(eager), weights=weights(eager))
""",
    "several steps in one call": """
model = make(steps_per_execution=2)
report(history=fit(model), evaluated=model.evaluate(x, y, verbose=0), weights=weights(model))
""",
    "weights of samples and classes": """
model = make(metrics=["mse"], weighted_metrics=["mae"])
report(history=fit(model, sample_weight=np.linspace(0, 1, 64, dtype=np.float32)), weights=weights(model))
""",
    "a pipeline of tf.data": """
data = (tf.data.Dataset.from_tensor_slices((x, y)).cache().shuffle(64, seed=3)
        .map(lambda a, b: (tf.clip_by_value(a * 1.5, -2.0, 2.0), b), num_parallel_calls=2)
        .padded_batch(16).repeat().prefetch(2))
model = make()
history = model.fit(data, steps_per_epoch=4, epochs=4, verbose=0, validation_data=(x, y)).history
report(history=history, weights=weights(model))
""",
    "train_on_batch in a loop": """
model = make()
losses = [model.train_on_batch(x[i % 4 * 16:][:16], y[i % 4 * 16:][:16]) for i in range(20)]
report(losses=losses, test=model.test_on_batch(x, y), weights=weights(model))
""",
    "tf.train.Checkpoint in the middle of a loop": """
model, optimizer = make(), keras.optimizers.Adam(1e-2)
step_count = tf.Variable(0)
@tf.function
def step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(a, training=False) - b))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    step_count.assign_add(1)
    return loss
checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=step_count)
manager = tf.train.CheckpointManager(checkpoint, str(folder), max_to_keep=2)
losses = []
for i in range(12):
    losses.append(step(x, y))
    if i == 5:
        manager.save()
checkpoint.restore(manager.latest_checkpoint)
after = [step(x, y) for _ in range(3)]
report(losses=losses, after=after, steps=step_count, again=np.abs(np.array(after) - np.array(losses[6:9])).max() < 1e-6)
""",
    "weights that are frozen and thawed": """
model = make()
first = fit(model, epochs=2)
model.layers[0].trainable = False
model.compile(keras.optimizers.SGD(1e-2), "mse")
frozen = fit(model, epochs=2)
model.layers[0].trainable = True
model.compile(keras.optimizers.SGD(1e-2), "mse")
report(first=first, frozen=frozen, thawed=fit(model, epochs=2), weights=weights(model))
""",
    "two replicas": """
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0],
                                           [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = make()
report(history=fit(model), weights=weights(model), replicas=strategy.num_replicas_in_sync)
""",
    "two replicas in a loop of one's own": """
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0],
                                           [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    w, optimizer = tf.Variable(normal(8, 1)), keras.optimizers.SGD(1e-2, momentum=0.9)
    optimizer.build([w])
data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((x, y)).batch(16, drop_remainder=True))
@tf.function
def step(batch):
    def replica(a, b):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(tf.reduce_mean(tf.square(tf.tanh(a @ w) - b), -1), global_batch_size=16)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss
    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica, args=batch), axis=None)
report(losses=[step(batch) for _ in range(4) for batch in data], w=w)
""",
}


def same(plain, ours) -> None:
    """Structures of lists, dictionaries and numbers: equal but for rounding."""
    assert type(plain) is type(ours)
    if isinstance(plain, dict):
        assert plain.keys() == ours.keys()
        for key in plain:
            same(plain[key], ours[key])
    elif isinstance(plain, list) and plain and not isinstance(plain[0], (int, float)):
        assert len(plain) == len(ours)
        for a, b in zip(plain, ours):
            same(a, b)
    elif isinstance(plain, (list, float)):
        a, b = np.array(plain), np.array(ours)
        assert a.shape == b.shape
        np.testing.assert_allclose(b, a, rtol=0, atol=TOLERANCE * max(np.abs(a).max(initial=0), 1e-6))
    else:
        assert plain == ours


@pytest.mark.parametrize("name", PROGRAMS)
def test_surroundings(run_pair, name):
    plain, ours = run_pair(MODEL + PROGRAMS[name] + "shutil.rmtree(folder)\n")
    same(plain.values, ours.values)
    assert ours.host["runs"] > 0 and not plain.host.get("runs")


# Of 4 epochs of 4 steps.  The loop over the steps holds an iterator and stays TensorFlow's; what is in it is not.
SEVERAL = MODEL + """
model = make(steps_per_execution=2, jit_compile=JIT)
report(history=fit(model), weights=weights(model))
"""


@pytest.mark.parametrize("jit", ["'auto'", "False"])
def test_each_of_several_steps_is_one_run(run_pair, jit):
    plain, compiled = run_pair(SEVERAL.replace("JIT", jit), TEKTITE_FLAGS="--min_cluster_cost=20000")
    np.testing.assert_allclose(compiled.values["history"]["loss"], plain.values["history"]["loss"], rtol=TOLERANCE)
    assert compiled.host["clusters_placed"] == 1 and compiled.host["runs"] == 16, compiled.host
