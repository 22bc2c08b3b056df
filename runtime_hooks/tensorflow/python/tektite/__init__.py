"""Tektite: a compiler that plugs into the stock TensorFlow wheel.

Nothing needs to be imported to use it: set ``TEKTITE=1`` and run your program. This package only tells
what happened::

    import tensorflow as tf
    import tektite

    ...
    if tektite.is_active():
        print(tektite.stats()["clustered_ops"])

It never opens the plugin itself and works before, after and without ``import tensorflow``.
"""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path
from typing import Any

__all__ = ["__version__", "is_active", "stats"]

__version__ = "0.1.0"

_LIBRARY_FOLDER = Path(__file__).parent / "lib"


def _open_hook() -> ctypes.CDLL | None:
    """The hook that ``import tensorflow`` loaded into this process, or None."""
    for path in sorted(_LIBRARY_FOLDER.glob("libtektite_tf-*.so")):
        try:
            # RTLD_NOLOAD: a handle to what is there already, never a new load.
            return ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_NOLOAD)
        except OSError:
            continue
    return None


def is_active() -> bool:
    """Whether the hook is loaded, so that a switch or an annotation has an effect.

    False with ``TEKTITE=0``, before ``import tensorflow``, and where no hook fits the TensorFlow at hand.
    """
    return _open_hook() is not None


def stats() -> dict[str, Any]:
    """Counters and reasons of this process so far.

    The compiler's own entries (``clusters``, ``compiles``, ``compile_seconds``, ``runs``, ``fallbacks``,
    ``ops``, ``clustered_ops``, ``left_out``, ...) are missing until the first graph needed the compiler.
    ``host`` holds the hook's: ``graphs`` seen, ``clusters_placed``, ``ops_placed``, ``runs``, ``holds`` and
    ``releases`` of variables, ``not_placed`` and ``fallbacks`` by reason. Empty when not active.
    """
    hook = _open_hook()
    if hook is None:
        return {}
    hook.tektite_hook_stats_json.restype = ctypes.c_void_p
    hook.tektite_hook_stats_json.argtypes = []
    address = hook.tektite_hook_stats_json()
    if not address:
        return {}
    try:
        return json.loads(ctypes.string_at(address).decode("utf-8", "replace"))
    finally:
        libc = ctypes.CDLL(None)
        libc.free.argtypes = [ctypes.c_void_p]
        libc.free(address)
