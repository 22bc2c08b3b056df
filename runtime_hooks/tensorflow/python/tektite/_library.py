"""The compiler's library, libtektite.so, as Python calls it (runtime_hooks/c_api/tektite.h).

    library = open_library()
    library.tektite_stats_read.restype = ctypes.c_void_p                       # a text of the library's
    status = Status()
    text = take_text(library, library.tektite_stats_read(flags, None, 1, ctypes.byref(status)), status)

It needs no hook and no TensorFlow.
"""

from __future__ import annotations

import ctypes
import os

from tektite._hook import LIBRARY_FOLDER


class Status(ctypes.Structure):
    """tektite_status."""

    _fields_ = [("code", ctypes.c_int32), ("fallback", ctypes.c_int32), ("message", ctypes.c_char * 504)]


def open_library() -> ctypes.CDLL:
    """The library that TEKTITE_LIBRARY names, or the installed one; ``OSError`` where there is none."""
    path = os.environ.get("TEKTITE_LIBRARY") or str(LIBRARY_FOLDER / "libtektite.so")
    library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
    library.tektite_string_free.argtypes = [ctypes.c_void_p]
    return library


def take_text(library: ctypes.CDLL, address: int | None, status: Status) -> str:
    """The text at an address that the library has returned, which goes; ``ValueError`` with the message where there is none."""
    if not address:
        raise ValueError(f"tektite: {status.message.decode('utf-8', 'replace')}")
    try:
        return ctypes.string_at(address).decode("utf-8", "replace")
    finally:
        library.tektite_string_free(address)
