"""Every example runs, stock and compiled, prints the same results, and compiled code did run.

An example prints "name: values" lines; numbers are compared as numbers, and words as words.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
COUNTERS = ("clusters", "compilations", "compiled calls", "explain", "ops left to TensorFlow",
            "variables updated by compiled code")
# The counters that a compiled run must have, beside compiled calls.
UPDATES = "variables updated by compiled code"
EXPECTED = {
    "keras_fit.py": ["clusters", UPDATES],
    "saved_model.py": ["compilations"],
    "scopes.py": ["clusters"],
    "session_flags.py": ["clusters"],
    "training_loop.py": ["clusters", UPDATES],
}


def run_example(name: str, tektite: str) -> dict[str, str]:
    """The lines of its output, by what stands before the colon."""
    # The programs are small: compiled code need not win a comparison here.
    environment = {**os.environ, "TEKTITE": tektite, "TEKTITE_FLAGS": "--compare=false --min_cluster_cost=0",
                   "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, str(FOLDER / name)], env=environment, capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)


def numbers(text: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(text)]


def test_every_example_is_tested_and_listed():
    programs = {path.name for path in FOLDER.glob("*.py")}
    assert programs == set(EXPECTED)
    listed = (FOLDER / "README.md").read_text()
    assert all(f"({name})" in listed for name in [*programs, "host/main.cc"])


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_prints_the_same_with_and_without(name, run_program):
    with ThreadPoolExecutor(2) as pool:
        stock, compiled = pool.map(run_example, [name, name], ["0", "1"])
    assert numbers(stock["compiled calls"]) == [0]
    for counter in ["compiled calls", *EXPECTED[name]]:
        assert numbers(compiled[counter])[0] > 0, compiled
    results = [line for line in stock if line not in COUNTERS]
    assert results == [line for line in compiled if line not in COUNTERS] and results
    for line in results:
        assert NUMBER.sub("#", stock[line]) == NUMBER.sub("#", compiled[line])
        assert numbers(stock[line]), f"{line} shows no number"
        assert numbers(compiled[line]) == pytest.approx(numbers(stock[line]), rel=1e-3, abs=2e-4), line


def test_the_host_in_cpp_prints_what_it_computed():
    done = subprocess.run([ROOT / "build" / "bin" / "example_host"], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines[:3]] == ["4 rows", "7 rows", "1000 rows"]
    assert all(line.endswith("by compiled code") for line in lines[:3])
    assert re.fullmatch(r"compiled code ran [1-9]\d* of 100 calls", lines[3])
    assert '"comparison": {' in lines[-1]
