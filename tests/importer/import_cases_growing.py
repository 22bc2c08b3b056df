"""Lists of tensors that writes make longer, as tf.TensorArray(dynamic_size=True) does."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from import_cases_loops import at, floats, gradient, loop
from import_oracle import Case


def growing(size: int = 0, **options: Any) -> tf.TensorArray:
    return tf.TensorArray(tf.float32, size, dynamic_size=True, **options)


def filled(size: int, place: Callable[..., Any] = lambda i: i, turns: int = 4) -> Callable[..., Any]:
    """A loop that writes to a place each turn, and all that can be asked of the array behind it."""

    def function(x: tf.Tensor) -> Any:
        def turn(i: tf.Tensor, a: tf.TensorArray) -> list[Any]:
            return [i + 1, a.write(place(i), x * tf.cast(i + 1, tf.float32))]

        _, array = tf.while_loop(lambda i, a: i < turns, turn, [0, growing(size, element_shape=x.shape)])
        return array.size(), array.stack(), array.read(array.size() - 1), array.gather([0, 2])

    return function


def to_data(x: tf.Tensor, n: tf.Tensor) -> Any:
    """The caller's value says how often it turns."""
    _, array = tf.while_loop(
        lambda i, a: i < n, lambda i, a: [i + 1, a.write(i, x * tf.cast(i, tf.float32))], [tf.constant(0), growing(1)])
    return array.stack(), array.size()


def until_large(x: tf.Tensor) -> Any:
    """It ends early, and values say when."""

    def turn(i: tf.Tensor, y: tf.Tensor, a: tf.TensorArray) -> list[Any]:
        return [i + 1, y * 2.0 + 1.0, a.write(i, y)]

    i, y, array = tf.while_loop(lambda i, y, a: tf.logical_and(i < 9, tf.reduce_sum(y) < 50.0), turn, [0, x, growing()])
    return array.stack(), array.size(), array.concat(), array.gather([0, 1])


def at_its_end(x: tf.Tensor) -> Any:
    _, array = tf.while_loop(
        lambda i, a: i < 5, lambda i, a: [i + 1, a.write(a.size(), x * tf.cast(i, tf.float32))], [0, growing()])
    return array.stack()


def sometimes(x: tf.Tensor) -> Any:
    """Some turns write; those between leave zeros, or nothing at the end."""

    def turn(i: tf.Tensor, a: tf.TensorArray) -> list[Any]:
        flow = tf.cond(i % 3 == 1, lambda: a.write(i, x * 2.0).flow, lambda: a.flow)
        return [i + 1, tf.TensorArray(tf.float32, flow=flow, dynamic_size=True)]

    _, array = tf.while_loop(lambda i, a: i < 6, turn, [0, growing(element_shape=x.shape)])
    return array.stack()


def some(x: tf.Tensor) -> Any:
    """The place is a counter of some turns."""

    def turn(i: tf.Tensor, j: tf.Tensor, a: tf.TensorArray) -> list[Any]:
        j, flow = tf.cond(i % 3 != 1, lambda: (j + 1, a.write(j, x * tf.cast(i, tf.float32)).flow), lambda: (j, a.flow))
        return [i + 1, j, tf.TensorArray(tf.float32, flow=flow, dynamic_size=True)]

    _, j, array = tf.while_loop(lambda i, j, a: i < 8, turn, [0, tf.constant(0), growing(element_shape=x.shape)])
    return j, array.stack()


def until_break(x: tf.Tensor) -> Any:
    """A condition as AutoGraph makes it of a loop over a range that a break ends."""

    def goes_on(i: tf.Tensor, y: tf.Tensor, a: tf.TensorArray) -> tf.Tensor:
        return tf.cond(i < 9, lambda: tf.reduce_sum(y) < 50.0, lambda: False)

    def turn(i: tf.Tensor, y: tf.Tensor, a: tf.TensorArray) -> list[Any]:
        return [i + 1, y * 2.0 + 1.0, a.write(i, y)]

    return tf.while_loop(goes_on, turn, [0, x, growing(1)])[2].stack()


def in_two_loops(x: tf.Tensor) -> Any:
    """The inner loop writes to places of the outer one's counter."""

    def turn(i: tf.Tensor, a: tf.TensorArray) -> list[Any]:
        inner = tf.while_loop(
            lambda j, a: j < 2, lambda j, a: [j + 1, a.write(i, x * tf.cast(i + j, tf.float32))], [tf.constant(0), a])
        return [i + 1, inner[1]]

    _, array = tf.while_loop(lambda i, a: i < 3, turn, [0, growing(1)])
    return array.stack()


def without_loops(x: tf.Tensor) -> Any:
    array = growing(element_shape=x.shape).write(0, x).write(3, x + 1.0).write(1, x + 2.0)
    rows = growing(2).unstack(tf.stack([x, x * 2.0, x * 3.0])).write(4, x)
    return array.stack(), array.size(), array.read(2), rows.stack()


def learned(x: tf.Tensor) -> Any:
    """What a gradient makes shorter again."""

    def turn(i: tf.Tensor, y: tf.Tensor, a: tf.TensorArray) -> list[Any]:
        y = tf.tanh(y) + x
        return [i + 1, y, a.write(i, y)]

    return tf.while_loop(lambda i, y, a: i < 4, turn, [0, x, growing()])[2].stack()


def resized(x: tf.Tensor, n: tf.Tensor) -> Any:
    handle = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=tf.constant([3]))
    results = []
    for size in (n, tf.constant(2), tf.constant(6)):
        sized = tf.raw_ops.TensorListResize(input_handle=handle, size=size)
        results.append(tf.raw_ops.TensorListLength(input_handle=sized))
        results.append(tf.raw_ops.TensorListStack(
            input_handle=sized, element_shape=tf.constant([3]), element_dtype=tf.float32))
    return results


def shorter_and_longer(x: tf.Tensor) -> Any:
    """A place whose element is gone is not set."""
    handle = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=tf.constant([3]))
    for size in (1, 4):
        handle = tf.raw_ops.TensorListResize(input_handle=handle, size=tf.constant(size))
    return tf.raw_ops.TensorListStack(input_handle=handle, element_shape=tf.constant([3]), element_dtype=tf.float32)


def unbounded(x: tf.Tensor) -> Any:
    """No number of turns is known."""

    def turn(i: tf.Tensor, y: tf.Tensor, a: tf.TensorArray) -> list[Any]:
        return [i + 1, y * 2.0 + 1.0, a.write(i, y)]

    return tf.while_loop(lambda i, y, a: tf.reduce_sum(y) < 50.0, turn, [0, x, growing()])[2].stack()


BOTH = [
    loop("Growing", filled(0), floats(3)),
    loop("GrowingFromOne", filled(1), floats(3)),
    loop("GrowingFromMore", filled(6), floats(3)),
    loop("GrowingByTwo", filled(0, lambda i: 2 * i), floats(3)),
    loop("GrowingBehind", filled(1, lambda i: i + 2), floats(3)),
    loop("GrowingBackwards", filled(0, lambda i: 3 - i), floats(3)),
    loop("GrowingEarlyEnd", until_large, np.abs(floats(3))),
    loop("GrowingAtItsEnd", at_its_end, floats(3)),
    loop("GrowingSometimes", sometimes, floats(3)),
    loop("GrowingSome", some, floats(3)),
    loop("GrowingUntilBreak", until_break, np.abs(floats(3))),
    loop("GrowingInTwoLoops", in_two_loops, floats(3)),
    loop("GrowingWithoutLoops", without_loops, floats(3)),
    loop("GradientOfGrowing", gradient(learned), floats(3)),
]
CASES = [
    *BOTH,
    *(Case(f"{c.name}Dynamic", c.function, c.inputs, rel=c.rel, refused=c.refused, dynamic=True) for c in BOTH
      if "Some" not in c.name and "Without" not in c.name and "filled" not in c.function.__qualname__),
    *(loop(f"GrowingToData{n}", to_data, floats(3), at(n)) for n in (-1, 0, 1, 5)),
    *(loop(f"Resized{n}", resized, floats(4, 3), at(n)) for n in (0, 2, 4)),
    loop("ShorterAndLonger", shorter_and_longer, floats(4, 3), refused="it was longer, and grows"),
    loop("GrowingWithoutBound", unbounded, np.abs(floats(3)), refused="nothing bounds the place"),
]
