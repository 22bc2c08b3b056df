"""What ``tektite doctor`` says of NVIDIA's cards: the second wheel, NVIDIA's files beside it, and whether there is a card.

Nothing where the wheel ``tektite-cuda`` is not installed and no flag asks for a card: most machines have none.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import tektite
from tektite._doctor_line import FAILED, OFF, OK, Line
from tektite._hook import LIBRARY_FOLDER

_PACKAGES = LIBRARY_FOLDER.parents[1]
# As the compiler looks for it (backends/gpu/codegen/ptxas.cc).
_ASSEMBLERS = ("nvidia/cuda_nvcc/bin/ptxas", "nvidia/cu13/bin/ptxas", "/usr/local/cuda/bin/ptxas")
_LIBRARIES = {"cuBLASLt": ("nvidia/cublas/lib/libcublasLt.so.12", "nvidia/cu13/lib/libcublasLt.so.13"),
              "cuDNN": ("nvidia/cudnn/lib/libcudnn.so.9",)}
_SECONDS = 120
# In a process of its own, since a driver that has been opened stays open.
_PROGRAM = """
import ctypes, sys
class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("flags", ctypes.c_char_p), ("backend", ctypes.c_char_p),
                ("host", ctypes.c_char_p)]
class Status(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("fallback", ctypes.c_int32), ("message", ctypes.c_char * 504)]
library = ctypes.CDLL(sys.argv[1])
library.tektite_compiler_create.restype = ctypes.c_void_p
status = Status()
options = Options(ctypes.sizeof(Options), b"--device=" + sys.argv[2].encode(), None, None)
compiler = library.tektite_compiler_create(ctypes.byref(options), ctypes.byref(status))
sys.stdout.write("" if compiler else status.message.decode() or "no reason is reported")
"""


def _wheel_version() -> str:
    try:
        return importlib.metadata.version("tektite-cuda")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _device() -> str:
    flags = os.environ.get("TEKTITE_FLAGS", "").split()
    named = [flag.partition("=")[2] for flag in flags if flag.startswith("--device=")]
    return named[-1] if named and named[-1] not in ("", "cpu") else ""


def _place(files: tuple[str, ...]) -> Path | None:
    return next((_PACKAGES / file for file in files if (_PACKAGES / file).exists()), None)


def _files() -> Line:
    """The assembler, and the libraries that are there."""
    assembler = shutil.which("ptxas") or _place(_ASSEMBLERS)
    libraries = [name for name, files in _LIBRARIES.items() if _place(files)]
    more = f"; {', '.join(libraries)}" if libraries else ""
    if assembler is None:
        return Line("assembler", OFF, f"no ptxas: the driver assembles kernels, which takes longer{more}",
                    "pip install tektite-cuda")
    return Line("assembler", OK, f"{assembler}{more}")


def _card(device: str) -> Line:
    try:
        done = subprocess.run([sys.executable, "-c", _PROGRAM, str(LIBRARY_FOLDER / "libtektite.so"), device], text=True,
                              capture_output=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return Line("card", FAILED, f"{device}: the driver does not answer within {_SECONDS} s")
    if done.returncode != 0:
        return Line("card", FAILED, (done.stderr.strip().splitlines() or ["no message"])[-1])
    if done.stdout:
        return Line("card", OFF, f"no card: {done.stdout}", "the CPU compiles as ever; a card needs NVIDIA's driver")
    return Line("card", OK, f"{device}; TEKTITE_FLAGS=--device={device} compiles for it")


def lines() -> Iterator[Line]:
    version, device = _wheel_version(), _device()
    if not version and not device:
        return
    own = tektite.__version__
    if version and version != own:
        yield Line("cuda", FAILED, f"tektite-cuda {version} beside tektite {own}", f"pip install tektite-cuda=={own}")
    elif version:
        yield Line("cuda", OK, f"tektite-cuda {version}")
    yield _files()
    yield _card("gpu:0" if device in ("", "auto", "gpu") else device)
