"""Runs one TensorFlow function twice: in TensorFlow, and imported and interpreted.

    case = Case("Relu", lambda x: tf.nn.relu(x), [x])
    graph = close(case)                   # GraphDef with _Arg and _Retval, ops it uses
    check(case, import_check_binary)      # raises AssertionError where results differ

Differences are measured in units in the last place (`ulps`), or for sums of many terms relative to the
largest result (`rel`).  NaN equals NaN.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Callable, Sequence

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import ml_dtypes
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

IR_TYPES = {
    np.dtype(t): name
    for t, name in (
        (np.bool_, "bool"),
        (np.int8, "s8"),
        (np.int16, "s16"),
        (np.int32, "s32"),
        (np.int64, "s64"),
        (np.uint8, "u8"),
        (np.uint16, "u16"),
        (np.uint32, "u32"),
        (np.uint64, "u64"),
        (np.float16, "f16"),
        (ml_dtypes.bfloat16, "bf16"),
        (np.float32, "f32"),
        (np.float64, "f64"),
    )
}
NUMPY_TYPES = {name: dtype for dtype, name in IR_TYPES.items()}
# Whether a size at a place becomes a symbol.
Symbolic = Callable[[int, int], bool]


class Refused(Exception):
    """The importer said no; the message is its reason."""


@dataclasses.dataclass(eq=False)
class Case:
    name: str
    function: Callable[..., Any]
    inputs: Sequence[np.ndarray]
    ulps: int = 4
    rel: float = 0.0
    refused: str = ""  # part of the reason, where the importer must refuse
    fails: bool = False  # TensorFlow raises an error, the imported graph's checks fail
    differs: bool = False  # TensorFlow does something else or raises an error, the imported graph's checks fail
    dynamic: bool = False  # TensorFlow traces it without knowing sizes, so that it computes with shapes
    xla: bool = False  # only XLA has kernels


@dataclasses.dataclass
class ClosedGraph:
    graph: graph_pb2.GraphDef
    arguments: list[np.ndarray]
    function: Any
    inputs: Sequence[np.ndarray]

    @functools.cached_property
    def results(self) -> list[np.ndarray]:
        """TensorFlow's, of one call, since calls may change variables, whose values `arguments` has from before."""
        flat = tf.nest.flatten(self.function(*[tf.constant(x) for x in self.inputs]))
        return [as_parts(np.asarray(t)) for t in flat]

    @property
    def ops(self) -> set[str]:
        functions = self.graph.library.function
        bodies = [node for function in functions for node in function.node_def]
        return {node.op for node in [*self.graph.node, *bodies]}


@functools.lru_cache(maxsize=2)  # tests of one case follow each other (conftest.py)
def close(case: Case) -> ClosedGraph:
    specs = [tf.TensorSpec([None] * x.ndim if case.dynamic else x.shape, x.dtype) for x in case.inputs]
    function = tf.function(case.function, autograph=False, jit_compile=case.xla).get_concrete_function(*specs)
    graph = function.graph.as_graph_def()
    nodes = {node.name: node for node in graph.node}
    arguments = list(case.inputs)
    arguments += [content_of(outer) for outer, _ in function.graph.captures]
    for index, tensor in enumerate(function.inputs):
        make_arg(nodes[tensor.op.name], index, tensor)
    for index, tensor in enumerate(function.outputs):
        add_retval(graph, index, tensor)
    return ClosedGraph(graph, arguments, function, case.inputs)


def content_of(captured: Any) -> np.ndarray:
    """A captured tensor's value, or that of the variable behind a captured handle."""
    if captured.dtype != tf.resource:
        return captured.numpy()
    content = captured._handle_data.shape_and_type[0]
    return tf.raw_ops.ReadVariableOp(resource=captured, dtype=content.dtype).numpy()


def make_arg(node: Any, index: int, tensor: Any) -> None:
    node.op = "_Arg"
    node.ClearField("attr")
    node.attr["T"].type = tensor.dtype.as_datatype_enum
    node.attr["index"].i = index
    node.attr["_output_shapes"].list.shape.add().CopyFrom(tensor.shape.as_proto())


def add_retval(graph: graph_pb2.GraphDef, index: int, tensor: Any) -> None:
    node = graph.node.add(name=f"retval_{index}", op="_Retval", input=[tensor.name])
    node.attr["T"].type = tensor.dtype.as_datatype_enum
    node.attr["index"].i = index


def type_text(x: np.ndarray, symbolic: Symbolic) -> str:
    """f32[2,3]; with symbols, such sizes above 1 of floats become one symbol each size: f32[n2,n3]."""
    symbols = x.dtype.kind in "fc" or x.dtype == ml_dtypes.bfloat16
    sizes = [f"n{d}" if symbols and d > 1 and symbolic(d, i) else str(d) for i, d in enumerate(x.shape)]
    if x.dtype.kind == "c":
        sizes.append("2")
    return f"{IR_TYPES[as_parts(x).dtype]}[{','.join(sizes)}]"


def as_parts(x: np.ndarray) -> np.ndarray:
    """Complex numbers as the importer sees them: real ones with one more dimension, of the two parts."""
    if x.dtype.kind != "c":
        return x
    part = np.float32 if x.dtype == np.complex64 else np.float64
    return np.stack([x.real, x.imag], axis=-1).astype(part)


def static(size: int, place: int) -> bool:
    return False


def interpret(closed: ClosedGraph, binary: Path, symbolic: Symbolic = static) -> list[np.ndarray]:
    """The results, or Refused; a failed check is an AssertionError that says so."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "graph.pb").write_bytes(closed.graph.SerializeToString())
        arguments = []
        for i, x in enumerate(closed.arguments):
            (path / f"arg{i}").write_bytes(np.ascontiguousarray(as_parts(x)).tobytes())
            arguments.append(f"{type_text(x, symbolic)}:{type_text(x, static)}={path / f'arg{i}'}")
        process = subprocess.run(
            [str(binary), str(path / "graph.pb"), folder, *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if process.returncode == 3:
            raise Refused(process.stderr.strip())
        assert process.returncode == 0, process.stderr
        lines = process.stdout.splitlines()
        assert not any(line.startswith("check") for line in lines), "a check failed"
        return [read_result(path / f"{i}.bin", line) for i, line in enumerate(lines)]


def read_result(path: Path, type_line: str) -> np.ndarray:
    name, sizes = type_line[:-1].split("[")
    shape = [int(d) for d in sizes.split(",") if d]
    return np.frombuffer(path.read_bytes(), NUMPY_TYPES[name]).reshape(shape)


def ordered_bits(x: np.ndarray) -> np.ndarray:
    """Floats as integers in the same order, so that neighbours differ by 1 and both zeros are 0."""
    bits = x.view({2: np.int16, 4: np.int32, 8: np.int64}[x.itemsize]).astype(object)
    lowest = -(1 << (8 * x.itemsize - 1))
    return np.where(bits < 0, lowest - bits, bits)


def differences(got: np.ndarray, want: np.ndarray, ulps: int, rel: float) -> str:
    """Empty when the results agree."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)} where {want.dtype}{list(want.shape)} is right"
    if want.dtype.kind not in "fV" and want.dtype != ml_dtypes.bfloat16:
        bad = got != want
    else:
        bad = float_differences(got, want, ulps, rel)
    if not np.any(bad):
        return ""
    place = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{np.sum(bad)} of {want.size} differ, at {place}: {got[place]} where {want[place]} is right"


def float_differences(got: np.ndarray, want: np.ndarray, ulps: int, rel: float) -> np.ndarray:
    a, b = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if rel:
            largest = np.max(np.abs(b), initial=0, where=np.isfinite(b))
            return ~(same | (np.abs(a - b) <= rel * largest))
        if want.dtype == ml_dtypes.bfloat16:
            return ~(same | (np.abs(a - b) <= ulps * np.abs(b) * 2.0**-7))
        distance = np.abs(ordered_bits(got) - ordered_bits(want))
        return ~(same | ((distance <= ulps) & np.isfinite(a) & np.isfinite(b)).astype(bool))


def check(case: Case, binary: Path, symbolic: Symbolic = static) -> None:
    closed = close(case)
    if case.fails or case.differs:
        check_failure(case, closed, binary)
        return
    if case.refused:
        try:
            interpret(closed, binary)
        except Refused as refusal:
            assert case.refused in str(refusal), refusal
            return
        raise AssertionError("this should have been refused")
    got = interpret(closed, binary, symbolic)
    want = closed.results
    assert len(got) == len(want), f"{len(got)} results where there are {len(want)}"
    for i, (g, w) in enumerate(zip(got, want)):
        difference = differences(g, w, case.ulps, case.rel)
        assert not difference, f"result {i}: {difference}"


def check_failure(case: Case, closed: ClosedGraph, binary: Path) -> None:
    try:
        closed.results
        assert case.differs, "TensorFlow raises no error"
    except tf.errors.OpError:
        pass
    try:
        interpret(closed, binary)
    except Refused:
        return
    except AssertionError as error:
        assert "a check failed" in str(error), error
        return
    raise AssertionError("no check failed")
