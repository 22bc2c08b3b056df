"""The program that imports and interprets, for every test here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the tests of each case side by side: they share its trace (import_oracle.close)."""
    places = [place for place, item in enumerate(items) if item.path.parent == Path(__file__).parent and case_of(item)]
    first: dict[int, int] = {}
    for place in places:
        first.setdefault(id(case_of(items[place])), place)
    ours = sorted((items[place] for place in places), key=lambda item: first[id(case_of(item))])
    for place, item in zip(places, ours):
        items[place] = item


def case_of(item: pytest.Item) -> Any:
    return item.callspec.params.get("case") if hasattr(item, "callspec") else None
