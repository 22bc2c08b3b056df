"""Cases of complex numbers and Fourier transforms; import_oracle.py runs them."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from import_oracle import Case

raw = tf.raw_ops
RNG = np.random.default_rng(11)
NAN, INF = np.nan, np.inf
WILD = np.array([0.0, -0.0, NAN, 1, INF, -INF, -1, 1e-30, 3e37, -2.5], np.float32)
# Each wild number with each other one.
WILD_PAIRS = (WILD[:, None] + 1j * WILD[None, :]).astype(np.complex64)
WILD_PAIRS.real[...] = WILD[:, None]
WILD_PAIRS.imag[...] = WILD[None, :]


def normal(*shape: int, dtype: type = np.complex64) -> np.ndarray:
    return (RNG.normal(0, 1, shape) + 1j * RNG.normal(0, 1, shape)).astype(dtype)


X = normal(4, 6)
Y = normal(4, 6)
Z = normal(3, 4, 6)
DOUBLE = normal(4, 6, dtype=np.complex128)
REAL = RNG.normal(0, 1, (4, 6)).astype(np.float32)
TYPES = (np.complex64, np.complex128)


def part_cases():
    for x in (X, DOUBLE, WILD_PAIRS, X[0, 0], X[:0], X[:1, :1]):
        name = f"{x.dtype}{x.shape}"
        yield Case(f"Real{name}", lambda x: tf.math.real(x), [x])
        yield Case(f"Imag{name}", lambda x: tf.math.imag(x), [x])
        yield Case(f"Conj{name}", lambda x: tf.math.conj(x), [x])
        yield Case(f"Angle{name}", lambda x: raw.Angle(input=x, Tout=x.dtype.real_dtype), [x])
        yield Case(f"ComplexAbs{name}", lambda x: tf.abs(x), [x], ulps=2)
    yield Case("Complex", lambda x, y: tf.complex(x, y), [REAL, REAL[::-1]])
    yield Case("ComplexWild", lambda x, y: tf.complex(x, y), [WILD, WILD[::-1]])
    yield Case("ComplexBroadcast", lambda x, y: raw.Complex(real=x, imag=y), [REAL, REAL[0]])
    for dtype in (np.float32, np.float64, np.int32):
        yield Case(f"CastToComplex{dtype.__name__}", lambda x: tf.cast(x, tf.complex64), [(9 * REAL).astype(dtype)])
    for x in (X, DOUBLE):
        yield Case(f"CastFrom{x.dtype}", lambda x: raw.Cast(x=x, DstT=tf.float32), [x])
        yield Case(f"CastFrom{x.dtype}ToComplex128", lambda x: tf.cast(x, tf.complex128), [x])
    yield Case("CastToBool", lambda x: tf.cast(x, tf.bool), [X], refused="complex numbers as bool")


def elementwise_cases():
    for x, y in ((X, Y), (DOUBLE, DOUBLE[::-1].copy()), (X, Y[0]), (Z, Y[:, :1])):
        name = f"{x.dtype}{x.shape}{y.shape}"
        yield Case(f"ComplexAdd{name}", lambda x, y: x + y, [x, y])
        yield Case(f"ComplexSub{name}", lambda x, y: x - y, [x, y])
        yield Case(f"ComplexMul{name}", lambda x, y: x * y, [x, y], rel=3e-7)
        yield Case(f"ComplexDiv{name}", lambda x, y: x / y, [x, y], rel=5e-7)
        yield Case(f"ComplexDivNoNan{name}", lambda x, y: tf.math.divide_no_nan(x, y), [x, y * (y.real > 0)], rel=5e-7)
        yield Case(f"ComplexEqual{name}", lambda x, y: [tf.equal(x, y), tf.not_equal(x, y)], [x, y])
    yield Case("ComplexEqualItself", lambda x: [tf.equal(x, x), tf.not_equal(x, x)], [WILD_PAIRS])
    huge = np.array([3e30 + 1j, 2e30 - 3e30j, 1e-30 - 1e-30j], np.complex64)
    yield Case("ComplexDivHuge", lambda x, y: x / y, [huge, huge[[1, 0, 2]]], ulps=4)
    for op in (tf.negative, tf.exp, tf.sqrt, tf.square, tf.math.reciprocal, tf.zeros_like, tf.ones_like):
        yield Case(f"Complex{op.__name__}", lambda x, op=op: op(x), [X], rel=5e-7)
        yield Case(f"Complex{op.__name__}128", lambda x, op=op: op(x), [DOUBLE], rel=1e-15)
    for dtype in TYPES:  # exp(-inf + nan j) was NaN, of 0 times NaN; the root of an infinite imaginary part, too
        wild = WILD_PAIRS.astype(dtype)
        yield Case(f"ComplexExpWild{dtype.__name__}", lambda x: tf.exp(x), [wild], ulps=4)
        roots = wild.copy()
        # Below the negative axis, as near to it as -0 or as far out as -inf, TensorFlow's have either sign (docs/numbers.md).
        either = (roots.imag == 0) | ((roots.real == -INF) & (roots.imag < 0) & (roots.imag > -INF))
        roots.imag[either] = np.abs(roots.imag[either])
        yield Case(f"ComplexSqrtWild{dtype.__name__}", lambda x: tf.sqrt(x), [roots], ulps=4)
        yield Case(f"ComplexReciprocalWild{dtype.__name__}", lambda x: tf.math.reciprocal(x), [wild], ulps=4)
        yield Case(f"ComplexSquareWild{dtype.__name__}", lambda x: tf.square(x), [wild], ulps=4)
        yield Case(f"ComplexDivWild{dtype.__name__}", lambda x: [x / x[::-1], tf.math.divide_no_nan(x, x[::-1])], [wild], ulps=4)
    tame = np.where((np.abs(WILD) > 1e3) & (np.abs(WILD) < INF) | (np.abs(WILD) < 1e-3), np.float32(2), WILD)
    log_wild = WILD_PAIRS.copy()
    log_wild.real[...], log_wild.imag[...] = tame[:, None], tame[None, :]
    yield Case("ComplexLogWild", lambda x: tf.math.log(x), [log_wild], ulps=4)
    yield Case("ComplexLog", lambda x: tf.math.log(x), [X], rel=5e-7)
    yield Case("ComplexLog128", lambda x: tf.math.log(x), [DOUBLE], refused="128 bits")
    yield Case("ComplexSqrtAxes", lambda x: tf.sqrt(x), [np.array([4, -4, 4j, -4j, 0], np.complex64)], ulps=2)
    yield Case("ComplexTan", lambda x: tf.tan(x), [X], refused="complex numbers")
    yield Case("ComplexConst", lambda x: x * tf.constant([1 + 2j, -3j, 0, 1, 2, 3], tf.complex64), [X], rel=3e-7)
    yield Case("ComplexAddN", lambda x, y: tf.add_n([x, y, x]), [X, Y])
    yield Case("ComplexSelect", lambda c, x, y: tf.where(c > 0, x, y), [REAL, X, Y])
    yield Case("ComplexGradient", gradient_of_magnitudes, [X, Y], rel=1e-6)


def gradient_of_magnitudes(x: tf.Tensor, y: tf.Tensor) -> list[tf.Tensor]:
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        loss = tf.reduce_sum(tf.abs(x * y + tf.exp(x)))
    return tape.gradient(loss, [x, y])


def movement_cases():
    yield Case("ComplexReshape", lambda x: tf.reshape(x, [-1, 3]), [X])
    yield Case("ComplexTranspose", lambda x: tf.transpose(x), [X])
    yield Case("ComplexAdjoint", lambda x: tf.linalg.adjoint(x), [Z])
    yield Case("ComplexConcat", lambda x, y: tf.concat([x, y, x], 1), [X, Y])
    yield Case("ComplexStack", lambda x, y: tf.stack([x, y], 1), [X, Y])
    yield Case("ComplexUnstack", lambda x: tf.unstack(x, 4), [X])
    yield Case("ComplexSplit", lambda x: tf.split(x, 3, axis=1), [X])
    yield Case("ComplexSlice", lambda x: x[1:3, ::2], [X])
    yield Case("ComplexPad", lambda x: tf.pad(x, [[1, 2], [0, 3]]), [X])
    yield Case("ComplexPadV2", lambda x: tf.pad(x, [[1, 2], [0, 3]], constant_values=2 - 1j), [X])
    yield Case("ComplexGather", lambda x: tf.gather(x, [2, 0, 1], axis=1), [X])
    yield Case("ComplexReverse", lambda x: tf.reverse(x, [1]), [X])
    yield Case("ComplexRoll", lambda x: tf.roll(x, 2, 1), [X])
    yield Case("ComplexTile", lambda x: tf.tile(x, [2, 1]), [X])
    yield Case("ComplexBroadcastTo", lambda x: tf.broadcast_to(x, [3, 4, 6]), [X])
    yield Case("ComplexShapes", lambda x: [tf.shape(x), tf.size(x), tf.rank(x)], [Z], dynamic=True)
    yield Case("ComplexSum", lambda x: tf.reduce_sum(x, 1), [X], rel=1e-6)
    yield Case("ComplexMean", lambda x: tf.reduce_mean(x, [0, 1], keepdims=True), [DOUBLE], rel=1e-15)
    yield Case("ComplexCumsum", lambda x: tf.cumsum(x, 1), [X], rel=1e-6)
    yield Case("ComplexDiag", lambda x: tf.linalg.diag(x), [X])
    yield Case("ComplexBandPart", lambda x: tf.linalg.band_part(x, 1, 0), [Z])
    yield Case("ComplexMatMul", lambda x, y: tf.matmul(x, y, transpose_b=True), [X, Y], rel=1e-6)
    yield Case("ComplexMatMulAdjoint", lambda x, y: tf.matmul(x, y, adjoint_a=True), [Z, Z[:, ::-1].copy()], rel=1e-6)
    yield Case("ComplexEinsum", lambda x, y: tf.einsum("bij,kj->bik", x, y), [Z, Y], rel=1e-6)
    yield Case("ComplexLoop", loop_of_turns, [X], rel=1e-6)
    yield Case("ComplexBranch", lambda x, c: tf.cond(c[0] > 0, lambda: x * 2, lambda: tf.math.conj(x)), [X, REAL[0]])


def loop_of_turns(x: tf.Tensor) -> tf.Tensor:
    turn = tf.constant(0.6 + 0.8j, tf.complex64)
    return tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * turn + x), [0, x])[1]


# Lengths of every kind of factor, and primes that have none.
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 15, 16, 30, 47, 49, 53, 60, 64, 97, 100, 106, 128, 210, 227)


def transform_cases():
    for n in LENGTHS:
        for dtype, rel in ((np.complex64, 1e-6), (np.complex128, 2e-15)):
            x = normal(3, n, dtype=dtype)
            yield Case(f"FFT{n}{dtype.__name__}", lambda x: tf.signal.fft(x), [x], rel=rel)
            yield Case(f"IFFT{n}{dtype.__name__}", lambda x: tf.signal.ifft(x), [x], rel=rel)
            r = x.real.copy()
            yield Case(f"RFFT{n}{dtype.__name__}", lambda x, n=n: tf.signal.rfft(x, [n]), [r], rel=rel)
            half = normal(3, n // 2 + 1, dtype=dtype)
            yield Case(f"IRFFT{n}{dtype.__name__}", lambda x, n=n: tf.signal.irfft(x, [n]), [half], rel=rel)
    for n in (5, 8, 20):
        r, half = RNG.normal(0, 1, (2, 12)).astype(np.float32), normal(2, 7)
        yield Case(f"RFFTLength{n}", lambda x, n=n: tf.signal.rfft(x, [n]), [r], rel=1e-6)
        yield Case(f"IRFFTLength{n}", lambda x, n=n: tf.signal.irfft(x, [n]), [half], rel=1e-6)
    yield Case("RFFTTooShort", lambda x: raw.RFFT(input=x, fft_length=[16]), [REAL], refused="has 6 elements, not 16")
    yield Case("RFFTOwnLength", lambda x: tf.signal.rfft(x), [REAL], rel=1e-6, dynamic=True)
    yield Case("FFTVector", lambda x: tf.signal.fft(x), [X[0]], rel=1e-6)
    yield Case("FFTNoRows", lambda x: tf.signal.fft(x), [X[:0]])
    yield Case("FFTManyRows", lambda x: tf.signal.fft(x), [normal(2, 5, 3, 12)], rel=1e-6)
    # What is not a number spoils its own line alone.
    spoilt = REAL.copy()
    spoilt[1, 2] = NAN
    yield Case("RFFTOfNaN", lambda x: tf.abs(tf.signal.rfft(x)), [spoilt], rel=1e-6)
    for x in (normal(2, 6, 10), normal(5, 7), normal(2, 3, 4, 5, dtype=np.complex128)):
        rel, name = 2e-15 if x.dtype == np.complex128 else 1e-6, str(x.shape)
        yield Case(f"FFT2D{name}", lambda x: tf.signal.fft2d(x), [x], rel=rel)
        yield Case(f"IFFT2D{name}", lambda x: tf.signal.ifft2d(x), [x], rel=rel)
        yield Case(f"RFFT2D{name}", lambda x: tf.signal.rfft2d(x), [x.real.copy()], rel=rel)
        yield Case(f"RFFT2DLengths{name}", lambda x: tf.signal.rfft2d(x, [4, 6]), [x.real.copy()], rel=rel)
        yield Case(f"IRFFT2D{name}", lambda x: tf.signal.irfft2d(x), [x], rel=rel)
    x = normal(2, 4, 6, 5)
    yield Case("FFT3D", lambda x: tf.signal.fft3d(x), [x], rel=1e-6)
    yield Case("IFFT3D", lambda x: tf.signal.ifft3d(x), [x], rel=1e-6)
    yield Case("RFFT3D", lambda x: tf.signal.rfft3d(x), [x.real.copy()], rel=1e-6)
    yield Case("IRFFT3D", lambda x: tf.signal.irfft3d(x), [x], rel=1e-6)
    yield Case("RFFTGradient", gradient_of_spectrum, [REAL], rel=1e-6)
    signal = RNG.normal(0, 1, (2, 400)).astype(np.float32)
    yield Case("Stft", lambda x: tf.signal.stft(x, 64, 16), [signal], rel=1e-6)
    yield Case("StftInverse", lambda x: tf.signal.inverse_stft(tf.signal.stft(x, 64, 16), 64, 16), [signal], rel=1e-6)


def gradient_of_spectrum(x: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.abs(tf.signal.rfft(x)))
    return tape.gradient(loss, x)


CASES = [*part_cases(), *elementwise_cases(), *movement_cases(), *transform_cases()]
