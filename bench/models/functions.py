"""Functions without a model: the fusions that a compiler is for, measured on their own."""
import functools
import math

import numpy as np

from bench.models.workload import Workload, noise

ROWS = (512, 1024)
RATE, VOLATILITY = 0.03, 0.3  # of black_scholes


def softmax(x):
    import tensorflow as tf
    return (tf.nn.softmax(x),)


def layer_norm(x, scale, offset):
    import tensorflow as tf
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-5),)


def bias_gelu(x, bias):
    import tensorflow as tf
    return (tf.nn.gelu(x + bias),)


def softmax_chain(x, bias, scale, offset):
    return softmax(*layer_norm(*bias_gelu(x, bias), scale, offset))


def sum_of_product(a):
    """The sum of all entries of A times its transpose: 25 million entries that nothing needs."""
    import tensorflow as tf
    return (tf.reduce_sum(tf.matmul(a, a, transpose_b=True)),)


def black_scholes(spot, strike, years):
    """Prices of European options, call and put; 3 % interest, 30 % volatility."""
    import tensorflow as tf

    def normal_cdf(x):
        return 0.5 + 0.5 * tf.math.erf(x * math.sqrt(0.5))

    spread = VOLATILITY * tf.sqrt(years)
    d1 = (tf.math.log(spot / strike) + (RATE + 0.5 * VOLATILITY**2) * years) / spread
    discounted = strike * tf.exp(-RATE * years)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d1 - spread)
    return call, call - spot + discounted


def for_xla(function):
    """The function with jit_compile=True, as Keras has its convolutions of groups: XLA runs it in stock TensorFlow."""
    @functools.cache
    def marked():
        import tensorflow as tf
        return tf.function(function, jit_compile=True)

    return lambda *inputs: marked()(*inputs)


@for_xla
def convolution(x, filters):
    import tensorflow as tf
    return tf.nn.convolution(x, filters, padding="SAME")


@for_xla
def gated_chain(x):
    import tensorflow as tf
    return tf.tanh(2.0 * x + 1.0) * tf.sigmoid(x) - 0.5 * tf.exp(-x * x)


def convnext_block(x, filters, widen, narrow):
    """Keras's block: a convolution of as many groups as channels, and two products."""
    import tensorflow as tf
    return (x + tf.nn.gelu(convolution(x, filters) @ widen) @ narrow,)


def grouped_convolution(x, filters):
    import tensorflow as tf
    return (tf.nn.relu(convolution(x, filters)),)


def chain_for_xla(x):
    return (gated_chain(x) + 1.0,)


def log_mel(signals, weights):
    """The features of speech models: windows of 25 ms every 10 ms at 16 kHz, their spectra's power in bands."""
    import tensorflow as tf
    spectrum = tf.signal.stft(signals, frame_length=400, frame_step=160, fft_length=512)
    return (tf.math.log(tf.abs(spectrum) @ weights + 1e-3),)


def gaussian_process(x, y):
    """The likelihood of y at the points x, under a covariance that falls with the distance."""
    import tensorflow as tf
    distance = tf.reduce_sum(tf.square(x[:, None] - x), -1)
    covariance = tf.exp(-0.5 * distance) + 0.1 * tf.eye(x.shape[0])
    root = tf.linalg.cholesky(covariance)
    z = tf.linalg.triangular_solve(root, y)
    return (-0.5 * tf.reduce_sum(z * z) - tf.reduce_sum(tf.math.log(tf.linalg.diag_part(root))),)


def options_market(count: int = 1_000_000) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.uniform(10, 50, count), rng.uniform(10, 50, count), rng.uniform(0.1, 2, count)]


def vectors(*seeds: int) -> list[np.ndarray]:
    return [noise(ROWS[1:], seed) for seed in seeds]


WORKLOADS = [
    Workload("softmax", kind="function", function=softmax, inputs=lambda: [noise(ROWS)]),
    Workload("layer_norm", kind="function", function=layer_norm,
             inputs=lambda: [noise(ROWS), *vectors(1, 2)]),
    Workload("bias_gelu", kind="function", function=bias_gelu,
             inputs=lambda: [noise(ROWS), *vectors(3)]),
    Workload("softmax_chain", kind="function", function=softmax_chain,
             inputs=lambda: [noise(ROWS), *vectors(3, 1, 2)]),
    Workload("seed_case", kind="session", function=sum_of_product,
             inputs=lambda: [noise((5000, 5), low=0, high=1)]),
    Workload("black_scholes", kind="function", function=black_scholes, inputs=options_market),
    Workload("convnext_block", kind="function", function=convnext_block,
             inputs=lambda: [noise((1, 28, 28, 96)), noise((7, 7, 1, 96), 1), noise((96, 384), 2), noise((384, 96), 3)]),
    Workload("grouped_conv", kind="function", function=grouped_convolution,
             inputs=lambda: [noise((4, 28, 28, 64)), noise((3, 3, 8, 64), 1)]),
    Workload("chain_for_xla", kind="function", function=chain_for_xla, inputs=lambda: [noise(ROWS)]),
    Workload("log_mel", kind="function", function=log_mel,
             inputs=lambda: [noise((16, 16000)), noise((257, 40), 1, low=0, high=1)]),
    Workload("gaussian_process", kind="function", function=gaussian_process,
             inputs=lambda: [noise((200, 3)), noise((200, 1), 1)]),
]
