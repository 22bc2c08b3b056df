"""Rows of bench/sweep, and that the zoo's cases are what it says they are."""
import subprocess
import sys
from pathlib import Path

import pytest

from bench.harness import sweep
from bench.zoo import BATCHES, CASES, WORKLOADS

ROOT = Path(__file__).resolve().parents[2]
ROW = {"case": "unet", "batch": 8, "threads": 2, "stock_ms": 10.0, "tektite_ms": 5.0, "difference": 1e-6,
       "tolerance": 2e-5, "ops": 12, "clustered_ops": 10, "clusters": 1, "stock_mb": 100.0, "tektite_mb": 110.0,
       "tektite_first_s": 1.5, "left_out": {"NO_IMPORTER": {"ops": 2}, "TOO_SMALL": {"ops": 0}}}


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, ROOT / "bench/sweep", *arguments], capture_output=True, text=True, check=False)


def test_a_row_says_how_fast_how_right_and_what_was_left_out():
    assert sweep.cells(ROW) == ["unet", "8", "2", "10.0", "5.00", "0.500", "1.0e-06", "10/12", "1", "1.10", "1.50",
                                "NO_IMPORTER 2"]


@pytest.mark.parametrize("change,wrong", [({}, False), ({"difference": 3e-5}, True), ({"difference": float("nan")}, True),
                                          ({"error": "tektite: process ended with -11"}, True)])
def test_differences_and_crashes_are_wrong(change, wrong):
    assert sweep.is_wrong(ROW | change) == wrong
    assert len(sweep.cells(ROW | change)) == len(sweep.HEADER)


def test_every_case_has_a_workload_for_each_batch():
    assert len(WORKLOADS) == len(CASES) * len(BATCHES)
    for name, workload in WORKLOADS.items():
        assert workload.name == name and sum(x is not None for x in (workload.build, workload.function,
                                                                    workload.program)) == 1


def test_code_is_there_for_the_first_call_where_that_is_compared():
    assert "--compile=sync" in dict(sweep.environment_of(WORKLOADS["fit_sgd_b8"]))["TEKTITE_FLAGS"]
    assert sweep.environment_of(WORKLOADS["unet_b8"]) == ()


def test_an_unknown_case_is_named():
    assert "unett" in run("--models", "unett").stderr


@pytest.mark.slow
def test_a_sweep_compares_a_model_and_ends_well():
    done = run("--models", "beam_step", "--batch", "1", "--threads", "1", "--seconds", "0.1")
    assert done.returncode == 0, done.stderr
    assert "beam_step" in done.stdout and "1 rows, 0 wrong" in done.stdout
