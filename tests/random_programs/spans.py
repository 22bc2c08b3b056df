"""How far the roundings of f32 can move the results of a network between FakeQuant, as a lower and an upper bound for each
element: what a result in bytes or in floats is compared with.

    x = Span.exact(values)                                  f64 from here on
    y = fake_quant(linear(x, weights, convolve, terms=72), grid)
    y.misses(result)                                        how many elements of `result` lie outside

The bar.  A sum of n terms in f32, in any order, is within (4 + 4 sqrt(n)) 2^-24 of the sum of the terms' sizes: the bound of
random roundings, four deviations wide.  Rounding to a grid maps both ends: a value that lies nearer to the middle between two
grid numbers than its own error and 4 roundings may fall on either, and any other value on one alone.  TensorFlow's own result
must lie within, too, which tests the bar itself.

Limits: NaN and infinities have no span; they are compared with TensorFlow's.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

import numpy as np

U = 2.0**-24
DENORMAL = 2.0**-126  # below it TensorFlow's own kernels differ in whether they take a number for 0
Values = Any  # an array of f64


def of_sum(terms: int) -> float:
    return (4 + 4 * np.sqrt(max(terms, 1))) * U


@dataclasses.dataclass
class Span:
    low: Values
    high: Values

    @staticmethod
    def exact(values: Any) -> Span:
        wide = np.asarray(values, np.float64)
        return Span(wide, wide)

    def size(self) -> Values:
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def wider(self, by: Values) -> Span:
        return Span(self.low - by, self.high + by)

    def map(self, function: Callable[[Values], Values]) -> Span:
        """Of a function that never falls and rounds nothing: clamps, greatest elements, movements."""
        return Span(function(self.low), function(self.high))

    def misses(self, result: Any, where: Any = True) -> int:
        wider = self.wider(DENORMAL)
        return int(np.sum(((result < wider.low) | (result > wider.high)) & where))


def joined(parts: list[Span], function: Callable[[list[Values]], Values]) -> Span:
    return Span(function([part.low for part in parts]), function([part.high for part in parts]))


def total(x: Span, y: Span) -> Span:
    both = Span(x.low + y.low, x.high + y.high)
    return both.wider(U * both.size())


def smooth(x: Span, function: Callable[[Values], Values]) -> Span:
    """Of a rising function that is right to 4 units in the last place."""
    y = x.map(function)
    return y.wider(8 * U * y.size())


def linear(x: Span, weights: Values, function: Callable[[Values, Values], Values], terms: int) -> Span:
    """`function`: a product, convolution or mean, linear in each operand."""
    middle, radius = (x.low + x.high) / 2, (x.high - x.low) / 2
    y = function(middle, weights)
    around = function(radius, np.abs(weights)) + (of_sum(terms) + 4 * U) * function(x.size(), np.abs(weights))
    return Span(y - around, y + around)


@dataclasses.dataclass
class Grid:
    """clip(x, low, high), (x - origin) / step rounded, times step; TensorFlow's numbers of f32."""

    low: float
    high: float
    step: float
    unset: bool = False

    @staticmethod
    def of_fake_quant(low: float, high: float, bits: int, narrow: bool) -> Grid:
        f = np.float32
        least, most = f(1 if narrow else 0), f(2**bits - 1)
        low, high = f(low), f(high)
        with np.errstate(all="ignore"):
            step = (high - low) / (most - least)
            zero = least - low / step
            rounded = f(np.sign(zero) * np.floor(np.abs(zero) + f(0.5))) if zero == zero else f(0)
            rounded = least if zero < least else most if zero > most else rounded
            return Grid(float((least - rounded) * step), float((most - rounded) * step), float(step), low == 0 and high == 0)

    @staticmethod
    def of_quantize_and_dequantize(low: float, high: float, bits: int, narrow: bool, signed: bool) -> Grid:
        f = np.float32
        least = f((1 if narrow else 0) - 2**(bits - 1) if signed else 0)
        most = f(2**(bits - 1) - 1 if signed else 2**bits - 1)
        low, high = f(low), f(high)
        with np.errstate(all="ignore"):
            from_low = least / low if least * low > 0 else np.finfo(f).max
            from_high = most / high if most * high > 0 else np.finfo(f).max
            if from_low < from_high:
                step = low / least
                return Grid(float(low), float(most * step), float(step))
            step = high / most
            return Grid(float(least * step), float(high), float(step))


def rounded(x: Span, grid: Grid) -> Span:
    """Whatever the rule for ties: both neighbours are in the span of one."""
    if grid.unset:
        return x.map(np.zeros_like)
    ends = []
    for end, away in ((x.low, -1), (x.high, 1)):
        clipped = np.maximum(np.minimum(end, grid.high), grid.low)
        steps = clipped / np.float64(grid.step)
        error = 4 * U * (np.abs(steps) + np.abs(grid.low / np.float64(grid.step)) + 1)
        away = away * np.sign(grid.step)
        ends.append((np.floor if away > 0 else np.ceil)(steps + away * (0.5 + error)) * grid.step)
    return Span(np.minimum(*ends), np.maximum(*ends)).wider(2 * U * np.maximum(*map(np.abs, ends)))
