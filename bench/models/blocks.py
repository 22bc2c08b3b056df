"""Stages of networks whose convolutions are not the ones of ResNet: of groups, of one channel each, of long sides.

    convnext    three blocks of ConvNeXt-T's third stage as Keras builds them: 7x7 in as many groups as channels (which it
                asks XLA for), layer norm, two products with GELU between
    resnext     three blocks of ResNeXt-50's second stage: 3x3 in 32 groups, batch norm (Keras asks XLA for these groups)
    inception   one block of InceptionV3's 17x17 stage: four branches with 1x7 and 7x1

Each as inference of four images and, as `<name>_train`, an Adam step of sixteen.
"""
from typing import Any

from bench.models.workload import Workload, integers, noise


def classified(image: Any, x: Any) -> Any:
    import keras
    from keras import layers
    return keras.Model(image, layers.Dense(10, name="head")(layers.GlobalAveragePooling2D()(x)))


def convnext() -> Any:
    import keras
    from keras import layers
    image = x = keras.Input((14, 14, 384))
    for _ in range(3):
        y = layers.Conv2D(384, 7, padding="same", groups=384)(x)
        y = layers.LayerNormalization(epsilon=1e-6)(y)
        y = layers.Dense(4 * 384, activation="gelu")(y)
        x = layers.Add()([x, layers.Dense(384)(y)])
    return classified(image, x)


def normed(x: Any, features: int, size: Any, groups: int = 1, activation: str | None = "relu") -> Any:
    from keras import layers
    x = layers.Conv2D(features, size, padding="same", groups=groups, use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation(activation)(x) if activation else x


def resnext() -> Any:
    import keras
    from keras import layers
    image = x = keras.Input((28, 28, 256))
    for _ in range(3):
        y = normed(normed(x, 128, 1), 128, 3, groups=32)
        x = layers.ReLU()(layers.Add()([x, normed(y, 256, 1, activation=None)]))
    return classified(image, x)


def inception() -> Any:
    import keras
    from keras import layers
    image = keras.Input((17, 17, 768))
    branches = [
        normed(image, 192, 1),
        normed(normed(normed(image, 128, 1), 128, (1, 7)), 192, (7, 1)),
        normed(layers.AveragePooling2D(3, 1, padding="same")(image), 192, 1),
    ]
    y = normed(image, 128, 1)
    for features, size in ((128, (7, 1)), (128, (1, 7)), (128, (7, 1)), (192, (1, 7))):
        y = normed(y, features, size)
    return classified(image, layers.Concatenate()([*branches, y]))


def rows(build: Any) -> list[Workload]:
    def images(count: int) -> Any:
        return noise((count, *build().input_shape[1:]))
    name = build.__name__
    return [
        Workload(name, build=build, calibrate=True, inputs=lambda: [images(4)]),
        Workload(f"{name}_train", kind="train", build=build, tolerance=1e-2,
                 inputs=lambda: [images(16), integers(10, (16,))]),
    ]


WORKLOADS = [w for build in (convnext, resnext, inception) for w in rows(build)]
