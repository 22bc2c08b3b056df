"""bench/saved: cases of the zoo as SavedModels, each through `tektite bench` with no other argument."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SHORT = ["--seconds", "0.05", "--warmup", "0", "--engines", "tf,tektite"]


def run(*arguments, code=0):
    env = {k: v for k, v in os.environ.items() if k != "TEKTITE"}
    done = subprocess.run([sys.executable, ROOT / "bench/saved", *map(str, arguments)], text=True, capture_output=True,
                          timeout=600, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.mark.slow
def test_models_functions_and_programs_work(tmp_path):
    """A Keras model with an embedding's ids, ragged results, a table of texts, and a program."""
    names = ["masked_gru", "ragged", "text", "sampler"]
    done = run("--models", ",".join(names), *SHORT, "--json", tmp_path / "out.json")
    assert done.stdout.splitlines()[-1] == "4 work, 0 left out, 0 fail: none", done.stdout
    results = json.loads((tmp_path / "out.json").read_text())
    for name in names:
        rows = {row["engine"]: row for row in results[name]["rows"]}
        assert set(rows) == {"tf", "tektite"} and min(row["median_ms"] for row in rows.values()) > 0


@pytest.mark.slow
def test_a_program_that_cannot_be_saved_is_named():
    assert "frozen_graph: left out: " in run("--models", "frozen_graph", *SHORT).stdout


def test_wrong_usage():
    assert "no such case: abacus" in run("--models", "abacus", code=2).stderr
    assert len(run("--list").stdout.split()) > 100
