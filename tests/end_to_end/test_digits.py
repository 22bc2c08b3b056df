"""Three epochs on the handwritten digits that come with scikit-learn: the losses of each step, and the accuracy on digits
that the model has not seen, are those of stock TensorFlow."""

import numpy as np
import pytest

# Of the package only this file is read; its rows are 64 grey values from 0 to 16 and the digit.
DATA = """
import gzip, importlib.util
import keras
folder = importlib.util.find_spec("sklearn").submodule_search_locations[0]
with gzip.open(folder + "/datasets/data/digits.csv.gz") as file:
    rows = np.loadtxt(file, delimiter=",", dtype=np.float32)
x, y = rows[:, :-1].reshape(-1, 8, 8, 1) / 16, rows[:, -1].astype(np.int32)
unseen = len(x) // 6
"""

MODELS = {
    "dense": """[keras.layers.Flatten(), keras.layers.Dense(64, "relu"), keras.layers.Dropout(0.2), keras.layers.Dense(10)]""",
    "convolutions": """[
        keras.layers.Conv2D(16, 3, activation="relu"), keras.layers.BatchNormalization(), keras.layers.Conv2D(32, 3),
        keras.layers.ReLU(), keras.layers.MaxPooling2D(), keras.layers.Flatten(), keras.layers.Dense(10)]""",
    "lines": """[
        keras.layers.Reshape([8, 8]), keras.layers.Bidirectional(keras.layers.LSTM(24)),
        keras.layers.LayerNormalization(), keras.layers.Dense(10)]""",
}

FIT = """
class Watch(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs):
        losses.append(logs["loss"])

keras.utils.set_random_seed(3)
losses = []
model = keras.Sequential([keras.Input([8, 8, 1])] + LAYERS)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(x[unseen:], y[unseen:], batch_size=32, epochs=3, verbose=0, callbacks=[Watch()])
report(losses=losses, accuracy=model.evaluate(x[:unseen], y[:unseen], verbose=0)[1])
"""


@pytest.mark.parametrize("name", MODELS)
def test_digits(run_pair, name):
    plain, ours = run_pair(DATA + FIT.replace("LAYERS", MODELS[name]))
    assert ours.host["runs"] > 100
    np.testing.assert_allclose(ours.values["losses"], plain.values["losses"], rtol=0, atol=1e-4)
    assert ours.values["accuracy"] == plain.values["accuracy"] > 0.6
