"""Summarises the rows of turns.py: a line per workload, engine and thread count.

    lines = summarise(rows)
    best = best_rival(lines, "mobilenetv2", threads=2)   # the fastest whose results are right

Medians are over the processes that nothing disturbed: neither other load nor CPUs that were far apart, as a virtual
machine's may be for a while (machine.transfer_ns).  Where there is none, they are over all, and the line is marked as
disturbed.
"""
import statistics
from collections import defaultdict

from bench.harness.engines import ENGINES, STOCK, TEKTITE
from bench.harness.machine import QUIET, is_far
from bench.models import WORKLOADS

# Of the largest output.  A rival may round as it likes, but not compute something else, nor a float64
# program in float32.
RIVAL_TOLERANCE, RIVAL_TOLERANCE_DOUBLE = 1e-3, 1e-9
COUNTERS = ("ops", "clustered_ops", "clusters", "compile_seconds")


def summarise(rows: list[dict]) -> list[dict]:
    groups = defaultdict(list)
    for row in rows:
        groups[row["threads"], row["model"], row["engine"]].append(row)
    least = min((row["transfer_ns"] for row in rows if row.get("transfer_ns")), default=None)
    lines = [summary_of(*key, runs, least) for key, runs in groups.items()]
    stock_ms = {(line["threads"], line["model"]): line["ms"]
                for line in lines if line["engine"] == STOCK and "ms" in line}
    for line in lines:
        stock = stock_ms.get((line["threads"], line["model"]))
        if stock and "ms" in line:
            line["ratio"] = stock / line["ms"]
    return lines


def summary_of(threads: int, model: str, engine: str, runs: list[dict], least_transfer: float | None = None) -> dict:
    line = {"model": model, "engine": engine, "threads": threads}
    good = [r for r in runs if "error" not in r]
    quiet = [r for r in good
             if r.get("others", 0) <= QUIET and not is_far(r.get("transfer_ns"), least_transfer)]
    line |= {"processes": len(good), "failed": len(runs) - len(good), "quiet": len(quiet),
             "disturbed": bool(good) and not quiet}
    for figure in ("ms", "first_s", "rss_mb") if good else ():
        line[figure] = statistics.median(r[figure] for r in quiet or good)
    if good and good[0].get("weights_mb"):
        line["weights_mb"] = good[0]["weights_mb"]
    compared = [r for r in good if "difference" in r]
    if compared:
        line["difference"] = max(r["difference"] for r in compared)
        line["wrong"] = line["difference"] > allowed(line, any(r.get("double") for r in compared))
        # The compared results are not compiled code's.
        line["left_to_host"] = any(r.get("compiled") is False for r in compared)
    if line["failed"]:
        line["error"] = next(r["error"] for r in runs if "error" in r)
    counters = next((r["stats"] for r in good if r.get("stats")), None)
    if counters and engine != STOCK:
        line |= {k: counters[k] for k in COUNTERS if k in counters}
    return line


def allowed(line: dict, double: bool) -> float:
    workload = WORKLOADS.get(line["model"])
    contract = workload.tolerance if workload else 0.0
    if not ENGINES[line["engine"]].rival:
        return contract
    return RIVAL_TOLERANCE_DOUBLE if double else max(contract, RIVAL_TOLERANCE)


def find(lines: list[dict], model: str, engine: str, threads: int) -> dict | None:
    return next((line for line in lines if (line["model"], line["engine"], line["threads"]) ==
                 (model, engine, threads)), None)


def best_rival(lines: list[dict], model: str, threads: int) -> dict | None:
    """The fastest engine but Tektite whose results are right; stock TensorFlow is one of them."""
    able = [line for line in lines if (line["model"], line["threads"]) == (model, threads)
            and line["engine"] != TEKTITE and "ms" in line and not line.get("wrong")]
    return min(able, key=lambda line: line["ms"], default=None)


def complaints(lines: list[dict]) -> list[str]:
    """The reasons why the run is a failure: rivals may fail as they like."""
    found = []
    for line in lines:
        if ENGINES[line["engine"]].rival:
            continue
        name = f"{line['model']}/{line['engine']}/{line['threads']} threads"
        if line["failed"]:
            found.append(f"{name}: {line['failed']} processes failed")
        if line.get("wrong"):
            tolerance = allowed(line, False)
            found.append(f"{name}: differs from stock TensorFlow by {line['difference']:.1e} of the "
                         f"largest output, allowed is {tolerance:.0e}")
    return found
