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


CASES = [*where_cases(), *unique_cases(), *partition_cases()]
