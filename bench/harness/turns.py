"""Runs engines on workloads, in turns, each in a process of its own: what bench/compare measures.

    rows = run_all(options, [ENGINES["tf"], ENGINES["tektite"]], keep=print)

A row is one process: its figures, or "error" with the reason it has none.  `keep` gets all rows so far
after each turn, so that a run of hours that is cut short was not for nothing.
"""
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from bench.harness import figures
from bench.harness.engines import STOCK, TEKTITE, Engine
from bench.harness.machine import QUIET, Distance
from bench.harness.process import NOT_LOADED, Task, Worker, WorkerFailed, prepare
from bench.models import WORKLOADS


@dataclass
class Options:
    models: list[str]
    threads: list[int]
    repeat: int
    seconds: float
    timeout: float
    python: str
    again: int = 1  # how often a disturbed measurement is made once more


def report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run_all(options: Options, engines: list[Engine], keep: Callable[[list[dict]], None]) -> list[dict]:
    rows, begin = [], time.monotonic()
    total = len(options.threads) * options.repeat * len(options.models) * len(engines)
    hopeless: set[tuple[str, str, int]] = set()
    for threads in options.threads:
        for repetition in range(options.repeat):
            for name in options.models:
                turn = [e for e in engines if (name, e.name, threads) not in hopeless]
                rows += run_turn(options, turn, name, threads, repetition)
                # A rival that cannot run a workload is not asked again: some need minutes to fail.
                hopeless |= {(name, e.name, threads) for e, row in zip(turn, rows[-len(turn):])
                             if e.rival and "error" in row}
                keep(rows)
                done = rounds_done(options, threads, repetition, name) * len(engines)
                left = (time.monotonic() - begin) / done * (total - done)
                report(f"{done}/{total} processes done, about {left:.0f} s to go")
    return rows


def rounds_done(options: Options, threads: int, repetition: int, name: str) -> int:
    rounds = options.threads.index(threads) * options.repeat + repetition
    return rounds * len(options.models) + options.models.index(name) + 1


def run_turn(options: Options, engines: list[Engine], name: str, threads: int,
             repetition: int) -> list[dict]:
    """Every engine once on one workload."""
    rows, task = [], Task("bench.models", name, threads, options.python, options.timeout)
    with tempfile.TemporaryDirectory() as folder:
        for engine in engines:
            row = {"model": name, "engine": engine.name, "threads": threads, "repetition": repetition}
            try:
                row |= run_one(options, task, engine, Path(folder))
                outcome = f"{figures.short(row['ms'])} ms" + (
                    f", disturbed by {row['others']:.2f} CPUs" if row["others"] > QUIET else "")
            except WorkerFailed as error:
                outcome = row["error"] = str(error)
            report(f"{name} · {engine.label} · {threads} threads · {outcome}")
            rows.append(row)
    return rows


def run_one(options: Options, task: Task, engine: Engine, folder: Path) -> dict:
    workload = WORKLOADS[task.workload]
    if workload.kind not in engine.kinds:
        raise WorkerFailed(f"does not run workloads of kind {workload.kind}")
    prepare(task, workload, [engine])
    row = measure(task, engine, options, folder)
    reference = folder / f"{STOCK}.npz"
    if reference.exists():
        # The worse of the first call's results and the last's: what runs before the compiled code is
        # there must be right as well.
        row["difference"] = max(
            figures.largest_difference(reference, folder / f"{engine.name}{kind}.npz")
            for kind in ("", ".first"))
        row["double"] = figures.has_double(reference)
    return row


def measure(task: Task, engine: Engine, options: Options, folder: Path) -> dict:
    """One process: first call, warm-up, timed calls, and both the first and the last results kept."""
    with Worker(task, engine) as worker:
        first = worker.outputs(folder / f"{engine.name}.first.npz")
        worker.warm(engine.warm_seconds)
        with Distance(task.threads) as distance:
            best = worker.times(options.seconds)
            for _ in range(options.again):
                if best.others <= QUIET:
                    break
                best = min(best, worker.times(options.seconds), key=lambda times: times.others)
        compiled = worker.settled_outputs(folder / f"{engine.name}.npz")
        counters, rss_mb = worker.stats()
        weights_mb = worker.weights_mb()
    if engine.name == TEKTITE and counters is None:
        raise WorkerFailed(NOT_LOADED)
    return {"ms": statistics.median(best.ms), "calls": len(best.ms), "others": best.others,
            "transfer_ns": distance.ns, "first_s": first, "rss_mb": rss_mb, "weights_mb": weights_mb,
            "stats": counters, "compiled": compiled}
