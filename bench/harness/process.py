"""A worker process, seen from the program that compares.

    with Worker(Task("bench.models", "bert_base", threads=2), ENGINES["tektite"]) as worker:
        first = worker.outputs(Path("out.npz"))     # seconds of the first call
        times = worker.times(3.0)                   # milliseconds of each call during 3 s
        stats, rss_mb = worker.stats()

Raises WorkerFailed with one line (what the worker said, or the end of its stderr).
"""
import json
import select
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.harness.engines import ROOT, STOCK, ENGINES, Engine, default_python, environment
from bench.harness.runners import statistics_file
from bench.models.workload import Workload

CACHE = ROOT / "build" / "bench"
NOT_LOADED = "Tektite is not loaded in this Python: run scripts/setup, which installs it into build/venv"


class WorkerFailed(RuntimeError):
    pass


@dataclass(frozen=True)
class Task:
    module: str
    workload: str
    threads: int
    python: str = field(default_factory=default_python)
    timeout: float = 900.0  # seconds for one answer
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def cache(self) -> Path:
        """Batch-norm statistics of this module's workloads: two modules may use the same names."""
        return CACHE / Path(self.module).stem


class Worker:
    def __init__(self, task: Task, engine: Engine, prepare: bool = False):
        command = [task.python, "-m", "bench.harness.worker", "--module", task.module,
                   "--workload", task.workload, "--engine", engine.name,
                   "--threads", str(task.threads), "--cache", str(task.cache)]
        self.timeout, self.log = task.timeout, tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(
            command + ["--prepare"] * prepare, cwd=ROOT, text=True, stderr=self.log,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=environment(engine, dict(task.environment)))
        try:
            self._answer()
        except WorkerFailed:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()

    def ask(self, **request) -> dict[str, Any]:
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise WorkerFailed(self._last_words()) from None
        return self._answer()

    def outputs(self, save: Path) -> float:
        return self.ask(do="outputs", save=str(save))["seconds"]

    def times(self, seconds: float) -> list[float]:
        return self.ask(do="time", seconds=seconds)["ms"]

    def stats(self) -> tuple[dict[str, Any] | None, float]:
        answer = self.ask(do="stats")
        return answer["stats"], answer["rss_mb"]

    def _answer(self) -> dict[str, Any]:
        if not select.select([self.process.stdout], [], [], self.timeout)[0]:
            raise WorkerFailed(f"no answer within {self.timeout:.0f} s")
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": self._last_words()}
        if "error" in answer:
            raise WorkerFailed(answer["error"])
        return answer

    def _last_words(self) -> str:
        code = self.process.wait()
        self.log.seek(0)
        lines = [line.strip() for line in self.log if line.strip()]
        return f"process ended with {code}: {lines[-1][:300] if lines else 'no message'}"


def prepare(task: Task, workload: Workload) -> None:
    """Batch-norm statistics that the workers read, in a process of its own: computing them would
    count into a measured process's memory."""
    if workload.calibrate and not statistics_file(workload, task.cache).exists():
        Worker(task, ENGINES[STOCK], prepare=True).close()
