"""Cases of elementwise ops, their gradients, and reductions; import_oracle.py runs them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import tensorflow as tf
from import_oracle import Case
from tensorflow.python.framework import op_def_library, op_def_registry

raw = tf.raw_ops
RNG = np.random.default_rng(5)
NAN, INF = np.nan, np.inf
SPECIAL = np.array(
    [0.0, -0.0, 1, -1, NAN, INF, -INF, 1e-4, -1e-4, 0.5, -0.5, 1.5, 2.5, -2.5, 7, 30], np.float32
)
FLOATS = RNG.normal(0, 2, (3, 5)).astype(np.float32)
INTS = np.array([[7, -7, 1], [2**31 - 1, -(2**31) + 1, 0]], np.int32)
EMPTY = np.zeros((0, 4), np.float32)


def f32(*values):
    return np.array(values, np.float32)


def private(name, **arguments):
    """An op that has no place in tf.raw_ops."""
    definition = op_def_registry.get(name)
    inferred = {attr for x in definition.input_arg for attr in (x.type_attr, x.number_attr, x.type_list_attr)}
    for attr in definition.attr:
        if attr.HasField("default_value") and attr.name not in inferred:
            arguments.setdefault(attr.name, plain(attr.default_value))
    return op_def_library.apply_op(name, name="private", **arguments)


def plain(value):
    """An AttrValue as op_def_library takes it."""
    kind = value.WhichOneof("value")
    return (list(value.list.i) or list(value.list.s)) if kind == "list" else getattr(value, kind)


UNIT = np.linspace(-1, 1, 21, dtype=np.float32)
POSITIVE = np.abs(SPECIAL) + np.float32(1)

UNARY = {
    "Abs": [SPECIAL, INTS, EMPTY],
    "Acos": [UNIT],
    "Acosh": [POSITIVE],
    "Asin": [UNIT],
    "Asinh": [SPECIAL],
    "Atan": [SPECIAL],
    "Atanh": [UNIT * np.float32(0.9)],
    "Ceil": [SPECIAL, SPECIAL.astype(np.float16)],
    "Cos": [FLOATS],
    "Cosh": [FLOATS],
    "Erf": [SPECIAL, FLOATS.astype(np.float64)],
    "Erfc": [FLOATS],
    "Exp": [SPECIAL, EMPTY],
    "Expm1": [SPECIAL],
    "Floor": [SPECIAL],
    "Inv": [SPECIAL],
    "Invert": [INTS, INTS.astype(np.uint8)],
    "IsFinite": [SPECIAL],
    "IsInf": [SPECIAL],
    "IsNan": [SPECIAL],
    "Log": [np.abs(SPECIAL)],
    "Log1p": [np.abs(SPECIAL)],
    "LogicalNot": [np.array([True, False])],
    "Neg": [SPECIAL, INTS],
    "PopulationCount": [INTS, INTS.astype(np.uint8), INTS.astype(np.int64), INTS.astype(np.int16)],
    "Reciprocal": [SPECIAL],
    "Rint": [SPECIAL],
    "Round": [SPECIAL],
    "Rsqrt": [np.abs(SPECIAL), np.abs(FLOATS).astype(np.float64)],
    "Sigmoid": [SPECIAL, FLOATS.astype(ml_dtypes.bfloat16)],
    "Sign": [SPECIAL, INTS],
    "Sin": [FLOATS],
    "Sinh": [FLOATS],
    "Sqrt": [np.abs(SPECIAL)],
    "Square": [SPECIAL, INTS, np.float32(3)],
    "Tan": [FLOATS],
    "Tanh": [SPECIAL, FLOATS.astype(np.float16)],
}

# TensorFlow's errors are some units in the last place, and near a zero many.
SPECIAL_FUNCTIONS = {
    "BesselI0e": (np.linspace(-40, 40, 333), dict(ulps=8)),
    "BesselI1e": (np.linspace(-40, 40, 333), dict(ulps=16)),
    "Digamma": (np.linspace(-7.3, 50, 333), dict(rel=1e-6)),
    "Erfinv": (np.linspace(-1, 1, 201), dict(rel=1e-6)),
    "Lgamma": (np.linspace(-9.7, 90, 333), dict(ulps=8)),
    "Ndtri": (np.linspace(0, 1, 201), dict(rel=1e-6)),
}

PAIR = [FLOATS, RNG.normal(0, 2, (5,)).astype(np.float32)]
SPECIAL_PAIR = [np.repeat(SPECIAL, len(SPECIAL)), np.tile(SPECIAL, len(SPECIAL))]
INT_PAIR = [
    np.repeat(np.array([7, -7, 6, -6, 0], np.int32), 4),
    np.tile(np.array([3, -3, 1, 7], np.int32), 5),
]
STRETCHED = [RNG.normal(0, 1, (3, 1, 2)).astype(np.float32), RNG.normal(0, 1, (4, 1)).astype(np.float32)]
NOTHING = [EMPTY, np.ones((1, 4), np.float32)]
BOOLS = [np.array([True, True, False, False]), np.array([True, False, True, False])]
SMALL = np.array([0, 0, 1, 1, 2, -2, 3], np.float32)
ZEROED = [np.repeat(SMALL, 7), np.tile(SMALL, 7)]
SHIFTED = [np.array([1, -1, 5, -128, 127], np.int8), np.array([1, 1, 9, 7, -1], np.int8)]

BINARY = {
    "Add": [PAIR, INT_PAIR],
    "AddV2": [PAIR, SPECIAL_PAIR, STRETCHED, NOTHING],
    "Atan2": [PAIR],
    "BitwiseAnd": [INT_PAIR],
    "BitwiseOr": [INT_PAIR],
    "BitwiseXor": [INT_PAIR],
    "Div": [PAIR, INT_PAIR],
    "DivNoNan": [ZEROED],
    "Equal": [SPECIAL_PAIR, INT_PAIR, BOOLS],
    "FloorDiv": [PAIR, INT_PAIR, [INT_PAIR[0], np.int32(-3)]],
    "FloorMod": [PAIR, INT_PAIR, ZEROED],
    "Greater": [SPECIAL_PAIR],
    "GreaterEqual": [SPECIAL_PAIR],
    "LeftShift": [SHIFTED],
    "Less": [SPECIAL_PAIR, STRETCHED],
    "LessEqual": [SPECIAL_PAIR],
    "LogicalAnd": [BOOLS],
    "LogicalOr": [BOOLS],
    "Maximum": [SPECIAL_PAIR, INT_PAIR],
    "Minimum": [SPECIAL_PAIR, INT_PAIR],
    "Mod": [PAIR, INT_PAIR],
    "Mul": [PAIR, SPECIAL_PAIR],
    "MulNoNan": [ZEROED],
    "NextAfter": [PAIR, SPECIAL_PAIR, STRETCHED, NOTHING, [x.astype(np.float64) for x in SPECIAL_PAIR]],
    "NotEqual": [SPECIAL_PAIR],
    "Pow": [[np.abs(FLOATS), PAIR[1]]],
    "RealDiv": [PAIR, SPECIAL_PAIR],
    "RightShift": [SHIFTED, [SHIFTED[0].view(np.uint8), np.abs(SHIFTED[1]).view(np.uint8)]],
    "SquaredDifference": [PAIR],
    "Sub": [PAIR, INT_PAIR],
    "TruncateDiv": [INT_PAIR, PAIR, [x.astype(np.float64) for x in SPECIAL_PAIR]],
    "TruncateMod": [INT_PAIR],
    "Xdivy": [ZEROED],
    "Xlog1py": [[ZEROED[0], np.abs(ZEROED[1])]],
    "Xlogy": [[ZEROED[0], np.abs(ZEROED[1])]],
}

ACTIVATIONS = ["Elu", "Relu", "Relu6", "Selu", "Softplus", "Softsign"]
GRADIENTS = {  # the op: whether it takes (y, dy)
    "EluGrad": False,
    "ReluGrad": False,
    "Relu6Grad": False,
    "SeluGrad": False,
    "SoftplusGrad": False,
    "SoftsignGrad": False,
    "InvGrad": True,
    "ReciprocalGrad": True,
    "RsqrtGrad": True,
    "SigmoidGrad": True,
    "SqrtGrad": True,
    "TanhGrad": True,
}


def call(name, *inputs):
    """raw_ops by position."""
    parameters = {
        "SquaredDifference": ("x", "y"),
        "Atan2": ("y", "x"),
        "NextAfter": ("x1", "x2"),
        "Elu": ("features",),
        "Relu": ("features",),
        "Relu6": ("features",),
        "Selu": ("features",),
        "Softplus": ("features",),
        "Softsign": ("features",),
        "EluGrad": ("gradients", "outputs"),
        "SeluGrad": ("gradients", "outputs"),
        "ReluGrad": ("gradients", "features"),
        "Relu6Grad": ("gradients", "features"),
        "SoftplusGrad": ("gradients", "features"),
        "SoftsignGrad": ("gradients", "features"),
        "Invert": ("x",),
    }.get(name, ("y", "dy") if name.endswith("Grad") else ("x", "y"))
    return getattr(raw, name)(**dict(zip(parameters, inputs)))


def unary_cases():
    for name, inputs in UNARY.items():
        for i, x in enumerate(inputs):
            yield Case(f"{name}{i}", lambda x, name=name: call(name, x), [np.asarray(x)])


def special_function_cases():
    for name, (x, tolerance) in SPECIAL_FUNCTIONS.items():
        function = lambda x, name=name: getattr(raw, name)(x=x)
        yield Case(name, function, [x.astype(np.float32)], **tolerance)
        yield Case(f"{name}Special", function, [SPECIAL], **tolerance)
        yield Case(f"{name}None", function, [EMPTY])
        if name not in ("Erfinv", "Ndtri"):  # they have no other kernels
            yield Case(f"{name}Half", function, [x.astype(np.float16)], rel=2e-3)
        yield Case(f"{name}Double", function, [x], refused="f64")


def zeta_cases():
    x, q = (a.ravel().astype(np.float32) for a in np.meshgrid([1, 1.01, 1.5, 2, 3.5, 7, 40, 300], [1e-3, 0.3, 1, 2.5, 8, 50, 4e3]))
    special = [np.array([1, 0.5, -2, np.nan, np.inf, 2], np.float32), np.array([3, 3, 3, 3, 3, np.inf], np.float32)]
    n = np.minimum(np.floor(x), 20)  # factorials of larger numbers are no floats
    for name, function, first in (("Zeta", lambda x, q: raw.Zeta(x=x, q=q), x), ("Polygamma", lambda a, x: raw.Polygamma(a=a, x=x), n)):
        # TensorFlow's errors, of which test_special_functions.py has ours.
        yield Case(name, function, [first, q], rel=1e-5)
        yield Case(f"{name}Special", function, special, rel=1e-6)
        yield Case(f"{name}Broadcast", function, [np.float32(2), q.reshape(7, 8)], ulps=20)
        yield Case(f"{name}None", function, [x[:0], q[:0]])
        yield Case(f"{name}Double", function, [x.astype(np.float64), q.astype(np.float64)], refused="f64")


# TensorFlow computes them in single precision; test_special_functions.py has our errors.
def gamma_cases():
    a, x = (v.ravel().astype(np.float32) for v in np.meshgrid([0.01, 0.5, 1, 3, 20, 300], [1e-3, 0.3, 1, 2.5, 19, 310]))
    edges = [0, -0.0, -1, np.nan, np.inf, 2]
    first, second = (v.ravel().astype(np.float32) for v in np.meshgrid(edges, edges))
    functions = {
        "Igamma": lambda a, x: raw.Igamma(a=a, x=x),
        "Igammac": lambda a, x: raw.Igammac(a=a, x=x),
        "IgammaGradA": lambda a, x: raw.IgammaGradA(a=a, x=x),
        "RandomGammaGrad": lambda a, x: raw.RandomGammaGrad(alpha=a, sample=x),
    }
    for name, function in functions.items():
        # Far out, where TensorFlow's density is 0, so is its derivative of a sample.
        near = a * np.tile([0.2, 0.5, 0.8, 1, 1.1, 1.3], 6).astype(np.float32) if name == "RandomGammaGrad" else x
        yield Case(name, function, [a, near], rel=2e-4)
        yield Case(f"{name}Broadcast", function, [np.float32(2), np.minimum(x, 20).reshape(6, 6)], rel=2e-5)
        yield Case(f"{name}None", function, [a[:0], x[:0]])
        yield Case(f"{name}Double", function, [a.astype(np.float64), x.astype(np.float64)], refused="f64")
        inner = np.isfinite(first) & np.isfinite(second)
        if name in ("Igamma", "Igammac"):
            yield Case(f"{name}Edges", function, [first, second], rel=1e-5)
        elif name == "IgammaGradA":
            yield Case(f"{name}Edges", function, [first[inner], second[inner]], rel=1e-5)
    p, q = np.repeat(a, 3)[:99], np.tile(x, 3)[:99]
    y = np.linspace(0, 1, 99).astype(np.float32)
    beta = lambda a, b, x: raw.Betainc(a=a, b=b, x=x)
    yield Case("Betainc", beta, [p, q, y], rel=2e-4)
    yield Case("BetaincScalars", beta, [np.float32(2), np.float32(0.5), y], rel=1e-5)
    yield Case("BetaincEdges", beta, [first, second, np.full(36, 0.5, np.float32)], rel=1e-5)
    yield Case("BetaincEnds", beta, [np.full(6, 2, np.float32), np.full(6, 3, np.float32),
                                     np.array([0, 1, -0.1, 1.1, np.nan, 1e-30], np.float32)], rel=1e-5)
    yield Case("BetaincNone", beta, [p[:0], q[:0], y[:0]])


def binary_cases():
    for name, pairs in BINARY.items():
        for i, pair in enumerate(pairs):
            yield Case(f"{name}{i}", lambda x, y, name=name: call(name, x, y), [np.asarray(x) for x in pair])
    yield Case("SignOfZero", lambda x: raw.Inv(x=raw.Sign(x=x)), [SPECIAL])
    zero = np.array([1, 0, 2], np.int32)
    for name in ("FloorDiv", "FloorMod", "Div", "TruncateDiv"):
        yield Case(f"{name}ByZero", lambda x, y, name=name: call(name, x, y), [zero, zero], fails=True)
    yield Case("RoundOfIntegers", lambda x: raw.Round(x=x), [INTS], refused="integers")
    yield Case("PowOfIntegers", lambda x: raw.Pow(x=x, y=tf.constant(5)), [np.arange(-3, 4, dtype=np.int32)])
    yield Case(
        "ApproximateEqual",
        lambda x, y: raw.ApproximateEqual(x=x, y=y, tolerance=0.5),
        [FLOATS, FLOATS + np.float32(0.4)],
    )


def activation_cases():
    for name in ACTIVATIONS:
        yield Case(name, lambda x, name=name: call(name, x), [SPECIAL])
        yield Case(name + "Half", lambda x, name=name: call(name, x), [FLOATS.astype(np.float16)])
    for alpha in (0.2, 1.5):
        yield Case(f"LeakyRelu{alpha}", lambda x, a=alpha: raw.LeakyRelu(features=x, alpha=a), [SPECIAL])
        yield Case(
            f"LeakyReluGrad{alpha}",
            lambda x, a=alpha: raw.LeakyReluGrad(gradients=x, features=-x, alpha=a),
            [SPECIAL],
        )
    for name in GRADIENTS:
        yield Case(name, lambda x, y, name=name: call(name, x, y), [FLOATS, FLOATS[::-1].copy()])
    for name in ("ReluGrad", "Relu6Grad"):
        yield Case(name + "Special", lambda x, y, name=name: call(name, x, y), SPECIAL_PAIR)
    yield Case("Swish", lambda x: private("_MklSwish", features=x), [FLOATS], ulps=8)
    yield Case("Mish", lambda x: private("_MklFusedMish", features=x), [FLOATS], ulps=16)
    yield Case(
        "UnaryOpsComposition",
        lambda x: private("_UnaryOpsComposition", x=x, op_names=["Abs", "Sqrt", "Neg", "Exp", "Relu6"]),
        [FLOATS],
        ulps=8,
    )


def other_cases():
    condition = np.array([True, False, True])
    rows = FLOATS
    yield Case("AddN", lambda x, y: raw.AddN(inputs=[x, y, x]), [FLOATS, FLOATS[::-1].copy()])
    yield Case(
        "ClipByValue", lambda x: raw.ClipByValue(t=x, clip_value_min=-1.0, clip_value_max=2.0), [SPECIAL]
    )
    yield Case("Select", lambda c, x: raw.Select(condition=c, x=x, y=-x), [condition, rows])
    yield Case("SelectV2", lambda c, x: raw.SelectV2(condition=c, t=x, e=0.0), [condition[:, None], rows])
    safe = f32(0.0, -0.0, 1.7, -1.7, 2.5, 100.9, -100.9)
    for to in (tf.int32, tf.int64, tf.int8, tf.bool, tf.float16, tf.bfloat16, tf.float64):
        yield Case(f"CastTo{to.name}", lambda x, to=to: tf.cast(x, to), [safe])
    for x in (
        np.array([True, False]),
        np.array([3, -4], np.int64),
        np.array([200, 3], np.uint8),
        safe.astype(np.float64),
    ):
        yield Case(f"CastFrom{x.dtype}", lambda x: tf.cast(x, tf.float32), [x])
    for op in (raw.CheckNumerics, raw.CheckNumericsV2):
        name = op.__name__
        for dtype in (np.float32, np.float64, np.float16):
            yield Case(f"{name}{np.dtype(dtype)}", lambda x, op=op: op(tensor=x, message="here") + 1, [FLOATS.astype(dtype)])
        yield Case(f"{name}OfNothing", lambda x, op=op: op(tensor=x, message="here"), [EMPTY])
        for value in (NAN, INF, -INF):
            yield Case(f"{name}{value}", lambda x, op=op: op(tensor=x, message="here"), [f32(1, value, 2)], fails=True)
    yield Case("CheckNumericsUnread", lambda x: [x + 1, raw.CheckNumerics(tensor=x, message="here")][0], [f32(1, NAN)],
               fails=True)
    for x in (np.float32(0.5), np.float32(-0.0), np.float32(NAN), np.int64(7), np.int8(0), np.array(True), EMPTY, FLOATS):
        yield Case(f"ToBool{x.dtype}{x.shape}{x.min(initial=0)}", lambda x: raw.ToBool(input=x), [np.asarray(x)])
    yield Case("Bitcast", lambda x: tf.bitcast(x, tf.int32), [SPECIAL])
    yield Case("BitcastNarrower", lambda x: tf.bitcast(x, tf.int16), [SPECIAL], refused="differ in width")


def narrow_mean_cases():
    """TensorFlow adds integers up in 64 bits for a mean: 300 bright pixels wrapped round once."""
    for dtype, value in ((np.uint8, 200), (np.int8, -100), (np.int16, 30000), (np.int32, 2**30)):
        pixels = np.full((300, 2), value, dtype)
        yield Case(f"Mean{dtype.__name__}", lambda x: raw.Mean(input=x, axis=0, keep_dims=False), [pixels])


def reduction_cases():
    x = RNG.normal(0, 1, (3, 4, 5)).astype(np.float32)
    names = ("Sum", "Prod", "Max", "Min", "Mean", "EuclideanNorm")
    for name in names:
        for axes, keep in (([1], False), ([0, 2], True), ([-1], False), ([], False), ([0, 1, 2], False)):
            yield Case(
                f"{name}{axes}",
                lambda x, n=name, a=axes, k=keep: getattr(raw, n)(
                    input=x, axis=np.array(a, np.int32), keep_dims=k
                ),
                [x],
                rel=2e-6,
            )
        yield Case(
            f"{name}Empty", lambda x, n=name: getattr(raw, n)(input=x, axis=0, keep_dims=False), [EMPTY]
        )
        if name != "EuclideanNorm":
            yield Case(
                f"{name}Int",
                lambda x, n=name: getattr(raw, n)(input=x, axis=1, keep_dims=False),
                [np.array([[5, -3, -9], [1, 2, 4]], np.int32)],
            )
        yield Case(
            f"{name}Half",
            lambda x, n=name: getattr(raw, n)(input=x, axis=[1], keep_dims=False),
            [x.astype(np.float16)],
            rel=4e-3,
        )
    yield Case("MaxNan", lambda x: raw.Max(input=x, axis=0, keep_dims=False), [SPECIAL])
    flags = np.array([[True, False], [True, True]])
    for name in ("All", "Any"):
        yield Case(name, lambda x, n=name: getattr(raw, n)(input=x, axis=[1], keep_dims=True), [flags])
    ties = np.array([[1, 3, 3, 0], [NAN, 2, NAN, 5], [-INF, -INF, NAN, -INF]], np.float32)
    for name in ("ArgMax", "ArgMin"):
        for axis, values in ((1, ties), (0, FLOATS), (-1, np.array([4, 9, 9, 1], np.int64))):
            yield Case(
                f"{name}{axis}",
                lambda x, n=name, a=axis: getattr(raw, n)(
                    input=x, dimension=a, output_type=tf.int32 if a else tf.int64
                ),
                [values],
            )
    ties = np.round(x)
    for k in (0, 1, x.shape[-1]):
        yield Case(f"TopKV2_{k}", lambda x, k=k: tf.math.top_k(x, k), [ties])
    # Not sorted: in the order of TensorFlow's heap, by which samplers of text draw.
    rng = np.random.default_rng(4)
    for k, n in ((0, 9), (1, 9), (2, 9), (5, 9), (8, 9), (9, 9), (3, 4), (50, 1000), (7, 5000)):
        for dtype in (np.float32, np.float16, np.int32, np.uint8):
            lines = (rng.standard_normal([4, n]) * (40 if np.dtype(dtype).kind != "f" else 1)).astype(dtype)
            yield Case(f"TopKV2Heap{k}Of{n}{np.dtype(dtype)}", lambda x, k=k: raw.TopKV2(input=x, k=k, sorted=False), [lines])
    wild = rng.choice(np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, 2, 3], np.float32), [6, 40])
    yield Case("TopKV2HeapSpecial", lambda x: raw.TopKV2(input=x, k=6, sorted=False), [wild])
    yield Case("TopKV2Int64", lambda x: raw.TopKV2(input=x, k=2, index_type=tf.int64), [ties])
    for name in ("Cumsum", "Cumprod"):
        for exclusive in (False, True):
            for reverse in (False, True):
                yield Case(
                    f"{name}{exclusive}{reverse}",
                    lambda x, n=name, e=exclusive, r=reverse: getattr(raw, n)(
                        x=x, axis=1, exclusive=e, reverse=r
                    ),
                    [x],
                    rel=1e-6,
                )
    wide = RNG.normal(0, 100, (2, 37)).astype(np.float32)
    wide[1, 5:9] = -INF, 3, INF, 2
    for exclusive in (False, True):
        for reverse in (False, True):
            sums = lambda x, e=exclusive, r=reverse: raw.CumulativeLogsumexp(x=x, axis=1, exclusive=e, reverse=r)
            name = f"CumulativeLogsumexp{exclusive}{reverse}"
            yield Case(name, sums, [x], rel=1e-6)
            yield Case(f"{name}Wide", sums, [wide], rel=1e-6)
            yield Case(f"{name}64", sums, [x.astype(np.float64)], rel=1e-13)
            yield Case(f"{name}Half", sums, [x.astype(np.float16)], rel=4e-3)
            yield Case(f"{name}One", sums, [x[:, :1]])
            yield Case(f"{name}None", sums, [x[:0]])
    yield Case("L2Loss", lambda x: raw.L2Loss(t=x), [x], rel=1e-6)


CASES = [*unary_cases(), *special_function_cases(), *zeta_cases(), *gamma_cases(), *binary_cases(), *activation_cases(), *other_cases(), *narrow_mean_cases(),
         *reduction_cases()]
