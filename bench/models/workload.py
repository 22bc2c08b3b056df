"""A workload is a model or a function, and the input of one call.

    Workload("mlp", build=make_mlp, inputs=lambda: [noise((1, 64))])

kind      what one call is
infer     the Keras model from build(), on inputs(), in a tf.function of fixed shapes
dynamic   the same with all dimensions unknown; one call is all of requests(), timed per request
function  function(*inputs) in a tf.function
session   function(*placeholders) in a TensorFlow 1 session, fed each time
train     one Adam step on inputs() = (x, labels); results are the first losses
program   the callable that program() answers, as it is: it traces, feeds and trains for itself

Weights and inputs are pseudo-random with fixed seeds, so every process sees the same numbers and
nothing is downloaded.  TensorFlow is imported inside the functions: listing workloads needs none.
"""
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Workload:
    name: str
    inputs: Callable[[], Arrays]
    build: Callable[[], Any] | None = None
    function: Callable[..., tuple] | None = None
    requests: Callable[[], list[Arrays]] | None = None
    program: Callable[[], Callable[[], Any]] | None = None
    kind: str = "infer"
    calibrate: bool = False    # set batch norm's statistics from a real pass; see weights.py
    own_weights: bool = False  # build() returns a model that has its weights
    any_batch: bool = False    # traced for every size of the inputs' first dimension
    stateful: bool = False     # a program whose calls differ: the first ones' results are compared
    tolerance: float = 2e-5    # of the largest output: the contract for whole models in inference


def noise(shape, seed: int = 7, low: float | None = None, high: float | None = None) -> np.ndarray:
    """Normal noise, or uniform where bounds are given; float32."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape) if low is None else rng.uniform(low, high, shape)
    return values.astype(np.float32)


def integers(below: int, shape, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, below, shape).astype(np.int32)
