"""Graphs of the conformance suite as libraries: the JIT's bits here, and results that are close on AArch64 (qemu-user).

`bench/ahead_of_time --suite 1` does this with all of them.
"""
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench.harness.library_counts import CLOSE, CROSS, SAME, answer, missing_tools, suite_graphs
from tests.ahead_of_time.test_libraries import mlp, tektite

# Products of bytes are AMX's, where there is one: a program that did not ask the system for it ended with SIGILL.
TESTS = {"BytesDoNotSaturate": 1, "Convolutions": 9, "Depthwise": 7, "DotEpilogues": 7, "Pooling": 12, "SoftmaxOfEveryShape": 13,
         "UnaryOps": 40}
# Kernels of libtektite_kernels.a.
TESTS |= {"TopK": 16, "Fft": 8, "Compact": 4, "UniqueRows": 3, "NonMaxSuppression": 2, "SolveByElimination": 3, "Svd": 8,
          "Eigh": 6}


def needs_tools():
    missing = missing_tools("armv8-a")
    if "aarch64-linux-gnu-gcc" in missing:
        pytest.skip("no aarch64-linux-gnu-gcc")
    if "aarch64-linux-gnu-g++" in missing:
        pytest.skip("no aarch64-linux-gnu-g++")
    if missing:
        pytest.skip("no qemu-aarch64")


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """Some of each of these tests."""
    folder = tmp_path_factory.mktemp("graphs")
    chosen = []
    for test, every in TESTS.items():
        (folder / test).mkdir()
        chosen += list(suite_graphs(folder / test, f"*.{test}"))[::every]
    assert len(chosen) >= 2 * len(TESTS) - 1
    return chosen


def answers(graphs, cpu, tmp_path):
    with ThreadPoolExecutor(2) as workers:
        return dict(zip(graphs, workers.map(lambda path: answer(path, cpu, tmp_path / path.stem), graphs)))


def test_the_jits_bits(graphs, tmp_path):
    for path, given in answers(graphs, "native", tmp_path).items():
        assert given == SAME, (path.name, given)


def test_on_aarch64(graphs, tmp_path):
    needs_tools()
    for path, given in answers(graphs, "armv8-a", tmp_path).items():
        assert given in [SAME, CLOSE], (path.name, given)


def test_weights_are_packed_for_aarch64(tmp_path):
    """They are packed here, by loops for vectors of 16 bytes, and weights in a file have a digest there."""
    needs_tools()
    (tmp_path / "mlp.pbtxt").write_text(mlp(-1))
    compiler, emulator = CROSS["armv8-a"]
    for place in "inside", "file":
        folder = tmp_path / place
        tektite("aot", tmp_path / "mlp.pbtxt", "--out", folder, "--input", "x=f32[n,24]", "--typical", "n=5", "--cpu", "armv8-a",
                "--weights", place, "--test")
        subprocess.run([compiler, "-O1", "-static", folder / "mlp_test.c", folder / "libmlp.a", "-lm", "-o", folder / "test"],
                       check=True)
        done = subprocess.run([*emulator, folder / "test"], cwd=folder, text=True, capture_output=True)
        assert done.returncode == 0 and done.stdout in (f"r: {SAME}\n" * 2, f"r: {CLOSE}\n" * 2), (done.stdout, done.stderr)


def test_one_library_is_for_cpus_of_one_kind(tmp_path):
    (tmp_path / "mlp.pbtxt").write_text(mlp(4))
    said = tektite("aot", tmp_path / "mlp.pbtxt", "--out", tmp_path, "--cpu", "armv8-a,x86-64-v3", code=1)
    assert "are CPUs of two kinds, which one library cannot be for" in said
