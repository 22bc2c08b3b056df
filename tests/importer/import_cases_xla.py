"""Cases of XLA's own ops, in functions that XLA compiles: their answers are XLA's."""

from __future__ import annotations

from typing import Any, Callable

import ml_dtypes
import numpy as np
import tensorflow as tf
from import_oracle import Case
from tensorflow.compiler.tf2xla.ops import gen_xla_ops as xla
from tensorflow.compiler.xla import xla_data_pb2

RNG = np.random.default_rng(61)
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 1e-45, -1e-45, 3e38, -3e38, 1.5], np.float32)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def case(name: str, function: Callable[..., Any], inputs: list[np.ndarray], **options: Any) -> Case:
    return Case(f"Xla{name}", function, [np.asarray(x) for x in inputs], xla=True, **options)


def numbers(message: Any, **fields: Any) -> bytes:
    return message(**fields).SerializeToString()


KEPT = []  # TensorFlow forgets a function that nothing refers to, and XLA then finds none


def concrete(function: Callable[..., Any], *specs: tf.TensorSpec) -> Any:
    KEPT.append(tf.function(function, autograph=False).get_concrete_function(*specs))
    return KEPT[-1]


def binary(function: Callable[..., Any], dtype: Any = tf.float32) -> Any:
    return concrete(function, *[tf.TensorSpec([], dtype)] * 2)


def dot_cases():
    plain = dict(lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[0])
    batched = dict(lhs_contracting_dimensions=[0, 3], rhs_contracting_dimensions=[2, 0], lhs_batch_dimensions=[1],
                   rhs_batch_dimensions=[3])

    def dot(x, y, fields=plain):
        return xla.xla_dot(x, y, dimension_numbers=numbers(xla_data_pb2.DotDimensionNumbers, **fields), precision_config="")

    yield case("Dot", dot, [floats(5, 7), floats(7, 3)], rel=2e-6)
    yield case("DotNothing", dot, [floats(5, 0), floats(0, 3)])
    yield case("DotOne", dot, [floats(1, 1), floats(1, 1)])
    yield case("DotSpecial", dot, [SPECIAL.reshape(-1, 1), np.ones((1, 2), np.float32)])
    yield case("DotBatched", lambda x, y: dot(x, y, batched), [floats(3, 2, 4, 5), floats(5, 6, 3, 2)], rel=2e-6)
    yield case("DotIntegers", dot, [np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(6, dtype=np.int32).reshape(3, 2)])
    yield case("DotOuter", lambda x, y: dot(x, y, {}), [floats(3), floats(4)])
    brain = floats(5, 7).astype(ml_dtypes.bfloat16)
    yield case("DotWide", lambda x, y: xla.xla_dot_v2(
        x, y, dimension_numbers=numbers(xla_data_pb2.DotDimensionNumbers, **plain), precision_config="",
        preferred_element_type=tf.float32), [brain, brain.T.copy()], rel=1e-6)
    yield case("Einsum", lambda x, y: xla.xla_einsum(x, y, equation="ij,kj->ik"), [floats(5, 7), floats(3, 7)], rel=2e-6)


def convolution_cases():
    fields = dict(input_batch_dimension=0, input_feature_dimension=3, input_spatial_dimensions=[1, 2],
                  kernel_input_feature_dimension=2, kernel_output_feature_dimension=3, kernel_spatial_dimensions=[0, 1],
                  output_batch_dimension=0, output_feature_dimension=3, output_spatial_dimensions=[1, 2])
    first = dict(input_batch_dimension=0, input_feature_dimension=1, input_spatial_dimensions=[2],
                 kernel_input_feature_dimension=1, kernel_output_feature_dimension=0, kernel_spatial_dimensions=[2],
                 output_batch_dimension=0, output_feature_dimension=1, output_spatial_dimensions=[2])

    def conv(x, k, strides=(1, 1), padding=((0, 0), (0, 0)), spread=(1, 1), dilation=(1, 1), groups=1, fields=fields):
        return xla.xla_conv(x, k, strides, padding, spread, dilation, groups,
                            dimension_numbers=numbers(xla_data_pb2.ConvolutionDimensionNumbers, **fields), precision_config="")

    image, kernel = floats(2, 8, 9, 4), floats(3, 2, 4, 6)
    yield case("Conv", conv, [image, kernel], rel=2e-6)
    yield case("ConvPadded", lambda x, k: conv(x, k, (2, 1), ((1, 1), (0, 2))), [image, kernel], rel=2e-6)
    yield case("ConvDilated", lambda x, k: conv(x, k, dilation=(2, 3)), [image, kernel], rel=2e-6)
    yield case("ConvSpread", lambda x, k: conv(x, k, (1, 1), ((2, 2), (1, 1)), (2, 2)), [image, kernel], rel=2e-6)
    yield case("ConvGroups", lambda x, k: conv(x, k, groups=2), [image, floats(3, 2, 2, 6)], rel=2e-6)
    yield case("ConvFirst", lambda x, k: conv(x, k, (1,), ((1, 1),), (1,), (1,), fields=first), [floats(2, 4, 9), floats(5, 4, 3)],
               rel=2e-6)
    yield case("ConvNothing", conv, [image[:0], kernel])
    yield case("ConvV2", lambda x, k: xla.xla_conv_v2(
        x, k, [1, 1], [[0, 0], [0, 0]], [1, 1], [1, 1], 1, precision_config="", preferred_element_type=tf.float32,
        dimension_numbers=numbers(xla_data_pb2.ConvolutionDimensionNumbers, **fields)), [image, kernel], rel=2e-6)


def movement_cases():
    x = floats(5, 7)
    for low, high, interior in (([1, 0], [2, 3], [0, 0]), ([-1, 2], [1, -3], [2, 1]), ([0, -2], [-4, 0], [0, 0])):
        yield case(f"Pad{low}{high}", lambda x, v, p=(low, high, interior): xla.xla_pad(x, v, *p), [x, np.float32(7)])
    yield case("PadNothing", lambda x, v: xla.xla_pad(x, v, [1, 1], [0, 1], [0, 0]), [x[:0], np.float32(-0.0)])
    for start in ([0, 0], [2, 3], [-4, 99], [4, 6]):
        at = np.array(start, np.int32)
        yield case(f"DynamicSlice{start}", lambda x, i: xla.xla_dynamic_slice(x, i, [2, 3]), [x, at])
        yield case(f"DynamicUpdateSlice{start}", lambda x, u, i: xla.xla_dynamic_update_slice(x, u, i), [x, floats(2, 3), at])
    yield case("DynamicSliceOfNothing", lambda x, i: xla.xla_dynamic_slice(x, i, [0, 3]), [x, np.array([1, 1], np.int64)])

    gather = dict(offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1)
    for name, indices in (("", [3, 0, 4, 4]), ("Outside", [-7, 9]), ("None", [])):
        yield case(f"Gather{name}", lambda x, i: xla.xla_gather(
            x, i, [1, 4], numbers(xla_data_pb2.GatherDimensionNumbers, **gather), False), [x, np.array(indices, np.int32)])
    points = dict(offset_dims=[0, 2], start_index_map=[1, 0], index_vector_dim=1)
    yield case("GatherWindows", lambda x, i: xla.xla_gather(
        x, i, [2, 3], numbers(xla_data_pb2.GatherDimensionNumbers, **points), False), [x, RNG.integers(-1, 7, (4, 2)).astype(np.int64)])

    scatter = dict(update_window_dims=[1], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0], index_vector_dim=1)
    functions = {"Add": tf.add, "Maximum": tf.maximum, "Minimum": tf.minimum, "Multiply": tf.multiply, "Second": lambda a, b: b}
    for name, function in functions.items():
        for rows in ([3, 1], [3, 3, -1, 5]):
            if name == "Second" and len(rows) > 2:
                rows = [2, -1, 5]
            yield case(f"Scatter{name}{rows}", lambda x, i, u, f=function: xla.xla_scatter(
                x, i, u, binary(f), numbers(xla_data_pb2.ScatterDimensionNumbers, **scatter), False),
                [x, np.array(rows, np.int32), floats(len(rows), 7)], rel=1e-6)
    for shapes in (((2, 3), (3,), [1]), ((3,), (2, 3), [1]), ((2, 3, 4), (2, 4), [0, 2]), ((2, 3), (), []), ((2, 3), (2, 3), [])):
        a, b, places = shapes
        yield case(f"BroadcastHelper{a}{b}", lambda x, y, p=places: xla.xla_broadcast_helper(x, y, tf.constant(p, tf.int32)),
                   [floats(*a), floats(*b)])
    yield case("Barrier", lambda x, y: xla.xla_optimization_barrier([x * 2.0, y]), [x, np.arange(3)])
    yield case("Sharding", lambda x: xla.xla_sharding(x) + 1.0, [x])


def reduction_cases():
    x = floats(4, 5, 3)
    functions = {"Add": (tf.add, 0.0), "Maximum": (tf.maximum, -np.inf), "Minimum": (tf.minimum, np.inf),
                 "Multiply": (tf.multiply, 1.0)}
    for name, (function, identity) in functions.items():
        for dimensions in ([1], [0, 2], [], [0, 1, 2]):
            yield case(f"Reduce{name}{dimensions}", lambda x, i, f=function, d=dimensions: xla.xla_reduce(x, i, d, binary(f)),
                       [x, np.float32(1.5)], rel=2e-5)
        yield case(f"Reduce{name}Nothing", lambda x, i, f=function: xla.xla_reduce(x, i, [0], binary(f)), [x[:0], np.float32(2)])
        yield case(f"Reduce{name}V2", lambda x, i, f=function: xla.xla_variadic_reduce_v2([x], [i], [1], binary(f)),
                   [x, np.float32(0.5)], rel=1e-6)

        def window(x, f=function, i=identity):
            return xla.xla_reduce_window(x, tf.constant(i, tf.float32), [1, 2, 3], [1, 2, 1], [1, 1, 1], [1, 2, 1],
                                         [[0, 0], [1, 1], [1, 0]], binary(f))

        yield case(f"ReduceWindow{name}", window, [x], rel=1e-6)
        yield case(f"ReduceWindow{name}Nothing", window, [x[:0]])
    yield case("ReduceVariadic", lambda x, i: xla.xla_variadic_reduce([x], [i], [2], binary(tf.add)), [x, np.float32(3)], rel=1e-6)
    yield case("ReduceIntegers", lambda x, i: xla.xla_reduce(x, i, [1], binary(tf.add, tf.int32)),
               [np.arange(6, dtype=np.int32).reshape(2, 3), np.int32(4)])
    yield case("ReduceOther", lambda x, i: xla.xla_reduce(x, i, [1], binary(lambda a, b: a * 0.5 + b)), [x, np.float32(0)],
               refused="its function is not an op of its two arguments")
    yield case("ReduceWindowFrom", lambda x: xla.xla_reduce_window(
        x, tf.constant(2.0), [1, 2, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1], [[0, 0]] * 3, binary(tf.add)), [x],
        refused="an initial value that counts")

    def scatter(x, source):
        return xla.xla_select_and_scatter(x, [1, 2, 2], [1, 2, 1], [[0, 0], [0, 1], [0, 0]], source, tf.constant(0.0),
                                          binary(tf.greater_equal), binary(tf.add))

    yield case("SelectAndScatter", scatter, [x, floats(4, 3, 2)], rel=1e-6)
    yield case("SelectAndScatterTies", scatter, [np.round(x), floats(4, 3, 2)], rel=1e-6)
    for bits in (7, 23):
        yield case(f"ReducePrecision{bits}", lambda x, m=bits: xla.xla_reduce_precision(x, 8, m), [np.append(SPECIAL, x)])
    yield case("ReducePrecisionHalf", lambda x: xla.xla_reduce_precision(x, 5, 10), [x], refused="5 bits of exponent")


def sort_cases():
    for x in (SPECIAL, floats(3, 50), floats(3, 0), floats(4, 1), RNG.integers(-9, 9, (2, 30)).astype(np.int32),
              floats(2, 20).astype(ml_dtypes.bfloat16), floats(2, 20).astype(np.float64)):
        name = f"{x.dtype}{list(x.shape)}"
        yield case(f"Sort{name}", xla.xla_sort, [x], ulps=0)
        if x.dtype.kind == "f":  # equal keys may come in any order
            values = np.arange(x.size, dtype=np.int64).reshape(x.shape)
            yield case(f"KeyValueSort{name}", xla.xla_key_value_sort, [x, values])
    keys, values = floats(5, 9), np.arange(45, dtype=np.int32).reshape(5, 9)
    for name, function in (("Less", tf.less), ("Greater", tf.greater)):
        for axis in (0, 1):

            def sort(k, v, f=function, a=axis):
                compare = concrete(lambda a, b, c, d: f(a, b),
                                   *[tf.TensorSpec([], t) for t in (tf.float32, tf.float32, tf.int32, tf.int32)])
                return xla.xla_variadic_sort([k, v], tf.constant(a), compare, True)

            yield case(f"VariadicSort{name}{axis}", sort, [keys, values])


def control_cases():
    def count(x):
        spec = [tf.TensorSpec([], tf.int32), tf.TensorSpec(x.shape, tf.float32)]
        return xla.xla_while([tf.constant(0), x], concrete(lambda i, y: i < 3, *spec),
                             concrete(lambda i, y: (i + 1, tf.tanh(y) + 1.0), *spec))

    yield case("While", count, [floats(4, 3)], rel=1e-6)


CASES = [*dot_cases(), *convolution_cases(), *movement_cases(), *reduction_cases(), *sort_cases(), *control_cases()]
