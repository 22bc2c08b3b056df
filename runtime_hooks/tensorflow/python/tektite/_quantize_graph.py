"""Frozen graphs for ``tektite quantize``: constants in place of variables, batch norms in the weights, FakeQuant at layers.

A layer is a convolution or a product with constant weights. Its input is rounded to 255 steps of one range, its weights
to 254 steps around 0 of a range for each channel of the result.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections import defaultdict
from typing import Any

from tektite import _models

_DEPTHWISE = "DepthwiseConv2dNative"
_LAYERS = {"Conv2D", _DEPTHWISE, "MatMul", "BatchMatMulV2"}
_SUMS = {"AddV2", "Add", "BiasAdd", "Sub"}


@dataclasses.dataclass
class Graph:
    """A signature's graph, and the tensors that its arguments and results are."""

    definition: Any  # GraphDef
    inputs: dict[str, str]
    outputs: dict[str, str]
    specs: dict[str, Any]


@dataclasses.dataclass
class Layer:
    name: str
    op: str
    source: str  # the tensor that it reads, perhaps through pads
    weights: str  # the node of its weights
    padded: bool  # reads zeros around its input
    pads: list[str]  # the last one first; what is around the input is 0 in bytes, too


def node_of(tensor: str) -> str:
    return tensor.lstrip("^").split(":")[0]


def attribute(node: Any, name: str) -> Any:
    """Empty where there is none; asking the map itself would make one."""
    return node.attr[name] if name in node.attr else type(node).AttrEntry().value


def values_of(node: Any) -> Any:
    return _models.tensorflow().make_ndarray(node.attr["value"].tensor)


def _constant(graph: Any, name: str, values: Any) -> None:
    tf = _models.tensorflow()
    node = graph.node.add(name=name, op="Const")
    node.attr["dtype"].type = tf.as_dtype(values.dtype).as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(values))


def importable(definition: Any) -> Any:
    """The graph as a function of which parts can be called (`prune`)."""
    tf = _models.tensorflow()
    return tf.compat.v1.wrap_function(lambda: tf.import_graph_def(definition, name=""), [])


def part(function: Any, feeds: list[str], fetches: list[str]) -> Any:
    """Of what `importable` returned: the function from some tensors to others."""
    def tensor(name: str) -> Any:
        return function.graph.get_tensor_by_name(name if ":" in name else name + ":0")

    return function.prune([tensor(name) for name in feeds], [tensor(name) for name in fetches])


def call(definition: Any, feeds: list[str], fetches: list[str]) -> Any:
    return part(importable(definition), feeds, fetches)


def freeze(function: Any) -> Graph:
    """ValueError where the function has variables that no constant can stand for, or takes no named tensors."""
    convert = importlib.import_module("tensorflow.python.framework.convert_to_constants")
    specs = dict(function.structured_input_signature[1])
    frozen = convert.convert_variables_to_constants_v2(function)
    if len(frozen.inputs) != len(specs):
        raise ValueError(f"its graph has {len(frozen.inputs)} inputs, its signature {len(specs)}")
    outputs = function.structured_outputs
    if not isinstance(outputs, dict):
        raise ValueError("its results have no names")
    graph = Graph(frozen.graph.as_graph_def(), {key: x.name for key, x in zip(sorted(specs), frozen.inputs)},
                  {key: x.name for key, x in zip(sorted(outputs), frozen.outputs)}, specs)
    _fold_constants(graph)
    _open_batch_norms(graph.definition)
    _fold_scales(graph)
    return graph


def _readers(definition: Any) -> dict[str, list[Any]]:
    readers: dict[str, list[Any]] = defaultdict(list)
    for node in definition.node:
        for tensor in node.input:
            if not tensor.startswith("^"):  # of an order in which variables were read
                readers[node_of(tensor)].append(node)
    return readers


def _fold_constants(graph: Graph) -> None:
    """Computes what depends on constants alone, where something else reads it."""
    registry = importlib.import_module("tensorflow.python.framework.op_def_registry")
    definition = graph.definition
    nodes = {node.name: node for node in definition.node}
    constant: dict[str, bool] = {}
    for node in definition.node:  # in topological order
        operands = [tensor for tensor in node.input if not tensor.startswith("^")]
        known = registry.get(node.op)
        constant[node.name] = node.op == "Const" or (
            bool(operands) and len(operands) == len(node.input) and known is not None and not known.is_stateful and
            len(known.output_arg) == 1 and all(constant.get(node_of(tensor), False) for tensor in operands))
    wanted = {node_of(tensor) for node in definition.node if not constant[node.name] for tensor in node.input}
    wanted |= {node_of(tensor) for tensor in graph.outputs.values()}
    fold = sorted(name for name in wanted if constant.get(name) and nodes[name].op != "Const")
    if not fold:
        return
    values = call(definition, [], fold)()
    for name, value in zip(fold, values):
        definition.node.remove(nodes[name])
        _constant(definition, name, value.numpy())


def _open_batch_norms(definition: Any) -> None:
    """Fused batch normalization by constants becomes a product and a sum."""
    import numpy as np

    nodes = {node.name: node for node in definition.node}
    for node in list(definition.node):
        operands = [nodes.get(node_of(t)) for t in node.input[1:]]
        if not node.op.startswith("FusedBatchNorm") or attribute(node, "is_training").b or \
                attribute(node, "data_format").s == b"NCHW":
            continue
        if len(operands) != 4 or any(o is None or o.op != "Const" for o in operands):
            continue
        scale, offset, mean, variance = (values_of(o) for o in operands)
        factor = scale / np.sqrt(variance + node.attr["epsilon"].f)
        source, kind = node.input[0], node.attr["T"].type
        _constant(definition, node.name + "/factor", factor)
        _constant(definition, node.name + "/offset", offset - mean * factor)
        product = definition.node.add(name=node.name + "/scaled", op="Mul", input=[source, node.name + "/factor"])
        product.attr["T"].type = kind
        definition.node.remove(node)
        added = definition.node.add(name=node.name, op="AddV2", input=[product.name, product.name[:-len("scaled")] + "offset"])
        added.attr["T"].type = kind


def _fold_scales(graph: Graph) -> None:
    """Products of a layer's channels with constants move into its weights, through constant sums."""
    definition = graph.definition
    nodes, readers = {node.name: node for node in definition.node}, _readers(definition)
    results = {node_of(t) for t in graph.outputs.values()}

    def only_reader(node: Any) -> Any:
        return readers[node.name][0] if len(readers[node.name]) == 1 and node.name not in results else None

    def operand(node: Any, other: str) -> Any:
        """The constant that a node of two operands reads beside `other`, a number a channel."""
        found = [nodes[node_of(t)] for t in node.input if node_of(t) != other and node_of(t) in nodes]
        return found[0] if len(found) == 1 and found[0].op == "Const" else None

    for layer in layers(definition):
        node, sums = nodes[layer.name], []
        weights = values_of(nodes[layer.weights])
        if len(readers[layer.weights]) != 1:
            continue
        reader = only_reader(node)
        while reader is not None and reader.op in _SUMS and operand(reader, node.name) is not None and \
                not (reader.op == "Sub" and node_of(reader.input[1]) == node.name):
            sums.append(reader)
            node, reader = reader, only_reader(reader)
        if reader is None or reader.op != "Mul" or operand(reader, node.name) is None:
            continue
        factor = values_of(operand(reader, node.name)).reshape(-1)
        constants = [operand(s, previous.name) for s, previous in zip(sums, [nodes[layer.name], *sums])]
        matrix = weights.reshape(-1, channels(layer.op, weights))
        if factor.size not in (1, matrix.shape[-1]) or any(len(readers[c.name]) != 1 for c in constants):
            continue
        _set(nodes[layer.weights], (matrix * factor).reshape(weights.shape))
        for constant in constants:
            _set(constant, values_of(constant) * factor)
        for after in readers[reader.name]:
            for i, tensor in enumerate(after.input):
                if node_of(tensor) == reader.name:
                    after.input[i] = node.name
        for key, tensor in graph.outputs.items():
            if node_of(tensor) == reader.name:
                graph.outputs[key] = node.name + ":0"
        readers[node.name] = readers[reader.name]
        definition.node.remove(reader)


def _set(node: Any, values: Any) -> None:
    tf = _models.tensorflow()
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(values))


def channels(op: str, weights: Any) -> int:
    """Of the result: the last dimension of the weights, or the last two."""
    return int(weights.shape[-1] * (weights.shape[-2] if op == _DEPTHWISE else 1))


def layers(definition: Any) -> list[Layer]:
    """Convolutions and products of f32 with constant weights, the last of whose dimensions are the result's channels."""
    tf = _models.tensorflow()
    nodes, found = {node.name: node for node in definition.node}, []
    for node in definition.node:
        weights = nodes.get(node_of(node.input[1])) if node.op in _LAYERS else None
        if weights is None or weights.op != "Const" or attribute(node, "T").type != tf.float32.as_datatype_enum:
            continue
        rank = len(weights.attr["value"].tensor.tensor_shape.dim)
        turned = any(attribute(node, key).b for key in ("transpose_a", "transpose_b", "adj_x", "adj_y"))
        of_images = node.op in ("Conv2D", _DEPTHWISE)
        if turned or rank != (4 if of_images else 2) or attribute(node, "data_format").s == b"NCHW":
            continue
        padded = of_images and attribute(node, "padding").s != b"VALID" and values_of(weights).shape[:2] != (1, 1)
        source, pads = node.input[0], []
        while (pad := nodes.get(node_of(source))) is not None and pad.op == "Pad":
            pads.append(pad.name)
            source = pad.input[0]
        found.append(Layer(node.name, node.op, source, weights.name, padded or bool(pads), pads))
    return found


def _round_weights(graph: Any, layer: Layer, values: Any) -> str:
    """The node that rounds a layer's weights, with a range for each channel."""
    import numpy as np

    tf, matrix = _models.tensorflow(), values.reshape(-1, channels(layer.op, values))
    name, source = layer.weights + "/fake_quant", layer.weights
    if layer.op == _DEPTHWISE:  # FakeQuant has a range for each index of the last dimension
        name, source = layer.weights + "/fake_quant_depthwise", layer.weights + "/matrix"
        _constant(graph, source, matrix)
    most = np.abs(matrix).max(axis=0).astype(np.float32)
    for suffix, bound in (("/min", -most), ("/max", most)):
        _constant(graph, name + suffix, bound)
    node = graph.node.add(name=name, op="FakeQuantWithMinMaxVarsPerChannel", input=[source, name + "/min", name + "/max"])
    node.attr["narrow_range"].b = True
    if layer.op != _DEPTHWISE:
        return name
    _constant(graph, name + "/shape", np.int32(values.shape))
    shaped = graph.node.add(name=name + "/shaped", op="Reshape", input=[name, name + "/shape"])
    shaped.attr["T"].type = tf.float32.as_datatype_enum
    return str(shaped.name)


def _padded(graph: Any, nodes: dict[str, Any], layer: Layer, source: str) -> str:
    """What a layer reads, when `source` stands where its pads begin."""
    for pad in reversed(layer.pads):
        name = f"{layer.name}/{pad}"
        if name not in nodes:
            copy = nodes[name] = graph.node.add()
            copy.CopyFrom(nodes[pad])
            copy.name, copy.input[0] = name, source
        source = name
    return source


def quantized(definition: Any, chosen: list[Layer], ranges: dict[str, tuple[float, float]]) -> Any:
    """A copy in which the chosen layers read rounded numbers."""
    result = type(definition)()
    result.CopyFrom(definition)
    nodes = {node.name: node for node in result.node}
    rounded: dict[str, str] = {}
    rounded_weights: dict[tuple[str, str], str] = {}
    for layer in chosen:
        if layer.source not in rounded:
            name = rounded[layer.source] = node_of(layer.source) + "/fake_quant" + "".join(layer.source.split(":")[1:])
            node = result.node.add(name=name, op="FakeQuantWithMinMaxArgs", input=[layer.source])
            node.attr["min"].f, node.attr["max"].f = ranges[layer.source]
        if (layer.op, layer.weights) not in rounded_weights:
            rounded_weights[layer.op, layer.weights] = _round_weights(result, layer, values_of(nodes[layer.weights]))
        nodes[layer.name].input[0] = _padded(result, nodes, layer, rounded[layer.source])
        nodes[layer.name].input[1] = rounded_weights[layer.op, layer.weights]
    return result


def save(graph: Graph, definition: Any, signature: str, path: str) -> None:
    """A SavedModel with one signature. Weights that FakeQuant rounds are variables: TensorFlow would round constants once
    and drop the op, and with it what says that they are whole numbers of steps."""
    tf = _models.tensorflow()
    keys, names = sorted(graph.inputs), sorted(graph.outputs)
    opened = type(definition)()
    opened.CopyFrom(definition)
    nodes = {node.name: node for node in opened.node}
    weights = [node_of(node.input[0]) for node in opened.node if node.op == "FakeQuantWithMinMaxVarsPerChannel" and
               node_of(node.input[0]) in nodes and nodes[node_of(node.input[0])].op == "Const"]
    module = tf.Module()
    module.weights = [tf.Variable(values_of(nodes[name]), trainable=False) for name in weights]
    for name, variable in zip(weights, module.weights):
        nodes[name].op = "Placeholder"
        del nodes[name].attr["value"]
        nodes[name].attr["shape"].shape.CopyFrom(variable.shape.as_proto())
    function = call(opened, [graph.inputs[key] for key in keys] + weights, [graph.outputs[name] for name in names])
    specs = [tf.TensorSpec(graph.specs[key].shape, graph.specs[key].dtype, name=key) for key in keys]

    @tf.function(input_signature=specs, autograph=False)  # type: ignore[untyped-decorator, unused-ignore]
    def serve(*inputs: Any) -> Any:
        return dict(zip(names, function(*inputs, *[tf.convert_to_tensor(variable) for variable in module.weights])))

    module.serve = serve
    tf.saved_model.save(module, path, signatures={signature: serve.get_concrete_function()})
