"""Arithmetic and tables of the figures, without any measuring."""
import math
from pathlib import Path
from typing import Iterable

import numpy as np

from bench.harness.text_table import table  # noqa: F401, needs no numpy there


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def largest_difference(reference: Path, other: Path) -> float:
    """Largest absolute difference of any output, relative to that output's largest value.  NaN on
    one side only, infinite on one side only, or another shape is an infinite difference."""
    with np.load(reference) as a, np.load(other) as b:
        if a.files != b.files:
            return math.inf
        return max((array_difference(a[name], b[name]) for name in a.files), default=0.0)


def has_double(file: Path) -> bool:
    """Any output is float64."""
    with np.load(file) as arrays:
        return any(arrays[name].dtype == np.float64 for name in arrays.files)


def array_difference(a: np.ndarray, b: np.ndarray) -> float:
    if a.shape != b.shape:
        return math.inf
    if a.size == 0:
        return 0.0
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(
            a[~finite], b[~finite], equal_nan=True):
        return math.inf
    scale = np.max(np.abs(a[finite]), initial=0.0) or 1.0
    return float(np.max(np.abs(a[finite] - b[finite]), initial=0.0) / scale)


def short(value: float | None) -> str:
    """Three digits or so: 1234, 56.7, 8.90, 0.123."""
    if value is None or math.isnan(value):
        return "-"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}"
