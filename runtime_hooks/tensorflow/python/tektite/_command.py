"""The command line, ``tektite`` and ``python -m tektite``: what needs Python itself, and otherwise the compiler's command.

A wheel holds the command as a library, since a program would be bound to the C library of the machine that built it
(packaging/link_portable.py); an environment that ``scripts/setup`` made runs the build's program.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from tektite._hook import LIBRARY_FOLDER

COMMAND = LIBRARY_FOLDER / "libtektite_command.so"


def _doctor(arguments: list[str]) -> int:
    from tektite import _doctor

    return _doctor.main(arguments)


def _demo(arguments: list[str]) -> int:
    from tektite import _demo

    return _demo.main(arguments)


def _profile(arguments: list[str]) -> int:
    from tektite import _profile

    return _profile.main(arguments)


def _aot(arguments: list[str]) -> int:
    from tektite import _models

    if not any(_models.is_model(word) for word in arguments):
        return run(["aot", *arguments])  # IR text and frozen graphs are the compiler's command's
    from tektite import _aot_command

    return _aot_command.main(arguments)


def _bench(arguments: list[str]) -> int:
    from tektite import _bench, _models

    words = [word for word in arguments if not word.startswith("-")]
    # IR text and frozen graphs are the compiler's command's; beside a model, a file is one that is written.
    is_file = any(Path(word).is_file() for word in words) and not any(map(_models.is_model, words))
    return run(["bench", *arguments]) if is_file else _bench.main(arguments)


def _convert(arguments: list[str]) -> int:
    from tektite import _convert

    return _convert.main(arguments)


def _quantize(arguments: list[str]) -> int:
    from tektite import _quantize_command

    return _quantize_command.main(arguments)


def _top(arguments: list[str]) -> int:
    from tektite import _top

    return _top.main(arguments)


_OF_PYTHON: dict[str, Callable[[list[str]], int]] = {
    "aot": _aot, "bench": _bench, "convert": _convert, "demo": _demo, "doctor": _doctor, "profile": _profile,
    "quantize": _quantize, "top": _top}
_HELP = """
Of the Python package:
  doctor                      What is installed, what is off, why, and the cure
  demo                        Small models, plain and compiled: times and differences
  aot                         Of a SavedModel or a file of Keras's: a model as a C library
  bench                       Of a SavedModel or a file of Keras's: how long calls take, beside what else is installed
  convert                     A SavedModel with the code of its signatures beside it: servers compile nothing
  profile                     Where the time of a program or a model goes: functions, clusters, kernels
  quantize                    Of a SavedModel: one with FakeQuant at its layers, calibrated, which runs in 8 bits
  top                         The processes that run with Tektite now, live
"""


def run(arguments: list[str]) -> int:
    """Runs the compiler's command in this process; its exit code."""
    if not COMMAND.exists():
        print(f"tektite: no {COMMAND.name} in this environment: this command runs from an installed wheel, "
              "or as build/bin/tektite", file=sys.stderr)
        return 1
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python would wait for the command's end
    ctypes.CDLL(str(LIBRARY_FOLDER / "libtektite.so"))  # the command asks for it by its name alone
    main = ctypes.CDLL(str(COMMAND)).tektite_command
    words = [b"tektite", *map(os.fsencode, arguments)]
    code: int = main(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None))
    if arguments[:1] in (["--help"], ["-h"]):
        ctypes.CDLL(None).fflush(None)  # a pipe would get what Python prints first
        print(_HELP)
    return code


def main() -> int:
    arguments = sys.argv[1:]
    own = _OF_PYTHON.get(arguments[0]) if arguments else None
    if own is None:
        return run(arguments)
    try:
        return own(arguments[1:])
    except KeyboardInterrupt:
        return 128 + signal.SIGINT  # as shells have it
    except BrokenPipeError:  # `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 128 + signal.SIGPIPE
