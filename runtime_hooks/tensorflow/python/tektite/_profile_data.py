"""What ``tektite profile`` reports, from the counters of a process that ran with ``--profile_kernels``.

    report = make_report("train.py", seconds, tektite.stats(), function_times, peaks)
    report["clusters"][0]["kernels"][0]["ms"]

Times are milliseconds of all calls together. Kernels are timed in the first 100 calls of a cluster, then in one of 8,
after 1000 in one of 64, and stand for the others. Limits: a kernel's operations count products, convolutions and the
exponentials beside them (jit/compiler/kernel_work.h), so that elementwise kernels are held against memory alone.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from tektite import _reasons
from tektite._function_times import FunctionTimes
from tektite._peaks import Peaks

_MOST_SPANS = 400


def base_of(cluster: str) -> str:
    """The name of a cluster without the number of an equal one: "model/step" of "model/step#2"."""
    return re.sub(r"#\d+$", "", cluster)


def function_of(cluster: str) -> str:
    return base_of(cluster).rsplit("/", 1)[-1]


def _kernel(raw: dict[str, Any], peaks: Peaks) -> dict[str, Any]:
    seconds = raw["microseconds"] / 1e6
    mean = seconds / raw["runs"] if raw["runs"] else 0.0
    least = raw["least_microseconds"] / 1e6
    flops, size = raw["flops"], raw["bytes"]
    by_memory, by_compute = size / (peaks.memory_gbs * 1e9), flops / (peaks.gflops * 1e9)
    by_cache = size / (peaks.cache_gbs * 1e9)
    bound = "compute" if by_compute >= by_memory else "memory"
    possible = max(by_compute, by_memory)
    if least and possible > least:  # it reads what is in cache
        bound, possible = ("compute" if by_compute >= by_cache else "cache"), max(by_compute, by_cache)
    return {"name": raw["kernel"], "shape": raw["shape"], "runs": raw["runs"],
            "ms": raw["microseconds"] / 1e3, "mean_us": mean * 1e6, "least_us": least * 1e6, "flops": flops,
            "bytes": size, "gflops": flops / least / 1e9 if least else 0.0, "gbs": size / least / 1e9 if least else 0.0,
            "bound": bound, "of_peak": min(possible / least, 1.0) if least else 0.0, "latest_ns": raw["latest_ns"]}


def _at_least_what_was_seen(peaks: Peaks, stats: dict[str, Any]) -> Peaks:
    """A kernel may have met a quieter machine than the measurement of its peaks."""
    seen = [(raw["flops"] / raw["least_microseconds"] / 1e3, raw["bytes"] / raw["least_microseconds"] / 1e3)
            for raw in stats.get("profile", []) if raw["runs"] and raw["least_microseconds"]]
    return dataclasses.replace(peaks, gflops=max([peaks.gflops, *(gflops for gflops, _ in seen)]),
                               cache_gbs=max([peaks.cache_gbs, *(gbs for _, gbs in seen)]))


def _comparisons(stats: dict[str, Any]) -> dict[str, dict[str, Any]]:
    comparisons: dict[str, dict[str, Any]] = stats.get("comparison", {}).get("clusters", {})
    return comparisons


def _winner(comparison: dict[str, Any]) -> str:
    won, lost = comparison.get("compiled", 0), comparison.get("host", 0)
    if won and lost:
        return f"compiled in {won} of {won + lost} classes of shapes"
    return "compiled" if won else "TensorFlow" if lost else "not decided"


def _clusters(stats: dict[str, Any], peaks: Peaks) -> list[dict[str, Any]]:
    by_name: dict[str, dict[str, Any]] = {}
    for call in stats.get("calls", []):
        name = call["cluster"].rsplit("/", 1)[0]
        comparison = _comparisons(stats).get(name, {})
        cluster = by_name.setdefault(name, {
            "name": name, "function": function_of(name), "calls": 0, "ms": 0.0, "compile_ms": 0.0, "arena_bytes": 0,
            "winner": _winner(comparison), "tensorflow_ms": comparison.get("host_ms", 0.0), "kernels": []})
        cluster["calls"] += call["entered"]
        cluster["ms"] += call["whole"] / 1e3
        cluster["compile_ms"] += call["compile_seconds"] * 1e3
        cluster["arena_bytes"] = max(cluster["arena_bytes"], call["arena_bytes"])
    for raw in stats.get("profile", []):
        found = by_name.get(raw["cluster"].rsplit("/", 1)[0])
        if found is not None and raw["runs"]:
            found["kernels"].append(_kernel(raw, peaks))
    for cluster in by_name.values():
        cluster["kernels"].sort(key=lambda kernel: -kernel["ms"])
    # TensorFlow's kernels may have run all that a cluster was called for.
    for name, comparison in _comparisons(stats).items():
        if comparison["host_ms"] and name not in by_name:
            by_name[name] = {"name": name, "function": function_of(name), "calls": 0, "ms": 0.0, "compile_ms": 0.0,
                             "arena_bytes": 0, "winner": _winner(comparison), "tensorflow_ms": comparison["host_ms"],
                             "kernels": []}
    return sorted(by_name.values(), key=lambda cluster: -(cluster["ms"] + cluster["tensorflow_ms"]))


def _functions(times: FunctionTimes, clusters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for name, time in times.by_name.items():
        of_it = [cluster for cluster in clusters if cluster["function"] == name]
        compiled = sum(cluster["ms"] for cluster in of_it)
        total = (time.seconds + time.first_seconds) * 1e3
        rows.append({"name": name, "calls": time.calls, "ms": total, "first_ms": time.first_seconds * 1e3,
                     "compiled_ms": compiled, "tensorflow_ms": max(total - compiled, 0.0),
                     "clusters": [cluster["name"] for cluster in of_it]})
    return sorted(rows, key=lambda row: -row["ms"])


def peak_memory() -> int:
    """Of this process so far, in bytes."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return 0


def make_report(program: str, seconds: float, stats: dict[str, Any], times: FunctionTimes,
                peaks: Peaks) -> dict[str, Any]:
    peaks = _at_least_what_was_seen(peaks, stats)
    times.settle()
    clusters = _clusters(stats, peaks)
    host = stats.get("host", {})
    shown = [{"function": name, "begin_ms": begin * 1e3, "ms": took * 1e3} for name, begin, took in
             times.spans[:_MOST_SPANS]]
    return {
        "program": program,
        "seconds": seconds,
        "machine": {"threads": peaks.threads, "peak_gflops": peaks.gflops, "memory_gbs": peaks.memory_gbs,
                    "cache_gbs": peaks.cache_gbs},
        "functions": _functions(times, clusters),
        "clusters": clusters,
        "ops": {"all": stats.get("ops", 0), "compiled": stats.get("clustered_ops", 0)},
        "left_out": _reasons.of_ops(stats),
        "fallbacks": _reasons.of_calls(stats),
        "compile": {"seconds": stats.get("compile_seconds", 0.0), "programs": stats.get("compiles", 0),
                    "kernels": stats.get("kernels", 0), "kernels_from_disk": stats.get("loaded_kernels", 0)},
        "memory": {"peak_rss_bytes": peak_memory(), "weight_bytes": stats.get("weight_bytes", 0),
                   "arena_bytes": stats.get("arena_bytes", 0)},
        "runs": {"all": host.get("runs", 0), "direct": host.get("direct_runs", 0)},
        "timeline": shown,
    }
