"""Trains a small Keras model with `fit`. Nothing in the program names Tektite until the last lines.

    build/venv/bin/python examples/keras_fit.py              # stock TensorFlow
    TEKTITE=1 build/venv/bin/python examples/keras_fit.py    # the training step runs as compiled code

The two runs print the same losses up to the rounding of single precision.
"""
import keras
import numpy as np
import tektite

keras.utils.set_random_seed(1)
random = np.random.default_rng(1)
x = random.standard_normal((2048, 64)).astype(np.float32)
y = np.tanh(x @ random.standard_normal((64, 1)).astype(np.float32))

model = keras.Sequential([
    keras.layers.Input([64]),
    keras.layers.Dense(256, activation="gelu"),
    keras.layers.LayerNormalization(),
    keras.layers.Dense(1),
])
model.compile("adam", "mse")

# TensorFlow's kernels run the first steps.
# Tektite compiles in the background and takes the later steps over.
first = model.fit(x, y, batch_size=128, epochs=1, shuffle=False, verbose=0)
tektite.wait_until_compiled()  # only so that this short program shows compiled steps
later = model.fit(x, y, batch_size=128, epochs=4, shuffle=False, verbose=0)
losses = first.history["loss"] + later.history["loss"]
print("losses:", *(f"{loss:.4f}" for loss in losses))

# `host` counts what happened in TensorFlow: clusters in its graphs, calls and variable updates of compiled code.
host = tektite.stats().get("host", {})
print("clusters:", host.get("clusters_placed", 0))
print("compiled calls:", host.get("runs", 0))
print("variables updated by compiled code:", host.get("updates", 0))
