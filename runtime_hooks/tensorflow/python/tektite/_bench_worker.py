"""One engine on one model in one process, steered by JSON lines; both ends of the pipe.

    {"do": "first"}                -> {"first_ms": x, "inputs": {...}}    loads the model and calls it once
    {"do": "warm", "seconds": s}   -> {}                                  and waits for code that is being compiled
    {"do": "time", "seconds": s}   -> {"ms": [a, b, ...]}                 ten calls at least
    {"do": "memory"}               -> {"rss_mb": n}                       at most, so far

A failure is {"error": "..."} and ends the process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from tektite import _bench_engines, _models, _output, _profile_data

_FEWEST = 10


class Failed(Exception):
    """Why an engine did not run the model, in a line."""


class Worker:
    def __init__(self, name: str, path: str, batch: int, threads: int, signature: str) -> None:
        environment = {**os.environ, "TEKTITE": "1" if name == "tektite" else "0", "TF_CPP_MIN_LOG_LEVEL": "3",
                       "OMP_NUM_THREADS": str(threads), "TF_NUM_INTRAOP_THREADS": str(threads)}
        self.said = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tektite", "bench", "--worker", name, path, str(batch), str(threads), signature],
            env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said)

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.said.seek(0)
            lines = self.said.read().strip().splitlines()
            raise Failed((lines or [f"ended with code {self.process.returncode}"])[-1][:_models.MOST_ERROR])
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            self.close()
            raise Failed(answer["error"])
        return answer

    def close(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _calls(engine: _bench_engines.Engine, seconds: float) -> list[float]:
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < _FEWEST or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        engine.call()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def work(arguments: list[str]) -> int:
    name, path, batch, threads, signature = arguments
    answers = _output.keep_stdout()
    engine: _bench_engines.Engine | None = None
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer: dict[str, Any] = {}
            if engine is None:
                begin = time.perf_counter()
                engine = _bench_engines.ENGINES[name](path, int(batch), int(threads), signature)
                engine.call()
                answer = {"first_ms": (time.perf_counter() - begin) * 1e3, "inputs": engine.inputs}
            elif question["do"] == "warm":
                if name == "tektite":
                    from tektite import wait_until_compiled

                    wait_until_compiled()
                _calls(engine, question["seconds"])
            elif question["do"] == "time":
                answer = {"ms": _calls(engine, question["seconds"])}
            elif question["do"] == "memory":
                answer = {"rss_mb": _profile_data.peak_memory() / 2**20}
        except BaseException as error:  # one engine's failure is a row of the table
            answers.write(json.dumps({"error": _models.in_a_line(error)}) + "\n")
            return 1
        answers.write(json.dumps(answer) + "\n")
    return 0
