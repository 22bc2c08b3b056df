"""Calls that Python makes of functions with ``jit_compile=True``.

Why: the graph pass takes such a function into a cluster where a graph calls it, but no graph calls a function that
Python calls: TensorFlow hands it to XLA whole. So where Tektite would compile it, the call is made through a
function that does nothing else::

    inner(x)                       XLA
    wrapper(x): return inner(x)    a graph with a call, which becomes a cluster; XLA is what it falls back on

What stands before is TensorFlow's ``AtomicFunction.call_flat``, which every call of a traced function goes through,
gradients' forward and backward functions too. A function of which explain says that it would not be compiled is
called as before: one that draws random numbers. So is one whose cluster has given way, since it cannot be compiled for
the shapes that come, or fails in every call: its calls are XLA's again, without the detour.

Limits: where the arguments have other types than before, it is TensorFlow that finds the trace (_direct.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tektite._explain import explain_or_none
from tektite._hook import open_hook
from tektite._private_state import part

_KEY = "_tektite_wrapper"  # in an AtomicFunction's dictionary: its wrapper, or None
_CALLS = "_tektite_calls"  # how many it has had through its wrapper
_CALLS_PER_QUESTION = 16  # whether it has given way, which takes a microsecond
_MARK = "_XlaMustCompile"
# What is left out of clusters without any harm.
NO_FAILURE = frozenset({"CHEAP_OUTPUT", "HOST_BOUNDARY", "FETCHED"})


def has_mark(atomic: Any) -> bool:
    """Whether a call of it is XLA's as a whole."""
    attributes = atomic.cached_definition.attr
    return _MARK in attributes and bool(attributes[_MARK].b)


def graph_of_call(atomic: Any, call: Callable[..., Any]) -> Any:
    """A FuncGraph that holds ``call(atomic, ...)`` and no more."""
    placeholder = part("eager.graph_only_ops").graph_placeholder
    copy_handle_data = part("ops.handle_data_util").copy_handle_data
    graph = part("framework.func_graph").FuncGraph("tektite_" + atomic.name.decode())
    with graph.as_default():
        inputs = []
        for inside in atomic.graph.inputs:
            inputs.append(placeholder(inside.dtype, inside.shape))
            copy_handle_data(inside, inputs[-1])
        graph.outputs = list(call(atomic, *inputs))
    graph.inputs = inputs
    return graph


def _make_wrapper(atomic: Any, call: Callable[..., Any]) -> Any:
    """A function that calls ``atomic``; None where Tektite would not compile the call."""
    graph = graph_of_call(atomic, call)
    said = explain_or_none(graph.as_graph_def().SerializeToString())
    if said is None or not graph.outputs or not said.clustered or any(op.reason not in NO_FAILURE for op in said.left_out):
        return None
    return part("eager.polymorphic_function.atomic_function").from_func_graph(
        graph.name, graph, {}, atomic.function_type)


def wrap(atomic: Any, wrapper: Any) -> None:
    """Lets ``wrapper`` run where Python calls ``atomic``, until its cluster has given way; None: ``atomic`` itself."""
    atomic.__dict__[_KEY] = wrapper


def called_by(atomic: Any) -> Any:
    """The function that runs where ``atomic`` is called: its wrapper, where it has one."""
    return atomic.__dict__.get(_KEY) or atomic


def install() -> None:
    """Wraps TensorFlow's calls; does nothing the second time, or without the hook."""
    atomic_function = part("eager.polymorphic_function.atomic_function").AtomicFunction
    hook = open_hook()
    if hook is None or hasattr(atomic_function.call_flat, _KEY):
        return
    ordinary: Callable[..., Any] = atomic_function.call_flat

    @functools.wraps(ordinary)
    def call_flat(self: Any, *args: Any) -> Any:
        if not self._bound_context.executing_eagerly():
            return ordinary(self, *args)
        memo = self.__dict__
        if _KEY not in memo:
            memo[_KEY] = None  # also while it is being made
            if has_mark(self):
                memo[_KEY] = _make_wrapper(self, ordinary)
        wrapper = memo[_KEY]
        if wrapper is None:
            return ordinary(self, *args)
        memo[_CALLS] = calls = memo.get(_CALLS, 0) + 1
        if calls % _CALLS_PER_QUESTION == 0 and hook.tektite_hook_has_given_way(wrapper.name):
            memo[_KEY] = None
        return ordinary(wrapper, *args)

    setattr(call_flat, _KEY, True)
    atomic_function.call_flat = call_flat
