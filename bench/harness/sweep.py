"""One row of bench/sweep: a case of the zoo in stock TensorFlow and with Tektite, both alive at once, in turns.

    row = run_case("unet", batch=8, threads=2, seconds=1.0)
    row["tektite_ms"] / row["stock_ms"], row["difference"], row["left_out"]   # or row["error"]
    print(figures.table(HEADER, [cells(row)]))
"""
import os
import tempfile
from pathlib import Path

import numpy as np

from bench.harness import figures
from bench.harness.engines import ENGINES, STOCK, TEKTITE
from bench.harness.process import NOT_LOADED, Task, Worker, WorkerFailed, prepare
from bench.harness.worker import comparison_of
from bench.models.workload import Workload
from bench.zoo import WORKLOADS

HEADER = ["case", "batch", "threads", "stock ms", "Tektite ms", "ratio", "difference", "compiled", "clusters", "memory",
          "first s", "left out"]
EXPECTED = {"HOST_BOUNDARY", "CHEAP_OUTPUT", "FETCHED"}  # reasons that say nothing about a model


def quick(times: list[float]) -> float:
    """The least tenth."""
    return float(np.quantile(times, 0.1))


def environment_of(workload: Workload) -> tuple[tuple[str, str], ...]:
    """Where the first call's results are what is compared, compiled code has to be there for it."""
    if not workload.stateful:
        return ()
    return (("TEKTITE_FLAGS", f"{os.environ.get('TEKTITE_FLAGS', '')} --compile=sync".strip()),)


def run_case(case: str, batch: int, threads: int, seconds: float) -> dict:
    workload = WORKLOADS[f"{case}_b{batch}"]
    task = Task("bench.zoo", workload.name, threads, timeout=600.0, environment=environment_of(workload))
    return {"case": case, "batch": batch, "threads": threads} | run_workload(task, workload, seconds)


def run_workload(task: Task, workload: Workload, seconds: float, first_calls: int = 1, only_compiled: Task | None = None) -> dict:
    """ENGINE_first_s is the time of `first_calls`, from the first one on; of more than one, the mean of two processes, each
    side once before the other.  With `only_compiled`, a task that leaves no call to TensorFlow's kernels, the first
    results of that are compared, too."""
    row: dict = {}
    workers: dict[str, Worker] = {}
    try:
        prepare(task, workload)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for engine in (STOCK, TEKTITE):
                worker = workers[engine] = Worker(task, ENGINES[engine])
                row[f"{engine}_first_s"] = time_first(worker, folder / f"{engine}.first.npz", first_calls)
            row |= compare(workers, folder, seconds)
            for engine in (TEKTITE, STOCK) if first_calls > 1 else ():
                workers[engine].close()
                worker = workers[engine] = Worker(task, ENGINES[engine])
                row[f"{engine}_first_s"] = (row[f"{engine}_first_s"] + time_first(worker, folder / "again.npz", first_calls)) / 2
            if only_compiled:
                with Worker(only_compiled, ENGINES[TEKTITE]) as worker:
                    worker.outputs(folder / "compiled.npz")
                compiled = figures.largest_difference(folder / f"{STOCK}.first.npz", folder / "compiled.npz")
                row["difference"] = max(row["difference"], compiled)
        row["tolerance"] = workload.tolerance
    except WorkerFailed as error:
        engine = next((e for e in (STOCK, TEKTITE) if e not in workers or workers[e].process.poll() is not None), "")
        row["error"] = f"{engine}: {error}"
    finally:
        for worker in workers.values():
            worker.close()
    return row


def time_first(worker: Worker, results: Path, calls: int) -> float:
    """Seconds; the first call's results go into the file."""
    return worker.outputs(results) + (sum(worker.times(0, calls - 1).ms) / 1e3 if calls > 1 else 0)


def compare(workers: dict[str, Worker], folder: Path, seconds: float) -> dict:
    times: dict[str, list[float]] = {e: [] for e in workers}
    for worker in workers.values():
        worker.warm(min(seconds, 1.0))
    for _ in range(4):
        for engine, worker in workers.items():
            times[engine] += worker.times(seconds / 4).ms
    compiled = [worker.settled_outputs(folder / f"{engine}.npz") for engine, worker in workers.items()][-1]
    _, stock_mb = workers[STOCK].stats()
    stats, tektite_mb = workers[TEKTITE].stats()
    if stats is None:
        raise WorkerFailed(NOT_LOADED)
    difference = max(figures.largest_difference(folder / f"{STOCK}{kind}.npz", folder / f"{TEKTITE}{kind}.npz")
                     for kind in ("", ".first"))
    host = stats.get("host", {})
    return {"stock_ms": quick(times[STOCK]), "tektite_ms": quick(times[TEKTITE]), "difference": difference,
            "compiled": compiled, "ops": stats.get("ops", 0), "clustered_ops": stats.get("clustered_ops", 0),
            "clusters": host.get("clusters_placed", 0), "stock_mb": stock_mb, "tektite_mb": tektite_mb,
            "comparison": comparison_of(stats), "fallbacks": host.get("fallbacks"),
            "left_out": {k: v for k, v in stats.get("left_out", {}).items() if k not in EXPECTED},
            "fallback_examples": stats.get("fallback_examples")}


def is_wrong(row: dict) -> bool:
    return "error" in row or not row["difference"] <= row["tolerance"]


def cells(row: dict) -> list[str]:
    start = [row["case"], str(row["batch"]), str(row["threads"])]
    if "error" in row:
        return [*start, *["-"] * (len(HEADER) - 4), row["error"]]
    left = ", ".join(f"{k} {v['ops']}" for k, v in sorted(row["left_out"].items(), key=lambda x: -x[1]["ops"]) if v["ops"])
    return [*start, figures.short(row["stock_ms"]), figures.short(row["tektite_ms"]),
            figures.short(row["tektite_ms"] / row["stock_ms"]), f"{row['difference']:.1e}{'!' if is_wrong(row) else ''}",
            f"{row['clustered_ops']}/{row['ops']}", str(row["clusters"]),
            figures.short(row["tektite_mb"] / row["stock_mb"]), figures.short(row["tektite_first_s"]), left]
