"""Calls of ``tf.function`` that go past TensorFlow's function runtime.

Why: a call of the smallest function takes TensorFlow 60 to 120 us, and one that captures 262 variables
more than 1 ms, before and after the only kernel runs that is left of it when it was compiled as one cluster.
So a function that is one cluster is called by itself: a *binding* holds what the function captures, and the
extension module ``_fast_calls`` runs it. Where that is not built for this Python, calls are TensorFlow's.

Two places of TensorFlow's are wrapped, each asking for less than the one below it::

    tf.function ── Function.__call__ ── which ConcreteFunction is it?    remembered by the arguments' types;
                                                                         of a signature's, whatever their sizes
                     ConcreteFunction._call_flat ── arguments, captures  remembered by the binding
                        StatefulPartitionedCall ── graph ── cluster

A route avoids the rest of Python in a call: where the arguments are tensors, a direct call that went well leaves a
*route*, and calls like it are made by fast_calls/module.cc, which stands before ``call``.

Every way out leads to what stood there before: a call that is not plain (a tape, a device scope, a strategy,
a profiler, a callback, ...), a type of argument not seen before, a new trace, other captures, and whatever
the hook declines (direct_calls.h). Results are those of the same compiled code.

Limits: arguments are tensors, numbers, strings, None, lists, tuples and dicts of these, and NumPy arrays where
there is no ``input_signature``, which may convert them.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tektite import _hook, _private_state, _report, _signatures, _small_calls, _xla_calls
from tektite._hook import ROUTES, DirectCalls, import_fast_calls, open_hook, stop_background_before_exit
from tektite._private_state import part

# In a ConcreteFunction's and a Function's dictionary.
_KEY = "_tektite_direct"
_MOST_COUNTED = 16  # calls that TensorFlow's count of calls without tracing remembers, and some more
_CALLS_BEFORE_BINDING = 3
_MOST_BINDINGS = 4
# Calls to be made in the ordinary way after one that was declined (25 us), a binding that failed (0.2 ms where much
# is captured), a Function's call that taught nothing (5 us): 1 at first, then about twice as many each time, up to
_MOST_DECLINED, _MOST_UNBOUND, _MOST_UNLEARNED = 15, 127, 63
_PAUSE_OF_OFTEN_CALLED = 31  # of a function that is no cluster: after 33 calls
_MOST_ENTRIES = 256  # types of arguments of one Function
_RESOURCE, _VARIANT = 20, 21  # of DataType
# A file name that TensorFlow takes for its own, see _leave_out_of_messages.
_FRAMES = f"{__file__} (of tensorflow/python)"
_LITERALS = (bool, int, float, str, type(None))

_fast_calls = import_fast_calls()


class _Learning(threading.local):
    """Records the calls of the ordinary path below a Function's call, while a caller has asked for it."""

    calls: list[tuple[Any, list[Any]]] | None = None


class _TensorFlow:
    """The parts of TensorFlow that a call needs, looked up once."""

    def __init__(self) -> None:
        # This module is imported before TensorFlow's import has come to its end.
        cancellation, context, ops = map(part, ("eager.cancellation", "eager.context", "framework.ops"))
        functions = "eager.polymorphic_function."
        self.default_graph = ops.get_default_graph
        self.is_saving = part("saved_model.save_context").in_save_context
        self.run_eagerly = part(functions + "eager_function_run")
        self.convert = part("framework.tensor_conversion_registry").convert
        self.eager_tensor = ops.EagerTensor
        self.concrete_function = part(functions + "concrete_function").ConcreteFunction
        self.function = part(functions + "polymorphic_function").Function
        self.detector = part(functions + "polymorphic_function")._frequent_tracing_detector_manager
        # Of the eager context in which a call means no more than running a function on this machine: its handle.
        self.plain_handle = _fast_calls.plain_handle
        _fast_calls.watch(vars(context), vars(cancellation), vars(self.run_eagerly), ops._default_graph_stack,
                          part("saved_model.save_context")._save_context)

    def plain_graph(self) -> Any:
        """The default graph, or None where more than the arguments decides which trace is called
        (function_context.py); to be asked where calls are plain."""
        graph = self.default_graph()
        return None if graph._distribution_strategy_stack or self.is_saving() else graph


class _Plan(NamedTuple):
    """How the hook runs a ConcreteFunction. Threads take it from a binding as a whole."""

    id: int
    captures: tuple[Any, ...]
    num_outputs: int
    order: tuple[int, ...] | None  # of the results among the outputs; None: as they come

    def has_captures(self, captures: list[Any]) -> bool:
        return _are_same(captures, self.captures)


class _Binding:
    """The hook's answer about a ConcreteFunction, and the record of its calls."""

    __slots__ = ("early", "is_hopeless", "pause", "plan", "skip", "times")

    def __init__(self) -> None:
        self.plan: _Plan | None = None  # None: not bound
        self.early = _CALLS_BEFORE_BINDING  # calls before the first question which cluster it is
        self.skip = self.pause = 0  # calls to be made in the ordinary way: now, and the last time
        self.times = 0
        self.is_hopeless = False

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Binding, ())  # copies learn for themselves

    def _pause(self, most: int) -> None:
        self.skip = self.pause = min(2 * self.pause + 1, most)

    def bind(self, tf: _TensorFlow, handle: Any, concrete: Any, arguments: list[Any]) -> None:
        """Asks which cluster ``concrete`` is. Where it is none (yet), after a pause again."""
        self.early = 0
        self._pause(_MOST_UNBOUND)
        captures = tuple(concrete._captured_inputs)
        tensors = [*arguments, *captures]
        if any(type(tensor) is not tf.eager_tensor for tensor in tensors):
            return
        function = _xla_calls.called_by(concrete._inference_function)
        answer = _fast_calls.bind(handle, function.name, len(arguments), tensors)
        if answer[0] == 0 and self.pause == _PAUSE_OF_OFTEN_CALLED and _small_calls.wrap(concrete._inference_function):
            self.early, self.skip, self.pause = _CALLS_BEFORE_BINDING, 0, 0
        order = answer[1:]
        outputs = function.function_type.flat_outputs
        if answer[0] == 0 or len(order) != len(outputs):
            return
        self.times += 1
        if self.times > _MOST_BINDINGS:  # several functions take it from each other
            self.is_hopeless = True
            return
        self.plan = _Plan(answer[0], captures, len(order), None if order == tuple(range(len(order))) else order)
        self.skip = self.pause = 0

    def run(self, handle: Any, plan: _Plan, arguments: list[Any]) -> list[Any] | None:
        """The function's flat results; None where the call has to be made in the ordinary way."""
        results: list[Any] | int = _fast_calls.call(handle, plan.id, plan.num_outputs, arguments)
        if isinstance(results, int):  # why not: the number of a reason
            if results == _fast_calls.NO_BINDING and self.plan is plan:
                self.plan = None
            self._pause(_MOST_DECLINED)
            return None
        self.pause = 0
        return results if plan.order is None else [results[output] for output in plan.order]


class _Entry:
    """The ConcreteFunction that a call of a Function with arguments of certain types reaches."""

    __slots__ = ("binding", "concrete", "graph", "is_single", "order", "shapes", "traces")

    def __init__(self, concrete: Any, binding: _Binding, order: list[int], graph: Any, traces: int,
                 is_single: bool, shapes: list[tuple[int | None, ...]] | None) -> None:
        self.concrete = concrete
        self.binding = binding
        self.order = order  # of the flat arguments among the leaves
        self.graph = graph
        self.traces = traces
        self.is_single = is_single  # the result is one tensor
        self.shapes = shapes  # those of the leaves that a signature asks for; None: one has to be as it was


class _Memo:
    """The memory of a Function's calls."""

    __slots__ = ("entries", "of_any_size", "pause", "skip")

    def __init__(self) -> None:
        self.entries: dict[Any, _Entry] = {}
        self.of_any_size: dict[Any, _Entry] = {}  # those with shapes, by dtypes and ranks
        self.skip = self.pause = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Memo, ())

    def forget(self, key: Any) -> None:
        self.entries.pop(key, None)  # another thread may have done it
        self.of_any_size.clear()  # it is as old

    def not_learned(self) -> None:
        self.skip = self.pause = min(2 * self.pause + 1, _MOST_UNLEARNED)


def _describe(eager_tensor: type, arguments: Any, leaves: list[Any], any_size: bool = False) -> tuple[Any, ...] | None:
    """A key of what the choice of a trace depends on; None where that is not known. Adds the tensors."""
    parts: list[Any] = []
    for argument in arguments:
        kind = type(argument)
        if kind is eager_tensor:
            dtype = argument._datatype_enum()
            if dtype in (_RESOURCE, _VARIANT):
                return None
            leaves.append(argument)
            parts += (dtype, argument._rank() if any_size else argument._shape_tuple())
        elif kind in _LITERALS:
            parts += (kind, argument)
        elif kind is list or kind is tuple:
            inner = _describe(eager_tensor, argument, leaves, any_size)
            if inner is None:
                return None
            parts += (kind, inner)
        elif kind is dict:
            inner = _describe(eager_tensor, argument.values(), leaves, any_size)
            if inner is None:
                return None
            parts += (kind, tuple(argument), inner)
        else:
            return None
    return tuple(parts)


def _is_shape(shape: tuple[int, ...], pattern: tuple[int | None, ...]) -> bool:
    return len(shape) == len(pattern) and all(p is None or p == s for s, p in zip(shape, pattern))


def _shapes_of_leaves(function_type: Any, order: list[int], num_leaves: int) -> list[tuple[int | None, ...]] | None:
    """The shapes that a signature asks of the leaves; None where it says nothing of one, or has no ranks."""
    if len(order) != num_leaves or len(function_type.flat_inputs) != num_leaves:
        return None
    shapes: list[tuple[int | None, ...]] = [()] * num_leaves
    for place, spec in zip(order, function_type.flat_inputs):
        if spec.shape.rank is None:
            return None
        shapes[place] = tuple(spec.shape)
    return shapes


def _entry_of_any_size(memo: _Memo, eager_tensor: type, arguments: Any) -> _Entry | None:
    leaves: list[Any] = []
    entry = memo.of_any_size.get(_describe(eager_tensor, arguments, leaves, any_size=True))
    if entry is None or not all(map(_is_shape, [x._shape_tuple() for x in leaves], entry.shapes or ())):
        return None
    return entry


def _as_tensor(tf: _TensorFlow, argument: Any) -> Any:
    return tf.convert(argument) if type(argument) is np.ndarray and argument.dtype.kind in "biuf" else argument


def _are_same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _order_of(flat: list[Any], leaves: list[Any], are_tensors: bool) -> list[int] | None:
    """Where ``leaves``, the arguments themselves where ``are_tensors``, hold what ``flat`` does; None where that is
    not clear."""
    if are_tensors and _are_same(flat, leaves):
        return list(range(len(flat)))
    places = {id(leaf): place for place, leaf in enumerate(leaves)}
    if len(places) != len(leaves):
        return None  # one tensor twice in a structure: which of the two went where?
    order = [places.get(id(tensor), -1) for tensor in flat]
    return None if -1 in order else order


def _has_call_time_captures(function: Any) -> bool:
    for config in (function._variable_creation_config, function._no_variable_creation_config):
        if config is not None and config.function_captures is not None and config.function_captures.by_ref_internal:
            return True
    return False


def _wrap_call_flat(tf: _TensorFlow, learning: _Learning) -> None:
    ordinary: Callable[..., Any] = tf.concrete_function._call_flat

    @functools.wraps(ordinary)
    def call_flat(self: Any, tensor_inputs: list[Any], captured_inputs: list[Any]) -> Any:
        binding: _Binding | None = self.__dict__.get(_KEY)
        if binding is None:
            binding = self.__dict__[_KEY] = _Binding()
        if learning.calls is not None:
            learning.calls.append((self, tensor_inputs))
        if binding.skip > 0:
            binding.skip -= 1
        elif binding.early > 0:
            binding.early -= 1
            result = ordinary(self, tensor_inputs, captured_inputs)
            # An earlier process may have found out that compiled code is faster.
            if _fast_calls.has_won(_xla_calls.called_by(self._inference_function).name) and (
                    handle := tf.plain_handle()) is not None:
                binding.bind(tf, handle, self, tensor_inputs)
            return result
        elif not binding.is_hopeless and (handle := tf.plain_handle()) is not None:
            plan = binding.plan
            if plan is None:
                result = ordinary(self, tensor_inputs, captured_inputs)
                binding.bind(tf, handle, self, tensor_inputs)
                return result
            if not plan.has_captures(captured_inputs):
                binding.plan = None
            elif (results := binding.run(handle, plan, tensor_inputs)) is not None:
                return self.function_type.pack_output(results)
        return ordinary(self, tensor_inputs, captured_inputs)

    _leave_out_of_messages(call_flat)
    tf.concrete_function._call_flat = call_flat


def _add_route(tf: _TensorFlow, function: Any, entry: _Entry, plan: _Plan, leaves: list[Any]) -> None:
    """Lets module.cc make calls like this one: a direct call with tensors alone."""
    routes = function.__dict__.get(ROUTES)
    if routes is None:
        routes = function.__dict__[ROUTES] = _fast_calls.Routes()
    shapes = entry.shapes or [leaf._shape_tuple() for leaf in leaves]
    patterns = tuple((leaf._datatype_enum(), tuple(-1 if size is None else size for size in shape))
                     for leaf, shape in zip(leaves, shapes))
    routes.add(plan.id, patterns, tuple(entry.order), plan.num_outputs,
               plan.order or tuple(range(plan.num_outputs)), entry.concrete, plan.captures,
               function._function_cache._primary, entry.graph, entry.graph._thread_local,
               None if entry.is_single else entry.concrete.function_type.pack_output)


def _wrap_call(tf: _TensorFlow, learning: _Learning) -> None:
    ordinary: Callable[..., Any] = tf.function.__call__

    def learn(self: Any, memo: _Memo, key: Any, leaves: list[Any], are_tensors: bool, args: Any, kwds: Any) -> Any:
        before, learning.calls = learning.calls, []
        try:
            result = ordinary(self, *args, **kwds)
            calls = learning.calls
        finally:
            learning.calls = before
        graph = None if tf.plain_handle() is None else tf.plain_graph()
        if len(calls) != 1 or graph is None or _has_call_time_captures(self):
            memo.not_learned()
            return result
        concrete, flat = calls[0]
        order = _order_of(flat, leaves, are_tensors)
        binding: _Binding = concrete.__dict__[_KEY]
        if binding.early > 0:
            memo.skip = binding.early  # it is to be bound then
            return result
        if order is None or binding.plan is None or len(memo.entries) >= _MOST_ENTRIES:
            memo.not_learned()
            return result
        has_signature = self.input_signature is not None
        shapes = _shapes_of_leaves(concrete.function_type, order, len(leaves)) if has_signature else None
        entry = _Entry(concrete, binding, order, graph, self.experimental_get_tracing_count(),
                       type(result) is tf.eager_tensor, shapes)
        memo.entries[key] = entry
        if shapes is not None:
            memo.of_any_size[_describe(tf.eager_tensor, (args, kwds), [], any_size=True)] = entry
        if are_tensors and (plan := binding.plan) is not None:
            _add_route(tf, self, entry, plan, leaves)
        return result

    @functools.wraps(ordinary)
    def call(self: Any, *args: Any, **kwds: Any) -> Any:
        memo: _Memo | None = self.__dict__.get(_KEY)
        if memo is None:
            memo = self.__dict__[_KEY] = _Memo()
        elif (routes := self.__dict__.get(ROUTES)) is not None:
            for _ in range(min(routes.take_calls(), _MOST_COUNTED)):
                tf.detector.called_without_tracing(self._key_for_call_stats)
        if memo.skip > 0:
            memo.skip -= 1
            return ordinary(self, *args, **kwds)
        if self._jit_compile or tf.run_eagerly.RUN_FUNCTIONS_EAGERLY:
            memo.not_learned()
            return ordinary(self, *args, **kwds)
        leaves: list[Any] = []
        key = _describe(tf.eager_tensor, (args, kwds), leaves)
        are_tensors = key is not None and not kwds and _are_same(leaves, args)
        if key is None and self.input_signature is None:
            args = tuple(_as_tensor(tf, argument) for argument in args)
            kwds = {name: _as_tensor(tf, argument) for name, argument in kwds.items()}
            leaves.clear()
            key = _describe(tf.eager_tensor, (args, kwds), leaves)
        if key is None:
            memo.not_learned()
            return ordinary(self, *args, **kwds)
        entry = memo.entries.get(key)
        if entry is None and memo.of_any_size:
            entry = _entry_of_any_size(memo, tf.eager_tensor, (args, kwds))
            if entry is not None and len(memo.entries) < _MOST_ENTRIES:
                memo.entries[key] = entry
        if entry is None:
            return learn(self, memo, key, leaves, are_tensors, args, kwds)
        binding, plan = entry.binding, entry.binding.plan
        if entry.traces != self.experimental_get_tracing_count() or (
                plan is not None and not plan.has_captures(entry.concrete._captured_inputs)):
            memo.forget(key)
        elif (plan is not None and binding.skip == 0 and (handle := tf.plain_handle()) is not None
              and tf.plain_graph() is entry.graph):
            results = binding.run(handle, plan, [leaves[place] for place in entry.order])
            if results is not None:
                tf.detector.called_without_tracing(self._key_for_call_stats)
                if are_tensors:
                    _add_route(tf, self, entry, plan, leaves)
                return results[0] if entry.is_single else entry.concrete.function_type.pack_output(results)
        return ordinary(self, *args, **kwds)

    _leave_out_of_messages(learn)
    _leave_out_of_messages(call)
    tf.function.__call__ = _as_function(_fast_calls.Dispatcher(call), ordinary)


def past(timed: Any) -> Any:
    """``timed``, a method that takes the place of Function.__call__, with a way past it for calls that are spared."""
    return timed if _fast_calls is None else _as_function(_fast_calls.Dispatcher(timed, True), timed)


def _as_function(behind: Any, ordinary: Any) -> Any:
    """A function of Python's whose calls are ``behind``'s: what programs do with the method ``ordinary``, referring to
    it weakly, asking for its code or its signature, wrapping it, is done to this one as well."""

    @functools.wraps(ordinary)
    def stands_in(*args: Any, **kwds: Any) -> Any:
        return behind(*args, **kwds)

    _leave_out_of_messages(stands_in)
    _fast_calls.stand_behind(stands_in, behind)
    return stands_in


def _leave_out_of_messages(function: Any) -> None:
    """Frames of this file say as little to a user as TensorFlow's own, which its errors leave out: it knows them
    by a part of the file's name."""
    function.__code__ = function.__code__.replace(co_filename=_FRAMES)


def _wrap_determinism() -> None:
    """Lets the hook know when TensorFlow's switch for deterministic ops is turned: direct calls do not ask."""
    hook = open_hook()
    switch = part("util._pywrap_determinism")
    if hook is None:
        return
    ordinary: Callable[..., Any] = switch.enable

    @functools.wraps(ordinary)
    def enable(*args: Any, **kwds: Any) -> Any:
        result = ordinary(*args, **kwds)
        hook.tektite_hook_note_determinism()
        return result

    switch.enable = enable


def install() -> None:
    """What happens when TensorFlow has been imported with ``TEKTITE=1``."""
    _report.install()
    _signatures.install()
    _wrap_calls()
    for then in _hook.after_install:
        then()
    _hook.after_install.clear()


def _wrap_calls() -> None:
    """Wraps TensorFlow's calls; does nothing the second time. Without ``_fast_calls`` those for XLA alone, and none where
    what they read of TensorFlow is not as it was."""
    stop_background_before_exit()
    if why_not := _private_state.missing():
        return DirectCalls.turn_off(why_not)
    _xla_calls.install()
    if _fast_calls is None:
        return
    try:
        tf = _TensorFlow()
    except (AttributeError, KeyError, TypeError) as error:
        return DirectCalls.turn_off(f"{type(error).__name__}: {error}")
    if hasattr(tf.function.__call__, _KEY):
        return
    learning = _Learning()
    traceback_utils = part("util.traceback_utils")
    traceback_utils._EXCLUDED_PATHS = (*traceback_utils._EXCLUDED_PATHS, _FRAMES)
    _wrap_call_flat(tf, learning)
    _wrap_call(tf, learning)
    _wrap_determinism()
    setattr(tf.function.__call__, _KEY, True)
