"""Cases of special values that the importer's tests have no inputs for: all pairs, casts, extreme integers."""

from __future__ import annotations

from typing import Any, Iterator

import ml_dtypes
import numpy as np
import tensorflow as tf
from import_cases_elementwise import call
from special_values import INF, NAN, special

raw = tf.raw_ops
FLOATS = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
SIGNED = (np.int8, np.int16, np.int32, np.int64)
UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)
Cases = Iterator[tuple[str, Any, dict[str, list[np.ndarray]]]]

UNARY = """Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Erfc Exp Expm1 Floor Inv IsFinite IsInf IsNan Log
Log1p Neg Reciprocal Rint Round Rsqrt Sigmoid Sign Sin Sinh Sqrt Square Tan Tanh Elu Relu Relu6 Selu Softplus
Softsign""".split()
BINARY = """AddV2 Atan2 Div DivNoNan Equal FloorDiv FloorMod Greater GreaterEqual Less LessEqual Maximum Minimum Mod
Mul MulNoNan NotEqual Pow RealDiv SquaredDifference Sub Xdivy Xlog1py Xlogy EluGrad ReluGrad Relu6Grad SeluGrad
SoftplusGrad SoftsignGrad InvGrad RsqrtGrad SigmoidGrad SqrtGrad TanhGrad""".split()
HALF_TOO = """Abs Ceil Exp Floor Log Neg Round Sqrt Tanh Sigmoid Relu Sign AddV2 Mul Maximum Minimum RealDiv Less
FloorMod Pow""".split()


def all_pairs(values: np.ndarray) -> list[np.ndarray]:
    return [np.repeat(values, len(values)), np.tile(values, len(values))]


def integers(dtype: Any) -> np.ndarray:
    info = np.iinfo(dtype)
    near = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 100]
    near += [-v for v in near] if info.min < 0 else []
    return np.unique(np.array([info.min, info.min + 1, info.max, info.max - 1, *near], object)).astype(dtype)


def elementwise() -> Cases:
    for dtype in FLOATS:
        values = special(dtype)
        name = np.dtype(dtype).name
        for op in UNARY:
            if np.dtype(dtype).itemsize > 2 or op in HALF_TOO:
                # Twice, and a vector's tail: every value stands at several places of a vector.
                long = np.concatenate([values, values[1:], values[:5]])
                yield f"{op}.{name}", lambda x, op=op: call(op, x), {"all": [long]}
        for op in BINARY:
            if np.dtype(dtype).itemsize > 2 or op in HALF_TOO:
                yield f"{op}.{name}", lambda x, y, op=op: call(op, x, y), {"pairs": all_pairs(values)}
        yield f"ClipByValue.{name}", lambda x: tf.clip_by_value(x, -1, 2), {"all": [values]}
        yield f"ClipByNan.{name}", lambda x, y: raw.ClipByValue(t=x, clip_value_min=y, clip_value_max=2 * y), {
            "one": [values, values[9]], "nan": [values, values[0]], "turned": [values, values[10]]}
        yield f"LeakyRelu.{name}", lambda x: raw.LeakyRelu(features=x, alpha=0.2), {"all": [values]}


def casts() -> Cases:
    for source in FLOATS:
        for to in (*SIGNED, *UNSIGNED, np.bool_, *FLOATS):
            values = special(source)
            yield (f"Cast.{np.dtype(source).name}.{np.dtype(to).name}",
                   lambda x, to=to: tf.cast(x, tf.as_dtype(to)), {"all": [np.resize(values, 3 * len(values) + 2)]})
    for source in (*SIGNED, *UNSIGNED):
        for to in (*SIGNED, *UNSIGNED, np.bool_, np.float32, np.float16):
            yield (f"Cast.{np.dtype(source).name}.{np.dtype(to).name}",
                   lambda x, to=to: tf.cast(x, tf.as_dtype(to)), {"all": [integers(source)]})


def integer_arithmetic() -> Cases:
    for dtype in (*SIGNED, *UNSIGNED):
        name = np.dtype(dtype).name
        x, y = all_pairs(integers(dtype))
        by = np.where(y == 0, 1, y).astype(dtype)
        for op in ("AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "Less", "BitwiseXor"):
            if hasattr(raw, op):
                yield f"{op}.{name}", lambda x, y, op=op: call(op, x, y), {"pairs": [x, y]}
        for op in ("Div", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod"):
            yield f"{op}.{name}", lambda x, y, op=op: call(op, x, y), {
                "pairs": [x, by], "by_zero": [x, y], "by_one_zero": [x, np.where(np.arange(len(y)) == 3, 0, by).astype(dtype)]}
        for op in ("LeftShift", "RightShift"):
            yield f"{op}.{name}", lambda x, y, op=op: call(op, x, y), {"pairs": [x, y]}
        exponents = (y.astype(object) % 5).astype(dtype)
        yield f"Pow.{name}", lambda x, y: raw.Pow(x=x, y=y), {"pairs": [x, exponents]}
        if dtype in (np.int32, np.int64):  # kernels of some other types never end
            negative = (y.astype(object) % 5 - 2).astype(dtype)
            yield f"PowNegative.{name}", lambda x, y: raw.Pow(x=x, y=y), {"pairs": [x, negative]}
        values = integers(dtype)
        for op in ("Abs", "Neg", "Sign", "Square", "Invert"):
            if dtype in SIGNED or op in ("Square", "Invert"):
                yield f"{op}.{name}", lambda x, op=op: call(op, x), {"all": [values]}
        for op in ("Sum", "Prod", "Max", "Min", "Mean"):
            yield f"{op}.{name}", lambda x, op=op: getattr(raw, op)(input=x, axis=0), {"all": [values]}


def rows(dtype: Any = np.float32) -> dict[str, list[np.ndarray]]:
    """Rows of 37 numbers with what a row may have in it."""
    plain = np.linspace(-3, 4, 37).astype(dtype)

    def row(**at: float) -> np.ndarray:
        r = plain.copy()
        for place, value in at.items():
            r[int(place[1:])] = value
        return r

    made = [plain, row(_5=NAN), row(_0=NAN), row(_36=NAN), row(_5=INF), row(_5=-INF), row(_5=INF, _6=-INF),
            row(_3=INF, _9=INF), row(_3=-INF, _9=NAN), np.full_like(plain, NAN), np.full_like(plain, -INF),
            np.full_like(plain, INF), np.zeros_like(plain), -np.zeros_like(plain), np.resize(special(dtype), 37),
            np.resize(plain[:1] * 1e38, 37).astype(dtype), row(_0=3e38, _1=-3e38), row(_20=4, _36=4, _7=NAN)]
    return {f"row{i}": [r[None, :]] for i, r in enumerate(made)} | {"all": [np.stack(made)]}


def along_rows() -> Cases:
    inputs = rows()
    both = {k: [*v, v[0][:, ::-1].copy()] for k, v in inputs.items()}
    functions = {
        "Softmax": lambda x: tf.nn.softmax(x), "LogSoftmax": lambda x: tf.nn.log_softmax(x),
        "SoftmaxWritten": lambda x: tf.exp(x - tf.reduce_max(x, 1, True)) / tf.reduce_sum(
            tf.exp(x - tf.reduce_max(x, 1, True)), 1, True),
        "LogSumExp": lambda x: tf.reduce_logsumexp(x, 1), "Sum": lambda x: tf.reduce_sum(x, 1),
        "Prod": lambda x: tf.reduce_prod(x, 1), "Max": lambda x: tf.reduce_max(x, 1),
        "Min": lambda x: tf.reduce_min(x, 1), "Mean": lambda x: tf.reduce_mean(x, 1),
        "Norm": lambda x: tf.norm(x, axis=1), "EuclideanNorm": lambda x: raw.EuclideanNorm(input=x, axis=1),
        "ColumnMax": lambda x: tf.reduce_max(x, 0), "ColumnSum": lambda x: tf.reduce_sum(x, 0),
        "Variance": lambda x: tf.math.reduce_variance(x, 1), "Std": lambda x: tf.math.reduce_std(x, 1),
        "ArgMax": lambda x: tf.argmax(x, 1), "ArgMin": lambda x: tf.argmin(x, 1),
        "ColumnArgMax": lambda x: tf.argmax(x, 0),
        "TopK": lambda x: tf.math.top_k(x, 5), "TopKAll": lambda x: tf.math.top_k(x, 37),
        "Sort": lambda x: tf.sort(x, axis=1), "ArgSort": lambda x: tf.argsort(x, axis=1, stable=True),
        "Cumsum": lambda x: tf.cumsum(x, 1), "Cumprod": lambda x: tf.math.cumprod(x, 1),
        "All": lambda x: tf.reduce_all(x > 0, 1), "Any": lambda x: tf.reduce_any(x > 0, 1),
        "L2Loss": lambda x: tf.nn.l2_loss(x), "L2Normalize": lambda x: tf.nn.l2_normalize(x, 1),
        "SparseCrossEntropy": lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.zeros(tf.shape(x)[:1], tf.int32), logits=x),
        "ReluSum": lambda x: tf.reduce_sum(tf.nn.relu(x), 1),
        "Unique": lambda x: tf.unique(tf.reshape(x, [-1])).y,
        "UniqueWithCounts": lambda x: tf.unique_with_counts(tf.reshape(x, [-1])),
        "Where": lambda x: tf.where(x),
        "InTopK": lambda x: tf.cast(tf.reduce_max(x, 1), tf.int32),
        "MaxPool": lambda x: tf.nn.max_pool1d(x[:, :, None], 3, 2, "SAME"),
        "AvgPool": lambda x: tf.nn.avg_pool1d(x[:, :, None], 3, 2, "SAME"),
        "ReluMaxPool": lambda x: tf.nn.max_pool1d(tf.nn.relu(x[:, :, None]), 3, 2, "SAME"),
        "SegmentMax": lambda x: tf.math.unsorted_segment_max(
            tf.transpose(x), tf.constant(np.arange(37) % 5 - 1), 6),
        "SegmentSum": lambda x: tf.math.unsorted_segment_sum(
            tf.transpose(x), tf.constant(np.arange(37) % 5 - 1), 6),
        "MatMul": lambda x: tf.matmul(x, tf.constant(np.eye(37, dtype=np.float32))),
        "Dense": lambda x: tf.nn.relu(tf.nn.bias_add(tf.matmul(x, np.full((37, 8), 0.25, np.float32)), np.ones(8, np.float32))),
        "DenseRelu6": lambda x: tf.nn.relu6(tf.nn.bias_add(tf.matmul(x, np.full((37, 8), 0.25, np.float32)), np.ones(8, np.float32))),
        "DenseTanh": lambda x: tf.tanh(tf.nn.bias_add(tf.matmul(x, np.full((37, 8), 0.25, np.float32)), np.ones(8, np.float32))),
        "BatchNormTraining": lambda x: raw.FusedBatchNormV3(
            x=x[:, :, None, None], scale=[1.0], offset=[0.0], mean=[], variance=[], is_training=True)[:3],
    }
    for name, function in functions.items():
        yield f"rows.{name}", function, inputs
    yield "rows.CrossEntropy", lambda x, y: raw.SoftmaxCrossEntropyWithLogits(features=x, labels=y), both
    yield "rows.MatVec", lambda x, y: tf.matmul(x, y, transpose_b=True), both
    yield "rows.MaxPoolGrad", lambda x: tf.gradients(
        tf.nn.max_pool1d(x[:, :, None], 3, 2, "SAME"), x)[0], inputs
    image = {k: [np.resize(v[0], (1, 9, 9, 4))] for k, v in inputs.items()}
    kernel = np.linspace(-1, 1, 3 * 3 * 4 * 8).reshape(3, 3, 4, 8).astype(np.float32)
    bias = np.linspace(-1, 1, 8).astype(np.float32)
    convolution = lambda x: tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "SAME"), bias)  # noqa: E731
    yield "image.Conv", convolution, image
    yield "image.ConvRelu", lambda x: tf.nn.relu(convolution(x)), image
    yield "image.ConvRelu6", lambda x: tf.nn.relu6(convolution(x)), image
    yield "image.ConvReluMaxPool", lambda x: tf.nn.max_pool2d(tf.nn.relu(convolution(x)), 2, 2, "VALID"), image
    yield "image.ConvReluAvgPool", lambda x: tf.nn.avg_pool2d(tf.nn.relu(convolution(x)), 2, 2, "VALID"), image
    yield "image.MaxPool", lambda x: tf.nn.max_pool2d(x, 2, 2, "SAME"), image
    yield "image.AvgPool", lambda x: tf.nn.avg_pool2d(x, 2, 2, "SAME"), image
    yield "image.Depthwise", lambda x: tf.nn.depthwise_conv2d(x, kernel[..., :1], [1, 1, 1, 1], "SAME"), image


def empty() -> Cases:
    nothing = {"empty": [np.zeros((3, 0), np.float32)]}
    for op in ("Sum", "Prod", "Max", "Min", "Mean", "EuclideanNorm"):
        yield f"empty.{op}", lambda x, op=op: getattr(raw, op)(input=x, axis=1), nothing
        yield f"empty.{op}All", lambda x, op=op: getattr(raw, op)(input=x, axis=[0, 1]), nothing
        yield f"empty.{op}Columns", lambda x, op=op: getattr(raw, op)(input=tf.transpose(x), axis=0), nothing
    for op in ("Sum", "Prod", "Max", "Min", "Mean"):
        yield f"empty.{op}Int", lambda x, op=op: getattr(raw, op)(input=tf.cast(x, tf.int32), axis=1), nothing
    yield "empty.Any", lambda x: tf.reduce_any(x > 0, 1), nothing
    yield "empty.All", lambda x: tf.reduce_all(x > 0, 1), nothing
    yield "empty.ArgMax", lambda x: tf.argmax(x, 1), nothing
    yield "empty.Softmax", lambda x: tf.nn.softmax(x), nothing
    yield "empty.LogSumExp", lambda x: tf.reduce_logsumexp(x, 1), nothing
    yield "empty.MatMul", lambda x: tf.matmul(x, tf.zeros([0, 4])), nothing
    yield "empty.Cumsum", lambda x: tf.cumsum(x, 1), nothing
    yield "empty.Variance", lambda x: tf.math.reduce_variance(x, 1), nothing


def denormals() -> Cases:
    values = np.array([1e-40, -1e-40, 1e-45, -1e-45, 1.1754942e-38, 1.17549435e-38, 0, -0.0, 1e-39], np.float32)
    long = np.resize(values, 41)
    for op in UNARY:
        yield f"denormal.{op}", lambda x, op=op: call(op, x), {"all": [long]}
    for op in BINARY:
        yield f"denormal.{op}", lambda x, y, op=op: call(op, x, y), {"pairs": all_pairs(np.append(values, [1, 1e-30, 1e30]).astype(np.float32))}


def cases() -> Cases:
    yield from elementwise()
    yield from casts()
    yield from integer_arithmetic()
    yield from along_rows()
    yield from empty()
    yield from denormals()
