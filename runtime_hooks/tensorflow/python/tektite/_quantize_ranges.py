"""Ranges of activations for ``tektite quantize``, from what calibration data made of them.

    statistics = Statistics()
    for batch in data:
        statistics.add(activation(batch))
    statistics.range("mse")       # (least, greatest) that 255 steps are laid over
"""

from __future__ import annotations

from typing import Any

METHODS = ("minmax", "percentile", "mse")
_BINS = 2048
_AT_ONCE = 1 << 16  # numbers that stay in a cache
_PERCENTILE = 99.99
_CANDIDATES = 64  # of a range's part that is kept


class Statistics:
    """The least and the greatest number, and how many lie where between them. Bins widen by twos as numbers grow."""

    def __init__(self) -> None:
        import numpy as np

        self.low = self.high = 0.0
        self.limit = 0.0
        self.counts: Any = np.zeros(2 * _BINS, np.int64)

    def add(self, values: Any) -> None:
        """ValueError where a number is not finite."""
        import numpy as np

        values = np.asarray(values, np.float32).reshape(-1)
        if values.size == 0:
            return
        low, high = float(values.min()), float(values.max())
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError("is not finite")
        self.low, self.high = min(self.low, low), max(self.high, high)
        most = max(-low, high)
        if self.limit == 0:
            self.limit = most
        while self.limit < most:  # two bins become one
            self.limit *= 2
            outer = self.counts.reshape(2, _BINS)
            merged = np.zeros_like(outer)
            merged[0, _BINS // 2:] = outer[0].reshape(-1, 2).sum(1)
            merged[1, :_BINS // 2] = outer[1].reshape(-1, 2).sum(1)
            self.counts = merged.reshape(-1)
        if self.limit > 0:
            for first in range(0, values.size, _AT_ONCE):
                self.counts += self._count(values[first:first + _AT_ONCE])

    def _count(self, values: Any) -> Any:
        """As numpy's histogram, in an eighth of its time."""
        import numpy as np

        bins = ((values + np.float32(self.limit)) * np.float32(_BINS / self.limit)).astype(np.int32)
        return np.bincount(np.clip(bins, 0, 2 * _BINS - 1), minlength=2 * _BINS)

    def range(self, method: str, symmetric: bool = False) -> tuple[float, float]:
        """(0, 0) where all numbers were 0. `symmetric`: 0 is the 128th of 255 steps, as layers with padding want it where
        numbers are below 0."""
        import numpy as np

        low, high = self.low, self.high
        if method != "minmax" and self.limit > 0:
            edges = np.linspace(-self.limit, self.limit, 2 * _BINS + 1)
            centers = (edges[1:] + edges[:-1]) / 2
            if method == "percentile":
                part = np.cumsum(self.counts) / max(int(self.counts.sum()), 1)
                rest = (100 - _PERCENTILE) / 200
                first, last = (int(np.searchsorted(part, share)) for share in (rest, 1 - rest))
                low, high = max(low, float(edges[first])), min(high, float(edges[min(last + 1, 2 * _BINS)]))
                low, high = min(low, 0.0), max(high, 0.0)
            else:
                kept = min(np.linspace(1, 1 / _CANDIDATES, _CANDIDATES),
                           key=lambda share: self._error(centers, *_placed(low * share, high * share, symmetric)))
                low, high = low * float(kept), high * float(kept)
        return _placed(low, high, symmetric)

    def _error(self, centers: Any, low: float, high: float) -> float:
        """The mean square of what rounding to 255 steps of a range changes."""
        import numpy as np

        step = (high - low) / 255
        if step == 0:
            return 0.0
        rounded = np.clip(np.round(centers / step), round(low / step), round(high / step)) * step
        return float(np.sum(self.counts * (centers - rounded) ** 2))


def _placed(low: float, high: float, symmetric: bool) -> tuple[float, float]:
    if not symmetric or low >= 0:
        return min(low, 0.0), high
    step = max(-low / 128, high / 127)
    return -128 * step, 127 * step
