"""Cases of windows over images and over channels beside those of plain pooling; import_oracle.py runs them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import tensorflow as tf
from import_cases_convolution import IMAGE, REL, normal
from import_oracle import Case

raw = tf.raw_ops
VOLUME = normal(2, 6, 5, 7, 3)
WINDOWS = (("Valid", 2, 2, "VALID"), ("Same", 3, 2, "SAME"), ("Overlapping", 3, 1, "SAME"), ("Sparse", 1, 2, "VALID"))


def pooling_cases():
    for name, size, stride, padding in WINDOWS:
        window = dict(ksize=[1, size, size, 1], strides=[1, stride, stride, 1], padding=padding)
        ties = np.round(IMAGE)
        y = np.asarray(raw.MaxPool(input=ties, **window))
        dy = normal(*y.shape)
        yield Case(f"MaxPoolV2{name}", lambda x, w=window: raw.MaxPoolV2(input=x, **w), [IMAGE])
        yield Case(f"MaxPoolGradV2{name}", lambda x, y, g, w=window: raw.MaxPoolGradV2(
            orig_input=x, orig_output=y, grad=g, **w), [ties, y, dy], rel=REL)
        for op in (raw.MaxPoolGradGrad, raw.MaxPoolGradGradV2):
            for dtype in (np.float32, np.float64, np.float16):
                yield Case(f"{op.__name__}{name}{np.dtype(dtype)}", lambda x, y, g, w=window, op=op: op(
                    orig_input=x, orig_output=y, grad=g, **w), [v.astype(dtype) for v in (ties, y, IMAGE)])
        window = dict(ksize=[1, size, size, size, 1], strides=[1, stride, stride, stride, 1], padding=padding)
        ties = np.round(VOLUME)
        y = np.asarray(raw.MaxPool3D(input=ties, **window))
        yield Case(f"MaxPool3DGradGrad{name}", lambda x, y, g, w=window: raw.MaxPool3DGradGrad(
            orig_input=x, orig_output=y, grad=g, **w), [ties, y, VOLUME])


def patch_cases():
    for name, sizes, strides, rates, padding in (
        ("Valid", (3, 2), (1, 1), (1, 1), "VALID"),
        ("Same", (3, 3), (2, 2), (1, 1), "SAME"),
        ("Strided", (2, 3), (3, 2), (1, 1), "VALID"),
        ("Spread", (2, 3), (1, 2), (3, 2), "SAME"),
        ("Whole", (9, 8), (1, 1), (1, 1), "VALID"),
        ("Pixel", (1, 1), (2, 1), (1, 1), "SAME"),
    ):
        def patches(x, s=sizes, t=strides, r=rates, p=padding):
            return raw.ExtractImagePatches(images=x, ksizes=[1, *s, 1], strides=[1, *t, 1], rates=[1, *r, 1], padding=p)

        yield Case(f"ExtractImagePatches{name}", patches, [IMAGE])
        yield Case(f"ExtractImagePatches{name}None", patches, [IMAGE[:0]])
    for dtype in (np.float64, np.float16, ml_dtypes.bfloat16, np.uint8, np.int32):
        yield Case(f"ExtractImagePatches{np.dtype(dtype)}", patches, [(IMAGE * 9).astype(np.int8).astype(dtype)])


def response_cases():
    for radius, bias, alpha, beta in ((5, 1.0, 1.0, 0.5), (1, 2.0, 0.3, 0.75), (0, 1.0, 1e-4, 1.0), (2, 1.0, 0.5, 0.0)):
        options = dict(depth_radius=radius, bias=bias, alpha=alpha, beta=beta)
        name = f"{radius},{bias},{alpha},{beta}"
        deep = normal(2, 3, 4, 9)
        yield Case(f"LRN{name}", lambda x, o=options: raw.LRN(input=x, **o), [deep], ulps=16)
        yield Case(f"LRNHalf{name}", lambda x, o=options: raw.LRN(input=x, **o), [deep.astype(np.float16)], rel=1e-2)
        yield Case(f"LRNGrad{name}", lambda g, x, y, o=options: raw.LRNGrad(
            input_grads=g, input_image=x, output_image=y, **o),
            [normal(*deep.shape), deep, np.asarray(raw.LRN(input=deep, **options))], rel=1e-5)
    yield Case("LRNNone", lambda x: raw.LRN(input=x), [deep[:0]])
    yield Case("LRNOneChannel", lambda x: raw.LRN(input=x), [deep[..., :1]], ulps=16)


def resize_cases():
    image = normal(2, 5, 6, 3)
    for align, half in ((False, False), (True, False), (False, True)):
        for size in ((9, 13), (10, 12), (3, 4), (1, 1), (5, 6)):
            for dtype in (np.float32, np.float64) if half else (np.float32,):
                yield Case(f"ResizeBilinearGrad{size}{align}{half}{np.dtype(dtype)}",
                           lambda g, x, a=align, h=half: raw.ResizeBilinearGrad(
                               grads=g, original_image=x, align_corners=a, half_pixel_centers=h),
                           [normal(2, *size, 3), image.astype(dtype)], rel=REL)
    for size in ((7, 9), (8, 12), (3, 2), (4, 6), (1, 1)):
        gradient = normal(2, *size, 3)
        for align, half in ((False, False), (True, False), (False, True)):
            name = f"{size}{align}{half}"
            for dtype in (np.float32, np.float64):
                yield Case(f"ResizeBicubicGrad{name}{np.dtype(dtype)}",
                           lambda g, x, a=align, h=half: raw.ResizeBicubicGrad(
                               grads=g, original_image=x, align_corners=a, half_pixel_centers=h),
                           [gradient, np.zeros((2, 4, 6, 3), dtype)], rel=2e-6)
                yield Case(f"ResizeNearestNeighborGrad{name}{np.dtype(dtype)}",
                           lambda g, a=align, h=half: raw.ResizeNearestNeighborGrad(
                               grads=g, size=[4, 6], align_corners=a, half_pixel_centers=h),
                           [gradient.astype(dtype)], rel=2e-6)
    yield Case("ResizeNearestNeighborGradHalf", lambda g: raw.ResizeNearestNeighborGrad(
        grads=g, size=[4, 6], half_pixel_centers=True), [normal(2, 8, 12, 3).astype(np.float16)], rel=4e-3)
    yield Case("ResizeNearestNeighborGradNone", lambda g: raw.ResizeNearestNeighborGrad(grads=g, size=[4, 6]),
               [np.zeros((0, 7, 9, 3), np.float32)])
    yield Case("ResizeBilinearGradNone", lambda g, x: raw.ResizeBilinearGrad(grads=g, original_image=x),
               [normal(0, 4, 4, 3), image[:0]])


def volume_gradient_cases():
    for name, shape, strides, padding in (
        ("Valid", (2, 3, 2, 3, 5), (1, 1, 1), "VALID"),
        ("Same", (3, 3, 3, 3, 5), (1, 1, 1), "SAME"),
        ("Strided", (3, 2, 3, 3, 5), (2, 2, 2), "SAME"),
        ("Pixel", (1, 1, 1, 3, 2), (1, 1, 1), "VALID"),
    ):
        options = dict(strides=[1, *strides, 1], padding=padding)
        y = raw.Conv3D(input=VOLUME, filter=np.zeros(shape, np.float32), **options)
        for batch in (2, 0):
            yield Case(f"Conv3DBackpropFilterV2{name}{batch}", lambda x, g, s=shape, o=options: raw.Conv3DBackpropFilterV2(
                input=x, filter_sizes=list(s), out_backprop=g, **o), [VOLUME[:batch], normal(batch, *y.shape[1:])], rel=REL)


CASES = [*pooling_cases(), *patch_cases(), *response_cases(), *resize_cases(), *volume_gradient_cases()]
