"""``tektite doctor``: what is installed, what is off, why, and the cure; ``--json`` for programs.

The last lines come from a process of its own that imports TensorFlow with ``TEKTITE=1`` and compiles a small function: a
file that is there may still not load. Exit code 1 where a line says FAILED.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import sysconfig
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tektite import _cards
from tektite._doctor_line import FAILED, OFF, OK, Line
from tektite._hook import HOOKS, LIBRARY_FOLDER, cache_folder, version_of

_NAMES = ("tensorflow-cpu", "tensorflow", "tf-nightly-cpu", "tf-nightly")
_SECONDS = 300
_PROGRAM = """
import json
import tensorflow as tf
import tektite
@tf.function
def doctor(x):
    return tf.nn.softmax(tf.exp(x) * 0.5 + 1.0) * 2.0
x = tf.reshape(tf.range(4096.0) / 4096.0, [64, 64])
plain = doctor.python_function(x)
doctor(x)
tektite.wait_until_compiled()
for _ in range(200):
    y = doctor(x)
stats = tektite.stats()
print("\\n" + json.dumps({"active": tektite.is_active(), "stats": stats, "error": float(tf.reduce_max(tf.abs(y - plain)))}))
"""


def hooks() -> list[str]:
    """The versions of TensorFlow that there are hooks for, oldest first."""
    versions = [version_of(path) for path in LIBRARY_FOLDER.glob(HOOKS)]
    return sorted(versions, key=lambda version: [int(part) for part in version.split(".")])


def tensorflow_version() -> str:
    for name in _NAMES:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


def _compiler() -> Line:
    try:
        library = ctypes.CDLL(str(LIBRARY_FOLDER / "libtektite.so"))
    except OSError as error:
        return Line("compiler", FAILED, str(error), "install the wheel again: pip install --force-reinstall tektite")
    library.tektite_version.restype = ctypes.c_char_p
    return Line("compiler", OK, library.tektite_version().decode())


def _processor() -> Line:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError as error:
        return Line("processor", OFF, str(error))
    flags = next((line.split() for line in text.splitlines() if line.startswith("flags")), [])
    known = [name for name in ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16") if name in flags]
    model = next((line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")), "")
    if "avx2" not in known or "fma" not in known:
        return Line("processor", FAILED, f"{model}: no AVX2 and FMA", "Tektite needs a processor of 2013 or later")
    return Line("processor", OK, f"{model}: {', '.join(known)}")


def _tensorflow_lines() -> list[Line]:
    version, known = tensorflow_version(), hooks()
    if not version:
        return [Line("tensorflow", FAILED, "not installed", "pip install tensorflow-cpu")]
    minor = ".".join(version.split(".")[:2])
    if minor not in known:
        return [Line("tensorflow", FAILED, f"{version}: there are hooks for {', '.join(known) or 'none'}",
                     f"pip install 'tensorflow-cpu=={known[-1]}.*'" if known else "install Tektite's wheel")]
    lines = [Line("tensorflow", OK, version), Line("hook", OK, f"libtektite_tf-{minor}.so, of {', '.join(known)}")]
    module = f"fast_calls-{minor}{sysconfig.get_config_var('EXT_SUFFIX')}"
    if (LIBRARY_FOLDER / module).exists():
        lines.append(Line("direct calls", OK, module))
    else:
        lines.append(Line("direct calls", OFF, f"no {module}: calls go through TensorFlow's runtime, some 0.1 ms each",
                          "another Python, or a wheel that was made where this one's headers are"))
    return lines


def _cache() -> Line:
    folder = cache_folder()
    if folder == Path("off"):
        return Line("cache", OFF, "by --cache_dir=off")
    if folder is None:
        return Line("cache", OFF, "neither HOME nor XDG_CACHE_HOME is set", "TEKTITE_FLAGS=--cache_dir=DIR")
    present = folder
    while not os.path.exists(present):  # false, too, below a folder that cannot be entered
        present = present.parent
    if not os.access(present, os.W_OK):
        return Line("cache", OFF, f"{present} cannot be written: every process compiles anew",
                    "XDG_CACHE_HOME=DIR, or TEKTITE_FLAGS=--cache_dir=DIR")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Line("cache", OK, f"{folder}, {size / 1e6:.1f} MB")


def _switches() -> Line:
    text = ", ".join(f"{name}={os.environ[name]}" for name in ("TEKTITE", "TEKTITE_FLAGS") if name in os.environ)
    if os.environ.get("TEKTITE") == "1":
        return Line("switches", OK, text)
    return Line("switches", OFF, text or "TEKTITE is not set: only what a program asks for is compiled",
                "TEKTITE=1 python program.py")


def _try_out() -> Line:
    environment = {**os.environ, "TEKTITE": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    try:
        done = subprocess.run([sys.executable, "-c", _PROGRAM], env=environment, text=True, capture_output=True,
                              timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return Line("a function", FAILED, f"not compiled within {_SECONDS} s")
    said = [line for line in done.stderr.splitlines() if line.startswith("tektite:")]
    if done.returncode != 0:
        return Line("a function", FAILED, (said or done.stderr.strip().splitlines() or ["no message"])[-1])
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    stats, host = answer["stats"], answer["stats"].get("host", {})
    compiled = stats.get("compiles", 0) + stats.get("loaded_modules", 0)
    if not answer["active"] or not compiled:
        return Line("a function", FAILED, "; ".join(said) or "nothing was compiled")
    calls = f"{host.get('direct_runs', 0)} of {host.get('runs', 0)} calls direct"
    how = "compiled" if stats.get("compiles", 0) else "from the cache"
    text = f"{how}, {calls}, {answer['error']:.1e} from TensorFlow's result"
    off = host.get("direct_calls_off", "")
    return Line("a function", OK if answer["error"] < 1e-5 else FAILED, text + (f" ({off})" if off else ""))


def examine() -> list[Line]:
    libc, libc_version = platform.libc_ver()
    lines = [_compiler(), Line("python", OK, f"{platform.python_version()}, {libc} {libc_version}, {platform.machine()}"),
             _processor(), *_tensorflow_lines(), _cache(), _switches(), *_cards.lines()]
    return lines if any(line.state == FAILED for line in lines) else [*lines, _try_out()]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tektite doctor", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    options = parser.parse_args(arguments)
    lines = examine()
    if options.json:
        print(json.dumps([asdict(line) for line in lines], indent=1))
    else:
        for line in lines:
            print(f"{line.subject:<13}{line.state:<8}{line.text}")
            if line.cure:
                print(f"{'':<21}cure: {line.cure}")
    return int(any(line.state == FAILED for line in lines))
