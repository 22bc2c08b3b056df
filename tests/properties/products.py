"""Rows that multiply and add: products, convolutions, windows, normalization, images, spectra and factorizations."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tests.properties.draw import BFLOAT16, C64, COMPLEX, FLOATS, INTS, SIGNED, WIDE, Case, Draw, raw, rows


@rows("MatMul SparseMatMul")
def product(d: Draw) -> Case:
    dtype = d.pick(d.float(), d.float(), *SIGNED[:2], C64) if d.op == "MatMul" else FLOATS[0]
    types = [dtype, dtype] if d.op == "MatMul" else [d.pick(FLOATS[0], BFLOAT16), d.pick(FLOATS[0], BFLOAT16)]
    turned = dict(transpose_a=d.chance(0.4), transpose_b=d.chance(0.4))

    def inputs() -> list[np.ndarray]:
        m, k, n = d.size(most=100), d.size(most=257), d.size(most=100)
        return [d.values(types[0], [k, m] if turned["transpose_a"] else [m, k], tame=True),
                d.values(types[1], [n, k] if turned["transpose_b"] else [k, n], tame=True)]

    return Case(lambda a, b: raw(d.op, a, b, **turned), inputs, exact=dtype in INTS, slack=4)


@rows("BatchMatMul BatchMatMulV2 BatchMatMulV3")
def batched_product(d: Draw) -> Case:
    dtype, rank = d.pick(d.float(), d.float(), SIGNED[0], C64), d.rank(2, 4)
    turned, few = dict(adj_x=d.chance(0.4), adj_y=d.chance(0.4)), rank
    options = dict(Tout=tf.as_dtype(dtype)) if d.op.endswith("V3") else {}
    stretched = d.op != "BatchMatMul" and d.chance(0.4)
    if stretched:
        few = d.between(2, rank)

    def inputs() -> list[np.ndarray]:
        m, k, n = (d.size(most=33) for _ in range(3))
        batch = [d.size(0, 5) for _ in range(rank - 2)]
        other = d.stretched(batch, few - 2) if stretched else batch
        return [d.values(dtype, [*batch, *([k, m] if turned["adj_x"] else [m, k])], tame=True),
                d.values(dtype, [*other, *([n, k] if turned["adj_y"] else [k, n])], tame=True)]

    return Case(lambda x, y: raw(d.op, x, y, **turned, **options), inputs, exact=dtype in INTS, slack=4)


@rows("_FusedMatMul")
def fused_product(d: Draw) -> Case:
    dtype, ops = FLOATS[0], ["BiasAdd", *d.pick([], ["Relu"], ["Relu6"], ["Elu"], ["LeakyRelu"], ["Tanh"], ["Sigmoid"],
                                               ["GeluExact"], ["GeluApproximate"])]
    turned = dict(transpose_b=d.chance(0.4))

    def inputs() -> list[np.ndarray]:
        m, k, n = d.size(1, 100), d.size(1, 100), d.size(1, 100)
        return [d.values(dtype, [m, k], tame=True), d.values(dtype, [n, k] if turned["transpose_b"] else [k, n], tame=True),
                d.values(dtype, [n], tame=True)]

    # Far below 0 GELU is what is left of a difference, and ELU of another.
    return Case(lambda a, b, c: raw(d.op, a, b, args=[c], fused_ops=ops, leakyrelu_alpha=0.3, **turned), inputs, exact=False,
                graph=True, gradient=False, slack=4, absolute=2e-6)


@rows("_MklFusedBatchMatMulV2")
def fused_batched_product(d: Draw) -> Case:
    turned = d.chance(0.5)

    def inputs() -> list[np.ndarray]:
        b, h, m, k, n = (d.size(1, 9) for _ in range(5))
        return [d.values(FLOATS[0], [b, h, m, k], tame=True), d.values(FLOATS[0], [b, h, n, k] if turned else [b, h, k, n], tame=True),
                d.values(FLOATS[0], [], tame=True), d.values(FLOATS[0], [b, 1, 1, n], tame=True)]

    return Case(lambda x, y, s, m: raw(d.op, x, y, args=[s, m], fused_ops=["Mul", "Add"], adj_y=turned), inputs, exact=False,
                graph=True, gradient=False)


@rows("Einsum")
def einsum(d: Draw) -> Case:
    dtype = d.pick(d.float(), d.float(), C64, SIGNED[0])
    letters = "abcdef"[:d.between(2, 5)]
    terms = ["".join(d.rng.sample(letters, d.between(1, min(4, len(letters))))) for _ in range(d.pick(1, 2, 2))]
    used = sorted(set("".join(terms)))
    result = "".join(d.rng.sample(used, d.between(0, min(4, len(used)))))

    def inputs() -> list[np.ndarray]:
        sizes = {c: d.size(0 if d.chance(0.1) else 1, 9) for c in letters}
        return [d.values(dtype, [sizes[c] for c in t], tame=True) for t in terms]

    return Case(lambda *xs: raw(d.op, list(xs), equation=f"{','.join(terms)}->{result}"), inputs, exact=dtype in INTS, slack=4)


class Window:
    """Sizes, strides, dilations and padding of a window over images or volumes."""

    def __init__(self, d: Draw, dimensions: int, dilated: bool = False, explicit: bool = False) -> None:
        self.d, self.dimensions = d, dimensions
        self.size = [d.pick(1, 2, 3, 3, 5) for _ in range(dimensions)]
        self.strides = [d.pick(1, 1, 2, 3) for _ in range(dimensions)]
        if d.chance(0.6):
            self.size, self.strides = [self.size[0]] * dimensions, [self.strides[0]] * dimensions
        self.dilations = [d.pick(1, 2, 3) for _ in range(dimensions)] if dilated and set(self.strides) == {1} and d.chance(0.4) \
            else [1] * dimensions
        self.padding = d.pick("SAME", "VALID")
        self.options = dict(strides=[1, *self.strides, 1], padding=self.padding)
        if explicit and d.chance(0.2):
            pads = [d.between(0, 2) for _ in range(2 * dimensions)]
            self.options |= dict(padding="EXPLICIT", explicit_paddings=[0, 0, *pads, 0, 0])

    def spread(self) -> dict:
        return dict(dilations=[1, *self.dilations, 1])

    def image(self, channels: int, batch: int | None = None) -> list[int]:
        d = self.d
        least = [(s - 1) * r + 1 for s, r in zip(self.size, self.dilations)]
        return [d.size(0 if d.chance(0.1) else 1, 3) if batch is None else batch, *(n + d.between(0, 7) for n in least), channels]


def limit_strides(w: Window, equal: bool, gradient: bool) -> None:
    """TensorFlow's own gradients end the process where strides are beyond the filter; depthwise ones must be equal."""
    if equal:
        w.strides = [w.strides[0]] * w.dimensions
    if gradient:
        w.strides = [min(w.strides[0], *w.size)] * w.dimensions if equal else [min(s, n) for s, n in zip(w.strides, w.size)]
    w.options["strides"] = [1, *w.strides, 1]


@rows("Conv2D Conv3D DepthwiseConv2dNative")
def convolution(d: Draw) -> Case:
    dtype, n = d.float() if d.op != "Conv3D" else d.of(*WIDE), 3 if "3D" in d.op else 2
    w = Window(d, n, dilated=n == 2, explicit=d.op == "Conv2D")
    limit_strides(w, "Depthwise" in d.op, d.with_gradient)
    channels, features = d.size(1, 17), d.size(1, 17)
    groups = 2 if d.op == "Conv2D" and channels % 2 == 0 and features % 2 == 0 and d.chance(0.2) else 1
    if "Depthwise" in d.op:
        features = d.between(1, 3)

    def inputs() -> list[np.ndarray]:
        return [d.values(dtype, w.image(channels), tame=True), d.values(dtype, [*w.size, channels // groups, features], tame=True)]

    return Case(lambda x, k: raw(d.op, x, k, **w.options, **w.spread()), inputs, exact=False, slack=4)


@rows("""Conv2DBackpropFilter Conv2DBackpropInput Conv3DBackpropFilterV2 Conv3DBackpropInputV2 DepthwiseConv2dNativeBackpropFilter
DepthwiseConv2dNativeBackpropInput""")
def convolution_gradient(d: Draw) -> Case:
    dtype, n = d.of(*WIDE), 3 if "3D" in d.op else 2
    w = Window(d, n, dilated=n == 2)
    depthwise = "Depthwise" in d.op
    limit_strides(w, depthwise, True)
    channels, features = d.size(1, 17), d.between(1, 3) if depthwise else d.size(1, 17)
    shape = [*w.size, channels, features]
    options = w.options | w.spread()

    def inputs() -> list[np.ndarray]:
        image = w.image(channels)
        out = [image[0], *(-(-s // t) if w.padding == "SAME" else (s - (k - 1) * r - 1) // t + 1
                           for s, k, t, r in zip(image[1:-1], w.size, w.strides, w.dilations)),
               channels * features if depthwise else features]
        return [d.values(dtype, image, tame=True), d.values(dtype, shape, tame=True), d.values(dtype, out, tame=True)]

    if "Filter" in d.op:
        return Case(lambda x, k, g: raw(d.op, x, tf.constant(shape), g, **options), inputs, exact=False, gradient=False,
                    slack=4)
    return Case(lambda x, k, g: raw(d.op, tf.shape(x), k, g, **options), inputs, exact=False, gradient=False, slack=4)


@rows("_FusedConv2D _FusedConv3D _FusedDepthwiseConv2dNative")
def fused_convolution(d: Draw) -> Case:
    n = 3 if "3D" in d.op else 2
    w = Window(d, n)
    if "Depthwise" in d.op:
        w.strides = [w.strides[0]] * 2
        w.options["strides"] = [1, *w.strides, 1]
    channels, features = d.size(1, 9), 1 if "Depthwise" in d.op else d.size(1, 9)
    ops = ["BiasAdd", *d.pick([], ["Relu"], ["Relu6"], ["Elu"], ["LeakyRelu"])]
    if n == 3 and ops[-1] in ("Relu6", "Elu"):
        ops = ["BiasAdd", "Relu"]
    more = dict(host_args=[], num_args=1) if d.op == "_FusedConv2D" else {}

    def inputs() -> list[np.ndarray]:
        return [d.values(FLOATS[0], w.image(channels), tame=True), d.values(FLOATS[0], [*w.size, channels, features], tame=True),
                d.values(FLOATS[0], [channels if "Depthwise" in d.op else features], tame=True)]

    return Case(lambda x, k, b: raw(d.op, x, k, args=[b], fused_ops=ops, leakyrelu_alpha=0.3, **w.options, **more), inputs, exact=False,
                graph=True, gradient=False)


def pool_of(op: str, x: tf.Tensor, window: dict) -> tf.Tensor:
    return getattr(tf.raw_ops, op)(**{"value" if op == "AvgPool" else "input": x}, **window)


@rows("AvgPool AvgPool3D MaxPool MaxPool3D MaxPoolV2")
def pool(d: Draw) -> Case:
    n = 3 if "3D" in d.op else 2
    dtype = d.pick(*WIDE, d.float()) if n == 2 else FLOATS[0]
    if d.op in ("MaxPool", "MaxPoolV2") and d.chance(0.1):
        dtype = d.of(*SIGNED)
    w = Window(d, n, explicit=d.op == "MaxPool")
    if any(p >= s for p, s in zip(w.options.get("explicit_paddings", [0] * 8)[2:6], np.repeat(w.size, 2))):
        w.options |= dict(padding=w.padding)
        w.options.pop("explicit_paddings", None)
    window = dict(ksize=[1, *w.size, 1], **w.options)
    channels = d.size(1, 17)
    return Case(lambda x: pool_of(d.op, x, window), lambda: [d.values(dtype, w.image(channels), tame=n == 3 or "Avg" in d.op or d.with_gradient)],
                exact=d.op.startswith("Max"), gradient=dtype in FLOATS and d.op != "MaxPool3D")  # of ties: see MaxPool3DGrad


@rows("AvgPoolGrad AvgPool3DGrad")
def average_gradient(d: Draw) -> Case:
    n = 3 if "3D" in d.op else 2
    dtype, w, channels = d.of(*WIDE) if n == 2 else FLOATS[0], Window(d, n), d.size(1, 9)
    window = dict(ksize=[1, *w.size, 1], **w.options)

    def function(x: tf.Tensor) -> tf.Tensor:
        y = pool_of(d.op.removesuffix("Grad"), x, window)
        return raw(d.op, tf.shape(x), y * y, **window)

    return Case(function, lambda: [d.values(dtype, w.image(channels), tame=True)], exact=False, gradient=False)


@rows("MaxPool3DGrad MaxPool3DGradGrad MaxPoolGrad MaxPoolGradGrad MaxPoolGradGradV2 MaxPoolGradV2")
def maximum_gradient(d: Draw) -> Case:
    n = 3 if "3D" in d.op else 2
    dtype, w, channels, again = d.of(*WIDE) if n == 2 else FLOATS[0], Window(d, n), d.size(1, 9), "GradGrad" in d.op
    window = dict(ksize=[1, *w.size, 1], **w.options)

    def function(x: tf.Tensor) -> tf.Tensor:
        y = pool_of("MaxPool3D" if n == 3 else "MaxPool", x, window)
        return raw(d.op, x, y, x * 2 if again else y * 2, **window)

    # All values differ: which of several greatest ones receives it depends on TensorFlow's kernel in volumes.
    def inputs() -> list[np.ndarray]:
        image = w.image(channels)
        return [(d.numbers.permutation(int(np.prod(image))) / 16).reshape(image).astype(dtype)]

    return Case(function, inputs, exact=again, gradient=False)


@rows("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 _FusedBatchNormEx")
def normalization(d: Draw) -> Case:
    dtype = FLOATS[0] if d.op in ("FusedBatchNorm", "_FusedBatchNormEx") else d.pick(FLOATS[0], FLOATS[0], FLOATS[2], BFLOAT16)
    training, form, channels = d.chance(0.5) and d.op[0] != "_", d.pick("NHWC", "NHWC", "NCHW") if d.op[0] != "_" else "NHWC", d.size(1, 17)
    channels = 4 * d.between(1, 4) if d.op[0] == "_" else channels
    options = dict(epsilon=1e-3, is_training=training, data_format=form)
    if d.op == "_FusedBatchNormEx":
        options |= dict(side_input=[], activation_mode="Relu")
    if d.chance(0.4) and training:
        options |= dict(exponential_avg_factor=0.25)

    def inputs() -> list[np.ndarray]:
        n, h, w = d.size(1, 3), d.size(1, 8), d.size(1, 8)
        n = n if n * h * w > 1 else 2
        f = FLOATS[0]
        return [d.values(dtype, [n, channels, h, w] if form == "NCHW" else [n, h, w, channels], tame=True),
                *(d.values(f, [channels], tame=True) for _ in range(3)), d.values(f, [channels], low=0.1, high=3)]

    count = 1 if d.op[0] == "_" else 3
    return Case(lambda *xs: raw(d.op, *xs, **options)[:count], inputs, exact=False, graph=d.op[0] == "_", gradient=d.op[0] != "_", slack=4,
                absolute=1e-6)  # gradients are differences


@rows("FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3")
def normalization_gradient(d: Draw) -> Case:
    dtype = FLOATS[0] if d.op == "FusedBatchNormGrad" else d.pick(FLOATS[0], FLOATS[0], FLOATS[2], BFLOAT16)
    options, channels = dict(epsilon=1e-3, is_training=d.chance(0.6)), d.size(1, 17)

    def inputs() -> list[np.ndarray]:
        shape = [d.size(1, 3) + 1, d.size(1, 8), d.size(1, 8), channels]
        f = FLOATS[0]
        return [d.values(dtype, shape, tame=True), d.values(dtype, shape, tame=True), *(d.values(f, [channels], tame=True) for _ in range(2)),
                d.values(f, [channels], low=0.1, high=3)]

    def function(*xs: tf.Tensor) -> object:
        return raw(d.op, *xs, *([tf.zeros([])] if d.op.endswith("V3") else []), **options)[:3]

    return Case(function, inputs, exact=False, gradient=False, slack=4, absolute=1e-6)


@rows("LRN LRNGrad")
def responses(d: Draw) -> Case:
    options = dict(depth_radius=d.between(0, 5), bias=d.pick(1.0, 2.0), alpha=d.pick(1e-4, 0.3, 1.0), beta=d.pick(0.5, 0.75, 1.0))
    dtype = FLOATS[0]

    def inputs() -> list[np.ndarray]:
        shape = [d.size(0, 3), d.size(1, 5), d.size(1, 5), d.size(1, 17)]
        return [d.values(dtype, shape, tame=True) for _ in range(1 if d.op == "LRN" else 2)]

    if d.op == "LRN":
        return Case(lambda x: raw(d.op, x, **options), inputs, exact=False)
    return Case(lambda g, x: raw(d.op, g, x, tf.raw_ops.LRN(input=x, **options), **options), inputs, exact=False, gradient=False)


@rows("""ResizeBicubic ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor ResizeNearestNeighborGrad""")
def resize(d: Draw) -> Case:
    dtype, align = d.of(*WIDE), d.chance(0.3)
    options = dict(align_corners=align, half_pixel_centers=not align and d.chance(0.5))
    if not d.op.endswith("Grad") and d.chance(0.15):
        dtype = d.of(*INTS[:5])
    to, size = [d.size(1, 17), d.size(1, 17)], [d.size(1, 17), d.size(1, 17)]

    def inputs() -> list[np.ndarray]:
        n, c = d.size(0, 3), d.size(1, 9)
        if d.op.endswith("Grad"):
            given = dtype if "Nearest" in d.op else FLOATS[0]
            return [d.values(given, [n, *to, c], tame=True), d.values(dtype, [n, *size, c], tame=True)]
        return [d.values(dtype, [n, d.size(1, 17), d.size(1, 17), c], tame=True)]

    if d.op == "ResizeNearestNeighborGrad":
        return Case(lambda g, x: raw(d.op, g, tf.constant(size), **options), inputs, exact=False, gradient=False)
    if d.op.endswith("Grad"):
        # TensorFlow's weights are f32 for f64, too.
        return Case(lambda g, x: raw(d.op, g, x, **options), inputs, exact=False, gradient=False, absolute=1e-5)
    # The gradient adds along one axis and then along the other, TensorFlow's all taps of a pixel; its products are f32 for f64, too.
    return Case(lambda x: raw(d.op, x, tf.constant(to), **options), inputs, exact="Nearest" in d.op, gradient=dtype in FLOATS,
                slack=4 if d.op == "ResizeBicubic" else 1, absolute=1e-5 if "Bi" in d.op and d.with_gradient else 0)


@rows("ImageProjectiveTransformV2 ImageProjectiveTransformV3")
def projection(d: Draw) -> Case:
    dtype, shared = d.of(*WIDE), d.chance(0.5)
    options = dict(output_shape=[d.size(1, 17), d.size(1, 17)], interpolation=d.of("NEAREST", "BILINEAR"),
                   fill_mode=d.of("CONSTANT", "NEAREST", "REFLECT", "WRAP"))
    if d.op.endswith("V3"):
        options["fill_value"] = d.of(0.0, 0.7)

    def inputs() -> list[np.ndarray]:
        image = [d.size(1, 4), d.size(1, 17), d.size(1, 17), d.size(1, 5)]
        return [d.values(dtype, image, tame=True), d.values(FLOATS[0], [1 if shared else image[0], 8])]

    return Case(lambda x, t: getattr(tf.raw_ops, d.op)(images=x, transforms=t, **options), inputs, gradient=False)


@rows("ExtractImagePatches")
def patches(d: Draw) -> Case:
    dtype, w = d.pick(*FLOATS, *SIGNED), Window(d, 2)
    rates = [d.pick(1, 1, 2), d.pick(1, 1, 2)]
    w.dilations = rates
    options = dict(ksizes=[1, *w.size, 1], strides=[1, *w.strides, 1], rates=[1, *rates, 1], padding=w.padding)
    return Case(lambda x: raw(d.op, x, **options), lambda: [d.values(dtype, w.image(d.size(1, 5)))], gradient=False)


@rows("FFT FFT2D FFT3D IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D RFFT RFFT2D RFFT3D")
def spectrum(d: Draw) -> Case:
    n = int(d.op[-2]) if d.op.endswith("D") else 1
    rank, double = d.between(n, min(n + 2, 4)), d.chance(0.3)
    parts, real = COMPLEX[double], WIDE[double]
    if "RFFT" not in d.op:
        return Case(lambda x: raw(d.op, x), lambda: [d.values(parts, sizes(d, rank, n), tame=True)], exact=False, slack=4)
    length, back = [d.between(1, 5) if n > 1 else d.size(1, 64) for _ in range(n)] if d.chance(0.5) else None, d.op.startswith("I")
    types = dict(Treal=tf.as_dtype(real)) if back else dict(Tcomplex=tf.as_dtype(parts))

    def function(x: tf.Tensor) -> tf.Tensor:
        given = length if length is not None else tf.shape(x)[rank - n:]
        if length is None and back:  # the half of an odd number
            given = tf.concat([given[:-1], given[-1:] * 2 - 1], 0)
        return raw(d.op, x, given, **types)

    return Case(function, lambda: [d.values(parts if back else real, sizes(d, rank, n, length), tame=True)], exact=False,
                gradient=n == 1 and length is None, slack=4)


def sizes(d: Draw, rank: int, n: int, length: list[int] | None = None) -> list[int]:
    """TensorFlow refuses a length beyond the size."""
    least = length or [1] * n
    return [*(d.size(1, 3) for _ in range(rank - n)), *(d.size(s, 100 if n == 1 else 12) for s in least)]


def square(d: Draw, rank: int, dtype: np.dtype, n: int, batch: list[int]) -> np.ndarray:
    """Far from having no inverse."""
    return d.values(dtype, [*batch, n, n], tame=True, low=-1, high=1) + np.asarray(2 * n * np.eye(n), dtype)


@rows("Cholesky MatrixInverse MatrixSolve MatrixTriangularSolve")
def solve(d: Draw) -> Case:
    dtype, rank = d.of(*WIDE), d.between(2, 4)
    adjoint, lower = d.chance(0.5), d.chance(0.5)

    def inputs() -> list[np.ndarray]:
        n, batch = d.size(1, 20), [d.size(0, 3) for _ in range(rank - 2)]
        a = square(d, rank, dtype, n, batch)
        if d.op == "Cholesky":
            a = np.asarray(a + np.swapaxes(a, -1, -2), dtype)
        return [a] if d.op in ("Cholesky", "MatrixInverse") else [a, d.values(dtype, [*batch, n, d.size(1, 5)], tame=True)]

    options = {"Cholesky": {}, "MatrixTriangularSolve": dict(lower=lower, adjoint=adjoint)}.get(d.op, dict(adjoint=adjoint))
    return Case(lambda *xs: raw(d.op, *xs, **options), inputs, exact=False, slack=4)


@rows("TridiagonalMatMul TridiagonalSolve")
def tridiagonal(d: Draw) -> Case:
    dtype, rank, pivots = d.of(*WIDE), d.between(2, 4), d.chance(0.6)

    def inputs() -> list[np.ndarray]:
        n, batch = d.size(1, 17), [d.size(1, 3) for _ in range(rank - 2)]
        right = d.values(dtype, [*batch, n, d.size(1, 5)], tame=True)
        if d.op == "TridiagonalMatMul":
            return [*(d.values(dtype, [*batch, 1, n], tame=True) for _ in range(3)), right]
        diagonals = d.values(dtype, [*batch, 3, n], tame=True, low=-1, high=1)
        diagonals[..., 1, :] += 3
        return [diagonals, right]

    options = {} if d.op == "TridiagonalMatMul" else dict(partial_pivoting=pivots)
    return Case(lambda *xs: raw(d.op, *xs, **options), inputs, exact=False, slack=4)


@rows("Qr SelfAdjointEigV2 Svd")
def factorization(d: Draw) -> Case:
    """Signs of vectors are free, so that products of factors are compared; their values are."""
    dtype, rank, full = d.of(*WIDE), d.between(2, 3), d.chance(0.4)

    def inputs() -> list[np.ndarray]:
        batch, n, m = [d.size(0, 3) for _ in range(rank - 2)], d.size(1, 12), d.size(1, 12)
        a = d.values(dtype, [*batch, n, n if d.op == "SelfAdjointEigV2" else m], tame=True)
        return [np.asarray(a + np.swapaxes(a, -1, -2), dtype) if d.op == "SelfAdjointEigV2" else a]

    def function(a: tf.Tensor) -> object:
        if d.op == "Qr":
            q, r = tf.raw_ops.Qr(input=a, full_matrices=full)
            return tf.matmul(q, r), tf.matmul(q, q, adjoint_a=True)
        if d.op == "SelfAdjointEigV2":
            e, v = tf.raw_ops.SelfAdjointEigV2(input=a)
            return e, tf.matmul(v * e[..., None, :], v, adjoint_b=True)
        s, u, v = tf.raw_ops.Svd(input=a)
        return s, tf.matmul(u * s[..., None, :], v, adjoint_b=True)

    return Case(function, inputs, exact=False, gradient=False, slack=256, absolute=1e-5 if dtype == np.float32 else 1e-13)
