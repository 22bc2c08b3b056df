"""A profile as a table for the terminal; see _profile_data.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tektite._output import table

_MOST_CLUSTERS, _MOST_KERNELS, _MOST_REASONS = 8, 12, 6


def milliseconds(ms: float) -> str:
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 1 else f"{ms:.3f}"


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


def kernel_row(kernel: dict[str, Any], whole: float) -> tuple[str, ...]:
    return (milliseconds(kernel["ms"]), share(kernel["ms"], whole), str(kernel["runs"]), f"{kernel['least_us']:.1f}",
            f"{kernel['gflops']:.0f}", f"{kernel['gbs']:.0f}", f"{100 * kernel['of_peak']:.0f}% of {kernel['bound']}",
            f"{kernel['name']}  {kernel['shape']}".rstrip())


def _cluster(cluster: dict[str, Any]) -> Iterator[str]:
    whole = cluster["ms"]
    yield ""
    yield (f"{cluster['name']}: {cluster['calls']} calls of compiled code, {milliseconds(whole)} ms; TensorFlow's kernels "
           f"{milliseconds(cluster['tensorflow_ms'])} ms; faster: {cluster['winner']}; compiling "
           f"{milliseconds(cluster['compile_ms'])} ms; arena {cluster['arena_bytes'] / 1e6:.1f} MB")
    kernels = cluster["kernels"]
    if kernels:
        head = ("ms", "share", "runs", "least us", "GFLOP/s", "GB/s", "roofline", "kernel")
        yield table(head, [kernel_row(kernel, whole) for kernel in kernels[:_MOST_KERNELS]], "  ")
    if len(kernels) > _MOST_KERNELS:
        rest = sum(kernel["ms"] for kernel in kernels[_MOST_KERNELS:])
        yield f"  and {len(kernels) - _MOST_KERNELS} more kernels, {milliseconds(rest)} ms"


def _reasons(report: dict[str, Any]) -> Iterator[str]:
    ops, left = report["ops"], report["left_out"]
    if ops["all"]:
        yield ""
        yield f"{ops['compiled']} of {ops['all']} ops are in clusters ({share(ops['compiled'], ops['all'])}). Not in any:"
        for row in left[:_MOST_REASONS]:
            yield f"  {row['ops']:>5} ops  {row['reason']}: {row['meaning']} First: {row['example']}"
            if row["cure"]:
                yield f"{'':13}{row['cure']}"
    if report["fallbacks"]:
        yield "Calls of clusters that TensorFlow's kernels ran:"
        for row in report["fallbacks"][:_MOST_REASONS]:
            yield f"  {row['calls']:>5} calls  {row['reason']}: {row['meaning']}" + (f" ({row['example']})" if row["example"] else "")


def render(report: dict[str, Any]) -> str:
    machine, compiling, memory = report["machine"], report["compile"], report["memory"]
    wall = report["seconds"] * 1e3
    lines = [f"{report['program']}: {report['seconds']:.2f} s. This machine, {machine['threads']} threads: "
             f"{machine['peak_gflops']:.0f} GFLOP/s, {machine['memory_gbs']:.0f} GB/s from memory, "
             f"{machine['cache_gbs']:.0f} GB/s in cache"]
    if report["functions"]:
        lines.append("")
        rows = [(milliseconds(row["ms"]), share(row["ms"], wall), str(row["calls"]), milliseconds(row["first_ms"]),
                 milliseconds(row["compiled_ms"]), milliseconds(row["tensorflow_ms"]), row["name"])
                for row in report["functions"][:_MOST_CLUSTERS]]
        head = ("ms", "share", "calls", "first call", "in compiled code", "elsewhere", "function")
        lines.append(table(head, rows))
    for cluster in report["clusters"][:_MOST_CLUSTERS]:
        lines.extend(_cluster(cluster))
    if not report["clusters"]:
        lines += ["", "No cluster ran."]
    lines.extend(_reasons(report))
    lines += ["", f"Compiling: {compiling['seconds']:.2f} s for {compiling['programs']} programs, {compiling['kernels']} "
              f"kernels, and {compiling['kernels_from_disk']} from disk. Memory: {memory['peak_rss_bytes'] / 1e6:.0f} MB at "
              f"most, of these {memory['weight_bytes'] / 1e6:.1f} for prepared weights, {memory['arena_bytes'] / 1e6:.1f} "
              f"for arenas. {report['runs']['direct']} of {report['runs']['all']} calls were direct."]
    return "\n".join(lines)
