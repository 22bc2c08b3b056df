"""Special functions against references in double precision: the errors that docs/numbers.md states."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
import tensorflow as tf
from import_oracle import Case, close, interpret

raw = tf.raw_ops
NORMAL = NormalDist()
ANGLES = (np.arange(2000) + 0.5) * np.pi / 2000
UNITS = 0.6  # in the last place; half of one is rounding
BESIDE_ZERO = 4e-15  # where the result itself is next to nothing


def digamma(x: float) -> float:
    if x <= 0:
        return digamma(1 - x) - math.pi / math.tan(math.pi * (x - round(x)))
    terms = []
    while x < 30:
        terms.append(-1 / x)
        x += 1
    square = 1 / (x * x)
    terms += [math.log(x), -0.5 / x, -square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))]
    return math.fsum(terms)


def erfinv(x: float) -> float:
    if abs(x) > 0.01:
        return NORMAL.inv_cdf((1 + x) / 2) / math.sqrt(2)
    square = math.pi * x * x
    series = 1 + square * (1 / 12 + square * (7 / 480 + square * (127 / 40320 + square * 4369 / 5806080)))
    return math.sqrt(math.pi) / 2 * x * series


def bessel(order: int):
    """The integral's trapezoids, whose error falls exponentially."""
    return lambda x: float((np.exp(abs(x) * (np.cos(ANGLES) - 1)) * np.cos(order * ANGLES)).mean() * np.sign(x) ** order)


RNG = np.random.default_rng(43)
SIZES = 10.0 ** RNG.uniform(-6, 3, 4000)
FUNCTIONS = {
    "BesselI0e": (bessel(0), np.concatenate([SIZES, -SIZES[:100], [7.9999995, 8, 8.000001]])),
    "BesselI1e": (bessel(1), np.concatenate([SIZES, -SIZES[:100], [7.9999995, 8, 8.000001]])),
    # The functions' zeros, too: 1.46 and 1, 2, and those between integers below 0.
    "Digamma": (digamma, np.concatenate([SIZES, RNG.uniform(-9, 12, 4000), RNG.normal(1.4616321, 1e-6, 100)])),
    "Erfinv": (erfinv, np.concatenate([RNG.uniform(-1, 1, 4000), 1 - SIZES[SIZES < 1], SIZES[SIZES < 1]])),
    "Lgamma": (math.lgamma, np.concatenate([SIZES, RNG.uniform(-9, 12, 4000), 1 + SIZES[:500] * 1e-6, 2 - SIZES[:500] * 1e-6])),
    "Ndtri": (NORMAL.inv_cdf, np.concatenate([RNG.uniform(0, 1, 4000), SIZES[SIZES < 1], 0.5 + SIZES[:500] * 1e-5])),
}


def hurwitz_zeta(x: float, q: float) -> float:
    """By Euler and Maclaurin, behind so many terms that the rest has few."""
    terms, moved = [], q
    while moved < q + 60:
        terms.append(moved ** -x)
        moved += 1
    last = moved ** -x
    terms += [last * moved / (x - 1), last / 2, last * x / moved / 12, -last * x * (x + 1) * (x + 2) / moved**3 / 720,
              last * math.prod(x + i for i in range(5)) / moved**5 / 30240]
    return math.fsum(terms)


def polygamma(n: float, x: float) -> float:
    return digamma(x) if n == 0 else (-1) ** (n + 1) * math.factorial(int(n)) * hurwitz_zeta(n + 1, x)


PAIRS = {
    "Zeta": (hurwitz_zeta, 1 + 10.0 ** RNG.uniform(-2, 1.3, 3000), 10.0 ** RNG.uniform(-1.5, 3, 3000)),
    "Polygamma": (polygamma, RNG.integers(0, 12, 3000).astype(float), 10.0 ** RNG.uniform(-1.5, 3, 3000)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_errors_of_two_numbers(name: str, binary: Path) -> None:
    reference, *inputs = PAIRS[name]
    x, y = (a.astype(np.float32) for a in inputs)
    (got,) = interpret(close(Case(name, lambda x, y: getattr(raw, name)(**{"Zeta": dict(x=x, q=y), "Polygamma": dict(a=x, x=y)}[name]),
                                  [x, y])), binary)
    want = np.array([reference(float(v), float(w)) for v, w in zip(x, y)])
    known = np.isfinite(want.astype(np.float32)) & (np.abs(want) > 1e-35)
    unit = np.spacing(np.abs(want[known]).astype(np.float32)).astype(np.float64)
    errors = np.maximum(np.abs(got[known].astype(np.float64) - want[known]) - BESIDE_ZERO, 0) / unit
    assert errors.max() <= UNITS, f"{errors.max():.2f} units"


# Against TensorFlow's own kernels in double precision.
SERIES = {"Igamma": ("a", "x"), "Igammac": ("a", "x"), "IgammaGradA": ("a", "x"), "RandomGammaGrad": ("alpha", "sample"),
          "Betainc": ("a", "b", "x")}


@pytest.mark.parametrize("name", SERIES)
def test_errors_of_series(name: str, binary: Path) -> None:
    sizes = 10.0 ** RNG.uniform(-1.5, 3, 3000)
    near = sizes * 10.0 ** RNG.normal(0, 0.3, 3000)  # of the sizes, where most turns are
    numbers = [v.astype(np.float32) for v in ((sizes, near) if name != "Betainc" else (sizes, near, RNG.uniform(0, 1, 3000)))]
    function = lambda *v: getattr(raw, name)(**dict(zip(SERIES[name], v)))
    (got,) = interpret(close(Case(name, function, numbers)), binary)
    want = np.asarray(function(*[tf.constant(v, tf.float64) for v in numbers]))
    known = np.isfinite(want.astype(np.float32)) & (np.abs(want) > 1e-30)
    unit = np.spacing(np.abs(want[known]).astype(np.float32)).astype(np.float64)
    errors = np.maximum(np.abs(got[known].astype(np.float64) - want[known]) - BESIDE_ZERO, 0) / unit
    assert known.sum() > 1000 and errors.max() <= UNITS, f"{errors.max():.2f} units"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors(name: str, binary: Path) -> None:
    reference, inputs = FUNCTIONS[name]
    x = inputs.astype(np.float32)
    x = x[(x > 0) & (x < 1)] if name == "Ndtri" else x[np.abs(x) < 1] if name == "Erfinv" else x[x != np.round(x)]
    (got,) = interpret(close(Case(name, lambda x: getattr(raw, name)(x=x), [x])), binary)
    want = np.array([reference(float(v)) for v in x])
    unit = np.spacing(np.abs(want).astype(np.float32)).astype(np.float64)
    errors = np.maximum(np.abs(got.astype(np.float64) - want) - BESIDE_ZERO, 0) / unit
    worst = int(np.argmax(errors))
    assert errors[worst] <= UNITS, f"{errors[worst]:.2f} units at {x[worst]!r}: {got[worst]!r}, {want[worst]!r} is right"
