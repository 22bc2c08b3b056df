"""Saves a model, loads it as a server does, warms it up and answers requests of several batch sizes.

    build/venv/bin/python examples/saved_model.py
    TEKTITE=1 build/venv/bin/python examples/saved_model.py

One compilation serves every batch size: the size is an argument of the code.
`build/bin/tektite explain FOLDER` says for a SavedModel which ops compile and which do not.
"""
import tempfile

import keras
import numpy as np
import tektite
import tensorflow as tf

keras.utils.set_random_seed(1)
model = keras.Sequential([
    keras.layers.Input([32]),
    keras.layers.Dense(128, activation="relu"),
    keras.layers.Dense(128, activation="relu"),
    keras.layers.Dense(10, activation="softmax"),
])

with tempfile.TemporaryDirectory() as folder:
    model.export(folder, verbose=False)  # a SavedModel with the signature "serve"
    loaded = tf.saved_model.load(folder)

# Returns when compiled code is ready for these sizes, so that no request waits for it.
# Without Tektite it only calls the function.
tektite.warmup(loaded.serve, [(1, 32), (8, 32)])

random = np.random.default_rng(1)
for batch in (1, 3, 8, 20):
    answer = loaded.serve(tf.constant(random.standard_normal((batch, 32)), tf.float32))
    print(f"batch {batch}: classes", *np.argmax(answer, axis=1), f"confidence {np.max(answer):.5f}")

stats = tektite.stats()
print("compilations:", stats.get("compiles", 0) + stats.get("loaded_modules", 0))
print("compiled calls:", stats.get("host", {}).get("runs", 0))
