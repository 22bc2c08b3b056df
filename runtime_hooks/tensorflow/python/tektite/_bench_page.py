"""``tektite bench --html``: throughput and latency by batch and threads, as one page without network."""

from __future__ import annotations

from typing import Any

from tektite import _bench, _bench_engines, _output


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
    return _output.page(result["model"], charts, {"result": result}, _bench.table(result["rows"]))
