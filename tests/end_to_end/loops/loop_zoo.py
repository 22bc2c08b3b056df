"""Programs with loops, as people write them: what test_loop_zoo.py compares with stock TensorFlow.

LAYERS, of one line each, are models of x [batch, time, 6] that are run and trained; FUNCTIONS define f(x) of
x [rows, 6], or report y themselves.
"""

# name: (layers behind the input, word). The word: "fixed" has a fixed batch and time (`stateful` and `unroll` need
# them), "mask" begins with Masking, "tokens" reads integers.
LAYERS = {
    "lstm": ("[L.LSTM(12)]", ""),
    "lstm of lstm": ("[L.LSTM(12, return_sequences=True), L.LSTM(5)]", ""),
    "lstm backwards": ("[L.LSTM(12, go_backwards=True, return_sequences=True)]", ""),
    "lstm of other activations": ("[L.LSTM(7, activation='softsign', recurrent_activation='hard_sigmoid', "
                                  "unit_forget_bias=False, use_bias=False)]", ""),
    "gru": ("[L.GRU(12)]", ""),
    "gru reset before": ("[L.GRU(12, reset_after=False, return_sequences=True)]", ""),
    "simple rnn": ("[L.SimpleRNN(12, return_sequences=True)]", ""),
    "bidirectional": ("[L.Bidirectional(L.LSTM(8, return_sequences=True)), L.Bidirectional(L.GRU(5), merge_mode='sum')]",
                      ""),
    "bidirectional of two kinds": ("[L.Bidirectional(L.LSTM(6), backward_layer="
                                   "L.LSTM(6, activation='softsign', go_backwards=True))]", ""),
    "cells": ("[L.RNN([L.LSTMCell(8), L.GRUCell(7), L.SimpleRNNCell(6)], return_sequences=True)]", ""),
    "masked lstm": ("[L.LSTM(12)]", "mask"),
    "masked sequences": ("[L.Bidirectional(L.LSTM(6, return_sequences=True)), L.GRU(4)]", "mask"),
    "masked zeros": ("[L.RNN(L.LSTMCell(9), return_sequences=True, zero_output_for_mask=True)]", "mask"),
    "text": ("[L.Embedding(20, 8, mask_zero=True), L.Bidirectional(L.LSTM(8)), L.Dense(6, activation='relu')]", "tokens"),
    "stateful": ("[L.LSTM(12, stateful=True)]", "fixed"),
    "stateful sequences": ("[L.GRU(6, stateful=True, return_sequences=True), L.SimpleRNN(4, stateful=True)]", "fixed"),
    "unrolled": ("[L.LSTM(6, unroll=True)]", "fixed"),
    "time distributed": ("[L.TimeDistributed(L.Dense(5, activation='tanh')), L.LSTM(6)]", "fixed"),
    "conv lstm 1d": ("[L.Reshape((-1, 3, 2)), L.ConvLSTM1D(4, 2, padding='same', return_sequences=True), L.Reshape((-1, 12)),"
                     " L.GRU(3)]", ""),
    "conv lstm 2d": ("[L.Reshape((-1, 3, 2, 1)), L.ConvLSTM2D(4, (3, 2), padding='same')]", ""),
    "dropout": ("[L.LSTM(8, dropout=0.3, recurrent_dropout=0.2), L.Dropout(0.3)]", ""),
}

MODEL = """
import keras
L = keras.layers
keras.utils.set_random_seed(11)
keras.config.set_dtype_policy("{policy}")
words, batch, time = {words!r}, 4, 7
shape = (batch, time, 6) if words == "fixed" else (None, None, 6)
inputs = keras.Input(batch_shape=shape[:2], dtype="int32") if words == "tokens" else keras.Input(batch_shape=shape)
y = L.Masking()(inputs) if words == "mask" else inputs
for layer in {layers}:
    y = layer(y)
if len(y.shape) > 2:
    y = L.GlobalAveragePooling1D()(y) if len(y.shape) == 3 else L.GlobalMaxPooling2D()(y)
model = keras.Model(inputs, L.Dense(2, dtype="float32")(y))

def sequences(batch, time):
    if words == "tokens":
        return rng.integers(0, 20, (batch, time)).astype(np.int32)
    x = normal(batch, time, 6)
    if words == "mask":
        x[:, time // 2 + 1:, :][::2] = 0.0
        x[:, :1][::3] = 0.0
    return x
"""

# Each defines f(x), or says what else is reported.
FUNCTIONS = {
    "map_fn": "f = lambda x: tf.map_fn(lambda r: tf.tanh(r) * tf.reduce_sum(r), x)",
    "map_fn of two": "f = lambda x: tf.map_fn(lambda p: (p[0] * p[1], tf.reduce_sum(p[1])), (x, x + 1.0),"
                     " fn_output_signature=(tf.float32, tf.float32))",
    "scan": "f = lambda x: tf.scan(lambda a, r: tf.tanh(a) * 0.5 + r, x)",
    "scan backwards": "f = lambda x: tf.scan(lambda a, r: (a[0] * 0.5 + r, a[1] + tf.reduce_sum(r)), x,"
                      " (tf.zeros_like(x[0]), 0.0), reverse=True)",
    "foldl": "f = lambda x: tf.foldl(lambda a, r: tf.sin(a) + r, x, tf.ones([6])) + tf.foldr(lambda a, r: a * 0.5 + r, x)",
    "vectorized_map": "f = lambda x: tf.vectorized_map(lambda r: tf.linalg.matvec(w, r) * tf.reduce_max(r), x)",
    "vectorized_map of a loop": """
def f(x):
    return tf.vectorized_map(lambda r: tf.while_loop(
        lambda i, v: i < 4, lambda i, v: (i + 1, tf.tanh(v) + tf.reduce_sum(r)), (0, r))[1], x)
""",
    "a shape that grows": """
def f(x):
    return tf.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, tf.concat([v, tf.tanh(v[:1]) + 1.0], 0)),
                         (0, x), shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 6])))[1]
""",
    "for over a tensor": """
def f(x):
    total = tf.zeros([6])
    for row in x:
        total = tf.tanh(total + row) + 0.5
    return total
""",
    "for over a range with break and continue": """
def f(x):
    total = tf.zeros([6])
    for i in tf.range(tf.shape(x)[0]):
        if tf.reduce_sum(x[i]) < -1.0:
            continue
        total += tf.exp(x[i])
        if tf.reduce_max(total) > 20.0:
            break
    return total
""",
    "leaving from within": """
def f(x):
    found, i = tf.constant(False), tf.constant(0)
    while not found and i < 9:
        x = tf.abs(x) + 0.5
        found = tf.reduce_sum(x) > 30.0
        i += 1
    return x * 2.0 if found else x - tf.cast(i, tf.float32)
""",
    "for over a dataset": """
def f(x):
    total = tf.zeros([6])
    for row in tf.data.Dataset.from_tensor_slices(x):
        total = tf.tanh(total + row) + 0.5
    return total
""",
    "TensorArray": """
def f(x):
    rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in tf.range(tf.shape(x)[0]):
        rows = rows.write(i, x[i] * tf.cast(i, tf.float32))
    return rows.stack()
""",
    "TensorArray written backwards": """
def f(x):
    n = tf.shape(x)[0]
    rows = tf.TensorArray(tf.float32, size=n, clear_after_read=False, element_shape=[6]).unstack(x)
    out = tf.TensorArray(tf.float32, size=n, element_shape=[6])
    for i in tf.range(n):
        out = out.write(n - 1 - i, rows.read(i) + rows.read(0))
    return out.stack()
""",
    "TensorArray concat and gather": """
def f(x):
    rows = tf.TensorArray(tf.float32, size=3, element_shape=[None, 6], infer_shape=False)
    for i in tf.range(3):
        rows = rows.write(i, x * tf.cast(i, tf.float32))
    return rows.concat()
""",
    "beam of top_k": """
def f(x):
    scores = tf.zeros([tf.shape(x)[0], 3])
    for i in tf.range(4):
        every = tf.reshape(scores[:, :, None] + tf.nn.log_softmax(x @ w)[:, None, :], [-1, 18])
        scores, places = tf.math.top_k(every, 3)
        x = x + tf.cast(tf.reduce_sum(places % 6, 1, keepdims=True), tf.float32) * 0.1
    return scores
""",
    "fibonacci of integers": """
def f(x):
    a, b = tf.constant(0, tf.int64), tf.constant(1, tf.int64)
    while b < 1000:
        a, b = b, a + b
    return tf.cast(b, tf.float32) * x
""",
    "newton": """
def f(x):
    y, step = tf.abs(x) + 1.0, tf.constant(0)
    while step < 50 and tf.reduce_max(tf.abs(y * y - tf.abs(x))) > 1e-3:
        y = 0.5 * (y + tf.abs(x) / y)
        step += 1
    return y
""",
    "switch in a loop": """
def f(x):
    for i in tf.range(5):
        x = tf.switch_case(i % 3, [lambda: tf.tanh(x) + 1.0, lambda: tf.exp(-tf.abs(x)), lambda: x @ w])
    return x
""",
    "a gradient of a loop": """
def f(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for i in tf.range(4):
            y = tf.tanh(y @ w) * tf.cast(i + 1, tf.float32)
        z = tf.reduce_sum(y * y)
    return tape.gradient(z, [x, w])
""",
    "a gradient of slices at places that are data": """
def f(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.zeros([tf.shape(x)[0], 2])
        for i in tf.range(5):
            y = tf.tanh(y + x[:, i:i + 2]) + tf.slice(x, [0, i], [tf.shape(x)[0], 1]) * tf.cast(i, tf.float32)
        z = tf.reduce_sum(y * y)
    return y, tape.gradient(z, x)
""",
    # A size that is data: the loop is TensorFlow's, and its turns are compiled in part.
    "prefixes that grow": """
def f(x):
    y = tf.zeros([tf.shape(x)[0]])
    for i in tf.range(6):
        y += tf.reduce_mean(tf.tanh(x[:, :i + 1]) * x[:, i:i + 1], 1)
    return y
""",
    # The last block is shorter: a check fails, and after some calls the host runs the loop at once.
    "blocks of which the last is cut": """
def f(x):
    y = tf.zeros([tf.shape(x)[0]])
    for i in tf.range(2):
        y += tf.reduce_sum(tf.tanh(x[:, i * 4:i * 4 + 4] @ w[i * 4:i * 4 + 4]), 1)
    return y
""",
    "a gradient of a loop of unknown turns": """
def f(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        while tf.reduce_sum(y * y) < 1000.0:
            y = y * 1.5 + tf.sin(y) + 0.25
        z = tf.reduce_sum(y)
    return tape.gradient(z, x)
""",
    "a gradient of a branch in a loop": """
def f(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for i in tf.range(4):
            if tf.reduce_sum(y) > 0.0:
                y = tf.tanh(y @ w)
            else:
                y = tf.exp(-y * y) - 0.25
        z = tf.reduce_sum(y)
    return tape.gradient(z, [x, w])
""",
    "a second derivative": """
def f(x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v) * v), (0, x))[1]
        first = inner.gradient(y, x)
    return outer.gradient(first, x)
""",
    "a jacobian": """
def f(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.tanh(x @ w), 0)
    return tape.jacobian(y, x)
""",
    "a custom gradient in a loop": """
@tf.custom_gradient
def clipped(v):
    return tf.clip_by_value(v, -1.0, 1.0), lambda d: d * 0.5
def f(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in tf.range(3):
            y = clipped(y * 1.25) + 0.1
        z = tf.reduce_sum(y)
    return tape.gradient(z, x)
""",
    "half precision": """
def f(x):
    y = tf.cast(x, tf.bfloat16)
    for _ in tf.range(4):
        y = y * tf.cast(0.5, tf.bfloat16) + tf.cast(1.0, tf.bfloat16)
    return tf.cast(y, tf.float32)
""",
    "doubles and integers": """
def f(x):
    a, n = tf.cast(x, tf.float64), tf.zeros([6], tf.int64)
    for i in tf.range(6, delta=2):
        a, n = tf.sqrt(tf.abs(a)) + 1.0, n + tf.cast(i, tf.int64)
    return tf.cast(a, tf.float32) + tf.cast(n, tf.float32)
""",
    "a variable that every turn writes": """
total = tf.Variable(tf.zeros([6]))
def f(x):
    total.assign(tf.zeros([6]))
    for i in tf.range(3):
        total.assign_add(tf.reduce_sum(tf.tanh(x), 0) * tf.cast(i, tf.float32))
    return total + 1.0
""",
    "random numbers": """
def f(x):
    for i in tf.range(3):
        x = x + tf.random.stateless_normal([6], [i, 7])
    return x
""",
}

# A session of TensorFlow 1, whose loops are Enter, Merge, Switch and Exit from the start.
SESSION = """
tf.compat.v1.disable_control_flow_v2()
with tf.Graph().as_default():
    x = tf.compat.v1.placeholder(tf.float32, [None, 6])
    y = tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, tf.tanh(v) * 1.5 + tf.exp(x)), (0, x))[1]
    z = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.exp(x) * 2.0, lambda: x - 1.0)
    d = tf.gradients(y, x)[0]
    s = tf.scan(lambda a, r: tf.tanh(a) + r, x)
    with tf.compat.v1.Session() as session:
        report(y=[v for n in (3, 1, 5) for v in session.run([y, z, d, s], {x: normal(n, 6)})])
"""

LONG = """
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

@tf.function(input_signature=[tf.TensorSpec([4]), tf.TensorSpec([], tf.int32)])
def plain(x, n):
    for i in tf.range(n):
        x = tf.sin(x) + 0.5
    return x

@tf.function(input_signature=[tf.TensorSpec([4]), tf.TensorSpec([], tf.int32)])
def choosing(x, n):
    i = 0
    while i < n:
        x = tf.cond(x[0] > 0.5, lambda: tf.sin(x) - 0.5, lambda: x * 1.5 + 0.25)
        i += 1
    return x

megabytes = []
for f in (plain, choosing):
    f(tf.ones([4]), 1000)
    before = resident()
    f(tf.ones([4]), 1000000)
    megabytes.append(resident() - before)
report(megabytes=max(megabytes))
"""
