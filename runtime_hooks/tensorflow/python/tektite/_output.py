"""What commands write: progress on a terminal's stderr, tables, pages with pictures, and files at their end.

    show("resnet: first call of Tektite")            # one line, written over
    clear()                                          # before the answer is printed
    bar = Progress("calibrating", batches)
    bar.step()                                       # for each of them
    print(table(("ms", "name"), [("1.5", "softmax")]))
    file = to_write("page.html")                     # before the work, so that none of it is lost
    file.write_text(page("net", {"times": chart}, {"result": result}, text))
"""

from __future__ import annotations

import html
import importlib
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

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


def keep_stdout() -> TextIO:
    """What was stdout; all that this process prints from now on, a program's or TensorFlow's, goes to stderr."""
    sys.stdout.flush()
    kept = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return kept


def to_write(path: str) -> Path:
    """The file's absolute path, since a program may change its folder; ends the program with one line where it cannot be written."""
    file = Path(path).absolute()
    if not file.parent.is_dir():
        raise SystemExit(f"tektite: cannot write '{path}': there is no folder '{file.parent}'")
    if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise SystemExit(f"tektite: cannot write '{path}'")
    return file


def table(head: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """Lines; the last column is flush left, the others right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head) - 1)]
    return "\n".join(indent + "  ".join([*(cell.rjust(width) for cell, width in zip(row, widths)), row[-1]])
                     for row in (head, *rows))


def plotly() -> str:
    """plotly.js, which the Python package plotly brings along; ends the program with one line where that is not installed."""
    try:
        offline: Any = importlib.import_module("plotly.offline")
    except ImportError:
        raise SystemExit("tektite: --html needs plotly, once: pip install plotly") from None
    text: str = offline.get_plotlyjs()
    return text


def page_to_write(path: str | None) -> Path | None:
    """`to_write`, where a page is asked for; ends the program where plotly is missing, too."""
    if not path:
        return None
    plotly()
    return to_write(path)


def page(title: str, charts: dict[str, dict[str, Any]], held: dict[str, Any], text: str) -> str:
    """One HTML page that needs no network: Plotly's charts, each with data and layout, and a text below. It holds all of
    plotly.js, and the charts and `held` as JSON (``<script id="report">``)."""
    data = json.dumps({**held, "charts": charts}).replace("</", "<\\/")
    boxes = "".join(f'<div id="{html.escape(name)}"></div>' for name in charts)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>
<style>body {{ font-family: sans-serif; margin: 1em 2em; }} pre {{ overflow-x: auto; font-size: 12px; }}</style>
<script>{plotly()}</script></head>
<body><h1>{html.escape(title)}</h1>{boxes}<pre>{html.escape(text)}</pre>
<script id="report" type="application/json">{data}</script>
<script>
const all = JSON.parse(document.getElementById("report").textContent);
for (const [name, chart] of Object.entries(all.charts)) {{
  Plotly.newPlot(name, chart.data, chart.layout, {{displaylogo: false, responsive: true}});
}}
document.body.dataset.drawn = document.querySelectorAll(".main-svg").length;
</script></body></html>
"""
