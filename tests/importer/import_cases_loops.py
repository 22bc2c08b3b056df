"""Loops, branches and lists of tensors in functional form, as TensorFlow traces them."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from import_oracle import Case

RNG = np.random.default_rng(29)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def loop(name: str, function: Callable[..., Any], *inputs: np.ndarray, **options: Any) -> Case:
    return Case(name, function, inputs, **{"rel": 2e-6, **options})


def count_to(limit: int) -> Callable[..., Any]:
    def function(x: tf.Tensor) -> Any:
        return tf.while_loop(lambda i, x: i < limit, lambda i, x: [i + 1, x * 0.5 + 1.0], [0, x])

    return function


def until_large(x: tf.Tensor) -> Any:
    """The number of turns depends on values."""
    return tf.while_loop(lambda x: tf.reduce_sum(x) < 100.0, lambda x: [x * 2.0 + 1.0], [x])


def to_argument(x: tf.Tensor, n: tf.Tensor) -> Any:
    return tf.while_loop(lambda i, x: i < n, lambda i, x: [i + 1, tf.tanh(x)], [tf.constant(0), x])


def swap(a: tf.Tensor, b: tf.Tensor) -> Any:
    return tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: [i + 1, b, a + b], [0, a, b])


def nested(x: tf.Tensor) -> Any:
    def outer(i: tf.Tensor, x: tf.Tensor) -> list[Any]:
        _, y = tf.while_loop(
            lambda j, y: j < i, lambda j, y: [j + 1, y + tf.cast(i * j, tf.float32)], [tf.constant(0), x]
        )
        return [i + 1, y * 0.5]

    return tf.while_loop(lambda i, x: i < 4, outer, [0, x])


def map_rows(x: tf.Tensor) -> Any:
    return tf.map_fn(lambda row: tf.tanh(row) * 2.0 + tf.reduce_sum(row), x)


def map_pairs(x: tf.Tensor, y: tf.Tensor) -> Any:
    return tf.map_fn(lambda p: (p[0] * p[1], p[0] > 0.0), (x, y), fn_output_signature=(tf.float32, tf.bool))


def nested_map(x: tf.Tensor) -> Any:
    return tf.map_fn(lambda row: tf.map_fn(lambda e: e * e + 1.0, row), x)


def scan(x: tf.Tensor) -> Any:
    return tf.scan(lambda a, row: a * 0.5 + row, x)


def reverse_scan(x: tf.Tensor) -> Any:
    return tf.scan(lambda a, row: tf.maximum(a, row), x, initializer=tf.zeros_like(x[0]), reverse=True)


def fold(x: tf.Tensor) -> Any:
    return tf.foldl(lambda a, row: a + row * 2.0, x, initializer=tf.zeros_like(x[0]))


def array_every_other(x: tf.Tensor) -> Any:
    """Elements that nothing is written to are zeros."""
    array = tf.TensorArray(tf.float32, size=6, element_shape=[3])
    _, array = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: [i + 1, a.write(2 * i, x + tf.cast(i, tf.float32))], [0, array]
    )
    return array.stack()


def array_beyond_end(x: tf.Tensor) -> Any:
    array = tf.TensorArray(tf.float32, size=3, element_shape=[3])
    _, array = tf.while_loop(lambda i, a: i < 4, lambda i, a: [i + 1, a.write(i, x)], [0, array])
    return array.stack()


def array_read_beyond_end(x: tf.Tensor, at: tf.Tensor) -> Any:
    array = tf.TensorArray(tf.float32, size=3).unstack(x)
    return tf.while_loop(lambda i, y: i < at, lambda i, y: [i + 1, y + array.read(i)], [tf.constant(0), x[0]])


def pushes(x: tf.Tensor) -> Any:
    """The length that no number of turns tells, with room for the most there can be."""
    handle = tf.raw_ops.EmptyTensorList(
        element_shape=tf.constant([3]), max_num_elements=tf.constant(8), element_dtype=tf.float32
    )

    def body(i: tf.Tensor, h: tf.Tensor) -> list[Any]:
        grown = tf.raw_ops.TensorListPushBack(input_handle=h, tensor=x * tf.cast(i, tf.float32))
        return [i + 1, grown]

    _, handle = tf.while_loop(lambda i, h: i < 5, body, [0, handle])
    last = tf.raw_ops.TensorListPopBack(
        input_handle=handle, element_shape=tf.constant([3]), element_dtype=tf.float32
    )
    stacked = tf.raw_ops.TensorListStack(
        input_handle=last.output_handle, element_shape=tf.constant([3]), element_dtype=tf.float32
    )
    return last.tensor, stacked, tf.raw_ops.TensorListLength(input_handle=handle)


def pop_from_empty(x: tf.Tensor, n: tf.Tensor) -> Any:
    handle = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=tf.constant([3]))

    def body(i: tf.Tensor, h: tf.Tensor, y: tf.Tensor) -> list[Any]:
        popped = tf.raw_ops.TensorListPopBack(
            input_handle=h, element_shape=tf.constant([3]), element_dtype=tf.float32
        )
        return [i + 1, popped.output_handle, y + popped.tensor]

    return tf.while_loop(lambda i, h, y: i < n, body, [tf.constant(0), handle, x[0]])[2]


def pushes_of(value: Callable[..., tf.Tensor], turns: int = 4, stack: bool = False) -> Callable[..., Any]:
    """A loop that pushes a value, and one that pops it; or the whole list."""

    def function(x: tf.Tensor, w: tf.Tensor) -> Any:
        shape, n = tf.constant([3, 3]), tf.reduce_sum(tf.ones([turns], tf.int32))
        handle = tf.raw_ops.EmptyTensorList(element_shape=shape, max_num_elements=-1, element_dtype=tf.float32)

        def push(i: tf.Tensor, h: tf.Tensor, y: tf.Tensor) -> list[Any]:
            return [i + 1, tf.raw_ops.TensorListPushBack(input_handle=h, tensor=value(i, y, w)), tf.tanh(y @ w)]

        def pop(i: tf.Tensor, h: tf.Tensor, y: tf.Tensor) -> list[Any]:
            last = tf.raw_ops.TensorListPopBack(input_handle=h, element_shape=shape, element_dtype=tf.float32)
            return [i - 1, last.output_handle, tf.tanh(y @ last.tensor)]

        i, handle, y = tf.while_loop(lambda i, h, y: i < n, push, [tf.constant(0), handle, x])
        if stack:
            last = tf.raw_ops.TensorListPopBack(input_handle=handle, element_shape=shape, element_dtype=tf.float32)
            return tf.raw_ops.TensorListStack(input_handle=last.output_handle, element_shape=shape, element_dtype=tf.float32), y
        return tf.while_loop(lambda i, h, y: i > 0, pop, [i, handle, y])[2]

    return function


def push_outside(x: tf.Tensor, w: tf.Tensor) -> Any:
    """A list to which one value is pushed, which a loop goes on with, and which then takes another."""
    handle = tf.raw_ops.EmptyTensorList(element_shape=tf.constant([3, 3]), max_num_elements=-1, element_dtype=tf.float32)
    for value in (w, w):
        handle = tf.raw_ops.TensorListPushBack(input_handle=handle, tensor=value)
    _, whole = tf.while_loop(lambda i, h: i < 3, lambda i, h: [
        i + 1, tf.raw_ops.TensorListSetItem(input_handle=h, index=i % 2, item=w * tf.cast(i, tf.float32))], [0, handle])
    other = tf.raw_ops.TensorListPushBack(input_handle=handle, tensor=w @ w)
    return [tf.raw_ops.TensorListStack(input_handle=h, element_shape=tf.constant([3, 3]), element_dtype=tf.float32)
            for h in (handle, whole, other)]


def weight(i: tf.Tensor, y: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
    return w


def read_weight(i: tf.Tensor, y: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
    return WEIGHT.read_value()


def changing(i: tf.Tensor, y: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
    return w * tf.cast(i, tf.float32)


def assigned_weight(i: tf.Tensor, y: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
    """A variable that each turn changes is no invariant."""
    WEIGHT.assign(w * tf.cast(i + 1, tf.float32))
    return WEIGHT.read_value()


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    def of_inputs(*inputs: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            total = tf.add_n([tf.reduce_sum(t * t) for t in tf.nest.flatten(function(*inputs)) if t.dtype == tf.float32])
        return tape.gradient(total, inputs)

    return of_inputs


def power(x: tf.Tensor) -> Any:
    return tf.while_loop(lambda i, y: i < 4, lambda i, y: [i + 1, y * x], [0, x], maximum_iterations=10)[1]


def power_to_size(x: tf.Tensor) -> Any:
    n = tf.shape(x)[0]
    return tf.while_loop(lambda i, y: i < n, lambda i, y: [i + 1, tf.tanh(y * x)], [tf.constant(0), x])[1]


def choose(p: tf.Tensor, x: tf.Tensor, y: tf.Tensor) -> Any:
    return tf.cond(p, lambda: (x + y, tf.shape(x)), lambda: (tf.tanh(x) * y, tf.shape(y)))


def choose_by_number(p: tf.Tensor, x: tf.Tensor) -> Any:
    then = tf.function(lambda x: x + 1.0).get_concrete_function(x)
    other = tf.function(lambda x: x * x).get_concrete_function(x)
    return tf.raw_ops.StatelessIf(cond=p, input=[x], Tout=[tf.float32], then_branch=then, else_branch=other)


def switch(which: tf.Tensor, x: tf.Tensor) -> Any:
    return tf.switch_case(which, [lambda: x + 1.0, lambda: x * x, lambda: tf.exp(x)])


def switch_with_check(which: tf.Tensor, x: tf.Tensor, at: tf.Tensor) -> Any:
    """Only one of the branches looks at the index."""
    return tf.cond(which > 0, lambda: tf.gather(x, at), lambda: x[0])


def branch_in_loop(x: tf.Tensor) -> Any:
    def body(i: tf.Tensor, x: tf.Tensor) -> list[Any]:
        return [i + 1, tf.cond(tf.reduce_sum(x) > 1.0, lambda: x * 0.25, lambda: x + tf.cast(i, tf.float32))]

    return tf.while_loop(lambda i, x: i < 6, body, [0, x])


def loop_in_branch(p: tf.Tensor, x: tf.Tensor) -> Any:
    return tf.cond(p, lambda: count_to(4)(x)[1], lambda: -x)


def axis_from_outside(x: tf.Tensor) -> Any:
    axis = tf.shape(x)[0] * 0 + 1
    _, y = tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: [i + 1, y + tf.reduce_sum(x, axis=axis, keepdims=True)],
        [0, x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, None])],
    )
    return tf.reshape(y, tf.reverse(tf.shape(x), [0]))


def grows(x: tf.Tensor) -> Any:
    return tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: [i + 1, tf.concat([y, x], 0)],
        [0, x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )


def call(x: tf.Tensor) -> Any:
    inner = tf.function(lambda x: tf.tanh(x) + 1.0, autograph=False)
    return inner(inner(x))


def call_with_variable(x: tf.Tensor) -> Any:
    inner = tf.function(lambda x: x * SCALE, autograph=False)
    return inner(x)


def read_variable_in_loop(x: tf.Tensor) -> Any:
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: [i + 1, x * SCALE], [0, x])


def gather_from_array(x: tf.Tensor, at: tf.Tensor) -> Any:
    return tf.TensorArray(tf.float32, size=4).unstack(x).gather(at)


def stateful(op: Callable[..., Any], which: tf.Tensor, x: tf.Tensor) -> Any:
    """The forms that TensorFlow takes for functions with side effects."""
    first = tf.function(lambda x: x + 1.0).get_concrete_function(x)
    second = tf.function(lambda x: x * x).get_concrete_function(x)
    if op is tf.raw_ops.If:
        return op(cond=which, input=[x], Tout=[tf.float32], then_branch=first, else_branch=second)
    return op(branch_index=which, input=[x], Tout=[tf.float32], branches=[first, second])


def element_shape(x: tf.Tensor) -> Any:
    """The element shape that the program states, whatever the elements are."""
    shapes = []
    for shape in (tf.constant(-1), tf.constant([-1, 3])):
        handle = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=shape)
        shapes.append(tf.raw_ops.TensorListElementShape(input_handle=handle, shape_type=tf.int64))
    return shapes


def stack_of_nothing(x: tf.Tensor, n: tf.Tensor) -> Any:
    """Nothing tells the shape of elements if there are none."""
    array = tf.TensorArray(tf.float32, size=2)
    _, array = tf.while_loop(lambda i, a: i < n, lambda i, a: [i + 1, a.write(i, x)], [tf.constant(0), array])
    return tf.raw_ops.TensorListStack(
        input_handle=array.flow, element_shape=tf.constant(-1), element_dtype=tf.float32
    )


def concatenated(x: tf.Tensor) -> Any:
    array = tf.TensorArray(tf.float32, size=3, element_shape=[None, 3], infer_shape=False)
    _, array = tf.while_loop(lambda i, a: i < 3, lambda i, a: [i + 1, a.write(i, x * tf.cast(i, tf.float32))], [0, array])
    return tf.raw_ops.TensorListConcatV2(
        input_handle=array.flow, element_shape=tf.constant([-1, 3], tf.int64), leading_dims=tf.constant([], tf.int64),
        element_dtype=tf.float32)


def split(x: tf.Tensor, parts: tuple[int, ...]) -> Any:
    handle = tf.raw_ops.TensorListSplit(
        tensor=x, element_shape=tf.constant([-1, 3]), lengths=tf.constant(parts, tf.int64))
    return [tf.raw_ops.TensorListGetItem(input_handle=handle, index=i, element_shape=tf.constant([-1, 3]),
                                         element_dtype=tf.float32) for i in range(len(parts))]


def assigning(body: Callable[..., Any]) -> Callable[..., Any]:
    """A loop of 4 turns whose body assigns to variables; they get their contents first and are read last."""

    def function(x: tf.Tensor) -> Any:
        HELD.assign(tf.ones([3]))
        COUNT.assign(7)
        _, y = tf.while_loop(lambda i, y: i < 4, lambda i, y: [i + 1, body(i, y)], [0, x])
        return y, HELD.read_value(), COUNT.read_value()

    return function


def add_rows(i: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    HELD.assign_add(tf.reduce_sum(y, 0))
    COUNT.assign_add(i)
    return tf.tanh(y) + HELD


def add_in_branch(i: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    tf.cond(i % 2 > 0, lambda: HELD.assign(y[0]), lambda: HELD.assign_add(y[1]))
    return y * 0.5 + HELD


def add_in_loop(i: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    return tf.while_loop(lambda j, z: j < i, lambda j, z: [j + 1, add_rows(j, z)], [0, y])[1]


def read_before_and_behind(i: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    before = HELD * 2.0
    HELD.assign(before + y[0])
    COUNT.assign_sub(2)
    return y + before - HELD


def while_counts(x: tf.Tensor) -> Any:
    """The condition reads what the body assigns."""
    COUNT.assign(0)

    def body(y: tf.Tensor) -> list[Any]:
        COUNT.assign_add(2)
        return [y * 2.0]

    y = tf.while_loop(lambda y: COUNT < 7, body, [x])
    return y, COUNT.read_value()


SCALE, WEIGHT = tf.Variable(1.5), tf.Variable(tf.ones([3, 3]) * 0.25)
HELD, COUNT = tf.Variable(tf.zeros([3])), tf.Variable(0)
TRUE, FALSE = np.array(True), np.array(False)


def at(value: int) -> np.ndarray:
    return np.array(value, np.int32)


BOTH = [
    loop("While", count_to(5), floats(4, 3)),
    loop("WhileZeroTurns", count_to(0), floats(4, 3)),
    loop("WhileOfNothing", count_to(3), floats(0, 3)),
    loop("WhileSpecial", count_to(3), np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45], np.float32)),
    loop("WhileUntilLarge", until_large, np.abs(floats(4, 3))),
    loop("WhileToArgument", to_argument, floats(4, 3), at(3)),
    loop("WhileToArgumentZero", to_argument, floats(4, 3), at(-2)),
    loop("WhileSwap", swap, floats(4, 3), floats(4, 3)),
    loop("WhileNested", nested, floats(4, 3)),
    loop("MapRows", map_rows, floats(4, 3)),
    loop("MapOneRow", map_rows, floats(1, 3)),
    loop("MapPairs", map_pairs, floats(4, 3), floats(4, 3)),
    loop("MapNested", nested_map, floats(4, 3)),
    loop("Scan", scan, floats(5, 3)),
    loop("ScanReverse", reverse_scan, floats(5, 3)),
    loop("Fold", fold, floats(5, 3)),
    loop("ArrayEveryOther", array_every_other, floats(3)),
    loop("Pushes", pushes, floats(3)),
    loop("GradientOfWhile", gradient(power), floats(4, 3)),
    loop("GradientToSize", gradient(power_to_size), floats(4, 3)),
    loop("GradientOfMap", gradient(map_rows), floats(4, 3)),
    loop("GradientOfScan", gradient(scan), floats(5, 3)),
    loop("GradientOfSwap", gradient(swap), floats(4, 3), floats(4, 3)),
    loop("IfTrue", choose, TRUE, floats(4, 3), floats(4, 3)),
    loop("IfFalse", choose, FALSE, floats(4, 3), floats(4, 3)),
    *(loop(f"IfNumber{p}", choose_by_number, np.array(p, t), floats(4, 3))
      for p, t in ((0.0, np.float32), (-0.0, np.float64), (np.nan, np.float32), (2, np.int64), (0, np.int32), (0, np.uint8))),
    loop("IfVector", choose_by_number, np.zeros(2, np.float32), floats(4, 3)),
    loop("IfEmpty", choose_by_number, np.zeros(0, np.float32), floats(4, 3)),
    *(loop(f"Case{i}", switch, at(i), floats(4, 3)) for i in (-1, 0, 1, 2, 7)),
    loop("IfOtherBranchFails", switch_with_check, at(0), floats(4, 3), at(9)),
    loop("IfInWhile", branch_in_loop, floats(4, 3)),
    loop("WhileInIf", loop_in_branch, TRUE, floats(4, 3)),
    loop("WhileInIfNot", loop_in_branch, FALSE, floats(4, 3)),
    loop("WhileAxisFromOutside", axis_from_outside, floats(4, 3)),
    loop("Call", call, floats(4, 3)),
    loop("CallWithVariable", call_with_variable, floats(4, 3)),
    loop("WhileWithVariable", read_variable_in_loop, floats(4, 3)),
    loop("ArrayGather", gather_from_array, floats(4, 3), np.array([2, 0, 3], np.int32)),
    loop("IfStateful", lambda p, x: stateful(tf.raw_ops.If, p, x), TRUE, floats(4, 3)),
    loop("CaseStateful", lambda i, x: stateful(tf.raw_ops.Case, i, x), at(0), floats(4, 3)),
    loop("ArrayElementShape", element_shape, floats(4, 2, 3)),
    loop("ArrayWritten", stack_of_nothing, floats(3), at(1)),
    *(loop(f"PushAndPop{value.__name__}{turns}", pushes_of(value, turns), floats(2, 3), floats(3, 3))
      for value in (weight, read_weight, changing, assigned_weight) for turns in (1, 4)),
    *(loop(f"PushAndStack{value.__name__}", pushes_of(value, stack=True), floats(2, 3), floats(3, 3))
      for value in (weight, changing)),
    loop("PushOutside", push_outside, floats(2, 3), floats(3, 3)),
    loop("ArrayConcat", concatenated, floats(4, 3)),
    loop("ArrayConcatOfNothing", concatenated, floats(0, 3)),
    loop("ArraySplit", lambda x: split(x, (2, 2)), floats(4, 3)),
    loop("ArraySplitInOne", lambda x: split(x, (4,)), floats(4, 3)),
    *(loop(f"WhileAssigns{body.__name__}", assigning(body), floats(4, 3))
      for body in (add_rows, add_in_branch, add_in_loop, read_before_and_behind)),
    loop("WhileCountsInAVariable", while_counts, floats(4, 3)),
]
CASES = [
    *BOTH,
    *(Case(f"{c.name}Dynamic", c.function, c.inputs, rel=c.rel, dynamic=True) for c in BOTH),
    loop("MapNoRows", map_rows, floats(0, 3)),
    loop("ArrayBeyondEnd", array_beyond_end, floats(3), fails=True),
    loop("ArrayReadBeyondEnd", array_read_beyond_end, floats(3, 3), at(4), fails=True),
    loop("ArrayReadInside", array_read_beyond_end, floats(3, 3), at(3)),
    loop("PopFromEmpty", pop_from_empty, floats(3, 3), at(4), fails=True),
    loop("ArrayOfNothing", stack_of_nothing, floats(3), at(0), fails=True),
    loop("ArrayGatherBeyondEnd", gather_from_array, floats(4, 3), np.array([2, 4], np.int32), fails=True),
    loop("PopAll", pop_from_empty, floats(3, 3), at(3)),
    loop("IfBranchFails", switch_with_check, at(1), floats(4, 3), at(9), fails=True),
    loop("ArraySplitBeyondEnd", lambda x: split(x, (3, 3)), floats(4, 3), fails=True),
    loop("ArraySplitUnevenly", lambda x: split(x, (1, 3)), floats(4, 3), refused="parts of other sizes"),
    loop("WhileGrows", grows, floats(3), refused="its shape changes from [3] to [6]"),
]
