"""Runs TensorFlow programs in processes of their own, as a user would: the plugin is what is installed in the
environment of the Python that runs pytest.

    def test_something(run_program):
        result = run_program("report(y=f(x))", tektite="1")
        result.values["y"], result.stats["host"]["runs"], result.stderr

TEKTITE_LIBRARY, where set, names another build of the compiler. The programs are tiny and run a few times, so
the compiler is told that nothing is too small for it, to compile before it answers, not to give calls to
TensorFlow for comparison, and to measure no kernels (FLAGS); a program's own TEKTITE_FLAGS come after these.

TensorFlow uses oneDNN by default only where the CPU has AVX-512.  Results are compared with its oneDNN kernels on
every machine, since some ops have no other kernel (gradients of grouped convolutions, say); tests that compare with
its own kernels set TF_ENABLE_ONEDNN_OPTS=0 for their programs.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import pytest

from tests.program_server import Servers
from tests.skips import pytest_make_collect_report, pytest_runtest_makereport  # noqa: F401, pytest calls them

FLAGS = "--min_cluster_cost=0 --compile=sync --compare=false"

SERVERS = Servers()
# A disk cache of this session's own, not the user's; programs that the tests start inherit it.
_CACHE_HOME = tempfile.TemporaryDirectory(prefix="tektite_tests_")
os.environ["XDG_CACHE_HOME"] = _CACHE_HOME.name
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

PREAMBLE = """
import json, os, sys, threading
import numpy as np
import tensorflow as tf
import tektite

rng = np.random.default_rng(7)

def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)

def report(**values):
    def plain(value):
        if isinstance(value, (list, tuple)):
            return [plain(v) for v in value]
        if isinstance(value, dict):
            return {k: plain(v) for k, v in value.items()}
        if hasattr(value, "numpy"):
            value = value.numpy()
        return value.tolist() if hasattr(value, "tolist") else value
    print("REPORT " + json.dumps({"values": plain(values), "stats": tektite.stats()}), flush=True)
"""


@dataclasses.dataclass
class Result:
    """A program's reported values, the plugin's counters at that time, and the program's stderr."""

    values: dict[str, Any]
    stats: dict[str, Any]
    stderr: str

    @property
    def host(self) -> dict[str, Any]:
        return self.stats.get("host", {})

    def lines(self, start: str = "tektite:") -> list[str]:
        return [line for line in self.stderr.splitlines() if line.startswith(start)]


@dataclasses.dataclass
class Ended:
    """What a program reported, in order, and why it failed (empty: it did not)."""

    reports: list[dict[str, Any]]
    failure: str
    stderr: str


def run_reports(source: str, tektite: str | None = None, timeout: float = 300, fresh: bool = False,
                **environment: str) -> Ended:
    """Runs `source` after the preamble with TEKTITE set (None: unset). `fresh`: in a process that imports TensorFlow
    itself, and is no fork of one that has (program_server.py)."""
    env = {k: v for k, v in os.environ.items() if k not in ("TEKTITE", "TEKTITE_FLAGS")}
    env.update(TF_CPP_MIN_LOG_LEVEL="2", **environment)
    env["TEKTITE_FLAGS"] = f"{FLAGS} {environment.get('TEKTITE_FLAGS', '')}".strip()
    if tektite is not None:
        env["TEKTITE"] = tektite
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"  # a file, since AutoGraph reads the sources
        program.write_text(PREAMBLE + source)
        out, err = Path(folder) / "stdout", Path(folder) / "stderr"
        try:
            code, before = SERVERS.run(program, env, out, err, timeout, fresh)
            end = f"exit code {code}" if code else ""
        except subprocess.TimeoutExpired:
            before, end = "", f"no end after {timeout} s"
        stdout, stderr = out.read_text(), before + err.read_text()
    marked = [line.removeprefix("REPORT ") for line in stdout.splitlines() if line.startswith("REPORT ")]
    reports = [json.loads(line) for line in marked]
    end = end or ("" if reports else "no report")
    return Ended(reports, f"{end}\n{stdout}\n{stderr}" if end else "", stderr)


def run(source: str, tektite: str | None = None, timeout: float = 300, fresh: bool = False, **environment: str) -> Result:
    """`run_reports`, which must not fail, and what it reported last."""
    ended = run_reports(source, tektite, timeout, fresh, **environment)
    if ended.failure:
        raise AssertionError(ended.failure)
    return Result(ended.reports[-1]["values"], ended.reports[-1]["stats"], ended.stderr)


def run_plain_and_compiled(source: str, **environment: str) -> tuple[Result, Result]:
    """`run` with TEKTITE=0 and with TEKTITE=1, at the same time: most of a program is importing TensorFlow."""
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(run, source, tektite=switch, **environment) for switch in ("0", "1")]
        return jobs[0].result(), jobs[1].result()


def installed_folder() -> Path | None:
    """site-packages/tektite/lib of this Python, where the plugin is installed."""
    spec = importlib.util.find_spec("tektite")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "lib"


@pytest.fixture
def run_pair(run_program) -> Callable[..., tuple[Result, Result]]:
    """`run_plain_and_compiled` above; fails where `run_program` does."""
    return run_plain_and_compiled


@pytest.fixture
def run_program() -> Callable[..., Result]:
    """`run` above; fails where no plugin is installed."""
    folder = installed_folder()
    if folder is None or not any(folder.glob("libtektite_tf-*.so")):
        pytest.fail("the plugin is not installed here (scripts/setup does it)")
    if "TEKTITE_LIBRARY" not in os.environ and not (folder / "libtektite.so").exists():
        pytest.fail("the plugin is installed without its compiler")
    return run
