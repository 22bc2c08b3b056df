"""Cases of updates that change some rows of variables; import_oracle.py runs them.

As in import_cases_optimizers.py, variables get their values from the case's inputs first, and are read last.
"""

from __future__ import annotations

from typing import Any, Callable

import ml_dtypes
import numpy as np
import tensorflow as tf
from import_oracle import Case
from optimizer_rules import ATTRIBUTES, RULES, SPARSE_RULES, WITHOUT_HALF

raw = tf.raw_ops
RNG = np.random.default_rng(43)
SHAPE = (6, 5)
REPEATED = np.array([4, 0, 4, 5, 4, 0])  # an update may meet what an earlier one has left
SPECIAL = np.tile(np.array([np.nan, np.inf, -np.inf, 0, -0.0], np.float32), (6, 1))  # each row has all of them
KEEP_NAN_BY_ORDER = ("Min", "Max")  # NaN stays or goes by the order of comparisons
SCATTERS = ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update")
POINT_SCATTERS = ("Add", "Sub", "Min", "Max", "Update")


def normal(shape: Any, dtype: Any = np.float32) -> np.ndarray:
    return RNG.normal(0, 2, shape).astype(dtype)


def variable_case(name: str, contents: list[np.ndarray], inputs: list[np.ndarray], update: Callable[..., Any],
                  **options: Any) -> Case:
    held = [tf.Variable(c) for c in contents]

    def run(*values):
        for variable, value in zip(held, values):
            variable.assign(value)
        update([v.handle for v in held], *values[len(held):])
        return [v.read_value() for v in held]

    return Case(name, run, [*contents, *inputs], **options)


def scatter_case(op: str, name: str, x: np.ndarray, indices: np.ndarray, updates: np.ndarray, **options: Any) -> Case:
    def update(handles, i, u):
        getattr(raw, f"ResourceScatter{op}")(resource=handles[0], indices=i, updates=u)

    return variable_case(f"ResourceScatter{op}{name}", [x], [indices, updates], update, **options)


def scatter_cases():
    for op in SCATTERS:
        for index in (np.int32, np.int64):
            i = REPEATED.astype(index)
            yield scatter_case(op, np.dtype(index).name, normal(SHAPE), i, normal((6, 5)))
        yield scatter_case(op, "Double", normal(SHAPE, np.float64), i, normal((6, 5), np.float64))
        yield scatter_case(op, "Half", normal(SHAPE, np.float16), i, normal((6, 5), np.float16), rel=1e-2)
        yield scatter_case(op, "Scalar", normal(SHAPE), i, normal(()))
        yield scatter_case(op, "OneIndex", normal(SHAPE), i[1], normal((5,)))
        yield scatter_case(op, "Matrix", normal((7, 3, 4)), i.reshape(2, 3), normal((2, 3, 3, 4)))
        yield scatter_case(op, "Elements", normal((6,)), i, normal((6,)))
        yield scatter_case(op, "NoIndices", normal(SHAPE), i[:0], normal((0, 5)))
        yield scatter_case(op, "EmptyRows", normal((6, 0)), i, normal((6, 0)))
        yield scatter_case(op, "Outside", normal(SHAPE), i + 1, normal((6, 5)), fails=True)
        yield scatter_case(op, "Negative", normal(SHAPE), i - 1, normal((6, 5)), fails=True)
        integers = normal((6, 5), np.int32)
        yield scatter_case(op, "Integers", normal(SHAPE, np.int32), i, np.where(integers == 0, 3, integers).astype(np.int32))
    yield scatter_case("Div", "Zero", normal(SHAPE), i, np.zeros((6, 5), np.float32), fails=True)
    yield scatter_case("Update", "Bools", normal(SHAPE) > 0, i, normal((6, 5)) > 0)
    for op in SCATTERS:
        if op in KEEP_NAN_BY_ORDER:
            continue
        yield scatter_case(op, "Special", normal(SHAPE), i, np.where(SPECIAL == 0, 2, SPECIAL) if op == "Div" else SPECIAL)


def point_cases():
    points = np.array([[1, 2], [5, 0], [1, 2], [3, 3]])
    for op in POINT_SCATTERS:
        def update(handles, i, u, op=op):
            getattr(raw, f"ResourceScatterNd{op}")(ref=handles[0], indices=i, updates=u)

        for index in (np.int32, np.int64):
            yield variable_case(f"ResourceScatterNd{op}{np.dtype(index).name}", [normal(SHAPE)],
                                [points.astype(index), normal((4,))], update)
        if op not in KEEP_NAN_BY_ORDER:
            yield variable_case(f"ResourceScatterNd{op}Special", [normal(SHAPE)], [points[[0, 1, 3]], SPECIAL[0, :3]], update)
        yield variable_case(f"ResourceScatterNd{op}Rows", [normal((6, 5, 3))], [points, normal((4, 3))], update)
        yield variable_case(f"ResourceScatterNd{op}Outside", [normal(SHAPE)], [points + 3, normal((4,))], update, fails=True)


def slice_cases():
    shape = (7, 6, 4)
    pieces = {
        "Rows": np.s_[2:5], "Row": np.s_[3], "LastRow": np.s_[-1], "Columns": np.s_[:, 1:3], "Inner": np.s_[..., 2],
        "Box": np.s_[1:4, 2:, :3], "Strides": np.s_[::2, 1::3], "Backwards": np.s_[5:1:-2, ::-1], "NewAxis": np.s_[1:3, tf.newaxis],
        "Whole": np.s_[:], "Nothing": np.s_[3:3], "Element": np.s_[1, 2, 3],
    }
    for name, piece in pieces.items():
        yield slice_case(name, shape, piece)


def slice_case(name: str, shape: tuple[int, ...], piece: Any) -> Case:
    variable = tf.Variable(normal(shape))

    def run(x, value):
        variable.assign(x)
        variable[piece].assign(value)
        return variable.read_value()

    return Case(f"ResourceStridedSliceAssign{name}", run, [normal(shape), normal(np.zeros(shape)[piece].shape)])


def rule_case(rule: str, name: str, shape: tuple[int, ...], dtype: Any = np.float32, indices: np.ndarray = REPEATED,
              gradient: np.ndarray | None = None, ulps: int = 32, **changed: Any) -> Case:
    variables, positive, scalars = RULES[rule]
    variables, positive = variables.split(), positive.split()
    attributes = {k: v for k, v in changed.items() if k == ATTRIBUTES.get(rule)}
    options = {k: changed[k] for k in ("rel", "fails") if k in changed}
    scalars = {**scalars, **{k: v for k, v in changed.items() if k not in attributes and k not in options}}
    contents = [np.abs(normal(shape, dtype)) + dtype(0.5) if v in positive else normal(shape, dtype) for v in variables]

    def update(handles, gradient, i):
        numbers = {k: tf.constant(v, dtype) for k, v in scalars.items()}
        if rule == "AdagradDA":
            numbers["global_step"] = tf.constant(3, tf.int64)
        getattr(raw, f"ResourceSparseApply{rule}")(**dict(zip(variables, handles)), **numbers, **attributes, grad=gradient,
                                                   indices=i)

    if gradient is None:
        gradient = normal((len(indices), *shape[1:]), dtype)
    return variable_case(f"ResourceSparseApply{rule}{name}", contents, [gradient, indices], update, ulps=ulps, **options)


def rule_cases():
    for rule in SPARSE_RULES:
        for dtype in (np.float32, np.float64):
            yield rule_case(rule, np.dtype(dtype).name, SHAPE, dtype, rel=1e-5)
        if rule not in WITHOUT_HALF:
            yield rule_case(rule, "Half", SHAPE, np.float16, indices=np.array([3, 0]), rel=2e-2)
        yield rule_case(rule, "Int32", SHAPE, indices=REPEATED.astype(np.int32), rel=1e-5)
        yield rule_case(rule, "Images", (6, 2, 3), rel=1e-5)
        yield rule_case(rule, "Elements", (6,), rel=1e-5)
        yield rule_case(rule, "Special", SHAPE, gradient=SPECIAL, rel=1e-5)
        yield rule_case(rule, "NoIndices", SHAPE, indices=REPEATED[:0])
        yield rule_case(rule, "Outside", SHAPE, indices=REPEATED + 1, fails=True)
        if rule in ATTRIBUTES:
            for value in (False, True):
                yield rule_case(rule, f"{ATTRIBUTES[rule]}{value}", SHAPE, rel=1e-5, **{ATTRIBUTES[rule]: value})
        if "l1" in RULES[rule][2]:
            yield rule_case(rule, "WithoutPenalty", SHAPE, rel=1e-5, l1=0.0, l2=0.0)
    for rule in ("Ftrl", "FtrlV2"):
        yield rule_case(rule, "Power", SHAPE, rel=1e-4, lr_power=-0.7)


def added_up_cases():
    """Rows of a gradient that are for one row of the variable are added up first, as optimizers do it."""
    def add_up(values, i):
        unique, places = tf.unique(i)
        return tf.math.unsorted_segment_sum(values, places, tf.shape(unique)[0]), unique

    def momentum(handles, gradient, i):
        summed, unique = add_up(gradient, i)
        raw.ResourceSparseApplyMomentum(var=handles[0], accum=handles[1], lr=0.1, grad=summed, indices=unique, momentum=0.9)

    def scatter(handles, gradient, i):
        summed, unique = add_up(gradient, i)
        raw.ResourceScatterSub(resource=handles[0], indices=unique, updates=summed)
        raw.ResourceScatterAdd(resource=handles[0], indices=unique, updates=tf.constant(1.0))

    for i in (REPEATED, REPEATED[1:4], REPEATED[:0]):
        yield variable_case(f"AddedUpMomentum{len(i)}", [normal(SHAPE), normal(SHAPE)], [normal((len(i), 5)), i], momentum)
        yield variable_case(f"AddedUpScatter{len(i)}", [normal(SHAPE)], [normal((len(i), 5)), i], scatter)
    yield variable_case("AddedUpOutside", [normal(SHAPE)], [normal((6, 5)), REPEATED + 1], scatter, fails=True)


BFLOAT16 = scatter_case("Add", "BFloat16", normal(SHAPE, ml_dtypes.bfloat16), REPEATED, normal((6, 5), ml_dtypes.bfloat16), rel=2e-2)
CASES = [*scatter_cases(), *point_cases(), *slice_cases(), *rule_cases(), *added_up_cases(), BFLOAT16]
