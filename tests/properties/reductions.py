"""Rows that put elements together: reductions, scans, sorts, segments, counts and losses."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import tensorflow as tf

from tests.properties.draw import BOOL, C64, FLOATS, INDICES, INTS, SIGNED, WIDE, Case, Draw, raw, rows


def near_zero(dtype: np.dtype) -> float:
    """The logarithm of a sum that is nearly 1 has lost its digits."""
    return 8 * float(ml_dtypes.finfo(dtype).eps)


@rows("All Any Max Min EuclideanNorm Mean Prod Sum")
def reduce(d: Draw) -> Case:
    dtype, rank = d.number(), d.rank()
    if d.op in ("All", "Any"):
        dtype = BOOL
    elif d.op in ("Sum", "Mean") and d.chance(0.1):
        dtype = C64
    elif d.op == "EuclideanNorm":
        dtype = d.float()
    axes = np.array(d.axes(rank), np.int32)  # TensorFlow's gradients take no others in graphs
    keep, exact = d.chance(0.4), dtype not in (*FLOATS, C64) or d.op in ("Max", "Min")
    tame = d.op in ("Prod", "EuclideanNorm")  # another order overflows elsewhere
    # TensorFlow's squares of small f16 are 0.
    return Case(lambda x: getattr(tf.raw_ops, d.op)(input=x, axis=axes, keep_dims=keep),
                lambda: [d.values(dtype, d.shape(rank), wild=exact, tame=tame)], exact=exact,
                absolute=1e-2 if d.op == "EuclideanNorm" and dtype == np.float16 else 0)


@rows("ArgMax ArgMin")
def place(d: Draw) -> Case:
    dtype, rank = d.number(), d.rank(1)
    axis, to = d.axis(rank), d.pick(tf.int32, tf.int64)
    return Case(lambda x: getattr(tf.raw_ops, d.op)(input=x, dimension=axis, output_type=to),
                lambda: [d.values(dtype, d.shape(rank))], gradient=False)


@rows("Cumprod Cumsum CumulativeLogsumexp")
def scan(d: Draw) -> Case:
    dtype = d.number() if d.op != "CumulativeLogsumexp" else d.of(*WIDE)
    if d.op == "Cumsum" and d.chance(0.1):
        dtype = C64
    rank = d.rank(1)
    options = dict(axis=d.axis(rank), exclusive=d.chance(0.4), reverse=d.chance(0.4))
    low = 1 if d.op == "Cumprod" else None  # the gradient divides by its operand
    return Case(lambda x: getattr(tf.raw_ops, d.op)(x=x, **options),
                lambda: [d.values(dtype, d.shape(rank), tame=True, low=low, high=low and 1.5)], exact=dtype in INTS,
                absolute=3e-5 if d.op == "CumulativeLogsumexp" else 0)  # its gradient is a difference


@rows("L2Loss")
def loss(d: Draw) -> Case:
    dtype, rank = d.float(), d.rank()
    return Case(lambda x: raw(d.op, x), lambda: [d.values(dtype, d.shape(rank))], exact=False)


@rows("TopKV2")
def largest(d: Draw) -> Case:
    dtype, rank, k, ordered = d.number(), d.rank(1), d.pick(0, 1, 2, 5), d.chance(0.6)
    return Case(lambda x: raw(d.op, x, k=k, sorted=ordered), lambda: [d.values(dtype, [*d.shape(rank)[:-1], d.size(max(k, 1), 100)], tame=True)],
                gradient=dtype in FLOATS)


@rows("InTopKV2")
def among_largest(d: Draw) -> Case:
    k, dtype = d.pick(0, 1, 3, 9), d.index_type

    def inputs() -> list[np.ndarray]:
        n, classes = d.size(), d.size(1)
        return [d.values(FLOATS[0], [n, classes]), d.indices(classes, [n])]

    return Case(lambda x, t: raw(d.op, x, t, k=tf.constant(k, dtype)), inputs, gradient=False)


@rows("LogSoftmax Softmax")
def softmax(d: Draw) -> Case:
    dtype, rank = d.float(), d.rank(1)
    return Case(lambda x: raw(d.op, x), lambda: [d.values(dtype, d.shape(rank, 1), tame=True)], exact=False, absolute=near_zero(dtype))


@rows("SoftmaxCrossEntropyWithLogits")
def cross_entropy(d: Draw) -> Case:
    dtype, stretched = d.float(), d.chance(0.2)

    def inputs() -> list[np.ndarray]:
        n, classes = d.size(), d.size(1)
        return [d.values(dtype, [n, classes], tame=True), d.values(dtype, [1 if stretched else n, classes], low=0, high=1)]

    return Case(lambda x, y: raw(d.op, x, y), inputs, exact=False, absolute=near_zero(dtype))


@rows("SparseSoftmaxCrossEntropyWithLogits")
def sparse_cross_entropy(d: Draw) -> Case:
    dtype = d.float()

    def inputs() -> list[np.ndarray]:
        n, classes = d.size(), d.size(1)
        return [d.values(dtype, [n, classes], tame=True), d.indices(classes, [n])]

    return Case(lambda x, y: raw(d.op, x, y), inputs, exact=False, absolute=near_zero(dtype))


@rows("BiasAddGrad")
def bias_gradient(d: Draw) -> Case:
    dtype, rank = d.float(), d.rank(2)
    form = d.pick("NHWC", "NCHW") if rank > 2 else "NHWC"
    return Case(lambda x: raw(d.op, x, data_format=form), lambda: [d.values(dtype, d.shape(rank))], exact=False)


@rows("Bincount DenseBincount")
def count(d: Draw) -> Case:
    dtype, rank, size, weighted = d.pick(*WIDE, *INDICES), d.between(1, 2), d.pick(0, 1, 4, 9), d.chance(0.6)
    binary, index = d.chance(0.3), SIGNED[0] if d.op == "Bincount" else d.index_type

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        numbers = np.abs(d.indices(size + 3, shape, 0.02)).astype(index) if d.chance(0.9) else d.indices(9, shape, 0.5).astype(index)
        return [numbers, d.values(dtype, shape if weighted else [0] * rank if d.op == "DenseBincount" else [0], tame=True)]

    options = dict(binary_output=binary) if d.op == "DenseBincount" else {}
    return Case(lambda x, w: raw(d.op, x, tf.constant(size, index), w, **options), inputs, exact=dtype in INTS, gradient=False)


def segment_ids(d: Draw, n: int, outside: bool = True) -> np.ndarray:
    ids = np.sort(d.numbers.integers(0, max(1, min(n, d.pick(1, 3, 9))), n)).astype(d.index_type)
    if n and outside and d.chance(0.04):
        ids[d.between(0, n - 1)] = d.pick(-1, 0, 99)
    return ids


@rows("SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum")
def segments(d: Draw) -> Case:
    dtype, rank = d.number(), d.rank(1, 4)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        return [d.values(dtype, shape, tame=True), segment_ids(d, shape[0])]

    exact = dtype in INTS or d.op in ("SegmentMax", "SegmentMin")
    half = dtype not in INTS and dtype.itemsize == 2  # TensorFlow adds these up in 16 bits: what cancels, it rounds away
    return Case(lambda x, i: raw(d.op, x, i), inputs, exact=exact, absolute=near_zero(dtype) if half else 0)


@rows("""SegmentMaxV2 SegmentMinV2 SegmentProdV2 SegmentSumV2 UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd
UnsortedSegmentSum""")
def numbered_segments(d: Draw) -> Case:
    dtype, rank = d.number(), d.rank(1, 4)
    count = d.pick(0, 1, 4, 9) if d.op.startswith("Unsorted") else d.pick(1, 4, 9)  # XLA takes no 0
    index_rank = d.between(1, rank) if d.op.startswith("Unsorted") else 1
    sorted_ = not d.op.startswith("Unsorted")

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        ids = d.indices(count, shape[:index_rank], 0.1)
        if sorted_:
            ids = np.sort(ids)
        return [d.values(dtype, shape, tame=True), ids]

    exact = dtype in INTS or "Max" in d.op or "Min" in d.op
    # XLA alone has kernels for the sorted ones.
    return Case(lambda x, i: raw(d.op, x, i, tf.constant(count)), inputs, exact=exact, xla=sorted_, gradient=not sorted_)


@rows("SparseSegmentMean SparseSegmentSqrtN SparseSegmentSum")
def sparse_segments(d: Draw) -> Case:
    dtype, rank = d.float(), d.rank(1, 4)
    if d.op == "SparseSegmentSum" and d.chance(0.2):
        dtype = d.of(*SIGNED[:2])

    def inputs() -> list[np.ndarray]:
        shape, n = d.shape(rank, 1), d.size(1 if d.with_gradient else 0)  # of nothing, TensorFlow's gradient is any memory
        return [d.values(dtype, shape, tame=True), d.indices(shape[0], [n], 0.03), segment_ids(d, n)]

    return Case(lambda x, i, s: raw(d.op, x, i, s), inputs, exact=dtype in INTS)


@rows("LowerBound UpperBound")
def search(d: Draw) -> Case:
    dtype, to = d.pick(*WIDE, *SIGNED), d.pick(tf.int32, tf.int64)

    def inputs() -> list[np.ndarray]:
        n = d.size(1)
        sorted_ = np.sort(d.values(dtype, [n, d.size()], tame=True), -1)
        return [sorted_, d.values(dtype, [n, d.size()])]

    return Case(lambda s, v: raw(d.op, s, v, out_type=to), inputs, gradient=False)


@rows("Bucketize")
def bucketize(d: Draw) -> Case:
    dtype, rank = d.pick(*WIDE, *INDICES), d.rank()
    limits = sorted(float(d.between(-30, 30)) / 4 for _ in range(d.pick(0, 1, 2, 9)))
    return Case(lambda x: raw(d.op, x, boundaries=limits), lambda: [d.values(dtype, d.shape(rank), wild=True)], gradient=False)


@rows("Unique UniqueV2 UniqueWithCounts UniqueWithCountsV2")
def unique(d: Draw) -> Case:
    dtype, to = d.pick(*WIDE, *INTS), d.pick(tf.int32, tf.int64)
    rank = 1 if not d.op.endswith("V2") else d.rank(1, 3)
    axis = np.array([0] if rank > 1 or d.chance(0.5) else [], np.int32)
    if d.op.endswith("V2"):
        return Case(lambda x: raw(d.op, x, axis, out_idx=to), lambda: [d.values(dtype, d.shape(rank))], gradient=False)
    return Case(lambda x: raw(d.op, x, out_idx=to), lambda: [d.values(dtype, d.shape(1))], gradient=False)


@rows("ListDiff")
def difference(d: Draw) -> Case:
    dtype, to = d.pick(*WIDE, *SIGNED), d.pick(tf.int32, tf.int64)
    return Case(lambda x, y: raw(d.op, x, y, out_idx=to),
                lambda: [np.round(d.values(dtype, d.shape(1))), np.round(d.values(dtype, d.shape(1)))], gradient=False)


@rows("Where")
def where(d: Draw) -> Case:
    dtype, rank = d.pick(BOOL, BOOL, *FLOATS, *SIGNED), d.rank(1)
    return Case(lambda x: tf.raw_ops.Where(condition=x), lambda: [d.values(dtype, d.shape(rank))], gradient=False)


@rows("NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5")
def suppression(d: Draw) -> Case:
    most, overlap = d.pick(0, 1, 5, 99), d.pick(0.0, 0.3, 0.5, 1.0)
    more = () if d.op in ("NonMaxSuppression", "NonMaxSuppressionV2") else (d.pick(-np.inf, 0.1, 0.5),)
    if d.op == "NonMaxSuppressionV5":
        more += (d.pick(0.0, 0.0, 0.5),)
    options = dict(pad_to_max_output_size=d.chance(0.5)) if d.op[-1] in "45" else {}

    def inputs() -> list[np.ndarray]:
        n = d.size(0, 64)
        return [np.round(d.values(FLOATS[0], [n, 4], low=0, high=2) * 8) / 8, np.round(d.values(FLOATS[0], [n], low=-1, high=1) * 8) / 8]

    def function(boxes: tf.Tensor, scores: tf.Tensor) -> object:
        if d.op == "NonMaxSuppression":
            return raw(d.op, boxes, scores, most, iou_threshold=overlap)
        return raw(d.op, boxes, scores, most, overlap, *more, **options)

    return Case(function, inputs, exact=not (len(more) == 2 and more[1]), gradient=False)
