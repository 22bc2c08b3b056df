"""The compiler's report on a graph: the C interface of libtektite.so, without TensorFlow."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import json
import os
from typing import Any

from tektite._hook import LIBRARY_FOLDER

_TEXT, _JSON = 0, 1  # tektite_format


class _Status(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char * 508)]


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("flags", ctypes.c_char_p), ("backend", ctypes.c_char_p)]


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """An op that would not be compiled, and the code of the reason (``clustering/reason_list.inc``)."""

    node: str
    op: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Ops that would be compiled together."""

    name: str
    ops: int


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The clusters that would be compiled of a graph. ``str()`` is the report that ``tektite explain`` prints."""

    ops: int
    clustered: int
    clusters: tuple[Cluster, ...]
    left_out: tuple[LeftOut, ...]
    text: str = dataclasses.field(repr=False)

    def __str__(self) -> str:
        return self.text


class _Compiler:
    """A compiler of its own, for questions; it never compiles anything."""

    def __init__(self) -> None:
        path = os.environ.get("TEKTITE_LIBRARY") or str(LIBRARY_FOLDER / "libtektite.so")
        self._library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
        self._library.tektite_compiler_create.restype = ctypes.c_void_p
        self._library.tektite_explain.restype = ctypes.c_void_p
        self._library.tektite_explain.argtypes = [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int32, ctypes.POINTER(_Status)]
        self._library.tektite_string_free.argtypes = [ctypes.c_void_p]
        flags = f"--compile=off {os.environ.get('TEKTITE_FLAGS', '')}".encode()
        options = _Options(ctypes.sizeof(_Options), flags, None)
        status = _Status()
        self._compiler = ctypes.c_void_p(
            self._library.tektite_compiler_create(ctypes.byref(options), ctypes.byref(status)))
        if not self._compiler:
            raise RuntimeError(f"tektite: {status.message.decode()}")

    def explain(self, graph: bytes, form: int) -> str:
        status = _Status()
        address = self._library.tektite_explain(self._compiler, graph, len(graph), form, ctypes.byref(status))
        if not address:
            raise ValueError(f"tektite: {status.message.decode()}")
        try:
            return ctypes.string_at(address).decode("utf-8", "replace")
        finally:
            self._library.tektite_string_free(address)


@functools.lru_cache(maxsize=1)
def _compiler() -> _Compiler:
    return _Compiler()


def explain_graph(graph: bytes) -> Explanation:
    """``graph`` is a serialized GraphDef with its functions."""
    answer: dict[str, Any] = json.loads(_compiler().explain(graph, _JSON))
    return Explanation(
        ops=answer["ops"],
        clustered=answer["clustered"],
        clusters=tuple(Cluster(c["name"], c["ops"]) for c in answer["clusters"]),
        left_out=tuple(LeftOut(n["node"], n["op"], n["reason"]) for n in answer["left_out"]),
        text=_compiler().explain(graph, _TEXT))
