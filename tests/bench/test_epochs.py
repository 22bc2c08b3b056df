"""Rows of bench/epochs, and that its scripts are what it says they are."""
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from bench.harness import epochs
from bench.training_scripts import SCRIPTS

ROOT = Path(__file__).resolve().parents[2]


def epoch(seconds: float, loss: float = 1.0, others: float = 0.0) -> dict:
    return {"seconds": seconds, "loss": loss, "others": others, "cpu": seconds}


def row(**changes) -> dict:
    stock, tektite = [epoch(s) for s in (2.0, 1.0, 1.0, 1.0, 1.0)], [epoch(s) for s in (3.0, 1.2, 0.5, 0.9, 0.6)]
    return {"script": "mlp", "threads": 2, "stock_mb": 100.0, "tektite_mb": 110.0,
            "stats": {"left_out": {"NO_IMPORTER": {"ops": 2}, "TOO_SMALL": {"ops": 9}},
                      "host": {"runs": 10, "fallbacks": {"MEASURING_HOST": 2, "NOT_COMPILED": 1}}},
            **epochs.figures_of(stock, tektite), **changes}


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, ROOT / "bench/epochs", *arguments], capture_output=True, text=True, check=False)


def test_epochs_that_compile_do_not_count_among_the_later_ones():
    made = row()
    assert made["first"] == 1.5 and made["second"] == 1.2 and made["later"] == 0.55
    assert epochs.cells(made) == ["mlp", "2", "1.00", "0.550", "0.550", "0.550", "1.50", "1.20", "0e+00", "1.10", "3/10", "NO_IMPORTER 2"]


def test_a_disturbed_row_is_marked():
    disturbed = epochs.figures_of([epoch(1.0, others=1.0)] * 3, [epoch(1.0)] * 3)
    assert epochs.cells(row(**disturbed))[4] == "1.00?"


def test_the_largest_difference_of_the_loss_counts():
    figures = epochs.figures_of([epoch(1, 2.0), epoch(1, 1.0), epoch(1, 1.0)], [epoch(1, 2.0), epoch(1, 1.1), epoch(1, 1.0)])
    assert figures["loss_first"] == 0 and figures["loss_difference"] == pytest.approx(0.1)


def test_a_failure_is_a_row():
    assert epochs.cells({"script": "gan", "threads": 1, "error": "tektite: no"})[-1] == "tektite: no"
    assert len(epochs.cells({"script": "gan", "threads": 1, "error": "tektite: no"})) == len(epochs.HEADER)


def test_scripts_take_epochs_and_callbacks():
    for script in SCRIPTS.values():
        assert list(inspect.signature(script).parameters) == ["epochs", "callbacks", "scale"]


def test_wrong_words_are_named():
    assert "mnist" in run("--scripts", "mnist").stderr
    assert "at least 3, got 2" in run("--epochs", "2").stderr
    assert "must be positive, got 0" in run("--scale", "0").stderr


@pytest.mark.slow
def test_a_script_runs_on_both_sides():
    done = run("--scripts", "tabular", "--epochs", "3")
    assert done.returncode == 0, done.stderr
    assert "tabular" in done.stdout and "median of later epochs" in done.stdout
