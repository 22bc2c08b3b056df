"""A rival that crashes, hangs or talks nonsense costs its own cell and nothing else."""
import os
from pathlib import Path

import pytest

from bench.harness.engines import ENGINES, STOCK
from bench.harness.process import Task, Worker, WorkerFailed
from bench.harness.turns import Options, run_all
from bench.harness import worker
from bench.harness.runners import Runner
from bench.harness.worker import brief


def stand_in(folder: Path, script: str) -> str:
    """A program in the place of Python."""
    file = folder / "python"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return str(file)


def why(folder: Path, script: str, timeout: float = 20.0) -> str:
    with pytest.raises(WorkerFailed) as failure:
        Worker(Task("bench.models", "softmax", 1, stand_in(folder, script), timeout), ENGINES[STOCK])
    return str(failure.value)


@pytest.mark.parametrize("script,said", [
    ("echo out of cheese >&2; exit 3", "process ended with 3: out of cheese"),
    ("kill -SEGV $$", "process ended with -11: no message"),
    ("echo hello", "answered 'hello\\n'"),
    ("""echo '{"error": "no such op"}'""", "no such op"),
])
def test_its_last_words_are_the_reason(tmp_path, script, said):
    assert why(tmp_path, script) == said


def test_an_error_of_tensorflow_is_what_was_wrong_and_not_where():
    error = RuntimeError("Graph execution error:\n\nDetected at node x defined at\n  File y\n"
                         "could not make a primitive\n\t [[{{node x}}]] [Op:__inference_f_1]")
    assert brief(error) == "RuntimeError: could not make a primitive"
    assert brief(ValueError("a\n  b")) == "ValueError: a b"


def test_one_that_hangs_is_given_up(tmp_path):
    assert why(tmp_path, "sleep 60", timeout=0.2) == "no answer within 0.2 s"


def test_every_process_begins_with_empty_caches_that_go_with_it(tmp_path):
    said = why(tmp_path, """echo "{\\"error\\": \\"$XDG_CACHE_HOME $(ls $XDG_CACHE_HOME | wc -l)\\"}" """)
    folder, files = said.split()
    assert files == "0" and not os.path.exists(folder)


@pytest.mark.parametrize("fallbacks,compiled,calls", [
    ([7, 8, 8, 8], True, 2),            # a spot check, then compiled code
    (list(range(99)), False, worker.MOST_CALLS_TO_COMPARE),  # code that lost
])
def test_results_are_compared_of_calls_that_compiled_code_answered(tmp_path, monkeypatch, fallbacks, compiled, calls):
    made, counts = [], iter(fallbacks)
    monkeypatch.setattr(worker, "tektite_stats", lambda: {"host": {"fallbacks": {"MEASURING_HOST": next(counts)}}})
    runner = Runner(lambda: [made.append(1)], None)
    assert worker.run_settled_outputs(runner, {"save": tmp_path / "a.npz"})["compiled"] is compiled
    assert len(made) == calls


def test_a_rival_that_failed_is_not_asked_again_and_the_others_go_on(tmp_path):
    python, kept = stand_in(tmp_path, "echo broken >&2; exit 1"), []
    options = Options(["softmax", "layer_norm"], [1], repeat=2, seconds=0.1, timeout=20.0, python=python)
    rows = run_all(options, [ENGINES[STOCK], ENGINES["xla"]], lambda rows: kept.append(len(rows)))
    assert kept == [2, 4, 5, 6]  # the rival's two failures, and stock's four
    assert all(row["error"] == "process ended with 1: broken" for row in rows)


def test_a_rival_that_is_not_installed_says_how(monkeypatch):
    monkeypatch.setattr("bench.harness.process.python_of", lambda engine, python: "/nowhere/python")
    with pytest.raises(WorkerFailed, match="not installed: bench/setup_rivals jax"):
        Worker(Task("bench.models", "softmax", 1), ENGINES["jax"])
