"""Rows that run functions, and lists of tensors."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import control_flow_util_v2

from tests.properties.draw import FLOATS, INDICES, WIDE, Case, Draw, raw, rows

KEPT: list[Any] = []  # TensorFlow forgets a function that nothing refers to

STEPS: list[Callable[[tf.Tensor], tf.Tensor]] = [
    lambda x: x + 1, lambda x: x * x, lambda x: -x, lambda x: tf.reverse(x, [0]), lambda x: x - tf.reduce_max(x, 0, keepdims=True),
    lambda x: tf.maximum(x, 0)]


def concrete(function: Callable[..., Any], *specs: tf.TensorSpec) -> Any:
    KEPT.append(tf.function(function, autograph=False).get_concrete_function(*specs))
    return KEPT[-1]


def spec_like(x: tf.Tensor) -> tf.TensorSpec:
    return tf.TensorSpec(x.shape, x.dtype)


def lowered(results: Any) -> Any:
    """Marked as TensorFlow marks loops and branches of programs."""
    control_flow_util_v2.maybe_set_lowering_attr(tf.nest.flatten(results)[0].op)
    return results


def control_case(d: Draw, function: Callable[..., Any], *more: Callable[[], np.ndarray]) -> Case:
    dtype, rank = d.pick(*WIDE, *INDICES), d.rank(1, 4)
    return Case(function, lambda: [d.values(dtype, d.shape(rank, 1), tame=True), *(m() for m in more)], graph=True, gradient=False)


@rows("PartitionedCall StatefulPartitionedCall")
def call(d: Draw) -> Case:
    step = d.pick(*STEPS)

    def function(x: tf.Tensor) -> Any:
        f = concrete(lambda x: [step(x) * 2, step(x)], spec_like(x))
        return raw(d.op, [x], Tout=[x.dtype] * 2, f=f)

    return control_case(d, function)


@rows("If StatelessIf")
def branch(d: Draw) -> Case:
    then, other = d.pick(*STEPS), d.pick(*STEPS)

    def function(x: tf.Tensor, c: tf.Tensor) -> Any:
        branches = dict(then_branch=concrete(lambda x: [then(x)], spec_like(x)), else_branch=concrete(lambda x: [other(x)], spec_like(x)))
        return lowered(raw(d.op, c, [x], Tout=[x.dtype], **branches))

    return control_case(d, function, lambda: np.asarray(d.chance(0.5)))


@rows("Case StatelessCase")
def branches(d: Draw) -> Case:
    steps = [d.pick(*STEPS) for _ in range(d.between(1, 4))]

    def function(x: tf.Tensor, i: tf.Tensor) -> Any:
        return lowered(raw(d.op, i, [x], Tout=[x.dtype], branches=[concrete(lambda x, s=s: [s(x)], spec_like(x)) for s in steps]))

    return control_case(d, function, lambda: np.asarray(d.between(-1, len(steps) + 1), np.int32))


@rows("While StatelessWhile")
def loop(d: Draw) -> Case:
    step, turns = d.pick(*STEPS), d.between(0, 4)

    def function(x: tf.Tensor, n: tf.Tensor) -> Any:
        specs = [tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.int32), spec_like(x)]
        return lowered(raw(d.op, [tf.constant(0), n, x], cond=concrete(lambda i, n, x: i < n, *specs),
                           body=concrete(lambda i, n, x: [i + 1, n, step(x)], *specs)))

    return control_case(d, function, lambda: np.asarray(turns, np.int32))


@rows("Assert")
def assertion(d: Draw) -> Case:
    def function(x: tf.Tensor, c: tf.Tensor) -> Any:
        check = tf.raw_ops.Assert(condition=c, data=[tf.reduce_sum(x), "a message"])
        with tf.control_dependencies([check]):
            return x + 1

    return control_case(d, function, lambda: np.asarray(d.chance(0.8)))


LISTS = """EmptyTensorList TensorListPushBack TensorListPopBack TensorListLength TensorListStack TensorListFromTensor
TensorListElementShape TensorListGather TensorListGetItem TensorListSetItem TensorListReserve TensorListResize
TensorListSplit TensorListConcatV2"""


@rows(LISTS)
def lists(d: Draw) -> Case:
    dtype, rank = d.pick(*FLOATS[:2], *INDICES), d.between(1, 3)
    tail = [d.size(1, 5) for _ in range(rank - 1)]
    shape, of = np.array(tail, np.int32), dict(element_dtype=tf.as_dtype(dtype))
    pushes = d.between(1, 3)

    parts, part, grows, more = d.between(1, 3), d.between(1, 3), d.chance(0.5), d.pick(-1, 0, 2)

    def inputs() -> list[np.ndarray]:
        n = parts * part if d.op in ("TensorListSplit", "TensorListConcatV2") else d.size(1, 5)
        return [d.values(dtype, [n, *tail]), d.values(dtype, tail)]

    def stack(handle: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.TensorListStack(input_handle=handle, element_shape=shape, **of)

    def of_tensor(x: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=shape)

    def pushed(x: tf.Tensor, y: tf.Tensor) -> Any:
        if d.op == "EmptyTensorList":
            handle = tf.raw_ops.EmptyTensorList(element_shape=shape, max_num_elements=8, **of)
        else:
            handle = of_tensor(x)
        for i in range(pushes):
            handle = tf.raw_ops.TensorListPushBack(input_handle=handle, tensor=y + tf.cast(i, y.dtype))
        if d.op == "TensorListPopBack":
            handle, last = tf.raw_ops.TensorListPopBack(input_handle=handle, element_shape=shape, **of)
            return last, stack(handle)
        return stack(handle), tf.raw_ops.TensorListLength(input_handle=handle)

    def function(x: tf.Tensor, y: tf.Tensor) -> Any:
        n = tf.shape(x)[0]
        if d.op == "TensorListElementShape":
            return tf.raw_ops.TensorListElementShape(input_handle=of_tensor(x), shape_type=tf.int32) + n
        if d.op == "TensorListGather":
            at = tf.range(n)[::-1]
            return tf.raw_ops.TensorListGather(input_handle=of_tensor(x), indices=at, element_shape=shape, **of)
        if d.op == "TensorListGetItem":
            return tf.raw_ops.TensorListGetItem(input_handle=of_tensor(x), index=n - 1, element_shape=shape, **of)
        if d.op == "TensorListSetItem":
            return stack(tf.raw_ops.TensorListSetItem(input_handle=of_tensor(x), index=n + 1 if grows else n // 2, item=y,
                                                      resize_if_index_out_of_bounds=grows))
        if d.op == "TensorListResize":
            return stack(tf.raw_ops.TensorListResize(input_handle=of_tensor(x), size=n + more))
        if d.op == "TensorListReserve":
            handle = tf.raw_ops.TensorListReserve(element_shape=shape, num_elements=n + 1, **of)
            return stack(tf.raw_ops.TensorListSetItem(input_handle=handle, index=n, item=y))
        if d.op in ("TensorListSplit", "TensorListConcatV2"):
            lengths, free = np.array([part] * parts, np.int64), np.array([-1, *tail], np.int32)
            handle = tf.raw_ops.TensorListSplit(tensor=x, element_shape=free, lengths=lengths)
            return tf.raw_ops.TensorListConcatV2(input_handle=handle, element_shape=free, leading_dims=np.zeros(0, np.int64), **of)
        return pushed(x, y)

    return Case(function, inputs, graph=True, gradient=False)


ARRAYS = """TensorArrayV3 TensorArrayWriteV3 TensorArrayReadV3 TensorArrayGatherV3 TensorArrayScatterV3 TensorArraySplitV3
TensorArrayConcatV3 TensorArraySizeV3 TensorArrayCloseV3"""


@rows(ARRAYS)
def arrays(d: Draw) -> Case:
    """Of TensorFlow 1: the flow is the array's state."""
    dtype, tail = d.pick(*FLOATS[:2], *INDICES), [d.size(1, 5) for _ in range(d.between(0, 2))]
    of = tf.as_dtype(dtype)
    parts, part, known = d.between(1, 3), d.between(1, 3), d.chance(0.5)
    joins = d.op in ("TensorArraySplitV3", "TensorArrayConcatV3")
    element = ([part] if joins else []) + tail

    def inputs() -> list[np.ndarray]:
        return [d.values(dtype, [parts * part if joins else d.size(1, 5), *tail]), d.values(dtype, tail)]

    def function(x: tf.Tensor, y: tf.Tensor) -> Any:
        n = parts if joins else tf.shape(x)[0]
        shape = tf.TensorShape(element) if known else tf.TensorShape(None)
        handle, flow = tf.raw_ops.TensorArrayV3(size=n, dtype=of, element_shape=shape, clear_after_read=False,
                                                dynamic_size=False, identical_element_shapes=True, tensor_array_name="")
        if joins:
            flow = tf.raw_ops.TensorArraySplitV3(handle=handle, value=x, lengths=np.array([part] * parts, np.int64), flow_in=flow)
            value, lengths = tf.raw_ops.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=of)
            return value, lengths + 1
        if d.op in ("TensorArrayV3", "TensorArrayWriteV3"):
            flow = tf.raw_ops.TensorArrayWriteV3(handle=handle, index=0, value=y, flow_in=flow)
            return tf.raw_ops.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=of) + y
        flow = tf.raw_ops.TensorArrayScatterV3(handle=handle, indices=tf.range(n), value=x, flow_in=flow)
        if d.op == "TensorArrayReadV3":
            return tf.raw_ops.TensorArrayReadV3(handle=handle, index=n - 1, flow_in=flow, dtype=of) + y
        value = tf.raw_ops.TensorArrayGatherV3(handle=handle, indices=tf.range(n)[::-1], flow_in=flow, dtype=of)
        size = tf.raw_ops.TensorArraySizeV3(handle=handle, flow_in=flow)
        if d.op == "TensorArrayCloseV3":
            with tf.control_dependencies([value, size]):
                tf.raw_ops.TensorArrayCloseV3(handle=handle)
        return value, size + 1

    return Case(function, inputs, graph=True, gradient=False)
