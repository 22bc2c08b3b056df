"""The outcomes of bench/regress on times: it notices a build that is slower."""
import json
import math
import random
import subprocess
from pathlib import Path

import pytest

from bench.harness.regress import LEAST_NOISE, compare, student

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "bench" / "regress"


def test_a_change_beyond_the_spread_is_found():
    slower = compare("r", [1.00, 1.01, 0.99, 1.00, 1.01], [1.10, 1.11, 1.09, 1.10, 1.12])
    assert slower.outcome == "slower" and 1.08 < slower.ratio < 1.12 and slower.noise < 0.05
    faster = compare("r", [1.10, 1.11, 1.09], [0.80, 0.81, 0.80])
    assert faster.outcome == "faster" and faster.ratio < 0.75


def test_a_change_within_the_spread_is_none():
    noisy = compare("r", [1.0, 1.3, 0.8, 1.1, 1.2], [1.1, 1.4, 0.9, 1.2, 1.0])
    assert noisy.outcome == "same" and noisy.noise > 0.2
    alike = compare("r", [1.0, 1.0, 1.0], [1.005, 1.005, 1.005])
    assert alike.outcome == "same" and alike.noise == pytest.approx(math.expm1(LEAST_NOISE))


def test_equal_builds_differ_about_once_in_a_hundred():
    chance = random.Random(5)

    def times():
        return [math.exp(chance.gauss(0, 0.05)) for _ in range(5)]

    differ = sum(compare("r", times(), times()).outcome != "same" for _ in range(2000))
    assert 5 <= differ <= 40


def test_few_processes_make_the_noise_large():
    assert student(2) > student(8) > student(100) > 2.5
    with pytest.raises(ValueError, match="two or more"):
        compare("r", [1.0], [1.0])


def test_the_program_refuses_what_it_cannot_compare(tmp_path):
    def stderr(*arguments):
        done = subprocess.run([PROGRAM, *map(str, arguments)], text=True, capture_output=True, check=False)
        assert done.returncode == 2
        return done.stderr

    assert "no libtektite.so at" in stderr(tmp_path, tmp_path)
    (tmp_path / "libtektite.so").write_bytes(b"")
    here = tmp_path / "libtektite.so"
    assert "no workload 'nothing'" in stderr(here, here, "--models", "nothing")
    assert "two processes or more" in stderr(here, here, "--repeat", "1")


@pytest.mark.slow
def test_a_build_is_compared_with_the_environment_that_has_it(run_program, tmp_path):
    build, environment, kept = ROOT / "build" / "cmake", ROOT / "build" / "venv", tmp_path / "regress.json"
    done = subprocess.run([PROGRAM, build, environment, "--models", "softmax_chain", "--repeat", "2", "--seconds", "0.1",
                           "--json", kept], text=True, capture_output=True, timeout=300, check=False)
    result = json.loads(kept.read_text())
    assert done.returncode in (0, 1) and not result["failed"], done.stderr
    (row,) = result["rows"]
    assert row["row"] == "softmax_chain, 1 thread" and len(row["times"]["base"]) == len(row["times"]["new"]) == 2
    assert (row["outcome"] == "slower") == bool(done.returncode) and row["noise"] > 0
    assert "rows slower" in done.stdout and result["commit"] and result["machine"]["cpu"]
