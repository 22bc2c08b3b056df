"""A transformer and a convolutional network in single precision and under Keras's mixed_bfloat16 and mixed_float16: the
same weights and inputs, so that rows divide."""
from typing import Any, Callable

from bench.models.layers import add_positions, encoder_block
from bench.models.workload import Workload, integers, noise

BATCH = 16
LENGTH, HIDDEN, HEADS, LAYERS = 128, 512, 8, 4
POLICIES = {"f32": "float32", "bf16": "mixed_bfloat16", "f16": "mixed_float16"}


def under(policy: str, build: Callable[[], Any]) -> Callable[[], Any]:
    def built() -> Any:
        import keras
        before = keras.config.dtype_policy()
        keras.config.set_dtype_policy(policy)
        try:
            return build()
        finally:
            keras.config.set_dtype_policy(before)

    return built


def encoder() -> Any:
    import keras
    ids = keras.Input((LENGTH,), dtype="int32")
    x = add_positions(keras.layers.Embedding(10000, HIDDEN, name="tokens")(ids), LENGTH, HIDDEN)
    for i in range(LAYERS):
        x = encoder_block(x, i, HIDDEN, HEADS)
    x = keras.layers.GlobalAveragePooling1D()(x)
    return keras.Model(ids, keras.layers.Dense(10, name="head")(x))


def network() -> Any:
    """Three stages of three 3x3 convolutions with batch norm, the first two of each in a residual."""
    import keras
    from keras import layers

    def convolution(x: Any, features: int, stride: int = 1) -> Any:
        x = layers.Conv2D(features, 3, stride, padding="same", use_bias=False)(x)
        return layers.ReLU()(layers.BatchNormalization()(x))

    image = keras.Input((32, 32, 3))
    x = convolution(image, 64)
    for features in (64, 128, 256):
        x = layers.Add()([x, convolution(convolution(x, features), features)])
        if features < 256:
            x = convolution(x, 2 * features, 2)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(image, layers.Dense(10, name="head")(x))


MODELS = {
    "encoder": (encoder, lambda: integers(10000, (BATCH, LENGTH))),
    "network": (network, lambda: noise((BATCH, 32, 32, 3))),
}


def rows(name: str, precision: str) -> list[Workload]:
    build, make_input = MODELS[name]
    build = under(POLICIES[precision], build)
    tolerance = 1e-4 if precision == "f32" else 5e-2
    return [
        Workload(f"{name}_{precision}", build=build, inputs=lambda: [make_input()], tolerance=tolerance),
        Workload(f"{name}_{precision}_train", kind="train", build=build, tolerance=max(tolerance, 1e-2),
                 inputs=lambda: [make_input(), integers(10, (BATCH,))]),
    ]


WORKLOADS = [w for name in MODELS for precision in POLICIES for w in rows(name, precision)]
