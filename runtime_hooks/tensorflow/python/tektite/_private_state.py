"""What Tektite reads of TensorFlow's private state, and whether the TensorFlow at hand has it.

Why: no interface promises these names. One that is gone must not become an error in a user's call, so all are looked for
before the first is used, and where one is missing calls stay TensorFlow's. What a name *means* the extension module
asks where it can (fast_calls/plain_call.cc); ``stats()["host"]["direct_runs"]`` says whether calls are direct in the end.

Limits: what an object gets when it is made is looked for in the code of ``__init__``.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

_FUNCTIONS = "eager.polymorphic_function."
# Modules, a class in it or none, and names there.
_NAMES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("eager.cancellation", "", ("_active_context",)),
    ("eager.context", "", ("_context",)),
    ("eager.graph_only_ops", "", ("graph_placeholder",)),
    (_FUNCTIONS + "atomic_function", "", ("from_func_graph", "from_function_def")),
    (_FUNCTIONS + "atomic_function", "AtomicFunction",
     ("_bound_context", "_cached_graph", "cached_definition", "call_flat", "function_type", "graph", "name")),
    (_FUNCTIONS + "concrete_function", "ConcreteFunction",
     ("_call_flat", "_captured_inputs", "_inference_function", "function_type")),
    (_FUNCTIONS + "eager_function_run", "", ("RUN_FUNCTIONS_EAGERLY",)),
    (_FUNCTIONS + "polymorphic_function", "", ("_frequent_tracing_detector_manager",)),
    (_FUNCTIONS + "polymorphic_function", "Function",
     ("__call__", "_function_cache", "_jit_compile", "_key_for_call_stats", "_no_variable_creation_config",
      "_variable_creation_config", "experimental_get_tracing_count", "input_signature")),
    ("framework.func_graph", "FuncGraph", ("_distribution_strategy_stack", "_thread_local", "inputs", "outputs")),
    ("framework.ops", "", ("_default_graph_stack", "get_default_graph")),
    ("framework.ops", "EagerTensor", ("_datatype_enum", "_rank", "_shape_tuple")),
    ("framework.tensor_conversion_registry", "", ("convert",)),
    ("ops.handle_data_util", "", ("copy_handle_data",)),
    ("saved_model.save_context", "", ("_save_context", "in_save_context")),
    ("util._pywrap_determinism", "", ("enable", "is_enabled")),
    ("util.traceback_utils", "", ("_EXCLUDED_PATHS",)),
)
_ARGUMENTS = ["self", "tensor_inputs", "captured_inputs"]  # of ConcreteFunction._call_flat


def part(name: str) -> Any:
    """A module below tensorflow.python, which has no type stubs."""
    return importlib.import_module(f"tensorflow.python.{name}")


def has(owner: Any, name: str) -> bool:
    """Whether a module or a class has ``name``, or objects of the class get it when they are made."""
    if hasattr(owner, name):
        return True
    codes = [getattr(base.__init__, "__code__", None) for base in getattr(owner, "__mro__", ())]
    return any(code is not None and name in code.co_names for code in codes)


@functools.cache  # once, before anything is wrapped
def missing() -> str:
    """The first that TensorFlow lacks; empty where it has all."""
    for path, owner_name, names in _NAMES:
        try:
            owner: Any = part(path)
        except ImportError as error:
            return str(error)
        if owner_name:
            owner = getattr(owner, owner_name, None)
        for name in names:
            if not has(owner, name):
                return f"TensorFlow has no {path}.{owner_name or ''}{'.' if owner_name else ''}{name}"
    concrete = part(_FUNCTIONS + "concrete_function").ConcreteFunction
    arguments = list(inspect.signature(concrete._call_flat).parameters)
    return "" if arguments == _ARGUMENTS else f"arguments of ConcreteFunction._call_flat: {', '.join(arguments)}"
