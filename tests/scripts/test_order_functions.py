"""The order of functions in libtektite.so, and what writes it."""
import importlib.machinery
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/order_functions"


@pytest.fixture(scope="module")
def order_functions():
    loader = importlib.machinery.SourceFileLoader("order_functions", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def library(order_functions):
    if not order_functions.LIBRARY.exists():
        pytest.fail("no libtektite.so: built without scripts/setup")
    return order_functions.LIBRARY.read_bytes()


def test_what_most_processes_call_comes_first(order_functions):
    calls, loads = [["run"], ["run"]], [["init", "read", "run"], ["init", "scan", "read"]]
    assert order_functions.order([calls, loads]) == ["run", "init", "read", "scan"]


def test_functions_are_found_with_their_bytes(order_functions, library):
    functions = order_functions.read_functions(library)
    assert len(functions) > 10_000
    assert {"tektite_mark", "tektite_cluster_run"} <= {f.name for f in functions.values()}
    assert all(f.first_byte != order_functions.BREAKPOINT for f in functions.values())


def test_the_functions_that_run_lie_together(order_functions, library):
    """Peak memory depends on it (bench/RESULTS.md), and nothing else would tell that it is lost."""
    if b"Linker: " not in library or b" LLD " not in library:
        pytest.skip("libtektite.so was not linked by LLVM's linker (package lld-22), so it has no order")
    address = {f.name: (at, f.size) for at, f in order_functions.read_functions(library).items()}
    names = order_functions.ORDER.read_text().split()
    placed = [address[name] for name in names if name in address]
    assert len(placed) > 0.9 * len(names), "of another LLVM: run scripts/order_functions"
    # A name that several files use for functions of their own is put there several times.
    begin, end = min(at for at, _ in placed[:5000]), max(at + size for at, size in placed[:5000])
    assert end - begin < 1.5 * sum(size for _, size in placed[:5000])


def may_trace() -> bool:
    trace_me = "import ctypes; raise SystemExit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) != 0)"
    return subprocess.run([sys.executable, "-c", trace_me]).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not may_trace(), reason="this system does not let a process be traced")
def test_a_workload_gives_an_order(tmp_path, library):
    done = subprocess.run([sys.executable, SCRIPT, "--workloads", "softmax_chain", "--output", tmp_path / "order"],
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    names = (tmp_path / "order").read_text().split()
    assert "tektite_cluster_run" in names[:300] and "tektite_mark" not in names[:100]
    assert 5_000 < len(names) == len(set(names)) and sum("llvm" in name for name in names) > 2_000


def test_unknown_workloads_are_named():
    done = subprocess.run([sys.executable, SCRIPT, "--workloads", "unheard"], text=True, capture_output=True)
    assert done.returncode == 2 and "no workload 'unheard'" in done.stderr
