"""What a command is at, on a terminal's stderr: one line, written over.

    show("resnet: first call of Tektite")
    clear()                                 # before the answer is printed
"""

from __future__ import annotations

import sys

_WIDTH = 78


def show(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text[:_WIDTH]:<{_WIDTH}}", end="", file=sys.stderr, flush=True)


def clear() -> None:
    if sys.stderr.isatty():
        print(f"\r{'':<{_WIDTH}}\r", end="", file=sys.stderr, flush=True)
