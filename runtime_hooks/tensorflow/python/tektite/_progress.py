"""What a command is at, on a terminal's stderr: one line, written over.

    show("resnet: first call of Tektite")
    clear()                                 # before the answer is printed
    bar = Progress("calibrating", batches)
    bar.step()                              # for each of them
"""

from __future__ import annotations

import sys
import time

_WIDTH = 78


def show(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text[:_WIDTH]:<{_WIDTH}}", end="", file=sys.stderr, flush=True)


def clear() -> None:
    if sys.stderr.isatty():
        print(f"\r{'':<{_WIDTH}}\r", end="", file=sys.stderr, flush=True)


class Progress:
    """A bar, of work that takes longer than two seconds."""

    def __init__(self, what: str, count: int):
        self.what, self.count, self.done, self.began = what, max(count, 1), 0, time.monotonic()

    def step(self) -> None:
        self.done += 1
        if time.monotonic() - self.began < 2:
            return
        filled = 30 * self.done // self.count
        show(f"{self.what} [{'#' * filled}{'.' * (30 - filled)}] {100 * self.done // self.count} %")
        if self.done >= self.count and sys.stderr.isatty():
            print(file=sys.stderr, flush=True)
