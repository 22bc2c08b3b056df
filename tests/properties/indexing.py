"""Rows that read or write at places which values name."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tests.properties.draw import BOOL, FLOATS, INTS, SIGNED, WIDE, Case, Draw, raw, rows


@rows("Gather GatherV2")
def gather(d: Draw) -> Case:
    dtype, rank, index_rank = d.any(), d.rank(1, 4), d.between(0, 2)
    axis = d.axis(rank) if d.op == "GatherV2" else 0
    batch = d.between(0, min(axis % rank, index_rank)) if d.op == "GatherV2" and d.chance(0.3) else 0

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        places = [*shape[:batch], *[d.size(0, 9) for _ in range(index_rank - batch)]]
        return [d.values(dtype, shape), d.indices(shape[axis], places)]

    if d.op == "Gather":
        return Case(lambda x, i: raw(d.op, x, i), inputs)
    return Case(lambda x, i: raw(d.op, x, i, axis, batch_dims=batch), inputs)


def points(d: Draw, shape: list[int], count: list[int], depth_: int, outside: float = 0.05) -> np.ndarray:
    return np.stack([d.indices(s, count, outside) for s in shape[:depth_]], -1) if depth_ else np.zeros([*count, 0], d.index_type)


@rows("GatherNd")
def gather_points(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank(1, 4)
    depth_, index_rank = d.between(0, rank), d.between(0, 2)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        return [d.values(dtype, shape), points(d, shape, [d.size(0, 9) for _ in range(index_rank)], depth_)]

    return Case(lambda x, i: raw(d.op, x, i), inputs)


@rows("ScatterNd TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub TensorScatterUpdate")
def scatter(d: Draw) -> Case:
    dtype, rank = d.pick(*FLOATS[:2], d.float(), *SIGNED), d.rank(1, 4)
    depth_, index_rank = d.between(1, rank), d.between(1, 2)
    unique = d.op == "TensorScatterUpdate"  # of two updates either may be the last

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        count = [d.size(0, 9) for _ in range(index_rank)]
        at = points(d, shape, count, depth_)
        if unique:
            flat, places = at.reshape(-1, depth_), d.numbers.permutation(int(np.prod(shape[:depth_])))
            n = min(len(flat), len(places))
            at = np.stack(np.unravel_index(places[:n], shape[:depth_]), -1).astype(d.index_type)
            if index_rank == 2:
                at = at[None]
            count = list(at.shape[:-1])
        updates = d.values(dtype, [*count, *shape[depth_:]], tame=True)
        return [np.zeros(shape, np.float32) if d.op == "ScatterNd" else d.values(dtype, shape, tame=True), at, updates]

    exact = dtype in INTS or d.op.endswith(("Max", "Min", "Update"))
    if d.op == "ScatterNd":
        return Case(lambda x, i, u: raw(d.op, i, u, tf.shape(x, i.dtype)), inputs, exact=exact)
    return Case(lambda x, i, u: raw(d.op, x, i, u), inputs, exact=exact)


@rows("OneHot")
def one_hot(d: Draw) -> Case:
    dtype, rank, n = d.any(), d.rank(0, 3), d.pick(0, 1, 3, 9)
    axis, values = d.between(-1, rank), [d.values(dtype, [], tame=True) for _ in range(2)]
    return Case(lambda i: raw(d.op, i, n, *map(tf.constant, values), axis=axis), lambda: [d.indices(max(n, 1), d.shape(rank), 0.4)],
                gradient=False)


@rows("DynamicPartition")
def partition(d: Draw) -> Case:
    dtype, rank, count = d.any(), d.rank(1, 3), d.between(1, 4)
    along = d.between(1, rank)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        return [d.values(dtype, shape), d.indices(count, shape[:along]).astype(np.int32)]

    return Case(lambda x, p: raw(d.op, x, p, num_partitions=count), inputs)


@rows("DynamicStitch ParallelDynamicStitch")
def stitch(d: Draw) -> Case:
    dtype, rank, parts = d.any(), d.rank(1, 3), d.between(1, 3)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        order = d.numbers.permutation(shape[0]).astype(np.int32)
        cuts = np.array_split(order, parts)
        return [*cuts, *(d.values(dtype, [len(c), *shape[1:]]) for c in cuts)]

    return Case(lambda *xs: raw(d.op, list(xs[:parts]), list(xs[parts:])), inputs)


@rows("SparseToDense")
def dense(d: Draw) -> Case:
    dtype, rank = d.pick(*WIDE, *SIGNED, BOOL), d.between(1, 3)
    otherwise, one, checked = d.values(dtype, [], tame=True), d.chance(0.3), d.chance(0.7)

    def inputs() -> list[np.ndarray]:
        shape = np.minimum(d.shape(rank, 1), 20)
        places = d.numbers.choice(int(np.prod(shape)), d.between(0, min(8, int(np.prod(shape)))), replace=False)
        at = np.stack(np.unravel_index(np.sort(places), shape), -1).astype(d.index_type)
        if d.chance(0.06) and at.size:
            at[0] = d.pick(-1, 99)
        return [at, np.zeros(shape, np.float32), d.values(dtype, [] if one else [len(places)])]

    return Case(lambda i, x, v: raw(d.op, i, tf.shape(x, i.dtype), v, tf.constant(otherwise), validate_indices=checked), inputs,
                gradient=False)
