"""One row of bench/epochs: a training script in stock TensorFlow and with Tektite, epoch by epoch in turns.

    row = run_script("mnist_convnet", threads=2, epochs=6)
    row["first"], row["later"]        # Tektite's part of stock's time: of the first epoch, of those from the third on
    print(figures.table(HEADER, [cells(row)]))

Both processes are alive at once.  In the first two epochs the one whose turn it is not is stopped by a signal, so that
it compiles nothing meanwhile; later both only wait.  (After a stop an epoch may take twice its time, on virtual
machines at least, without using more of the processors.)  Of the later epochs the quick quarter counts, of either side:
on two threads epochs come in two speeds, by how the system places threads.  Processor time is compared likewise: a
virtual machine whose cores are taken away for seconds shows it in the one and not in the other.
"""
import json
import os
import select
import signal
import subprocess
import tempfile

import numpy as np

from bench.harness import figures
from bench.harness.engines import ENGINES, ROOT, STOCK, TEKTITE, default_python, environment
from bench.harness.machine import QUIET
from bench.harness.process import NOT_LOADED, WorkerFailed

HEADER = ["script", "threads", "stock s", "Tektite s", "later", "CPU", "first", "second", "loss", "memory", "fallbacks", "left out"]
FIRST_LATER = 2  # epochs before this one, from 0, compile and compare
EXPECTED = {"HOST_BOUNDARY", "CHEAP_OUTPUT", "FETCHED", "TOO_SMALL"}


class EpochWorker:
    """A process that runs a script and waits before each epoch."""

    def __init__(self, script: str, engine: str, threads: int, epochs: int, scale: int, timeout: float):
        self.timeout, self.log = timeout, tempfile.TemporaryFile("w+", errors="replace")
        self.caches = tempfile.TemporaryDirectory()
        command = [default_python(), "-m", "bench.harness.epoch_worker", script, "--epochs", str(epochs),
                   "--threads", str(threads), "--scale", str(scale)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
            env=environment(ENGINES[engine], threads, {"XDG_CACHE_HOME": self.caches.name}))

    def epoch(self, then_stop: bool) -> dict:
        os.kill(self.process.pid, signal.SIGCONT)
        try:
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # what it said last tells why
        answer = self.answer()
        if then_stop:
            os.kill(self.process.pid, signal.SIGSTOP)
        return answer

    def last(self) -> dict:
        os.kill(self.process.pid, signal.SIGCONT)
        return self.answer()

    def answer(self) -> dict:
        if not select.select([self.process.stdout], [], [], self.timeout)[0]:
            raise WorkerFailed(f"no answer within {self.timeout:g} s")
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            said = [text.strip() for text in self.log if text.strip()]
            raise WorkerFailed(f"process ended with {self.process.wait(10)}: {said[-1][:300] if said else 'no message'}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerFailed(answer["error"])
        return answer

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.caches.cleanup()


def run_script(script: str, threads: int, epochs: int, scale: int = 1, timeout: float = 300.0) -> dict:
    row: dict = {"script": script, "threads": threads, "scale": scale}
    workers: dict[str, EpochWorker] = {}
    taken: dict[str, list[dict]] = {STOCK: [], TEKTITE: []}
    engine = STOCK
    try:
        for engine in taken:
            workers[engine] = EpochWorker(script, engine, threads, epochs, scale, timeout)
        for number in range(epochs):
            # The engine that begins finds the caches of the other: they take turns in that, too.
            for engine in taken if number % 2 else reversed(taken):
                taken[engine].append(workers[engine].epoch(then_stop=number < FIRST_LATER - 1))
        ends = {engine: workers[engine].last() for engine in taken}
        if ends[TEKTITE]["stats"] is None:
            raise WorkerFailed(NOT_LOADED)
        row |= figures_of(taken[STOCK], taken[TEKTITE])
        row |= {"stock_mb": ends[STOCK]["rss_mb"], "tektite_mb": ends[TEKTITE]["rss_mb"], "stats": ends[TEKTITE]["stats"],
                "stock_epochs": taken[STOCK], "tektite_epochs": taken[TEKTITE]}
    except WorkerFailed as error:
        row["error"] = f"{engine}: {error}"
    finally:
        for worker in workers.values():
            worker.close()
    return row


def figures_of(stock: list[dict], tektite: list[dict]) -> dict:
    ratios = [t["seconds"] / s["seconds"] for s, t in zip(stock, tektite)]
    differences = [abs(t["loss"] - s["loss"]) / max(abs(s["loss"]), 1e-6) for s, t in zip(stock, tektite)]
    quick, quick_cpu = ([float(np.quantile([e[what] for e in side[FIRST_LATER:]], 0.25)) for side in (stock, tektite)]
                        for what in ("seconds", "cpu"))
    return {"first": ratios[0], "second": ratios[1], "later": quick[1] / quick[0], "ratios": ratios,
            "later_cpu": quick_cpu[1] / max(quick_cpu[0], 1e-9),
            "stock_s": quick[0], "tektite_s": quick[1],
            "cpu": sum(e["cpu"] for e in tektite) / max(sum(e["cpu"] for e in stock), 1e-9),
            "loss_first": differences[0], "loss_difference": max(differences),
            "disturbed": max(e["others"] for e in stock + tektite) > QUIET}


def cells(row: dict) -> list[str]:
    start = [row["script"], str(row["threads"])]
    if "error" in row:
        return [*start, *["-"] * (len(HEADER) - 3), row["error"]]
    left = {k: v["ops"] for k, v in row["stats"].get("left_out", {}).items() if k not in EXPECTED and v["ops"]}
    host = row["stats"].get("host", {})
    return [*start, figures.short(row["stock_s"]), figures.short(row["tektite_s"]),
            figures.short(row["later"]) + ("?" if row["disturbed"] else ""), figures.short(row["later_cpu"]),
            figures.short(row["first"]), figures.short(row["second"]), f"{row['loss_difference']:.0e}", figures.short(row["tektite_mb"] / row["stock_mb"]),
            f"{sum(host.get('fallbacks', {}).values())}/{host.get('runs', 0)}",
            ", ".join(f"{k} {n}" for k, n in sorted(left.items(), key=lambda item: -item[1])[:4])]
