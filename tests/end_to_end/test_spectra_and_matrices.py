"""Programs of audio and of Gaussian processes: TensorFlow's results, from one cluster."""

import numpy as np
import pytest

AUDIO = """
mel = tf.signal.linear_to_mel_weight_matrix(20, 129, 8000)

def mfcc(x):
    spectrum = tf.signal.stft(x, 256, 128)
    power = tf.math.log(tf.matmul(tf.abs(spectrum), mel) + 1e-3)
    return power, tf.signal.mfccs_from_log_mel_spectrograms(power)[..., :13]

def denoise(x):
    spectrum = tf.signal.stft(x, 256, 64)
    gain = tf.sigmoid(tf.abs(spectrum) - 1.0)
    return tf.signal.inverse_stft(spectrum * tf.cast(gain, tf.complex64), 256, 64,
                                  window_fn=tf.signal.inverse_stft_window_fn(64))

def filtered(x):
    response = tf.signal.fft(tf.cast(tf.signal.hann_window(4000), tf.complex64))
    return tf.math.real(tf.signal.ifft(tf.signal.fft(tf.cast(x, tf.complex64)) * response))

def spectrum(x):
    return tf.signal.stft(x, 256, 128)

f = tf.function({program}, input_signature=[tf.TensorSpec({shape}, tf.float32)])
def parts(y):
    return [np.stack([v.real, v.imag]) if v.dtype.kind == "c" else v for v in (t.numpy() for t in tf.nest.flatten(y))]
report(y=[parts(f(normal(n, 4000))) for n in (2, 5, 2)])
"""


@pytest.mark.parametrize("program", ["mfcc", "denoise", "filtered", "spectrum"])
@pytest.mark.parametrize("shape", ["[None, 4000]", "[None, None]"])
def test_audio(run_pair, program, shape):
    plain, compiled = run_pair(AUDIO.format(program=program, shape=shape))
    for ours, theirs in zip(compiled.values["y"], plain.values["y"], strict=True):
        for a, b in zip(ours, theirs, strict=True):
            scale = np.max(np.abs(b))
            np.testing.assert_allclose(np.array(a) / scale, np.array(b) / scale, atol=3e-6)
    assert compiled.host["runs"] > 0 and not compiled.host["fallbacks"], compiled.stats
    if shape == "[None, 4000]":
        assert compiled.stats["left_out"].keys() <= {"HOST_BOUNDARY"}, compiled.stats["left_out"]


# A complex tensor goes in and comes out, from a variable and as a captured constant, by value and by reference.
EDGES = """
v = tf.Variable([1 + 2j, 3 - 1j], dtype=tf.complex64)
c = tf.constant([2j, 1], tf.complex64)
x = tf.constant(normal(3, 2) + 1j * normal(3, 2), tf.complex64)

@tf.function
def f(x):
    y = x * c + v
    return y, x, tf.abs(y), tf.reshape(x, [2, 3])

@tf.function
def g(x):
    return tf.linalg.adjoint(x) / 2.0, tf.cast(x, tf.complex128) * 2

report(y=[np.stack([t.numpy().real, t.numpy().imag]) for t in (*f(x), *f(x), *g(x), *g(x[:0]))],
       types=[t.dtype.name for t in (*f(x), *g(x))])
"""


def test_edges(run_pair):
    plain, compiled = run_pair(EDGES)
    assert compiled.values["types"] == plain.values["types"]
    for ours, theirs in zip(compiled.values["y"], plain.values["y"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
    assert compiled.host["runs"] > 0 and not compiled.host["fallbacks"], compiled.stats


GAUSSIAN_PROCESS = """
x, y = tf.constant(normal(60, 3)), tf.constant(normal(60, 1))

def likelihood(x, y, scale, noise):
    distance = tf.reduce_sum(tf.square((x[:, None] - x[None]) / scale), -1)
    covariance = tf.exp(-0.5 * distance) + noise * tf.eye(60)
    l = tf.linalg.cholesky(covariance)
    z = tf.linalg.triangular_solve(l, y)
    return -0.5 * tf.reduce_sum(z * z) - tf.reduce_sum(tf.math.log(tf.linalg.diag_part(l)))

@tf.function
def step(scale, noise):
    with tf.GradientTape() as tape:
        tape.watch([scale, noise])
        value = likelihood(x, y, scale, noise)
    return value, tape.gradient(value, [scale, noise])
"""


def test_gaussian_process(run_pair):
    plain, compiled = run_pair(GAUSSIAN_PROCESS + """
report(y=[tf.nest.flatten(step(tf.constant(s), tf.constant(n))) for s, n in ((1.0, 0.5), (2.0, 0.1))])
""")
    for ours, theirs in zip(compiled.values["y"], plain.values["y"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3)
    assert compiled.host["runs"] > 0 and not compiled.host["fallbacks"], compiled.stats
    assert compiled.stats["left_out"].keys() <= {"HOST_BOUNDARY"}, compiled.stats["left_out"]


# A matrix without an inverse: TensorFlow's error, and a variable that the call assigns to has not changed.
def test_error_of_a_solver(run_program):
    result = run_program("""
total = tf.Variable(tf.zeros([3, 2]))

@tf.function
def f(a, b):
    x = tf.linalg.solve(a * 2.0, b) * 3.0
    total.assign_add(x)
    return tf.reduce_sum(x)

good, b = np.eye(3, dtype=np.float32) * 2, tf.constant(normal(3, 2))
f(tf.constant(good), b)
before = total.numpy()
errors = []
for a in (0 * good, np.ones((3, 3), np.float32)):
    try:
        f(tf.constant(a), b)
        errors.append("none")
    except tf.errors.InvalidArgumentError as error:
        errors.append(error.message)
between = total.numpy()
f(tf.constant(good), b)
report(errors=errors, before=before, between=between, after=total)
""", tektite="1")
    assert all("not invertible" in error for error in result.values["errors"]), result.values["errors"]
    np.testing.assert_array_equal(result.values["before"], result.values["between"])
    np.testing.assert_allclose(result.values["after"], 2 * np.array(result.values["before"]), rtol=1e-6)
    assert result.host["runs"] > 0 and result.host["fallbacks"].keys() == {"CHECK_FAILED"}, result.host


# Where TensorFlow has an answer of its own, that is it: NaN of a matrix that is not positive definite, and whatever
# its solvers make of a zero on the diagonal.
def test_matrices_without_an_answer(run_pair):
    plain, compiled = run_pair("""
good, bad = np.eye(3, dtype=np.float32) * 2, np.array([[2, 0, 0], [1, -1, 0], [0, 0, 2]], np.float32)
zero = np.array([[2, 0, 0], [1, 0, 0], [1, 0, 2]], np.float32)

@tf.function
def cholesky(a):
    return tf.linalg.band_part(tf.linalg.cholesky(a * 2.0), -1, 0)

@tf.function
def triangular(a, b):
    return tf.linalg.triangular_solve(a * 2.0, b) + 0.0

@tf.function
def tridiagonal(d, b):
    return tf.linalg.tridiagonal_solve(d * 2.0, b) + 0.0

b = tf.ones([3, 1])
report(y=[cholesky(tf.constant([good, bad, good])), triangular(tf.constant(zero), b),
          tridiagonal(tf.zeros([3, 3]), b), tridiagonal(tf.ones([3, 2]), b[:2])])
""")
    for ours, theirs in zip(compiled.values["y"], plain.values["y"], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert compiled.host["runs"] > 0, compiled.host
