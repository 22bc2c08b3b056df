"""Options and programs that pages name exist."""
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9_-]+)")
# History, and pages about other projects' programs.
OTHERS = {"CHANGELOG.md", "docs/performance-notes.md", "docs/upgrading.md"}
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
SOURCES = ("runtime_hooks", "scripts", "bench", "jit/base/flag_list.inc", "packaging", "tests", "backends", "examples")
# Of GDB, git, pip, Python's, NVIDIA's programs.
FOREIGN = {"args"}


def flags() -> set[str]:
    return set(re.findall(r"^TEKTITE_FLAG\([^,]+, (\w+),", (ROOT / "jit/base/flag_list.inc").read_text(), re.M))


def options() -> set[str]:
    """What any program of the project takes: an option's name stands in its source, with or without the hyphens."""
    text = []
    for place in SOURCES:
        files = [ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*")
        text += [file.read_text(errors="replace") for file in files
                 if file.is_file() and file.suffix not in (".md", ".pyc", ".npy", ".npz") and file != Path(__file__)]
    whole = "\n".join(text)
    return set(OPTION.findall(whole)) | set(re.findall(r'"([a-z][a-z0-9_-]+)"', whole)) | flags()


@pytest.fixture(scope="module")
def known():
    return options() | FOREIGN


def unknown_options(text: str, known: set[str]) -> list[str]:
    return sorted(set(OPTION.findall(text)) - known)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in OTHERS])
def test_options_exist(page, known):
    """Guides told users to set --metrics_file and --max_specialized, which were gone."""
    assert not unknown_options((ROOT / page).read_text(), known)


def test_an_option_that_is_gone_is_found(known):
    assert unknown_options("`--metrics_" + "file=FILE` and `--never_was_" + "flag` beside `--reproducible`", known) == [
        "metrics_" + "file", "never_was_" + "flag"]


@pytest.mark.parametrize("page", PAGES)
def test_programs_of_the_project_exist(page):
    """`bench/x`, `scripts/x`, `tests/x.py` and `examples/x` in code."""
    text = (ROOT / page).read_text()
    named = re.findall(r"(?:^|[`\s])((?:bench|scripts|examples)/[\w./-]*\w)(?![\w*])", text, re.M)
    assert not [path for path in sorted(set(named)) if not (ROOT / path).exists()]
