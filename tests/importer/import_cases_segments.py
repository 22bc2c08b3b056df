"""Cases of rows that belong together by number, of places in sorted rows, and of sparse tensors made dense."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import tensorflow as tf
from import_oracle import Case

raw = tf.raw_ops
RNG = np.random.default_rng(37)
M = RNG.normal(0, 1, (30, 4)).astype(np.float32)
IDS = np.sort(RNG.integers(0, 12, 30)).astype(np.int32)  # some numbers are left out
REDUCTIONS = ("Sum", "Mean", "Prod", "Max", "Min")
NUMBERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float64)


def segment_cases():
    for reduction in REDUCTIONS:
        op = getattr(raw, f"Segment{reduction}")

        def segment(x, ids, op=op):
            return op(data=x, segment_ids=ids)

        rel = 2e-6
        yield Case(f"Segment{reduction}", segment, [M, IDS], rel=rel)
        yield Case(f"Segment{reduction}Vector", segment, [M[:, 0], IDS.astype(np.int64)], rel=rel)
        yield Case(f"Segment{reduction}Deep", segment, [M.reshape(30, 2, 2), IDS], rel=rel)
        yield Case(f"Segment{reduction}None", segment, [M[:0], IDS[:0]])
        yield Case(f"Segment{reduction}One", segment, [M[:1], np.array([0], np.int32)])
        yield Case(f"Segment{reduction}NoColumns", segment, [M[:, :0], IDS])
        for dtype in NUMBERS if reduction != "Mean" else NUMBERS[:4]:
            x = (3 * M).astype(dtype) if np.dtype(dtype).kind != "u" else np.abs(3 * M).astype(dtype)
            yield Case(f"Segment{reduction}{np.dtype(dtype)}", segment, [x, IDS], rel=1e-13)
        # TensorFlow keeps the sums of bfloat16 in bfloat16.
        yield Case(f"Segment{reduction}Half", segment, [M.astype(np.float16), IDS], rel=4e-3)
        yield Case(f"Segment{reduction}Brain", segment, [M.astype(ml_dtypes.bfloat16), IDS], rel=6e-2)
        yield Case(f"Segment{reduction}Turned", segment, [M, IDS[::-1].copy()], fails=True)
    yield Case("SegmentSumNegative", lambda x, i: raw.SegmentSum(data=x, segment_ids=i),
               [M[:3], np.array([-1, 0, 1], np.int32)], fails=True)


def xla_segment_cases():
    """XLA's own ops: numbers out of range are dropped."""
    for reduction in REDUCTIONS:
        if reduction == "Mean":
            continue
        op = getattr(raw, f"Segment{reduction}V2")

        def segment(x, ids, op=op):
            return op(data=x, segment_ids=ids, num_segments=14)

        name = f"Segment{reduction}V2"
        yield Case(name, segment, [M, IDS], rel=2e-6, xla=True)
        yield Case(f"{name}Outside", segment, [M, IDS - 2], rel=2e-6, xla=True)
        yield Case(f"{name}Integers", segment, [(3 * M).astype(np.int32), IDS.astype(np.int64) + 5], xla=True)
        yield Case(f"{name}One", segment, [M[:1, :1], IDS[:1]], xla=True)
        yield Case(f"{name}None", segment, [M[:0], IDS[:0]], xla=True)


def sparse_segment_cases():
    rows = RNG.integers(0, 30, 20).astype(np.int32)
    ids = np.sort(RNG.integers(0, 9, 20)).astype(np.int32)
    for op in (raw.SparseSegmentSum, raw.SparseSegmentMean, raw.SparseSegmentSqrtN):

        def segment(x, rows, ids, op=op):
            return op(data=x, indices=rows, segment_ids=ids)

        name = op.__name__
        yield Case(name, segment, [M, rows, ids], rel=2e-6)
        yield Case(f"{name}64", segment, [M.astype(np.float64), rows.astype(np.int64), ids.astype(np.int64)], rel=1e-13)
        yield Case(f"{name}Half", segment, [M.astype(np.float16), rows, ids], rel=4e-3)
        yield Case(f"{name}None", segment, [M, rows[:0], ids[:0]])
        yield Case(f"{name}Outside", segment, [M, rows + 25, ids], fails=True)


def search_cases():
    rows = np.sort(np.round(RNG.normal(0, 3, (3, 50))), -1)
    values = np.round(RNG.normal(0, 4, (3, 21)))
    for op in (raw.LowerBound, raw.UpperBound):

        def search(rows, values, op=op):
            return op(sorted_inputs=rows, values=values)

        name = op.__name__
        for dtype in (np.float32, np.float64, np.float16, np.int32, np.int64, np.int8):
            yield Case(f"{name}{np.dtype(dtype)}", search, [rows.astype(dtype), values.astype(dtype)])
        for n in (0, 1, 2, 3, 7, 8, 9):
            yield Case(f"{name}In{n}", search, [rows[:, :n].astype(np.float32), values.astype(np.float32)])
        yield Case(f"{name}OfNone", search, [rows.astype(np.float32), values[:, :0].astype(np.float32)])
        yield Case(f"{name}64", lambda r, v, op=op: op(sorted_inputs=r, values=v, out_type=tf.int64), [rows, values])
        ends = np.array([[np.inf], [-np.inf], [0]], np.float32)
        yield Case(f"{name}Ends", search, [rows.astype(np.float32), ends])
    yield Case("SearchSorted", lambda r, v: tf.searchsorted(r, v, "right"), [rows, values])


def count_cases():
    numbers = RNG.integers(0, 9, (4, 5)).astype(np.int32)
    weights = RNG.normal(0, 1, (4, 5)).astype(np.float32)
    for dtype in (np.int32, np.int64, np.float32, np.float64):
        none = np.zeros(0, dtype)
        yield Case(f"BincountOf{np.dtype(dtype)}", lambda x, w: raw.Bincount(arr=x, size=7, weights=w), [numbers, none])
    yield Case("BincountWeights", lambda x, w: raw.Bincount(arr=x, size=7, weights=w), [numbers, weights], rel=1e-6)
    yield Case("BincountNone", lambda x, w: raw.Bincount(arr=x, size=7, weights=w), [numbers[:0], weights[:0]])
    yield Case("BincountNegative", lambda x, w: raw.Bincount(arr=x, size=7, weights=w), [numbers - 1, weights], fails=True)


def dense_cases():
    points = np.array([[0, 1], [1, 0], [1, 3], [2, 2]])
    values = np.array([1.5, -2, 3, np.nan], np.float32)

    def dense(points, values, otherwise=0.0, shape=(3, 4), check=True):
        return raw.SparseToDense(sparse_indices=points, output_shape=shape, sparse_values=values,
                                 default_value=tf.cast(otherwise, values.dtype), validate_indices=check)

    for dtype in (np.int32, np.int64):
        yield Case(f"SparseToDense{np.dtype(dtype)}", dense, [points.astype(dtype), values])
    for dtype in (np.float64, np.int8, np.int64):
        yield Case(f"SparseToDenseOf{np.dtype(dtype)}", dense, [points, np.arange(4).astype(dtype)])
    yield Case("SparseToDenseBool", lambda p, v: raw.SparseToDense(
        sparse_indices=p, output_shape=[3, 4], sparse_values=v, default_value=False), [points, values > 0])
    yield Case("SparseToDenseSame", dense, [points, np.float32(7)])
    yield Case("SparseToDenseOtherwise", lambda p, v: dense(p, v, -1.0), [points, values])
    yield Case("SparseToDenseVector", lambda p, v: dense(p, v, 0.0, [9]), [np.array([1, 4, 8]), values[:3]])
    yield Case("SparseToDensePlace", lambda p, v: dense(p, v, 0.0, [9]), [np.array(4), np.float32(2)])
    yield Case("SparseToDenseNone", dense, [points[:0], values[:0]])
    yield Case("SparseToDenseTwice", lambda p, v: dense(p, v), [points[[0, 0]], values[:2]], fails=True)
    yield Case("SparseToDenseTurned", lambda p, v: dense(p, v), [points[::-1].copy(), values], fails=True)
    yield Case("SparseToDenseUnchecked", lambda p, v: dense(p, v, check=False), [points[::-1].copy(), values])
    yield Case("SparseToDenseOutside", lambda p, v: dense(p, v), [points + 1, values], fails=True)


CASES = [*segment_cases(), *xla_segment_cases(), *sparse_segment_cases(), *search_cases(), *count_cases(), *dense_cases()]
