"""Runs every case of the importer's tests on special values, and writes the results to a file.

    python special_values.py RESULTS.npz        with TEKTITE=0 or TEKTITE=1

A case's floats are replaced in several ways: one NaN among plain values, one infinity, all kinds of special
values in turn.  Integers keep their values, which may be indices; extreme_values.py has those of arithmetic.  A
result's name is case/variant/number; an error is its type's name.  `compiled` holds the cases that compiled code
ran, `ops` the TensorFlow ops of all cases.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Callable, Iterator

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parents[1] / "importer"))

import ml_dtypes
import numpy as np
import tensorflow as tf

tf.get_logger().setLevel("ERROR")

NAN, INF = np.nan, np.inf
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def special(dtype: Any) -> np.ndarray:
    """NaN, infinities, zeros, numbers that round or overflow, and what integers have no room for."""
    info = ml_dtypes.finfo(dtype)
    values = [NAN, INF, -INF, 0.0, -0.0, float(info.max), -float(info.max), float(info.tiny), -float(info.tiny)]
    values += [1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3, -7, 1e-3, 88.9, -88.9, 104, -104, 127.5, 200, -200, 300]
    values += [32768, 65504, -65504, 2.0**31, -(2.0**31), 3e9, -3e9, 2.0**32, 2.0**63, -(2.0**63), 1e20, -1e20]
    with np.errstate(over="ignore"):
        return np.array(values, np.float64).astype(dtype)


def is_float(x: np.ndarray) -> bool:
    return x.dtype.kind == "f" or x.dtype == BFLOAT16


def in_turn(x: np.ndarray, first: int) -> np.ndarray:
    """Special values from the one at `first` on, a plain one after every second."""
    values = special(x.dtype)
    every = np.resize(np.roll(values, -first), x.size)
    return np.where(np.arange(x.size) % 3 == 2, x.reshape(-1), every).reshape(x.shape).astype(x.dtype)


def with_one(x: np.ndarray, value: float) -> np.ndarray:
    y = np.array(x)
    if y.size:
        y.reshape(-1)[y.size // 2] = value
    return y


VARIANTS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "nan": lambda x, i: with_one(x, NAN),
    "inf": lambda x, i: with_one(x, INF),
    "-inf": lambda x, i: with_one(x, -INF),
    "zeros": lambda x, i: np.where(np.arange(x.size).reshape(x.shape) % 2, 0.0, -0.0).astype(x.dtype),
    "turn0": lambda x, i: in_turn(x, 7 * i),
    "turn1": lambda x, i: in_turn(x, 5 + 11 * i),
    "turn2": lambda x, i: in_turn(x, 13 + 3 * i),
}


# TensorFlow's kernel for hue turns by steps of 1 until it is in range: never, with infinity.
ENDLESS = ("AdjustHue",)


def tensors_of(result: Any) -> Iterator[np.ndarray]:
    for t in tf.nest.flatten(result):
        yield np.asarray(t)


def run(function: Any, inputs: list[np.ndarray]) -> list[np.ndarray]:
    try:
        return list(tensors_of(function(*[tf.constant(x) for x in inputs])))
    except tf.errors.OpError as error:
        return [np.array(type(error).__name__)]
    except TypeError as error:
        if "not in list of allowed values" not in str(error):
            raise
        return []  # the op does not take the type


def cases() -> Iterator[tuple[str, Any, dict[str, list[np.ndarray]]]]:
    """Name, function, and inputs by variant."""
    import extreme_values
    import import_cases_assertions
    import import_cases_convolution
    import import_cases_elementwise
    import import_cases_images
    import import_cases_layers
    import import_cases_movement
    import import_cases_optimizers
    import import_cases_quantization
    import import_cases_quantized_types
    import import_cases_segments
    import import_cases_selections
    import import_cases_windows

    yield from extreme_values.cases()
    for module in (import_cases_assertions, import_cases_elementwise, import_cases_movement, import_cases_convolution,
                   import_cases_layers, import_cases_images, import_cases_optimizers, import_cases_quantization,
                   import_cases_quantized_types, import_cases_segments, import_cases_selections, import_cases_windows):
        for case in module.CASES:
            if case.fails or case.refused or not any(is_float(np.asarray(x)) for x in case.inputs):
                continue
            inputs = {"plain": list(case.inputs)}
            variants = {} if case.name.startswith(ENDLESS) else VARIANTS
            for name, change in variants.items():
                # One NaN or infinity at a time: in each operand.
                for place in range(len(case.inputs)) if name in ("nan", "inf", "-inf") else [None]:
                    inputs[name if place is None else f"{name}{place}"] = [
                        change(x, i) if is_float(x) and place in (None, i) else x
                        for i, x in enumerate(map(np.asarray, case.inputs))]
            yield f"{module.__name__.removeprefix('import_cases_')}.{case.name}", case.function, inputs


def ops_of(traced: Any, inputs: list[np.ndarray]) -> set[str]:
    graph = traced.get_concrete_function(*[tf.constant(x) for x in inputs]).graph.as_graph_def()
    return {node.op for node in graph.node}


def runs() -> int:
    if os.environ.get("TEKTITE") != "1":
        return 0
    import tektite
    return tektite.stats()["host"].get("runs", 0)


def main(path: str, only: str = "") -> None:
    results: dict[str, np.ndarray] = {}
    compiled: list[str] = []
    ops: set[str] = set()
    for name, function, variants in cases():
        if only not in name:
            continue
        traced = tf.function(function, autograph=False)
        before = runs()
        for variant, inputs in variants.items():
            for i, result in enumerate(run(traced, inputs)):
                if result.dtype == BFLOAT16:
                    result = result.astype(np.float32)
                results[f"{name}/{variant}/{i}"] = result
        if f"{name}/{variant}/0" in results:
            ops |= ops_of(traced, inputs)
        if runs() > before:
            compiled.append(name)
    np.savez(path, compiled=np.array(compiled), ops=np.array(sorted(ops)), **results)


if __name__ == "__main__":
    main(*sys.argv[1:])
