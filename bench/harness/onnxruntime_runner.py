"""Workloads in ONNX Runtime, from the exported file."""
from pathlib import Path

from bench.harness.engines import Engine
from bench.harness.onnx_export import onnx_file
from bench.harness.runners import Runner, dynamic_runner, fixed_runner
from bench.models.workload import Arrays, Workload


def make_runner(workload: Workload, engine: Engine, threads: int, cache: Path) -> Runner:
    session = None

    def run(feed: dict) -> Arrays:
        nonlocal session
        if session is None:  # within the first call, whose time includes it
            import onnxruntime
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
            session = onnxruntime.InferenceSession(
                str(onnx_file(workload, cache)), options, providers=["CPUExecutionProvider"])
        return session.run(None, feed)

    def request(inputs: Arrays) -> Arrays:
        return run({f"x{i}": x for i, x in enumerate(inputs)})

    if workload.kind == "dynamic":
        return dynamic_runner(workload, request, list)
    feed = {f"x{i}": x for i, x in enumerate(workload.inputs())}
    return fixed_runner(lambda: run(feed), list)
