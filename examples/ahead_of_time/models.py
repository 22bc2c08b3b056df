"""Makes the libraries of the programs in this folder: models.py FOLDER."""
import sys

import keras
import numpy as np
import tensorflow as tf

import tektite


def classifier(folder: str) -> None:
    """Bytes of an image, as a PNG has them, to probabilities."""
    network = keras.applications.MobileNetV2(weights=None, alpha=0.35, input_shape=(96, 96, 3), classes=10)

    def classify(pixels):
        return {"probabilities": network(tf.cast(pixels, tf.float32) / 127.5 - 1.0, training=False)}

    print(tektite.aot(classify, tf.TensorSpec([1, 96, 96, 3], tf.uint8, "pixels"), out=folder, name="classifier", weights="file"))


def text_classifier(folder: str) -> None:
    """Bytes of a text of any length to probabilities: embeddings, a convolution, attention over the positions."""
    rng = np.random.default_rng(5)

    def variable(*shape):
        return tf.Variable(rng.normal(0, 0.3, shape).astype(np.float32))

    table, filters, query, out = variable(256, 32), variable(3, 32, 32), variable(32, 1), variable(32, 4)

    def classify(text):
        x = tf.nn.conv1d(tf.gather(table, text)[None], filters, 1, "SAME")[0]
        x = tf.nn.gelu(x)
        weights = tf.nn.softmax(x @ query, axis=0)
        return {"probabilities": tf.nn.softmax(tf.reduce_sum(weights * x, 0)[None] @ out)[0]}

    print(tektite.aot(classify, tf.TensorSpec([None], tf.int32, "text"), out=folder, name="text_classifier",
                      sizes={"text": ("length",)}, typical={"length": 64}))


def regression(folder: str) -> None:
    """A step of gradient descent with momentum; variables are the caller's state."""
    weight, velocity = tf.Variable(tf.zeros([8, 1]), name="weight"), tf.Variable(tf.zeros([8, 1]), name="velocity")
    steps = tf.Variable(0, name="steps")

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weight - y) ** 2)
        velocity.assign(0.9 * velocity - 0.01 * tape.gradient(loss, weight))
        weight.assign_add(velocity)
        steps.assign_add(1)
        return {"loss": loss}

    print(tektite.aot(step, tf.TensorSpec([None, 8], tf.float32, "x"), tf.TensorSpec([None, 1], tf.float32, "y"), out=folder,
                      name="regression", sizes={"x": ("n", 8), "y": ("n", 1)}))


if __name__ == "__main__":
    for make in classifier, text_classifier, regression:
        make(sys.argv[1])
