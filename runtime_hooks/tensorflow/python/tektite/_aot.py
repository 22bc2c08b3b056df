"""Functions compiled ahead of time, as libraries in C (docs/ahead_of_time.md)."""

from __future__ import annotations

import ctypes
import importlib
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tektite._library import Status, open_library, take_text

_CLUSTER = 2  # TEKTITE_AOT_CLUSTER
_REPORTS = ["", "layers", "json"]  # tektite_aot_report


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("flags", ctypes.c_char_p), ("name", ctypes.c_char_p),
                ("cpu", ctypes.c_char_p), ("form", ctypes.c_int32), ("inputs", ctypes.c_char_p),
                ("outputs", ctypes.c_char_p), ("typical", ctypes.c_char_p), ("with_python", ctypes.c_int32),
                ("weights", ctypes.c_char_p), ("with_test", ctypes.c_int32), ("with_bench", ctypes.c_int32),
                ("report", ctypes.c_int32)]


def aot(function: Callable[..., Any], *specs: Any, out: str, name: str | None = None, cpu: str = "native",
        sizes: Mapping[str, Iterable[Any]] | None = None, typical: dict[str, int] | None = None,
        python: bool = False, shared: bool = False, weights: str = "inside", test: bool = False, bench: bool = False,
        report: str = "") -> str:
    """Compiles ``function`` for arguments like ``specs`` into NAME.h and libNAME.a in the folder ``out``.

    ``name`` is the library's (the function's own), and ``cpu`` what the code is for: ``native``, ``x86-64-v3``, ``x86-64-v4``,
    or several of them with commas between them, of which a call runs the one for its machine; or ``armv8-a``, for AArch64.
    A concrete function, such as a SavedModel's signature, has specs of its own.
    Sizes that a ``tf.TensorSpec`` leaves open are chosen in each call of the library; ``sizes`` names them, as in
    ``{"x": ("n", 224, 224, 3)}``, and ``typical`` says for which of them memory is laid out. Values of variables, and of
    tensors that the function captures, are inside the library, unless the function assigns to a variable: then variables are
    arguments of the library, and those that change are its caller's state. ``weights`` may be ``file``: then they are
    NAME.weights, which the library maps, or ``caller``: then calls get the address of a copy of that file. ``test`` and
    ``bench`` write programs in C: NAME_test.c knows what results must be, and NAME_bench.c measures calls. With ``shared``, a C
    compiler links libNAME.so, too; with ``python``, NAME.py calls that.
    Returns a report, which with ``report="layers"`` has bytes by layer, and is JSON with ``report="json"``; ``ValueError`` says what
    cannot be compiled.
    """
    if report not in _REPORTS:
        raise ValueError(f"tektite: a report is 'layers' or 'json', not '{report}'")
    tf = importlib.import_module("tensorflow")
    if isinstance(function, tf.types.experimental.ConcreteFunction):
        concrete: Any = function
    else:
        traceable: Any = function if hasattr(function, "get_concrete_function") else tf.function(function)
        concrete = traceable.get_concrete_function(*specs)
    name = name or re.sub(r"\W", "_", getattr(concrete, "name", "model").removeprefix("__inference_"))
    graph = _closed_graph(tf, concrete)
    inputs = ";".join(f"{tensor}={_type_of(graph, tensor)}[{','.join(map(str, dims))}]"
                      for tensor, dims in (sizes or {}).items())
    options = _Options(ctypes.sizeof(_Options), os.environ.get("TEKTITE_FLAGS", "").encode(), name.encode(),
                       cpu.encode(), _CLUSTER, inputs.encode(), b"",
                       ",".join(f"{size}={n}" for size, n in (typical or {}).items()).encode(), int(python),
                       weights.encode(), int(test), int(bench), _REPORTS.index(report))
    try:
        text = _call(graph.SerializeToString(), out, options)
    except ValueError:  # rewritten bodies of loops may be none that the importer reads
        text = _call(_closed_graph(tf, concrete, rewrites=False).SerializeToString(), out, options)
    if python or shared:
        _link_shared(out, name)
    return text


def _link_shared(out: str, name: str) -> None:
    kernels = f"{out}/libtektite_kernels.a"
    more = [kernels, "-Wl,--as-needed", "-lstdc++"] if os.path.exists(kernels) else []
    subprocess.run([os.environ.get("CC") or "cc", "-shared", "-o", f"{out}/lib{name}.so", "-Wl,--whole-archive",
                    f"{out}/lib{name}.a", "-Wl,--no-whole-archive,-z,defs,--gc-sections", *more, "-lm", "-lc"], check=True)


def _closed_graph(tf: Any, concrete: Any, rewrites: bool = True) -> Any:
    """Its graph with _Arg and _Retval nodes in the places of arguments and results, and the values of what it captures."""
    graph = concrete.graph.as_graph_def(add_shapes=True)
    inputs = {tensor.op.name: (i, tensor) for i, tensor in enumerate(concrete.inputs)}
    captures = {inner.op.name: outer for outer, inner in concrete.graph.captures}
    variables = {name: next(v for v in concrete.graph.variables if v.handle is outer)
                 for name, outer in captures.items() if outer.dtype == tf.resource}
    values = {name: outer for name, outer in captures.items() if hasattr(outer, "numpy")} | variables
    for node in graph.node:
        if node.name not in inputs:
            continue
        node.attr["T"].CopyFrom(node.attr["dtype"])
        node.attr["index"].i = inputs[node.name][0]
        node.op = "_Arg"
        if node.name in variables:
            node.attr["_handle_dtypes"].list.type.append(variables[node.name].dtype.as_datatype_enum)
            node.attr["_handle_shapes"].list.shape.append(variables[node.name].shape.as_proto())
    _add_results(graph, concrete)
    shapes = {name: tensor.shape for name, (_, tensor) in inputs.items()
              if name not in variables and tensor.shape.rank is not None}
    if rewrites:
        graph = _optimized(tf, graph, shapes, [op.name for op in concrete.graph.control_outputs])
    for node in graph.node:
        if node.op != "_Arg":
            continue
        node.attr["_output_shapes"].list.ClearField("shape")
        node.attr["_output_shapes"].list.shape.append(inputs[node.name][1].shape.as_proto())
        if node.name in values:
            node.attr["_tektite_value"].tensor.CopyFrom(tf.make_tensor_proto(values[node.name].numpy()))
    _rename(graph, {name: variable.name.removesuffix(":0") for name, variable in variables.items()})
    return graph


def _add_results(graph: Any, concrete: Any) -> None:
    taken = {node.name for node in graph.node}
    structure = concrete.structured_outputs
    keys = sorted(structure) if isinstance(structure, dict) and len(structure) == len(concrete.outputs) else []
    for i, tensor in enumerate(concrete.outputs):
        result = graph.node.add(op="_Retval", input=[tensor.name.removesuffix(":0")])
        result.name = next(n for n in [*keys[i:i + 1], *_names(tensor.op.name, i)] if n not in taken)
        taken.add(result.name)
        result.attr["T"].type = tensor.dtype.as_datatype_enum
        result.attr["index"].i = i


def _optimized(tf: Any, graph: Any, shapes: Mapping[str, Any], effects: Iterable[str]) -> Any:
    """The graph as TensorFlow rewrites it before the JIT sees it: equal graphs have results of equal bits.

    ``shapes`` are those of arguments. The rewriter forgets them, and reads those of nodes, which it gets for the time being.
    ``effects`` are nodes that must run, such as assignments to variables.
    """
    context = importlib.import_module("tensorflow.python.eager.context").context()
    optimizer = importlib.import_module("tensorflow.python.grappler.tf_optimizer")
    shaped = {name: f"{name}/shape_of_argument" for name in shapes}
    types = {node.name: node.attr["T"] for node in graph.node if node.name in shaped}
    _redirect(graph, shaped)
    for name, new in shaped.items():
        node = graph.node.add(op="EnsureShape", name=new, input=[name])
        node.attr["T"].CopyFrom(types[name])
        node.attr["shape"].shape.CopyFrom(shapes[name].as_proto())
    whole = tf.compat.v1.MetaGraphDef(graph_def=graph)
    for node in whole.graph_def.node:  # some rewrites ask for the device
        node.device = "/job:localhost/replica:0/task:0/device:CPU:0"
    for nodes in [whole.graph_def.node, *(function.node_def for function in whole.graph_def.library.function)]:
        for node in nodes:  # loops and branches stay whole
            node.attr.pop("_lower_using_switch_merge", None)
    kept = [node.name for node in graph.node if node.op in ("_Arg", "_Retval")]
    whole.collection_def["train_op"].node_list.value.extend([*kept, *effects])
    config = tf.compat.v1.ConfigProto.FromString(context.config.SerializeToString())
    graph = optimizer.OptimizeGraph(config, whole)
    _redirect(graph, {new: name for name, new in shaped.items()})
    for i in reversed(range(len(graph.node))):
        if graph.node[i].name in shaped.values():
            del graph.node[i]
    return graph


def _redirect(graph: Any, names: Mapping[str, str]) -> None:
    """Readers of a tensor read another."""
    for node in graph.node:
        for i, text in enumerate(node.input):
            control, tensor, output = re.fullmatch(r"(\^?)([^:]*)(.*)", text).groups()  # type: ignore[union-attr]
            if tensor in names:
                node.input[i] = control + names[tensor] + output


def _rename(graph: Any, names: dict[str, str]) -> None:
    """Renames nodes; a name that is taken gets a number."""
    taken = {node.name for node in graph.node}
    for old, new in list(names.items()):
        names[old] = next(n for n in [new, *(f"{new}_{k}" for k in range(1, len(taken) + 2))] if n not in taken)
        taken.add(names[old])
    _redirect(graph, names)
    for node in graph.node:
        node.name = names.get(node.name, node.name)


def _names(base: str, i: int) -> list[str]:
    return [f"result_{i}", *(f"{base}_result_{i}_{k}" for k in range(1000))]


def _type_of(graph: Any, tensor: str) -> str:
    types = {1: "f32", 2: "f64", 3: "s32", 4: "u8", 5: "s16", 6: "s8", 9: "s64", 10: "bool", 14: "bf16", 17: "u16",
             19: "f16", 22: "u32", 23: "u64"}
    for node in graph.node:
        if node.name == tensor and node.op == "_Arg":
            return types.get(node.attr["T"].type, "f32")
    raise ValueError(f"tektite: the function has no argument '{tensor}'")


def _call(graph: bytes, out: str, options: _Options) -> str:
    library = open_library()
    library.tektite_aot.restype = ctypes.c_void_p
    library.tektite_aot.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.POINTER(_Options),
                                    ctypes.POINTER(Status)]
    status = Status()
    report = library.tektite_aot(graph, len(graph), out.encode(), ctypes.byref(options), ctypes.byref(status))
    return take_text(library, report, status)
