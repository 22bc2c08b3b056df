"""The pages that bench/reports writes: a table and a picture for each model.

    write(Path("docs/reports"), "resnet50", rows, describe(), threads=2)    # resnet50.md, resnet50.svg
"""
import html
import subprocess
import time
from pathlib import Path
from typing import Any

from bench.harness import figures
from bench.harness.engines import ENGINES, ROOT, STOCK, TEKTITE

KINDS = {"infer": "inference", "train": "training"}
HEADER = ["", "input", "batch", "stock /s", "Tektite /s", "times stock", "stock ms", "Tektite ms", "p90 ms", "input's share", "memory MB",
          "stock MB", "first s", "steps"]
COLOURS = {STOCK: "#9aa5b1", TEKTITE: "#2b6cb0"}


def line(row: dict[str, Any]) -> str:
    place = f"{row['model']} {row['kind']} {row['input']} batch {row['batch']} {row['engine']}"
    return f"{place}: {row['error']}" if "error" in row else f"{place}: {row['per_second']:.1f}/s, {row['ms']:.1f} ms"


def pairs(rows: list[dict]) -> list[tuple[dict, dict]]:
    """Stock TensorFlow's row and Tektite's of each place; a side that is still to be measured is an error."""
    by_place: dict[tuple, dict[str, dict]] = {}
    for row in rows:
        by_place.setdefault((row["kind"], row["input"], row["batch"]), {})[row["engine"]] = row
    for (kind, source, batch), both in by_place.items():
        for engine in (STOCK, TEKTITE):
            both.setdefault(engine, {"engine": engine, "kind": kind, "input": source, "batch": batch, "error": "not measured yet"})
    return [(both[STOCK], both[TEKTITE]) for both in by_place.values()]


def cells(stock: dict, own: dict) -> list[str]:
    start = [KINDS[own["kind"]], own["input"], str(own["batch"])]
    if "error" in stock or "error" in own:
        return [*start, *["-"] * (len(HEADER) - 4), stock.get("error") or own["error"]]
    mark = " ?" if stock["disturbed"] or own["disturbed"] else ""
    return [*start, f"{stock['per_second']:.1f}", f"{own['per_second']:.1f}", f"{own['per_second'] / stock['per_second']:.2f}{mark}",
            f"{stock['ms']:.1f}", f"{own['ms']:.1f}", f"{own['p90_ms']:.1f}", f"{own['input_share']:.0%}", f"{own['rss_mb']:.0f}",
            f"{stock['rss_mb']:.0f}", f"{own['first_s']:.1f}" if "first_s" in own else "", f"{own['steps']}"]


def picture(name: str, rows: list[dict]) -> str:
    """Bars of throughput, two to a place, each against the faster one of its place."""
    width, bar, left = 640, 14, 250
    parts, y = [], 30
    for stock, own in pairs(rows):
        most = max(stock.get("per_second", 0.0), own.get("per_second", 0.0))
        if not most:
            continue
        label = f"{KINDS[own['kind']]}, {own['input']}, batch {own['batch']}"
        parts.append(f'<text x="{left - 8}" y="{y + bar + 4}" text-anchor="end">{html.escape(label)}</text>')
        for row in (stock, own):
            length = (width - left - 110) * row.get("per_second", 0.0) / most
            parts.append(f'<rect x="{left}" y="{y}" width="{length:.0f}" height="{bar - 2}" fill="{COLOURS[row["engine"]]}"/>'
                         f'<text x="{left + length + 6:.0f}" y="{y + bar - 4}">{row.get("per_second", 0.0):.1f}/s</text>')
            y += bar
        y += 10
    legend = "".join(f'<tspan fill="{COLOURS[e]}" dx="12">{html.escape(ENGINES[e].label)}</tspan>' for e in (STOCK, TEKTITE))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 6}" font-family="sans-serif" font-size="11">'
            f'<text x="8" y="16" font-weight="bold">{html.escape(name)}{legend}</text>{"".join(parts)}</svg>\n')


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True, capture_output=True)
    return done.stdout.strip() or "unknown"


def write(folder: Path, name: str, rows: list[dict], machine: dict, threads: int) -> None:
    (folder / f"{name}.svg").write_text(picture(name, rows))
    commits = ", ".join(dict.fromkeys(row["commit"] for row in rows if "commit" in row)) or commit()
    about = ", ".join(f"{key} {value}" for key, value in machine.items())
    table = figures.table(HEADER, [cells(stock, own) for stock, own in pairs(rows)])
    (folder / f"{name}.md").write_text(
        f"# {name}\n\nWritten by `bench/reports` on {time.strftime('%Y-%m-%d')} at commit {commits}, {threads} threads. Machine: {about}.\n"
        f"A `?` marks rows that other programs disturbed. Tektite's own code runs all calls (`--compare=false`).\n\n![throughput]({name}.svg)\n\n{table}\n")
