"""Results that tests share, also those that run in other processes of pytest-xdist: the first test that asks computes
them, and the others wait for it.

    @pytest.fixture
    def counts(tmp_path_factory):
        return once(tmp_path_factory, "counts", lambda: run(...).values)

A fixture of a module would be computed once in each process. Results are pickled.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import traceback
from pathlib import Path
from typing import Callable, TypeVar

import pytest

T = TypeVar("T")


def once(tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[], T]) -> T:
    base: Path = tmp_path_factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base  # a worker's folder lies in the run's
    return once_in(folder, name, make)


def once_in(folder: Path, name: str, make: Callable[[], T]) -> T:
    """`folder` is shared by all that ask."""
    path = folder / f"{name}.results"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            path.write_bytes(pickle.dumps(attempt(make)))
    result, failure = pickle.loads(path.read_bytes())
    assert not failure, failure
    return result


def attempt(make: Callable[[], T]) -> tuple[T | None, str]:
    """What fails is not tried again by every test."""
    try:
        return make(), ""
    except Exception:
        return None, traceback.format_exc()
