"""Links between pages lead somewhere, and the pages for a first reading stay short."""
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
PAGES = sorted(path for path in ROOT.rglob("*.md") if path.relative_to(ROOT).parts[0] not in ("build", ".git"))


def broken_links(page: Path) -> list[str]:
    targets = [match[1] for match in LINK.finditer(page.read_text())]
    return [t for t in targets if not t.startswith(("http://", "https://")) and not (page.parent / t).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    assert not broken_links(page)


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("[this](page.md) [that](other.md#part) [out](https://example.com)")
    assert broken_links(page) == ["other.md"]


@pytest.mark.parametrize("page, most", [("README.md", 450), ("docs/architecture.md", 1400)])
def test_first_pages_stay_short(page, most):
    """architecture.md once had 5,300 words, and no newcomer read them."""
    lines = (ROOT / page).read_text().splitlines()
    assert sum(len(line.split()) for line in lines if not line.startswith("|")) <= most  # tables are looked up


@pytest.mark.parametrize("folder", ["docs/design", "docs/kernels"])
def test_pages_of_details_fit_on_two_screens_and_are_reached(folder):
    tour = (ROOT / "docs/architecture.md").read_text() + (ROOT / "docs/kernels/overview.md").read_text()
    for page in (ROOT / folder).glob("*.md"):
        assert f"{page.name})" in tour and len(page.read_text().splitlines()) <= 110, page
