"""XLA's own ops, which TensorFlow runs through XLA alone: their answers are XLA's, and their sizes are known."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf
from import_cases_xla import binary, concrete, numbers, xla
from tensorflow.compiler.xla import xla_data_pb2

from tests.properties.draw import FLOATS, INDICES, SIGNED, WIDE, Case, Draw, rows

F32 = FLOATS[0]
FUNCTIONS: dict[str, tuple[Callable[..., Any], float]] = {
    "add": (tf.add, 0.0), "maximum": (tf.maximum, -np.inf), "minimum": (tf.minimum, np.inf), "multiply": (tf.multiply, 1.0)}


def xla_case(function: Callable[..., Any], inputs: Callable[[], list[np.ndarray]], exact: bool = True) -> Case:
    return Case(function, inputs, exact=exact, gradient=False, xla=True, unknown=False)


@rows("XlaDot XlaDotV2")
def dot(d: Draw) -> Case:
    m, k, n, batched = d.size(), d.size(), d.size(), d.chance(0.4)
    dtype = d.pick(F32, F32, SIGNED[0])
    fields = dict(lhs_contracting_dimensions=[1 + batched], rhs_contracting_dimensions=[int(batched)])
    if batched:
        fields |= dict(lhs_batch_dimensions=[0], rhs_batch_dimensions=[0])
    options = dict(dimension_numbers=numbers(xla_data_pb2.DotDimensionNumbers, **fields), precision_config="")
    head = [d.size(1, 4)] * batched
    return xla_case(lambda x, y: xla.xla_dot(x, y, **options) if d.op == "XlaDot" else xla.xla_dot_v2(
        x, y, preferred_element_type=tf.as_dtype(dtype), **options),
        lambda: [d.values(dtype, [*head, m, k], tame=True), d.values(dtype, [*head, k, n], tame=True)], exact=dtype not in FLOATS)


@rows("XlaEinsum")
def einsum(d: Draw) -> Case:
    equation = d.pick("ij,kj->ik", "ij,jk->ik", "bij,bjk->bik", "bij,bkj->bki")
    size = {c: d.size(1, 17) for c in "bijk"}
    terms = equation.split("->")[0].split(",")
    return xla_case(lambda x, y: xla.xla_einsum(x, y, equation=equation),
                    lambda: [d.values(F32, [size[c] for c in t], tame=True) for t in terms], exact=False)


@rows("XlaConv XlaConvV2")
def convolution(d: Draw) -> Case:
    fields = dict(input_batch_dimension=0, input_feature_dimension=3, input_spatial_dimensions=[1, 2],
                  kernel_input_feature_dimension=2, kernel_output_feature_dimension=3, kernel_spatial_dimensions=[0, 1],
                  output_batch_dimension=0, output_feature_dimension=3, output_spatial_dimensions=[1, 2])
    groups, channels, features = d.pick(1, 1, 2), 2 * d.size(1, 4), 2 * d.size(1, 4)
    size = [d.pick(1, 2, 3), d.pick(1, 2, 3)]
    strides, pads, dilation = [d.pick(1, 2), d.pick(1, 2)], [[d.between(0, 2), d.between(0, 2)] for _ in range(2)], [d.pick(1, 1, 2)] * 2
    image = [d.size(1, 3), d.between(5, 9), d.between(5, 9), channels]
    options = dict(dimension_numbers=numbers(xla_data_pb2.ConvolutionDimensionNumbers, **fields), precision_config="")

    def function(x: tf.Tensor, k: tf.Tensor) -> tf.Tensor:
        if d.op == "XlaConv":
            return xla.xla_conv(x, k, strides, pads, [1, 1], dilation, groups, **options)
        return xla.xla_conv_v2(x, k, strides, pads, [1, 1], dilation, groups, preferred_element_type=tf.float32, **options)

    return xla_case(function, lambda: [d.values(F32, image, tame=True), d.values(F32, [*size, channels // groups, features], tame=True)],
                    exact=False)


@rows("XlaPad")
def pad(d: Draw) -> Case:
    dtype, rank = d.pick(*WIDE, *INDICES), d.rank(0, 4)
    low, high, inner = ([d.between(a, 3) for _ in range(rank)] for a in (-1, -1, 0))
    shape = [s + 2 for s in np.minimum(d.shape(rank), 12)]
    return xla_case(lambda x, v: xla.xla_pad(x, v, low, high, inner), lambda: [d.values(dtype, shape), d.values(dtype, [])])


@rows("XlaDynamicSlice XlaDynamicUpdateSlice")
def dynamic(d: Draw) -> Case:
    dtype, rank = d.pick(*WIDE, *INDICES), d.rank(1, 4)
    shape = d.shape(rank, 1)
    size = [d.between(0, min(s, 9)) for s in shape]
    start = lambda: np.array([d.between(-4, s + 3) for s in shape], d.index_type)  # noqa: E731
    if d.op == "XlaDynamicSlice":
        return xla_case(lambda x, i: xla.xla_dynamic_slice(x, i, np.array(size, d.index_type)), lambda: [d.values(dtype, shape), start()])
    return xla_case(lambda x, u, i: xla.xla_dynamic_update_slice(x, u, i),
                    lambda: [d.values(dtype, shape), d.values(dtype, size), start()])


@rows("XlaGather")
def gather(d: Draw) -> Case:
    dtype, n, m, count = d.pick(*WIDE, *INDICES), d.size(1), d.size(1), d.size(0, 9)
    fields = numbers(xla_data_pb2.GatherDimensionNumbers, offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1)
    width = d.between(1, m)
    return xla_case(lambda x, i: xla.xla_gather(x, i, np.array([1, width], d.index_type), fields, False),
                    lambda: [d.values(dtype, [n, m]), d.indices(n, [count], 0.3)])


@rows("XlaScatter")
def scatter(d: Draw) -> Case:
    n, m, count = d.size(1), d.size(1), d.size(0, 9)
    fields = numbers(xla_data_pb2.ScatterDimensionNumbers, update_window_dims=[1], inserted_window_dims=[0],
                     scatter_dims_to_operand_dims=[0], index_vector_dim=1)
    function, _ = d.pick(*FUNCTIONS.values())
    return xla_case(lambda x, i, u: xla.xla_scatter(x, i, u, binary(function), fields, False),
                    lambda: [d.values(F32, [n, m], tame=True), d.indices(n, [count], 0.2), d.values(F32, [count, m], tame=True)], exact=False)


@rows("XlaBroadcastHelper")
def broadcast(d: Draw) -> Case:
    a, b = d.size(1), d.size(1)
    shapes = d.pick(([a, b], [b], [1]), ([a, b], [a], [0]), ([b], [a, b], [1]), ([a, b], [], []), ([a, b], [a, b], []))
    return xla_case(lambda x, y: xla.xla_broadcast_helper(x, y, tf.constant(shapes[2], tf.int32)),
                    lambda: [d.values(F32, shapes[0]), d.values(F32, shapes[1])])


@rows("XlaOptimizationBarrier XlaSharding")
def same(d: Draw) -> Case:
    dtype, shape = d.pick(*WIDE, *INDICES), d.shape(d.rank())
    return xla_case(lambda x: xla.xla_optimization_barrier([x, x + 1]) if "Barrier" in d.op else xla.xla_sharding(x) + 1,
                    lambda: [d.values(dtype, shape)])


@rows("XlaReduce XlaVariadicReduce XlaVariadicReduceV2")
def reduce(d: Draw) -> Case:
    rank = d.rank(1, 4)
    axes, shape = sorted(a % rank for a in d.axes(rank)), np.minimum(d.shape(rank), 30)
    function, identity = d.pick(*FUNCTIONS.values())
    # XLA leaves the initial value out where there is one element.
    initial = np.float32(identity) if any(shape[a] == 1 for a in axes) else d.values(F32, [], low=-1, high=1)

    def run(x: tf.Tensor, i: tf.Tensor) -> Any:
        if d.op == "XlaReduce":
            return xla.xla_reduce(x, i, axes, binary(function))
        return (xla.xla_variadic_reduce if d.op == "XlaVariadicReduce" else xla.xla_variadic_reduce_v2)([x], [i], axes, binary(function))

    return xla_case(run, lambda: [d.values(F32, shape, low=-1.2, high=1.2), initial], exact=False)


@rows("XlaReduceWindow")
def reduce_window(d: Draw) -> Case:
    rank = d.between(1, 3)
    function, identity = d.pick(*FUNCTIONS.values())
    size, strides = [d.between(1, 3) for _ in range(rank)], [d.between(1, 2) for _ in range(rank)]
    pads, shape = [[d.between(0, s - 1), d.between(0, s - 1)] for s in size], [d.between(3, 9) for _ in range(rank)]
    return xla_case(lambda x: xla.xla_reduce_window(x, tf.constant(identity, tf.float32), size, strides, [1] * rank, [1] * rank, pads,
                                                    binary(function)), lambda: [d.values(F32, shape, tame=True)], exact=False)


@rows("XlaSelectAndScatter")
def select_and_scatter(d: Draw) -> Case:
    n, c, k = d.size(1, 3), d.size(1, 5), d.pick(1, 2, 3)
    out = d.between(1, 5)
    shape = [n, out * k, c]
    return xla_case(lambda x, s: xla.xla_select_and_scatter(x, [1, k, 1], [1, k, 1], [[0, 0]] * 3, s, tf.constant(0.0),
                                                            binary(tf.greater_equal), binary(tf.add)),
                    lambda: [d.values(F32, shape, tame=True), d.values(F32, [n, out, c], tame=True)], exact=False)


@rows("XlaReducePrecision")
def reduce_precision(d: Draw) -> Case:
    shape, bits = d.shape(d.rank()), d.pick(1, 7, 10, 23)
    return xla_case(lambda x: xla.xla_reduce_precision(x, 8, bits), lambda: [d.values(F32, shape)])


@rows("XlaSort XlaKeyValueSort XlaVariadicSort")
def sort(d: Draw) -> Case:
    rank = d.rank(1, 3)
    shape = np.minimum(d.shape(rank), 40)
    axis, compare = d.between(0, rank - 1), d.pick(tf.less, tf.greater)
    # Of equal keys either may be the first.
    keys = lambda: (d.numbers.permutation(int(np.prod(shape))) / 8 - 3).reshape(shape).astype(np.float32)  # noqa: E731
    values = lambda: np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)  # noqa: E731
    if d.op == "XlaSort":
        return xla_case(xla.xla_sort, lambda: [d.values(F32, shape, tame=True)])
    if d.op == "XlaKeyValueSort":
        return xla_case(xla.xla_key_value_sort, lambda: [keys(), values()])
    specs = [tf.TensorSpec([], t) for t in (tf.float32, tf.float32, tf.int32, tf.int32)]
    return xla_case(lambda k, v: xla.xla_variadic_sort([k, v], tf.constant(axis), concrete(lambda a, b, e, f: compare(a, b), *specs), True),
                    lambda: [keys(), values()])


@rows("XlaWhile")
def loop(d: Draw) -> Case:
    shape, turns = d.shape(d.rank(), 1), d.between(0, 5)

    def run(x: tf.Tensor) -> Any:
        spec = [tf.TensorSpec([], tf.int32), tf.TensorSpec(x.shape, tf.float32)]
        return xla.xla_while([tf.constant(0), x], concrete(lambda i, y: i < turns, *spec), concrete(lambda i, y: (i + 1, y * 0.5 + 1.0), *spec))

    return xla_case(run, lambda: [d.values(F32, shape)], exact=False)
