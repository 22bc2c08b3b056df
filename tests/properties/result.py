"""The result of one draw on one side, as the worker stores it."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass
class Result:
    """`calls`: for each call its results, or the error's kind; `allowed`: for each the largest difference of each
    element that is no mistake; `runs`: how often compiled code ran."""

    text: str
    calls: list[list[np.ndarray] | str]
    allowed: list[list[np.ndarray] | None]
    runs: int
    signs: bool
