"""The engines that ``tektite bench`` knows, each in a process of its own.

    engine = ENGINES["openvino"]("resnet/", batch=1, threads=2, signature="")
    engine.call()      # one call on inputs that it made

OpenVINO, ONNX Runtime and LiteRT are rivals, and run where they are installed; the last two read what is converted
first. All compute in the model's own precision.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tektite import _models

LABELS = {"tf": "plain TensorFlow", "tektite": "Tektite", "openvino": "OpenVINO", "onnxruntime": "ONNX Runtime",
          "litert": "LiteRT"}
_NEEDS = {"openvino": ("openvino",), "onnxruntime": ("onnxruntime", "tf2onnx"), "litert": ("ai_edge_litert",)}


def installed() -> list[str]:
    return [name for name in LABELS if all(importlib.util.find_spec(module) for module in _NEEDS.get(name, ()))]


@dataclasses.dataclass
class Engine:
    call: Callable[[], Any]
    inputs: dict[str, str]


def _tensorflow(path: str, batch: int, threads: int, signature: str) -> Engine:
    tf = _models.tensorflow()
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    model = _models.load(path, batch, signature)
    return Engine(model.call, model.inputs)


def _arrays(path: str, batch: int, signature: str) -> tuple[list[Any], dict[str, str]]:
    """The same inputs as TensorFlow's engines have, by the signature's order."""
    tf = _models.tensorflow()
    if not _models.is_saved_model(path):
        raise ValueError("reads SavedModels alone")
    function = tf.saved_model.load(path).signatures[signature or "serving_default"]
    specs = sorted(function.structured_input_signature[1].items())
    made = {name: _models.make_input(spec, batch, number) for number, (name, spec) in enumerate(specs)}
    return [tensor.numpy() for tensor in made.values()], {name: _models.describe(x) for name, x in made.items()}


def _openvino(path: str, batch: int, threads: int, signature: str) -> Engine:
    arrays, shown = _arrays(path, batch, signature)
    openvino: Any = importlib.import_module("openvino")
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(path), "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    by_name = dict(zip(shown, arrays))
    feed = {port.get_any_name(): next(x for name, x in by_name.items() if name in "".join(port.get_names()))
            for port in compiled.inputs}
    return Engine(lambda: request.infer(feed, share_inputs=True, share_outputs=True), shown)


def _onnxruntime(path: str, batch: int, threads: int, signature: str) -> Engine:
    arrays, shown = _arrays(path, batch, signature)
    runtime: Any = importlib.import_module("onnxruntime")
    convert: Any = importlib.import_module("tf2onnx.convert")
    tf = _models.tensorflow()
    function = tf.saved_model.load(path).signatures[signature or "serving_default"]
    specs = [spec for _, spec in sorted(function.structured_input_signature[1].items())]
    names = [spec.name for spec in specs]
    wrapped = tf.function(lambda *inputs: function(**dict(zip(shown, inputs))))
    proto, _ = convert.from_function(wrapped, input_signature=specs)
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = threads
    session = runtime.InferenceSession(proto.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    feed = dict(zip(names, arrays))
    return Engine(lambda: session.run(None, feed), shown)


def _litert(path: str, batch: int, threads: int, signature: str) -> Engine:
    arrays, shown = _arrays(path, batch, signature)
    tf = _models.tensorflow()
    interpreter_module: Any = importlib.import_module("ai_edge_litert.interpreter")
    converter = tf.lite.TFLiteConverter.from_saved_model(path, signature_keys=[signature or "serving_default"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.tflite"
        file.write_bytes(converter.convert())
        interpreter = interpreter_module.Interpreter(str(file), num_threads=threads)
    runner = interpreter.get_signature_runner()
    feed = dict(zip(shown, arrays))
    return Engine(lambda: runner(**feed), shown)


ENGINES: dict[str, Callable[[str, int, int, str], Engine]] = {
    "tf": _tensorflow, "tektite": _tensorflow, "openvino": _openvino, "onnxruntime": _onnxruntime, "litert": _litert}
