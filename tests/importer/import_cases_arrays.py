"""Arrays of TensorFlow 1 (TensorArrayV3) in functional loops, as they are once the loops have been made whole again."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from import_oracle import Case

RNG = np.random.default_rng(31)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def at(value: int) -> np.ndarray:
    return np.array(value, np.int32)


def array(name: str, function: Callable[..., Any], *inputs: np.ndarray, **options: Any) -> Case:
    return Case(name, function, inputs, **{"rel": 2e-6, **options})


class Array:
    """A handle and its flow; what writes returns another one."""

    def __init__(self, size: Any, dtype: tf.DType = tf.float32, **attributes: Any) -> None:
        self.dtype = dtype
        self.handle, self.flow = tf.raw_ops.TensorArrayV3(size=size, dtype=dtype, **attributes)

    def at(self, flow: tf.Tensor) -> Array:
        other = Array.__new__(Array)
        other.dtype, other.handle, other.flow = self.dtype, self.handle, flow
        return other

    def write(self, index: Any, value: Any) -> Array:
        return self.at(tf.raw_ops.TensorArrayWriteV3(
            handle=self.handle, index=index, value=tf.convert_to_tensor(value, self.dtype), flow_in=self.flow))

    def unstack(self, value: tf.Tensor) -> Array:
        return self.at(tf.raw_ops.TensorArrayScatterV3(
            handle=self.handle, indices=tf.range(tf.shape(value)[0]), value=value, flow_in=self.flow))

    def read(self, index: Any) -> tf.Tensor:
        return tf.raw_ops.TensorArrayReadV3(handle=self.handle, index=index, flow_in=self.flow, dtype=self.dtype)

    def size(self) -> tf.Tensor:
        return tf.raw_ops.TensorArraySizeV3(handle=self.handle, flow_in=self.flow)

    def gather(self, indices: Any, shape: Any = None) -> tf.Tensor:
        return tf.raw_ops.TensorArrayGatherV3(
            handle=self.handle, indices=indices, flow_in=self.flow, dtype=self.dtype, element_shape=shape)

    def stack(self, shape: Any = None) -> tf.Tensor:
        return self.gather(tf.range(self.size()), shape)


def fill(rows: Array, turns: Any, row: Callable[[tf.Tensor], Any], start: int = 0, step: int = 1) -> Array:
    """Row i is written in the turn whose counter is i."""
    goes_on = (lambda i, _: i < turns) if step > 0 else (lambda i, _: i >= turns)
    body = lambda i, flow: [i + step, rows.at(flow).write(i, row(i)).flow]  # noqa: E731
    return rows.at(tf.while_loop(goes_on, body, [tf.constant(start), rows.flow])[1])


def scaled(x: tf.Tensor) -> Callable[[tf.Tensor], Any]:
    return lambda i: tf.tanh(x) * tf.cast(i, tf.float32)


def stacked(x: tf.Tensor) -> Any:
    rows = fill(Array(5), 5, scaled(x))
    return rows.stack(), rows.size()


def stacked_to(turns: tf.Tensor, x: tf.Tensor, **attributes: Any) -> tf.Tensor:
    return fill(Array(4, **attributes), turns, scaled(x)).stack()


def mapped(x: tf.Tensor) -> tf.Tensor:
    """As tf.map_fn does it."""
    count = tf.shape(x)[0]
    rows = Array(count).unstack(x)
    results = fill(Array(count), count, lambda i: tf.tanh(rows.read(i)) * 2.0)
    closed = tf.raw_ops.TensorArrayCloseV3(handle=rows.handle)
    y = results.stack()
    with tf.control_dependencies([y, closed] if closed is not None else [y]):
        return tf.identity(y)


def backwards(x: tf.Tensor) -> tf.Tensor:
    """As tf.foldr reads."""
    rows = Array(5).unstack(x)

    def body(i: tf.Tensor, y: tf.Tensor) -> list[Any]:
        i -= 1
        return [i, y * 0.5 + rows.read(i)]

    any_shape = [tf.TensorShape([]), tf.TensorShape(None)]
    return tf.while_loop(lambda i, y: i > 0, body, [5, tf.zeros_like(x[0])], shape_invariants=any_shape)[1]


def scanned(x: tf.Tensor) -> tf.Tensor:
    """As tf.scan does it where the first element is a row."""
    count = tf.shape(x)[0]
    rows = Array(count).unstack(x)
    results = Array(count)
    first = rows.read(0)
    results = results.write(0, first)

    def body(i: tf.Tensor, y: tf.Tensor, flow: tf.Tensor) -> list[Any]:
        y = tf.tanh(y) + rows.read(i)
        return [i + 1, y, results.at(flow).write(i, y).flow]

    return results.at(tf.while_loop(lambda i, *_: i < count, body, [1, first, results.flow])[2]).stack()


def numbers(x: tf.Tensor) -> tf.Tensor:
    """A loop that reads what it has written."""
    rows = Array(7, clear_after_read=False).write(0, x).write(1, x * 0.5)
    body = lambda i, flow: [i + 1, rows.at(flow).write(i, rows.at(flow).read(i - 1) + rows.at(flow).read(i - 2)).flow]  # noqa: E731
    return rows.at(tf.while_loop(lambda i, _: i < 7, body, [2, rows.flow])[1]).stack()


def nested(x: tf.Tensor) -> tf.Tensor:
    """An array in each turn, and one of all turns' sums."""
    def row(i: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(fill(Array(3), 3, lambda j: x * tf.cast(i + j, tf.float32)).stack(), 0)

    return fill(Array(4), 4, row).stack()


def concatenated(x: tf.Tensor) -> Any:
    rows = fill(Array(3), 3, scaled(x))
    return tf.raw_ops.TensorArrayConcatV3(
        handle=rows.handle, flow_in=rows.flow, dtype=tf.float32, element_shape_except0=[3])


def split(x: tf.Tensor, parts: tuple[int, ...], size: int = 2) -> Any:
    rows = Array(size, clear_after_read=False)
    rows = rows.at(tf.raw_ops.TensorArraySplitV3(
        handle=rows.handle, value=x, lengths=tf.constant(parts, tf.int64), flow_in=rows.flow))
    return [tf.tanh(rows.read(i)) for i in range(size)]


def chosen(x: tf.Tensor, places: tf.Tensor, **attributes: Any) -> tf.Tensor:
    return fill(Array(4, clear_after_read=False), 4, scaled(x)).gather(places, **attributes)


def typed(x: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    return fill(Array(3, dtype=dtype), 3, lambda i: tf.cast(x, dtype)).stack()


def in_branch(p: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """An array of a branch's own."""
    return tf.cond(p, lambda: tf.reduce_sum(fill(Array(3), 3, scaled(x)).stack(), 0), lambda: x)


def read_at(x: tf.Tensor, place: tf.Tensor) -> tf.Tensor:
    return fill(Array(4), 4, scaled(x)).read(place)


def read_twice(x: tf.Tensor) -> Any:
    rows = fill(Array(4), 4, scaled(x))
    return rows.read(1), rows.stack()


def read_in_each_turn(x: tf.Tensor) -> tf.Tensor:
    rows = fill(Array(4), 4, scaled(x))
    any_shape = [tf.TensorShape([]), tf.TensorShape(None)]
    body = lambda i, y: [i + 1, y + rows.read(0)]  # noqa: E731
    return tf.while_loop(lambda i, y: i < 3, body, [0, x], shape_invariants=any_shape)[1]


def written_twice(x: tf.Tensor) -> tf.Tensor:
    return fill(Array(4), 4, scaled(x)).write(1, x).stack()


def too_many(x: tf.Tensor) -> tf.Tensor:
    return Array(3).unstack(x).stack()


BOTH = [
    array("TensorArrayFilled", stacked, floats(4, 3)),
    array("TensorArrayFilledWithNothing", stacked, floats(0, 3)),
    array("TensorArraySpecial", stacked, np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45], np.float32)),
    array("TensorArrayMapped", mapped, floats(5, 3)),
    array("TensorArrayMappedOnce", mapped, floats(1, 3)),
    array("TensorArrayBackwards", backwards, floats(5, 3)),
    array("TensorArrayScanned", scanned, floats(5, 3)),
    array("TensorArrayScannedOnce", scanned, floats(1, 3)),
    array("TensorArrayNumbers", numbers, floats(3)),
    array("TensorArrayNested", nested, floats(2, 3)),
    array("TensorArrayConcat", concatenated, floats(4, 3)),
    array("TensorArraySplit", lambda x: split(x, (2, 2)), floats(4, 3)),
    array("TensorArraySplitOfNothing", lambda x: split(x, (0, 0)), floats(0, 3)),
    array("TensorArrayGather", chosen, floats(4, 3), np.array([2, 0, 3, 3], np.int32)),
    array("TensorArrayGatherNothing", lambda x, p: chosen(x, p, shape=[4, 3]), floats(4, 3), np.zeros(0, np.int32)),
    *(array(f"TensorArray{dtype.name}", lambda x, dtype=dtype: typed(x, dtype), floats(4, 3))
      for dtype in (tf.float64, tf.int64, tf.bool, tf.bfloat16)),
    array("TensorArrayInBranch", in_branch, np.array(True), floats(3)),
    array("TensorArrayReadLast", read_at, floats(3), at(3)),
    array("TensorArrayAllTurns", stacked_to, at(4), floats(3)),
    *(array(f"TensorArrayZeros{turns}", lambda n, x: stacked_to(n, x, element_shape=[3]), at(turns), floats(3))
      for turns in (0, 1, 4)),
]
CASES = [
    *BOTH,
    *(Case(f"{c.name}Dynamic", c.function, c.inputs, rel=c.rel, dynamic=True) for c in BOTH),
    array("TensorArrayReadBehindEnd", read_at, floats(3), at(4), fails=True),
    array("TensorArrayReadBefore", read_at, floats(3), at(-1), fails=True),
    array("TensorArrayGatherBehindEnd", chosen, floats(3), np.array([2, 4], np.int32), fails=True),
    array("TensorArrayWrittenBehindEnd", stacked_to, at(5), floats(3), fails=True),
    array("TensorArrayNothingWritten", stacked_to, at(0), floats(3), fails=True),
    array("TensorArrayGatherOfUnknownShape", chosen, floats(3), np.zeros(0, np.int32), fails=True),
    array("TensorArrayReadTwice", read_twice, floats(3), refused="an element may be read twice"),
    array("TensorArrayReadInEachTurn", read_in_each_turn, floats(3), refused="an element may be read twice"),
    array("TensorArrayWrittenTwice", written_twice, floats(3), refused="an array is not written in order"),
    array("TensorArrayFromTheLast", lambda x: fill(Array(4), 0, scaled(x), 3, -1).stack(), floats(3),
          refused="an array is not written in order"),
    array("TensorArraySplitUnevenly", lambda x: split(x, (1, 3)), floats(4, 3), refused="parts of other sizes"),
    array("TensorArraySplitInThree", lambda x: split(x, (1, 1, 1)), floats(3, 3),
          refused="another number of elements than the array has"),
    array("TensorArrayTooMany", too_many, floats(4, 3), refused="another number of elements than the array has"),
]
