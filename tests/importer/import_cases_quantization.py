"""Cases of floats that are rounded to what a few bits can tell apart, and of their gradients."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from import_oracle import Case

raw = tf.raw_ops
RNG = np.random.default_rng(31)
X = RNG.normal(0, 3, (5, 7, 4)).astype(np.float32)
DY = RNG.normal(0, 1, X.shape).astype(np.float32)
# The middle between two steps, and numbers just beside it.
HALVES = (np.arange(-40, 40) / 8).astype(np.float32)
RANGES = ((-6, 6), (-1.3, 2.1), (0, 5), (-4, 0), (1, 3), (-3, -1), (-1e-3, 7))


def args(op, low, high, bits, narrow, *tensors):
    return getattr(raw, op)(
        **dict(zip(("gradients", "inputs") if "Gradient" in op else ("inputs",), tensors)),
        min=low, max=high, num_bits=bits, narrow_range=narrow)


def fake_quant_cases():
    for low, high in RANGES:
        for bits, narrow in ((8, False), (4, True), (2, False), (16, False)):
            name = f"{low}to{high}in{bits}{narrow}"
            if low <= 0 <= high:  # TensorFlow's op on attributes has no other contract
                yield Case(f"FakeQuantArgs{name}", lambda x, a=(low, high, bits, narrow): args(
                    "FakeQuantWithMinMaxArgs", *a, x), [X], ulps=0)
                yield Case(f"FakeQuantArgsGradient{name}", lambda g, x, a=(low, high, bits, narrow): args(
                    "FakeQuantWithMinMaxArgsGradient", *a, g, x), [DY, X], ulps=0)
            bounds = [np.float32(low), np.float32(high)]
            options = dict(num_bits=bits, narrow_range=narrow)
            yield Case(f"FakeQuantVars{name}", lambda x, low, high, o=options: raw.FakeQuantWithMinMaxVars(
                inputs=x, min=low, max=high, **o), [X, *bounds], ulps=0)
            yield Case(f"FakeQuantVarsGradient{name}", lambda g, x, low, high, o=options:
                       tuple(raw.FakeQuantWithMinMaxVarsGradient(gradients=g, inputs=x, min=low, max=high, **o)),
                       [DY, X, *bounds], rel=2e-6)
    for low, high, narrow in ((-4, 4, False), (-4, 0, True), (0, 5, True), (-1, 3, False)):
        yield Case(f"FakeQuantHalves{low}to{high}", lambda x, a=(low, high, 4, narrow): args(
            "FakeQuantWithMinMaxArgs", *a, x), [HALVES], ulps=0)
        yield Case(f"FakeQuantVarsHalves{low}to{high}", lambda x, low, high, n=narrow: raw.FakeQuantWithMinMaxVars(
            inputs=x, min=low, max=high, num_bits=4, narrow_range=n), [HALVES, np.float32(low), np.float32(high)], ulps=0)
    for name, x in (("None", X[:0]), ("One", X[0, 0, :1])):
        yield Case(f"FakeQuantOf{name}", lambda x: args("FakeQuantWithMinMaxArgs", -6.0, 6.0, 8, False, x), [x], ulps=0)
    zero = [np.float32(0), np.float32(0)]
    yield Case("FakeQuantUnset", lambda x, low, high: raw.FakeQuantWithMinMaxVars(inputs=x, min=low, max=high), [X, *zero])
    yield Case("FakeQuantGradientUnset", lambda g, x, low, high: tuple(raw.FakeQuantWithMinMaxVarsGradient(
        gradients=g, inputs=x, min=low, max=high)), [DY, X, *zero], rel=2e-6)


def channel_cases():
    low = np.array([-2, 0, -5, 0], np.float32)
    high = np.array([1, 3, 0, 0], np.float32)
    for name, x, g in (("", X, DY), ("Vector", X[0, 0], DY[0, 0]), ("Matrix", X[0], DY[0]), ("None", X[:0], DY[:0])):
        for narrow in (False, True):
            yield Case(f"FakeQuantChannels{name}{narrow}",
                       lambda x, low, high, n=narrow: raw.FakeQuantWithMinMaxVarsPerChannel(
                           inputs=x, min=low, max=high, narrow_range=n), [x, low, high], ulps=0)
            if x.ndim in (1, 2, 4):  # TensorFlow has no other kernels
                yield Case(f"FakeQuantChannelsGradient{name}{narrow}",
                           lambda g, x, low, high, n=narrow: tuple(raw.FakeQuantWithMinMaxVarsPerChannelGradient(
                               gradients=g, inputs=x, min=low, max=high, narrow_range=n)),
                           [g, x, low, high], rel=2e-6)


    # TensorFlow multiplies by the steps a unit here, and divides by a step where one range is for all channels.
    low, high = np.array([-4, -4, 0, -1], np.float32), np.array([4, 0, 5, 3], np.float32)
    halves = np.repeat(HALVES[:, None], 4, 1)
    for narrow in (False, True):
        yield Case(f"FakeQuantChannelsHalves{narrow}", lambda x, low, high, n=narrow: raw.FakeQuantWithMinMaxVarsPerChannel(
            inputs=x, min=low, max=high, num_bits=4, narrow_range=n), [halves, low, high], ulps=0)


def dequantize_cases():
    for dtype in (np.float32, np.float64):
        x = X.astype(dtype)
        for signed, narrow in ((True, False), (True, True), (False, False)):
            for mode in ("HALF_TO_EVEN", "HALF_UP"):
                for low, high in ((-6, 6), (-1.3, 2.1), (0, 5), (-4, 0), (2, 2)):
                    options = dict(signed_input=signed, narrow_range=narrow, round_mode=mode)
                    name = f"{np.dtype(dtype)}{signed}{narrow}{mode}{low}to{high}"
                    bounds = [np.array(low, dtype), np.array(high, dtype)]
                    yield Case(f"Quantize2{name}", lambda x, low, high, o=options: raw.QuantizeAndDequantizeV2(
                        input=x, input_min=low, input_max=high, range_given=True, **o), [x, *bounds], ulps=0)
                yield Case(f"Quantize2Measured{np.dtype(dtype)}{signed}{narrow}{mode}",
                           lambda x, o=options: raw.QuantizeAndDequantizeV2(
                               input=x, input_min=tf.zeros([], x.dtype), input_max=tf.zeros([], x.dtype), **o), [x],
                           ulps=0)
        for axis, size in ((0, 5), (1, 7), (2, 4)):
            low = np.linspace(-3, -1, size).astype(dtype)
            for op in (raw.QuantizeAndDequantizeV2, raw.QuantizeAndDequantizeV3, raw.QuantizeAndDequantizeV4):
                for given in (False, True):
                    yield Case(f"{op.__name__}Axis{axis}{given}{np.dtype(dtype)}",
                               lambda x, low, high, o=op, a=axis, g=given: o(
                                   input=x, input_min=low, input_max=high, axis=a, range_given=g, num_bits=5),
                               [x, low, -low + 1], ulps=0,
                               # TensorFlow's kernels of these have no room for a range a channel.
                               fails=given and op != raw.QuantizeAndDequantizeV3)
            yield Case(f"Quantize4GradAxis{axis}{np.dtype(dtype)}",
                       lambda g, x, low, high, a=axis: tuple(raw.QuantizeAndDequantizeV4Grad(
                           gradients=g, input=x, input_min=low, input_max=high, axis=a)), [DY.astype(dtype), x, low, -low])
    bounds = [np.float32(-2), np.float32(3)]
    yield Case("Quantize4Grad", lambda g, x, low, high: tuple(raw.QuantizeAndDequantizeV4Grad(
        gradients=g, input=x, input_min=low, input_max=high)), [DY, X, *bounds])
    for bits in (2, 4, 8, 16):
        yield Case(f"Quantize3Bits{bits}", lambda x, low, high, b=bits: raw.QuantizeAndDequantizeV3(
            input=x, input_min=low, input_max=high, num_bits=b), [X, *bounds], ulps=0)
    yield Case("QuantizeTurned", lambda x, low, high: raw.QuantizeAndDequantizeV2(
        input=x, input_min=high, input_max=low, range_given=True), [X, *bounds], fails=True)
    for name, x in (("None", X[:0]), ("One", X[0, 0, :1]), ("Zeros", np.zeros((3, 4), np.float32))):
        yield Case(f"QuantizeOf{name}", lambda x: raw.QuantizeAndDequantizeV2(input=x, input_min=0.0, input_max=0.0),
                   [x], ulps=0)


CASES = [*fake_quant_cases(), *channel_cases(), *dequantize_cases()]
