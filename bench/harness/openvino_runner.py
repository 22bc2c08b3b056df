"""Workloads in OpenVINO, from the exported ONNX file or, where it cannot read that, the frozen graph."""
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness.engines import Engine
from bench.harness.onnx_export import graph_file, onnx_file
from bench.harness.runners import Runner, dynamic_runner, fixed_runner
from bench.models.workload import Arrays, Workload


def settings(threads: int, profile: bool, low_precision: bool) -> dict[str, Any]:
    """For one request at a time; by itself it takes bfloat16 where the processor has it."""
    precision = {} if low_precision else {"INFERENCE_PRECISION_HINT": "f32"}
    return {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_NUM_THREADS": threads,
            "ENABLE_CPU_PINNING": False, "PERF_COUNT": profile, **precision}


def compile_model(workload: Workload, cache: Path, config: dict[str, Any]) -> Any:
    import openvino
    core, graph = openvino.Core(), graph_file(workload, cache)
    try:
        return core.compile_model(core.read_model(onnx_file(workload, cache)), "CPU", config)
    except RuntimeError:
        if not graph.exists():
            raise
        return core.compile_model(core.read_model(graph), "CPU", config)


class Model:
    """Compiled at the first call, whose time includes that."""

    def __init__(self, workload: Workload, cache: Path, threads: int, profile: bool = False,
                 low_precision: bool = False):
        self.workload, self.cache = workload, cache
        self.config, self.request = settings(threads, profile, low_precision), None

    def load(self) -> None:
        compiled = compile_model(self.workload, self.cache, self.config)
        self.request = compiled.create_infer_request()
        self.names = {name.split(":")[0]: name for name in (i.get_any_name() for i in compiled.inputs)}
        expected = {f"x{i}" for i in range(len(self.workload.inputs()))}
        if set(self.names) != expected:  # one that is not fed is memory that nothing has written
            raise ValueError(f"the model's inputs are {sorted(self.names)}, expected {sorted(expected)}")

    def __call__(self, inputs: Arrays) -> Any:
        if self.request is None:
            self.load()
        feed = {self.names[f"x{i}"]: x for i, x in enumerate(inputs)}
        return self.request.infer(feed, share_inputs=True, share_outputs=True)

    def layers(self, inputs: Arrays, calls: int = 20) -> list[dict]:
        """Median milliseconds of each that runs, over so many calls; needs `profile`."""
        times = defaultdict(list)
        for _ in range(calls):
            self(inputs)
            for p in self.request.get_profiling_info():
                times[p.node_name, p.node_type, p.exec_type].append(p.real_time.total_seconds() * 1e3)
        return [{"name": name, "type": kind, "kernel": kernel, "ms": statistics.median(ms)}
                for (name, kind, kernel), ms in times.items() if statistics.median(ms) > 0]


def to_numpy(results: Any) -> Arrays:
    return [np.array(results[i]) for i in range(len(results))]


def make_runner(workload: Workload, engine: Engine, threads: int, cache: Path) -> Runner:
    model = Model(workload, cache, threads, low_precision=engine.low_precision)
    if workload.kind == "dynamic":
        return dynamic_runner(workload, model, to_numpy)
    inputs = workload.inputs()
    return fixed_runner(lambda: model(inputs), to_numpy)


def make_profiling_runner(workload: Workload, engine: Engine, threads: int, cache: Path) -> Runner:
    model, inputs = Model(workload, cache, threads, True, engine.low_precision), workload.inputs()
    runner = fixed_runner(lambda: model(inputs), to_numpy)
    runner.layers = lambda: model.layers(inputs)
    return runner
