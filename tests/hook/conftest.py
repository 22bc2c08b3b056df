"""Programs whose compiler is the test double of fake_tektite.cc: `run_fake` is conftest.run with it."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Callable

import pytest

ROOT = Path(__file__).resolve().parents[2]


def newest_fake() -> Path | None:
    found = ROOT.glob("build/*/tests/hook/libfake_tektite.so")
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


@pytest.fixture
def run_fake(run_program, monkeypatch) -> Callable:
    fake = newest_fake()
    if fake is None:
        pytest.fail("libfake_tektite.so is not built (scripts/setup --all does it)")
    return functools.partial(run_program, TEKTITE_LIBRARY=str(fake))
