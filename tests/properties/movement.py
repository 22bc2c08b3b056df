"""Rows that move elements or compute with shapes."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tests.properties.draw import C64, FLOATS, INDICES, INTS, SIGNED, UNSIGNED, WIDE, Case, Draw, raw, rows


@rows("Identity PreventGradient Snapshot StopGradient")
def same(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank()
    return Case(lambda x: raw(d.op, x), lambda: [d.values(dtype, d.shape(rank), wild=True)], signs=dtype in FLOATS,
                gradient=d.op == "Identity")


@rows("IdentityN")
def same_of_many(d: Draw) -> Case:
    types, ranks = [d.any(), d.any()], [d.rank(), d.rank()]
    return Case(lambda *xs: raw(d.op, list(xs)), lambda: [d.values(t, d.shape(r)) for t, r in zip(types, ranks)])


@rows("Const")
def constant(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank()
    value = d.values(dtype, d.shape(rank), wild=True)
    return Case(lambda x: [tf.constant(value), x + 1], lambda: [d.values(FLOATS[0], d.shape(1))], gradient=False)


@rows("EnsureShape")
def ensure(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank()
    known = [d.size(1, 4) if d.chance(0.3) else None for _ in range(rank)]

    def inputs() -> list[np.ndarray]:
        shape = [k if k is not None and d.chance(0.9) else s for k, s in zip(known, d.shape(rank))]
        return [d.values(dtype, shape)]

    return Case(lambda x: tf.ensure_shape(x, known), inputs)


@rows("Reshape")
def reshape(d: Draw) -> Case:
    dtype, rank, kind = d.any(), d.rank(), d.pick("flat", "merge", "split", "turn", "argument", "same")
    rank = max(rank, 1)
    functions = {
        "flat": lambda x: tf.reshape(x, [-1]), "merge": lambda x: tf.reshape(x, [-1, tf.shape(x)[-1]]),
        "split": lambda x: tf.reshape(x, tf.concat([tf.shape(x)[:-1], [1], tf.shape(x)[-1:]], 0)),
        "turn": lambda x: tf.reshape(x, tf.reverse(tf.shape(x), [0])), "same": lambda x: tf.reshape(x, tf.shape(x)),
        "argument": lambda x: tf.reshape(x, tf.stack([tf.size(x) // 2, -1]))}
    return Case(functions[kind], lambda: [d.values(dtype, d.shape(rank))])


@rows("Squeeze")
def squeeze(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank(1)
    axes = sorted({d.axis(rank) % rank for _ in range(d.between(0, 2))})
    given = [a - rank if d.chance(0.4) else a for a in axes]

    def inputs() -> list[np.ndarray]:
        return [d.values(dtype, [1 if i in axes or (not axes and d.chance(0.3)) else s for i, s in enumerate(d.shape(rank))])]

    return Case(lambda x: raw(d.op, x, axis=given), inputs, unknown=bool(axes))


@rows("ExpandDims")
def expand(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank(0, 4)
    axis = d.between(-rank - 1, rank)
    return Case(lambda x: getattr(tf.raw_ops, d.op)(input=x, axis=axis), lambda: [d.values(dtype, d.shape(rank))])


@rows("Transpose ConjugateTranspose")
def transpose(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank()
    order = d.rng.sample(range(rank), rank)
    order = np.array(order, d.index_type)
    return Case(lambda x: raw(d.op, x, order), lambda: [d.values(dtype, d.shape(rank))])


@rows("InvertPermutation")
def invert_permutation(d: Draw) -> Case:
    def inputs() -> list[np.ndarray]:
        n = d.size()
        return [d.numbers.permutation(n).astype(d.index_type)]

    return Case(lambda x: raw(d.op, x), inputs, gradient=False)


def side_by_side(d: Draw, rank: int, axis: int, count: int, most: int) -> list[list[int]]:
    """Shapes that differ along an axis alone, where each has at most `most`."""
    shapes = [d.shape(rank)] * count
    return [[*shape[:axis], d.size(0, most), *shape[axis:][1:]] for shape in shapes]


@rows("Concat ConcatV2")
def concatenate(d: Draw) -> Case:
    dtype, rank, count = d.any(), d.rank(1), d.between(2, 5)
    axis = d.axis(rank)

    def inputs() -> list[np.ndarray]:
        return [d.values(dtype, s) for s in side_by_side(d, rank, axis, count, 9 if rank > 2 else 33)]

    return Case(lambda *xs: raw(d.op, axis % rank, list(xs)) if d.op == "Concat" else raw(d.op, list(xs), axis), inputs)


@rows("ConcatOffset")
def offsets(d: Draw) -> Case:
    rank, count = d.rank(1), d.between(2, 4)
    axis = d.between(0, rank - 1)

    def inputs() -> list[np.ndarray]:
        return [d.values(FLOATS[0], s) for s in side_by_side(d, rank, axis, count, 9)]

    return Case(lambda *xs: raw(d.op, axis, [tf.shape(x) for x in xs]), inputs, gradient=False)


@rows("Pack")
def pack(d: Draw) -> Case:
    dtype, rank, count = d.any(), d.rank(0, 4), d.between(1, 4)
    axis = d.between(-rank - 1, rank)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        return [d.values(dtype, shape) for _ in range(count)]

    return Case(lambda *xs: raw(d.op, list(xs), axis=axis), inputs)


@rows("Unpack")
def unpack(d: Draw) -> Case:
    dtype, rank, count = d.any(), d.rank(1), d.between(1, 4)
    axis = d.axis(rank)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        shape[axis] = count
        return [d.values(dtype, shape)]

    return Case(lambda x: raw(d.op, x, num=count, axis=axis), inputs)


@rows("Split SplitV")
def split(d: Draw) -> Case:
    dtype, rank, count = d.any(), d.rank(1), d.between(1, 4)
    axis = d.axis(rank)
    sizes = [d.size(0, 5) for _ in range(count)]
    given = [*sizes]
    if d.chance(0.4):
        given[d.between(0, count - 1)] = -1

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        if d.op == "Split":
            shape[axis] = count * d.size(0, 5)
        else:
            shape[axis] = sum(sizes) + (d.between(0, 3) if -1 in given and given == sizes else 0)
        return [d.values(dtype, shape)]

    if d.op == "Split":
        return Case(lambda x: getattr(tf.raw_ops, d.op)(axis=axis, value=x, num_split=count), inputs)
    return Case(lambda x: getattr(tf.raw_ops, d.op)(value=x, size_splits=tf.constant(given, tf.int32), axis=axis, num_split=count),
                inputs)


@rows("Tile")
def tile(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank(0, 4)
    times = np.array([d.pick(0, 1, 1, 2, 3) for _ in range(rank)], d.index_type)
    return Case(lambda x: raw(d.op, x, times), lambda: [d.values(dtype, np.minimum(d.shape(rank), 30))])


@rows("BroadcastTo")
def broadcast(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank(0, 4)
    few = d.between(0, rank)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        return [d.values(dtype, d.stretched(shape, few)), np.zeros(shape, np.float32)]

    return Case(lambda x, y: raw(d.op, x, tf.shape(y)), inputs)


@rows("BroadcastArgs")
def broadcast_shapes(d: Draw) -> Case:
    ranks = [d.rank(), d.rank()]

    def inputs() -> list[np.ndarray]:
        shape = d.shape(max(ranks))
        return [np.zeros(d.stretched(shape, r), np.float32) for r in ranks]

    return Case(lambda x, y: raw(d.op, tf.shape(x), tf.shape(y)), inputs, gradient=False)


@rows("BroadcastGradientArgs")
def reduced_axes(d: Draw) -> Case:
    ranks = [d.rank(1), d.rank(1)]

    def inputs() -> list[np.ndarray]:
        shape = d.shape(max(ranks))
        return [d.values(FLOATS[0], d.stretched(shape, r)) for r in ranks]

    def function(x: tf.Tensor, y: tf.Tensor) -> list[tf.Tensor]:
        axes = raw(d.op, tf.shape(x), tf.shape(y))
        # An axis of which only the call tells that both sizes are 1 may be left out: there is nothing to add.
        known = axes if d.signature == "static" else []
        return [*known, tf.reshape(tf.reduce_sum(x + y, axes.r0), tf.shape(x)), tf.reshape(tf.reduce_sum(x + y, axes.r1), tf.shape(y))]

    return Case(function, inputs, exact=False, gradient=False)


@rows("Reverse ReverseV2")
def reverse(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank()
    axes = sorted({a % rank for a in d.axes(rank)}) if rank else []
    if d.op == "Reverse":
        flags = [i in axes for i in range(rank)]
        return Case(lambda x: raw(d.op, x, tf.constant(flags, tf.bool, [rank])), lambda: [d.values(dtype, d.shape(rank))])
    given = np.array(axes, d.index_type)
    return Case(lambda x: raw(d.op, x, given), lambda: [d.values(dtype, d.shape(rank))])


@rows("ReverseSequence")
def reverse_sequence(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank(2, 4)
    batch, along = d.rng.sample(range(rank), 2)

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        lengths = np.abs(d.indices(shape[along] + 1, [shape[batch]], 0.03)).astype(d.index_type)
        return [d.values(dtype, shape), lengths]

    return Case(lambda x, n: raw(d.op, x, n, seq_dim=along, batch_dim=batch), inputs)


@rows("Roll")
def roll(d: Draw) -> Case:
    dtype, rank, count = d.any(), d.rank(1), d.between(1, 3)
    shifts = np.array([d.between(-9, 9) for _ in range(count)], d.index_type)
    axes = np.array([d.axis(rank) for _ in range(count)], d.index_type)
    if d.chance(0.4):
        return Case(lambda x, at: raw(d.op, x, at + shifts, axes), lambda: [d.values(dtype, d.shape(rank)), d.place()])
    return Case(lambda x: raw(d.op, x, shifts, axes), lambda: [d.values(dtype, d.shape(rank))])


@rows("Slice")
def slice_(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank()
    begin = np.array([d.pick(0, 0, 1, 2) for _ in range(rank)], d.index_type)
    size = np.array([d.pick(-1, -1, 0, 1, 2) for _ in range(rank)], d.index_type)
    if d.chance(0.4):
        size = np.maximum(size, 0)
        return Case(lambda x, at: raw(d.op, x, at + begin, size),
                    lambda: [d.values(dtype, d.shape(rank) + begin + size), d.place(0)])
    return Case(lambda x: raw(d.op, x, begin, size),
                lambda: [d.values(dtype, np.maximum(d.shape(rank), begin + np.maximum(size, 0) - d.chance(0.03)))])


def slicing(d: Draw, rank: int) -> dict:
    n = max(rank, 1) if d.chance(0.7) else d.between(0, rank)
    spec = {k: np.array([choice() for _ in range(n)], d.index_type) for k, choice in (
        ("begin", lambda: d.between(-5, 5)), ("end", lambda: d.between(-5, 9)), ("strides", lambda: d.pick(1, 1, 2, 3, -1, -2)))}
    masks = dict(begin_mask=d.between(0, 31) if d.chance(0.5) else 0, end_mask=d.between(0, 31) if d.chance(0.5) else 0,
                 shrink_axis_mask=d.pick(0, 0, 1, 2), new_axis_mask=d.pick(0, 0, 0, 1, 2), ellipsis_mask=d.pick(0, 0, 0, 1, 2))
    return {**spec, **masks}


def moved(options: dict, at: tf.Tensor) -> dict:
    """The same slice at a place that is data."""
    return {**options, "begin": at + options["begin"], "end": at + options["end"]}


@rows("StridedSlice")
def strided_slice(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank(1)
    options = slicing(d, rank)
    if d.chance(0.4):
        return Case(lambda x, at: getattr(tf.raw_ops, d.op)(input=x, **moved(options, at)),
                    lambda: [d.values(dtype, d.shape(rank)), d.place()])
    return Case(lambda x: getattr(tf.raw_ops, d.op)(input=x, **options), lambda: [d.values(dtype, d.shape(rank))])


@rows("StridedSliceGrad TensorStridedSliceUpdate")
def put_slice(d: Draw) -> Case:
    """The slice itself says which shape its gradient has."""
    dtype, rank = d.pick(*FLOATS, *SIGNED), d.rank(1, 4)
    options = slicing(d, rank)

    def function(x: tf.Tensor, at: object = 0) -> tf.Tensor:
        spec = options if isinstance(at, int) else moved(options, at)
        part = tf.raw_ops.StridedSlice(input=x, **spec) * 2
        if d.op == "StridedSliceGrad":
            return tf.raw_ops.StridedSliceGrad(shape=tf.shape(x, tf.as_dtype(d.index_type)), dy=part, **spec)
        return tf.raw_ops.TensorStridedSliceUpdate(input=x, value=part, **spec)

    more = [d.place()] if d.chance(0.4) else []
    return Case(function, lambda: [d.values(dtype, d.shape(rank)), *more])


@rows("Pad PadV2 MirrorPad")
def pad(d: Draw) -> Case:
    dtype, rank, mode = d.any(), d.rank(0, 4), d.pick("REFLECT", "SYMMETRIC")
    pads = np.array([[d.between(0, 2), d.between(0, 2)] for _ in range(rank)], d.index_type).reshape(rank, 2)
    if d.op == "MirrorPad":
        return Case(lambda x: raw(d.op, x, pads, mode=mode), lambda: [d.values(dtype, np.maximum(d.shape(rank), 3 - d.chance(0.1)))])
    more = [d.values(dtype, [], tame=True)] if d.op == "PadV2" else []
    return Case(lambda x: raw(d.op, x, pads, *more), lambda: [d.values(dtype, d.shape(rank))])


@rows("MirrorPadGrad")
def pad_gradient(d: Draw) -> Case:
    dtype, rank, mode = d.float(), d.rank(1, 4), d.pick("REFLECT", "SYMMETRIC")
    pads = np.array([[d.between(0, 2), d.between(0, 2)] for _ in range(rank)], d.index_type)
    return Case(lambda x: raw(d.op, x, pads, mode=mode),
                lambda: [d.values(dtype, np.maximum(d.shape(rank), 3 + pads.sum(1)), tame=True)], exact=False, gradient=False)


@rows("BatchToSpace BatchToSpaceND SpaceToBatch SpaceToBatchND")
def blocks(d: Draw) -> Case:
    dtype, spatial = d.pick(*FLOATS, *SIGNED, C64), 2 if not d.op.endswith("ND") else d.between(1, 3)
    squares = not d.op.endswith("ND")
    block = [d.between(1 if not squares else 2, 3) for _ in range(spatial)]
    if squares:
        block = [block[0]] * 2
    pads = [[d.between(0, 2), d.between(0, 2)] for _ in range(spatial)]
    rest = 1 if squares else d.between(0, 2)

    def inputs() -> list[np.ndarray]:
        batch, tail = d.pick(1, 2, 3), [d.size(1, 5) for _ in range(rest)]
        sizes = [d.between(2, 4) for _ in range(spatial)]
        if d.op.startswith("Batch"):
            sizes = [max(s, -(-sum(p) // b)) for s, p, b in zip(sizes, pads, block)]
            return [d.values(dtype, [batch * int(np.prod(block)), *sizes, *tail])]
        sizes = [max(0, s * b - sum(p)) for s, p, b in zip(sizes, pads, block)]
        return [d.values(dtype, [batch, *sizes, *tail])]

    if squares:
        return Case(lambda x: raw(d.op, x, pads, block_size=block[0]), inputs)
    return Case(lambda x: raw(d.op, x, block, pads), inputs)


@rows("DepthToSpace SpaceToDepth")
def depth(d: Draw) -> Case:
    dtype, block = d.any(), d.between(2, 3)

    def inputs() -> list[np.ndarray]:
        n, h, w, c = d.size(0, 3), d.size(1, 5), d.size(1, 5), d.size(1, 5)
        return [d.values(dtype, [n, h, w, c * block**2] if d.op.startswith("D") else [n, h * block, w * block, c])]

    return Case(lambda x: raw(d.op, x, block_size=block), inputs)


@rows("Diag DiagPart")
def diagonal(d: Draw) -> Case:
    dtype, rank = d.pick(*FLOATS, *INDICES, C64), d.between(1, 2)

    def inputs() -> list[np.ndarray]:
        shape = np.minimum(d.shape(rank), 9)
        return [d.values(dtype, shape if d.op == "Diag" else [*shape, *shape])]

    return Case(lambda x: raw(d.op, x), inputs)


@rows("MatrixDiag MatrixDiagV2 MatrixDiagV3 MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3")
def matrix_diagonal(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank(2, 4)
    first, third = not d.op.endswith(("V2", "V3")), d.op.endswith("V3")
    k = 0 if first else d.between(-2, 2)
    options = dict(align=d.pick("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")) if third else {}
    fill = d.values(dtype, [], tame=True)

    def inputs() -> list[np.ndarray]:
        shape = [*d.shape(rank)[:-2], d.size(1 if d.chance(0.1) else 3, 9), d.size(1 if d.chance(0.1) else 3, 9)]
        if d.chance(0.5):
            shape[-1] = shape[-2]
        rows_, columns = shape[-2:]
        length = min(rows_ + min(k, 0), columns - max(k, 0))
        if "Set" in d.op:
            return [d.values(dtype, shape), d.values(dtype, [*shape[:-2], max(length, 0)])]
        return [d.values(dtype, shape if "Part" in d.op else shape[:-1])]

    if "Set" in d.op:
        return Case(lambda x, y: raw(d.op, x, y) if first else raw(d.op, x, y, k, **options), inputs)
    if "Part" in d.op:
        return Case(lambda x: raw(d.op, x) if first else raw(d.op, x, k, tf.constant(fill), **options), inputs)
    # The gradient's shapes are wrong in TensorFlow's graphs of unknown sizes.
    return Case(lambda x: raw(d.op, x) if first else raw(d.op, x, k, -1, -1, tf.constant(fill), **options), inputs,
                gradient=first or d.signature == "static")


@rows("MatrixBandPart")
def band(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank(2, 4)
    ends = [d.index_type.type(d.between(-1, 4)) for _ in range(2)]
    return Case(lambda x: raw(d.op, x, *ends), lambda: [d.values(dtype, d.shape(rank))])


@rows("Shape ShapeN Size Rank")
def shape(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank()
    to = {} if d.op == "Rank" else dict(out_type=d.pick(tf.int32, tf.int64))
    return Case(lambda x: raw(d.op, [x, x] if d.op == "ShapeN" else x, **to), lambda: [d.values(dtype, d.shape(rank))],
                gradient=False)


@rows("Fill Empty")
def fill(d: Draw) -> Case:
    dtype, rank = d.any(), d.rank()
    if d.op == "Empty":
        return Case(lambda x: raw(d.op, tf.shape(x), dtype=tf.as_dtype(dtype), init=True), lambda: [d.values(FLOATS[0], d.shape(rank))],
                    gradient=False)
    return Case(lambda x, v: raw(d.op, tf.shape(x), v), lambda: [d.values(FLOATS[0], d.shape(rank)), d.values(dtype, [], wild=True)])


@rows("Range")
def range_(d: Draw) -> Case:
    """Its numbers must be known, or sizes."""
    dtype = d.pick(*INDICES, *WIDE)
    start, step = d.between(0, 9), d.pick(1, 1, 2, 3, -1, -2)
    end = start + step * d.size(0, 100) + d.between(0, 1)

    def function(x: tf.Tensor) -> tf.Tensor:
        if dtype in INDICES and d.signature != "static":
            return raw(d.op, tf.constant(start, dtype), tf.shape(x, tf.as_dtype(dtype))[0] * step + start, tf.constant(step, dtype))
        return raw(d.op, *(tf.constant(v, dtype) for v in (start, end, step)))

    return Case(function, lambda: [d.values(FLOATS[0], d.shape(1))], gradient=False)


@rows("LinSpace")
def steps(d: Draw) -> Case:
    dtype, n = d.of(*WIDE), d.pick(1, 2, 3, 7, 50)
    return Case(lambda a, b: raw(d.op, a, b, n), lambda: [d.values(dtype, [], tame=True), d.values(dtype, [], tame=True)], exact=False,
                gradient=False, slack=2)


@rows("DataFormatDimMap DataFormatVecPermute")
def formats(d: Draw) -> Case:
    forms = d.rng.sample(["NHWC", "NCHW", "HWNC"], 2)
    if d.op == "DataFormatDimMap":
        rank = d.rank()
        return Case(lambda x: raw(d.op, x, src_format=forms[0], dst_format=forms[1]),
                    lambda: [d.numbers.integers(-4, 4, d.shape(rank)).astype(d.index_type)], gradient=False)
    tail = d.pick([], [2])
    return Case(lambda x: raw(d.op, x, src_format=forms[0], dst_format=forms[1]), lambda: [d.values(d.index_type, [4, *tail])],
                gradient=False)


@rows("Cross")
def cross(d: Draw) -> Case:
    dtype, rank = d.pick(*FLOATS, *SIGNED), d.rank(1)

    def inputs() -> list[np.ndarray]:
        shape = [*d.shape(rank)[:-1], 3]
        return [d.values(dtype, shape, tame=True), d.values(dtype, shape, tame=True)]

    return Case(lambda x, y: raw(d.op, x, y), inputs, exact=dtype in INTS)


@rows("BiasAdd BiasAddV1")
def bias(d: Draw) -> Case:
    dtype, rank = d.pick(*FLOATS, *SIGNED[:2], C64), d.rank(2)
    form = d.pick("NHWC", "NCHW") if rank > 2 else "NHWC"
    options = dict(data_format=form) if d.op == "BiasAdd" else {}

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank)
        return [d.values(dtype, shape, wild=True), d.values(dtype, [shape[1 if options and form == "NCHW" else -1]])]

    return Case(lambda x, b: raw(d.op, x, b, **options), inputs)
