"""Writes the whole models of `bench/gpu_acceptance` (bench/gpu/models.py says what a folder holds).

    python -m bench.harness.gpu_models FOLDER [NAME ...]       with the Python of build/venv

Goldens are stock TensorFlow's, of the weights that both sides make from seeds.  The CPU's code is compared with them
here, so that an archive never carries a model that the compiler gets wrong.
"""
import argparse
import dataclasses
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.gpu.models import argument, difference, sample
from bench.harness.machine import describe
from bench.models import WORKLOADS
from bench.models.workload import Workload, integers, noise

ROOT = Path(__file__).resolve().parents[2]
TEKTITE = ROOT / "build/bin/tektite"
# Smaller constants stay in the program: statistics of batch norm, which must fit the weights, and masks.
LEAST_WEIGHT = 16384
TIMED_CALLS = 3
CARRIED = 4096  # elements of an input that is carried as it is


def sized(name: str, inputs: Any) -> Workload:
    return dataclasses.replace(WORKLOADS[name], inputs=inputs)


MODELS = {
    "bert_base": WORKLOADS["bert_base"],
    "bert_base_bs32": sized("bert_base", lambda: [integers(30522, (32, 128))]),
    "dlrm": sized("dlrm", lambda: [noise((1, 13)), integers(10000, (1, 26))]),
    "dlrm_bs2048": sized("dlrm", lambda: [noise((2048, 13)), integers(10000, (2048, 26))]),
    "gpt2_decode": WORKLOADS["gpt2_decode"],
    "resnet50": WORKLOADS["resnet50"],
    "resnet50_bs32": sized("resnet50", lambda: [noise((32, 224, 224, 3))]),
    "softmax_chain": WORKLOADS["softmax_chain"],
}


def frozen(workload: Workload) -> tuple[Any, list[str], list[str]]:
    """The graph with its weights as constants, and the names of its inputs and results, in their order."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    from bench.harness.runners import make_model

    model = make_model(workload, ROOT / "build/bench", compute_statistics=workload.calibrate)
    function = workload.function or (lambda *inputs: model(list(inputs) if len(inputs) > 1 else inputs[0],
                                                           training=False))
    specs = [tf.TensorSpec(array.shape, array.dtype) for array in workload.inputs()]
    concrete = convert_variables_to_constants_v2(tf.function(function).get_concrete_function(*specs))
    return (concrete.graph.as_graph_def(), [tensor.op.name for tensor in concrete.inputs],
            [tensor.name for tensor in concrete.outputs])


def take_weights_out(graph: Any) -> dict[str, dict]:
    """Turns large constants of floats into placeholders; returns how each is made, as even as it was normal."""
    from tensorflow.python.framework import tensor_util

    weights: dict[str, dict] = {}
    for node in graph.node:
        if node.op != "Const" or node.attr["dtype"].type != 1:
            continue
        value = tensor_util.MakeNdarray(node.attr["value"].tensor)
        if value.size < LEAST_WEIGHT:
            continue
        weights[node.name] = {"seed": len(weights) + 1, "shape": list(value.shape), "mean": float(value.mean()),
                              "scale": float(value.std() * 3 ** 0.5)}
        node.op = "Placeholder"
        del node.attr["value"]
        for size in value.shape:
            node.attr["shape"].shape.dim.add(size=size)
    return weights


def before_squashing(graph: Any, outputs: list[str]) -> list[str]:
    """What softmax or sigmoid makes results of: with such weights it is nearly all 0 and 1, and would hide errors."""
    nodes = {node.name: node for node in graph.node}
    found = []
    for output in outputs:
        node = nodes[output.removesuffix(":0")]
        while node.op == "Identity":
            node = nodes[node.input[0].removesuffix(":0")]
        if node.op in ("Softmax", "Sigmoid"):
            found.append(node.input[0] if ":" in node.input[0] else f"{node.input[0]}:0")
    return found


def stock_results(graph: Any, feeds: dict[str, np.ndarray], outputs: list[str],
                  weights: set[str]) -> tuple[list[np.ndarray], float]:
    """The results, and the milliseconds of a call whose weights are there already."""
    import tensorflow as tf

    with tf.Graph().as_default() as owner, tf.compat.v1.Session() as session:
        tf.import_graph_def(graph, name="")
        fetched = [owner.get_tensor_by_name(name) for name in outputs]
        given = {owner.get_tensor_by_name(f"{name}:0"): value for name, value in feeds.items()}
        results = session.run(fetched, given)
    # Weights are constants in a call that is timed, as they are in a program.
    constant = type(graph)()
    constant.CopyFrom(graph)
    for node in constant.node:
        if node.name in weights:
            node.op = "Const"
            del node.attr["shape"]
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(feeds[node.name]))
    with tf.Graph().as_default() as owner, tf.compat.v1.Session() as session:
        tf.import_graph_def(constant, name="")
        call = session.make_callable([owner.get_tensor_by_name(name) for name in outputs],
                                     [owner.get_tensor_by_name(f"{name}:0") for name in feeds if name not in weights])
        values = [value for name, value in feeds.items() if name not in weights]
        took = []
        for _ in range(TIMED_CALLS + 1):  # the first one is left out
            begin = time.perf_counter()
            call(*values)
            took.append((time.perf_counter() - begin) * 1e3)
    return results, statistics.median(took[1:])


def run(*words: Any, flags: str = "") -> str:
    done = subprocess.run([str(word) for word in (TEKTITE, *words)], capture_output=True, text=True,
                          env={**os.environ, "TEKTITE_FLAGS": flags})
    if done.returncode != 0:
        raise RuntimeError(f"tektite {words[0]}: {done.stderr.strip()}")
    return done.stdout


def program_of(graph: Any, outputs: list[str], files: dict[str, Path], scratch: Path) -> str:
    """The graph as IR text, as passes get it: a parameter for each placeholder, in the order of the graph's nodes."""
    (scratch / "model.pb").write_bytes(graph.SerializeToString())
    words = [word for name, file in files.items() for word in ("-i", f"{name}={file}")]
    run("run", scratch / "model.pb", "--outputs", ",".join(output.removesuffix(":0") for output in outputs), *words,
        "--threads", 2, flags=f"--dump_to={scratch / 'dump'}")
    return (scratch / "dump/model/shape0.00_input.tir").read_text()


def export(name: str, target: Path) -> None:
    workload = MODELS[name]
    graph, inputs, outputs = frozen(workload)
    outputs += before_squashing(graph, outputs)
    made = take_weights_out(graph)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for number, (input_name, value) in enumerate(zip(inputs, workload.inputs())):
        if value.dtype == np.float32 and value.size > CARRIED:
            made[input_name] = {"seed": 1000 + number, "shape": list(value.shape), "mean": 0.0, "scale": 1.7}
        else:
            made[input_name] = {"file": f"input{number}.npy"}
            np.save(target / made[input_name]["file"], value)
    arrays = {key: argument(how, target) for key, how in made.items()}
    results, milliseconds = stock_results(graph, arrays, outputs, set(made) - set(inputs))
    for number, result in enumerate(results):
        np.save(target / f"golden{number}.npy", sample(result))
    with tempfile.TemporaryDirectory() as text:
        scratch = Path(text)
        files = {key: scratch / f"{number}.npy" for number, key in enumerate(arrays)}
        for key, value in arrays.items():
            np.save(files[key], value)
        program = program_of(graph, outputs, files, scratch)
        order = [node.name for node in graph.node if node.op == "Placeholder"]
        program = mark_weights(program, [name not in inputs for name in order])
        description = {"arguments": [made[key] for key in order], "tolerance": workload.tolerance,
                       "stock": {"milliseconds": milliseconds, "threads": len(os.sched_getaffinity(0)),
                                 "processor": describe()["cpu"]}}
        (target / "program.ir").write_text(program)
        (target / "model.json").write_text(json.dumps(description, indent=1))
        run("run", target / "program.ir", "-d", scratch / "results", "--threads", 2,
            *[word for key in order for word in ("-i", files[key])])
        error = difference(target, scratch / "results")
    if not error <= workload.tolerance:
        raise RuntimeError(f"{name}: the CPU's code differs from stock TensorFlow's results by {error:.1e}")
    size = sum(file.stat().st_size for file in target.iterdir())
    print(f"{name}: {len(order)} arguments, {size / 2**20:.1f} MiB, differs by {error:.1e}", file=sys.stderr)


PARAMETER = re.compile(r"%[\w.]+: \w+\[[^\]]*\]")


def mark_weights(program: str, is_weight: list[bool]) -> str:
    """The program with those of its parameters called weights that are."""
    head, arrow, rest = program.partition(" -> ")
    found = PARAMETER.findall(head)
    if len(found) != len(is_weight):
        raise RuntimeError(f"{len(found)} parameters for {len(is_weight)} placeholders")
    flags = iter(is_weight)
    return PARAMETER.sub(lambda match: match[0] + (" {weight = true}" if next(flags) else ""), head) + arrow + rest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=list(MODELS))
    options = parser.parse_args()
    for name in options.names:
        export(name, options.folder / name)


if __name__ == "__main__":
    main()
