"""Rows whose elements do not meet: arithmetic, comparisons, activations and their gradients, casts, quantization."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import tensorflow as tf

from tests.properties.draw import BFLOAT16, BOOL, C64, COMPLEX, FLOATS, INTS, SIGNED, UNSIGNED, WIDE, Case, Draw, raw, rows

# Differences, in the gradients of the last four; and a zero beside 1.
LOSING = ("Elu", "Selu", "Digamma", "Lgamma", "BesselI0e", "BesselI1e", "Sigmoid", "Tanh")
EXACT_OF_COMPLEX = "Neg Square".split()
SMOOTH_OF_COMPLEX = "Exp Log Sqrt Inv Reciprocal".split()
OF_INTEGERS = dict(Abs=SIGNED, Neg=SIGNED, Sign=SIGNED, Square=(*SIGNED[:2], *UNSIGNED[:1]), Relu=INTS, Relu6=INTS,
                   Invert=INTS, PopulationCount=INTS, OnesLike=INTS, ZerosLike=INTS)


def of_one(d: Draw, exact: bool, signs: bool = False, **options) -> Case:
    dtype = d.float() if d.op != "Rint" else d.of(*WIDE)
    if d.op in OF_INTEGERS and (d.chance(0.3) or d.op in ("Invert", "PopulationCount")):
        dtype = d.of(*OF_INTEGERS[d.op])
    elif d.op in (*EXACT_OF_COMPLEX, *SMOOTH_OF_COMPLEX) and d.chance(0.15):
        dtype, exact = C64, False
    rank = d.rank()
    return Case(lambda x: raw(d.op, x), lambda: [d.values(dtype, d.shape(rank), wild=exact or d.chance(0.5), **options)],
                exact=exact, signs=signs, absolute=8 * float(ml_dtypes.finfo(dtype).eps) if d.op in LOSING else 0)


@rows("Abs Ceil Floor Neg Rint Round Sqrt Square Invert PopulationCount Sign IsNan IsInf IsFinite OnesLike ZerosLike")
def exact(d: Draw) -> Case:
    return of_one(d, True, signs=d.op != "Sign")


@rows("Inv Reciprocal Relu Relu6")
def nearly_exact(d: Draw) -> Case:
    return of_one(d, d.op.startswith("Relu"))


@rows("""Acos Acosh Asin Asinh Atan Atanh Cos Cosh Erf Erfc Exp Expm1 Log Log1p Rsqrt Sigmoid Sin Sinh Tan Tanh Elu Selu
Softplus Softsign BesselI0e BesselI1e Digamma Lgamma""")
def smooth(d: Draw) -> Case:
    return of_one(d, False)


@rows("Erfinv Ndtri")
def of_unit(d: Draw) -> Case:
    dtype, rank = d.of(*WIDE), d.rank()
    low = -1 if d.op == "Erfinv" else 0
    # TensorFlow adds 1 first, and loses the digits of small numbers.
    return Case(lambda x: raw(d.op, x), lambda: [d.values(dtype, d.shape(rank), low=low, high=1)], exact=False,
                absolute=1e-7 if d.op == "Erfinv" else 0)


@rows("LogicalNot")
def negation(d: Draw) -> Case:
    rank = d.rank()
    return Case(lambda x: raw(d.op, x), lambda: [d.values(BOOL, d.shape(rank))])


def pair(d: Draw, first: np.dtype, second: np.dtype, **options) -> "callable":
    """Two operands, either of which may be stretched."""
    rank = d.rank()
    ranks = [rank, d.between(0, rank) if d.chance(0.3) else rank]
    d.rng.shuffle(ranks)
    similar = d.chance(0.4)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        shapes = [shape[rank - r:] if similar else d.stretched(shape, r) for r in ranks]
        return [d.values(t, s, **options) for t, s in zip((first, second), shapes)]

    return inputs


INTEGER_TOO = """Add AddV2 Sub Mul Maximum Minimum SquaredDifference FloorDiv FloorMod Mod Div RealDiv TruncateDiv TruncateMod
Greater GreaterEqual Less LessEqual Equal NotEqual ApproximateEqual""".split()
COMPLEX_TOO = "Add AddV2 Sub Mul Div RealDiv DivNoNan Equal NotEqual".split()


@rows("""Add AddV2 Sub Mul Maximum Minimum SquaredDifference Div RealDiv DivNoNan MulNoNan Greater GreaterEqual Less LessEqual
Equal NotEqual FloorDiv FloorMod Mod TruncateDiv TruncateMod NextAfter""")
def of_two(d: Draw) -> Case:
    dtype, exact_, wild = d.float(), True, True
    if d.op in ("NextAfter",):
        dtype = d.of(*WIDE)
    elif d.op in INTEGER_TOO and d.chance(0.35):
        dtype = d.of(*(INTS if d.op not in ("SquaredDifference", "TruncateMod") else SIGNED[:2]))
    elif d.op == "TruncateMod":
        dtype = d.of(*WIDE)
    elif d.op in COMPLEX_TOO and d.chance(0.1):
        dtype, exact_ = C64, "qual" in d.op
    if d.op in ("TruncateDiv", "RealDiv") and dtype in INTS and d.op == "RealDiv":
        dtype = d.float()
    steep = d.op in ("FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod") and dtype in FLOATS
    inputs = pair(d, dtype, dtype, wild=wild and not steep)
    if dtype in INTS and d.op in ("FloorDiv", "FloorMod", "Mod", "Div", "TruncateDiv", "TruncateMod") and d.chance(0.8):
        draws = inputs
        inputs = lambda: [(x := draws())[0], np.where(x[1] == 0, 1, x[1]).astype(dtype)]  # noqa: E731
    return Case(lambda x, y: raw(d.op, x, y), inputs, exact=exact_, signs=d.op in ("Add", "AddV2", "Sub", "Mul"))


@rows("Atan2 Pow Xdivy Xlog1py Xlogy")
def smooth_of_two(d: Draw) -> Case:
    dtype = d.float()
    if d.op == "Pow" and d.chance(0.2):
        dtype = d.of(*SIGNED[:2])
        inputs = pair(d, dtype, dtype, low=0, high=5)
        return Case(lambda x, y: raw(d.op, x, y), inputs)
    return Case(lambda x, y: raw(d.op, x, y), pair(d, dtype, dtype, wild=d.chance(0.3)), exact=False)


@rows("BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift")
def of_bits(d: Draw) -> Case:
    dtype = d.of(*INTS)
    return Case(lambda x, y: raw(d.op, x, y), pair(d, dtype, dtype, wild=True))


@rows("LogicalAnd LogicalOr")
def of_flags(d: Draw) -> Case:
    return Case(lambda x, y: raw(d.op, x, y), pair(d, BOOL, BOOL))


@rows("ApproximateEqual")
def nearly_equal(d: Draw) -> Case:
    dtype, rank, tolerance = d.number(), d.rank(), d.pick(1e-5, 0.5, 1.0)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        return [d.values(dtype, shape, wild=True), d.values(dtype, shape, wild=True)]

    return Case(lambda x, y: raw(d.op, x, y, tolerance=tolerance), inputs)


@rows("Igamma Igammac IgammaGradA RandomGammaGrad Zeta Polygamma")
def of_gamma(d: Draw) -> Case:
    dtype = d.of(*WIDE)
    inputs = pair(d, dtype, dtype, low=0.1, high=8)
    if d.op == "Zeta":
        inputs = pair(d, dtype, dtype, low=1.1, high=8)
    if d.op == "Polygamma":
        draws = inputs
        inputs = lambda: [np.floor((x := draws())[0]), x[1]]  # noqa: E731
    # TensorFlow computes in the type, and loses some hundred units.
    return Case(lambda x, y: raw(d.op, x, y), inputs, exact=False, slack=64, gradient=d.op in ("Igamma", "Igammac"))


@rows("Betainc")
def of_beta(d: Draw) -> Case:
    dtype, rank = d.of(*WIDE), d.rank()

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        return [d.values(dtype, shape, low=0.1, high=8), d.values(dtype, shape, low=0.1, high=8),
                d.values(dtype, shape, low=0, high=1)]

    return Case(lambda a, b, x: raw(d.op, a, b, x), inputs, exact=False, slack=64)


@rows("""EluGrad InvGrad ReciprocalGrad Relu6Grad ReluGrad RsqrtGrad SeluGrad SigmoidGrad SoftplusGrad SoftsignGrad SqrtGrad
TanhGrad""")
def slopes(d: Draw) -> Case:
    dtype, rank, exact_ = d.float(), d.rank(), d.op in ("ReluGrad", "Relu6Grad")

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        return [d.values(dtype, shape, wild=exact_), d.values(dtype, shape, wild=exact_)]

    return Case(lambda x, y: raw(d.op, x, y), inputs, exact=exact_)


@rows("LeakyRelu")
def leaky(d: Draw) -> Case:
    dtype, rank, alpha = d.float(), d.rank(), d.pick(0.2, 0.0, 1.0, 1.5, -0.3)
    return Case(lambda x: raw(d.op, x, alpha=alpha), lambda: [d.values(dtype, d.shape(rank), wild=True)],
                exact=dtype in WIDE)


@rows("LeakyReluGrad")
def leaky_slope(d: Draw) -> Case:
    dtype, rank, alpha = d.float(), d.rank(), d.pick(0.2, 0.0, 1.0, 1.5, -0.3)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        return [d.values(dtype, shape), d.values(dtype, shape)]

    return Case(lambda g, x: raw(d.op, g, x, alpha=alpha), inputs, exact=dtype in WIDE)


@rows("_MklFusedMish _MklSwish")
def of_mkl(d: Draw) -> Case:
    dtype, rank = FLOATS[0], d.rank(1)
    return Case(lambda x: raw(d.op, x), lambda: [d.values(dtype, d.shape(rank), tame=True)], exact=False, graph=True,
                gradient=False, absolute=1e-6)  # oneDNN's mish


@rows("_UnaryOpsComposition")
def composition(d: Draw) -> Case:
    dtype, rank = d.of(*WIDE), d.rank(1)
    names = [d.pick("Abs", "Sqrt", "Neg", "Exp", "Relu6", "Tanh", "Square", "Sigmoid", "Sin") for _ in range(d.between(2, 4))]
    return Case(lambda x: raw(d.op, x, op_names=names), lambda: [d.values(dtype, d.shape(rank), tame=True)], exact=False,
                graph=True, gradient=False)


@rows("AddN")
def sum_of_many(d: Draw) -> Case:
    dtype, rank, count = d.pick(d.number(), C64), d.rank(), d.between(1, 5)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        return [d.values(dtype, shape) for _ in range(count)]

    return Case(lambda *xs: raw(d.op, list(xs)), inputs, exact=dtype in INTS or count < 3)


@rows("ClipByValue")
def clip(d: Draw) -> Case:
    dtype, rank = d.number(), d.rank()
    limits = [d.pick([], None), d.pick([], None)]

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        ends = [d.values(dtype, shape if e is None else e) for e in limits]
        return [d.values(dtype, shape, wild=True), np.minimum(*ends), np.maximum(*ends)] if limits[0] == limits[1] \
            else [d.values(dtype, shape, wild=True), *ends]

    return Case(lambda x, a, b: raw(d.op, x, a, b), inputs)


@rows("Select SelectV2")
def select(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank()
    ranks = [d.pick(rank, d.between(0, rank)) for _ in range(3)] if d.op == "SelectV2" else \
        [rank, d.pick(rank, min(rank, 1)), rank]
    ranks[0] = d.pick(ranks[0], rank)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        if d.op == "Select":
            flags = shape if ranks[1] == rank else shape[:1] if rank else []
            return [d.values(BOOL, flags), d.values(dtype, shape), d.values(dtype, shape)]
        shapes = [d.stretched(shape, r) for r in ranks]
        return [d.values(BOOL, shapes[0]), d.values(dtype, shapes[1]), d.values(dtype, shapes[2])]

    names = ("x", "y") if d.op == "Select" else ("t", "e")
    return Case(lambda c, x, y: getattr(tf.raw_ops, d.op)(condition=c, **dict(zip(names, (x, y)))), inputs, signs=dtype in FLOATS)


@rows("Cast")
def cast(d: Draw) -> Case:
    source, to, rank = d.any(), d.any(), d.rank()
    if d.chance(0.5):
        source, to = d.pick(*FLOATS, *INTS), d.pick(*FLOATS, *INTS, BOOL)
    # What has no room in a narrow type depends on TensorFlow's vectors (docs/numbers.md).
    narrow = to in INTS and (to.itemsize < 4 or to == np.uint32 or to == np.uint64) and source in FLOATS
    limits = dict(low=0, high=100) if narrow else dict(wild=True)
    return Case(lambda x: raw(d.op, x, DstT=tf.as_dtype(to)), lambda: [d.values(source, d.shape(rank), **limits)],
                gradient=source in FLOATS and to in FLOATS)


@rows("Bitcast")
def bitcast(d: Draw) -> Case:
    same = d.pick([FLOATS[0], SIGNED[0], UNSIGNED[2]], [FLOATS[1], SIGNED[1], UNSIGNED[3]], [FLOATS[2], BFLOAT16, SIGNED[3], UNSIGNED[1]],
                  [SIGNED[2], UNSIGNED[0]])
    source, to, rank = d.pick(*same), d.pick(*same), d.rank()
    return Case(lambda x: raw(d.op, x, type=tf.as_dtype(to)), lambda: [d.values(source, d.shape(rank), low=1, high=9)],
                gradient=False)


@rows("CheckNumerics CheckNumericsV2")
def check(d: Draw) -> Case:
    dtype, rank = d.float(), d.rank()
    return Case(lambda x: raw(d.op, x, message="here"), lambda: [d.values(dtype, d.shape(rank))])


@rows("ToBool")
def to_bool(d: Draw) -> Case:
    dtype, rank = d.pick(*FLOATS[:2], *SIGNED, BOOL), d.rank()
    return Case(lambda x: raw(d.op, x), lambda: [d.values(dtype, d.shape(rank, 1) if d.chance(0.7) else [0] * rank)],
                gradient=False)


@rows("Angle Complex ComplexAbs Conj Imag Real")
def parts(d: Draw) -> Case:
    dtype = d.of(*COMPLEX)
    part = tf.float32 if dtype == C64 else tf.float64
    if d.op == "Complex":
        return Case(lambda x, y: raw(d.op, x, y, Tout=tf.as_dtype(dtype)), pair(d, part.as_numpy_dtype, part.as_numpy_dtype))
    rank = d.rank()
    options = {} if d.op == "Conj" else dict(Tout=part)
    # TensorFlow asks for the conjugate of real numbers, too: gradients of products do.
    if d.op == "Conj" and d.chance(0.3):
        dtype = d.float()
        return Case(lambda x: tf.math.conj(tf.cast(tf.math.real(raw(d.op, tf.cast(x, tf.complex64))), x.dtype)),
                    lambda: [d.values(dtype, d.shape(rank))], gradient=False)
    return Case(lambda x: raw(d.op, x, **options), lambda: [d.values(dtype, d.shape(rank))], exact=d.op in ("Conj", "Imag", "Real"))


@rows("FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel")
def fake_quantization(d: Draw) -> Case:
    rank, bits, narrow = d.rank(1), d.between(2, 16), d.chance(0.4)
    options = dict(num_bits=bits, narrow_range=narrow)
    if d.op == "FakeQuantWithMinMaxArgs":
        low, high = limits_of_quantization(d, [])
        return Case(lambda x: raw(d.op, x, min=float(low), max=float(high), **options), lambda: [d.values(FLOATS[0], d.shape(rank))],
                    exact=True, gradient=True)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        return [d.values(FLOATS[0], shape), *limits_of_quantization(d, shape[-1:] if "Channel" in d.op else [])]

    return Case(lambda x, a, b: raw(d.op, x, a, b, **options), inputs, gradient="Channel" not in d.op or rank in (1, 2, 4))


def limits_of_quantization(d: Draw, shape: list[int]) -> list[np.ndarray]:
    if d.chance(0.4):
        return [d.values(FLOATS[0], shape, low=-9, high=0).round(), d.values(FLOATS[0], shape, low=1, high=9).round()]
    return [d.values(FLOATS[0], shape, low=-9, high=d.pick(0, 2)), d.values(FLOATS[0], shape, low=2.5, high=9)]


@rows("FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannelGradient")
def slope_of_fake_quantization(d: Draw) -> Case:
    rank, options = d.between(1, 4) if "Channel" in d.op else d.rank(1), dict(num_bits=d.between(2, 16), narrow_range=d.chance(0.4))
    rank = min(rank, 4)
    rank = {3: 2}.get(rank, rank) if "Channel" in d.op else rank
    if "Args" in d.op:
        low, high = limits_of_quantization(d, [])

        def of_pair() -> list[np.ndarray]:
            shape = d.shape(rank)
            return [d.values(FLOATS[0], shape), d.values(FLOATS[0], shape)]

        return Case(lambda g, x: raw(d.op, g, x, min=float(low), max=float(high), **options), of_pair, gradient=False)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        return [d.values(FLOATS[0], shape, tame=True), d.values(FLOATS[0], shape),
                *limits_of_quantization(d, shape[-1:] if "Channel" in d.op else [])]

    return Case(lambda g, x, a, b: raw(d.op, g, x, a, b, **options), inputs, exact=False, gradient=False)


@rows("QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeAndDequantizeV4 QuantizeAndDequantizeV4Grad")
def quantization(d: Draw) -> Case:
    dtype, rank = d.of(*WIDE), d.rank(1, 4)
    axis = d.between(0, rank - 1) if d.chance(0.4) else -1
    options = dict(axis=axis)
    bits = d.between(2, 16)
    if not d.op.endswith("Grad"):  # TensorFlow takes a range a channel in one of them
        options |= dict(signed_input=d.chance(0.7), range_given=d.chance(0.6) and (axis < 0 or d.op.endswith("V3")),
                        narrow_range=d.chance(0.3))
    if d.op.endswith(("2", "4")):
        options |= dict(num_bits=bits, round_mode=d.pick("HALF_TO_EVEN", "HALF_UP"))

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        ends = limits_of_quantization(d, [] if axis < 0 else [shape[axis]])
        x = [d.values(dtype, shape, tame=True), *(e.astype(dtype) for e in ends)]
        return [d.values(dtype, shape), *x] if d.op.endswith("Grad") else x

    if d.op.endswith("V3"):
        return Case(lambda x, a, b: raw(d.op, x, a, b, num_bits=bits, **options), inputs, gradient=False)
    return Case(lambda *xs: raw(d.op, *xs, **options), inputs, exact=not d.op.endswith("Grad"), gradient=d.op.endswith("V4"))


@rows("AdjustContrastv2 AdjustHue AdjustSaturation")
def adjust(d: Draw) -> Case:
    rank, amount = d.rank(3, 5), np.float32(d.pick(0.0, 0.1, -0.4, 0.9, 1.5))

    def inputs() -> list[np.ndarray]:
        return [d.values(FLOATS[0], [*d.shape(rank)[:-1], 3 if d.op != "AdjustContrastv2" else d.size(1, 9)], low=0, high=1)]

    contrast = d.op == "AdjustContrastv2"  # of a mean
    return Case(lambda x: raw(d.op, x, amount), inputs, exact=not contrast, gradient=False, slack=4 if contrast else 1)


@rows("HSVToRGB RGBToHSV")
def colors(d: Draw) -> Case:
    dtype, rank = d.of(*WIDE), d.rank(1)
    return Case(lambda x: raw(d.op, x), lambda: [d.values(dtype, [*d.shape(rank)[:-1], 3], low=0, high=1)], exact=False)
