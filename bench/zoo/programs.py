"""Whole programs: training with several optimizers, saving and loading, input pipelines, threads."""
import itertools
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

from bench.models.workload import integers, noise
from bench.zoo.case import Case, program_case


def classifier(keras: Any, augmented: bool = False) -> Any:
    layers = keras.layers
    extra = [layers.RandomFlip(seed=1), layers.RandomTranslation(0.1, 0.1, seed=2), layers.RandomContrast(0.2, seed=3)] \
        if augmented else []
    return keras.Sequential([
        keras.Input((16, 16, 3)), *extra, layers.Conv2D(16, 3, activation="relu"), layers.BatchNormalization(),
        layers.MaxPooling2D(), layers.Conv2D(16, 3, activation="relu"), layers.GlobalAveragePooling2D(),
        layers.Dropout(0.2, seed=4), layers.Dense(10)])


def fit(optimizer: str, augmented: bool = False, **options):
    def program(tf, keras, batch):
        model = classifier(keras, augmented)
        made = getattr(keras.optimizers, optimizer)(1e-3, **options)
        model.compile(made, keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
        x, y = noise((6 * batch + 1, 16, 16, 3)), integers(10, (6 * batch + 1,))

        def call():
            history = model.fit(x, y, batch_size=batch, epochs=1, shuffle=False, verbose=0)
            return [np.array(history.history["loss"], np.float32)]

        return call

    return program_case(program, stateful=True, tolerance=1e-2)


def predict(tf, keras, batch):
    model, x = classifier(keras), noise((3 * batch + 1, 16, 16, 3))
    return lambda: model.predict(x, batch_size=2 * batch, verbose=0)


def exported(tf, keras, batch):
    model, x = classifier(keras), noise((batch, 16, 16, 3))
    with tempfile.TemporaryDirectory() as folder:
        model.export(folder, verbose=False)
        loaded = tf.saved_model.load(folder)
    return lambda: [loaded.serve(tf.constant(x))]


def frozen(tf, keras, batch):
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
    model, x = classifier(keras), noise((batch, 16, 16, 3))
    concrete = tf.function(lambda x: model(x, training=False)).get_concrete_function(
        tf.TensorSpec((None, 16, 16, 3), tf.float32))
    constant = convert_variables_to_constants_v2(concrete)
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(constant.graph.as_graph_def(), name="")
    session = tf.compat.v1.Session(graph=graph)
    fetch, feed = constant.outputs[0].name, constant.inputs[0].name
    return lambda: [session.run(fetch, {feed: x})]


def pipeline(tf, keras, batch):
    images = noise((4 * batch, 24, 24, 3), low=0, high=1)

    def prepare(x):
        y = tf.image.resize(x, [16, 16]) * 2 - 1
        return tf.nn.softmax(tf.reshape(tf.tanh(y) * tf.exp(-y * y), [-1]))

    data = tf.data.Dataset.from_tensor_slices(images).map(prepare, num_parallel_calls=2).batch(batch)
    return lambda: [np.concatenate([np.asarray(b) for b in data])]


def many_threads(tf, keras, batch):
    model = classifier(keras)
    function = tf.function(lambda x: tf.nn.softmax(model(x, training=False)))
    inputs = [tf.constant(noise((batch, 16, 16, 3), s)) for s in range(4)]
    function(inputs[0])

    def call():
        results: list = [None] * 4

        def work(i):
            for _ in range(4):
                results[i] = function(inputs[i])

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return results

    return call


def sampler(tf, keras, batch):
    """Stateful random ops between what is compiled."""
    generator = tf.random.Generator.from_seed(4)

    @tf.function
    def draw(mean, spread):
        z = mean + tf.exp(0.5 * spread) * generator.normal(tf.shape(mean))
        dropped = tf.nn.dropout(tf.nn.gelu(z) * 2, 0.3, seed=5)
        return tf.nn.softmax(z), tf.reduce_sum(dropped, 1)

    mean, spread = tf.constant(noise((batch, 300))), tf.constant(noise((batch, 300), 2))
    return lambda: draw(mean, spread)


def changing_weights(tf, keras, batch):
    """A weight that another function writes between the calls, as in a target network."""
    w = tf.Variable(noise((64, 64)))
    x = tf.constant(noise((batch, 64)))

    @tf.function
    def use(x):
        return tf.nn.softmax(tf.tanh(x @ w) @ tf.transpose(w))

    steps = [0]

    def call():
        steps[0] += 1
        first = use(x)
        w.assign_add(tf.ones([64, 64]) * (0.01 if steps[0] % 2 else -0.01))
        return [first, use(x)]

    return call


def text(tf, keras, batch):
    words = keras.layers.StringLookup(vocabulary=["a", "bb", "ccc", "dd"])
    hashed, table = keras.layers.Hashing(num_bins=7), keras.layers.Embedding(12, 16)
    sentences = tf.constant([["a", "ccc", "what", "dd"]] * batch)

    @tf.function
    def encode(s):
        return tf.reduce_sum(tf.nn.gelu(table(words(s) + tf.cast(hashed(s), tf.int64))), 1)

    return lambda: encode(sentences)


def rows_of_table(optimizer: str, rows: int = 1_000_000, width: int = 64, batches: int = 64):
    """TensorFlow's own optimizer on tf.IndexedSlices: each call changes other rows of a large table, and answers them."""
    def program(tf, keras, batch):
        table = tf.Variable(noise((rows, width)))
        rule = getattr(tf.compat.v1.train, optimizer)(0.1)
        touched = [tf.constant(integers(rows, (64 * batch,), seed)) for seed in range(batches)]
        gradient = tf.constant(noise((64 * batch, width), seed=3))

        @tf.function
        def step(indices):
            rule.apply_gradients([(tf.IndexedSlices(gradient, indices, tf.constant([rows, width])), table)])
            return tf.gather(table, indices)

        turns = itertools.cycle(touched)
        return lambda: [step(next(turns))]

    return program_case(program, stateful=True)


CASES = [Case(name, make) for name, make in [
    ("fit_sgd", fit("SGD", momentum=0.9)), ("fit_adam", fit("Adam")), ("fit_adamw", fit("AdamW")),
    ("fit_rmsprop", fit("RMSprop")), ("fit_lamb", fit("Lamb")), ("fit_augmented", fit("Adam", augmented=True)),
    ("predict", program_case(predict)), ("saved_model", program_case(exported)), ("frozen_graph", program_case(frozen)),
    ("data_pipeline", program_case(pipeline)), ("many_threads", program_case(many_threads)),
    ("sampler", program_case(sampler, stateful=True)), ("changing_weights", program_case(changing_weights, stateful=True)),
    ("text", program_case(text)), ("table_sgd", rows_of_table("GradientDescentOptimizer")),
    ("table_adagrad", rows_of_table("AdagradOptimizer")), ("table_ftrl", rows_of_table("FtrlOptimizer")),
]]
