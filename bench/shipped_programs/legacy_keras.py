"""Keras 2, as tf-keras ships it: training and inference with model.fit and its like."""

from bench.models.workload import integers, noise
from bench.shipped_programs.program import Program


def classifier(layers, loss="sparse_categorical_crossentropy"):
    import tensorflow as tf
    tf.keras.utils.set_random_seed(3)
    model = tf.keras.Sequential(layers(tf.keras.layers))
    model.compile("adam", loss)
    return model


def convolutions():
    model = classifier(lambda k: [
        k.Conv2D(16, 3, activation="relu", input_shape=(28, 28, 1)), k.BatchNormalization(), k.MaxPooling2D(),
        k.Conv2D(32, 3, activation="relu"), k.MaxPooling2D(), k.Flatten(), k.Dense(64, "relu"), k.Dense(10, "softmax")])
    x, y = noise((32, 28, 28, 1)), integers(10, (32,))
    return lambda: model.train_on_batch(x, y)


def long_short_term_memory():
    model = classifier(lambda k: [k.Embedding(1000, 32), k.LSTM(64), k.Dense(2, "softmax")])
    x, y = integers(1000, (16, 40)), integers(2, (16,))
    return lambda: model.train_on_batch(x, y)


def bidirectional():
    model = classifier(lambda k: [
        k.Embedding(1000, 32), k.Bidirectional(k.GRU(32, return_sequences=True)), k.Bidirectional(k.LSTM(32)),
        k.Dense(4, "softmax")])
    x = integers(1000, (4, 50))
    model(x)
    return lambda: model.predict_on_batch(x)


def autoencoder():
    model = classifier(lambda k: [
        k.Conv2D(16, 3, strides=2, padding="same", activation="relu", input_shape=(32, 32, 3)),
        k.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
        k.Conv2DTranspose(16, 3, strides=2, padding="same", activation="relu"),
        k.Conv2DTranspose(3, 3, strides=2, padding="same", activation="sigmoid")], loss="mse")
    x = noise((16, 32, 32, 3), low=0, high=1)
    return lambda: model.train_on_batch(x, x)


PROGRAMS = [
    Program("keras2_convolutions", convolutions, trains=True, tolerance=1e-3),
    Program("keras2_lstm", long_short_term_memory, trains=True, tolerance=1e-3),
    Program("keras2_bidirectional", bidirectional),
    Program("keras2_autoencoder", autoencoder, trains=True, tolerance=1e-3),
]
