"""Chooses headers whose includes may have changed lately: those of the latest commits, and some that include these.

All 400 take ten minutes of a CPU without precompiled headers, and 25 take 46 s.
"""
import re
import subprocess
from pathlib import Path

FOLDERS = ("jit", "clustering", "backends", "runtime_hooks")
COMMITS = 300
READERS = 2  # of each header
INCLUDE = re.compile(r'^#include "(.+\.h)"', re.M)


def all_headers(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for folder in FOLDERS for path in (root / folder).rglob("*.h"))


def touched(root: Path) -> list[str]:
    """Files, the latest first: not committed, then commit by commit.  None in a folder without a history."""
    def git(*words: str) -> list[str]:
        return subprocess.run(["git", "-C", str(root), *words], text=True, capture_output=True, check=False).stdout.split()

    return [*git("diff", "--name-only", "HEAD"), *git("ls-files", "--others", "--exclude-standard"),
            *git("log", f"-{COMMITS}", "--name-only", "--format=")]


def recent_headers(root: Path, most: int) -> list[str]:
    # No sanitizer sees the hook's headers, and TensorFlow's take 9 s each.
    headers = [header for header in all_headers(root) if not header.startswith("runtime_hooks/tensorflow/")]
    readers: dict[str, list[str]] = {header: [] for header in headers}
    for header in headers:
        for read in INCLUDE.findall((root / header).read_text()):
            readers.get(read, []).append(header)
    latest = [header for header in touched(root) if header in readers] or headers
    return list(dict.fromkeys(name for header in latest for name in (header, *readers[header][:READERS])))[:most]
