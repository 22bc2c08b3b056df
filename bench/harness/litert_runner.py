"""Workloads in LiteRT, whose XNNPACK kernels run what they can, from the converted file."""
from pathlib import Path

import numpy as np

from bench.harness.engines import Engine
from bench.harness.litert_model import litert_file
from bench.harness.runners import Runner, fixed_runner
from bench.models.workload import Arrays, Workload


class Model:
    """Read at the first call, whose time includes that."""

    def __init__(self, file: Path, inputs: Arrays, threads: int):
        self.file, self.inputs, self.threads, self.interpreter = file, inputs, threads, None

    def load(self) -> None:
        from ai_edge_litert.interpreter import Interpreter
        self.interpreter = Interpreter(str(self.file), num_threads=self.threads)
        self.interpreter.allocate_tensors()
        places = {details["name"].split(":")[0].removeprefix("serving_default_"): details["index"]
                  for details in self.interpreter.get_input_details()}
        expected = {f"x{i}" for i in range(len(self.inputs))}
        if set(places) != expected:
            raise ValueError(f"the model's inputs are {sorted(places)}, expected {sorted(expected)}")
        self.feeds = [(places[f"x{i}"], x) for i, x in enumerate(self.inputs)]

    def __call__(self) -> None:
        if self.interpreter is None:
            self.load()
        for index, x in self.feeds:
            self.interpreter.set_tensor(index, x)
        self.interpreter.invoke()

    def results(self) -> Arrays:
        """Of the last call."""
        return [np.array(self.interpreter.get_tensor(details["index"])) for details in self.interpreter.get_output_details()]


def make_runner(workload: Workload, engine: Engine, threads: int, cache: Path) -> Runner:
    if workload.kind == "dynamic":
        raise ValueError("LiteRT runs models of one shape here")
    model = Model(litert_file(workload, cache, engine.low_precision), workload.inputs(), threads)
    return fixed_runner(model, lambda _: model.results())
