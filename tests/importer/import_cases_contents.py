"""Cases of values that are known from shapes, and of operands that do not fit; import_oracle.py runs them.

The first are traced without sizes and imported with them, so that ranges of sizes are known (clustering/importer/contents).
They guard against folding that pairs elements by number: an outer sum of two ranges lost an axis. The second guard against
builder calls that broadcast where TensorFlow's kernel raises an error."""

from __future__ import annotations

import itertools

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from import_oracle import Case

raw = tf.raw_ops
X = np.zeros((3, 5), np.int32)  # there for its sizes, which stay numbers: it is no float
BINARY = {"Add": raw.AddV2, "Sub": raw.Sub, "Mul": raw.Mul, "Maximum": raw.Maximum, "Minimum": raw.Minimum,
          "Less": raw.Less, "LessEqual": raw.LessEqual, "Greater": raw.Greater, "GreaterEqual": raw.GreaterEqual,
          "Equal": lambda x, y: raw.Equal(x=x, y=y), "NotEqual": lambda x, y: raw.NotEqual(x=x, y=y)}
DIVISIONS = {"FloorDiv": raw.FloorDiv, "FloorMod": raw.FloorMod, "TruncateDiv": raw.TruncateDiv}


def row(x):
    return tf.range(tf.shape(x)[1])


def column(x):
    return tf.range(tf.shape(x)[0])[:, None]


OPERANDS = {  # pairs of known operands that broadcast
    "Outer": lambda x: (row(x)[None], column(x)),
    "Square": lambda x: (row(x)[None], row(x)[:, None]),  # as many elements on either side
    "VectorColumn": lambda x: (row(x), column(x)),
    "OneOfHigherRank": lambda x: (row(x), tf.reshape(tf.shape(x)[0], [1, 1])),
    "Ones": lambda x: (tf.reshape(tf.shape(x)[0], [1]), tf.reshape(tf.shape(x)[1], [1, 1, 1])),
    "Scalar": lambda x: (tf.shape(x)[0], row(x)[None]),
    "Empty": lambda x: (row(x)[:0][:, None], row(x)),
}


def folded():
    for (name, op), (which, pair) in itertools.product(BINARY.items(), OPERANDS.items()):
        yield Case(f"Known{name}{which}", lambda x, op=op, pair=pair: op(**dict(zip("xy", pair(x)))), [X], dynamic=True)
    for name, op in DIVISIONS.items():
        yield Case(f"Known{name}", lambda x, op=op: op(x=row(x)[None], y=column(x) + 1), [X], dynamic=True)
    for name, op in (("And", raw.LogicalAnd), ("Or", raw.LogicalOr)):
        yield Case(f"KnownLogical{name}", lambda x, op=op: op(x=(row(x) > 1)[None], y=column(x) > 0), [X], dynamic=True)
    for which, pair in OPERANDS.items():
        yield Case(f"KnownSelectV2{which}", lambda x, pair=pair: tf.where(pair(x)[0] > 1, *pair(x)[::-1]), [X], dynamic=True)
    both = lambda x: (row(x) + column(x), row(x) * column(x))  # noqa: E731
    for which, condition in (("Scalar", lambda x: tf.shape(x)[0] > 2), ("Rows", lambda x: column(x)[:, 0] > 1),
                             ("Same", lambda x: both(x)[0] > 3)):
        yield Case(f"KnownSelect{which}",
                   lambda x, c=condition: raw.Select(condition=c(x), x=both(x)[0], y=both(x)[1]), [X], dynamic=True)
    yield Case("KnownDynamicStitchRows",  # data of one more dimension than the places
               lambda x: raw.DynamicStitch(indices=[column(x)[:, 0]], data=[column(x)]), [X], dynamic=True)
    yield Case("KnownPackAxis", lambda x: tf.stack([row(x), row(x) * 2], 1), [X], dynamic=True)
    yield Case("KnownConcatRows", lambda x: tf.concat([row(x)[None], row(x)[None]], 0), [X], dynamic=True)
    yield Case("KnownMask", lambda x: tf.cast(row(x)[:, None] >= row(x)[None], tf.float32), [X], dynamic=True)
    yield Case("KnownCastWraps", lambda x: tf.cast(tf.shape(x, tf.int64) * 2**31, tf.int32), [X], dynamic=True)
    yield Case("KnownProductWraps", lambda x: tf.reduce_prod(tf.shape(x) * 30000), [X], dynamic=True)
    yield Case("KnownSumWraps", lambda x: tf.reduce_sum(tf.shape(x) * 400000000), [X], dynamic=True)
    yield Case("BroadcastArgsKnown", lambda x: tf.broadcast_dynamic_shape(tf.shape(x), [2, 1, 5]) + 0, [X], dynamic=True)


def ones(*shape):
    return np.ones(shape, np.float32)


def lowered_branches(condition, x):
    branches = [tf.function(f).get_concrete_function(tf.TensorSpec([None])) for f in (lambda x: x + 1, lambda x: x * 2)]
    result, = raw.If(cond=condition > 0, input=[x], Tout=[x.dtype], then_branch=branches[0], else_branch=branches[1])
    result.op._set_attr("_lower_using_switch_merge", attr_value_pb2.AttrValue(b=True))
    return result


def misfits():
    five, one = ones(5), ones(1)
    for name in ("SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "InvGrad", "ReciprocalGrad"):
        yield f"{name}Sizes", lambda y, dy, op=getattr(raw, name): op(y=y, dy=dy), [five, one]
    for name, other in (("ReluGrad", "features"), ("Relu6Grad", "features"), ("LeakyReluGrad", "features"), ("EluGrad", "outputs"),
                        ("SeluGrad", "outputs"), ("SoftplusGrad", "features"), ("SoftsignGrad", "features")):
        yield (f"{name}Sizes", lambda g, x, op=getattr(raw, name), other=other: op(gradients=g, **{other: x}), [five, one])
    yield "AddNSizes", lambda x, y: raw.AddN(inputs=[x, y]), [five, one]
    yield "ApproximateEqualSizes", lambda x, y: raw.ApproximateEqual(x=x, y=y), [five, one]
    yield "ClipByValueSizes", lambda x, y: raw.ClipByValue(t=x, clip_value_min=y, clip_value_max=y), [five, one]
    yield "SelectSizes", lambda c, x, y: raw.Select(condition=c > 0, x=x, y=y), [five, five, one]
    yield "SelectCondition", lambda c, x: raw.Select(condition=c > 0, x=x, y=x), [one, five]
    yield "SelectRow", lambda c, x: raw.Select(condition=c > 0, x=x, y=x), [one, ones(5, 2)]
    yield "BiasAddSizes", lambda x, y: raw.BiasAdd(value=x, bias=y), [ones(2, 5), one]
    yield "BatchMatMulSizes", lambda x, y: raw.BatchMatMul(x=x, y=y), [ones(3, 2, 2), ones(1, 2, 2)]
    yield ("SparseCrossEntropySizes",
           lambda x, y: raw.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=tf.cast(y, tf.int32)), [ones(4, 3), one])
    yield ("FusedBatchNormSizes", lambda x, y: raw.FusedBatchNormV3(x=x, scale=y, offset=y, mean=y, variance=y, is_training=False)[0],
           [ones(2, 2, 2, 5), one])
    yield ("FusedBatchNormScale", lambda x, y: raw.FusedBatchNormV3(x=x, scale=y, offset=x[0, 0, 0], mean=y[:0], variance=y[:0])[0],
           [ones(2, 2, 2, 5), one])
    yield "OneHotValues", lambda x, y: raw.OneHot(indices=tf.cast(x, tf.int32), depth=3, on_value=y, off_value=y), [five, one]
    # The scatter took rows of other sizes, the pooling's gradient a result of another pooling, and a condition with
    # dimensions was whether it has elements, as where TensorFlow does not lower branches and loops to switches.
    yield ("TensorScatterRows", lambda x, y: raw.TensorScatterMin(tensor=x, indices=[[0, 0], [1, 2]], updates=y),
           [ones(4, 3, 5), ones(2, 1)])
    yield ("TensorScatterPoints", lambda x, y: raw.TensorScatterAdd(tensor=x, indices=[[0], [1]], updates=y),
           [ones(4, 3), ones(1, 3)])
    yield ("MaxPoolGradGradResult", lambda x, y: raw.MaxPoolGradGrad(
        orig_input=x, orig_output=y, grad=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"), [ones(1, 4, 4, 2), ones(1, 2, 1, 2)])
    yield ("MaxPoolGradResult", lambda x, y: raw.MaxPoolGrad(
        orig_input=x, orig_output=y, grad=y, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"), [ones(1, 4, 4, 2), ones(1, 1, 2, 2)])
    yield "ConditionSizes", lowered_branches, [one, five]
    yield ("QuantizeAndDequantizeV4GradSizes",
           lambda g, x: raw.QuantizeAndDequantizeV4Grad(gradients=g, input=x, input_min=0.0, input_max=1.0)[0], [five, one])


CASES = [*folded(), *(Case(name, function, inputs, fails=True, dynamic=True) for name, function, inputs in misfits())]
