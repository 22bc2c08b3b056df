"""The whole models that `bench/gpu_acceptance` carries: a folder each, with

    program.ir     the graph, as stock TensorFlow has it; its weights are parameters
    model.json     {"arguments": [...], "tolerance": x}: of each parameter a file, or how it is made from a seed;
                   "stock": what a call of stock TensorFlow took on the CPU of the machine that wrote it
    goldenN.npy    a sample of result N, as stock TensorFlow computes it

Weights are not carried: both sides make them, bit for bit alike, since numpy never changes RandomState's numbers.
Needs nothing but numpy.
"""
from __future__ import annotations

import json
from pathlib import Path

import numpy as np

SAMPLE = 4096  # elements of a result


def argument(description: dict, folder: Path) -> np.ndarray:
    """`scale` times a number from -1 to 1 by the seed, and `mean` added."""
    if "file" in description:
        return np.load(folder / description["file"])
    uniform = np.random.RandomState(description["seed"]).random_sample(description["shape"])
    return ((2 * uniform - 1) * description["scale"] + description["mean"]).astype(np.float32)


def sample(result: np.ndarray) -> np.ndarray:
    flat = result.reshape(-1)
    return flat[::max(1, -(-flat.size // SAMPLE))]


def names(folder: Path) -> list[str]:
    return sorted(file.parent.name for file in folder.glob("*/model.json"))


def write_arguments(model: Path, target: Path) -> list[str]:
    """Makes all arguments as files; returns the words that name them."""
    words = []
    for number, description in enumerate(json.loads((model / "model.json").read_text())["arguments"]):
        file = target / f"argument{number}.npy"
        np.save(file, argument(description, model))
        words += ["-i", str(file)]
    return words


def difference(model: Path, results: Path) -> float:
    """The largest difference from a golden, of that golden's largest number.  NaN where there is none."""
    worst = 0.0
    for golden in sorted(model.glob("golden*.npy")):
        want = np.load(golden)
        got = sample(np.load(results / golden.name.replace("golden", "out")))
        if got.shape != want.shape or not np.isfinite(got).all():
            return float("nan")
        worst = max(worst, float(np.abs(got - want).max() / max(float(np.abs(want).max()), 1e-30)))
    return worst


def stock(model: Path) -> dict | None:
    """{"milliseconds": x, "threads": n, "processor": name}"""
    return json.loads((model / "model.json").read_text()).get("stock")


def tolerance(model: Path) -> float:
    return json.loads((model / "model.json").read_text())["tolerance"]
