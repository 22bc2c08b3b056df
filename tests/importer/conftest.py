"""The program that imports and interprets, for every test here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def binary() -> Path:
    """TEKTITE_IMPORT_CHECK, or the newest import_check of any build folder."""
    if "TEKTITE_IMPORT_CHECK" in os.environ:
        return Path(os.environ["TEKTITE_IMPORT_CHECK"])
    build = ROOT / "build"  # scripts/setup puts programs into build/bin
    built = [*build.glob("bin/import_check"), *build.glob("*/tests/importer/import_check")]
    if not built:
        pytest.fail("import_check is not built (scripts/setup --all does it)")
    return max(built, key=lambda path: path.stat().st_mtime)
