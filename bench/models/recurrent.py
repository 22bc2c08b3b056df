"""Recurrent networks and a recommendation model."""
from typing import Any

import numpy as np

from bench.models.workload import Workload, integers, noise


def lstm(unroll: bool) -> Any:
    import keras
    return keras.Sequential([keras.Input((64, 256)), keras.layers.LSTM(256, unroll=unroll)])


def gru() -> Any:
    import keras
    return keras.Sequential([keras.Input((64, 256)), keras.layers.GRU(256)])


def text_classifier(length: int, classes: int) -> Any:
    """Two bidirectional layers over tokens, as in Keras's example of text classification."""
    import keras
    from keras import layers
    return keras.Sequential([
        keras.Input((length,), dtype="int32"), layers.Embedding(20000, 128),
        layers.Bidirectional(layers.LSTM(64, return_sequences=True)), layers.Bidirectional(layers.LSTM(64)),
        layers.Dense(classes)])


def frames_network(classes: int | None = None) -> Any:
    """Convolutional recurrence over frames: the next frame, or a class of the sequence."""
    import keras
    from keras import layers
    model = keras.Sequential([
        keras.Input((10, 32, 32, 1)), layers.ConvLSTM2D(32, 5, padding="same", return_sequences=True),
        layers.ConvLSTM2D(32, 3, padding="same")])
    if classes is None:
        model.add(layers.Conv2D(1, 3, activation="sigmoid", padding="same"))
    else:
        model.add(layers.GlobalAveragePooling2D())
        model.add(layers.Dense(classes))
    return model


def mlp() -> Any:
    import keras
    hidden = [keras.layers.Dense(1024, activation="relu") for _ in range(4)]
    return keras.Sequential([keras.Input((1024,)), *hidden, keras.layers.Dense(10)])


def dlrm() -> Any:
    """26 tables of 10k x 32, a bottom and a top perceptron, all pairwise dot products between."""
    import keras
    from keras import layers, ops
    numbers, ids = keras.Input((13,)), keras.Input((26,), dtype="int32")
    x = numbers
    for i, width in enumerate((512, 256, 32)):
        x = layers.Dense(width, activation="relu", name=f"bottom{i}")(x)
    tables = [layers.Embedding(10000, 32, name=f"table{i}")(ids[:, i]) for i in range(26)]
    features = ops.stack([x, *tables], axis=1)
    dots = ops.reshape(ops.matmul(features, ops.transpose(features, (0, 2, 1))), (-1, 27 * 27))
    below_diagonal = np.flatnonzero(np.tri(27, k=-1)).astype(np.int32)
    y = ops.concatenate([x, ops.take(dots, below_diagonal, axis=1)], axis=1)
    for i, width in enumerate((512, 256)):
        y = layers.Dense(width, activation="relu", name=f"top{i}")(y)
    return keras.Model([numbers, ids], layers.Dense(1, activation="sigmoid", name="click")(y))


WORKLOADS = [
    Workload("lstm", build=lambda: lstm(False), inputs=lambda: [noise((1, 64, 256))]),
    Workload("lstm_unroll", build=lambda: lstm(True), inputs=lambda: [noise((1, 64, 256))]),
    Workload("gru", build=gru, inputs=lambda: [noise((1, 64, 256))]),
    Workload("bilstm_text", build=lambda: text_classifier(200, 2), inputs=lambda: [integers(20000, (32, 200))]),
    Workload("conv_lstm", build=frames_network, inputs=lambda: [noise((2, 10, 32, 32, 1))]),
    Workload("mlp", build=mlp, inputs=lambda: [noise((128, 1024))]),
    Workload("dlrm", build=dlrm,
             inputs=lambda: [noise((256, 13)), integers(10000, (256, 26))]),
]
