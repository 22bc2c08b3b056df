"""The part of the package that needs TensorFlow: annotations, functions that must compile, warming up."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from tektite import _xla_calls
from tektite._explain import Explanation, LeftOut, explain_graph
from tektite._hook import open_hook
from tektite._where import UserLines

if sys.version_info >= (3, 10):
    from typing import ParamSpec
else:
    from typing_extensions import ParamSpec  # TensorFlow needs it, too

P = ParamSpec("P")
R = TypeVar("R")

# Ops that steer or border a graph, and outputs that cost no work, are no failure to compile.
_NO_FAILURE = frozenset({"CHEAP_OUTPUT", "HOST_BOUNDARY", "FETCHED"})


# A virtual machine's second processor was seen to run at half its speed for up to 0.16 s after a rest.
_STEADYING_SECONDS = 0.2


def _tensorflow() -> Any:
    # Its import takes seconds, and it has no type stubs.
    return importlib.import_module("tensorflow")


class NotCompiledError(RuntimeError):
    """An op of a function with ``must_compile=True`` cannot be compiled.

    ``left_out`` names every such op, the first of them in the message; those that would be compiled beside other ops
    come last.
    """

    def __init__(self, function: str, left_out: Sequence[LeftOut]) -> None:
        self.left_out = tuple(left_out)
        first = self.left_out[0]
        more = f", and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        super().__init__(f"{function}: {first.op} '{first.node}' cannot be compiled: {first.reason}{more}")


@contextlib.contextmanager
def scope(name: str) -> Iterator[None]:
    """Ops made inside are compiled, together, whatever the session says and however little they do.

    For code that builds graphs (inside ``tf.function``, Keras layers, ``tf.Graph``); eager ops run as ever.
    Ops of scopes with a different ``name`` never share a cluster. ``TEKTITE=0`` and a ``tf.xla`` annotation
    ``compile_ops=False`` inside win over it.
    """
    tf = _tensorflow()
    if tf.executing_eagerly():
        yield
        return
    attributes = {"_XlaCompile": tf.compat.v1.AttrValue(b=True), "_XlaScope": tf.compat.v1.AttrValue(s=name.encode())}
    with tf.compat.v1.get_default_graph()._attr_scope(attributes):
        yield


class Jit(Generic[P, R]):
    """The result of ``tektite.jit``: a ``tf.function`` whose ops are all annotated."""

    def __init__(self, function: Callable[P, R], must_compile: bool, options: dict[str, Any]) -> None:
        self._name = getattr(function, "__name__", "function")
        self._must_compile = must_compile
        self._refusal = threading.local()
        functools.update_wrapper(self, function)
        tf = _tensorflow()
        check = tf.autograph.experimental.do_not_convert(self._check)

        def traced(*args: P.args, **kwargs: P.kwargs) -> R:
            with scope(self._name):
                result = function(*args, **kwargs)
            check()
            return result

        traced.__name__ = self._name
        self.function = tf.function(traced, **options)

    def _check(self) -> None:
        """Runs at the end of tracing, so that nothing of the function has been run yet."""
        tf = _tensorflow()
        if not self._must_compile or tf.executing_eagerly():
            return
        graph = tf.compat.v1.get_default_graph().as_graph_def()
        left_out = [op for op in explain_graph(graph.SerializeToString()).left_out if op.reason not in _NO_FAILURE]
        left_out.sort(key=lambda op: op.reason == "TOO_SMALL")
        if left_out:
            self._refusal.error = NotCompiledError(self._name, left_out)
            raise self._refusal.error

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        self._refusal.error = None
        try:
            result: R = self.function(*args, **kwargs)
            return result
        except Exception:
            # TensorFlow has made another error of it, with AutoGraph's notes.
            if self._refusal.error is None:
                raise
            raise self._refusal.error from None


def jit(function: Callable[P, R], *, must_compile: bool = False, **options: Any) -> Jit[P, R]:
    """A ``tf.function`` that Tektite compiles, whatever ``TEKTITE`` says (but for 0) and however small it is.

    With ``must_compile`` a call that traces the function raises ``NotCompiledError`` where an op cannot be
    compiled, before anything has run. ``stats()["fallbacks"]`` counts refusals that only the shapes of a call decide.
    ``options`` are those of ``tf.function``, which is the attribute ``function`` of the result.
    """
    return Jit(function, must_compile, options)


def _needed(graph: Any) -> set[str]:
    """The ops that a call of a traced function runs: tracing leaves more behind, such as a cell that Keras calls
    to see the shape of its output."""
    waiting = [t.op for t in (*graph.outputs, *graph.inputs)] + list(graph.control_outputs)
    needed: set[str] = set()
    while waiting:
        op = waiting.pop()
        if op.name not in needed:
            needed.add(op.name)
            waiting += [t.op for t in op.inputs] + list(op.control_inputs)
    return needed


def explain(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """The report on what would be compiled of ``function`` for these arguments, or ``tf.TensorSpec`` in their place.

    A function that has been traced, such as ``model.train_function`` after a step, needs no arguments: the report is
    on its latest trace. So is that on a plain function around traced ones, as Keras has it.

    The graph is the one that is traced, less what its results and effects do not need, before TensorFlow
    optimises it, and TensorFlow's choice of what is annotated or switched on plays no part. A function with
    ``jit_compile=True`` counts as one op, a call that is compiled or XLA's as a whole.
    """
    tf = _tensorflow()
    if isinstance(function, Jit):
        function = function.function
    if not hasattr(function, "get_concrete_function"):
        inner = None if args or kwargs else _traced_inside(function)
        function = tf.function(function) if inner is None else inner
    concrete = _traced(function, args, kwargs)
    called = concrete._inference_function
    if _xla_calls.has_mark(called):
        return explain_graph(_xla_calls.graph_of_call(called, type(called).call_flat).as_graph_def().SerializeToString())
    graph = concrete.graph.as_graph_def()
    needed = _needed(concrete.graph)
    kept = [node for node in graph.node if node.name in needed]
    del graph.node[:]
    graph.node.extend(kept)
    return explain_graph(graph.SerializeToString(), UserLines(concrete.graph).of)


def _traces(function: Any) -> list[Any]:
    """The concrete functions of a ``tf.function``, the latest last."""
    return list(getattr(function, "_list_all_concrete_functions", list)())


def _traced_inside(function: Any) -> Any:
    """The outermost ``tf.function`` with a trace that a plain function calls: one that it wraps or closes over."""
    waiting, seen = [function], set()
    while waiting:
        found = waiting.pop(0)
        if id(found) in seen:
            continue
        seen.add(id(found))
        if hasattr(found, "get_concrete_function"):
            if _traces(found):
                return found
        elif isinstance(found, types.FunctionType):
            for cell in found.__closure__ or ():
                with contextlib.suppress(ValueError):  # an empty cell
                    waiting.append(cell.cell_contents)
        if hasattr(found, "__wrapped__"):
            waiting.append(found.__wrapped__)
    return None


def _traced(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The concrete function for these arguments; without any, the latest one that there is."""
    known = [] if args or kwargs else _traces(function)
    return known[-1] if known else function.get_concrete_function(*args, **kwargs)


def wait_until_compiled() -> None:
    """Waits until nothing is being compiled in this process, or about to be."""
    hook = open_hook()
    if hook is not None:
        hook.tektite_hook_wait_until_compiled()


def _argument(tf: Any, wanted: Any, dtype: Any) -> Any:
    """A tensor of zeros for a shape, a ``tf.TensorSpec``, or the tensor that is given."""
    if isinstance(wanted, tf.TensorSpec):
        return tf.zeros(wanted.shape, wanted.dtype)
    if tf.is_tensor(wanted) or hasattr(wanted, "__array__"):
        return wanted
    return tf.zeros(wanted, dtype)


def warmup(function: Any, shapes: Iterable[Any], *, dtype: Any = "float32") -> None:
    """Runs ``function`` for each of ``shapes`` and waits until the code for it is there.

    An entry of ``shapes`` is what one call gets: a shape such as ``(8, 224, 224, 3)``, a ``tf.TensorSpec``,
    a tensor, or a list of these, one for each argument. Shapes become zeros of type ``dtype``. A Keras
    model's ``predict`` is warmed up, anything else is called: three times, and then for 0.2 seconds. Afterwards
    the first request of one of these shapes finds its code, weights that are packed, calls that have mostly been
    compared with TensorFlow's kernels, and processors that have come up from their rest.
    """
    tf = _tensorflow()
    is_model = hasattr(function, "predict")
    for entry in shapes:
        wanted = entry if isinstance(entry, list) else [entry]
        arguments = [_argument(tf, one, dtype) for one in wanted]
        if is_model:
            rows = max(int(arguments[0].shape[0]), 1)
            inputs = arguments if len(arguments) > 1 else arguments[0]
            call = functools.partial(function.predict, inputs, batch_size=rows, verbose=0)
        else:
            call = functools.partial(function, *arguments)
        for _ in range(3):  # before there is code, with it, which packs weights, and with those
            call()
            wait_until_compiled()
        end = time.monotonic() + _STEADYING_SECONDS
        while time.monotonic() < end:
            call()
