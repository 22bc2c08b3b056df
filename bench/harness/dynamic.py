"""The arithmetic of bench/dynamic: which request comes when, and what the times come to."""
import math
import random
import statistics
from collections import defaultdict
from typing import Any, Sequence

from bench.harness.engines import ENGINES, STOCK
from bench.harness.figures import short, table

# The counters of tektite.stats() that bench/dynamic reports; one that this build does not count is left out.
COUNTERS = ("clusters", "compiles", "loaded_modules", "request_compiles", "compile_seconds", "kernels",
            "generic_artifacts", "specialized_artifacts", "runs")


def request_order(kinds: int, count: int, seed: int = 11) -> list[int]:
    """`count` requests of so many kinds, each as often as any other, in random order."""
    order = [i % kinds for i in range(count)]
    random.Random(seed).shuffle(order)
    return order


def first_of_their_shape(shapes: Sequence, order: list[int]) -> list[bool]:
    """Whether a request's shape has not come before: several kinds may share one."""
    seen, first = set(), []
    for i in order:
        first.append(shapes[i] not in seen)
        seen.add(shapes[i])
    return first


def counters_between(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    counted = {name: after[name] - before.get(name, 0) for name in COUNTERS if name in after}
    return counted | {"fallbacks": after.get("fallbacks", {})}


def percentile(values: Sequence[float], percent: float) -> float:
    """Nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def figures_of(ms: list[float], first: list[bool]) -> dict[str, float]:
    new = [t for t, is_new in zip(ms, first) if is_new]
    return {"p50": percentile(ms, 50), "p99": percentile(ms, 99), "new_p50": percentile(new, 50),
            "new_p99": percentile(new, 99), "slowest": max(ms), "total_s": sum(ms) / 1e3}


def summarise(rows: list[dict], first: list[bool]) -> list[dict]:
    """A line per engine and thread count: medians over the processes."""
    groups = defaultdict(list)
    for row in rows:
        groups[row["threads"], row["engine"]].append(row)
    lines = []
    for (threads, engine), runs in sorted(groups.items(), key=lambda item: item[0][0]):
        good = [figures_of(r["ms"], first) for r in runs if "error" not in r]
        line: dict[str, Any] = {"engine": engine, "threads": threads}
        if good:
            line |= {name: statistics.median(g[name] for g in good) for name in good[0]}
            line["stats"] = next((r["stats"] for r in runs if r.get("stats")), None)
            line["difference"] = max((r["difference"] for r in runs if "difference" in r), default=None)
        else:
            line["error"] = runs[0]["error"]
        lines.append(line)
    return lines


def report(model: str, rows: list[dict], first: list[bool]) -> str:
    lines = summarise(rows, first)
    stock = {line["threads"]: line for line in lines if line["engine"] == STOCK and "error" not in line}
    names = ("p50", "p99", "new_p50", "new_p99", "slowest", "total_s")
    cells = []
    for line in lines:
        base = stock.get(line["threads"])
        ratios = ([short(line["p99"] / base["p99"]), short(base["total_s"] / line["total_s"])]
                  if base and "error" not in line else ["-", "-"])
        cells.append([f"{ENGINES[line['engine']].label}, {line['threads']} threads",
                      *(short(line.get(name)) for name in names), *ratios])
    text = [f"{model}: {len(first)} requests, {sum(first)} of a new shape; milliseconds", "",
            table(["engine", "p50", "p99", "new: p50", "new: p99", "slowest", "total s", "p99 / stock's",
                   "total: stock / it"], cells), ""]
    for line in lines:
        name = f"{ENGINES[line['engine']].label}, {line['threads']} threads"
        if "error" in line:
            text.append(f"{name}: {line['error']}")
            continue
        if line["difference"] is not None and line["engine"] != STOCK:
            text.append(f"{name}: differs from stock TensorFlow by {line['difference']:.0e} of the largest output")
        if line["stats"]:
            text.append(f"{name}: {compiled(line['stats'])}")
    return "\n".join(text)


def compiled(stats: dict[str, Any]) -> str:
    """clusters 1, compiles 200, ..., artifacts per cluster 200"""
    parts = [f"{name.replace('_', ' ')} {short(value) if isinstance(value, float) else value}"
             for name, value in stats.items() if name in COUNTERS]
    if stats.get("clusters"):
        artifacts = stats.get("generic_artifacts", 0) + stats.get("specialized_artifacts", 0)
        parts.append(f"artifacts per cluster {artifacts / stats['clusters']:.3g}")
    if stats.get("fallbacks"):
        parts.append(f"fallbacks {stats['fallbacks']}")
    return ", ".join(parts)
