"""Turns a workload into callables in this process; each engine's module has a `make_runner`.

    runner = make_runner(WORKLOADS["bert_base"], ENGINES["tektite"], threads=2, cache=Path("build/bench"))
    arrays = runner.outputs()   # NumPy results of one call (or of the first steps, when training)
    runner.call()               # one call, results left where they are: what is timed

`per_call` is the number of requests in one call(), by which a time is divided.
"""
import importlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator

import numpy as np

from bench.harness.engines import Engine
from bench.models.weights import calibrate, fill
from bench.models.workload import Arrays, Workload

TRAINING_STEPS_COMPARED = 5
SAMPLE = 4096  # values kept of each output of a dynamic workload, which may have 200 large ones


@dataclass
class Runner:
    outputs: Callable[[], Arrays]
    call: Callable[[], Any]
    per_call: int = 1
    request: Callable[[Arrays], Any] | None = None    # dynamic workloads: one call on these inputs
    samples: Callable[[Any], Arrays] | None = None    # of what that answers
    weights_mb: float = 0.0  # of the model, MiB, where the engine holds it as Keras does
    layers: Callable[[], list[dict]] | None = None  # what an engine knows of its layers' times
    warmup: Callable[[], Any] | None = None  # what a server calls before its first request, where an engine has that


def limit_cpus(threads: int) -> None:
    """No more CPUs than threads: some libraries only obey that."""
    cpus = sorted(os.sched_getaffinity(0))
    if threads < len(cpus):
        os.sched_setaffinity(0, cpus[-threads:])


def statistics_file(workload: Workload, cache: Path) -> Path:
    """Named by the input's sizes, too: a case that gets larger images needs other statistics."""
    sizes = "x".join(map(str, workload.inputs()[0].shape))
    return cache / f"{workload.name}.{sizes}.statistics.npz"


def make_model(workload: Workload, cache: Path, compute_statistics: bool = False) -> Any:
    """The Keras model on whatever back end Keras has here; None for a workload without one."""
    if workload.build is None:
        return None
    model = workload.build()
    if not workload.own_weights:
        fill(model)
    if workload.calibrate:
        calibrate(model, workload.inputs(), statistics_file(workload, cache), compute_statistics)
    return model


def sample(array: np.ndarray) -> np.ndarray:
    flat = array.reshape(-1)
    return flat[::max(1, flat.size // SAMPLE)]


def fixed_runner(run: Callable[[], Any], to_numpy: Callable[[Any], Arrays]) -> Runner:
    return Runner(lambda: to_numpy(run()), run)


def dynamic_runner(workload: Workload, request: Callable[[Arrays], Any],
                   to_numpy: Callable[[Any], Arrays]) -> Runner:
    """One call is every request once."""
    requests = workload.requests()

    def call():
        for inputs in requests:
            request(inputs)

    def samples(results):
        return [sample(a) for a in to_numpy(results)]

    def outputs():
        return [a for inputs in requests for a in samples(request(inputs))]

    return Runner(outputs, call, len(requests), request, samples)


def kept_on_disk(arrays: Iterable[np.ndarray]) -> Callable[[], Iterator[np.ndarray]]:
    """The arrays, to be read one by one as often as needed: in a file, since memory is measured."""
    file, count = tempfile.TemporaryFile(), 0
    for array in arrays:
        np.save(file, array)
        count += 1

    def read():
        file.seek(0)
        for _ in range(count):
            yield np.load(file)

    return read


def training_runner(step: Callable[[], Any], restart: Callable[[], Any]) -> Runner:
    """`step` returns the loss; `restart` restores the initial state of the model and the optimizer, so that the same
    steps can be compared on every engine, also with code that was compiled meanwhile."""
    def outputs():
        restart()
        return [np.array([float(step()) for _ in range(TRAINING_STEPS_COMPARED)], np.float32)]

    return Runner(outputs, step)


def make_runner(workload: Workload, engine: Engine, threads: int, cache: Path,
                profile: bool = False) -> Runner:
    module = importlib.import_module(f"bench.harness.{engine.runner}")
    make = getattr(module, "make_profiling_runner", None) if profile else None
    return (make or module.make_runner)(workload, engine, threads, cache)
