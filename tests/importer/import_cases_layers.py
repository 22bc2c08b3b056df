"""Cases of products, normalization, pooling and losses; import_oracle.py runs them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import tensorflow as tf
from import_cases_convolution import IMAGE, REL, normal, statistics
from import_cases_elementwise import private
from import_oracle import Case

raw = tf.raw_ops


def product_cases():
    a, b = normal(5, 7), normal(7, 3)
    for ta in (False, True):
        for tb in (False, True):
            yield Case(
                f"MatMul{ta}{tb}",
                lambda x, y, ta=ta, tb=tb: tf.matmul(x, y, ta, tb),
                [a.T.copy() if ta else a, b.T.copy() if tb else b],
                rel=REL,
            )
            yield Case(
                f"SparseMatMul{ta}{tb}",
                lambda x, y, ta=ta, tb=tb: raw.SparseMatMul(a=x, b=y, transpose_a=ta, transpose_b=tb),
                [a.T.astype(ml_dtypes.bfloat16) if ta else a, b.T.copy() if tb else b],
                rel=REL,
            )
    yield Case("SparseMatMulNone", lambda x, y: raw.SparseMatMul(a=x, b=y), [a[:0], b])
    yield Case("MatMulNone", lambda x, y: tf.matmul(x, y), [a[:, :0], b[:0]])
    yield Case(
        "MatMulInt",
        lambda x, y: tf.matmul(x, y),
        [np.arange(6, dtype=np.int32).reshape(2, 3)] * 1 + [np.arange(6, dtype=np.int32).reshape(3, 2)],
    )
    bias, full = normal(3), normal(5, 3)
    for last in ("Relu", "Relu6", "Elu", "LeakyRelu", "GeluExact", "GeluApproximate", "Tanh", "Sigmoid"):
        yield Case(
            f"_FusedMatMul{last}",
            lambda x, y, c, last=last: private(
                "_FusedMatMul", a=x, b=y, args=[c], fused_ops=["BiasAdd", last], leakyrelu_alpha=0.3
            ),
            [a, b, bias],
            rel=REL,
        )
    yield Case(
        "_FusedMatMulTransposed",
        lambda x, y, c: private("_FusedMatMul", a=x, b=y, args=[c], fused_ops=["BiasAdd"], transpose_b=True),
        [a, b.T.copy(), bias],
        rel=REL,
    )
    yield Case(
        "_FusedMatMulAdd",
        lambda x, y, c, d: private("_FusedMatMul", a=x, b=y, args=[c, d], fused_ops=["BiasAdd", "Add"]),
        [a, b, bias, full],
        rel=REL,
    )
    p, q = normal(2, 1, 4, 5), normal(3, 5, 6)
    yield Case(
        "BatchMatMul",
        lambda x, y: raw.BatchMatMul(x=x, y=y, adj_y=True),
        [normal(2, 4, 5), normal(2, 6, 5)],
        rel=REL,
    )
    yield Case("BatchMatMulV2", lambda x, y: raw.BatchMatMulV2(x=x, y=y), [p, q], rel=REL)
    yield Case(
        "BatchMatMulV2Adjoint",
        lambda x, y: raw.BatchMatMulV2(x=x, y=y, adj_x=True, adj_y=True),
        [normal(2, 5, 4), normal(2, 6, 5)],
        rel=REL,
    )
    yield Case(
        "BatchMatMulV2Matrix",
        lambda x, y: raw.BatchMatMulV2(x=x, y=y),
        [normal(2, 3, 4, 5), normal(5, 6)],
        rel=REL,
    )
    yield Case("BatchMatMulV3", lambda x, y: raw.BatchMatMulV3(x=x, y=y, Tout=tf.float32), [p, q], rel=REL)
    yield Case(
        "_MklFusedBatchMatMulV2",
        lambda x, y, s, m: private(
            "_MklFusedBatchMatMulV2", x=x, y=y, args=[s, m], fused_ops=["Mul", "Add"], adj_y=True
        ),
        [normal(2, 3, 4, 5), normal(2, 3, 6, 5), np.float32(0.25), normal(2, 1, 1, 6)],
        rel=REL,
    )


def einsum_cases():
    shapes = {"i": 3, "j": 4, "k": 5, "b": 2, "h": 3, "d": 4, "q": 5, "c": 6}

    def operand(term):
        return normal(*[shapes[c] for c in term])

    for equation in (
        "ij,jk->ik",
        "bij,bjk->bik",
        "bqhd,bkhd->bhqk",
        "bhqk,bkhd->bqhd",
        "ij,kj->ki",
        "ij,ij->",
        "i,j->ij",
        "bij,jk->bik",
        "bqd,dhc->bqhc",
        "ijk,j->ik",
        "bi,bi->b",
        "hd,bqd->bqh",
    ):
        terms = equation.split("->")[0].split(",")
        yield Case(
            f"Einsum {equation}",
            lambda x, y, e=equation: tf.einsum(e, x, y),
            [operand(t) for t in terms],
            rel=REL,
        )
    for equation in ("ijk->kij", "ijk->ik", "ijk->"):
        yield Case(
            f"Einsum {equation}",
            lambda x, e=equation: raw.Einsum(inputs=[x], equation=e),
            [operand("ijk")],
            rel=REL,
        )
    yield Case(
        "Einsum ...",
        lambda x, y: raw.Einsum(inputs=[x, y], equation="...ij,...jk->...ik"),
        [normal(2, 1, 3, 4), normal(6, 4, 5)],
        rel=REL,
    )
    yield Case(
        "Einsum ...matrix",
        lambda x, y: raw.Einsum(inputs=[x, y], equation="...j,jk->...k"),
        [normal(2, 3, 4), normal(4, 5)],
        rel=REL,
    )
    yield Case(
        "Einsum repeated", lambda x: raw.Einsum(inputs=[x], equation="ii->i"), [normal(3, 3)], refused="twice"
    )


def norm_training(name, op, image, stats):
    """Training of batch norm, with both ways to average: of the image, scale, offset, mean and variance."""
    for factor in (1.0, 0.3):
        yield Case(
            f"{op}Training{name}{factor}",
            lambda x, *v, f=factor: getattr(raw, op)(
                x=x,
                scale=v[0],
                offset=v[1],
                mean=v[2],
                variance=v[3],
                epsilon=1e-3,
                exponential_avg_factor=f,
            )[:3],
            [image, *stats],
            rel=1e-5,
        )


def norm_gradient(name, op, dy, image, scale, saved):
    """Its gradient, in training and in inference: of the saved mean and variance."""
    third = dict(reserve_space_3=tf.zeros([])) if op.endswith("V3") else {}
    for training in (True, False):
        yield Case(
            f"{op}{name}{training}",
            lambda g, x, *v, t=training: getattr(raw, op)(
                y_backprop=g,
                x=x,
                scale=v[0],
                reserve_space_1=v[1],
                reserve_space_2=v[2],
                epsilon=1e-3,
                is_training=t,
                **third,
            )[:3],
            [dy, image, scale, *saved],
            rel=1e-5,
        )


def normalization_cases():
    stats = statistics(4)
    for op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
        yield Case(
            op,
            lambda x, *v, op=op: getattr(raw, op)(
                x=x, scale=v[0], offset=v[1], mean=v[2], variance=v[3], epsilon=1e-3, is_training=False
            )[:3],
            [IMAGE, *stats],
            rel=REL,
        )
        yield from norm_training("", op, IMAGE, stats)
        grad = op.replace("Norm", "NormGrad")
        yield from norm_gradient("", grad, normal(*IMAGE.shape), IMAGE, stats[0], stats[2:])
    # No elements per feature, where statistics were finite and gradients NaN; and one, whose variance has no correction.
    nan = np.full(4, np.nan, np.float32)
    for name, image, saved in (
        ("None", IMAGE[:0], [nan, nan]),
        ("NoRow", IMAGE[:, :0], [nan, nan]),
        ("One", IMAGE[:1, :1, :1], stats[2:]),
    ):
        yield from norm_training(name, "FusedBatchNormV3", image, stats)
        yield from norm_gradient(name, "FusedBatchNormGradV3", np.cos(image), image, stats[0], saved)
    yield Case(
        "GradientOfBatchNorm",
        lambda x, s, o: tf.gradients(
            raw.FusedBatchNormV3(x=x, scale=s, offset=o, mean=[], variance=[], epsilon=1e-3)[0] ** 2,
            [x, s, o],
        ),
        [IMAGE, stats[0], stats[1]],
        rel=1e-3,
    )
    yield Case(
        "_FusedBatchNormEx",
        lambda x, *v: private(
            "_FusedBatchNormEx",
            x=x,
            scale=v[0],
            offset=v[1],
            mean=v[2],
            variance=v[3],
            side_input=[],
            epsilon=1e-3,
            activation_mode="Relu",
            is_training=False,
        )[0],
        [IMAGE, *stats],
        rel=REL,
    )
    yield Case("BiasAdd", lambda x, b: tf.nn.bias_add(x, b), [IMAGE, stats[0]])
    yield Case("BiasAddV1", lambda x, b: raw.BiasAddV1(value=x, bias=b), [IMAGE, stats[0]])
    yield Case("BiasAddFirst", lambda x, b: tf.nn.bias_add(x, b, "NCHW"), [IMAGE, normal(9)])
    for form in ("NHWC", "NCHW"):
        yield Case(
            f"BiasAddGrad{form}",
            lambda g, f=form: raw.BiasAddGrad(out_backprop=g, data_format=f),
            [IMAGE],
            rel=REL,
        )


def pooling_cases():
    for name, size, stride, padding in (
        ("Valid", 2, 2, "VALID"),
        ("Same", 3, 2, "SAME"),
        ("Overlapping", 3, 1, "SAME"),
        ("Sparse", 1, 2, "VALID"),
    ):
        window = dict(ksize=[1, size, size, 1], strides=[1, stride, stride, 1], padding=padding)
        y = raw.MaxPool(input=IMAGE, **window)
        dy = normal(*y.shape)
        ties = np.round(IMAGE)
        yield Case(f"MaxPool{name}", lambda x, w=window: raw.MaxPool(input=x, **w), [IMAGE])
        yield Case(
            f"MaxPoolGrad{name}",
            lambda x, y, g, w=window: raw.MaxPoolGrad(orig_input=x, orig_output=y, grad=g, **w),
            [ties, np.asarray(raw.MaxPool(input=ties, **window)), dy],
            rel=REL,
        )
        yield Case(f"AvgPool{name}", lambda x, w=window: raw.AvgPool(value=x, **w), [IMAGE], rel=REL)
        yield Case(
            f"AvgPoolGrad{name}",
            lambda g, w=window: raw.AvgPoolGrad(orig_input_shape=list(IMAGE.shape), grad=g, **w),
            [dy],
            rel=REL,
        )
        for dtype, rel in ((np.float64, REL), (np.float16, 4e-3)):
            x = tf.constant(ties, dtype)
            yield Case(
                f"MaxPoolGrad{name}{dtype.__name__}",
                lambda x, y, g, w=window: raw.MaxPoolGrad(orig_input=x, orig_output=y, grad=g, **w),
                [x.numpy(), raw.MaxPool(input=x, **window).numpy(), dy.astype(dtype)],
                rel=rel,
            )
        window = dict(
            ksize=[1, size, size, size, 1], strides=[1, stride, stride, stride, 1], padding=padding
        )
        # Without ties: outside of a graph TensorFlow's kernel passes all of it to every greatest element.
        volume = normal(2, 6, 5, 7, 3)
        y = np.asarray(raw.MaxPool3D(input=volume, **window))
        dy = normal(*y.shape)
        yield Case(
            f"MaxPool3DGrad{name}",
            lambda x, y, g, w=window: raw.MaxPool3DGrad(orig_input=x, orig_output=y, grad=g, **w),
            [volume, y, dy],
            rel=REL,
        )
        yield Case(
            f"AvgPool3DGrad{name}",
            lambda g, w=window: raw.AvgPool3DGrad(orig_input_shape=[2, 6, 5, 7, 3], grad=g, **w),
            [dy],
            rel=REL,
        )
    yield Case(
        "MaxPoolExplicit",
        lambda x: raw.MaxPool(
            input=x,
            ksize=[1, 2, 2, 1],
            strides=[1, 1, 1, 1],
            padding="EXPLICIT",
            explicit_paddings=[0, 0, 1, 0, 0, 1, 0, 0],
        ),
        [IMAGE],
    )


def loss_cases():
    logits = normal(5, 7) * 4
    labels = np.abs(normal(5, 7))
    for op in ("Softmax", "LogSoftmax"):
        yield Case(op, lambda x, op=op: getattr(raw, op)(logits=x), [logits], rel=REL)
        yield Case(f"{op}Deep", lambda x, op=op: getattr(raw, op)(logits=x), [normal(2, 3, 4)], rel=REL)
        yield Case(
            f"{op}Half", lambda x, op=op: getattr(raw, op)(logits=x), [logits.astype(np.float16)], rel=4e-3
        )
        yield Case(f"{op}Large", lambda x, op=op: getattr(raw, op)(logits=x), [logits * 100], rel=REL)
    cross = lambda x, y: raw.SoftmaxCrossEntropyWithLogits(features=x, labels=y)
    yield Case("CrossEntropy", cross, [logits, labels], rel=REL)
    yield Case("CrossEntropyStretched", cross, [logits, labels[:1]], rel=REL)
    sparse = lambda x, y: raw.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=y)
    yield Case("SparseCrossEntropy", sparse, [logits, np.array([0, 6, 3, 3, 1], np.int32)], rel=REL)
    yield Case("SparseCrossEntropyOutside", sparse, [logits, np.array([0, 7, 3, 3, 1], np.int32)], fails=True)


CASES = [
    *product_cases(),
    *einsum_cases(),
    *normalization_cases(),
    *pooling_cases(),
    *loss_cases(),
]
