"""Prints the notes of a version: its section of CHANGELOG.md, without the heading.

    release_notes.py 0.1.0

Fails where there is no such section or nothing in it, where it has no date, and where changes still stand under Unreleased.
"""
import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parents[1] / "CHANGELOG.md"
HEADING = re.compile(r"^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?[ ]*$", re.M)


def sections(text: str) -> dict[str, tuple[str, str]]:
    """Date and text by version."""
    found = list(HEADING.finditer(text))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return {match[1]: (match[2] or "", text[match.end():end].strip()) for match, end in zip(found, ends)}


def notes(text: str, version: str) -> str:
    by_version = sections(text)
    date, body = by_version.get(version, ("", ""))
    if not body:
        raise ValueError(f"CHANGELOG.md says nothing of {version}")
    if not date:
        raise ValueError(f"CHANGELOG.md has no date for {version}: ## [{version}] - YYYY-MM-DD")
    if left := by_version.get("Unreleased", ("", ""))[1]:
        raise ValueError(f"CHANGELOG.md has changes under Unreleased: {left.splitlines()[-1]}")
    return f"# Tektite {version} ({date})\n\n{body}\n"


def main() -> None:
    try:
        print(notes(CHANGELOG.read_text(), sys.argv[1]), end="")
    except ValueError as error:
        sys.exit(f"release_notes: {error}")


if __name__ == "__main__":
    main()
