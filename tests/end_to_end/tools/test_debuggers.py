"""GDB and perf show kernels with the names of layers (`--jit_names`)."""
import os
import re
import shutil
import subprocess

import numpy as np
import pytest
from test_cli import COMMAND

# The node of a layer.
GRAPH = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 10 } } } } }
node { name: "net/head/probabilities" op: "Softmax" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
"""
SYMBOL = "k0_row_mul_of_head"


@pytest.fixture
def call(tmp_path):
    """The words of a command that runs one kernel."""
    (tmp_path / "net.pbtxt").write_text(GRAPH)
    np.save(tmp_path / "x.npy", np.zeros((2, 10), np.float32))
    return [COMMAND, "run", tmp_path / "net.pbtxt", "-i", tmp_path / "x.npy"]


def run(words, **environment):
    done = subprocess.run(list(map(str, words)), text=True, capture_output=True, timeout=300,
                          env={**os.environ, "DEBUGINFOD_URLS": "", **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_gdb_stops_in_a_kernel_and_knows_its_layer(call):
    if shutil.which("gdb") is None:
        pytest.skip("no GDB")
    said = run(["gdb", "-nx", "-batch", "-ex", "set breakpoint pending on", "-ex", f"break {SYMBOL}", "-ex", "run",
                "-ex", "info symbol $pc", "-ex", "backtrace 2", "--args", *call], TEKTITE_FLAGS="--jit_names=gdb")
    assert re.search(rf"^{SYMBOL} in section", said, re.M), said
    # Behind the kernel there is what called it.
    assert re.search(rf"^#0 .*\b{SYMBOL}\b.*\n#1 .*\bKernel", said, re.M), said


def test_perf_is_told_the_names(call, tmp_path):
    """In the file that `perf inject --jit` reads."""
    run(call, TEKTITE_FLAGS="--jit_names=perf", JITDUMPDIR=str(tmp_path))
    (dump,) = tmp_path.rglob("*.dump")
    assert dump.read_bytes()[:4] == b"DTiJ" and SYMBOL.encode() in dump.read_bytes()


def test_perf_shows_the_names(call, tmp_path):
    """The commands of docs/design/compilation.md."""
    if shutil.which("perf") is None:
        pytest.skip("no perf")
    data, named = tmp_path / "perf.data", tmp_path / "named.data"
    run(["perf", "record", "-e", "cpu-clock", "-k", "mono", "-o", data, *call, "--repeat", 100000],
        TEKTITE_FLAGS="--jit_names=perf", JITDUMPDIR=str(tmp_path))
    run(["perf", "inject", "--jit", "-i", data, "-o", named])
    assert SYMBOL in run(["perf", "report", "-i", named, "--stdio"])
