"""Rows with variables: reading, writing, optimizers' rules, random streams; and random numbers of seeds."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf
from optimizer_rules import ATTRIBUTES, RULES, SPARSE_RULES, WITHOUT_HALF

from tests.properties.draw import FLOATS, INDICES, INTS, SIGNED, UNSIGNED, WIDE, Case, Draw, raw, rows
from tests.properties.indexing import points


class Held:
    """Variables of any size, or of the one that is given, which every call gives their values first. They are made in
    the process that runs the case, when it first does."""

    def __init__(self, *kinds: tuple[np.dtype, int], sizes: list[int] | None = None) -> None:
        self.kinds, self.sizes, self.variables = kinds, sizes, None

    def assign(self, values: Any) -> list[tf.Variable]:
        with tf.init_scope():
            if self.variables is None:
                self.variables = [tf.Variable(np.zeros(self.sizes or [0] * rank, dtype), shape=tf.TensorShape(self.sizes or [None] * rank))
                                  for dtype, rank in self.kinds]
        for variable, value in zip(self.variables, values):
            variable.assign(value)
        return self.variables


def state_case(function: Callable[..., Any], inputs: Callable[[], list[np.ndarray]], **options: Any) -> Case:
    return Case(function, inputs, graph=True, gradient=False, **options)


@rows("AssignAddVariableOp AssignSubVariableOp AssignVariableOp ReadVariableOp")
def assign(d: Draw) -> Case:
    dtype, rank = d.pick(*FLOATS[:2], *INDICES), d.rank()
    fixed = d.shape(rank) if d.op == "AssignVariableOp" or d.chance(0.5) else None  # no other may change its shape
    variables = Held((dtype, rank), sizes=fixed)

    def function(old: tf.Tensor, x: tf.Tensor) -> list[tf.Tensor]:
        v, = variables.assign([old])
        if d.op == "ReadVariableOp":
            return [v.read_value() + x]
        raw(d.op, v.handle, x * 2)
        return [v.read_value(), v + x]

    def inputs() -> list[np.ndarray]:
        shape = fixed or d.shape(rank)
        return [d.values(dtype, shape), d.values(dtype, shape)]

    return state_case(function, inputs)


@rows("VariableShape")
def variable_shape(d: Draw) -> Case:
    dtype, rank, to = d.pick(*WIDE), d.rank(), d.pick(tf.int32, tf.int64)
    variables = Held((dtype, rank))
    return state_case(lambda x: raw(d.op, variables.assign([x])[0].handle, out_type=to), lambda: [d.values(dtype, d.shape(rank))])


@rows("ResourceGather ResourceGatherNd")
def variable_gather(d: Draw) -> Case:
    dtype, rank, index_rank = d.pick(*WIDE, *INDICES), d.rank(1, 4), d.between(0, 2)
    depth = d.between(1, rank)
    variables = Held((dtype, rank))

    def inputs() -> list[np.ndarray]:
        shape, count = d.shape(rank), [d.size(0, 9) for _ in range(index_rank)]
        at = np.stack([d.indices(s, count) for s in shape[:depth]], -1) if d.op.endswith("Nd") else d.indices(shape[0], count)
        return [d.values(dtype, shape), at]

    return state_case(lambda x, i: raw(d.op, variables.assign([x])[0].handle, i, dtype=tf.as_dtype(dtype)), inputs)


SCATTERS = " ".join(f"ResourceScatter{how}" for how in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update"))
POINT_SCATTERS = " ".join(f"ResourceScatterNd{how}" for how in ("Add", "Sub", "Min", "Max", "Update"))


@rows(f"{SCATTERS} {POINT_SCATTERS}")
def variable_scatter(d: Draw) -> Case:
    by_points = "Nd" in d.op
    dtype = d.pick(*FLOATS[:2], d.float(), *SIGNED[:2])
    rank, index_rank, unique = d.rank(1, 4), d.between(1, 2), by_points and d.op.endswith("Update")
    depth, scalar = d.between(1, rank) if by_points else 1, not by_points and d.chance(0.2)
    variables = Held((dtype, rank))

    def inputs() -> list[np.ndarray]:
        shape, count = d.shape(rank), [d.size(0, 9) for _ in range(index_rank)]
        at = points(d, shape, count, depth)
        if unique:  # of two updates either may be the last
            n = min(int(np.prod(count)), int(np.prod(shape[:depth])))
            count = [1] * (index_rank - 1) + [n]
            flat = d.numbers.permutation(int(np.prod(shape[:depth])))[:n]
            at = np.stack(np.unravel_index(flat, shape[:depth]), -1).reshape(*count, depth).astype(d.index_type)
        updates = d.values(dtype, [] if scalar else [*count, *shape[depth:]], tame=True)
        old = d.values(dtype, shape, tame=True)
        if d.op.endswith("Div") and dtype in INTS:  # TensorFlow's kernel ends the process where the quotient has no room
            old = np.maximum(old, -np.iinfo(dtype).max)
        return [old, at if by_points else at[..., 0], updates]

    def function(old: tf.Tensor, at: tf.Tensor, updates: tf.Tensor) -> list[tf.Tensor]:
        v, = variables.assign([old])
        raw(d.op, v.handle, at, updates)
        return [v.read_value()]

    exact = dtype in INTS or d.op.endswith(("Max", "Min", "Update"))
    return state_case(function, inputs, exact=exact, slack=16 if dtype in FLOATS[2:] else 4)


@rows("ResourceStridedSliceAssign")
def variable_slice(d: Draw) -> Case:
    dtype, rank = d.pick(*WIDE, *INDICES), d.rank(1, 4)
    shape = d.shape(rank, 1)
    piece = tuple(slice(d.pick(None, d.between(-n, n)), d.pick(None, d.between(-n, n)), d.pick(None, 1, 2, -1, -3))
                  if d.chance(0.8) else d.between(-n, n - 1) for n in shape[:d.between(1, rank)])
    taken = np.zeros(shape)[piece].shape
    variables = Held((dtype, rank), sizes=shape)

    def function(old: tf.Tensor, value: tf.Tensor) -> list[tf.Tensor]:
        v, = variables.assign([old])
        v[piece].assign(value)
        return [v.read_value()]

    return state_case(function, lambda: [d.values(dtype, shape), d.values(dtype, taken)])


@rows(" ".join([*(f"ResourceApply{rule}" for rule in RULES), *(f"ResourceSparseApply{rule}" for rule in SPARSE_RULES)]))
def optimizer(d: Draw) -> Case:
    is_sparse = "Sparse" in d.op
    rule = d.op.removeprefix("ResourceSparseApply" if is_sparse else "ResourceApply")
    names, positive, scalars = RULES[rule]
    dtype, rank = d.of(*WIDE, *(FLOATS[2:3] if rule not in WITHOUT_HALF else ())), d.rank(1 if is_sparse else 0)
    names, positive = names.split(), positive.split()
    options = {ATTRIBUTES[rule]: d.chance(0.5)} if rule in ATTRIBUTES else {}
    numbers = {k: dtype.type(v if k in ("epsilon", "lr_power") else v * d.pick(1.0, 1.0, 0.5)) for k, v in scalars.items()}
    if "l1" in numbers and d.chance(0.3):
        numbers |= dict(l1=dtype.type(0), l2=dtype.type(0))
    if rule == "AdagradDA":
        numbers["global_step"] = np.int64(d.between(1, 9))
    variables = Held(*[(dtype, rank)] * len(names))
    last = "delta" if rule.endswith("GradientDescent") and not is_sparse else "grad"

    def function(gradient: tf.Tensor, *values: tf.Tensor) -> list[tf.Tensor]:
        held_ = variables.assign(values[:len(names)])
        places = dict(indices=values[-1]) if is_sparse else {}
        getattr(tf.raw_ops, d.op)(**{n: v.handle for n, v in zip(names, held_)}, **numbers, **options, **places, **{last: gradient})
        return [v.read_value() for v in held_]

    def inputs() -> list[np.ndarray]:
        shape = d.shape(rank, int(is_sparse))
        at = [d.indices(shape[0], [d.size(0, 9)])] if is_sparse else []
        gradient = d.values(dtype, [len(at[0]), *shape[1:]] if is_sparse else shape, tame=True)
        if rule == "CenteredRMSProp":  # the root of ms - mg^2
            return [gradient, *(d.values(dtype, shape, low=low, high=high) for low, high in (
                (-3, 3), (-0.5, 0.5), (0.5, 3), (-3, 3))), *at]
        return [gradient, *(d.values(dtype, shape, low=0.5, high=3) if n in positive else d.values(dtype, shape, tame=True)
                            for n in names), *at]

    return state_case(function, inputs, exact=False, slack=16 if dtype == np.float16 else 8 if is_sparse else 2)


PHILOX = 1
STREAMS = "RngReadAndSkip RngSkip StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform StatefulUniformFullInt StatefulUniformInt"


@rows(STREAMS)
def stream(d: Draw) -> Case:
    shape, delta = d.shape(d.rank(0, 3)), d.pick(0, 3, 2**40)
    variables, philox = Held((np.dtype(np.int64), 1)), np.int64(PHILOX)
    options = {"StatefulUniformFullInt": dict(dtype=d.pick(tf.int32, tf.uint32, tf.int64, tf.uint64)), "StatefulUniformInt": {}}.get(
        d.op, dict(dtype=d.pick(tf.float32, tf.float64)))

    def draw(handle: tf.Tensor) -> Any:
        if d.op == "RngReadAndSkip":
            return [raw(d.op, handle, PHILOX, np.uint64(delta))]
        if d.op == "RngSkip":
            raw(d.op, handle, philox, np.int64(delta))
            return []
        limits = [np.int64(-3), np.int64(99)] if d.op == "StatefulUniformInt" else []
        return [raw(d.op, handle, philox, np.array(shape, np.int64), *limits, **options)]

    def function(state: tf.Tensor) -> list[tf.Tensor]:
        v, = variables.assign([state])
        return [*draw(v.handle), v.read_value()]

    normal = "Normal" in d.op
    return state_case(function, lambda: [d.numbers.integers(-2**62, 2**62, 3)], exact=not normal)


def seed_of(d: Draw) -> np.ndarray:
    return d.numbers.integers(-2**31, 2**31, 2).astype(d.index_type)


RANDOM = """StatelessRandomNormal StatelessRandomUniform StatelessRandomUniformFullInt StatelessRandomUniformInt
StatelessTruncatedNormal StatelessRandomNormalV2 StatelessRandomUniformV2 StatelessRandomUniformFullIntV2
StatelessRandomUniformIntV2 StatelessTruncatedNormalV2"""


@rows(RANDOM)
def random_numbers(d: Draw) -> Case:
    shape, integer = d.shape(d.rank(0, 3)), "Int" in d.op
    dtype = tf.as_dtype(d.pick(*INDICES, *(UNSIGNED[2:] if "Full" in d.op else ())) if integer else d.pick(*FLOATS))
    limits = [dtype.as_numpy_dtype(v) for v in ((-5, 1003) if d.chance(0.7) else (0, 1))] if integer and "Full" not in d.op else []
    options = {} if limits else dict(dtype=dtype)

    def function(seed: tf.Tensor) -> tf.Tensor:
        if not d.op.endswith("V2"):
            return raw(d.op, np.array(shape, np.int32), seed, *limits, **options)
        key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed)
        return raw(d.op, np.array(shape, np.int32), key, counter, PHILOX, *limits, **options)

    return Case(function, lambda: [seed_of(d)], exact="Normal" not in d.op, gradient=False)


@rows("StatelessMultinomial")
def classes(d: Draw) -> Case:
    """Sizes are known where code is made; half of the draws are more than one thread's work in TensorFlow."""
    dtype, samples, rows = tf.as_dtype(d.pick(*FLOATS)), d.pick(0, 1, 2, 7), d.size(0, 5)
    count = d.pick(3, 50) * d.size(1, 9) if d.chance(0.5) else 20000

    def function(logits: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        return raw(d.op, logits, samples, seed, output_dtype=d.index_type)

    return Case(function, lambda: [d.values(dtype.as_numpy_dtype, [rows, count], tame=True), seed_of(d)], gradient=False, unknown=False)


@rows("StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg StatelessRandomGetAlg")
def keys(d: Draw) -> Case:
    if d.op == "StatelessRandomGetAlg":
        return Case(lambda s: [raw(d.op) + tf.cast(s[0], tf.int32)], lambda: [seed_of(d)], gradient=False)
    return Case(lambda s: raw(d.op, s), lambda: [seed_of(d)], gradient=False)
