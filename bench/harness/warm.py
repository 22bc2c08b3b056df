"""The arithmetic of bench/warm: what a process that finds its code on disk pays for it."""
import statistics
from typing import Any

from bench.harness.figures import short, table

FIRST_CALLS = 20
COLUMNS = ["workload", "threads", "hits", "compiled", "loaded", "load ms / 100", "first call ms", "steady p50 ms",
           "2nd call / p50", "calls 2-20 / p50", "worst of these", "1st after warmup / p50", "stock's 2nd / p50",
           "calls on host"]


def steady_of(ms: list[float]) -> float:
    return statistics.median(ms[FIRST_CALLS:] or ms[1:] or ms)


def over_later(ms: list[float], call: int) -> float | None:
    """A call's time over the median of the later ones."""
    return ms[call] / steady_of(ms) if len(ms) > call else None


def figures_of(ms: list[float], stats: dict[str, Any]) -> dict[str, Any]:
    """Of a process's calls from its first one on, and its counters in the end."""
    steady = steady_of(ms)
    disk, kernels = stats.get("disk", {}), stats.get("loaded_kernels", 0)
    asked = disk.get("hits", 0) + disk.get("pack_hits", 0) + disk.get("misses", 0)
    soon = ms[1:FIRST_CALLS]
    return {"first": ms[0], "p50": steady,
            "second": over_later(ms, 1),
            "soon": statistics.median(soon) / steady if soon else None,
            "worst": max(soon) / steady if soon else None,
            "on_host": sum(stats.get("host", {}).get("fallbacks", {}).values()),
            "hit_rate": (asked - disk.get("misses", 0)) / asked if asked else None,
            "kernels": kernels, "load_seconds": stats.get("load_seconds", 0.0),
            "load_ms": load_ms(stats.get("load_seconds", 0.0), kernels),
            "compiled": stats.get("kernels", 0)}


def load_ms(seconds: float, kernels: float) -> float | None:
    """Per 100 kernels."""
    return seconds * 1e3 / kernels * 100 if kernels else None


def medians_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Figure by figure, of processes of one workload; those that were not disturbed where there are any."""
    rows = [row for row in rows if not row["disturbed"]] or rows

    def median(key: str) -> Any:
        values = [row[key] for row in rows]
        return statistics.median(values) if all(type(value) in (int, float) for value in values) else values[0]

    return {key: median(key) for key in rows[0]}


def report(rows: list[dict[str, Any]]) -> str:
    """A line per row as figures_of returns them, with "workload", "threads" and "disturbed", or "error"."""
    cells = []
    for row in rows:
        if "error" in row:
            cells.append([row["workload"], str(row["threads"]), row["error"], *["-"] * (len(COLUMNS) - 3)])
            continue
        cells.append([row["workload"] + (" ~" if row["disturbed"] else ""), f"{row['threads']:g}",
                      f"{row['hit_rate']:.0%}" if row["hit_rate"] is not None else "-", f"{row['compiled']:g}",
                      f"{row['kernels']:g}", short(row["load_ms"]), short(row["first"]), short(row["p50"]),
                      *(short(row[name]) for name in ("second", "soon", "worst", "request", "stock")),
                      f"{row['on_host']:g}"])
    measured = [row for row in rows if "error" not in row]
    kernels = sum(row["kernels"] for row in measured)
    seconds = sum(row["load_seconds"] for row in measured)
    cells.append(["all", "", "", f"{sum(row['compiled'] for row in measured):g}", f"{kernels:g}",
                  short(load_ms(seconds, kernels)), *[""] * (len(COLUMNS) - 6)])
    return table(COLUMNS, cells)
