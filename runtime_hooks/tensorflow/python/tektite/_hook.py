"""The hook inside this process: what ``import tensorflow`` loaded, or nothing."""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import json
import os
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Called once TensorFlow's calls have been wrapped, while its import ends; with TEKTITE=1 alone.
after_install: list[Callable[[], None]] = []
# What a Function's dictionary has for fast_calls/module.cc.
ROUTES = "_tektite_routes"
LIBRARY_FOLDER = Path(__file__).parent / "lib"
HOOKS = "libtektite_tf-*.so"


def open_hook() -> ctypes.CDLL | None:
    """The hook that ``import tensorflow`` loaded into this process, or None."""
    for path in sorted(LIBRARY_FOLDER.glob(HOOKS)):
        try:
            # RTLD_NOLOAD: a handle to what is there already, never a new load.
            return ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_NOLOAD)
        except OSError:
            continue
    return None


def version_of(hook: str | Path) -> str:
    """The version of TensorFlow that a hook's file was built for: "2.21"."""
    return Path(hook).stem.partition("-")[2]


class DirectCalls:
    """Why calls go through TensorFlow's function runtime; empty where they need not."""

    off: str = ""

    @classmethod
    def turn_off(cls, why: str) -> None:
        cls.off = why
        print(f"tektite: calls go through TensorFlow's function runtime: {why}", file=sys.stderr)


def import_fast_calls() -> Any:
    """The module ``tektite._fast_calls``, where it was built for this Python and this TensorFlow; else None."""
    name = "tektite._fast_calls"
    hook = open_hook()
    if name in sys.modules or hook is None:
        return sys.modules.get(name)
    file = LIBRARY_FOLDER / f"fast_calls-{version_of(hook._name)}{sysconfig.get_config_var('EXT_SUFFIX')}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.exists():
        DirectCalls.off = f"no {file.name}"
        return None
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        DirectCalls.off = str(error)
        return None
    sys.modules[name] = module
    return module


def read_stats(hook: ctypes.CDLL) -> dict[str, Any]:
    hook.tektite_hook_stats_json.restype = ctypes.c_void_p
    hook.tektite_hook_stats_json.argtypes = []
    address = hook.tektite_hook_stats_json()
    if not address:
        return {}
    try:
        stats: dict[str, Any] = json.loads(ctypes.string_at(address).decode("utf-8", "replace"))
        if DirectCalls.off:
            stats.setdefault("host", {})["direct_calls_off"] = DirectCalls.off
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


def is_switched_on(flag: str) -> bool:
    """Whether TEKTITE_FLAGS turns ``flag`` on, the last of several settings, as for the compiler."""
    settings = [text.partition("=")[2] for text in os.environ.get("TEKTITE_FLAGS", "").split()
                if text == f"--{flag}" or text.startswith(f"--{flag}=")]
    return bool(settings) and settings[-1] in ("", "true", "1")


def cache_folder() -> Path | None:
    """The disk cache's, whether it is there or not (jit/cache/location.cc); "off" by a flag, None where nothing names one."""
    flags = os.environ.get("TEKTITE_FLAGS", "").split()
    named = [flag.partition("=")[2] for flag in flags if flag.startswith("--cache_dir=")]
    home = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("HOME") and os.path.join(os.environ["HOME"], ".cache"))
    if named:
        return Path(named[-1])
    return Path(home) / "tektite" if home else None
