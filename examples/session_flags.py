"""A TensorFlow 1 session that asks for compilation itself, and sets Tektite's flags.

    TEKTITE=0 build/venv/bin/python examples/session_flags.py    # stock TensorFlow: the plugin does not load
    build/venv/bin/python examples/session_flags.py              # `global_jit_level` switches Tektite on

Tektite reads TEKTITE_FLAGS when it compiles its first cluster. docs/flags.md lists the flags.
"""
import os

# sync: the first call waits for the code. compare=false: compiled code runs without a comparison.
# Flags from outside come later in the list and win.
os.environ["TEKTITE_FLAGS"] = "--compile=sync --compare=false " + os.environ.get("TEKTITE_FLAGS", "")

import numpy as np
import tektite
import tensorflow as tf

tf1 = tf.compat.v1
random = np.random.default_rng(1)

config = tf1.ConfigProto()
config.graph_options.optimizer_options.global_jit_level = tf1.OptimizerOptions.ON_2

with tf.Graph().as_default(), tf1.Session(config=config) as session:
    x = tf1.placeholder(tf.float32, [None, 256])
    w = tf1.get_variable("w", initializer=random.standard_normal((256, 256)).astype(np.float32))
    hidden = tf.nn.gelu(tf.matmul(x, w) / 16.0)
    y = tf.reduce_mean(tf.nn.softmax(hidden) * hidden, axis=1)
    session.run(tf1.global_variables_initializer())
    for rows in (4, 64):
        values = session.run(y, {x: random.standard_normal((rows, 256)).astype(np.float32)})
        print(f"{rows} rows: mean {values.mean():.6f}, largest {values.max():.6f}")

stats = tektite.stats()
host = stats.get("host", {})
print("clusters:", host.get("clusters_placed", 0))
print("compiled calls:", host.get("runs", 0))
print("ops left to TensorFlow:", {reason: found["ops"] for reason, found in stats.get("left_out", {}).items()})
