"""The lines of a user's code that made the ops of a traced function.

    lines = UserLines(concrete.graph)
    lines.of("call/while")                # "model.py:12", or "" where it is not known
    lines.of("while_body_35/print")       # of a function that a loop runs

An op's name may lead through calls, as the compiler names ops of functions that it takes apart, or begin with the name
of a function.
"""

from __future__ import annotations

import os
import sysconfig
from typing import Any

_LIBRARIES = ("/site-packages/", "/dist-packages/", sysconfig.get_path("stdlib") + "/")
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_MOST_FUNCTIONS = 1000
_RUN_FUNCTIONS = frozenset({
    "Case", "If", "PartitionedCall", "StatefulPartitionedCall", "StatelessCase", "StatelessIf", "StatelessWhile",
    "While"})


def _is_users(path: str) -> bool:
    return not path.startswith(("<", _HERE)) and not any(part in path for part in _LIBRARIES)


def _line_of(op: Any) -> str:
    """The innermost line outside of libraries; of a layer's op that is where the model is called or built."""
    frames = [(frame.filename, frame.lineno) for frame in op.traceback]
    for path, line in reversed(frames):
        if _is_users(path):
            return f"{os.path.basename(path)}:{line}"
    return ""


class UserLines:
    """``graph`` is a ``FuncGraph``; functions are those that its ops run or call."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._functions: dict[str, Any] = {}
        waiting = [graph]
        while waiting and len(self._functions) < _MOST_FUNCTIONS:
            for name, inside in _functions_of(waiting.pop()).items():
                if name not in self._functions:
                    self._functions[name] = inside
                    waiting.append(inside)

    def of(self, name: str) -> str:
        op = self._find(self._graph, name)
        first, _, rest = name.partition("/")
        if op is None and first in self._functions:
            op = self._find(self._functions[first], rest)
        return "" if op is None else _line_of(op)

    def _find(self, graph: Any, name: str) -> Any:
        """The op of that name, or the one behind the longest name of a call that it begins with."""
        try:
            return graph.get_operation_by_name(name)
        except (KeyError, ValueError):
            pass
        parts = name.split("/")
        for length in range(len(parts) - 1, 0, -1):
            try:
                call = graph.get_operation_by_name("/".join(parts[:length]))
                inside = self._functions.get(call.get_attr("f").name)
            except (KeyError, ValueError):
                continue
            return None if inside is None else self._find(inside, "/".join(parts[length:]))
        return None


def _functions_of(graph: Any) -> dict[str, Any]:
    """The graphs of the functions that a graph's ops name."""
    found: dict[str, Any] = {}
    for op in graph.get_operations():
        if op.type not in _RUN_FUNCTIONS:
            continue
        for value in op.node_def.attr.values():
            for function in (value.func, *value.list.func):
                if not function.name or function.name in found:
                    continue
                try:
                    found[function.name] = graph._get_function(function.name).graph
                except (AttributeError, KeyError, ValueError):
                    continue
    return found
