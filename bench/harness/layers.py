"""Where the time of a model goes: our kernels against their roofline, another engine's layers by type.

    peaks = parse_peaks(what_bench_kernels_prints_first)
    kernels = kernels_between(stats_before, stats_after)      # with --profile_kernels
    print(kernel_table(group(kernels), peaks, source_of_weights(kernels, peaks)))

A kernel's roofline is the largest of: its multiplications and additions at the peak rate of one core;
its bytes at the rate of the smallest cache that holds them, or of memory; its weights at the rate at which
they come when they were last read a call ago, which is measured by reading as much memory as a call touches
again and again (a last-level cache that is shared with other programs holds less than its size).

A kernel that beats its roofline has less to do than that counts: Winograd's algorithm multiplies less than half as often,
a pool of every second pixel reads a quarter of them, and what fits the first cache moves faster than in the second. Its
share is shown as ">100%", and counts as all of its roofline where shares are summed.
"""
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable

from bench.harness.figures import short, table

CACHE_SIZE = "/sys/devices/system/cpu/cpu0/cache/index{level}/size"
CONTRACTIONS = ("contraction", "attention")


@dataclass(frozen=True)
class Peaks:
    """Of one core, in units per microsecond."""
    flops: float
    l2: float
    l3: float
    memory: float
    readings: tuple[tuple[int, float], ...]  # bytes that are read again and again, and their rate


@dataclass(frozen=True)
class Kernel:
    """A step of a call; times and work are of one run."""
    number: str  # as "k3"
    kind: str    # as "contraction_convolution"
    layer: str   # where it comes from
    microseconds: float
    flops: float
    bytes: int
    weight_bytes: int
    shape: str = ""  # of its work, as in jit/compiler/kernel_work.h

    @property
    def is_contraction(self) -> bool:
        return self.flops > 0 and self.kind.startswith(CONTRACTIONS)


@dataclass(frozen=True)
class Group:
    """Kernels of the same kind with the same work, such as those of a network's equal blocks."""
    kernels: tuple[Kernel, ...]

    @property
    def first(self) -> Kernel:
        return self.kernels[0]

    @property
    def total(self) -> float:
        return sum(k.microseconds for k in self.kernels)

    @property
    def mean(self) -> float:
        return self.total / len(self.kernels)


@dataclass(frozen=True)
class Source:
    """Of the weights of a model that is called again and again."""
    rate: float     # bytes per microsecond
    touched: float  # bytes a call touches at least, and so between two uses of a weight

    def __str__(self) -> str:
        return f"weights, {self.touched / 2**20:.0f} MB a call"


def parse_peaks(text: str) -> Peaks:
    """From the first two lines that bench/kernels prints."""
    found = re.search(r"one core: (\S+) GFLOP/s f32, (\S+) GB/s in L2, (\S+) GB/s in L3, "
                      r"(\S+) GB/s from memory", text)
    readings = re.findall(r"(\d+) MB at (\S+) GB/s", text)
    if not found or not readings:
        raise ValueError(f"no roofline in what bench/kernels prints: {text[:200]!r}")
    return Peaks(*(float(n) * 1e3 for n in found.groups()),
                 tuple((int(size) * 2**20, float(rate) * 1e3) for size, rate in readings))


def parse_name(name: str) -> tuple[str, str, str]:
    """conv1: conv 3x3 [k3_contraction_convolution] -> (k3, contraction_convolution, conv1: conv 3x3)."""
    found = re.fullmatch(r"(?:(.*) )?\[?(k\d+)_([^\s\]]+?)(?:_by_[^\s\]]+)?\]?(?: on the host)?", name)
    return (found[2], found[3], found[1] or "") if found else ("", name, "")


def kernels_between(before: dict, after: dict, mean: bool = False) -> list[Kernel]:
    """The kernels that ran between two answers of tektite.stats(), without those that run once for many calls: the work
    on weights.  In the order of the program.  A kernel's time is its least, as the machine's peaks are the most it was
    seen to do; with `mean`, that of all runs between."""
    earlier = {(k["cluster"], k["kernel"]): k for k in before.get("profile", [])}
    ran = []
    for k in after.get("profile", []):
        old = earlier.get((k["cluster"], k["kernel"]), {"runs": 0, "microseconds": 0.0})
        runs = k["runs"] - old["runs"]
        if runs > 0:
            ran.append((runs, k, (k["microseconds"] - old["microseconds"]) / runs if mean else k["least_microseconds"]))
    often = max((runs for runs, _, _ in ran), default=0) / 2
    kernels = [Kernel(*parse_name(k["kernel"]), us, k["flops"], k["bytes"], k["weight_bytes"], k["shape"])
               for runs, k, us in ran if runs >= often]
    return sorted(kernels, key=lambda k: int(k.number[1:] or 0))


def group(kernels: Iterable[Kernel]) -> list[Group]:
    """The longest first."""
    groups = defaultdict(list)
    for k in kernels:
        groups[k.kind, k.shape, k.flops, k.bytes, k.weight_bytes].append(k)
    return sorted((Group(tuple(g)) for g in groups.values()), key=lambda g: -g.total)


def source_of_weights(kernels: Iterable[Kernel], peaks: Peaks) -> Source:
    """A call touches all weights, and what one of its kernels reads and writes besides."""
    kernels = list(kernels)
    touched = sum(k.weight_bytes for k in kernels) + max((k.bytes - k.weight_bytes for k in kernels), default=0)
    return Source(rate_of_reading(touched, peaks.readings), touched)


def rate_of_reading(touched: float, readings: tuple[tuple[int, float], ...]) -> float:
    """Between two readings, what a mixture of them would take."""
    for (small, fast), (large, slow) in zip(readings, readings[1:]):
        if touched <= large:
            part = min(max((touched - small) / (large - small), 0), 1)
            return 1 / ((1 - part) / fast + part / slow)
    return readings[-1][1]


def home_of(needed: int, sizes: tuple[int, int] | None = None) -> str:
    """l2, l3 or memory: the nearest that holds so many bytes."""
    l2, l3 = sizes or (cache_bytes(2), cache_bytes(3))
    return "l2" if needed <= l2 else "l3" if needed <= l3 else "memory"


def cache_bytes(level: int) -> int:
    file = Path(CACHE_SIZE.format(level=level))
    return int(file.read_text().strip().rstrip("K")) * 1024 if file.exists() else 0


def roofline(kernel: Kernel, peaks: Peaks, source: Source, sizes: tuple[int, int] | None = None) -> tuple[float, str]:
    """Least microseconds, and what sets them."""
    near = home_of(kernel.bytes, sizes)
    bounds = {"arithmetic": kernel.flops / peaks.flops, f"all in {near}": kernel.bytes / getattr(peaks, near),
              str(source): kernel.weight_bytes / source.rate}
    limit = max(bounds, key=bounds.get)
    return bounds[limit], limit


def share_of_roofline(g: Group, peaks: Peaks, source: Source) -> float:
    return roofline(g.first, peaks, source)[0] / g.mean


def kernel_table(groups: list[Group], peaks: Peaks, source: Source) -> str:
    whole, rows = sum(g.total for g in groups), []
    for g in groups:
        least, limit = roofline(g.first, peaks, source)
        rows.append([g.first.kind, label(g.first.layer), g.first.shape, str(len(g.kernels)), short(g.mean),
                     f"{g.total / whole:.1%}", short(g.first.flops / g.mean / 1e3) if g.first.flops else "-",
                     short(g.first.bytes / g.mean / 1e3), short(least), limit,
                     ">100%" if least > 1.005 * g.mean else f"{least / g.mean:.0%}"])
    return table(["kernel", "layer", "shape", "times", "µs each", "of all", "GFLOP/s", "GB/s", "roofline µs",
                  "bound by", "of roofline"], rows)


def label(layer: str) -> str:
    """The end of a layer's name, without the parts that all layers of a model share."""
    parts = layer.split("/")
    return "/".join(parts[1:] if len(parts) > 2 else parts)[-40:]


def summary(groups: list[Group], peaks: Peaks, source: Source, bar: float = 0.85) -> str:
    contractions = [g for g in groups if g.first.is_contraction]
    below = sum(len(g.kernels) for g in contractions if share_of_roofline(g, peaks, source) < bar)
    count, time = sum(len(g.kernels) for g in contractions), sum(g.total for g in contractions)
    least = sum(min(roofline(g.first, peaks, source)[0], g.mean) * len(g.kernels) for g in contractions)
    return (f"all kernels {sum(g.total for g in groups) / 1e3:.2f} ms, contractions {time / 1e3:.2f} ms, "
            f"at {least / time if time else 0:.0%} of their roofline together; "
            f"{count - below} of {count} at {bar:.0%} or more")


def by_type(layers: Iterable[tuple[str, float]], heading: str) -> str:
    """(type, milliseconds) of each layer -> a table, the longest type first."""
    times = defaultdict(list)
    for kind, ms in layers:
        times[kind].append(ms)
    rows = [[kind, str(len(ms)), f"{sum(ms):.3f}"]
            for kind, ms in sorted(times.items(), key=lambda item: -sum(item[1]))]
    rows.append(["all", str(sum(map(len, times.values()))), f"{sum(map(sum, times.values())):.3f}"])
    return table([heading, "layers", "ms"], rows)


def as_json(model: str, groups: list[Group], peaks: Peaks, source: Source) -> dict:
    """The kernel table for programs."""
    rows = []
    for g in groups:
        least, limit = roofline(g.first, peaks, source)
        rows.append({"kernel": g.first.kind, "layers": [k.layer for k in g.kernels], "shape": g.first.shape, "microseconds": g.mean,
                     "flops": g.first.flops, "bytes": g.first.bytes, "weight_bytes": g.first.weight_bytes,
                     "roofline_microseconds": least, "bound_by": limit, "of_roofline": least / g.mean,
                     "is_contraction": g.first.is_contraction})
    return {"model": model, "weights": str(source), "kernels": rows}
