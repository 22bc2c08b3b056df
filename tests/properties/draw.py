"""One draw of an op row: random shapes, types, attributes and values, as `python -m tests.properties` uses them.

    @rows("Acos Asin")
    def unit(d: Draw) -> Case:
        dtype, rank = d.float(), d.rank()
        return Case(lambda x: raw(d.op, x), lambda: [d.values(dtype, d.shape(rank))], exact=False)

A row's function draws what the graph knows: types, ranks, attributes. `Case.inputs` draws one call's operands, and is
called several times where the graph does not know the sizes. Both must depend on the Draw alone, so that TensorFlow and
compiled code run the same draw in two processes.

Special values come from tests/attack, so that there is one list of them.
"""

from __future__ import annotations

import dataclasses
import random
import sys
from pathlib import Path
from typing import Any, Callable

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "attack"), str(TESTS / "importer")]

import ml_dtypes
import numpy as np
import tensorflow as tf
from extreme_values import integers
from import_cases_elementwise import private
from special_values import VARIANTS
from tensorflow.python.framework import op_def_registry

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BFLOAT16)
WIDE = FLOATS[:2]
SIGNED = tuple(map(np.dtype, ("int32", "int64", "int8", "int16")))
UNSIGNED = tuple(map(np.dtype, ("uint8", "uint16", "uint32", "uint64")))
INTS = (*SIGNED, *UNSIGNED)
BOOL, C64, C128 = np.dtype(bool), np.dtype(np.complex64), np.dtype(np.complex128)
COMPLEX = (C64, C128)
INDICES = SIGNED[:2]
SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 257, 1000, 4099)
MOST = {0: 1, 1: 4099, 2: 100, 3: 33, 4: 9, 5: 5, 6: 3}  # the largest size, by rank


@dataclasses.dataclass
class Case:
    """`exact`: forward results have TensorFlow's bits. `signs`: those of zeros, too. `gradient`: TensorFlow's gradient
    by all floats is asked for, where the draw says so. `graph`: TensorFlow runs it in a graph, since the op has no
    meaning outside of one. `xla`: XLA runs it, in TensorFlow as well. `slack` multiplies the allowed difference, and
    is above 1 for sums of many terms; `absolute` is added to it."""

    function: Callable[..., Any]
    inputs: Callable[[], list[np.ndarray]]
    exact: bool = True
    signs: bool = False
    gradient: bool = True
    graph: bool = False
    xla: bool = False
    slack: float = 1.0
    absolute: float = 0.0
    unknown: bool = True  # whether its sizes may be unknown


ROWS: dict[str, Callable[["Draw"], Case]] = {}


def rows(names: str) -> Callable[[Callable[["Draw"], Case]], Callable[["Draw"], Case]]:
    def add(function: Callable[[Draw], Case]) -> Callable[[Draw], Case]:
        for name in names.split():
            assert name not in ROWS, name
            ROWS[name] = function
        return function

    return add


def raw(op: str, *inputs: Any, **attributes: Any) -> Any:
    """The op by name; its data operands by position."""
    names = [arg.name for arg in op_def_registry.get(op).input_arg]
    given = {**dict(zip(names, inputs)), **attributes}
    return private(op, **given) if op.startswith("_") else getattr(tf.raw_ops, op)(**given)


class Draw:
    def __init__(self, op: str, seed: int, of_contents: bool = False) -> None:
        """`of_contents`: types and sizes are mostly those whose elements the importer follows."""
        self.op, self.of_contents = op, of_contents
        self.rng = random.Random(f"{op} {seed}")
        self.numbers = np.random.default_rng(self.rng.randrange(2**32))
        self.with_gradient = self.rng.random() < 0.4
        self.signature = self.rng.choices(("static", "sizes unknown", "rank unknown"), (4, 5, 1))[0]

    def pick(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def chance(self, of: float) -> bool:
        return self.rng.random() < of

    def between(self, low: int, high: int) -> int:
        """Both ends may come."""
        return self.rng.randint(low, high)

    def of(self, *types: np.dtype) -> np.dtype:
        """The first ones more often."""
        followed = [t for t in types if t in (*INDICES, BOOL)] if self.of_contents else []
        if followed:
            return self.pick(*followed)
        return types[min(int(self.rng.expovariate(0.6)), len(types) - 1)]

    def float(self) -> np.dtype:
        return self.of(*FLOATS)

    def number(self) -> np.dtype:
        return self.float() if self.chance(0.1 if self.of_contents else 0.6) else self.of(*INTS)

    def any(self) -> np.dtype:
        if self.of_contents:
            return self.pick(FLOATS[0], *INDICES, *INDICES, BOOL)
        return self.pick(FLOATS[0], self.float(), self.of(*INTS), BOOL, C64)

    def rank(self, least: int = 0, most: int = 5) -> int:
        return min(most, max(least, self.rng.choices(range(6), (1, 3, 6, 4, 2, 1))[0]))

    def size(self, least: int = 0, most: int = 33) -> int:
        return self.rng.choice([s for s in SIZES if least <= s <= most] or [least])

    def shape(self, rank: int, least: int = 0) -> list[int]:
        most = MOST[rank] if rank < 2 or self.chance(0.3) else min(MOST[rank], 17)
        if self.of_contents:
            most = (1, 17, 5, 4, 3, 2, 2)[rank]
            if rank and self.chance(0.5):  # an outer combination of ranges is square
                return [self.size(max(least, 1), most)] * rank
        shape = [self.size(max(least, 1), most) for _ in range(rank)]
        if least == 0 and rank and self.chance(0.08):
            shape[self.between(0, rank - 1)] = 0
        return shape

    def stretched(self, shape: list[int], rank: int) -> list[int]:
        """A shape that broadcasts to `shape`."""
        return [1 if self.chance(0.5 if self.of_contents else 0.25) else d for d in shape[len(shape) - rank:]]

    def values(self, dtype: Any, shape: Any, wild: bool = False, low: float | None = None, high: float | None = None,
               tame: bool = False) -> np.ndarray:
        """`wild`: every special value may come. `tame`: none, no infinity either; between `low` and `high` only plain
        ones come."""
        dtype, shape = np.dtype(dtype), [int(d) for d in shape]
        if dtype == BOOL:
            return self.numbers.random(shape) < 0.5
        if dtype in COMPLEX:
            part = np.float32 if dtype == C64 else np.float64
            parts = [self.values(part, shape, tame=tame or self.chance(0.7)) for _ in range(2)]
            result = np.empty(shape, dtype)
            result.real, result.imag = parts
            return result
        if dtype in INTS:
            return self._integers(dtype, shape, wild, low, high)
        if low is not None or high is not None:
            low, high = -3.0 if low is None else low, 3.0 if high is None else high
            x = self.numbers.uniform(low, high, shape)
            return np.clip(np.round(x) if self.chance(0.1) else x, low, high).astype(dtype)
        x = self.numbers.normal(0, self.pick(1, 2, 5), shape)
        kind = self.rng.random()
        if kind < 0.15:
            x = np.round(x)
        x = np.asarray(x.astype(dtype))
        names = [] if tame else ["nan", "inf", "-inf", "zeros"]
        if wild and not self.with_gradient:
            names += ["turn0", "turn1", "turn2"]
        if names and kind > (0.5 if wild else 0.85):
            x = np.asarray(VARIANTS[self.rng.choice(names)](x, self.between(0, 30))).reshape(shape)
        return x

    def _integers(self, dtype: np.dtype, shape: list[int], wild: bool, low: Any, high: Any) -> np.ndarray:
        if self.of_contents and low is None and high is None and self.chance(0.4):
            first, step = self.between(0, 5), self.pick(1, 1, 1, 2, -1)
            return (first + step * np.arange(int(np.prod(shape)))).reshape(shape).astype(dtype)
        wild = wild and not self.of_contents
        if wild and self.chance(0.4):
            every = np.roll(integers(dtype), self.between(0, 30))
            return np.asarray(self.numbers.permutation(np.resize(every, int(np.prod(shape)))).reshape(shape))
        low = (0 if dtype.kind == "u" else -9) if low is None else int(low)
        return self.numbers.integers(low, 10 if high is None else int(high), shape, endpoint=high is not None).astype(dtype)

    def place(self, low: int = -2) -> np.ndarray:
        """A place, or a distance, that is data."""
        return np.array(self.between(low, 3), self.index_type)

    def indices(self, below: int, shape: Any, outside: float = 0.06) -> np.ndarray:
        """Places below a size; with a small probability one of them is none."""
        dtype = self.index_type
        if below <= 0:
            return np.zeros(shape, dtype)
        x = np.asarray(self.numbers.integers(0, below, shape).astype(dtype))
        if x.size and self.chance(outside):
            x.reshape(-1)[self.between(0, x.size - 1)] = self.pick(-1, below, below + 7)
        return x

    @property
    def index_type(self) -> np.dtype:
        """The same one in every call of a draw."""
        if not hasattr(self, "_index_type"):
            self._index_type = self.pick(*INDICES)
        return self._index_type

    def axis(self, rank: int) -> int:
        return self.between(-rank, rank - 1)

    def axes(self, rank: int) -> list[int]:
        chosen = self.rng.sample(range(rank), self.between(0, rank))
        return [a - rank if self.chance(0.3) else a for a in chosen]
