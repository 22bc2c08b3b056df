"""The arithmetic of bench/warm: what a process that finds its code on disk pays for it."""
import statistics
from typing import Any

from bench.harness.figures import short, table

FIRST_CALLS = 20


def figures_of(ms: list[float], stats: dict[str, Any]) -> dict[str, Any]:
    """Of a process's calls from its first one on, and its counters in the end."""
    steady = statistics.median(ms[FIRST_CALLS:] or ms[1:] or ms)
    disk, kernels = stats.get("disk", {}), stats.get("loaded_kernels", 0)
    asked = disk.get("hits", 0) + disk.get("pack_hits", 0) + disk.get("misses", 0)
    soon = ms[1:FIRST_CALLS]
    return {"first": ms[0], "p50": steady,
            "second": ms[1] / steady if len(ms) > 1 else None,
            "soon": statistics.median(soon) / steady if soon else None,
            "worst": max(soon) / steady if soon else None,
            "on_host": sum(stats.get("host", {}).get("fallbacks", {}).values()),
            "hit_rate": (asked - disk.get("misses", 0)) / asked if asked else None,
            "kernels": kernels,
            "load_ms": stats.get("load_seconds", 0.0) * 1e3 / kernels * 100 if kernels else None,
            "compiled": stats.get("kernels", 0)}


def medians_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Figure by figure, of processes of one workload; those that were not disturbed where there are any."""
    rows = [row for row in rows if not row["disturbed"]] or rows

    def median(key: str) -> Any:
        values = [row[key] for row in rows]
        return statistics.median(values) if all(type(value) in (int, float) for value in values) else values[0]

    return {key: median(key) for key in rows[0]}


def report(rows: list[dict[str, Any]]) -> str:
    """A line per row as figures_of gives them, with "workload", "threads" and "disturbed", or "error"."""
    cells = []
    for row in rows:
        if "error" in row:
            cells.append([row["workload"], str(row["threads"]), row["error"], *["-"] * 9])
            continue
        cells.append([row["workload"] + (" ~" if row["disturbed"] else ""), str(row["threads"]),
                      f"{row['hit_rate']:.0%}" if row["hit_rate"] is not None else "-", f"{row['compiled']:g}",
                      f"{row['kernels']:g}", short(row["load_ms"]), short(row["first"]), short(row["p50"]),
                      *(short(row[name]) for name in ("second", "soon", "worst")), f"{row['on_host']:g}"])
    return table(["workload", "threads", "hits", "compiled", "loaded", "load ms / 100", "first call ms", "steady p50 ms",
                  "2nd call / p50", "calls 2-20 / p50", "worst of these", "calls on host"], cells)
