"""Fixtures of the tests that run whole programs."""

from __future__ import annotations

from typing import Callable

import pytest

from tests.conftest import Result
from tests.end_to_end.batches import Batch, run_both_sides
from tests.shared_results import once


@pytest.fixture
def run_batch(run_program, tmp_path_factory) -> Callable[[Batch, str], tuple[Result, Result]]:
    """Of one program in a batch, TensorFlow's result and Tektite's; fails where either failed."""
    def run_one(batch: Batch, name: str) -> tuple[Result, Result]:
        plain, compiled = once(tmp_path_factory, batch.name, lambda: run_both_sides(batch))[name]
        for result in (plain, compiled):
            assert "error" not in result.values, result.values["error"]
        return plain, compiled

    return run_one
