"""Tensors of quint8, qint8 and qint32 with their ranges."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from import_cases_quantization import HALVES, RANGES, X
from import_oracle import Case

raw = tf.raw_ops

INTEGERS = {tf.quint8: tf.uint8, tf.qint8: tf.int8, tf.quint16: tf.uint16, tf.qint16: tf.int16}


def quantize(x, low, high, dtype, **options):
    q = raw.QuantizeV2(input=x, min_range=low, max_range=high, T=dtype, **options)
    return tf.bitcast(q.output, INTEGERS[dtype]), q.output_min, q.output_max


def quantized_type_cases():
    """Integers of types of their own, and back."""
    spread = np.concatenate([X.ravel(), HALVES, np.array([np.inf, -np.inf, 1e30, -0.0, 0.5, 1.5], np.float32)])
    for dtype, integer in INTEGERS.items():
        for mode, rounding in (("MIN_COMBINED", "HALF_AWAY_FROM_ZERO"), ("MIN_FIRST", "HALF_AWAY_FROM_ZERO"),
                               ("SCALED", "HALF_AWAY_FROM_ZERO"), ("SCALED", "HALF_TO_EVEN")):
            for narrow in (False, True):
                if dtype in (tf.qint8, tf.quint8) and rounding == "HALF_TO_EVEN" and not narrow:
                    continue  # oneDNN's own range
                options = dict(mode=mode, round_mode=rounding, narrow_range=narrow)
                for low, high in (*RANGES, (2, 2)):
                    name = f"{dtype.name}{mode}{rounding}{narrow}{low}to{high}"
                    bounds = [np.float32(low), np.float32(high)]
                    unsigned_below = mode == "SCALED" and high <= 0 and dtype.name.startswith("qu")
                    if not unsigned_below:  # no positive number has room: the host's
                        yield Case(f"QuantizeV2{name}", lambda x, a, b, d=dtype, o=options: quantize(x, a, b, d, **o),
                                   [spread, *bounds], ulps=0)
        q = np.arange(max(integer.min, -900), min(integer.max, 900) + 1).astype(integer.as_numpy_dtype)
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            for narrow in (False, True):
                if mode == "SCALED" and narrow and dtype == tf.quint8:
                    continue  # oneDNN's own scale
                for low, high in (*RANGES, (2, 2), (3, 1)):
                    yield Case(f"Dequantize{dtype.name}{mode}{narrow}{low}to{high}",
                               lambda q, a, b, d=dtype, m=mode, n=narrow: raw.Dequantize(
                                   input=tf.bitcast(q, d), min_range=a, max_range=b, mode=m, narrow_range=n),
                               [q, np.float32(low), np.float32(high)], ulps=0)
    for axis, size in ((0, 5), (1, 7), (2, 4)):
        bounds = [np.linspace(-3, -1, size).astype(np.float32), np.linspace(1, 5, size).astype(np.float32)]
        for mode in ("MIN_COMBINED", "SCALED"):
            yield Case(f"QuantizeV2Axis{axis}{mode}", lambda x, a, b, i=axis, m=mode: quantize(
                x, a, b, tf.qint8, mode=m, axis=i), [X, *bounds], ulps=0)
            yield Case(f"DequantizeAxis{axis}{mode}", lambda q, a, b, i=axis, m=mode: raw.Dequantize(
                input=tf.bitcast(q, tf.qint8), min_range=a, max_range=b, mode=m, axis=i), [X.astype(np.int8), *bounds], ulps=0)
    bounds = [np.float32(-2), np.float32(3)]
    yield Case("QuantizeV2Turned", lambda x, a, b: quantize(x, b, a, tf.quint8), [X, *bounds], fails=True)
    yield Case("DequantizeToBfloat16", lambda q, a, b: raw.Dequantize(
        input=tf.bitcast(q, tf.qint8), min_range=a, max_range=b, dtype=tf.bfloat16), [X.astype(np.int8), *bounds], ulps=0)
    for name, x in (("None", X[:0]), ("One", X[0, 0, :1])):
        yield Case(f"QuantizeV2Of{name}", lambda x, a, b: quantize(x, a, b, tf.quint8, mode="SCALED"), [x, *bounds], ulps=0)
        yield Case(f"DequantizeOf{name}", lambda q, a, b: raw.Dequantize(
            input=tf.bitcast(q, tf.qint8), min_range=a, max_range=b), [x.astype(np.int8), *bounds], ulps=0)


def as_plain(results, integer):
    """A tensor of a quantized type cannot be read: its integers can."""
    return tf.bitcast(results[0], integer), *results[1:]


def products_cases():
    rng = np.random.default_rng(11)
    ends = [(-1, 1, -2, 3), (0, 6, -1.3, 1.1), (-0.5, 0.5, 0.2, 1), (-3, 0, -1, -0.5)]
    for k, bounds in enumerate(ends):
        bounds = [np.float32(v) for v in bounds]
        for ta, tb in ((False, False), (True, False), (False, True)):
            x, w = (rng.integers(0, 256, s).astype(np.uint8) for s in (((7, 5) if ta else (5, 7)), ((9, 7) if tb else (7, 9))))
            yield Case(f"QuantizedMatMul{k}{ta}{tb}", lambda x, w, *r, a=ta, b=tb: as_plain(raw.QuantizedMatMul(
                a=tf.bitcast(x, tf.quint8), b=tf.bitcast(w, tf.quint8), min_a=r[0], max_a=r[1], min_b=r[2], max_b=r[3],
                transpose_a=a, transpose_b=b), tf.int32), [x, w, *bounds], ulps=0)
        for padding, stride in (("SAME", 1), ("SAME", 2), ("VALID", 2)):
            x, w = (rng.integers(0, 256, s).astype(np.uint8) for s in ((2, 6, 7, 3), (3, 3, 3, 4)))
            yield Case(f"QuantizedConv2D{k}{padding}{stride}", lambda x, w, *r, p=padding, s=stride: as_plain(raw.QuantizedConv2D(
                input=tf.bitcast(x, tf.quint8), filter=tf.bitcast(w, tf.quint8), min_input=r[0], max_input=r[1], min_filter=r[2],
                max_filter=r[3], strides=[1, s, s, 1], padding=p), tf.int32), [x, w, *bounds], ulps=0)
    x = np.full((2, 3), 200, np.uint8)
    yield Case("QuantizedMatMulTurned", lambda x, *r: as_plain(raw.QuantizedMatMul(
        a=tf.bitcast(x, tf.quint8), b=tf.bitcast(tf.transpose(x), tf.quint8), min_a=r[1], max_a=r[0], min_b=r[0], max_b=r[1],
        Toutput=tf.qint32), tf.int32), [x, np.float32(-1), np.float32(1)], fails=True)
    yield Case("QuantizedConv2DPaddedBeyondBytes", lambda x, *r: as_plain(raw.QuantizedConv2D(
        input=tf.bitcast(x, tf.quint8), filter=tf.bitcast(x, tf.quint8), min_input=r[0], max_input=r[1], min_filter=r[0],
        max_filter=r[1], strides=[1, 1, 1, 1], padding="SAME"), tf.int32),
        [np.full((3, 3, 1, 1), 9, np.uint8), np.float32(1), np.float32(2)], differs=True)


def signed_cases():
    """Filters of qint8, which must be constants.  Numbers are small: oneDNN limits pairs of products to 16 bits on some CPUs."""
    rng = np.random.default_rng(13)
    ends = [(0, 2, -1, 1), (-1, 3, -0.5, 2)]
    odd = [(0, 0, -1, 1), (3, -2, 1, -1), (np.nan, 1, -1, 1), (0, 1, -1, np.inf), (0, 1e-30, 0, 1e-30), (0, 1e30, 0, 1e30)]
    for op, shape in (("QuantizedConv2D", (3, 2, 5, 8)), ("QuantizedConv2DAndRelu", (3, 2, 5, 8)), ("QuantizedConv2DPerChannel", (3, 2, 5, 8)),
                      ("QuantizedDepthwiseConv2D", (3, 3, 5, 2))):
        channels = shape[3] * (shape[2] if "Depthwise" in op else 1)
        w = rng.integers(-127, 128, shape).astype(np.int8)

        def run(x, *r, op=op, w=w, **options):
            return as_plain(getattr(raw, op)(input=tf.bitcast(x, tf.quint8), filter=tf.bitcast(tf.constant(w), tf.qint8), min_input=r[0], max_input=r[1],
                                             min_filter=r[2], max_filter=r[3], **options), tf.int32)

        for k, bounds in enumerate(ends + odd):
            bounds = [np.float32(v) for v in bounds]
            for padding, stride in (("SAME", 1), ("SAME", 2), ("VALID", 2))[:3 if k < len(ends) else 1]:
                options = dict(padding=padding, strides=[1, stride, stride, 1])
                x = rng.integers(0, 128, (2, 6, 7, 5)).astype(np.uint8)
                yield Case(f"{op}Signed{k}{padding}{stride}", lambda x, *r, f=run, o=options: f(x, *r, **o), [x, *bounds], ulps=0,
                           differs=k >= len(ends))
        if op != "QuantizedConv2D":
            each = [np.float32(0), np.float32(2), *(np.linspace(a, b, channels).astype(np.float32) for a, b in ((-1, -0.1), (0.1, 2)))]
            yield Case(f"{op}OfChannels", lambda x, *r, f=run: f(x, *r, padding="SAME", strides=[1, 1, 1, 1]), [x, *each],
                       refused="not a scalar")
            yield Case(f"{op}Dilated", lambda x, *r, f=run: f(x, *r, padding="SAME", strides=[1, 1, 1, 1], dilations=[1, 2, 2, 1]),
                       [x, *each], refused="dilations")


def layers_cases():
    """What stands between products: narrower ranges, activations, parts of several ranges."""
    rng = np.random.default_rng(12)
    s32 = rng.integers(-70000, 70000, (40, 9)).astype(np.int32)
    for k, (low, high) in enumerate([(-1e7, 1e7), (-12345.6, 4321.1), (0, 0), (3e6, -1e6)]):
        given = [np.float32(low), np.float32(high)]
        for size, sums in (("", s32), ("OfNone", s32[:0]), ("OfOne", s32[:1, :1])):
            yield Case(f"RequantizationRange{size}{k}", lambda x, a, b: raw.RequantizationRange(
                input=tf.bitcast(x, tf.qint32), input_min=a, input_max=b), [sums, *given], ulps=0)
            yield Case(f"QuantizeDownAndShrinkRange{size}{k}", lambda x, a, b: as_plain(raw.QuantizeDownAndShrinkRange(
                input=tf.bitcast(x, tf.qint32), input_min=a, input_max=b, out_type=tf.quint8), tf.uint8), [sums, *given], ulps=0)
        for to_low, to_high in ((-50, 50), (-7.1, 123.4), (0, 1), (0, 0)):
            for dtype, integer in ((tf.quint8, tf.uint8), (tf.qint8, tf.int8)):
                yield Case(f"Requantize{k}{dtype.name}{to_low}to{to_high}", lambda x, a, b, c, d, t=dtype, i=integer: as_plain(raw.Requantize(
                    input=tf.bitcast(x, tf.qint32), input_min=a, input_max=b, requested_output_min=c, requested_output_max=d, out_type=t), i),
                    [s32, *given, np.float32(to_low), np.float32(to_high)], ulps=0)
    large = rng.integers(-2**31, 2**31, 60000).astype(np.int32)  # as f32 they are others
    for k, (low, high, to_low, to_high) in enumerate(((-1e7, 1e7, -100.3, 0.3), (-3e5, 3e5, 0, 2e4), (-1e4, 2e4, -1e4, 2e4))):
        yield Case(f"RequantizeLarge{k}", lambda x, *r: as_plain(raw.Requantize(
            input=tf.bitcast(x, tf.qint32), input_min=r[0], input_max=r[1], requested_output_min=r[2], requested_output_max=r[3],
            out_type=tf.quint8), tf.uint8), [large, *map(np.float32, (low, high, to_low, to_high))], ulps=0)
    yield Case("RequantizeTurned", lambda x, a, b: as_plain(raw.Requantize(
        input=tf.bitcast(x, tf.qint32), input_min=a, input_max=b, requested_output_min=b, requested_output_max=a,
        out_type=tf.quint8), tf.uint8), [s32, np.float32(-1), np.float32(1)], fails=True)
    q = np.arange(256).astype(np.uint8)
    for low, high in ((-1, 1), (0, 6), (1, 2), (-3, -1), (-10, 10), (0, 0), (2, -2)):
        for op in ("QuantizedRelu", "QuantizedRelu6"):
            for dtype, integer, x in ((tf.quint8, tf.uint8, q), (tf.qint32, tf.int32, s32)):
                yield Case(f"{op}{dtype.name}{low}to{high}", lambda x, a, b, o=op, d=dtype, i=integer: as_plain(getattr(raw, o)(
                    features=tf.bitcast(x, d), min_features=a, max_features=b, out_type=d), i),
                    [x, np.float32(low), np.float32(high)], ulps=0)
    x = rng.integers(0, 256, (2, 5, 6, 3)).astype(np.uint8)
    given = [np.float32(-1), np.float32(2)]
    for op in ("QuantizedMaxPool", "QuantizedAvgPool"):
        for padding, size in (("VALID", 2), ("SAME", 3)):
            for dtype, integer in ((tf.quint8, np.uint8), (tf.qint8, np.int8)):
                yield Case(f"{op}{padding}{dtype.name}", lambda x, a, b, o=op, p=padding, k=size, d=dtype, i=integer: as_plain(getattr(raw, o)(
                    input=tf.bitcast(x, d), min_input=a, max_input=b, ksize=[1, k, k, 1], strides=[1, 2, 2, 1], padding=p), i),
                    [x.view(integer), *given], ulps=0)
    yield Case("QuantizedReshape", lambda x, a, b: as_plain(raw.QuantizedReshape(
        tensor=tf.bitcast(x, tf.quint8), shape=[-1, 9], input_min=a, input_max=b), tf.uint8), [x, *given], ulps=0)
    for k, (y, other) in enumerate(((x, (-2, 1)), (x, (-1, 2)), (x, (0.5, 3)))):
        yield Case(f"QuantizedConcat{k}", lambda x, y, a, b, c, d: as_plain(raw.QuantizedConcat(
            concat_dim=3, values=[tf.bitcast(x, tf.quint8), tf.bitcast(y, tf.quint8)], input_mins=[a, c], input_maxes=[b, d]),
            tf.uint8), [x, y, *given, *map(np.float32, other)], ulps=0)
    ranges = ((-1, 2, -1, 2), (-3.7, 1, 1.5777462, 17.1), (0, 255, 0.001, 0.5), (-100.3, 0.3, -1e-3, 1e-3), (0.5, 6, 2.8e3, 3e3))
    for k, bounds in enumerate(ranges):
        bounds = [np.float32(v) for v in bounds]
        for name, left, right in (("", x.shape, x.shape), ("Vector", x.shape, (3,)), ("VectorFirst", (3,), x.shape), ("Scalar", x.shape, ()),
                                  ("ScalarFirst", (), x.shape), ("OfOne", (1,), (1,))):
            yield Case(f"QuantizedAdd{name}{k}", lambda x, y, *r: as_plain(raw.QuantizedAdd(
                x=tf.bitcast(x, tf.quint8), y=tf.bitcast(y, tf.quint8), min_x=r[0], max_x=r[1], min_y=r[2], max_y=r[3],
                Toutput=tf.qint32), tf.int32), [rng.integers(0, 256, left).astype(np.uint8), rng.integers(0, 256, right).astype(np.uint8), *bounds],
                ulps=0)
        for dtype, integer in ((tf.quint8, np.uint8), (tf.qint8, np.int8)):
            yield Case(f"QuantizedBiasAdd{dtype.name}{k}", lambda x, y, *r, d=dtype: as_plain(raw.QuantizedBiasAdd(
                input=tf.bitcast(x, d), bias=tf.bitcast(y, d), min_input=r[0], max_input=r[1], min_bias=r[2], max_bias=r[3],
                out_type=tf.qint32), tf.int32), [x.view(integer), rng.integers(0, 256, 3).astype(np.uint8).view(integer), *bounds], ulps=0)
    for name, operand, bounds in (("OfNone", x[0, 0, :0], (-1, 1, -1, 1)), ("WithoutRange", x, (1, 1, -1, 1))):
        yield Case(f"QuantizedAdd{name}", lambda x, y, *r: as_plain(raw.QuantizedAdd(
            x=tf.bitcast(x, tf.quint8), y=tf.bitcast(y, tf.quint8), min_x=r[0], max_x=r[1], min_y=r[2], max_y=r[3],
            Toutput=tf.qint32), tf.int32), [operand, x[0, 0, 0], *map(np.float32, bounds)], fails=True)
    for k, shape in enumerate(((2, 5, 6, 3), (3,), ())):
        y = rng.integers(0, 256, shape).astype(np.uint8)
        yield Case(f"QuantizedMul{k}", lambda x, y, a, b: as_plain(raw.QuantizedMul(
            x=tf.bitcast(x, tf.quint8), y=tf.bitcast(y, tf.quint8), min_x=a, max_x=b, min_y=a, max_y=b, Toutput=tf.qint32), tf.int32),
            [x, y, *given], ulps=0)


CASES = [*quantized_type_cases(), *products_cases(), *signed_cases(), *layers_cases()]
