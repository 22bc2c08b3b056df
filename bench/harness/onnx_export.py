"""Writes a workload as an ONNX file, in an environment with TensorFlow and tf2onnx.

    export(WORKLOADS["bert_base"], cache)      # makes onnx_file(WORKLOADS["bert_base"], cache)

A file belongs to the sources of the workloads that it was made from: its name carries their digest.
"""
import hashlib
from functools import cache as once
from pathlib import Path
from typing import Any

from bench.harness.engines import ROOT
from bench.models.workload import Workload

OPSET = 18
# tf2onnx takes some thirty times the weights' size in memory; above this they are kept away from it.
LARGE_WEIGHTS = 200 << 20


@once
def sources_digest(maker: Path = Path(__file__)) -> str:
    """Of the workloads, and of the program that makes files of them."""
    files = sorted((ROOT / "bench" / "models").glob("*.py")) + [maker]
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()[:12]


def onnx_file(workload: Workload, cache: Path) -> Path:
    return cache / f"{workload.name}-{sources_digest()}.onnx"


def graph_file(workload: Workload, cache: Path) -> Path:
    """The frozen TensorFlow graph beside it, for readers that cannot take the ONNX file."""
    return onnx_file(workload, cache).with_suffix(".pb")


def export(workload: Workload, cache: Path) -> None:
    target = onnx_file(workload, cache)
    if target.exists():
        return
    cache.mkdir(parents=True, exist_ok=True)
    for old in cache.glob(f"{workload.name}-????????????.*"):
        old.unlink()
    import onnx
    from bench.harness.runners import make_model
    write_gelu_with_erf()
    model = make_model(workload, cache)
    if model is not None and weight_bytes(model) > LARGE_WEIGHTS:
        proto = convert_without_weights(workload, model)
    else:
        proto = convert_frozen(workload, model, graph_file(workload, cache))
    name_inputs(proto, len(workload.inputs()))
    partial = target.with_suffix(".partial")
    onnx.save(proto, partial)
    partial.rename(target)


def weight_bytes(model: Any) -> int:
    return sum(int(v.value.numpy().nbytes) for v in model.variables)


def write_gelu_with_erf() -> None:
    """tf.nn.gelu is written with Erfc, which ONNX lacks; engines recognise the form with Erf."""
    import tensorflow as tf
    with_tanh = tf.nn.gelu

    def gelu(x, approximate=False, name=None):
        return with_tanh(x, True) if approximate else x * 0.5 * (tf.math.erf(x * 0.5**0.5) + 1.0)

    tf.nn.gelu = gelu


def convert_frozen(workload: Workload, model: Any, graph: Path) -> Any:
    import tensorflow as tf
    import tf2onnx
    from bench.harness.tensorflow_runner import traced
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
    frozen = convert_variables_to_constants_v2(
        traced(workload, model).get_concrete_function(), lower_control_flow=False)
    tf.io.write_graph(frozen.graph, str(graph.parent), graph.name, as_text=False)
    if graph.stat().st_size > LARGE_WEIGHTS:
        raise ValueError(f"{graph.name} is too large for tf2onnx; OpenVINO reads it as it is")
    proto, _ = tf2onnx.convert.from_graph_def(
        frozen.graph.as_graph_def(), opset=OPSET, input_names=[x.name for x in frozen.inputs],
        output_names=[y.name for y in frozen.outputs])
    return proto


def convert_without_weights(workload: Workload, model: Any) -> Any:
    """The weights are inputs of the graph that tf2onnx sees, and become its constants afterwards."""
    import onnx
    import tensorflow as tf
    import tf2onnx
    from bench.harness.tensorflow_runner import signature
    trained, others = model.trainable_variables, model.non_trainable_variables
    weights = {f"weight{i}": v for i, v in enumerate([*trained, *others])}
    specs = signature(workload)
    specs += [tf.TensorSpec(v.shape, v.dtype, name) for name, v in weights.items()]
    inputs = len(workload.inputs())

    @tf.function(input_signature=specs)
    def predict(*x):
        values = x[inputs:]
        return model.stateless_call(values[:len(trained)], values[len(trained):],
                                    x[0] if inputs == 1 else list(x[:inputs]), training=False)[0]

    proto, _ = tf2onnx.convert.from_function(predict, input_signature=specs, opset=OPSET)
    for node in [i for i in proto.graph.input if i.name in weights]:
        proto.graph.input.remove(node)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(weights[node.name].numpy(), node.name))
    return proto


def name_inputs(proto: Any, count: int) -> None:
    """x0:0 -> x0; a graph with other inputs would be run on memory that nothing has written."""
    names = {f"x{i}:0": f"x{i}" for i in range(count)}
    for graph_input in proto.graph.input:
        graph_input.name = names.get(graph_input.name, graph_input.name)
    for node in proto.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = names.get(name, name)
    found = sorted(i.name for i in proto.graph.input)
    if found != sorted(names.values()):
        raise ValueError(f"the exported graph's inputs are {found}, expected {sorted(names.values())}")
