"""Small models out of one Keras layer or a few."""
from typing import Any

import numpy as np

from bench.models.workload import integers, noise
from bench.zoo.case import Case, keras_case


def sequence(*make_layers, shape=(32, 24), dtype: str = "float32", **options):
    """A model of these layers in a row; each is a function of keras.layers."""
    def build(keras: Any) -> Any:
        return keras.Sequential([keras.Input(shape, dtype=dtype), *(make(keras.layers) for make in make_layers)])

    def inputs(batch: int):
        return [integers(50, (batch, *shape)) if dtype.startswith("int") else noise((batch, *shape))]

    return keras_case(build, inputs, **options)


IMAGE, VOLUME = (32, 32, 8), (12, 12, 12, 4)


def masked_gru(keras: Any) -> Any:
    ids = keras.Input((20,), dtype="int32")
    x = keras.layers.Embedding(50, 32, mask_zero=True)(ids)
    x = keras.layers.Bidirectional(keras.layers.GRU(24, return_sequences=True))(x)
    return keras.Model(ids, keras.layers.Dense(5, activation="softmax")(x))


def attention(layer: str, causal: bool, mask: bool):
    def build(keras: Any) -> Any:
        x = keras.Input((24, 64))
        options = {"attention_mask": np.tril(np.ones((1, 24, 24), bool), 3)} if mask else {}
        made = (keras.layers.MultiHeadAttention(4, 16) if layer == "multi"
                else keras.layers.GroupQueryAttention(16, 8, 2))
        y = made(x, x, use_causal_mask=causal, **options)
        return keras.Model(x, keras.layers.LayerNormalization()(x + y))

    return keras_case(build, lambda b: [noise((b, 24, 64))])


def unet(keras: Any) -> Any:
    layers = keras.layers
    image = keras.Input((64, 64, 3))
    x, skips = image, []
    for width in (16, 32):
        x = layers.BatchNormalization()(layers.Conv2D(width, 3, padding="same", activation="relu")(x))
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    for width, skip in ((32, skips[1]), (16, skips[0])):
        x = layers.Concatenate()([layers.Conv2DTranspose(width, 3, strides=2, padding="same")(x), skip])
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
    return keras.Model(image, layers.Conv2D(2, 1, activation="softmax")(x))


def generator(keras: Any) -> Any:
    layers = keras.layers
    return keras.Sequential([
        keras.Input((64,)), layers.Dense(7 * 7 * 32, use_bias=False), layers.BatchNormalization(), layers.LeakyReLU(),
        layers.Reshape((7, 7, 32)), layers.Conv2DTranspose(32, 5, strides=1, padding="same"), layers.LeakyReLU(),
        layers.Conv2DTranspose(16, 5, strides=2, padding="same"), layers.BatchNormalization(), layers.LeakyReLU(),
        layers.Conv2DTranspose(1, 5, strides=2, padding="same", activation="tanh")])


def wavenet(keras: Any) -> Any:
    layers = keras.layers
    sound = keras.Input((256, 1))
    x = layers.Conv1D(24, 2, padding="causal")(sound)
    skips = []
    for i in range(6):
        gate = layers.Conv1D(24, 2, padding="causal", dilation_rate=2**i, activation="sigmoid")(x)
        y = layers.Conv1D(24, 2, padding="causal", dilation_rate=2**i, activation="tanh")(x) * gate
        skips.append(layers.Conv1D(24, 1)(y))
        x = layers.Add()([x, layers.Conv1D(24, 1)(y)])
    return keras.Model(sound, layers.Conv1D(1, 1)(layers.Activation("relu")(layers.Add()(skips))))


def regnet_block(keras: Any) -> Any:
    layers = keras.layers
    image = keras.Input((32, 32, 32))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(48, 1, use_bias=False)(image)))
    x = layers.Conv2D(48, 3, strides=2, padding="same", groups=6, use_bias=False)(x)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    scale = layers.Dense(48, activation="sigmoid")(layers.Dense(8, activation="relu")(
        layers.GlobalAveragePooling2D()(x)))
    x = layers.BatchNormalization()(layers.Conv2D(48, 1)(x * layers.Reshape((1, 1, 48))(scale)))
    return keras.Model(image, layers.ReLU()(x + layers.Conv2D(48, 1, strides=2)(image)))


def autoencoder(keras: Any) -> Any:
    layers = keras.layers
    x = keras.Input((128,))
    h = layers.Dense(64, activation="relu")(x)
    mean, spread = layers.Dense(8)(h), layers.Dense(8)(h)
    noise_of = layers.GaussianNoise(1.0, seed=5)
    z = mean + keras.ops.exp(0.5 * spread) * noise_of(keras.ops.zeros_like(mean), training=True)
    return keras.Model(x, [layers.Dense(128, activation="sigmoid")(layers.Dense(64, activation="relu")(z)), mean])


def preprocessing(keras: Any) -> Any:
    x, number = keras.Input((6,)), keras.Input((1,))
    bins = keras.layers.Discretization(bin_boundaries=[-1.0, 0.0, 0.5, 2.0])(number)
    coded = keras.layers.Embedding(5, 8)(bins)
    normal = keras.layers.Normalization(mean=[0.5] * 6, variance=[2.0] * 6)(x)
    hashed = keras.layers.CategoryEncoding(num_tokens=5, output_mode="multi_hot")(bins)
    y = keras.layers.Concatenate()([normal, keras.layers.Flatten()(coded), hashed])
    return keras.Model([x, number], keras.layers.Dense(4)(keras.layers.Dense(64, activation="gelu")(y)))


CASES = [Case(name, make) for name, make in [
    ("gru", sequence(lambda k: k.GRU(48))),
    ("gru_unrolled", sequence(lambda k: k.GRU(48, unroll=True))),
    ("lstm_sequences", sequence(lambda k: k.LSTM(48, return_sequences=True), lambda k: k.LSTM(16, go_backwards=True))),
    ("lstm_unrolled", sequence(lambda k: k.LSTM(48, unroll=True))),
    ("simple_rnn", sequence(lambda k: k.SimpleRNN(48, return_sequences=True))),
    ("bidirectional", sequence(lambda k: k.Bidirectional(k.LSTM(32)))),
    ("conv_lstm2d", sequence(lambda k: k.ConvLSTM2D(8, 3, padding="same"), shape=(6, 16, 16, 4))),
    ("masked_gru", keras_case(masked_gru, lambda b: [integers(50, (b, 20)) * (np.arange(20) < 15)])),
    ("time_distributed", sequence(lambda k: k.TimeDistributed(k.Dense(24, activation="relu")))),
    ("conv1d", sequence(lambda k: k.Conv1D(32, 5, padding="causal", activation="relu"), lambda k: k.MaxPooling1D(),
                        lambda k: k.Conv1D(16, 3, strides=2), lambda k: k.GlobalMaxPooling1D(), shape=(128, 16))),
    ("conv3d", sequence(lambda k: k.Conv3D(8, 3, activation="relu"), lambda k: k.MaxPooling3D(),
                        lambda k: k.Conv3D(8, 3, padding="same"), lambda k: k.AveragePooling3D(2),
                        lambda k: k.GlobalAveragePooling3D(), shape=VOLUME)),
    ("conv1d_transpose", sequence(lambda k: k.Conv1DTranspose(16, 4, strides=2, padding="same"))),
    ("conv2d_transpose", sequence(lambda k: k.Conv2DTranspose(16, 3, strides=2, activation="relu"), shape=IMAGE)),
    ("conv3d_transpose", sequence(lambda k: k.Conv3DTranspose(4, 3, strides=2), shape=VOLUME)),
    ("separable", sequence(lambda k: k.SeparableConv2D(16, 3, activation="relu"), shape=IMAGE)),
    ("separable1d", sequence(lambda k: k.SeparableConv1D(16, 3, padding="same"))),
    ("depthwise1d", sequence(lambda k: k.DepthwiseConv1D(3, depth_multiplier=2))),
    ("depthwise_dilated", sequence(lambda k: k.DepthwiseConv2D(3, dilation_rate=2, padding="same"), shape=IMAGE)),
    ("grouped_conv", keras_case(regnet_block, lambda b: [noise((b, 32, 32, 32))])),
    ("up_nearest", sequence(lambda k: k.UpSampling2D(3), lambda k: k.Conv2D(8, 3), shape=IMAGE)),
    ("up_bilinear", sequence(lambda k: k.UpSampling2D(2, interpolation="bilinear"), shape=IMAGE)),
    ("resizing", sequence(lambda k: k.Resizing(20, 27), lambda k: k.CenterCrop(15, 16), lambda k: k.Rescaling(0.1),
                          shape=IMAGE)),
    ("padding", sequence(lambda k: k.ZeroPadding2D((1, 2)), lambda k: k.Cropping2D(((0, 1), (2, 0))),
                         lambda k: k.Permute((2, 1, 3)), shape=IMAGE)),
    ("group_norm", sequence(lambda k: k.GroupNormalization(4), lambda k: k.Conv2D(8, 1), shape=IMAGE)),
    ("unit_norm", sequence(lambda k: k.UnitNormalization())),
    ("rms_norm", sequence(lambda k: k.RMSNormalization(), lambda k: k.Dense(8))),
    ("spectral_norm", sequence(lambda k: k.SpectralNormalization(k.Dense(16)))),
    ("activations", sequence(lambda k: k.PReLU(), lambda k: k.ELU(), lambda k: k.Activation("mish"),
                             lambda k: k.Activation("hard_silu"), lambda k: k.Activation("celu"),
                             lambda k: k.Activation("glu"), lambda k: k.Softmax(), shape=(32, 48))),
    ("einsum_dense", sequence(lambda k: k.EinsumDense("abc,cde->abde", output_shape=(None, 4, 8), bias_axes="de"))),
    ("attention_plain", attention("multi", False, False)),
    ("attention_causal", attention("multi", True, False)),
    ("attention_masked", attention("multi", False, True)),
    ("attention_grouped", attention("grouped", True, False)),
    ("unet", keras_case(unet, lambda b: [noise((b, 64, 64, 3))])),
    ("generator", keras_case(generator, lambda b: [noise((b, 64))])),
    # Random weights make its signal grow: TensorFlow's own float32 is 5e-5 from float64.
    ("wavenet", keras_case(wavenet, lambda b: [noise((b, 256, 1))], tolerance=1e-4)),
    ("autoencoder", keras_case(autoencoder, lambda b: [noise((b, 128))])),
    ("preprocessing", keras_case(preprocessing, lambda b: [noise((b, 6)), noise((b, 1), 8)])),
    ("unet_mixed_float16", keras_case(unet, lambda b: [noise((b, 64, 64, 3))], "mixed_float16", tolerance=2e-2)),
    ("unet_mixed_bfloat16", keras_case(unet, lambda b: [noise((b, 64, 64, 3))], "mixed_bfloat16", tolerance=1e-1)),
    ("wavenet_float64", keras_case(wavenet, lambda b: [noise((b, 256, 1)).astype(np.float64)], "float64",
                                   tolerance=1e-12)),
    ("gru_mixed_bfloat16", keras_case(lambda k: k.Sequential([k.Input((16, 8)), k.layers.GRU(16)]),
                                      lambda b: [noise((b, 16, 8))], "mixed_bfloat16", tolerance=1e-1)),
]]
