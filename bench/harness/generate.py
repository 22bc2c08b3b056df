"""One row of bench/generate: a model that writes text, in every engine at once, in turns.

    row = run_model("gpt2", threads=1, seconds=1.0)
    row["ms"]["tektite"], row["difference"]["jax"]
    print(figures.table(HEADER, [cells(row)]))
"""
import tempfile
from pathlib import Path

from bench.harness import figures
from bench.harness.engines import ENGINES, ROOT, STOCK, TEKTITE
from bench.harness.process import Task, Worker, WorkerFailed, in_turns
from bench.harness.shipped import PACKAGES
from bench.harness.sweep import quick
from bench.shipped_programs.generation import MARKED

XLA, JAX, BOTH = "xla", "jax", "tektite_xla"
RUNS = {STOCK: (STOCK, ""), XLA: (STOCK, MARKED), JAX: (JAX, ""), TEKTITE: (TEKTITE, ""), BOTH: (TEKTITE, MARKED)}
HEADER = ["model", "stock ms", "XLA ms", "JAX ms", "Tektite ms", "Tektite, marked for XLA", "of stock", "of XLA", "of JAX",
          "compiled", "clusters", "other tokens"]


def run_model(model: str, threads: int, seconds: float) -> dict:
    """Milliseconds of a call of each engine, the least tenth of all; a rival that fails has none."""
    environment = (("PYTHONPATH", f"{ROOT}:{PACKAGES}"),)
    row: dict = {"model": model, "threads": threads, "ms": {}, "difference": {}, "errors": {}}
    workers: dict[str, Worker] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            for run, (engine, mark) in RUNS.items():
                task = Task("bench.shipped_programs.generation", model + mark, threads, timeout=600.0, environment=environment)
                try:
                    workers[run] = Worker(task, ENGINES[engine])
                    workers[run].outputs(folder / f"{run}.first.npz")
                    workers[run].warm(seconds)
                except WorkerFailed as error:
                    row["errors"][run] = str(error)
                    if run in workers:
                        workers.pop(run).close()
            times = in_turns(workers, seconds)
            for run, worker in workers.items():
                worker.settled_outputs(folder / f"{run}.npz")
                row["difference"][run] = figures.largest_difference(folder / f"{STOCK}.first.npz", folder / f"{run}.npz")
                row["ms"][run] = quick(times[run])
            stats = workers[TEKTITE].stats()[0] if TEKTITE in workers else None
            row["stats"] = stats or {}
        finally:
            for worker in workers.values():
                worker.close()
    return row


def cells(row: dict) -> list[str]:
    ms, stats = row["ms"], row["stats"]

    def ratio(rival: str) -> str:
        return figures.short(ms[rival] / ms[TEKTITE]) if rival in ms and TEKTITE in ms else "-"

    other = [run for run, difference in row["difference"].items() if difference > 0]
    return [row["model"], *(figures.short(ms.get(run)) for run in RUNS), ratio(STOCK), ratio(XLA), ratio(JAX),
            f"{stats.get('clustered_ops', 0)}/{stats.get('ops', 0)}", str(stats.get("host", {}).get("clusters_placed", 0)),
            ", ".join(other) or "none"]
