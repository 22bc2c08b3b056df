"""A few of the random programs that tests/random_programs/hunt can make without end."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.random_programs import programs

ROOT = Path(__file__).resolve().parents[2]


def test_the_same_seed_is_the_same_program():
    assert programs.make_program(11).describe() == programs.make_program(11).describe()
    assert programs.make_program(11).describe() != programs.make_program(12).describe()


def test_what_is_wrong_is_seen():
    one, none, any_ = np.float32([1.0]), np.zeros(1), np.full(1, np.nan)
    assert not programs.mistakes(one, one, none)
    assert programs.mistakes(one, one + np.float32(1e-6), none)
    assert not programs.mistakes(one, one + np.float32(1e-6), np.full(1, 1e-5))
    assert programs.mistakes(np.float32([np.nan]), one, np.full(1, 1e-5))
    assert not programs.mistakes(np.float32([np.nan]), one, any_)
    assert programs.mistakes(one[None], one, none) and programs.mistakes(np.int32([1]), one, none)
    assert programs.mistakes(np.int32([1]), np.int32([2]), none)


@pytest.mark.slow
def test_random_programs_compute_what_tensorflow_computes(run_pair):
    hunt = [sys.executable, str(ROOT / "tests/random_programs/hunt"), "--count", "30", "--seed", "40"]
    done = subprocess.run(hunt, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
