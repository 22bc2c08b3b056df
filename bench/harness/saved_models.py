"""Saves a case of the zoo as a SavedModel, as a user of it would.

    save(CASES["unet"], Path("unet"))     # unet/saved_model.pb

A Keras model is exported with an open batch size, and a function with the shapes of its inputs. Of a whole program the
functions that it calls are signatures, or the Keras model that it trains; one that has neither cannot be saved.
"""
import inspect
import tempfile
from pathlib import Path
from typing import Any, Callable, Iterator

from bench.harness.runners import make_model
from bench.models.workload import Workload
from bench.zoo.case import Case


class Unsavable(Exception):
    """A program without a function or a model."""


def _named(results: Any) -> dict[str, Any]:
    """What a signature may return: tensors by name, the parts of ragged and sparse ones too."""
    import tensorflow as tf
    return {f"y{i}": tf.identity(y) for i, y in enumerate(tf.nest.flatten(results, expand_composites=True))}


def _save_function(workload: Workload, folder: Path) -> None:
    import tensorflow as tf
    from bench.harness.tensorflow_runner import signature
    function = tf.function(lambda *x: _named(workload.function(*x)), input_signature=signature(workload))
    tf.saved_model.save(tf.Module(), str(folder), signatures=function)


def _held(function: Callable) -> Iterator[Any]:
    """What a function closes over, and what those do."""
    for value in inspect.getclosurevars(function).nonlocals.values():
        yield value
        if python := getattr(value, "python_function", None):
            yield from _held(python)
        elif inspect.isfunction(value):
            yield from _held(value)


def _of_traced(function: Any, module: Any) -> Any:
    """The tf.function with the shapes that the program called it with."""
    import tensorflow as tf
    concrete = function._list_all_concrete_functions()[0]  # TensorFlow has no public name for it
    specs = [tf.TensorSpec(x.shape, x.dtype, f"x{i}") for i, x in enumerate(concrete.structured_input_signature[0])]
    module.held += concrete.graph.variables
    return tf.function(lambda *x: _named(function(*x)), input_signature=specs)


def _save_program(workload: Workload, folder: Path) -> None:
    import keras
    import tensorflow as tf
    call = workload.program()
    call()
    held = list({id(value): value for value in _held(call)}.values())
    functions = [value for value in held if hasattr(value, "_list_all_concrete_functions")]
    models = [value for value in held if isinstance(value, keras.Model)]
    loaded = [value for value in held if hasattr(value, "signatures")]
    if models:
        models[0].export(folder, verbose=False)
    elif loaded:
        tf.saved_model.save(loaded[0], str(folder), signatures=loaded[0].signatures)
    elif functions:
        module = tf.Module()
        module.held = [value for value in held if isinstance(value, (tf.Variable, tf.Module, keras.layers.Layer))]
        module.held += [variable for value in held if isinstance(value, tf.compat.v1.train.Optimizer)
                        for variable in value.variables()]
        tf.saved_model.save(module, str(folder), signatures=_of_traced(functions[0], module))
    else:
        raise Unsavable(f"{workload.name} has no function and no model")


def save(case: Case, folder: Path) -> None:
    import tensorflow as tf
    tf.get_logger().setLevel("ERROR")  # it warns that a process traces many functions, which is what it is for
    workload = case.workload(1)
    if workload.kind == "program":
        _save_program(workload, folder)
    elif workload.kind == "function":
        _save_function(workload, folder)
    else:
        with tempfile.TemporaryDirectory() as cache:
            model = make_model(workload, Path(cache), compute_statistics=workload.calibrate)
        model.export(folder, verbose=False)
