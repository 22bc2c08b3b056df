"""Tells the hook the names of a SavedModel's signatures, after which clusters are named.

TensorFlow calls the function of each signature signature_wrapper. A program takes it from ``model.signatures`` before it
can call it, and there it is told.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Any

from tektite._hook import open_hook

NAMES: dict[str, str] = {}  # of signatures, by TensorFlow's names


def install() -> None:
    hook = open_hook()
    try:
        signatures: Any = importlib.import_module("tensorflow.python.saved_model.signature_serialization")._SignatureMap
        ordinary = signatures.__getitem__
    except (ImportError, AttributeError):
        return
    if hook is None or not hasattr(hook, "tektite_hook_name_function") or hasattr(ordinary, "_tektite_names"):
        return
    hook.tektite_hook_name_function.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    hook.tektite_hook_name_function.restype = None

    @functools.wraps(ordinary)
    def get_item(self: Any, key: str) -> Any:
        function = ordinary(self, key)
        name = getattr(function, "name", "")  # one that has none keeps TensorFlow's
        name = name.decode() if isinstance(name, bytes) else name
        if name and NAMES.get(name) != key:
            NAMES[name] = key
            hook.tektite_hook_name_function(name.encode(), key.encode())
        return function

    setattr(get_item, "_tektite_names", True)
    signatures.__getitem__ = get_item
