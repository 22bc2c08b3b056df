"""The engines that ``tektite bench`` knows, each in a process of its own.

    engine = ENGINES["openvino"]("resnet/", batch=1, threads=2, signature="")
    engine.call()      # one call on inputs that it made

OpenVINO, ONNX Runtime and LiteRT are rivals, and run where they are installed; the last two read what is converted
first. All compute in the model's own precision.
"""

from __future__ import annotations

import atexit
import dataclasses
import importlib
import importlib.util
import shutil
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


@dataclasses.dataclass
class _Saved:
    """What the rivals convert: a SavedModel, the signature, and the same inputs as TensorFlow's engines have."""

    folder: str
    loaded: Any  # holds the variables, which a signature alone does not
    key: str
    function: Any
    arrays: dict[str, Any]  # by the signature's names, sorted

    @property
    def shown(self) -> dict[str, str]:
        return {name: _models.describe(x) for name, x in self.arrays.items()}


def _saved_folder(path: str) -> str:
    """The SavedModel, or one that is made of a file of Keras's and goes with the process."""
    if _models.is_saved_model(path):
        return path
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _models.tensorflow().keras.models.load_model(path, compile=False).export(folder, verbose=False)
    return folder


def _load_saved(path: str, batch: int, signature: str) -> _Saved:
    folder = _saved_folder(path)
    loaded = _models.tensorflow().saved_model.load(folder)
    key, function = _models.signature_of(loaded, path, signature)
    specs = sorted(function.structured_input_signature[1].items())
    made = {name: _models.make_input(spec, batch, number) for number, (name, spec) in enumerate(specs)}
    return _Saved(folder, loaded, key, function, {name: tensor.numpy() for name, tensor in made.items()})


def input_of(port_names: list[str], inputs: list[str], key: str) -> str:
    """The signature's input that a rival calls by any of these names: "x", "x:0", "serving_default_x:0"."""
    plain = {name.partition(":")[0] for name in port_names}
    found = [name for name in inputs if plain & {name, f"{key}_{name}", f"serving_default_{name}"}]
    if len(found) != 1:
        raise ValueError(f"no input of the signature is called {' or '.join(sorted(port_names))}")
    return found[0]


def _openvino(path: str, batch: int, threads: int, signature: str) -> Engine:
    saved = _load_saved(path, batch, signature)
    if saved.key != "serving_default":
        raise ValueError("OpenVINO reads the signature serving_default alone")
    openvino: Any = importlib.import_module("openvino")
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(saved.folder), "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    feed = {port.get_any_name(): saved.arrays[input_of(sorted(port.get_names()), [*saved.arrays], saved.key)]
            for port in compiled.inputs}
    return Engine(lambda: request.infer(feed, share_inputs=True, share_outputs=True), saved.shown)


def _onnxruntime(path: str, batch: int, threads: int, signature: str) -> Engine:
    saved = _load_saved(path, batch, signature)
    runtime: Any = importlib.import_module("onnxruntime")
    convert: Any = importlib.import_module("tf2onnx.convert")
    tf = _models.tensorflow()
    specs = [spec for _, spec in sorted(saved.function.structured_input_signature[1].items())]
    wrapped = tf.function(lambda *inputs: saved.function(**dict(zip(saved.arrays, inputs))))
    proto, _ = convert.from_function(wrapped, input_signature=specs)
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = threads
    session = runtime.InferenceSession(proto.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    feed = dict(zip([spec.name for spec in specs], saved.arrays.values()))
    return Engine(lambda: session.run(None, feed), saved.shown)


def _litert(path: str, batch: int, threads: int, signature: str) -> Engine:
    saved = _load_saved(path, batch, signature)
    tf = _models.tensorflow()
    interpreter_module: Any = importlib.import_module("ai_edge_litert.interpreter")
    converter = tf.lite.TFLiteConverter.from_saved_model(saved.folder, signature_keys=[saved.key])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.tflite"
        file.write_bytes(converter.convert())
        interpreter = interpreter_module.Interpreter(str(file), num_threads=threads)
    runner = interpreter.get_signature_runner(saved.key)
    return Engine(lambda: runner(**saved.arrays), saved.shown)


ENGINES: dict[str, Callable[[str, int, int, str], Engine]] = {
    "tf": _tensorflow, "tektite": _tensorflow, "openvino": _openvino, "onnxruntime": _onnxruntime, "litert": _litert}
