"""One Adam step of small models.  Adam divides by the gradient's size, so rounding differences grow
with every step: the first losses are compared, to one per cent."""
from typing import Any

from bench.models.layers import add_positions, encoder_block
from bench.models.recurrent import frames_network, mlp, text_classifier
from bench.models.vision import application
from bench.models.workload import Workload, integers, noise


def gru() -> Any:
    import keras
    return keras.Sequential(
        [keras.Input((32, 64)), keras.layers.GRU(128), keras.layers.Dense(10)])


def small_encoder() -> Any:
    import keras
    ids = keras.Input((64,), dtype="int32")
    x = add_positions(keras.layers.Embedding(10000, 256, name="tokens")(ids), 64, 256)
    for i in range(4):
        x = encoder_block(x, i, 256, 4)
    x = keras.layers.GlobalAveragePooling1D()(x)
    return keras.Model(ids, keras.layers.Dense(10, name="head")(x))


def resnet() -> Any:
    return application("ResNet50", size=96, classes=10, classifier_activation=None)


def training(name: str, build, make_input, batch: int) -> Workload:
    return Workload(name, kind="train", build=build, tolerance=1e-2,
                    inputs=lambda: [make_input(), integers(10, (batch,))])


WORKLOADS = [
    training("mlp_train", mlp, lambda: noise((128, 1024)), 128),
    training("gru_train", gru, lambda: noise((64, 32, 64)), 64),
    training("bilstm_train", lambda: text_classifier(80, 10), lambda: integers(20000, (32, 80)), 32),
    training("conv_lstm_train", lambda: frames_network(10), lambda: noise((2, 10, 32, 32, 1)), 2),
    training("transformer_train", small_encoder, lambda: integers(10000, (16, 64)), 16),
    training("resnet50_train", resnet, lambda: noise((8, 96, 96, 3)), 8),
]
