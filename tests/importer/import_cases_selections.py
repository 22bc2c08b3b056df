"""Cases of ops whose values decide how many rows a result has; import_oracle.py runs them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import tensorflow as tf
from import_oracle import Case

raw = tf.raw_ops
RNG = np.random.default_rng(9)
X = RNG.normal(0, 1, (4, 6, 5)).astype(np.float32)
M = RNG.normal(0, 1, (30, 4)).astype(np.float32)
WILD = np.array([0.0, -0.0, np.nan, 1, np.inf, -1, 0, np.nan, 1], np.float32)


def where_cases():
    for rank in (1, 2, 3):
        yield Case(f"Where{rank}", lambda x: tf.where(x > 0.1), [X[(1,) * (3 - rank)]])
    yield Case("Where0", lambda x: tf.where(x), [np.array(True)], fails=True)
    yield Case("WhereAll", lambda x: tf.where(x), [np.ones((3, 5), bool)])
    yield Case("WhereNone", lambda x: tf.where(x), [np.zeros((3, 5), bool)])
    yield Case("WhereEmpty", lambda x: tf.where(x), [np.zeros((3, 0, 2), bool)])
    for dtype in (np.float32, np.float64, ml_dtypes.bfloat16):
        yield Case(f"WhereWild{np.dtype(dtype).name}", lambda x: tf.where(x), [WILD.astype(dtype)])
    for dtype in (np.int8, np.uint8, np.int32, np.int64):
        yield Case(f"Where{np.dtype(dtype).name}", lambda x: tf.where(x), [np.arange(-2, 5).astype(dtype)])
    for data in (M, M[:, 0], M.astype(np.float64), M > 0):
        yield Case(f"BooleanMask{data.dtype}{data.ndim}", lambda x, m: tf.boolean_mask(x, m > 0), [data, M[:, 1]])
    yield Case("BooleanMaskOfPlaces", lambda x, m: tf.boolean_mask(x, m > 0), [X, X[:, :, 0]])
    # Places as tf.where has them, [rows, 1], were taken for a vector: the result lost its axis of one.
    for data in (M, M[:, 0]):
        yield Case(f"GatherWhere{data.ndim}", lambda x, m: tf.gather(x, tf.where(m > 0)), [data, M[:, 1]])
    # The indices of another mask.
    yield Case("GatherSelected", lambda x, m: tf.gather(x, tf.squeeze(tf.where(m > 0), [1])), [X, X[:, 0, 0]])
    yield Case(
        "GatherOfFewer",
        lambda x, m: tf.gather(x, tf.squeeze(tf.where(m > 0), [1])),
        [np.arange(40, dtype=np.float32), M[:, 2]],
    )
    yield Case(
        "WhereThenAnything", lambda x: tf.where(x > 0) * 2, [X], refused="only values tell how many rows input 0 has"
    )


def unique_cases():
    yield Case("Unique", lambda x: raw.Unique(x=x), [np.array([7, 3, 7, 9, 3, 3], np.int32)])
    yield Case("UniqueEmpty", lambda x: raw.Unique(x=x), [np.zeros((0,), np.int64)])
    for dtype in (np.float32, np.float64):
        yield Case(f"UniqueWild{np.dtype(dtype).name}", lambda x: raw.Unique(x=x), [WILD.astype(dtype)])
    for dtype in (np.bool_, np.int8, np.uint16, np.int64):
        yield Case(
            f"UniqueWithCounts{np.dtype(dtype).name}",
            lambda x: raw.UniqueWithCounts(x=x, out_idx=tf.int64),
            [RNG.integers(0, 20, 50).astype(dtype)],
        )
    ids = RNG.integers(0, 20, 50)
    for op in (raw.UniqueV2, raw.UniqueWithCountsV2):
        for axis in ((), (0,), (-1,)):

            def unique(x, op=op, axis=axis):
                return op(x=x, axis=tf.constant(axis, tf.int32, [len(axis)]))

            yield Case(f"{op.__name__}{axis}", unique, [ids])
        for rows in (ids.reshape(25, 2) % 3, WILD[RNG.integers(0, 9, (40, 2))], X[:0], np.zeros((3, 0), np.int8)):
            name = f"{op.__name__}Rows{rows.dtype}{rows.shape}"
            yield Case(name, lambda x, op=op: op(x=x, axis=tf.constant([0])), [rows])
    yield Case(
        "UniqueColumns",
        lambda x: raw.UniqueV2(x=x, axis=tf.constant([1])),
        [ids.reshape(25, 2)],
        refused="along axis 1",
    )
    yield Case("UniqueValuesOnly", lambda x: raw.Unique(x=x)[0], [RNG.integers(0, 20, 50)])


def partition_cases():
    parts = RNG.integers(0, 3, 30).astype(np.int32)
    yield Case("DynamicPartition", lambda x, p: tf.dynamic_partition(x, p, 3), [M, parts])
    yield Case("DynamicPartitionVector", lambda x, p: tf.dynamic_partition(x, p, 4), [M[:, 0], parts])
    yield Case(
        "DynamicPartitionPlaces", lambda x, p: tf.dynamic_partition(x, p, 3), [X, parts[:24].reshape(4, 6)]
    )
    yield Case("DynamicPartitionScalar", lambda x, p: tf.dynamic_partition(x, p, 2), [M, np.int32(1)])
    yield Case("DynamicPartitionOutside", lambda x, p: tf.dynamic_partition(x, p, 2), [M, parts], fails=True)


def difference_cases():
    for dtype in (np.int32, np.int64, np.uint8, np.float32, np.float64):
        values = (WILD if np.dtype(dtype).kind == "f" else np.array([5, 3, 5, 9, 1, 0, 3])).astype(dtype)
        others = np.array([1, 0, 9], dtype)
        yield Case(f"ListDiff{np.dtype(dtype).name}", lambda x, y: raw.ListDiff(x=x, y=y), [values, others])
    yield Case(
        "ListDiff64", lambda x, y: raw.ListDiff(x=x, y=y, out_idx=tf.int64), [np.arange(9), np.arange(2, 5)]
    )
    for x, y in ((0, 3), (3, 0), (0, 0), (1, 1)):
        name = f"ListDiffOf{x}And{y}"
        yield Case(name, lambda x, y: raw.ListDiff(x=x, y=y), [np.arange(x), np.arange(y)])
    # A single value is a constant that regions of kernels might take in.
    yield Case("ListDiffConstant", lambda x: raw.ListDiff(x=x * 2, y=[4.0]), [np.arange(9, dtype=np.float32)])


def stitch_cases():
    order = RNG.permutation(30).astype(np.int32)
    for op in (tf.dynamic_stitch, raw.ParallelDynamicStitch):
        name = op.__name__
        yield Case(f"{name}Rows", lambda x, i, op=op: op(indices=[i[:12], i[12:]], data=[x[:12], x[12:]]), [M, order])
        yield Case(f"{name}Vector", lambda x, i, op=op: op(indices=[i], data=[x]), [M[:, 0], order])
    yield Case("StitchTwice", lambda x, i: tf.dynamic_stitch([i, i], [x, x * 2]), [M, order])
    yield Case("StitchFewer", lambda x, i: tf.dynamic_stitch([i // 2], [x]), [M, order])
    yield Case(
        "StitchPlaces",
        lambda x, i, j: tf.dynamic_stitch([i, j], [x[:5, 0], x[6, 1]]),
        [X[:2].reshape(10, 2, 3), np.arange(1, 6).astype(np.int32), np.int32(0)],
    )
    yield Case("StitchNothing", lambda x, i: tf.dynamic_stitch([i], [x]), [M[:0], order[:0]])
    yield Case("StitchOne", lambda x, i: tf.dynamic_stitch([i], [x]), [M[:1], np.array([0], np.int32)])
    yield Case("StitchKnown", lambda x: tf.dynamic_stitch([[2, 0], [1]], [x[:2], x[2:3]]) * 2, [M])
    for dtype in (np.bool_, np.int8, np.float16, np.int64):
        rows = (M * 9).astype(dtype)
        yield Case(f"Stitch{np.dtype(dtype).name}", lambda x, i: tf.dynamic_stitch([i], [x]), [rows, order])
    # More rows than there are: the number is unknown, so TensorFlow's kernel must answer.
    yield Case("StitchBefore", lambda x, i: tf.dynamic_stitch([i - 1], [x]), [M, order], fails=True)
    yield Case(
        "StitchShape",
        lambda x: tf.reshape(
            x, tf.dynamic_stitch([[1], [0, 2]], [tf.shape(x)[:1], tf.stack([tf.shape(x)[2], tf.shape(x)[1]])])
        ),
        [X],
        dynamic=True,
    )


def boxes_of(count, seed=3):
    """Boxes, many of which overlap, corners in any order, and scores with ties."""
    rng = np.random.default_rng(seed)
    boxes = rng.integers(0, 12, (count, 4)).astype(np.float32) / 8
    return boxes, rng.integers(-4, 9, count).astype(np.float32) / 8


def suppress(op, most=5, overlap=0.4, **limits):
    if "score_threshold" in op.__doc__:
        limits.setdefault("score_threshold", -np.inf)
    if "soft_nms_sigma" in op.__doc__:
        limits.setdefault("soft_nms_sigma", 0.0)
    return lambda boxes, scores: op(
        boxes=boxes, scores=scores, max_output_size=most, iou_threshold=overlap, **limits
    )


def suppression_cases():
    boxes, scores = boxes_of(40)
    versions = (
        raw.NonMaxSuppression,
        raw.NonMaxSuppressionV2,
        raw.NonMaxSuppressionV3,
        raw.NonMaxSuppressionV4,
        raw.NonMaxSuppressionV5,
    )
    for op in versions:
        for count in (0, 1, 40):
            yield Case(f"{op.__name__}Of{count}", suppress(op), boxes_of(count))
        for most in (0, 7, 99):
            yield Case(f"{op.__name__}Most{most}", suppress(op, most, 0.6), [boxes, scores])
        for overlap in (0.0, 1.0):
            yield Case(f"{op.__name__}Overlap{overlap}", suppress(op, 40, overlap), [boxes, scores])
        lowest = scores.copy()
        lowest[::3] = np.resize([np.nan, -np.inf, np.inf, np.finfo(np.float32).min], 14)
        yield Case(f"{op.__name__}WildScores", suppress(op, 40), [boxes, lowest])
        wild = boxes.copy()
        wild[::5, 2] = np.resize([np.nan, np.inf, -np.inf, 3e38], 8)
        yield Case(f"{op.__name__}WildBoxes", suppress(op, 40), [wild, scores])
        yield Case(f"{op.__name__}Negative", suppress(op, -1), [boxes, scores], refused="a negative size")
    v3, v4, v5 = versions[2:]
    yield Case("SuppressionScores", suppress(v3, 40, score_threshold=0.25), [boxes, scores])
    yield Case("SuppressionNanThreshold", suppress(v3, 40, score_threshold=np.nan), [boxes, scores])
    for op in (v4, v5):
        for most in (0, 7, 99):
            padded = suppress(op, most, pad_to_max_output_size=True)
            yield Case(f"{op.__name__}PaddedTo{most}", padded, [boxes, scores])
            yield Case(f"{op.__name__}PaddedTo{most}Of0", padded, boxes_of(0))
    for sigma in (0.3, 5.0):
        soft = suppress(v5, 30, 1.0, soft_nms_sigma=sigma, score_threshold=0.05)
        yield Case(f"SuppressionSoft{sigma}", soft, [boxes, scores])
    half = tf.constant(0.4, tf.float16)
    yield Case("SuppressionHalfThreshold", suppress(v3, 40, half, score_threshold=half), [boxes, scores])
    for overlap in (-0.1, 1.1, np.nan):
        yield Case(f"SuppressionOverlap{overlap}", suppress(v3, 5, overlap), [boxes, scores], fails=True)
    yield Case("SuppressionSigma", suppress(v5, soft_nms_sigma=-1.0), [boxes, scores], fails=True)
    most = np.array(6, np.int32)
    yield Case(
        "SuppressionOfUnknownNumber",
        lambda b, s, most: tf.gather(b * 2, tf.image.non_max_suppression(b, s, most)),
        [boxes, scores, most],
    )
    yield Case(
        "SuppressedRowsOfNone", lambda b, s: tf.gather(b, tf.image.non_max_suppression(b, s, 3)), boxes_of(0)
    )
    yield Case(
        "SuppressionNegativeNumber",
        lambda b, s, most: tf.image.non_max_suppression(b, s, most),
        [boxes, scores, -most],
        fails=True,
    )


def counting_cases():
    predictions = np.round(RNG.normal(0, 2, (7, 5)), 1).astype(np.float32)
    predictions[3] = 1  # a row of ties
    wild = predictions.copy()
    wild[0, 1], wild[1, 2], wild[2, 0] = np.nan, np.inf, -np.inf
    targets = np.array([0, 4, 1, 2, 5, -1, 3], np.int32)
    for name, x in (("", predictions), ("OfWild", wild), ("OfNoRows", predictions[:0])):
        for k in (0, 1, 3, 9):
            for dtype in (np.int32, np.int64):
                yield Case(f"InTopK{name}{k}{np.dtype(dtype)}", lambda x, t, k=k: tf.math.in_top_k(t, x, k),
                           [x, targets[:len(x)].astype(dtype)])
    boundaries = [-3.5, -1.0, 0.0, 0.0, 2.5]
    values = np.array([-9, -3.5, -1.01, -0.0, 0, 1e-9, 2.5, 3, np.inf, -np.inf, np.nan])
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        x = (values if np.dtype(dtype).kind == "f" else values[:8]).astype(dtype)
        yield Case(f"Bucketize{np.dtype(dtype)}", lambda x: raw.Bucketize(input=x, boundaries=boundaries), [x])
    yield Case("BucketizeOfNothing", lambda x: raw.Bucketize(input=x, boundaries=boundaries),
               [np.zeros((2, 0), np.float32)])
    a, b = (RNG.normal(0, 1, (4, 2, 3)) for _ in range(2))
    for dtype in (np.float32, np.float64, np.int32):
        yield Case(f"Cross{np.dtype(dtype)}", lambda a, b: tf.linalg.cross(a, b),
                   [(3 * a).astype(dtype), (3 * b).astype(dtype)], rel=1e-6)


CASES = [
    *counting_cases(),
    *where_cases(),
    *difference_cases(),
    *stitch_cases(),
    *unique_cases(),
    *partition_cases(),
    *suppression_cases(),
]
