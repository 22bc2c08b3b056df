"""Frozen graphs for ``tektite quantize``: constants in place of variables, batch norms in the weights, FakeQuant at layers.

Weights are tensors beside the graph, which all its copies and all their functions share: a graph is copied for each number
of layers that is tried, and TensorFlow copies the constants of a graph some five times before it computes. A function is made
of no more nodes than it needs.

A layer is a convolution or a product with constant weights. Its input is rounded to 255 steps of one range, its weights
to 254 steps around 0 of a range for each channel of the result.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections import defaultdict
from collections.abc import Container, Iterable
from typing import Any

from tektite import _models

_DEPTHWISE = "DepthwiseConv2dNative"
_LAYERS = {"Conv2D", _DEPTHWISE, "MatMul", "BatchMatMulV2"}
_SUMS = {"AddV2", "Add", "BiasAdd", "Sub"}
_LARGE = 1 << 16  # bytes of a constant that is no part of the graph


@dataclasses.dataclass
class Graph:
    """A signature's graph, and the tensors that its arguments and results are."""

    definition: Any  # GraphDef
    inputs: dict[str, str]
    outputs: dict[str, str]
    specs: dict[str, Any]
    weights: dict[str, Any] = dataclasses.field(default_factory=dict)  # tensors, by the names of their placeholders


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


def values_of(graph: Graph, node: Any) -> Any:
    import numpy as np

    if node.name in graph.weights:
        return np.asarray(graph.weights[node.name])
    return _models.tensorflow().make_ndarray(node.attr["value"].tensor)


def is_constant(graph: Graph, node: Any) -> bool:
    return node.op == "Const" or node.name in graph.weights


def _constant(graph: Graph, name: str, values: Any) -> None:
    _put(graph, graph.definition.node.add(name=name), values)


def call(graph: Graph, feeds: list[str], fetches: list[str]) -> Any:
    """The function from some tensors to others, of no more of the graph than these need. What is fed may be fetched."""
    tf = _models.tensorflow()
    fed = {_first(name): _fed(name) for name in feeds}
    definition, weights = _between(graph, fed, fetches)
    whole = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(definition, name=""), [])

    def tensor(name: str) -> Any:
        return whole.graph.get_tensor_by_name(_first(name))

    function = whole.prune([tensor(_fed(name)) for name in feeds] + [tensor(name) for name in weights],
                           [tensor(fed.get(_first(name), name)) for name in fetches])
    return lambda *inputs: function(*inputs, *(tf.convert_to_tensor(graph.weights[name]) for name in weights))


def _first(tensor: str) -> str:
    """With the number of the result."""
    return tensor if ":" in tensor else tensor + ":0"


def _fed(tensor: str) -> str:
    """The placeholder of a tensor that is fed."""
    return node_of(tensor) + "_fed" + "".join(tensor.split(":")[1:])


def _between(graph: Graph, fed: dict[str, str], fetches: list[str]) -> tuple[Any, list[str]]:
    """The nodes that `fetches` need where placeholders stand for the tensors `fed`, and the weights that they read."""
    nodes = {node.name: node for node in graph.definition.node}
    wanted = _reached(nodes, fetches, fed)
    result = type(graph.definition)(library=graph.definition.library, versions=graph.definition.versions)
    for tensor, placeholder in fed.items():
        node = result.node.add()
        if nodes[node_of(tensor)].op == "Placeholder":
            node.CopyFrom(nodes[node_of(tensor)])
        node.name, node.op = placeholder, "Placeholder"
        if "dtype" not in node.attr:  # what a layer reads
            node.attr["dtype"].type = _models.tensorflow().float32.as_datatype_enum
    for node in graph.definition.node:
        if node.name in wanted:
            copy = result.node.add()
            copy.CopyFrom(node)
            if "_class" in copy.attr:  # beside which node it is placed, which may not be here
                del copy.attr["_class"]
            for i, tensor in enumerate(copy.input):
                copy.input[i] = fed.get(_first(tensor), tensor)
    return result, [name for name in graph.weights if name in wanted]


def _reached(nodes: dict[str, Any], fetches: Iterable[str], fed: Container[str] = ()) -> set[str]:
    """The nodes that `fetches` depend on, where the tensors `fed` depend on none."""
    found: set[str] = set()
    waiting = [node_of(name) for name in fetches if _first(name) not in fed]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [node_of(tensor) for tensor in nodes[name].input if _first(tensor) not in fed]
    return found


def freeze(function: Any) -> Graph:
    """ValueError where the function has variables that no constant can stand for, or takes no named tensors."""
    convert = importlib.import_module("tensorflow.python.framework.convert_to_constants")
    specs = dict(function.structured_input_signature[1])
    frozen, definition = convert.convert_variables_to_constants_v2_as_graph(function)
    if len(frozen.inputs) != len(specs):
        raise ValueError(f"its graph has {len(frozen.inputs)} inputs, its signature {len(specs)}")
    outputs = function.structured_outputs
    if not isinstance(outputs, dict):
        raise ValueError("its results have no names")
    graph = Graph(definition, {key: x.name for key, x in zip(sorted(specs), frozen.inputs)},
                  {key: x.name for key, x in zip(sorted(outputs), frozen.outputs)}, specs)
    del frozen
    _lift_weights(graph)
    _fold_constants(graph)
    _open_batch_norms(graph)
    _fold_scales(graph)
    _lift_weights(graph)
    return graph


def _lift_weights(graph: Graph) -> None:
    """Weights of layers, and other large constants, become tensors beside the graph."""
    tf = _models.tensorflow()
    of_layers = {layer.weights for layer in layers(graph)}
    for node in graph.definition.node:
        if node.op == "Const" and (node.name in of_layers or node.ByteSize() > _LARGE):
            _lift(graph, node, tf.constant(values_of(graph, node)))
    graph.weights = {name: graph.weights[name] for name in _weights_read(graph)}


def _lift(graph: Graph, node: Any, values: Any) -> None:
    graph.weights[node.name] = values
    node.op = "Placeholder"
    node.attr["dtype"].type = values.dtype.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(values.shape.as_proto())
    if "value" in node.attr:
        del node.attr["value"]


def _put(graph: Graph, node: Any, values: Any) -> None:
    """Makes a node a constant: sizes and permutations must be in the graph, where compilers see them."""
    tf, name = _models.tensorflow(), node.name
    node.Clear()
    node.name, node.op = name, "Const"
    if values.nbytes > _LARGE:
        return _lift(graph, node, tf.constant(values))
    graph.weights.pop(name, None)
    node.attr["dtype"].type = tf.as_dtype(values.dtype).as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(values))


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
        constant[node.name] = is_constant(graph, node) or (
            bool(operands) and len(operands) == len(node.input) and known is not None and not known.is_stateful and
            len(known.output_arg) == 1 and all(constant.get(node_of(tensor), False) for tensor in operands))
    wanted = {node_of(tensor) for node in definition.node if not constant[node.name] for tensor in node.input}
    wanted |= {node_of(tensor) for tensor in graph.outputs.values()}
    fold = sorted(name for name in wanted if constant.get(name) and not is_constant(graph, nodes[name]))
    if not fold:
        return
    values = call(graph, [], fold)()
    for name, value in zip(fold, values):
        _put(graph, nodes[name], value.numpy())


def _open_batch_norms(graph: Graph) -> None:
    """Fused batch normalization by constants becomes a product and a sum."""
    import numpy as np

    definition = graph.definition
    nodes = {node.name: node for node in definition.node}
    for node in list(definition.node):
        operands = [nodes.get(node_of(t)) for t in node.input[1:]]
        if not node.op.startswith("FusedBatchNorm") or attribute(node, "is_training").b or \
                attribute(node, "data_format").s == b"NCHW":
            continue
        if len(operands) != 4 or any(o is None or not is_constant(graph, o) for o in operands):
            continue
        scale, offset, mean, variance = (values_of(graph, o) for o in operands)
        factor = scale / np.sqrt(variance + node.attr["epsilon"].f)
        source, kind = node.input[0], node.attr["T"].type
        _constant(graph, node.name + "/factor", factor)
        _constant(graph, node.name + "/offset", offset - mean * factor)
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
        return found[0] if len(found) == 1 and is_constant(graph, found[0]) else None

    for layer in layers(graph):
        node, sums = nodes[layer.name], []
        weights = values_of(graph, nodes[layer.weights])
        if len(readers[layer.weights]) != 1:
            continue
        reader = only_reader(node)
        while reader is not None and reader.op in _SUMS and operand(reader, node.name) is not None and \
                not (reader.op == "Sub" and node_of(reader.input[1]) == node.name):
            sums.append(reader)
            node, reader = reader, only_reader(reader)
        if reader is None or reader.op != "Mul" or operand(reader, node.name) is None:
            continue
        factor = values_of(graph, operand(reader, node.name)).reshape(-1)
        constants = [operand(s, previous.name) for s, previous in zip(sums, [nodes[layer.name], *sums])]
        matrix = weights.reshape(-1, channels(layer.op, weights))
        if factor.size not in (1, matrix.shape[-1]) or any(len(readers[c.name]) != 1 for c in constants):
            continue
        _put(graph, nodes[layer.weights], (matrix * factor).reshape(weights.shape))
        for constant in constants:
            _put(graph, constant, values_of(graph, constant) * factor)
        for after in readers[reader.name]:
            for i, tensor in enumerate(after.input):
                if node_of(tensor) == reader.name:
                    after.input[i] = node.name
        for key, tensor in graph.outputs.items():
            if node_of(tensor) == reader.name:
                graph.outputs[key] = node.name + ":0"
        readers[node.name] = readers[reader.name]
        definition.node.remove(reader)


def channels(op: str, weights: Any) -> int:
    """Of the result: the last dimension of the weights, or the last two."""
    return int(weights.shape[-1] * (weights.shape[-2] if op == _DEPTHWISE else 1))


def multiplications(graph: Graph, layer: Layer, results: int) -> int:
    """For so many results of the layer."""
    weights = graph.weights[layer.weights]
    return results * (int(weights.shape.num_elements()) // channels(layer.op, weights))


def shape_of(graph: Graph, node: Any) -> list[int]:
    """Of a constant, or of weights."""
    if node.name in graph.weights:
        return list(graph.weights[node.name].shape)
    return [int(dim.size) for dim in node.attr["value"].tensor.tensor_shape.dim]


def layers(graph: Graph) -> list[Layer]:
    """Convolutions and products of f32 with constant weights, the last of whose dimensions are the result's channels."""
    tf = _models.tensorflow()
    nodes, found = {node.name: node for node in graph.definition.node}, []
    for node in graph.definition.node:
        weights = nodes.get(node_of(node.input[1])) if node.op in _LAYERS else None
        if weights is None or not is_constant(graph, weights) or attribute(node, "T").type != tf.float32.as_datatype_enum:
            continue
        sizes = shape_of(graph, weights)
        rank = len(sizes)
        turned = any(attribute(node, key).b for key in ("transpose_a", "transpose_b", "adj_x", "adj_y"))
        of_images = node.op in ("Conv2D", _DEPTHWISE)
        if turned or rank != (4 if of_images else 2) or attribute(node, "data_format").s == b"NCHW":
            continue
        padded = of_images and attribute(node, "padding").s != b"VALID" and sizes[:2] != [1, 1]
        source, pads = node.input[0], []
        while (pad := nodes.get(node_of(source))) is not None and pad.op == "Pad":
            pads.append(pad.name)
            source = pad.input[0]
        found.append(Layer(node.name, node.op, source, weights.name, padded or bool(pads), pads))
    return found


def _round_weights(result: Graph, layer: Layer) -> str:
    """The node that rounds a layer's weights, with a range for each channel."""
    import numpy as np

    tf, graph, values = _models.tensorflow(), result.definition, np.asarray(result.weights[layer.weights])
    matrix = values.reshape(-1, channels(layer.op, values))
    name, source = layer.weights + "/fake_quant", layer.weights
    if layer.op == _DEPTHWISE:  # FakeQuant has a range for each index of the last dimension
        name, source = layer.weights + "/fake_quant_depthwise", layer.weights + "/matrix"
        _lift(result, graph.node.add(name=source), tf.constant(matrix))
    most = np.abs(matrix).max(axis=0).astype(np.float32)
    for suffix, bound in (("/min", -most), ("/max", most)):
        _constant(result, name + suffix, bound)
    node = graph.node.add(name=name, op="FakeQuantWithMinMaxVarsPerChannel", input=[source, name + "/min", name + "/max"])
    node.attr["narrow_range"].b = True
    if layer.op != _DEPTHWISE:
        return name
    _constant(result, name + "/shape", np.asarray(values.shape, np.int32))
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


def quantized(graph: Graph, chosen: list[Layer], ranges: dict[str, tuple[float, float]]) -> Graph:
    """A copy in which the chosen layers read rounded numbers."""
    copy = dataclasses.replace(graph, definition=type(graph.definition)(), weights=dict(graph.weights))
    result = copy.definition
    result.CopyFrom(graph.definition)
    nodes = {node.name: node for node in result.node}
    rounded: dict[str, str] = {}
    rounded_weights: dict[tuple[str, str], str] = {}
    for layer in chosen:
        if layer.source not in rounded:
            name = rounded[layer.source] = node_of(layer.source) + "/fake_quant" + "".join(layer.source.split(":")[1:])
            node = result.node.add(name=name, op="FakeQuantWithMinMaxArgs", input=[layer.source])
            node.attr["min"].f, node.attr["max"].f = ranges[layer.source]
        if (layer.op, layer.weights) not in rounded_weights:
            rounded_weights[layer.op, layer.weights] = _round_weights(copy, layer)
        nodes[layer.name].input[0] = _padded(result, nodes, layer, rounded[layer.source])
        nodes[layer.name].input[1] = rounded_weights[layer.op, layer.weights]
    return copy


def save(graph: Graph, signature: str, path: str) -> None:
    """A SavedModel with one signature. Weights are variables: TensorFlow would round constants once and drop FakeQuant, and
    with it what says that they are whole numbers of steps."""
    tf = _models.tensorflow()
    keys, names = sorted(graph.inputs), sorted(graph.outputs)
    module = tf.Module()
    variables = {name: tf.Variable(graph.weights[name], trainable=False) for name in _weights_read(graph)}
    module.weights = list(variables.values())
    function = call(dataclasses.replace(graph, weights=variables), [graph.inputs[key] for key in keys],
                    [graph.outputs[name] for name in names])
    specs = [tf.TensorSpec(graph.specs[key].shape, graph.specs[key].dtype, name=key) for key in keys]

    @tf.function(input_signature=specs, autograph=False)  # type: ignore[untyped-decorator, unused-ignore]
    def serve(*inputs: Any) -> Any:
        return dict(zip(names, function(*inputs)))

    module.serve = serve
    tf.saved_model.save(module, path, signatures={signature: serve.get_concrete_function()})


def _weights_read(graph: Graph) -> list[str]:
    """Those that results depend on."""
    reached = _reached({node.name: node for node in graph.definition.node}, graph.outputs.values())
    return [name for name in graph.weights if name in reached]
