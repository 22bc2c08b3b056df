"""The hook inside this process: what ``import tensorflow`` loaded, or nothing."""

from __future__ import annotations

import atexit
import ctypes
import json
import os
from pathlib import Path
from typing import Any

LIBRARY_FOLDER = Path(__file__).parent / "lib"


def open_hook() -> ctypes.CDLL | None:
    """The hook that ``import tensorflow`` loaded into this process, or None."""
    for path in sorted(LIBRARY_FOLDER.glob("libtektite_tf-*.so")):
        try:
            # RTLD_NOLOAD: a handle to what is there already, never a new load.
            return ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_NOLOAD)
        except OSError:
            continue
    return None


def read_stats(hook: ctypes.CDLL) -> dict[str, Any]:
    hook.tektite_hook_stats_json.restype = ctypes.c_void_p
    hook.tektite_hook_stats_json.argtypes = []
    address = hook.tektite_hook_stats_json()
    if not address:
        return {}
    try:
        stats: dict[str, Any] = json.loads(ctypes.string_at(address).decode("utf-8", "replace"))
        return stats
    finally:
        libc = ctypes.CDLL(None)
        libc.free.argtypes = [ctypes.c_void_p]
        libc.free(address)


def stop_background_before_exit() -> None:
    """Lets work in the background, XLA's for fallbacks among it, end before destructors of TensorFlow's libraries run. A
    second call changes nothing."""
    hook = open_hook()
    if hook is not None:
        atexit.register(hook.tektite_hook_stop_background)
