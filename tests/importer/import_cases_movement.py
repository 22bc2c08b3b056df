"""Cases of ops that move data or compute with shapes; import_oracle.py runs them."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from import_oracle import Case

raw = tf.raw_ops
RNG = np.random.default_rng(6)
X = RNG.normal(0, 1, (4, 6, 5)).astype(np.float32)
IMAGE = RNG.normal(0, 1, (2, 4, 6, 8)).astype(np.float32)
M = RNG.normal(0, 1, (3, 4)).astype(np.float32)
I = np.arange(24, dtype=np.int32).reshape(4, 6)


def reshape_cases():
    yield Case("Reshape", lambda x: tf.reshape(x, [2, -1, 5]), [X])
    yield Case("ReshapeByShape", lambda x: tf.reshape(x, [tf.shape(x)[0], -1]), [X])
    yield Case(
        "ReshapeByArithmetic",
        lambda x: tf.reshape(x, tf.stack([tf.shape(x)[0] * tf.shape(x)[1] // 2, -1])),
        [X],
    )
    yield Case("ReshapeByArgument", lambda x, s: tf.reshape(x, s), [X, np.array([24, 5], np.int32)])
    yield Case(
        "ReshapeByComputedArgument",
        lambda x, s: tf.reshape(x, tf.concat([s * 2, [-1]], 0)),
        [X, np.array([3, 2], np.int32)],
    )
    yield Case("ReshapeEmpty", lambda x: tf.reshape(x, [3, 0]), [np.zeros((0, 4), np.float32)])
    for shape, to in (((5, 0), [-1, 0]), ((0,), [-1, 0]), ((0, 6), [0, 2, -1])):  # zeros do not count
        yield Case(f"ReshapeOf{shape}To{to}", lambda x, to=to: tf.reshape(x, to), [np.zeros(shape, np.float32)])
    yield Case("ReshapeMerge", lambda x: tf.reshape(x, [-1, tf.shape(x)[2]]), [X])
    yield Case("Squeeze", lambda x: tf.squeeze(x, [1, -1]), [X[:, :1, :, None]])
    yield Case("SqueezeAll", lambda x: tf.squeeze(x), [X[:1, :, :1]])
    for axis in (0, 1, -1):
        yield Case(f"ExpandDims{axis}", lambda x, a=axis: tf.expand_dims(x, a), [M])
        yield Case(f"Pack{axis}", lambda x, a=axis: tf.stack([x, x + 1], a), [M])
    yield Case("Transpose", lambda x: tf.transpose(x, [2, 0, 1]), [X])
    # Which fails in TensorFlow.
    yield Case("TransposeTwice", lambda x: tf.transpose(x, [0, 0, 1]), [X], refused="dimension 0 twice in a permutation")
    yield Case("ConjugateTranspose", lambda x: raw.ConjugateTranspose(x=x, perm=[1, 0]), [M])
    yield Case("InvertPermutation", lambda x: tf.transpose(x, tf.math.invert_permutation([2, 0, 1])), [X])
    for axis in (0, 2, -2):
        yield Case(f"ConcatV2{axis}", lambda x, a=axis: tf.concat([x, x * 2, x], a), [X])
    yield Case("Concat", lambda x: raw.Concat(concat_dim=1, values=[x, -x]), [X])
    yield Case("ConcatUneven", lambda x, y: tf.concat([x, y, x[:0]], 0), [M, M[:1]])
    yield Case("Tile", lambda x: tf.tile(x, [2, 1, 3]), [X])
    yield Case("TileNone", lambda x: tf.tile(x, [0, 2]), [M])
    yield Case("BroadcastTo", lambda x: tf.broadcast_to(x, [2, 3, 4]), [M[:1]])
    yield Case("ReverseV2", lambda x: tf.reverse(x, [0, -1]), [X])
    yield Case("Reverse", lambda x: raw.Reverse(tensor=x, dims=[True, False]), [M])
    yield Case("Roll", lambda x: tf.roll(x, [2, -1, 7], [0, 1, 1]), [X])
    yield Case("DepthToSpace", lambda x: tf.nn.depth_to_space(x, 2), [IMAGE])
    yield Case("SpaceToDepth", lambda x: tf.nn.space_to_depth(x, 2), [IMAGE])
    yield Case("SpaceToBatch", lambda x: tf.space_to_batch(x, [2, 3], [[0, 2], [1, 2]]), [IMAGE])
    yield Case("BatchToSpace", lambda x: tf.batch_to_space(x, [2, 1], [[1, 0], [0, 2]]), [IMAGE])
    yield Case("SpaceToBatchOfSquares", lambda x: raw.SpaceToBatch(input=x, paddings=[[0, 2], [1, 1]], block_size=2),
               [RNG.normal(0, 1, (3, 4, 6, 2)).astype(np.float32)])
    yield Case("BatchToSpaceOfSquares", lambda x: raw.BatchToSpace(input=x, crops=[[1, 0], [0, 2]], block_size=2),
               [RNG.normal(0, 1, (8, 3, 2, 5)).astype(np.float32)])
    for mode in ("REFLECT", "SYMMETRIC"):
        for padding in ([[2, 1], [0, 3]], [[0, 0], [1, 1]], [[0, 2], [0, 0]]):
            yield Case(f"MirrorPadGrad{mode}{padding}",
                       lambda x, p=padding, m=mode: raw.MirrorPadGrad(input=x, paddings=p, mode=m),
                       [RNG.normal(0, 1, (8, 9)).astype(np.float32)])
    sequences = RNG.normal(0, 1, (4, 3, 6, 2)).astype(np.float32)
    for lengths, along, batch in (([1, 6, 0, 2], 2, 0), ([3, 0, 2, 1, 3, 2], 1, 2), ([4, 0, 1], 0, 1)):
        for dtype in (np.int32, np.int64):
            yield Case(f"ReverseSequence{along}{batch}{np.dtype(dtype)}",
                       lambda x, n, s=along, b=batch: tf.reverse_sequence(x, n, seq_axis=s, batch_axis=b),
                       [sequences, np.array(lengths, dtype)])
    for lengths in ([1, 7, 0, 2], [1, -1, 0, 2]):
        yield Case(f"ReverseSequence{lengths}", lambda x, n: tf.reverse_sequence(x, n, seq_axis=2),
                   [sequences, np.array(lengths, np.int32)], fails=True)
    yield Case("ReverseSequenceOfNothing", lambda x, n: tf.reverse_sequence(x, n, seq_axis=1),
               [np.zeros((0, 4), np.float32), np.zeros(0, np.int32)])
    yield Case("EnsureShape", lambda x: tf.ensure_shape(x, [None, x.shape[1]]) + 1, [M])
    for op in ("Identity", "StopGradient", "PreventGradient", "Snapshot"):
        yield Case(op, lambda x, op=op: getattr(raw, op)(input=x), [M])
    yield Case("IdentityN", lambda x, y: tf.identity_n([x, y]), [M, I])


def slice_cases():
    functions = {
        "Row": lambda x: x[1],
        "Last": lambda x: x[-1, :, -2],
        "Part": lambda x: x[1:3, ::2],
        "Backward": lambda x: x[::-1, 4:0:-2],
        "Ellipsis": lambda x: x[..., 2],
        "NewAxis": lambda x: x[:, tf.newaxis, 1:, tf.newaxis],
        "Negative": lambda x: x[-3:-1, :-2],
        "Beyond": lambda x: x[2:100, -100:3],
        "Empty": lambda x: x[3:1],
        "Mixed": lambda x: x[tf.newaxis, 1, ..., ::-1, tf.newaxis],
        "ByShape": lambda x: x[: tf.shape(x)[0] // 2],
        "EmptyBackward": lambda x: x[1:3:-1],
        "All": lambda x: x[:],
    }
    for name, function in functions.items():
        yield Case(f"StridedSlice{name}", function, [X])
    yield Case("StridedSliceByArgument", lambda x, i: x[i], [X, np.int32(2)])
    for name, begin, end, strides, dy in (
        ("Part", [1, 0], [3, 4], [1, 2], M[:2, :2]),
        ("Backward", [3, 3], [0, 0], [-1, -3], M[:3, :1]),
        ("None", [2, 0], [1, 4], [1, 1], M[:0]),
    ):
        yield Case(
            f"StridedSliceGrad{name}",
            lambda dy, b=begin, e=end, s=strides: raw.StridedSliceGrad(
                shape=[5, 4], begin=b, end=e, strides=s, dy=dy
            ),
            [dy],
        )
        yield Case(
            f"TensorStridedSliceUpdate{name}",
            lambda x, dy, b=begin, e=end, s=strides: raw.TensorStridedSliceUpdate(
                input=x, begin=b, end=e, strides=s, value=dy
            ),
            [np.arange(20, dtype=np.float32).reshape(5, 4), dy],
        )
    yield Case(
        "TensorStridedSliceUpdateShrink",
        lambda x, dy: raw.TensorStridedSliceUpdate(
            input=x, begin=[2], end=[3], strides=[1], value=dy, shrink_axis_mask=1
        ),
        [M, M[1].copy()],
    )
    yield Case(
        "StridedSliceGradShrink",
        lambda dy: raw.StridedSliceGrad(
            shape=[5, 4], begin=[2], end=[3], strides=[1], dy=dy, shrink_axis_mask=1
        ),
        [M[0]],
    )
    yield Case("Slice", lambda x: tf.slice(x, [1, 2, 0], [2, -1, 3]), [X])
    yield Case("Split", lambda x: tf.split(x, 3, 1), [X])
    yield Case("SplitV", lambda x: tf.split(x, [1, -1, 2], -1), [X])
    for axis in (0, -1):
        yield Case(f"Unpack{axis}", lambda x, a=axis: tf.unstack(x, axis=a), [M])
    yield Case("Pad", lambda x: tf.pad(x, [[1, 2], [0, 3]]), [M])
    yield Case("PadV2", lambda x: tf.pad(x, [[1, 0], [2, 2]], constant_values=7), [M])
    for mode in ("REFLECT", "SYMMETRIC"):
        yield Case(f"MirrorPad{mode}", lambda x, m=mode: tf.pad(x, [[1, 2], [0, 3]], m), [M])


def index_cases():
    ids = np.array([[3, 0], [1, 1]], np.int32)
    for axis in (0, 1, -1):
        yield Case(f"GatherV2{axis}", lambda x, i, a=axis: tf.gather(x, i, axis=a), [X, ids])
    yield Case("GatherScalar", lambda x, i: tf.gather(x, i, axis=1), [X, np.int64(4)])
    yield Case("GatherNone", lambda x, i: tf.gather(x, i), [X, np.zeros((0,), np.int32)])
    yield Case("Gather", lambda x, i: raw.Gather(params=x, indices=i), [X, ids])
    batch = np.array([[0, 5], [1, 2], [3, 3], [4, 0]], np.int32)
    yield Case("GatherBatch", lambda x, i: tf.gather(x, i, axis=1, batch_dims=1), [X, batch])
    yield Case("GatherBatchLater", lambda x, i: tf.gather(x, i, axis=2, batch_dims=1), [X, batch % 5])
    yield Case("GatherRange", lambda x: tf.gather(x, tf.range(tf.shape(x)[1]), axis=1), [X])
    yield Case("GatherOutside", lambda x, i: tf.gather(x, i), [X, np.array([1, 4], np.int32)], fails=True)
    yield Case("GatherNegative", lambda x, i: tf.gather(x, i), [X, np.array([-1], np.int32)], fails=True)
    points = np.array([[[0, 1], [3, 5]], [[1, 1], [2, 0]]], np.int32)
    yield Case("GatherNd", lambda x, i: tf.gather_nd(x, i), [X, points])
    yield Case("GatherNdRows", lambda x, i: tf.gather_nd(x, i), [X, np.array([[3], [0]], np.int64)])
    yield Case(
        "GatherNdOutside", lambda x, i: tf.gather_nd(x, i), [X, np.array([[0, 6]], np.int32)], fails=True
    )
    at, rows = np.array([[1], [3], [1]], np.int32), M
    yield Case("ScatterNd", lambda i, u: tf.scatter_nd(i, u, [5, 4]), [at, rows])
    yield Case(
        "ScatterNdPoints",
        lambda i, u: tf.scatter_nd(i, u, [3, 4]),
        [np.array([[1, 2], [0, 3]], np.int32), M[0, :2]],
    )
    yield Case("ScatterNdOutside", lambda i, u: tf.scatter_nd(i, u, [2, 4]), [at, rows], fails=True)
    base = np.ones((5, 4), np.float32)
    for op in ("Add", "Sub", "Max", "Min"):
        yield Case(
            f"TensorScatter{op}",
            lambda t, i, u, op=op: getattr(raw, f"TensorScatter{op}")(tensor=t, indices=i, updates=u),
            [base, at, rows],
        )
    yield Case(
        "TensorScatterUpdate", lambda t, i, u: tf.tensor_scatter_nd_update(t, i, u), [base, at[:2], rows[:2]]
    )
    # A point in a tensor without elements was none where its own dimension has some.
    yield Case("GatherNdOfNothing", lambda x, i: tf.gather_nd(x, i), [np.zeros((2, 0), np.float32), np.array([[1]], np.int32)],
               fails=True)
    segments = np.array([2, 0, -1], np.int32)
    yield Case("UnsortedSegmentSum", lambda x, i: tf.math.unsorted_segment_sum(x, i, 4), [M, segments])
    yield Case(
        "UnsortedSegmentSumMatrix",
        lambda x, i: tf.math.unsorted_segment_sum(x, i, 3),
        [M, np.ones((3, 4), np.int32)],
    )
    yield Case(
        "UnsortedSegmentSumOutside",
        lambda x, i: tf.math.unsorted_segment_sum(x, i, 2),
        [M, segments],
        fails=True,
    )
    for name in ("Max", "Min", "Prod"):
        for data in (M, np.round(M).astype(np.int32), M.astype(np.float16), M.astype(np.float64)):
            yield Case(
                f"UnsortedSegment{name}{data.dtype}",
                lambda x, i, n=name: getattr(raw, f"UnsortedSegment{n}")(data=x, segment_ids=i, num_segments=4),
                [data, segments],
            )
    numbers = np.array([[1, 2, 2, 0], [3, 3, 9, 3]], np.int32)
    weights = RNG.normal(0, 1, (2, 4)).astype(np.float32)
    for where, n in (("Row", 1), ("Matrix", slice(None)), ("Scalar", (1, 0))):
        i, w = np.asarray(numbers[n]), np.asarray(weights[n])
        for binary in (False, True):
            bincount = lambda i, w, b=binary: raw.DenseBincount(  # noqa: E731
                input=i, size=tf.cast(4, i.dtype), weights=w, binary_output=b)
            yield Case(f"DenseBincount{where}{binary}", bincount, [i, w])
            for dtype in (np.int32, np.int64, np.float64):
                yield Case(f"DenseBincount{where}{binary}{np.dtype(dtype)}", bincount,
                           [i.astype(np.int64), np.round(w * 9).astype(dtype)])
                yield Case(f"DenseBincount{where}{binary}{np.dtype(dtype)}Counts", bincount,
                           [i, np.zeros((0, 3), dtype)])
    bincount = lambda i, w, n=3: raw.DenseBincount(input=i, size=n, weights=w)  # noqa: E731
    none = np.zeros(0, np.float32)
    yield Case("DenseBincountNoBins", lambda i, w: bincount(i, w, 0), [numbers, none])
    yield Case("DenseBincountNoNumbers", bincount, [numbers[:, :0], none])
    yield Case("DenseBincountNoRows", bincount, [numbers[:0], none])
    yield Case("DenseBincountBySize", lambda i, w: bincount(i, w, tf.shape(i)[0] + 1), [numbers, weights])
    yield Case("DenseBincountNegative", bincount, [numbers[0] - 1, none], fails=True)
    yield Case("DenseBincountNegativeNoBins", lambda i, w: bincount(i, w, 0), [numbers - 1, none], fails=True)
    # Without sizes, which would have TensorFlow refuse the graph.
    yield Case("DenseBincountOtherWeights", bincount, [numbers[0], weights[0, :3]], refused="sizes differ",
               dynamic=True)
    yield Case("DenseBincountNegativeSize", lambda i, w: bincount(i, w, tf.shape(i)[0] - 5), [numbers, none],
               refused="size -3", dynamic=True)
    labels = np.array([[1, -1], [0, 7]], np.int32)
    for axis in (-1, 0, 1):
        yield Case(f"OneHot{axis}", lambda i, a=axis: tf.one_hot(i, 3, 2.0, -1.0, axis=a), [labels])


def shape_cases():
    yield Case("Shape", lambda x: [tf.shape(x), tf.shape(x, tf.int64), tf.size(x), raw.Rank(input=x)], [X])
    yield Case("ShapeN", lambda x, y: raw.ShapeN(input=[x, y]), [X, M])
    yield Case("Range", lambda x: tf.range(tf.shape(x)[1]) * 2, [X])
    yield Case("RangeDown", lambda: tf.range(7, 1, -2), [])
    yield Case("RangeLong", lambda: tf.range(5, 400, 3), [])
    yield Case("RangeFloat", lambda: tf.range(0.5, 4.0, 0.25), [])
    yield Case("RangeByArgument", lambda n: tf.range(n), [np.int32(100)])
    yield Case("LinSpace", lambda x: raw.LinSpace(start=x, stop=3.0, num=7), [np.float32(-1)], ulps=8)
    yield Case("Fill", lambda x: tf.fill([tf.shape(x)[0], 2], x[0, 0]), [M])
    yield Case("FillLike", lambda x: [tf.raw_ops.ZerosLike(x=x), tf.raw_ops.OnesLike(x=x)], [M])
    yield Case(
        "BroadcastArgs", lambda x: tf.broadcast_to(x, raw.BroadcastArgs(s0=[2, 1, 4], s1=[3, 1])), [M[:, :1]]
    )
    yield Case(
        "BroadcastGradientArgs",
        lambda x, y: raw.BroadcastGradientArgs(s0=tf.shape(x), s1=tf.shape(y)),
        [X[:, :1], X[:1]],
    )
    yield Case(
        "BroadcastGradientArgsSame",
        lambda x, y: raw.BroadcastGradientArgs(s0=tf.shape(x), s1=tf.shape(y)),
        [M[:1], M[:1]],
    )
    for axis in (1, -2):
        yield Case(
            f"ConcatOffset{axis}",
            lambda *parts, a=axis: raw.ConcatOffset(concat_dim=a, shape=[tf.shape(x) for x in parts]),
            [X, X[:, :2], X[:, :0], X[:, :1]],
            dynamic=True,
        )
    yield Case(
        "GradientOfConcat",
        lambda x, y: tf.gradients(tf.square(tf.concat([x, y, x], 0)), [x, y]),
        [M, M[:1]],
        rel=1e-6,
        dynamic=True,
    )
    yield Case(
        "GradientOfBroadcast", lambda x, y: tf.gradients(tf.square(x + y), [x, y]), [M, M[:1]], rel=1e-6
    )
    yield Case("MatrixDiag", lambda x: raw.MatrixDiag(diagonal=x), [M])
    for k in (0, 2, -1):
        yield Case(
            f"MatrixDiagV3{k}",
            lambda x, k=k: raw.MatrixDiagV3(diagonal=x, k=k, num_rows=-1, num_cols=-1, padding_value=9.0),
            [M],
        )
        for shape in ((2, 4, 4), (3, 5), (6, 2)):
            if k == 2 and shape == (6, 2):
                continue  # there is no such diagonal
            matrix = RNG.normal(0, 1, shape).astype(np.float32)
            part = lambda x, k=k: raw.MatrixDiagPartV3(input=x, k=k, padding_value=9.0)
            yield Case(f"MatrixDiagPartV3{k}{shape}", part, [matrix])
            yield Case(
                f"MatrixSetDiagV3{k}{shape}",
                lambda x, d, k=k: raw.MatrixSetDiagV3(input=x, diagonal=d, k=k),
                [matrix, np.asarray(part(matrix)) * 2],
            )
    for k in (0, 2, -1):
        matrix = RNG.normal(0, 1, (2, 4, 4)).astype(np.float32)
        part = lambda x, k=k: raw.MatrixDiagPartV2(input=x, k=k, padding_value=9.0)
        yield Case(f"MatrixDiagV2{k}", lambda x, k=k: raw.MatrixDiagV2(
            diagonal=x, k=k, num_rows=-1, num_cols=-1, padding_value=9.0), [M])
        yield Case(f"MatrixDiagPartV2{k}", part, [matrix])
        yield Case(f"MatrixSetDiagV2{k}", lambda x, d, k=k: raw.MatrixSetDiagV2(input=x, diagonal=d, k=k),
                   [matrix, np.asarray(part(matrix)) * 2])
    for square in (X[0, :4, :4], X.reshape(-1)[:16].reshape(2, 2, 2, 2)):
        for dtype in (np.float32, np.float64, np.int32):
            yield Case(f"DiagPart{square.ndim}{np.dtype(dtype)}", lambda x: raw.DiagPart(input=x), [square.astype(dtype)])
    yield Case("DiagPartNone", lambda x: raw.DiagPart(input=x), [np.zeros((0, 0), np.float32)])
    for dtype in (np.int32, np.int64):
        for source, target in (("NHWC", "NCHW"), ("NCHW", "NHWC"), ("HWNC", "NHWC")):
            formats = dict(src_format=source, dst_format=target)
            numbers = np.array([[0, 1, 2, 3], [-1, -2, -3, -4]], dtype)
            yield Case(f"DataFormatDimMap{source}{np.dtype(dtype)}",
                       lambda x, f=formats: raw.DataFormatDimMap(x=x, **f), [numbers])
            for rows in (numbers[0], np.arange(8).reshape(4, 2).astype(dtype)):
                yield Case(f"DataFormatVecPermute{source}{rows.ndim}{np.dtype(dtype)}",
                           lambda x, f=formats: raw.DataFormatVecPermute(x=x, **f), [rows])
    yield Case("DataFormatVecPermuteSpatial", lambda x: raw.DataFormatVecPermute(x=x, src_format="NWHC", dst_format="NCHW"),
               [np.array([7, 9], np.int32)])
    yield Case("DataFormatShape", lambda x: tf.reshape(x, raw.DataFormatVecPermute(
        x=tf.shape(x), src_format="NHWC", dst_format="NCHW")), [IMAGE], dynamic=True)
    yield Case("DataFormatAxis", lambda x: tf.reduce_sum(x, raw.DataFormatDimMap(
        x=[-1], src_format="NHWC", dst_format="NCHW")), [IMAGE], rel=1e-6)
    for dtype in (tf.float32, tf.bool, tf.int8, tf.bfloat16):
        yield Case(f"Empty{dtype.name}", lambda x, t=dtype: raw.Empty(shape=[2, tf.shape(x)[0]], dtype=t, init=True), [M])
    yield Case("MatrixDiagPart", lambda x: raw.MatrixDiagPart(input=x), [X])
    yield Case("MatrixSetDiag", lambda x, d: raw.MatrixSetDiag(input=x, diagonal=d), [X, X[:, :5, 0]])
    yield Case("MatrixDiagPartSeveral", lambda x: raw.MatrixDiagPartV3(input=x, k=[0, 1], padding_value=9.0), [X],
               refused="several diagonals")
    yield Case("Diag", lambda x: raw.Diag(diagonal=x), [M])
    for bounds in ((-1, 0), (0, -1), (1, 1), (0, 0), (-1, -1), X.shape[1:]):
        yield Case(f"MatrixBandPart{bounds}", lambda x, b=bounds: tf.linalg.band_part(x, *b), [X])
    for bounds in ((X.shape[1] + 1, -1), (0, X.shape[2] + 1)):  # an error of TensorFlow's
        yield Case(f"MatrixBandPartBeyond{bounds}", lambda x, b=bounds: tf.linalg.band_part(x, *b), [X],
                   refused="sizes differ")
    yield Case(
        "ShapeComparison",
        lambda x: tf.reshape(
            x, tf.where(tf.constant([True, False]), [tf.shape(x)[0], 1], [1, tf.shape(x)[1] * tf.shape(x)[2]])
        ),
        [X],
    )


def resize_cases():
    image = RNG.normal(0, 1, (2, 5, 6, 3)).astype(np.float32)
    sizes = ((9, 13), (10, 12), (15, 6), (3, 4), (1, 1), (5, 7))
    for align, half in ((False, False), (True, False), (False, True)):
        options = dict(align_corners=align, half_pixel_centers=half)
        for size in sizes:
            for op in ("ResizeBicubic", "ResizeBilinear", "ResizeNearestNeighbor"):
                yield Case(
                    f"{op}{size}{'Aligned' * align}{'Centers' * half}",
                    lambda x, op=op, s=size, o=options: getattr(raw, op)(images=x, size=s, **o),
                    [image],
                )
    deep = np.concatenate([image, image + 1, image * 2], axis=3)
    for op in ("ResizeBicubic", "ResizeBilinear", "ResizeNearestNeighbor"):
        yield Case(f"{op}OfManyChannels", lambda x, op=op: getattr(raw, op)(images=x, size=[7, 4]), [deep])
    pixels = (image * 50 + 100).astype(np.uint8)
    yield Case("ResizeBilinearUint8", lambda x: raw.ResizeBilinear(images=x, size=[7, 7]), [pixels])
    yield Case("ResizeBicubicUint8", lambda x: raw.ResizeBicubic(images=x, size=[7, 7]), [pixels])
    yield Case("ResizeNearestUint8", lambda x: raw.ResizeNearestNeighbor(images=x, size=[7, 7]), [pixels])
    for op in ("ResizeBicubic", "ResizeBilinear"):
        both = dict(size=[7, 4], align_corners=True, half_pixel_centers=True)
        yield Case(f"{op}AlignedCenters", lambda x, op=op, o=both: getattr(raw, op)(images=x, **o), [image], fails=True)
    special = image.copy()
    special[0, 2, 3, 0], special[1, 0, 0, 2] = np.nan, np.inf
    for half in (False, True):
        yield Case(
            f"ResizeBicubicSpecial{'Centers' * half}",
            lambda x, h=half: raw.ResizeBicubic(images=x, size=[8, 9], half_pixel_centers=h),
            [special],
            ulps=0,
        )
    one = image[:, :1, :1]
    yield Case("ResizeBicubicOfOnePixel", lambda x: raw.ResizeBicubic(images=x, size=[3, 2]), [one])
    yield Case("ResizeBicubicOfNoImages", lambda x: raw.ResizeBicubic(images=x, size=[3, 2]), [image[:0]])
    for op in ("ResizeBicubic", "ResizeBilinear"):
        yield Case(
            f"{op}ToTwice",
            lambda x, op=op: getattr(raw, op)(images=x, size=tf.shape(x)[1:3] * 2, half_pixel_centers=True),
            [image],
            dynamic=True,
        )


def variable_cases():
    table = tf.Variable(X)
    yield Case("ReadVariableOp", lambda: table + 1.0, [])
    yield Case("VariableShape", lambda: raw.VariableShape(input=table.handle), [])
    yield Case(
        "ResourceGather",
        lambda i: raw.ResourceGather(resource=table.handle, indices=i, dtype=tf.float32),
        [np.array([1, 3], np.int32)],
    )
    yield Case(
        "ResourceGatherNd",
        lambda i: raw.ResourceGatherNd(resource=table.handle, indices=i, dtype=tf.float32),
        [np.array([[1, 3]], np.int32)],
    )


MEASURING = {  # cases whose functions ask for shapes
    "ReshapeByShape",
    "ReshapeByArithmetic",
    "ReshapeMerge",
    "StridedSliceByShape",
    "GatherRange",
    "Shape",
    "ShapeN",
    "Range",
    "Fill",
    "BroadcastGradientArgs",
    "BroadcastGradientArgsSame",
    "GradientOfBroadcast",
    "ShapeComparison",
}
CASES = [*reshape_cases(), *slice_cases(), *index_cases(), *shape_cases(), *resize_cases(),
         *variable_cases()]
for case in CASES:
    case.dynamic |= case.name in MEASURING
