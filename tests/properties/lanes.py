"""Lanes of the property tests: how a draw's operands reach the op, and with which switches compiled code is made.

    known          integers and bools come as contents: the function computes them from shapes of empty arguments, so that
                   they are known where code is made for exact sizes (--tier=specialized), and unknown to TensorFlow
    reproducible   the same with --reproducible
    deterministic  the same with TensorFlow's op determinism
    cut            operands are cut out of arguments that are one longer each way, in calls of several sizes with one code
                   (--tier=generic): their sizes, 0 too, are computed, and no argument is empty
    misfit         one operand has another shape than the op may want: TensorFlow's error, or its result, is right

Why: `plain` draws know nothing of sizes at tracing or everything, and their operands fit. Ranges of a size that only a call
tells, as positions and masks are made of, took part in neither, and an outer sum of two of them lost an axis. Nor did
sizes that become 0 behind the arguments, of which a mean of integers was what division by 0 gives.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from tests.properties.draw import BOOL, INDICES, Case, Draw

OF_CONTENTS = ("known", "reproducible", "deterministic")
MOST_ELEMENTS = 64  # that the importer follows
MOST_SIZES = 4  # of an argument
LARGEST = 200

Build = Callable[[list[tf.Tensor]], tf.Tensor]


def sizes_of(values: list[int]) -> list[np.ndarray]:
    """Empty arrays whose shapes hold these numbers behind a 0."""
    return [np.zeros([0, *values[i:i + MOST_SIZES]], np.int32) for i in range(0, len(values), MOST_SIZES)]


def contents_of(d: Draw, x: np.ndarray) -> tuple[list[np.ndarray], Build] | None:
    """Arguments from whose shapes x is computed, and how; None where it is not of that kind."""
    if x.dtype not in (*INDICES, BOOL) or not 0 < x.size <= MOST_ELEMENTS:
        return None
    flat = [int(v) for v in x.reshape(-1)]
    least = min(0, *flat)
    if max(flat) - least > LARGEST:
        return None
    dtype, wide = tf.as_dtype(x.dtype), tf.int64 if x.dtype == np.int64 and d.chance(0.5) else tf.int32
    steps = set(np.diff(flat).tolist())
    if len(flat) > 1 and len(steps) == 1 and steps != {0} and x.dtype != BOOL:
        step = steps.pop()

        def counted(sizes: list[tf.Tensor]) -> tf.Tensor:
            n = tf.shape(sizes[0], wide)[1]
            return shaped(tf.range(n) * tf.constant(step, wide) + tf.constant(flat[0], wide))

        arguments, build = sizes_of([len(flat)]), counted
    else:
        def joined(sizes: list[tf.Tensor]) -> tf.Tensor:
            parts = [tf.shape(s, wide)[1:] for s in sizes]
            values = parts[0] if len(parts) == 1 else tf.concat(parts, 0)
            return shaped(values + tf.constant(least, wide) if least else values)

        arguments, build = sizes_of([v - least for v in flat]), joined

    def shaped(values: tf.Tensor) -> tf.Tensor:
        values = tf.not_equal(values, 0) if x.dtype == BOOL else values if values.dtype == dtype else tf.cast(values, dtype)
        return values if x.ndim == 1 else tf.reshape(values, x.shape)

    return arguments, build


def with_contents(d: Draw, case: Case, operands: list[np.ndarray]) -> list[np.ndarray]:
    """The case's operands, with arguments in the place of those that can be contents; the case computes these."""
    given: list[np.ndarray] = []
    plan: list[tuple[int, Build | None]] = []
    for x in operands:
        made = contents_of(d, np.asarray(x))
        arguments, build = ([x], None) if made is None else made
        given += arguments
        plan.append((len(arguments), build))
    inner = case.function

    def function(*arguments: tf.Tensor) -> Any:
        rest, values = list(arguments), []
        for count, build in plan:
            values.append(rest[0] if build is None else build(rest[:count]))
            del rest[:count]
        return inner(*values)

    case.function = function
    return given


def other_shape(d: Draw, x: np.ndarray) -> np.ndarray:
    """x with one size changed, or with another rank."""
    x = np.asarray(x)
    axis = d.between(0, x.ndim - 1) if x.ndim else 0
    kind = d.pick("one", "one", "one", "less", "more", "rank", "scalar")
    if x.ndim == 0 or kind == "rank":
        return x[None] if x.ndim == 0 or d.chance(0.5) else x.take(0, axis) if x.shape[axis] else x[None]
    if kind == "scalar":
        return x.reshape(-1)[0] if x.size else x[None]
    n = x.shape[axis]
    return x.take(range({"one": min(n, 1), "less": max(n - 1, 0)}.get(kind, n)), axis) if kind != "more" else \
        np.concatenate([x, x.take(range(min(n, 1)), axis)], axis)


def misfit(d: Draw, operands: list[np.ndarray]) -> list[np.ndarray]:
    changed = list(operands)
    if changed:
        i = d.between(0, len(changed) - 1)
        changed[i] = other_shape(d, changed[i])
    return changed


def cut_out(case: Case, calls: list[list[np.ndarray]]) -> list[list[np.ndarray]]:
    inner = case.function

    def longer(x: np.ndarray) -> np.ndarray:
        result = np.zeros([n + 1 for n in np.shape(x)], np.asarray(x).dtype)
        result[(slice(1, None),) * np.ndim(x)] = x
        return result

    def function(*arguments: tf.Tensor) -> Any:
        return inner(*(x[(slice(1, None),) * x.shape.rank] if x.shape.rank else x for x in arguments))

    case.function = function
    return [[longer(x) if np.ndim(x) else x for x in operands] for operands in calls]


def dressed(d: Draw, case: Case, lane: str, calls: list[list[np.ndarray]]) -> list[list[np.ndarray]]:
    """The calls of that lane: the same one twice, but for plain and cut ones."""
    if lane == "plain" or case.xla:
        return calls
    if lane == "cut":
        return cut_out(case, calls)
    d.signature = "sizes unknown" if case.unknown else "static"
    operands = calls[0]
    operands = with_contents(d, case, operands) if lane in OF_CONTENTS else misfit(d, operands)
    if lane == "misfit":
        case.graph = True  # its errors at tracing are TensorFlow's own
    return [operands] * 2
