"""Runs draws of op rows and stores their results; one half of `python -m tests.properties`, see there.

    python -m tests.properties.worker FOLDER LANE < draws      # with TEKTITE=0 or TEKTITE=1

A line of its input is a row and a number. TensorFlow is imported once, and every batch of draws runs in a fork: some
inputs end stock TensorFlow's process, which then costs that draw alone. FOLDER/<row>.<number> holds a Result.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tests.properties import control, elementwise, indexing, movement, products, quantized_types, reductions, state, xla  # noqa: F401, fill ROWS
from tests.properties.draw import ROWS, Case, Draw
from tests.properties.lanes import OF_CONTENTS, dressed
from tests.properties.result import Result
from tests.random_programs.programs import EPSILON, TWINS, apart, perturbed, plain, room

CALLS = 5  # of a draw whose sizes the graph does not know
BATCH = 40  # draws a fork
SECONDS = 60  # for one draw
SMALLEST = {"float32": 2.0**-126, "float64": 2.0**-1022, "bfloat16": 2.0**-126}


def drawn(op: str, number: int, lane: str) -> tuple[Draw, Case, list[list[np.ndarray]]]:
    d = Draw(op, number, lane in OF_CONTENTS)
    case = ROWS[op](d)
    if not case.unknown or case.xla:
        d.signature = "static"
    elif lane == "cut":
        d.signature = "sizes unknown"
    calls = [case.inputs() for _ in range(1 if d.signature == "static" else CALLS)]
    return d, case, dressed(d, case, lane, calls)


def specs(d: Draw, calls: list[list[np.ndarray]]) -> list[tf.TensorSpec]:
    """A size that is the same in all calls may be known."""
    result = []
    for operands in zip(*calls):
        shapes, rank = [np.shape(x) for x in operands], np.ndim(operands[0])
        is_empty = 0 in shapes[0]  # an operand that is there for its shape
        sizes = [None if d.signature != "static" and (any(s[i] != shapes[0][i] for s in shapes) or is_empty or d.chance(0.5))
                 else shapes[0][i] for i in range(rank)]
        result.append(tf.TensorSpec(None if d.signature == "rank unknown" else sizes, tf.as_dtype(np.asarray(operands[0]).dtype)))
    return result


class Function:
    """The case's results and, where it asks for it, the gradient; `noise` changes what the gradient comes from."""

    def __init__(self, case: Case, gradient: bool) -> None:
        self.case, self.gradient, self.noise = case, gradient and case.gradient, None
        self.forward = 0  # how many results come before slopes

    def upstream(self, y: tf.Tensor) -> tf.Tensor:
        """Small numbers, exact in every type."""
        ramp = tf.reshape(tf.cast(tf.range(tf.size(y)) % 7 - 3, y.dtype.real_dtype), tf.shape(y)) / 4
        return tf.cast(ramp, y.dtype) if self.noise is None else shaken(tf.cast(ramp, y.dtype), self.noise)

    def __call__(self, *operands: Any) -> list[Any]:
        operands = [tf.convert_to_tensor(x) for x in operands]
        if not self.gradient:
            results = tf.nest.flatten(self.case.function(*operands))
            self.forward = len(results)
            return results
        floats = [x for x in operands if x.dtype.is_floating or x.dtype.is_complex]
        with tf.GradientTape() as tape:
            tape.watch(floats)
            results = tf.nest.flatten(self.case.function(*operands))
        self.forward = len(results)
        smooth = [y for y in results if y.dtype.is_floating or y.dtype.is_complex]
        try:
            slopes = tape.gradient(smooth, floats, [self.upstream(y) for y in smooth]) if smooth and floats else []
        except LookupError:  # there is none
            slopes = []
        return [*results, *(tf.convert_to_tensor(g) for g in slopes if g is not None)]


def shaken(x: tf.Tensor, rng: np.random.Generator) -> tf.Tensor:
    """Some units larger or smaller; complex numbers in both parts."""
    if x.dtype.is_complex:
        return tf.complex(perturbed(tf.math.real(x), rng, 4), perturbed(tf.math.imag(x), rng, 4))
    return perturbed(x, rng, 4)


def parts(x: Any) -> np.ndarray:
    x = plain(x)
    return np.stack([x.real, x.imag], -1) if x.dtype.kind == "c" else x


def attempt(function: Any, operands: list[Any]) -> list[np.ndarray] | str:
    try:
        return [parts(y) for y in function(*operands)]
    except tf.errors.OpError as error:
        said = " ".join(error.message.split())
        return f"error {type(error).__name__}: {said[:150]} ... {said[-150:]}"
    except TypeError as error:  # a type that the op does not take; any other one is the row's own mistake
        if "allowed values" not in str(error):
            raise
        return f"error TypeError: {error}"[:300]
    except (ValueError, IndexError) as error:
        return f"error {type(error).__name__}: {error}"[:300]


def traced(case: Case, function: Function, signature: list[tf.TensorSpec]) -> Any:
    if not case.xla:
        return tf.function(function, input_signature=signature, autograph=False)
    inner = tf.function(function, input_signature=signature, autograph=False, jit_compile=True)
    return tf.function(lambda *xs: inner(*xs), input_signature=signature, autograph=False)


def tolerances(case: Case, function: Function, run: Any, operands: list[np.ndarray], want: list[np.ndarray] | str,
               rng: np.random.Generator) -> list[np.ndarray] | None:
    """By how far results move where inexact operands, and what the gradient comes from, change by some units."""
    if isinstance(want, str):
        return None
    twins: list[list[np.ndarray]] = []
    if not case.exact or function.gradient:
        for _ in range(TWINS):
            changed = [tf.constant(x) for x in operands]
            if not case.exact:
                changed = [shaken(x, rng) for x in changed]
            function.noise = rng if function.gradient else None
            other = attempt(run, changed)
            function.noise = None
            twins.append(want if isinstance(other, str) or len(other) != len(want) else other)
    result = []
    for i, w in enumerate(want):
        name = w.dtype.name
        if name not in EPSILON or (case.exact and i < function.forward):
            exact = np.full(w.shape, SMALLEST.get(name, 0.0))
            steep = name not in EPSILON and twins and not case.exact
            result.append(np.where(apart(w, [t[i] for t in twins]) == 0, exact, np.nan) if steep else exact)
        else:
            distance = apart(w, [t[i] for t in twins])
            result.append(room(w, distance) * case.slack + case.absolute + (of_largest(w) if case.slack > 1 else 0))
    return result


def of_largest(x: np.ndarray) -> float:
    """Some units of the largest result: terms of a sum may cancel in the twins by chance."""
    wide = x.astype(np.float64)
    return 4 * EPSILON[x.dtype.name] * float(np.max(np.abs(wide), initial=0, where=np.isfinite(wide)))


def run_draw(op: str, number: int, lane: str, compiled: bool) -> Result:
    d, case, calls = drawn(op, number, lane)
    function = Function(case, d.with_gradient)
    signature = specs(d, calls)
    text = f"{op} {number}: {d.signature}{', gradient' if function.gradient else ''}, " + \
        "; ".join(f"{s.dtype.name}{'' if s.shape.rank is None else s.shape}" for s in signature)
    before = runs()
    in_graph = compiled or case.graph or case.xla
    run = traced(case, function, signature) if in_graph else function
    results, allowed = [], []
    for operands in calls:
        results.append(attempt(run, [tf.constant(x) for x in operands]))
        if not compiled:
            allowed.append(tolerances(case, function, run, operands, results[-1], np.random.default_rng(number)))
    return Result(text, results, allowed, runs() - before, case.signs)


def runs() -> int:
    if os.environ.get("TEKTITE") != "1":
        return 0
    import tektite
    return tektite.stats()["host"].get("runs", 0)


def run_batch(folder: Path, lane: str, draws: list[tuple[str, int]]) -> None:
    """In a fork, which ends here."""
    compiled = os.environ.get("TEKTITE") == "1"
    if lane == "deterministic":
        tf.config.experimental.enable_op_determinism()
    for op, number in draws:
        (folder / "begun").write_text(f"{op} {number}")
        signal.alarm(SECONDS)
        try:
            result: Any = run_draw(op, number, lane, compiled)
        except Exception:  # noqa: BLE001  a mistake in the row's own function
            result = traceback.format_exc()
        (folder / f"{op}.{number}").write_bytes(pickle.dumps(result))
    os._exit(0)


def main() -> None:
    folder = Path(sys.argv[1])
    draws = [(op, int(number)) for op, number in (line.split() for line in sys.stdin)]
    tf.get_logger().setLevel("ERROR")
    while draws:
        batch = draws[:BATCH]
        child = os.fork()
        if child == 0:
            run_batch(folder, sys.argv[2], batch)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        draws = draws[len(batch):]
        if code != 0:
            op, number = (folder / "begun").read_text().split()
            (folder / f"{op}.{number}").write_bytes(pickle.dumps(f"the process ended with code {code}"))
            draws = batch[batch.index((op, int(number))) + 1:] + draws
    os._exit(0)


if __name__ == "__main__":
    main()
