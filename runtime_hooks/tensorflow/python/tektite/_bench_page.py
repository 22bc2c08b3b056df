"""``tektite bench --html``: throughput and latency by batch and threads, as one page without network."""

from __future__ import annotations

import html
import json
from typing import Any

from tektite import _bench, _bench_engines
from tektite._profile_page import library

__all__ = ["library", "render"]


def _lines(rows: list[dict[str, Any]], value: str) -> list[dict[str, Any]]:
    series: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in rows:
        if value in row:
            series.setdefault((row["engine"], row["threads"]), []).append(row)
    return [{"type": "scatter", "mode": "lines+markers", "x": [row["batch"] for row in points],
             "y": [row[value] for row in points],
             "name": f"{_bench_engines.LABELS[engine]}, {threads} thread{'s' if threads > 1 else ''}"}
            for (engine, threads), points in series.items()]


def _chart(result: dict[str, Any], value: str, title: str) -> dict[str, Any]:
    layout: dict[str, Any] = {"title": {"text": title}, "height": 480, "xaxis": {"type": "log", "title": {"text": "batch"}},
                              "yaxis": {"type": "log", "title": {"text": title}}}
    data = _lines(result["rows"], value)
    if "knee" in result and value == "per_second":
        data.append({"type": "scatter", "mode": "markers", "name": "the knee", "x": [result["knee"]["batch"]],
                     "y": [result["knee"]["per_second"]], "marker": {"size": 18, "symbol": "circle-open", "line": {"width": 3}}})
    return {"data": data, "layout": layout}


def render(result: dict[str, Any]) -> str:
    charts = {"throughput": _chart(result, "per_second", "examples a second"),
              "latency": _chart(result, "median_ms", "median ms of a call")}
    data = json.dumps({"result": result, "charts": charts}).replace("</", "<\\/")
    title = html.escape(result["model"])
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><script>{library()}</script></head>
<body style="font-family: sans-serif"><h1>{title}</h1>{"".join(f'<div id="{name}"></div>' for name in charts)}
<pre>{html.escape(_bench.table(result["rows"]))}</pre>
<script id="report" type="application/json">{data}</script>
<script>
const all = JSON.parse(document.getElementById("report").textContent);
for (const [name, chart] of Object.entries(all.charts)) Plotly.newPlot(name, chart.data, chart.layout, {{displaylogo: false}});
document.body.dataset.drawn = document.querySelectorAll(".main-svg").length;
</script></body></html>
"""
