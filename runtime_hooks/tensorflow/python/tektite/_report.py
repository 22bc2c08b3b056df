"""``TEKTITE_FLAGS=--report``: one screen on stderr when a Python process ends.

It says what was compiled, what that gained by Tektite's own comparisons on the program's calls, what was left to
TensorFlow and why, and what to do about it. A process that forked prints its own.
"""

from __future__ import annotations

import atexit
import sys
from typing import Any

from tektite import _reasons
from tektite._hook import is_switched_on, open_hook, read_stats

_MOST_ROWS = 6
_is_installed = False


def install() -> None:
    global _is_installed
    if not _is_installed and is_switched_on("report"):
        _is_installed = True
        atexit.register(_print)


def _print() -> None:
    hook = open_hook()
    if hook is not None:
        print(render(read_stats(hook)), file=sys.stderr, flush=True)


def _gain(name: str, comparison: dict[str, Any]) -> str:
    won, lost, still_open = comparison["compiled"], comparison["host"], comparison["open"]
    if won:
        ratio = comparison["won_ratio"]
        text = f"{1 / ratio:.2f} times as fast as TensorFlow's kernels" if ratio else "faster"
        return f"{name}: {text}" + (f"; TensorFlow's are faster for {lost} of {won + lost} classes of shapes" if lost else "")
    if lost:
        return f"{name}: TensorFlow's kernels are faster, and run"
    return f"{name}: not compared yet" if still_open else f"{name}: no call was compared"


def render(stats: dict[str, Any]) -> str:
    host: dict[str, Any] = stats.get("host", {})
    ops, clustered = stats.get("ops", 0), stats.get("clustered_ops", 0)
    if not ops:
        return "tektite: no graph of this process had anything to compile"
    lines = [f"tektite: {clustered} of {ops} ops ({100 * clustered / ops:.0f}%) in {stats.get('clusters', 0)} clusters; "
             f"{host.get('runs', 0)} calls, {sum(host.get('fallbacks', {}).values())} of them run by TensorFlow's kernels",
             f"  compiling: {stats.get('compile_seconds', 0):.2f} s for {stats.get('compiles', 0)} programs; "
             f"{stats.get('loaded_modules', 0)} were on disk; {stats.get('request_compiles', 0)} calls waited for it",
             f"  memory: {stats.get('weight_bytes', 0) / 1e6:.1f} MB of prepared weights, "
             f"{stats.get('arena_bytes', 0) / 1e6:.1f} MB of arenas"]
    comparisons = stats.get("comparison", {}).get("clusters", {})
    ranked = sorted(comparisons.items(), key=lambda item: item[1]["won_ratio"] or 9.0)
    lines += [f"  {_gain(name, comparison)}" for name, comparison in ranked[:_MOST_ROWS]]
    if len(ranked) > _MOST_ROWS:
        lines.append(f"  and {len(ranked) - _MOST_ROWS} more clusters")
    for row in _reasons.of_ops(stats)[:_MOST_ROWS]:
        lines.append(f"  left out: {row['ops']} ops, {row['reason']}, such as {row['example']}")
        lines.append(f"    {row['cure'] or row['meaning']}")
    for row in _reasons.of_calls(stats)[:_MOST_ROWS]:
        lines.append(f"  TensorFlow's kernels: {row['calls']} calls, {row['reason']}")
        lines.append(f"    {row['cure'] or row['meaning']}")
    if host.get("direct_calls_off"):
        lines.append(f"  no call is direct: {host['direct_calls_off']}")
    lines.append("  more: tektite profile PROGRAM, tektite explain MODEL, tektite doctor")
    return "\n".join(lines)
