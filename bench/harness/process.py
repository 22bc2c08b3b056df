"""A worker process, seen from the program that compares.

    with Worker(Task("bench.models", "bert_base", threads=2), ENGINES["tektite"]) as worker:
        first = worker.outputs(Path("out.npz"))     # seconds of the first call
        times, others = worker.times(3.0)           # milliseconds of each call during 3 s, other load
        stats, rss_mb = worker.stats()              # counters, and the peak of its memory so far

Raises WorkerFailed with one line (what the worker said, or the end of its stderr).
"""
import json
import select
import subprocess
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Iterable, NamedTuple

from bench.harness.engines import (ROOT, STOCK, ENGINES, Engine, default_python, environment,
                                   python_of)
from bench.harness.litert_model import litert_file
from bench.harness.onnx_export import onnx_file
from bench.harness.runners import statistics_file
from bench.models.workload import Workload

CACHE = ROOT / "build" / "bench"
NOT_LOADED = "Tektite is not loaded in this Python: run scripts/setup, which installs it into build/venv"


class WorkerFailed(RuntimeError):
    pass


class Times(NamedTuple):
    ms: list[float]
    others: float  # CPUs that other programs used meanwhile


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


class Answering:
    """A process that answers lines of JSON on stdin with lines of JSON, the first of them without being asked."""

    def __init__(self, command: list[str], environment: dict[str, str], timeout: float) -> None:
        self.timeout, self.log = timeout, tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(command, cwd=ROOT, text=True, stderr=self.log, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=environment)
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

    def _answer(self) -> dict[str, Any]:
        if not select.select([self.process.stdout], [], [], self.timeout)[0]:
            raise WorkerFailed(f"no answer within {self.timeout:g} s")
        line = self.process.stdout.readline()
        try:
            answer = json.loads(line) if line else {"error": self._last_words()}
        except ValueError:
            raise WorkerFailed(f"answered {line[:100]!r}") from None
        if "error" in answer:
            raise WorkerFailed(answer["error"])
        return answer

    def _last_words(self) -> str:
        try:
            code = self.process.wait(10)
        except subprocess.TimeoutExpired:
            return "closed its output and went on"
        self.log.seek(0)
        lines = [line.strip() for line in self.log if line.strip()]
        return f"process ended with {code}: {lines[-1][:300] if lines else 'no message'}"


class Worker(Answering):
    def __init__(self, task: Task, engine: Engine, *options: str):
        """`options` are the worker's own, such as --profile.  Caches on disk begin empty and end with the process: no
        earlier process has prepared a first call."""
        python = python_of(engine, task.python)
        if not Path(python).exists():
            raise WorkerFailed(f"not installed: bench/setup_rivals {engine.family}")
        command = [python, "-m", "bench.harness.worker", "--module", task.module,
                   "--workload", task.workload, "--engine", engine.name,
                   "--threads", str(task.threads), "--cache", str(task.cache), *options]
        self.caches = tempfile.TemporaryDirectory()
        extra = {"XDG_CACHE_HOME": self.caches.name, **dict(task.environment)}
        super().__init__(command, environment(engine, task.threads, extra), task.timeout)

    def close(self) -> None:
        super().close()
        self.caches.cleanup()

    def outputs(self, save: Path) -> float:
        return self.ask(do="outputs", save=str(save))["seconds"]

    def settled_outputs(self, save: Path) -> bool | None:
        """After warm(): results of a call that compiled code answered; False where there was none."""
        return self.ask(do="settled_outputs", save=str(save))["compiled"]

    def warm(self, seconds: float) -> None:
        """Calls for so long, and until code that is made behind the calls is there."""
        self.ask(do="warm", seconds=seconds)

    def times(self, seconds: float, calls: int = 1, warmup: bool = False) -> Times:
        return Times(**self.ask(do="time", seconds=seconds, calls=calls, warmup=warmup))

    def requests(self, order: list[int], save: Path, warmup: bool = False) -> Times:
        """Of a dynamic workload, by index: milliseconds of each; `save` gets samples of the results."""
        return Times(**self.ask(do="requests", order=order, save=str(save), warmup=warmup))

    def weights_mb(self) -> float:
        return self.ask(do="stats")["weights_mb"]

    def layers(self) -> list[dict[str, Any]]:
        return self.ask(do="layers")["layers"]

    def stats(self) -> tuple[dict[str, Any] | None, float]:
        answer = self.ask(do="stats")
        return answer["stats"], answer["rss_mb"]


def in_turns(workers: dict[str, Worker], seconds: float, rounds: int = 5) -> dict[str, list[float]]:
    """Milliseconds of each call of each worker, `seconds` for each."""
    times: dict[str, list[float]] = {run: [] for run in workers}
    for _ in range(rounds):
        for run, worker in workers.items():
            worker.times(0, 2)  # the caches are another process's
            times[run] += worker.times(seconds / rounds).ms
    return times


def prepare(task: Task, workload: Workload, engines: Iterable[Engine] = ()) -> None:
    """Files that the workers read, made in processes of their own, since making them would count into
    a measured process's memory: batch-norm statistics, and the files of other formats that an engine reads."""
    if workload.calibrate and not statistics_file(workload, task.cache).exists():
        Worker(task, ENGINES[STOCK], "--then", "prepare").close()
    if any(e.reads == "onnx" for e in engines) and not onnx_file(workload, task.cache).exists():
        Worker(task, replace(ENGINES[STOCK], family="export"), "--then", "export").close()
    for engine in engines:
        if engine.reads == "tflite" and not litert_file(workload, task.cache, engine.low_precision).exists():
            Worker(task, ENGINES[STOCK], "--then", "litert_int8" if engine.low_precision else "litert").close()
