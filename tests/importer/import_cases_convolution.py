"""Cases of convolutions, plain and fused; import_oracle.py runs them."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from import_cases_elementwise import private
from import_oracle import Case

raw = tf.raw_ops
RNG = np.random.default_rng(7)
REL = 2e-6


def normal(*shape):
    return RNG.normal(0, 1, shape).astype(np.float32)


IMAGE = normal(2, 9, 8, 4)


def statistics(n=5):
    return [
        np.abs(normal(n)) + 0.5,
        normal(n),
        normal(n),
        np.abs(normal(n)) + 0.5,
    ]  # scale offset mean variance


CONVOLUTIONS = [  # name, filter, strides, padding, dilations
    ("Plain", (3, 3, 4, 5), (1, 1), "VALID", (1, 1)),
    ("Same", (3, 2, 4, 5), (1, 1), "SAME", (1, 1)),
    ("Strided", (3, 3, 4, 5), (2, 3), "SAME", (1, 1)),
    ("Pointwise", (1, 1, 4, 5), (1, 1), "SAME", (1, 1)),
    ("Dilated", (3, 2, 4, 5), (1, 1), "SAME", (2, 3)),
    ("Skipping", (1, 1, 4, 5), (2, 2), "VALID", (1, 1)),
    ("Wide", (5, 5, 4, 2), (3, 2), "VALID", (1, 1)),
    ("Halves", (4, 2, 4, 5), (2, 2), "SAME", (1, 1)),
    ("Thirds", (3, 3, 4, 5), (3, 3), "VALID", (1, 1)),
]


def four(pair):
    return [1, *pair, 1]


def convolution_cases():
    for name, shape, strides, padding, dilations in CONVOLUTIONS:
        k, s, d = normal(*shape), four(strides), four(dilations)
        yield Case(
            f"Conv2D{name}",
            lambda x, k, s=s, p=padding, d=d: raw.Conv2D(
                input=x, filter=k, strides=s, padding=p, dilations=d
            ),
            [IMAGE, k],
            rel=REL,
        )
        dy = np.asarray(raw.Conv2D(input=IMAGE, filter=k, strides=s, padding=padding, dilations=d))
        dy = normal(*dy.shape)
        yield Case(
            f"Conv2DBackpropInput{name}",
            lambda k, g, s=s, p=padding, d=d: raw.Conv2DBackpropInput(
                input_sizes=list(IMAGE.shape), filter=k, out_backprop=g, strides=s, padding=p, dilations=d
            ),
            [k, dy],
            rel=REL,
        )
        yield Case(
            f"Conv2DBackpropFilter{name}",
            lambda x, g, s=s, p=padding, d=d, f=shape: raw.Conv2DBackpropFilter(
                input=x, filter_sizes=list(f), out_backprop=g, strides=s, padding=p, dilations=d
            ),
            [IMAGE, dy],
            rel=REL,
        )
        if dilations == (1, 1) and strides[0] == strides[1]:
            yield from depthwise_cases(name, (*shape[:2], 4, 2), s, padding)
    yield from filter_gradient_cases()
    for size in (2, 3):
        # A value that is no number reaches the pixels whose taps read it, and no other pixel.
        special = normal(2, 4, 5, 3)
        special[0, 1, 2, 0], special[1, 3, 4, 1], special[1, 0, 0, 2] = np.inf, np.nan, -np.inf
        yield Case(
            f"Conv2DBackpropInputSpecial{size}",
            lambda k, g: raw.Conv2DBackpropInput(
                input_sizes=[2, 8, 10, 4], filter=k, out_backprop=g, strides=[1, 2, 2, 1], padding="SAME"
            ),
            [normal(size, size, 4, 3), special],
            rel=REL,
        )
    yield Case(
        "Conv2DGroups",
        lambda x, k: raw.Conv2D(input=x, filter=k, strides=[1, 1, 1, 1], padding="SAME"),
        [IMAGE, normal(3, 3, 2, 6)],
        rel=REL,
    )
    yield Case(
        "Conv2DExplicit",
        lambda x, k: raw.Conv2D(
            input=x,
            filter=k,
            strides=[1, 2, 1, 1],
            padding="EXPLICIT",
            explicit_paddings=[0, 0, 1, 2, 0, 3, 0, 0],
        ),
        [IMAGE, normal(3, 3, 4, 6)],
        rel=REL,
    )
    yield from volume_cases()
    yield Case(
        "Conv2DBadStrides",
        lambda x, k: raw.Conv2D(input=x, filter=k, strides=[2, 1, 1, 1], padding="SAME"),
        [IMAGE, normal(3, 3, 4, 6)],
        refused="batch",
    )


def filter_gradient_cases():
    """Every kind of padding, with an image of which strides leave something, a smaller one and none."""
    for name, filter_shape, options in (
        ("Valid", (3, 3, 4, 5), dict(strides=[1, 2, 2, 1], padding="VALID")),
        ("Same", (3, 2, 4, 5), dict(strides=[1, 3, 2, 1], padding="SAME")),
        ("Dilated", (2, 3, 4, 5), dict(strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 3, 1])),
        ("Explicit", (3, 3, 4, 5), dict(strides=[1, 2, 1, 1], padding="EXPLICIT",
                                        explicit_paddings=[0, 0, 2, 1, 0, 3, 0, 0])),
        ("OneTap", (1, 1, 4, 5), dict(strides=[1, 2, 2, 1], padding="SAME")),
    ):
        for image in (IMAGE, IMAGE[:1, :7, :5], IMAGE[:0]):
            some = np.zeros((1, *image.shape[1:]), np.float32)
            result = raw.Conv2D(input=some, filter=np.zeros(filter_shape, np.float32), **options)
            dy = normal(image.shape[0], *result.shape[1:])
            yield Case(
                f"Conv2DBackpropFilterAny{name}{image.shape[0]}",
                lambda x, g, f=filter_shape, o=options: raw.Conv2DBackpropFilter(
                    input=x, filter_sizes=list(f), out_backprop=g, **o
                ),
                [image, dy],
                rel=REL,
            )
    for image in (IMAGE, IMAGE[:1], IMAGE[:0]):  # groups are for channels of known number
        yield Case(
            f"Conv2DBackpropFilterGrouped{image.shape[0]}",
            lambda x, g: raw.Conv2DBackpropFilter(
                input=tf.reshape(x, [-1, 9, 8, 4]), filter_sizes=[3, 3, 2, 6], out_backprop=g,
                strides=[1, 1, 1, 1], padding="SAME",
            ),
            [image, normal(image.shape[0], 9, 8, 6)],
            rel=REL,
        )


def volume_cases():
    volume = normal(2, 6, 7, 5, 4)
    for name, shape, strides, padding, dilations in (
        ("Valid", (2, 3, 2, 4, 5), (1, 1, 1), "VALID", (1, 1, 1)),
        ("Same", (3, 3, 3, 4, 5), (1, 1, 1), "SAME", (1, 1, 1)),
        ("Strided", (3, 2, 3, 4, 5), (2, 2, 2), "SAME", (1, 1, 1)),
    ):
        yield Case(
            f"Conv3D{name}",
            lambda x, k, s=strides, p=padding, d=dilations: raw.Conv3D(
                input=x, filter=k, strides=[1, *s, 1], padding=p, dilations=[1, *d, 1]
            ),
            [volume, normal(*shape)],
            rel=REL,
        )
        forward = raw.Conv3D(
            input=volume, filter=np.zeros(shape, np.float32), strides=[1, *strides, 1], padding=padding
        )
        yield Case(
            f"Conv3DBackpropInputV2{name}",
            lambda k, g, s=strides, p=padding: raw.Conv3DBackpropInputV2(
                input_sizes=list(volume.shape), filter=k, out_backprop=g, strides=[1, *s, 1], padding=p
            ),
            [normal(*shape), normal(*forward.shape)],
            rel=REL,
        )
    for padding in ("VALID", "SAME"):
        window = dict(ksize=[1, 2, 3, 2, 1], strides=[1, 2, 1, 2, 1], padding=padding)
        yield Case(f"MaxPool3D{padding}", lambda x, w=window: raw.MaxPool3D(input=x, **w), [volume])
        yield Case(f"AvgPool3D{padding}", lambda x, w=window: raw.AvgPool3D(input=x, **w), [volume], rel=REL)
    yield Case(
        "_FusedConv3D",
        lambda x, k, c: private(
            "_FusedConv3D", input=x, filter=k, args=[c], strides=[1] * 5, padding="SAME",
            fused_ops=["BiasAdd", "Relu"],
        ),
        [volume, normal(3, 3, 3, 4, 5), normal(5)],
        rel=REL,
    )


def depthwise_cases(name, shape, strides, padding):
    k = normal(*shape)
    op = raw.DepthwiseConv2dNative
    yield Case(
        f"Depthwise{name}",
        lambda x, k: op(input=x, filter=k, strides=strides, padding=padding),
        [IMAGE, k],
        rel=REL,
    )
    dy = normal(*op(input=IMAGE, filter=k, strides=strides, padding=padding).shape)
    yield Case(
        f"DepthwiseBackpropInput{name}",
        lambda k, g: raw.DepthwiseConv2dNativeBackpropInput(
            input_sizes=list(IMAGE.shape), filter=k, out_backprop=g, strides=strides, padding=padding
        ),
        [k, dy],
        rel=REL,
    )
    yield Case(
        f"DepthwiseBackpropFilter{name}",
        lambda x, g: raw.DepthwiseConv2dNativeBackpropFilter(
            input=x, filter_sizes=list(shape), out_backprop=g, strides=strides, padding=padding
        ),
        [IMAGE, dy],
        rel=REL,
    )


def dilated_depthwise_cases():
    """TensorFlow's gradients are those of no dilation, or errors."""
    options = dict(strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 2, 1])
    yield Case(
        "DepthwiseBackpropInputDilated",
        lambda k, g: raw.DepthwiseConv2dNativeBackpropInput(
            input_sizes=list(IMAGE.shape), filter=k, out_backprop=g, **options
        ),
        [normal(3, 3, 4, 2), normal(2, 9, 8, 8)],
        refused="a dilated depthwise convolution",
    )
    yield Case(
        "DepthwiseBackpropFilterDilated",
        lambda x, g: raw.DepthwiseConv2dNativeBackpropFilter(
            input=x, filter_sizes=[3, 3, 4, 2], out_backprop=g, **options
        ),
        [IMAGE, normal(2, 9, 8, 8)],
        refused="a dilated depthwise convolution",
    )


def fused_convolution_cases():
    k, bias = normal(3, 3, 4, 5), normal(5)
    common = dict(strides=[1, 1, 1, 1], padding="SAME")

    def fused(op, x, k, args, fused_ops, **more):
        host = dict(host_args=[], num_args=len(args)) if op == "_FusedConv2D" else {}
        return private(op, input=x, filter=k, args=args, fused_ops=fused_ops, **{**common, **host, **more})

    for last in ("Relu", "Relu6", "Elu", "LeakyRelu"):
        yield Case(
            f"_FusedConv2D{last}",
            lambda x, k, b, last=last: fused(
                "_FusedConv2D", x, k, [b], ["BiasAdd", last], leakyrelu_alpha=0.3
            ),
            [IMAGE, k, bias],
            rel=REL,
        )
    yield Case(
        "_FusedConv2DBias",
        lambda x, k, b: fused(
            "_FusedConv2D",
            x,
            k,
            [b],
            ["BiasAdd"],
            padding="EXPLICIT",
            explicit_paddings=[0, 0, 1, 1, 2, 0, 0, 0],
        ),
        [IMAGE, k, bias],
        rel=REL,
    )
    for ops in (["FusedBatchNorm"], ["FusedBatchNorm", "Relu"]):
        yield Case(
            f"_FusedConv2D{len(ops)}",
            lambda x, k, *v, ops=ops: fused("_FusedConv2D", x, k, list(v), ops, epsilon=1e-3),
            [IMAGE, k, *statistics()],
            rel=REL,
        )
    yield Case(
        "_FusedConv2DAdd",
        lambda x, k, b, d: fused("_FusedConv2D", x, k, [b, d], ["BiasAdd", "Add", "Relu"]),
        [IMAGE, k, bias, normal(2, 9, 8, 5)],
        rel=REL,
    )
    yield Case(
        "_FusedDepthwise",
        lambda x, k, b: fused("_FusedDepthwiseConv2dNative", x, k, [b], ["BiasAdd", "Relu6"]),
        [IMAGE, normal(3, 3, 4, 1), normal(4)],
        rel=REL,
    )


CASES = [*convolution_cases(), *dilated_depthwise_cases(), *fused_convolution_cases()]
