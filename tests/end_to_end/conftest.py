"""Fixtures of the tests that run whole programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Callable

import pytest

from tests.conftest import Result
from tests.end_to_end.batches import Batch, run_both_sides


@pytest.fixture
def run_batch(run_program, tmp_path_factory) -> Callable[[Batch, str], tuple[Result, Result]]:
    """Of one program in a batch, TensorFlow's result and Tektite's; fails where either failed."""
    base: Path = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base  # a worker's folder lies in the run's

    def run_one(batch: Batch, name: str) -> tuple[Result, Result]:
        plain, compiled = run_both_sides(batch, shared)[name]
        for result in (plain, compiled):
            assert "error" not in result.values, result.values["error"]
        return plain, compiled

    return run_one
