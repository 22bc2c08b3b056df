"""The compiler's report on a graph: the C interface of libtektite.so, without TensorFlow."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from tektite._library import Status, open_library, take_text

_TEXT, _JSON = 0, 1  # tektite_format
_LINES_SHOWN = 20
_NAMED = re.compile(r"'([^']+)'")


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("flags", ctypes.c_char_p), ("backend", ctypes.c_char_p)]


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """An op that would not be compiled, and the code of the reason (``clustering/reason_list.inc``).

    ``detail`` says more: of a loop the op in its body that keeps it from being compiled whole, and why. ``where`` is
    the line of user code that made that op, or this one.
    """

    node: str
    op: str
    reason: str
    detail: str = ""
    where: str = ""


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Ops that would be compiled together."""

    name: str
    ops: int


@dataclasses.dataclass(frozen=True)
class RunInParts:
    """A loop or a branch that the host steers: each turn, or the branch, calls ``clusters``, which hold ``clustered`` of
    its ``ops``."""

    node: str
    function: str
    ops: int
    clustered: int
    clusters: int


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The clusters that would be compiled of a graph. ``str()`` is the report that ``tektite explain`` prints."""

    ops: int
    clustered: int
    clusters: tuple[Cluster, ...]
    left_out: tuple[LeftOut, ...]
    text: str = dataclasses.field(repr=False)
    in_parts: tuple[RunInParts, ...] = ()

    def __str__(self) -> str:
        lines = [f"  {op.node} ({op.detail or op.reason}): {op.where}\n" for op in self.left_out if op.where]
        more = len(lines) - _LINES_SHOWN
        return self.text + ("\nMade by:\n" if lines else "") + "".join(lines[:_LINES_SHOWN]) + (
            f"  and {more} more\n" if more > 0 else "")


class _Compiler:
    """A compiler of its own, for questions; it never compiles anything."""

    def __init__(self) -> None:
        self._library = open_library()
        self._library.tektite_compiler_create.restype = ctypes.c_void_p
        self._library.tektite_explain.restype = ctypes.c_void_p
        self._library.tektite_explain.argtypes = [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int32,
            ctypes.POINTER(Status)]
        flags = f"--compile=off {os.environ.get('TEKTITE_FLAGS', '')}".encode()
        options = _Options(ctypes.sizeof(_Options), flags, None)
        status = Status()
        self._compiler = ctypes.c_void_p(
            self._library.tektite_compiler_create(ctypes.byref(options), ctypes.byref(status)))
        if not self._compiler:
            raise RuntimeError(f"tektite: {status.message.decode()}")

    def explain(self, graph: bytes, form: int) -> str:
        status = Status()
        address = self._library.tektite_explain(self._compiler, graph, len(graph), None, form, ctypes.byref(status))
        return take_text(self._library, address, status)


@functools.lru_cache(maxsize=1)
def _compiler() -> _Compiler:
    return _Compiler()


def explain_graph(graph: bytes, line_of: Callable[[str], str] | None = None) -> Explanation:
    """``graph`` is a serialized GraphDef with its functions; ``line_of`` knows the line of user code that made an op."""

    def where(left_out: dict[str, str]) -> str:
        if line_of is None:
            return ""
        named = _NAMED.search(left_out["detail"])
        return (line_of(named[1]) if named else "") or line_of(left_out["node"])

    answer: dict[str, Any] = json.loads(_compiler().explain(graph, _JSON))
    return Explanation(
        ops=answer["ops"],
        clustered=answer["clustered"],
        clusters=tuple(Cluster(c["name"], c["ops"]) for c in answer["clusters"]),
        left_out=tuple(LeftOut(n["node"], n["op"], n["reason"], n["detail"], where(n)) for n in answer["left_out"]),
        text=_compiler().explain(graph, _TEXT),
        in_parts=tuple(RunInParts(**parts) for parts in answer["in_parts"]))


@functools.cache  # a line a message
def _say(why: str) -> None:
    print(f"tektite: a function stays TensorFlow's: {why}", file=sys.stderr)


def explain_or_none(graph: bytes) -> Explanation | None:
    """``explain_graph`` inside a user's call, which must not end with an error of ours: None after a line that says why."""
    try:
        return explain_graph(graph)
    except (AttributeError, OSError, RuntimeError, ValueError) as error:  # the library's, or its answer's
        _say(str(error).removeprefix("tektite: "))
        return None
