"""Random weights under which a deep network still computes something.

Initializers made for training let the signal of a deep network die out at random: the output hardly
depends on the input, and a comparison of outputs would pass anything.  So kernels are scaled by their
fan-in (variance-preserving; He et al. 2015 for rectified convolutions), and the statistics of batch
norm are those of a real pass over the workload's input.
"""
import os
from pathlib import Path
from typing import Any

import numpy as np


def kernel_scale(path: str, shape: tuple[int, ...]) -> float:
    """Standard deviation that keeps the variance of the activations."""
    if path.endswith("depthwise_kernel"):
        return (2.0 / np.prod(shape[:2])) ** 0.5
    if len(shape) == 4:
        return (2.0 / np.prod(shape[:3])) ** 0.5
    if "attention_output" in path:  # [heads, size, hidden]
        return float(np.prod(shape[:2])) ** -0.5
    return float(shape[0]) ** -0.5


def random_value(path: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    name = path.rsplit("/", 1)[-1]
    if name == "gamma":
        return rng.uniform(0.5, 1.0, shape)
    if name == "moving_variance":
        return rng.uniform(0.75, 1.25, shape)
    if name == "embeddings":
        return rng.normal(0, 0.05, shape)
    if len(shape) < 2:
        return rng.normal(0, 0.02, shape)
    return rng.normal(0, kernel_scale(path, shape), shape)


def fill(model: Any, seed: int = 20) -> None:
    """Sets every trainable weight and batch-norm statistic; a generator per weight, so that the
    numbers do not depend on how many weights came before."""
    for i, variable in enumerate(model.weights):
        # Normalization layers of keras.applications carry fixed statistics of the input.
        if not variable.dtype.startswith("float") or variable.path.endswith(("/mean", "/variance")):
            continue
        rng = np.random.default_rng([seed, i])
        variable.assign(random_value(variable.path, tuple(variable.shape), rng).astype(np.float32))


def statistics(model: Any) -> list:
    return [v for v in model.weights if v.path.endswith(("moving_mean", "moving_variance"))]


def calibrate(model: Any, inputs: list[np.ndarray], file: Path, compute: bool) -> None:
    """Batch-norm statistics of one pass over `inputs`, computed once in stock TensorFlow
    (compute=True writes `file`) and read by every process after that."""
    if compute:
        for layer in model.layers:
            if hasattr(layer, "momentum"):
                layer.momentum = 0.0
            if hasattr(layer, "rate"):
                layer.rate = 0.0
        model(inputs[0], training=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}.npz")
        np.savez(partial, *[np.asarray(v) for v in statistics(model)])
        partial.rename(file)
    with np.load(file) as saved:
        for i, variable in enumerate(statistics(model)):
            variable.assign(saved[f"arr_{i}"])
