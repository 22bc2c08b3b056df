"""Keras' recurrent layers, whose loops are imported whole, against TensorFlow: results and gradients."""

from __future__ import annotations

from pathlib import Path

import pytest

from import_cases_recurrent import CASES, is_open
from import_oracle import Case, check


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_results(case: Case, binary: Path) -> None:
    check(case, binary)


@pytest.mark.parametrize("case", [c for c in CASES if not c.refused], ids=lambda case: case.name)
def test_results_with_unknown_batch_and_time(case: Case, binary: Path) -> None:
    check(case, binary, symbolic=is_open)
