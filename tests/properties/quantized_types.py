"""Draws for tensors of quantized types with their ranges.

TensorFlow's programs cannot return such tensors: the integers in them are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from tests.properties.draw import FLOATS, Case, Draw, raw, rows
from tests.properties.elementwise import limits_of_quantization

U8, S32 = np.dtype(np.uint8), np.dtype(np.int32)


def plain(results: Any) -> list[Any]:
    """The integers of a quantized tensor and its range."""
    return [tf.bitcast(results[0], {tf.quint8: tf.uint8, tf.qint8: tf.int8, tf.qint32: tf.int32}[results[0].dtype]), *results[1:]]


def quantized(x: Any, kind: Any = tf.quint8) -> Any:
    return tf.bitcast(x, kind)


def one_range(d: Draw) -> list[np.ndarray]:
    """A usual one, or one that is empty, turned round, or without 0."""
    if d.chance(0.8):
        return limits_of_quantization(d, [])
    return [np.float32(v) for v in d.pick((0, 0), (2, -2), (1, 2), (-3, -1))]


def range_of_sums(d: Draw) -> list[np.ndarray]:
    high = np.float32(d.pick(100, 12345.6, 3e5, 1e7))
    return [-high if d.chance(0.8) else -high * np.float32(0.3), high]


def sums(d: Draw, shape: list[int]) -> np.ndarray:
    """As large as those of products."""
    return d.numbers.integers(-(2**d.pick(8, 16, 22, 30)), 2**d.pick(8, 16, 22, 30), shape).astype(S32)


@rows("QuantizeV2 Dequantize")
def quantized_type(d: Draw) -> Case:
    integer, kind = d.pick((tf.uint8, tf.quint8), (tf.int8, tf.qint8), (tf.uint16, tf.quint16), (tf.int16, tf.qint16))
    rank, mode = d.rank(1, 4), d.pick("MIN_COMBINED", "MIN_FIRST", "SCALED")
    axis = d.between(0, rank - 1) if d.chance(0.4) and mode != "MIN_FIRST" else -1
    options = dict(mode=mode, axis=axis, narrow_range=d.chance(0.4))

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        x = d.values(FLOATS[0] if d.op == "QuantizeV2" else np.dtype(integer.as_numpy_dtype), shape, tame=True)
        return [x, *limits_of_quantization(d, [] if axis < 0 else [shape[axis]])]

    if d.op == "Dequantize":
        return Case(lambda q, a, b: raw(d.op, tf.bitcast(q, kind), a, b, **options), inputs, gradient=False)
    if mode == "SCALED":
        options |= dict(round_mode="HALF_AWAY_FROM_ZERO" if integer.size == 1 else d.pick("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"))

    def run(x: Any, a: Any, b: Any) -> list[Any]:
        q, low, high = raw(d.op, x, a, b, T=kind, **options)
        return [tf.bitcast(q, integer), low, high]

    return Case(run, inputs, gradient=False)


@rows("QuantizedMatMul")
def quantized_product(d: Draw) -> Case:
    ta, tb = d.chance(0.3), d.chance(0.3)

    def inputs() -> list[np.ndarray]:
        m, k, n = d.size(1, 33), d.size(1, 100), d.size(1, 64)
        return [d.values(U8, [k, m] if ta else [m, k]), d.values(U8, [n, k] if tb else [k, n]),
                *limits_of_quantization(d, []), *limits_of_quantization(d, [])]

    return Case(lambda x, w, *r: plain(raw(d.op, quantized(x), quantized(w), *r, transpose_a=ta, transpose_b=tb, Toutput=tf.qint32)),
                inputs, gradient=False)


@rows("QuantizedConv2D")
def quantized_convolution(d: Draw) -> Case:
    filter_shape = [d.between(1, 4), d.between(1, 4), d.between(1, 9), d.pick(1, 3, 8, 33)]
    options = dict(strides=[1, *[d.between(1, 3)] * 2, 1], padding=d.pick("SAME", "VALID"), out_type=tf.qint32)

    def inputs() -> list[np.ndarray]:
        image = [d.size(1, 4), d.between(4, 12), d.between(4, 12), filter_shape[2]]
        return [d.values(U8, image), d.values(U8, filter_shape), *limits_of_quantization(d, []), *limits_of_quantization(d, [])]

    return Case(lambda x, w, *r: plain(raw(d.op, quantized(x), quantized(w), *r, **options)), inputs, gradient=False)


@rows("QuantizedConv2DAndRelu QuantizedConv2DPerChannel QuantizedDepthwiseConv2D")
def quantized_signed_convolution(d: Draw) -> Case:
    """Filters must be constants, and numbers small: oneDNN limits pairs of products to 16 bits on CPUs without AVX512-VNNI."""
    is_depthwise = "Depthwise" in d.op
    shape = [d.between(1, 4), d.between(1, 4), d.between(1, 9), d.pick(1, 2) if is_depthwise else d.pick(1, 3, 8, 33)]
    options = dict(strides=[1, *[d.between(1, 3)] * 2, 1], padding=d.pick("SAME", "VALID"))
    filters = d.numbers.integers(-127, 128, shape).astype(np.int8)

    def inputs() -> list[np.ndarray]:
        image = [d.size(1, 4), d.between(4, 12), d.between(4, 12), shape[2]]
        return [d.numbers.integers(0, 128, image).astype(np.uint8), *one_range(d), *limits_of_quantization(d, [])]

    return Case(lambda x, *r: plain(raw(d.op, quantized(x), quantized(tf.constant(filters), tf.qint8), *r, **options)), inputs, gradient=False,
                graph=True)


@rows("QuantizedMul")
def quantized_times(d: Draw) -> Case:
    rank, form = d.rank(1, 4), d.pick("same", "scalar", "vector")

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank, 1)
        return [d.values(U8, shape), d.values(U8, {"same": shape, "scalar": [], "vector": shape[-1:]}[form]),
                *limits_of_quantization(d, []), *limits_of_quantization(d, [])]

    return Case(lambda x, y, *r: plain(raw(d.op, quantized(x), quantized(y), *r, Toutput=tf.qint32)), inputs, gradient=False)


@rows("QuantizedAdd")
def quantized_sum(d: Draw) -> Case:
    rank, form, turned = d.rank(1, 4), d.pick("same", "scalar", "vector"), d.chance(0.5)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank, 1)
        x, y = d.values(U8, shape), d.values(U8, {"same": shape, "scalar": [], "vector": shape[-1:]}[form])
        return [*((y, x) if turned else (x, y)), *limits_of_quantization(d, []), *limits_of_quantization(d, [])]

    return Case(lambda x, y, *r: plain(raw(d.op, quantized(x), quantized(y), *r, Toutput=tf.qint32)), inputs, gradient=False)


@rows("QuantizedBiasAdd")
def quantized_bias(d: Draw) -> Case:
    rank, (integer, kind) = d.rank(2, 4), d.pick((U8, tf.quint8), (np.dtype(np.int8), tf.qint8))

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank, 1)
        return [d.values(integer, shape), d.values(integer, shape[-1:]), *limits_of_quantization(d, []), *limits_of_quantization(d, [])]

    return Case(lambda x, y, *r: plain(raw(d.op, quantized(x, kind), quantized(y, kind), *r, out_type=tf.qint32)), inputs, gradient=False)


@rows("RequantizationRange QuantizeDownAndShrinkRange")
def range_in_use(d: Draw) -> Case:
    rank = d.rank(1, 4)
    options = {} if d.op == "RequantizationRange" else dict(out_type=tf.quint8)

    def run(x: Any, low: Any, high: Any) -> list[Any]:
        results = raw(d.op, quantized(x, tf.qint32), low, high, **options)
        return plain(results) if options else list(results)

    return Case(run, lambda: [sums(d, d.shape(rank)), *range_of_sums(d)], gradient=False)


@rows("Requantize")
def requantize(d: Draw) -> Case:
    rank, kind = d.rank(1, 4), d.pick(tf.quint8, tf.quint8, tf.qint8)

    def inputs() -> list[np.ndarray]:
        low, high = one_range(d)
        return [sums(d, d.shape(rank)), *range_of_sums(d), low, high]

    return Case(lambda x, *r: plain(raw(d.op, quantized(x, tf.qint32), *r, out_type=kind)), inputs, gradient=False)


@rows("QuantizedRelu QuantizedRelu6")
def quantized_activation(d: Draw) -> Case:
    rank, (integer, kind) = d.rank(1, 4), d.pick((U8, tf.quint8), (S32, tf.qint32))
    return Case(lambda x, *r: plain(raw(d.op, quantized(x, kind), *r, out_type=kind)),
                lambda: [d.values(integer, d.shape(rank)), *one_range(d)], gradient=False)


@rows("QuantizedMaxPool QuantizedAvgPool")
def quantized_pool(d: Draw) -> Case:
    integer, kind = d.pick((U8, tf.quint8), (U8, tf.quint8), (np.dtype(np.int8), tf.qint8))
    size, stride = d.between(1, 4), d.between(1, 3)
    options = dict(ksize=[1, size, size, 1], strides=[1, stride, stride, 1], padding=d.pick("SAME", "VALID"))

    def inputs() -> list[np.ndarray]:
        return [d.values(integer, [d.size(1, 4), d.between(4, 12), d.between(4, 12), d.size(1, 33)]), *limits_of_quantization(d, [])]

    return Case(lambda x, *r: plain(raw(d.op, quantized(x, kind), *r, **options)), inputs, gradient=False)


@rows("QuantizedReshape")
def quantized_reshape(d: Draw) -> Case:
    rank, (integer, kind) = d.rank(1, 4), d.pick((U8, tf.quint8), (S32, tf.qint32))
    return Case(lambda x, *r: plain(raw(d.op, quantized(x, kind), [-1], *r)), lambda: [d.values(integer, d.shape(rank, 1)), *one_range(d)],
                gradient=False)


@rows("QuantizedConcat")
def quantized_concat(d: Draw) -> Case:
    rank, parts = d.rank(1, 4), d.between(2, 4)
    axis = d.between(0, rank - 1)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank, 1)
        xs = [d.values(U8, [*shape[:axis], d.size(1, 9), *shape[axis + 1:]]) for _ in range(parts)]
        ranges = [limits_of_quantization(d, []) for _ in range(parts)]
        return [*xs, *(r[0] for r in ranges), *(r[1] for r in ranges)]

    return Case(lambda *v: plain(raw(d.op, axis, list(map(quantized, v[:parts])), list(v[parts:2 * parts]), list(v[2 * parts:]))),
                inputs, gradient=False)
