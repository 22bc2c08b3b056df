"""``tektite profile SCRIPT|MODEL``: where the time of a Python program, or of a model, goes.

    tektite profile train.py --epochs 2       # the program runs as it is, with TEKTITE=1
    tektite profile resnet/                   # a SavedModel or a file of Keras's, with inputs that are made
    tektite profile --json out.json --html out.html -m package.module

Prints per function, cluster and kernel: time, share, calls, how near it comes to what the machine can do, memory, what ran
in TensorFlow and why, what compiling cost, and which side won a comparison. ``--json`` writes the same for programs,
``--html`` one page with pictures that needs no network (``pip install plotly`` once). Compiled code is made anew in each
profile. Options of the command stand before the script.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import signal
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from tektite import _hook

_CALLS = 200  # of a model, or as many as fit
_SECONDS = 5.0
_INTERRUPTED = 128 + signal.SIGINT  # as shells have it


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tektite profile", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write the report there; -: on stdout, in the table's place, "
                        "and what the program prints goes to stderr")
    parser.add_argument("--html", metavar="FILE", help="write a page there: flame graph, roofline, timeline")
    parser.add_argument("--batch", type=int, default=1, help="of a model's inputs, where it is open (1)")
    parser.add_argument("--signature", default="", help="of a SavedModel (serving_default)")
    parser.add_argument("--seconds", type=float, default=_SECONDS, help=f"at most so long calls of a model ({_SECONDS})")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", metavar="SCRIPT|MODEL", help="a Python program, a SavedModel's folder, or a .keras or .h5 file")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="...", help="the script's own arguments")
    options = parser.parse_args(arguments)
    if options.batch < 1:
        parser.error("--batch must be positive")
    return options


def _switch_on() -> None:
    """Before TensorFlow is imported."""
    os.environ["TEKTITE"] = os.environ.get("TEKTITE") or "1"
    os.environ["TEKTITE_FLAGS"] = f"{os.environ.get('TEKTITE_FLAGS', '')} --profile_kernels".strip()


def _run_model(options: argparse.Namespace) -> None:
    from tektite import _models, wait_until_compiled

    try:
        model = _models.load(options.script, options.batch, options.signature)
        model.call()
    except Exception as error:
        raise SystemExit(f"tektite: '{options.script}': {_models.in_a_line(error)}") from None
    wait_until_compiled()
    begin = time.monotonic()
    for call in range(_CALLS):
        model.call()
        if time.monotonic() - begin > options.seconds and call >= 10:
            break


def _exit_code(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1


def _print_error(error: BaseException) -> None:
    """As Python prints what ends a program: without the frames of this command, and by the program's own hook."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__") != "__main__":
        trace = trace.tb_next
    if trace is None and not isinstance(error, SyntaxError):
        trace = error.__traceback__
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def _run_script(options: argparse.Namespace) -> int:
    """The program's exit code, which an error or an interrupt ends as it would without a profile."""
    sys.argv = [options.script, *options.rest]
    try:
        if options.module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(options.script).resolve().parent))
            runpy.run_path(options.script, run_name="__main__")
    except SystemExit as end:
        return _exit_code(end)
    except BaseException as error:  # what was measured until then is reported
        _print_error(error)
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _report(options: argparse.Namespace, seconds: float, times: Any) -> dict[str, Any]:
    from tektite import _peaks, _profile_data, stats

    counters = stats()  # before the peaks are measured, which is work as well
    return _profile_data.make_report(options.script, seconds, counters, times, _peaks.measure())


def _print(report: dict[str, Any], as_json: bool, answers: TextIO) -> None:
    from tektite import _profile_text

    print(json.dumps(report, indent=1) if as_json else _profile_text.render(report), file=answers)


def main(arguments: list[str]) -> int:
    options = _arguments(arguments)
    from tektite import _models, _output
    from tektite._function_times import FunctionTimes

    is_model = not options.module and _models.is_model(options.script)
    if not options.module and not (Path(options.script).exists() if is_model else Path(options.script).is_file()):
        print(f"tektite: '{options.script}' is neither a script nor a model", file=sys.stderr)
        return 1
    page = _output.page_to_write(options.html)
    file = _output.to_write(options.json) if options.json not in (None, "-") else None
    answers = _output.keep_stdout() if options.json == "-" else sys.stdout
    _switch_on()
    times = FunctionTimes()
    _hook.after_install.append(times.install)
    begin = time.perf_counter()
    code = 0
    if is_model:
        _run_model(options)
    else:
        code = _run_script(options)
    seconds = time.perf_counter() - begin
    if "tensorflow" not in sys.modules:
        print(f"tektite: '{options.script}' did not import TensorFlow", file=sys.stderr)
        return code or 1
    report = _report(options, seconds, times)
    _print(report, options.json == "-", answers)
    if file is not None:
        file.write_text(json.dumps(report, indent=1))
    if page is not None:
        from tektite import _profile_page

        page.write_text(_profile_page.render(report), encoding="utf-8")
        print(f"\n{options.html} has the pictures.", file=sys.stderr)
    return code
