"""Runs many TensorFlow programs, each in a process of its own, for the price of one import of TensorFlow.

    code, stderr = Servers().run(program, environment, stdout_file, stderr_file, timeout=300)

Why: importing TensorFlow and Keras takes some four seconds of a CPU, and a test's program some tenths. A server has
imported both, has called nothing of them, and forks for every program, which then runs as ``__main__`` and ends as
any Python process does.

There is a server for each environment that an import may read; LATE names the variables that are read later, and set in
the fork. An environment that comes once is not worth a server: its program has a process from the start, as has one that
asks for it (what a program measures of its whole process differs in a fork).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path

LATE = ("DELAYING_TEKTITE_", "FAKE_TEKTITE_", "METRICS", "PYTEST_CURRENT_TEST", "STATS", "TEKTITE_FLAGS", "TEKTITE_LIBRARY",
        "THREADS", "XDG_CACHE_HOME")
MOST_SERVERS = 4  # some 500 MB each, most of it shared between a server and its forks


class Server:
    def __init__(self, environment: dict[str, str]) -> None:
        self.lock = threading.Lock()
        self.stderr = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([sys.executable, __file__], env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.stderr, text=True)

    def run(self, program: Path, environment: dict[str, str], out: Path, err: Path, timeout: float) -> int:
        """The exit code. A server that does not answer raises OSError or ValueError."""
        assert self.process.stdin is not None and self.process.stdout is not None
        request = {"program": str(program), "environment": environment, "out": str(out), "err": str(err)}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        child = json.loads(self.process.stdout.readline())
        late = threading.Event()

        def stop() -> None:
            late.set()
            os.kill(child, signal.SIGKILL)

        timer = threading.Timer(timeout, stop)
        timer.start()
        try:
            code = json.loads(self.process.stdout.readline())
        finally:
            timer.cancel()
        if late.is_set():
            raise subprocess.TimeoutExpired(str(program), timeout)
        assert isinstance(code, int)
        return code

    def said(self) -> str:
        """What it wrote on stderr while it imported."""
        self.stderr.seek(0)
        return self.stderr.read()

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


class Servers:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: set[frozenset[tuple[str, str]]] = set()
        self._servers: OrderedDict[frozenset[tuple[str, str]], Server] = OrderedDict()

    def run(self, program: Path, environment: dict[str, str], out: Path, err: Path, timeout: float,
            fresh: bool = False) -> tuple[int, str]:
        """The exit code, and what has been written on stderr before the program began."""
        server = None if fresh else self._take(environment)
        if server is None:
            with out.open("w") as stdout, err.open("w") as stderr:
                done = subprocess.run([sys.executable, str(program)], env=environment, timeout=timeout, stdout=stdout,
                                      stderr=stderr, check=False)
            return done.returncode, ""
        try:
            return server.run(program, environment, out, err, timeout), server.said()
        finally:
            server.lock.release()

    def _take(self, environment: dict[str, str]) -> Server | None:
        """Locked; None where there is none that is free, or none that would pay."""
        early = {name: value for name, value in environment.items() if not name.startswith(LATE)}
        key = frozenset(early.items())
        with self._lock:
            if key not in self._seen:
                self._seen.add(key)
                return None
            if key not in self._servers:
                while len(self._servers) >= MOST_SERVERS:
                    oldest, idle = next(iter(self._servers.items()))
                    if not idle.lock.acquire(blocking=False):
                        return None
                    del self._servers[oldest]
                    idle.stop()
                self._servers[key] = Server(early)
            self._servers.move_to_end(key)
            server = self._servers[key]
            return server if server.lock.acquire(blocking=False) else None

    def stop(self) -> None:
        with self._lock:
            for server in self._servers.values():
                server.stop()
            self._servers.clear()


def _next_program() -> dict[str, str]:
    """Returns in the fork that is to run it."""
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            return request
        print(json.dumps(child), flush=True)
        print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])), flush=True)
    os._exit(0)


def _become(request: dict) -> Path:
    """Takes over the program's environment and files."""
    os.environ.clear()
    os.environ.update(request["environment"])
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for descriptor, path, how in ((0, os.devnull, os.O_RDONLY), (1, request["out"], flags), (2, request["err"], flags)):
        opened = os.open(path, how)
        os.dup2(opened, descriptor)
        os.close(opened)
    program = Path(request["program"])
    sys.argv = [str(program)]
    sys.path[0] = str(program.parent)
    return program


if __name__ == "__main__":
    import gc

    import numpy as np
    import tensorflow as tf

    tf.keras.layers  # loads Keras
    gc.freeze()  # a collection in a fork would touch, and so copy, every page of what has been imported
    _program = _become(_next_program())
    np.random.seed()
    __file__ = str(_program)
    exec(compile(_program.read_text(), __file__, "exec", dont_inherit=True), globals())
