"""``tektite bench MODEL``: how long calls of a SavedModel or of a file of Keras's take, beside what else is installed.

    tektite bench resnet/                           # Tektite and plain TensorFlow, batch 1
    tektite bench resnet/ --batch 8 --threads 2
    tektite bench resnet/ --sweep --html sweep.html # batches and threads: which are best?

Inputs are made for the signature: sizes that it leaves open are 1, the first of an input --batch. Each engine has a process
of its own; the processes take turns, after a warm-up. OpenVINO, ONNX Runtime (with tf2onnx) and LiteRT run beside
them where they are installed. IR text and frozen graphs are the compiler's own command's (build/bin/tektite bench --help).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

from tektite import _bench_engines, _bench_worker, _models, _output
from tektite._bench_worker import Failed, Worker

_ROUNDS = 4


def quantile(times: list[float], rank: float) -> float:
    """Of sorted times."""
    return times[min(int(rank * len(times)), len(times) - 1)]


def _measure(path: str, names: list[str], batch: int, threads: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each engine: milliseconds, or why it did not run."""
    rows: dict[str, dict[str, Any]] = {}
    workers: dict[str, Worker] = {}
    try:
        for name in names:
            rows[name] = {"engine": name, "batch": batch, "threads": threads}
            _output.show(f"{_bench_engines.LABELS[name]}: first call, and warm-up")
            try:
                workers[name] = Worker(name, path, batch, threads, options.signature)
                rows[name] |= workers[name].ask({"do": "first"})
                workers[name].ask({"do": "warm", "seconds": options.warmup})
            except Failed as error:
                rows[name]["error"] = str(error)
                workers.pop(name, None)
        times: dict[str, list[float]] = {name: [] for name in workers}
        for turn in range(_ROUNDS):
            for name in [*workers]:
                _output.show(f"{_bench_engines.LABELS[name]}: turn {turn + 1} of {_ROUNDS}")
                try:
                    times[name] += workers[name].ask({"do": "time", "seconds": options.seconds / _ROUNDS})["ms"]
                except Failed as error:
                    rows[name]["error"] = str(error)
                    workers.pop(name).close()
        for name, worker in workers.items():
            ms = sorted(times[name])
            rows[name] |= {"calls": len(ms), "median_ms": statistics.median(ms), "p10_ms": quantile(ms, 0.1),
                           "p90_ms": quantile(ms, 0.9), "p99_ms": quantile(ms, 0.99), "least_ms": ms[0],
                           "per_second": batch * 1e3 / statistics.median(ms), **worker.ask({"do": "memory"})}
    finally:
        _output.clear()
        for worker in workers.values():
            worker.close()
    return list(rows.values())


def _cells(row: dict[str, Any], plain: float | None) -> tuple[str, ...]:
    start = (_bench_engines.LABELS[row["engine"]], str(row["batch"]), str(row["threads"]))
    if "error" in row:
        return (*start, *["-"] * 7, row["error"])
    faster = f"{plain / row['median_ms']:.2f}" if plain else "-"
    return (*start, f"{row['median_ms']:.3f}", f"{row['p10_ms']:.3f}", f"{row['p90_ms']:.3f}", f"{row['p99_ms']:.3f}",
            f"{row['per_second']:.1f}", faster, f"{row['first_ms']:.0f}", f"{row['rss_mb']:.0f} MB")


_HEAD = ("engine", "batch", "threads", "median ms", "p10", "p90", "p99", "per second", "times plain", "first ms", "memory")


def table(rows: list[dict[str, Any]]) -> str:
    plain = {(r["batch"], r["threads"]): r["median_ms"] for r in rows if r["engine"] == "tf" and "median_ms" in r}
    return _output.table(_HEAD, [_cells(row, plain.get((row["batch"], row["threads"]))) for row in rows])


def knee(rows: list[dict[str, Any]], engine: str = "tektite") -> dict[str, Any] | None:
    """The smallest batch and number of threads from which on more of either brings less than a tenth in throughput."""
    own = sorted((row for row in rows if row["engine"] == engine and "median_ms" in row),
                 key=lambda row: (row["batch"] * row["threads"], row["batch"]))
    best = max((row["per_second"] for row in own), default=0.0)
    return next((row for row in own if row["per_second"] >= 0.9 * best), None)


def _steps(most: int) -> Iterator[int]:
    step = 1
    while step < most:
        yield step
        step *= 2
    yield most


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tektite bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    cpus = len(os.sched_getaffinity(0))
    parser.add_argument("model", metavar="MODEL", help="a SavedModel's folder, or a .keras or .h5 file")
    parser.add_argument("--batch", type=int, default=1, help="where the signature leaves it open (1); the sweep's largest (32)")
    parser.add_argument("--threads", type=int, default=0, help=f"of each engine ({cpus}, the CPUs)")
    parser.add_argument("--signature", default="", help="of a SavedModel (serving_default)")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long the calls of each engine are timed (2)")
    parser.add_argument("--warmup", type=float, default=1.0, help="seconds of calls before that (1)")
    parser.add_argument("--engines", default="", help=f"with commas between them: {', '.join(_bench_engines.LABELS)}")
    parser.add_argument("--sweep", action="store_true", help="batches and threads in powers of two, and the knee named")
    parser.add_argument("--json", action="store_true", help="print JSON in the table's place")
    parser.add_argument("--html", metavar="FILE", help="write a page with pictures there (needs plotly)")
    options = parser.parse_args(arguments)
    if options.batch < 1 or options.threads < 0 or options.seconds < 0 or options.warmup < 0:
        parser.error("--batch must be positive, the other numbers not negative")
    if unknown := [name for name in options.engines.split(",") if name and name not in _bench_engines.LABELS]:
        parser.error(f"no engine {unknown[0]}; there are {', '.join(_bench_engines.LABELS)}")
    options.threads = options.threads or cpus
    if options.sweep and options.batch == 1:
        options.batch = 32
    return options


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--worker"]:
        return _bench_worker.work(arguments[1:])
    options = _arguments(arguments)
    _models.require(options.model)
    page = _output.page_to_write(options.html)
    names = options.engines.split(",") if options.engines else _bench_engines.installed()
    places = ([(batch, threads) for batch in _steps(options.batch) for threads in _steps(options.threads)]
              if options.sweep else [(options.batch, options.threads)])
    rows: list[dict[str, Any]] = []
    begin = time.monotonic()
    for done, (batch, threads) in enumerate(places):
        rows += _measure(options.model, names, batch, threads, options)
        if options.sweep:
            left = (time.monotonic() - begin) / (done + 1) * (len(places) - done - 1)
            print(f"batch {batch}, {threads} threads done, {left:.0f} s to go", file=sys.stderr)
    result: dict[str, Any] = {"model": options.model, "cpus": len(os.sched_getaffinity(0)), "rows": rows}
    best = knee(rows) if options.sweep else None
    if best is not None:
        result["knee"] = {"batch": best["batch"], "threads": best["threads"], "per_second": best["per_second"]}
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        inputs: dict[str, str] = next((row["inputs"] for row in rows if "inputs" in row), {})
        print(f"{options.model}: " + ", ".join(f"{name} {kind}" for name, kind in inputs.items()))
        print(table(rows))
        if best is not None:
            print(f"\nThe knee is at batch {best['batch']} and {best['threads']} threads, {best['per_second']:.1f} a second: "
                  "more of either brings less than a tenth.")
    if page is not None:
        from tektite import _bench_page

        page.write_text(_bench_page.render(result), encoding="utf-8")
    return int(any("error" in row for row in rows if row["engine"] in ("tf", "tektite")))
