"""Cases of slices, updates, padding and ranges at places that are data; import_oracle.py runs them.

Where TensorFlow would take less than the code does, since it clamps, or raises an error, a check must fail.
"""

from __future__ import annotations

import itertools

import numpy as np
import tensorflow as tf
from import_oracle import Case

raw = tf.raw_ops
RNG = np.random.default_rng(19)
X = RNG.normal(0, 1, (6, 5, 4)).astype(np.float32)
N = X.shape[0]
# Of a dimension of 6: inside, at both ends and beyond, from the front and from the back.
PLACES = (-100, -7, -6, -5, -2, -1, 0, 1, 3, 5, 6, 7, 100, 2**31 - 1, -(2**31))


def int_(value: int, dtype: type = np.int32) -> np.ndarray:
    return np.array(value, dtype)


def size_of(begin: int, end: int, stride: int) -> int:
    return len(range(N)[begin:end:stride])


def strided(x: tf.Tensor, begin: tf.Tensor, end: tf.Tensor) -> tf.Tensor:
    return raw.StridedSlice(input=x, begin=begin, end=end, strides=[1] * begin.shape[0])


def slice_cases():
    for size, stride in itertools.product((1, 2, 6, 0), (1, 2, -1, -3)):
        distance = size * stride
        for place in PLACES if (size, stride) in ((2, 1), (2, -1)) else PLACES[1::4]:
            wrapped = (place + distance + 2**31) % 2**32 - 2**31
            yield Case(f"StridedSliceAt{place}By{stride}Of{size}",
                       lambda x, i, d=distance, s=stride: raw.StridedSlice(input=x, begin=[i], end=[i + d], strides=[s]),
                       [X, int_(place)], differs=size_of(place, wrapped, stride) != size)
    for place in PLACES:
        yield Case(f"StridedSliceOneAt{place}", lambda x, i: x[i], [X, int_(place)], fails=not -N <= place < N)
        yield Case(f"StridedSliceColumnAt{place}", lambda x, i: x[..., tf.newaxis, i, :], [X, int_(place, np.int64)],
                   fails=not -5 <= place < 5)
        for size in (0, 2):
            yield Case(f"SliceAt{place}Of{size}", lambda x, i, n=size: tf.slice(x, [i, 1, 0], [n, 2, -1]),
                       [X, int_(place)], fails=not 0 <= place <= N - size)
    # Two places, sums of several values, vectors of them, multiples.
    yield Case("StridedSliceOfTwo", lambda x, i, j: x[i:i + 2, :, j - 1:j + 2:2], [X, int_(3), int_(1)])
    yield Case("StridedSliceOfSums", lambda x, i, j: x[i + j - 1:j + 1 + i], [X, int_(3), int_(1)])
    yield Case("StridedSliceOfMultiples", lambda x, i: x[i * 2:(i + 1) * 2], [X, int_(2)])
    yield Case("StridedSliceOfVector", lambda x, v: strided(x, v, v + [2, 1]), [X, np.array([1, 3], np.int32)])
    yield Case("StridedSliceOfConcat", lambda x, v, i: strided(x, tf.concat([v, [i]], 0), tf.concat([v + 2, [i + 1]], 0)),
               [X, np.array([1], np.int32), int_(3)])
    yield Case("StridedSliceOfParts", lambda x, v: x[v[0]:v[0] + 2, tf.unstack(v)[1]], [X, np.array([1, 3], np.int32)])
    yield Case("StridedSliceOfCasts", lambda x, i: x[tf.cast(i, tf.int64):tf.cast(i + 2, tf.int64)], [X, int_(1)])
    yield Case("StridedSliceBySize", lambda x, i: x[i:i + tf.shape(x)[1]], [X, int_(1)])
    yield Case("StridedSliceMasks", lambda x, i: raw.StridedSlice(
        input=x, begin=[i, 7, 1, i], end=[i, 7, 3, i], strides=[1, 1, 1, 1], begin_mask=8, end_mask=8, new_axis_mask=2,
        shrink_axis_mask=1), [X, int_(2)])
    yield Case("StridedSliceTooLong", lambda x, i: x[i:i + 7], [X, int_(0)], refused="beyond its tensor")
    yield Case("SliceVector", lambda x, v: tf.slice(x, v, [2, tf.shape(x)[1] - 2, 1]), [X, np.array([1, 2, 3], np.int64)])
    yield Case("SliceRest", lambda x, i: tf.slice(x, [i, 1, 2], [2, -1, 1]), [X, int_(4)])
    yield Case("SliceInBlocks", lambda x, i: tf.slice(x, [0, i * 2, 0], [6, 2, 4]), [X, int_(1)])


def update_cases():
    for stride, place in itertools.product((1, 2, -1), (-7, -6, -2, -1, 0, 1, 4, 5, 6)):
        size = 2
        differs = size_of(place, place + size * stride, stride) != size
        part = RNG.normal(0, 1, (size, 5, 4)).astype(np.float32)
        name = f"At{place}By{stride}Of{size}"
        # TensorFlow leaves alone what an empty slice would update, and repeats a value that is too small.
        yield Case(f"TensorStridedSliceUpdate{name}",
                   lambda x, y, i, d=size * stride, s=stride: raw.TensorStridedSliceUpdate(
                       input=x, begin=[i], end=[i + d], strides=[s], value=y), [X, part, int_(place)], differs=differs)
        yield Case(f"StridedSliceGrad{name}",
                   lambda x, y, i, d=size * stride, s=stride: raw.StridedSliceGrad(
                       shape=tf.shape(x), begin=[i], end=[i + d], strides=[s], dy=y), [X, part, int_(place)], fails=differs)
    row = RNG.normal(0, 1, (5, 4)).astype(np.float32)
    for place in (-7, -6, -1, 0, 5, 6):
        fails = not -N <= place < N
        yield Case(f"TensorStridedSliceUpdateOneAt{place}", lambda x, y, i: raw.TensorStridedSliceUpdate(
            input=x, begin=[i], end=[i + 1], strides=[1], value=y, shrink_axis_mask=1), [X, row, int_(place)], fails=fails)
        yield Case(f"StridedSliceGradOneAt{place}", lambda x, y, i: raw.StridedSliceGrad(
            shape=tf.shape(x), begin=[i], end=[i + 1], strides=[1], dy=y, shrink_axis_mask=1), [X, row, int_(place)],
            fails=fails)
    # The sizes of what is put there say how much it is.
    for begin, end in ((1, 3), (-5, -3), (4, 6), (4, 9), (1, 2)):
        for op in ("TensorStridedSliceUpdate", "StridedSliceGrad"):
            whole = {"TensorStridedSliceUpdate": lambda x: {"input": x}, "StridedSliceGrad": lambda x: {"shape": tf.shape(x)}}[op]
            value = {"TensorStridedSliceUpdate": "value", "StridedSliceGrad": "dy"}[op]
            yield Case(f"{op}From{begin}To{end}", lambda x, y, i, j, o=op, w=whole, v=value: getattr(raw, o)(
                **w(x), begin=[i], end=[j], strides=[1], **{v: y}), [X, X[:2], int_(begin), int_(end)],
                **{"fails" if op == "StridedSliceGrad" else "differs": size_of(begin, end, 1) != 2})
    yield Case("TensorStridedSliceUpdateRest", lambda x, y, i: raw.TensorStridedSliceUpdate(
        input=x, begin=[i], end=[0], strides=[1], end_mask=1, value=y), [X, X[:2], int_(4)])
    for place in (-7, -1, 0, 2, 4, 5):
        piece = RNG.normal(0, 1, (2, 5, 4)).astype(np.float32)

        def assign(x, y, i):
            raw.ResourceStridedSliceAssign(ref=VARIABLES[0].handle, begin=[i], end=[i + 2], strides=[1], value=y)
            return VARIABLES[0] + x

        yield Case(f"ResourceStridedSliceAssignAt{place}", assign, [X, piece, int_(place)],
                   differs=size_of(place, place + 2, 1) != 2)

    def assign_column(x, y, i):
        raw.ResourceStridedSliceAssign(ref=VARIABLES[1].handle, begin=[0, i], end=[0, i + 1], strides=[1, 1], value=y,
                                       begin_mask=1, end_mask=1, shrink_axis_mask=2)
        return VARIABLES[1] + x

    for place in (-6, -5, 4, 5):
        yield Case(f"ResourceStridedSliceAssignColumnAt{place}", assign_column, [X, X[:, 0] * 2, int_(place)],
                   fails=not -5 <= place < 5)


VARIABLES = [tf.Variable(X, trainable=False), tf.Variable(X, trainable=False)]


def other_cases():
    for shift in (-13, -6, -1, 0, 1, 5, 6, 7, 2**31 - 1, -(2**31)):
        yield Case(f"RollBy{shift}", lambda x, s: tf.roll(x, s, 0), [X, int_(shift)])
    yield Case("RollOfTwo", lambda x, s: tf.roll(x, [s, -s], [1, 2]), [X, int_(3)])
    yield Case("RollOfVector", lambda x, s: tf.roll(x, s, [-1, 0]), [X, np.array([3, -2], np.int64)])
    yield Case("RollOfNothing", lambda x, s: tf.roll(x, s, 0), [X[:0], int_(3)])
    for place in (-1, 0, 3, 4, 5):
        fails = not 0 <= place <= 4
        yield Case(f"PadAt{place}", lambda x, i: tf.pad(x, [[i, 4 - i], [0, 0], [1, 2]]), [X, int_(place)], fails=fails)
        yield Case(f"PadV2At{place}", lambda x, i: tf.pad(x, [[0, 0], [i, 4 - i], [1, 2]], constant_values=2.5),
                   [X, int_(place)], fails=fails)

    def slice_gradient(x, v):
        """TensorFlow pads what comes back, before by a vector and behind by the rest."""
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.slice(x, v, [2, 3, 1]) ** 2)
        return tape.gradient(y, x)

    yield Case("SliceGradient", slice_gradient, [X, np.array([1, 2, 3], np.int32)])
    yield Case("SliceGradientBeyond", slice_gradient, [X, np.array([1, 3, 3], np.int32)], fails=True)
    for place in (-3, 0, 7, 2**31 - 6):
        yield Case(f"RangeAt{place}", lambda i: tf.range(i, i + 5) * 2, [int_(place)])
        yield Case(f"RangeBackAt{place}", lambda i: tf.range(i, i - 5, -2), [int_(place)])
    yield Case("RangeOfNothing", lambda i: tf.range(i, i - 1), [int_(3)], fails=True)
    yield Case("RangeOf64Bits", lambda i: tf.range(i, i + 6, 4), [int_(2**40, np.int64)])


CASES = [*slice_cases(), *update_cases(), *other_cases()]
