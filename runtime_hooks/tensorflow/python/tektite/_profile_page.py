"""A profile as one HTML page that needs no network: flame graph, roofline, timeline and the tables.

Every number in the page comes from the report, which it holds as well.
"""

from __future__ import annotations

from typing import Any

from tektite import _output, _profile_text

_MOST_BARS = 60


def _flame(report: dict[str, Any]) -> dict[str, Any]:
    """An icicle: the program, its functions, their clusters, their kernels; widths are milliseconds."""
    ids, labels, parents, values = ["program"], [report["program"]], [""], [report["seconds"] * 1e3]

    def add(name: str, label: str, parent: str, ms: float) -> str:
        ids.append(name)
        labels.append(label)
        parents.append(parent)
        values.append(ms)
        return name

    known = {}
    for function in report["functions"]:
        known[function["name"]] = add(f"f/{function['name']}", function["name"], "program", function["ms"])
        add(f"1/{function['name']}", "first call: tracing, compiling", f"f/{function['name']}", function["first_ms"])
    for cluster in report["clusters"]:
        ms = cluster["ms"] + cluster["tensorflow_ms"]
        parent = known.get(cluster["function"], "program")
        box = add(f"c/{cluster['name']}", cluster["name"], parent, ms)
        if cluster["tensorflow_ms"]:
            add(f"t/{cluster['name']}", "TensorFlow's kernels", box, cluster["tensorflow_ms"])
        for number, kernel in enumerate(cluster["kernels"]):
            add(f"k/{cluster['name']}/{number}", kernel["name"], box, kernel["ms"])
    # Times are measured in several places, so that parts may add up to a little more than the whole.
    inside = dict.fromkeys(ids, 0.0)
    for name, parent, ms in reversed(list(zip(ids, parents, values))):
        total = max(ms, inside[name])
        values[ids.index(name)] = total
        if parent:
            inside[parent] += total
    return {"data": [{"type": "icicle", "ids": ids, "labels": labels, "parents": parents, "values": values,
                      "branchvalues": "total", "tiling": {"orientation": "v"}, "root": {"color": "#dddddd"},
                      "hovertemplate": "%{label}<br>%{value:.3f} ms<br>%{percentRoot:.1%} of all<extra></extra>"}],
            "layout": {"title": {"text": "Where the time goes (click to enlarge a part)"}, "height": 520}}


def _roofline(report: dict[str, Any]) -> dict[str, Any]:
    machine = report["machine"]
    kernels = [kernel for cluster in report["clusters"] for kernel in cluster["kernels"]
               if kernel["flops"] and kernel["bytes"] and kernel["least_us"]]
    xs = [kernel["flops"] / kernel["bytes"] for kernel in kernels]
    low, high = min([0.1, *xs]) / 2, max([100.0, *xs]) * 2
    lines = []
    for name, rate in (("memory", machine["memory_gbs"]), ("cache", machine["cache_gbs"])):
        ridge = machine["peak_gflops"] / rate
        lines.append({"type": "scatter", "mode": "lines", "name": f"{name}: {rate:.0f} GB/s", "x": [low, ridge, high],
                      "y": [low * rate, machine["peak_gflops"], machine["peak_gflops"]]})
    longest = max((kernel["ms"] for kernel in kernels), default=1.0)
    points = {"type": "scatter", "mode": "markers", "name": "kernels", "x": xs,
              "y": [kernel["gflops"] for kernel in kernels], "text": [kernel["name"] for kernel in kernels],
              "marker": {"size": [6 + 24 * (kernel["ms"] / longest) ** 0.5 for kernel in kernels], "opacity": 0.7},
              "hovertemplate": "%{text}<br>%{y:.1f} GFLOP/s<extra></extra>"}
    axis = {"type": "log"}
    return {"data": [*lines, points],
            "layout": {"title": {"text": "Roofline: kernels with products, as large as their time"}, "height": 520,
                       "xaxis": {**axis, "title": {"text": "operations a byte"}},
                       "yaxis": {**axis, "title": {"text": "GFLOP/s"}}}}


def _timeline(report: dict[str, Any]) -> dict[str, Any]:
    spans = report["timeline"]
    calls = {"type": "bar", "orientation": "h", "name": "calls of functions", "base": [s["begin_ms"] for s in spans],
             "x": [s["ms"] for s in spans], "y": [s["function"] for s in spans],
             "hovertemplate": "%{y}: %{x:.3f} ms<extra></extra>"}
    return {"data": [calls], "layout": {"title": {"text": "Calls of functions"}, "height": 320,
                                        "xaxis": {"title": {"text": "ms since the program began"}},
                                        "yaxis": {"automargin": True}}}


def _latest_call(report: dict[str, Any]) -> dict[str, Any]:
    """The kernels of the longest cluster as its latest timed call ran them."""
    cluster = next((cluster for cluster in report["clusters"] if cluster["kernels"]), None)
    kernels = sorted(cluster["kernels"], key=lambda kernel: kernel["latest_ns"]) if cluster else []
    latest = kernels[-1]["latest_ns"] if kernels else 0
    whole = cluster["ms"] / max(cluster["calls"], 1) if cluster else 0.0
    # Kernels that ran once, such as the packing of weights, are of earlier calls.
    kernels = [kernel for kernel in kernels if (latest - kernel["latest_ns"]) / 1e6 <= 3 * whole + 1][-_MOST_BARS:]
    first = kernels[0]["latest_ns"] if kernels else 0
    return {"data": [{"type": "bar", "orientation": "h", "base": [(k["latest_ns"] - first) / 1e3 for k in kernels],
                      "x": [k["mean_us"] for k in kernels], "y": [f"{k['name']}" for k in kernels],
                      "hovertemplate": "%{y}: %{x:.1f} us<extra></extra>"}],
            "layout": {"title": {"text": f"A call of {cluster['name'] if cluster else 'nothing'}"},
                       "height": 200 + 16 * len(kernels), "xaxis": {"title": {"text": "us"}},
                       "yaxis": {"automargin": True, "autorange": "reversed"}}}


def render(report: dict[str, Any]) -> str:
    charts = {"flame": _flame(report), "roofline": _roofline(report), "timeline": _timeline(report),
              "call": _latest_call(report)}
    return _output.page(f"{report['program']}: {report['seconds']:.2f} s", charts, {"report": report},
                        _profile_text.render(report))
