"""Models that the command line runs: a SavedModel, or a file of Keras's, and inputs made for its signature.

    model = load("resnet", batch=8)     # a folder with saved_model.pb, a .keras or an .h5 file
    model.call()                        # its results

A size that the signature leaves open is ``batch`` where it is the first of an input, and 1 elsewhere. Floats are random
numbers from -1 to 1 of one seed, integers 0 and 1, texts "a", so that an index is one of the smallest tables.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


MOST_ERROR = 200  # characters


def tensorflow() -> Any:
    return importlib.import_module("tensorflow")  # it has no type stubs


def is_model(path: str) -> bool:
    return is_saved_model(path) or path.endswith((".keras", ".h5", ".hdf5"))


def is_saved_model(path: str) -> bool:
    return (Path(path) / "saved_model.pb").exists() or (Path(path) / "saved_model.pbtxt").exists()


def require(path: str) -> None:
    """Ends the program with one line where there is no model."""
    if not is_model(path) or not Path(path).exists():
        raise SystemExit(f"tektite: '{path}' is no SavedModel and no file of Keras's")


def in_a_line(error: BaseException) -> str:
    """What a model's or TensorFlow's error says, in 200 characters at most."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()] or [""]
    if lines[0].endswith("in user code:"):  # TensorFlow puts a traceback of its own between that and what is wrong
        lines = lines[-1:]
    return f"{type(error).__name__}: {lines[0]}"[:MOST_ERROR]


@dataclasses.dataclass
class Model:
    name: str
    call: Callable[[], Any]  # returns the flat list of results, a signature's by their names
    inputs: dict[str, str]  # "f32[8,224,224,3]" by name


def make_input(spec: Any, batch: int, number: int) -> Any:
    """A tensor of a signature's type."""
    np: Any = importlib.import_module("numpy")  # the compiler's own commands need none
    tf = tensorflow()
    rank = spec.shape.rank
    if rank is None:
        dims = [batch]  # anything will do
    else:
        dims = [size if size is not None else batch if place == 0 else 1 for place, size in enumerate(spec.shape)]
    random = np.random.default_rng(number + 1)
    if spec.dtype == tf.string:
        return tf.fill(dims, "a")
    if spec.dtype.is_floating:
        return tf.cast(random.uniform(-1, 1, dims), spec.dtype)
    if spec.dtype.is_complex:
        return tf.cast(random.uniform(-1, 1, dims) + 1j * random.uniform(-1, 1, dims), spec.dtype)
    return tf.cast(random.integers(0, 2, dims), spec.dtype)


def describe(tensor: Any) -> str:
    return f"{tensor.dtype.name}[{','.join(map(str, tensor.shape))}]"


def signature_of(loaded: Any, path: str, wanted: str) -> tuple[str, Any]:
    """Its name and function; ends the program with one line where there is none."""
    signatures = loaded.signatures
    if wanted and wanted not in signatures:
        raise SystemExit(f"tektite: '{path}' has no signature '{wanted}', but {', '.join(signatures) or 'none'}")
    for name in (wanted, "serving_default", *signatures):
        if name in signatures:
            return name, signatures[name]
    raise SystemExit(f"tektite: '{path}' has no signature to call")


def load(path: str, batch: int = 1, signature: str = "") -> Model:
    """The model, with inputs; ends the program with one line where there is none."""
    tf = tensorflow()
    require(path)
    if not is_saved_model(path):
        return _load_keras(path, batch)
    loaded = tf.saved_model.load(path)
    name, function = signature_of(loaded, path, signature)
    specs = function.structured_input_signature[1]
    inputs = {key: make_input(spec, batch, number) for number, (key, spec) in enumerate(sorted(specs.items()))}
    return Model(f"{Path(path).resolve().name}/{name}", lambda: [tensor for _, tensor in sorted(function(**inputs).items())],
                 {key: describe(tensor) for key, tensor in inputs.items()})


def _load_keras(path: str, batch: int) -> Model:
    tf = tensorflow()
    model = tf.keras.models.load_model(path, compile=False)
    specs = tf.nest.flatten([tf.TensorSpec(x.shape, x.dtype, x.name) for x in model.inputs])
    inputs = [make_input(spec, batch, number) for number, spec in enumerate(specs)]
    given = inputs[0] if len(inputs) == 1 else inputs

    @tf.function(autograph=False)  # type: ignore[untyped-decorator, unused-ignore]
    def predict(x: Any) -> Any:
        return model(x, training=False)

    return Model(Path(path).stem, lambda: tf.nest.flatten(predict(given)),
                 {spec.name: describe(tensor) for spec, tensor in zip(specs, inputs)})
