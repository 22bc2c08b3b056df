"""``tektite top``: the processes that run with Tektite now, and what they do; every two seconds, until interrupted.

A row is a process: the processor's time it takes, its memory, calls of clusters a second, the share of them that
TensorFlow's kernels ran, programs that were compiled, memory for prepared weights and arenas. The counters are those of
``tektite stats``, which processes keep in the disk cache's folder; a process with ``--cache_dir=off`` is not seen.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from tektite import _output
from tektite._hook import cache_folder
from tektite._library import Status, open_library, take_text

_JSON = 1  # tektite_format
_TICKS = os.sysconf("SC_CLK_TCK")
_HEAD = ("process", "cpu", "memory", "calls/s", "TensorFlow's", "compiled", "loaded", "weights", "arenas", "program")


def _counters(library: ctypes.CDLL, pid: int) -> dict[str, Any] | None:
    status = Status()
    flags = os.environ.get("TEKTITE_FLAGS", "").encode()
    address = library.tektite_stats_read(flags, str(pid).encode(), _JSON, ctypes.byref(status))
    if not address:
        return None
    answer: dict[str, Any] = json.loads(take_text(library, address, status))
    return answer


def _open_library() -> ctypes.CDLL:
    library = open_library()
    library.tektite_stats_read.restype = ctypes.c_void_p
    library.tektite_stats_read.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int32, ctypes.POINTER(Status)]
    return library


def living() -> list[int]:
    """The processes of this machine that have counters and still run."""
    folder = cache_folder()
    if folder is None or not folder.is_dir():
        return []
    pids = set()
    for file in folder.rglob("*.stats"):
        parts = file.name.rsplit(".", 3)  # TIME-space.pid.start.stats
        if len(parts) == 4 and parts[1].isdigit() and _started(int(parts[1])) == parts[2]:
            pids.add(int(parts[1]))
    return sorted(pids)


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _started(pid: int) -> str:
    fields = _stat(pid)
    return fields[19] if len(fields) > 19 else ""


def look(library: ctypes.CDLL) -> dict[int, dict[str, Any]]:
    seen = {}
    for pid in living():
        counters, stat = _counters(library, pid), _stat(pid)
        if counters is None or not stat:
            continue
        try:
            program = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
        except OSError:
            continue
        fallbacks = sum(value for name, value in counters.items() if name.startswith("fallbacks_"))
        seen[pid] = {"pid": pid, "program": program, "cpu_seconds": (int(stat[11]) + int(stat[12])) / _TICKS,
                     "rss_bytes": int(stat[21]) * os.sysconf("SC_PAGE_SIZE"), "fallbacks": fallbacks,
                     **{name: counters.get(name, 0) for name in
                        ("runs", "compiles", "loaded_modules", "weight_bytes", "arena_bytes", "clusters")}}
    return seen


def rates(before: dict[int, dict[str, Any]], after: dict[int, dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
    rows = []
    for pid, now in after.items():
        then = before.get(pid, now)
        rows.append({**now, "cpu": (now["cpu_seconds"] - then["cpu_seconds"]) / seconds,
                     "calls_per_second": (now["runs"] - then["runs"]) / seconds})
    return sorted(rows, key=lambda row: -row["cpu"])


def table(rows: list[dict[str, Any]], width: int) -> str:
    cells = [(str(r["pid"]), f"{100 * r['cpu']:.0f}%", f"{r['rss_bytes'] / 1e6:.0f} MB", f"{r['calls_per_second']:.0f}",
              f"{100 * r['fallbacks'] / max(r['runs'], 1):.0f}%", str(r["compiles"]), str(r["loaded_modules"]),
              f"{r['weight_bytes'] / 1e6:.0f} MB", f"{r['arena_bytes'] / 1e6:.0f} MB", r["program"]) for r in rows]
    if not rows:
        return f"{'  '.join(_HEAD)[:width]}\nno process runs with Tektite now"
    return "\n".join(line[:width] for line in _output.table(_HEAD, cells).splitlines())


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tektite top", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--once", action="store_true", help="print once and end")
    parser.add_argument("--json", action="store_true", help="print a line of JSON each time")
    parser.add_argument("--seconds", type=float, default=2.0, help="between two looks (2)")
    options = parser.parse_args(arguments)
    if not options.seconds > 0:
        parser.error("--seconds must be positive")
    library = _open_library()
    is_terminal = sys.stdout.isatty() and not options.json
    before, then = look(library), time.monotonic()
    try:
        while True:
            time.sleep(options.seconds)
            after, now = look(library), time.monotonic()
            rows = rates(before, after, now - then)
            width = os.get_terminal_size().columns if is_terminal else 200
            text = json.dumps(rows) if options.json else table(rows, width)
            print(("\x1b[H\x1b[2J" if is_terminal and not options.once else "") + text, flush=True)
            if options.once:
                return 0
            before, then = after, now
    except KeyboardInterrupt:
        return 0
