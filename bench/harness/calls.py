"""Where the time of a call goes, from two answers of tektite.stats() with --profile_kernels.

    calls_between(before, after, call_us=4300.0)      # a Split, microseconds of the mean call

The parts of a call are TensorFlow (Python, and its way to the cluster and back), Tektite around its kernels, and
kernels. At 2 threads and more the rest says what the other threads did meanwhile.
"""
from dataclasses import dataclass

from bench.harness import figures

PARTS = ("whole", "team", "shared", "alone", "waiting", "helping", "absent")
HEADS = ("call", "TensorFlow", "ours, no kernel", "kernels", "of it alone", "of it waiting", "helpers in kernels",
         "until one came", "calls without")


@dataclass(frozen=True)
class Split:
    call: float        # microseconds, as all but the last
    tensorflow: float  # before and after our code
    around: float      # our code outside kernels
    kernels: float     # on the calling thread
    alone: float       # of these: kernels too small to share, and all of them on one thread
    waiting: float     # of these: for other threads' last chunks
    helping: float     # the other threads' time in kernels
    absent: float      # from the first kernel until a helper came
    unhelped: float    # share of calls that asked for helpers and got none


def calls_between(before: dict, after: dict, call_us: float) -> Split | None:
    """None where no compiled code ran. A model of several clusters: all of them together, a call being as many runs
    as the cluster that ran most had."""
    earlier = {c["cluster"]: c for c in before.get("calls", [])}
    sums, runs, entered, unhelped = dict.fromkeys(PARTS, 0.0), 0, 0, 0
    for c in after.get("calls", []):
        old = earlier.get(c["cluster"], dict.fromkeys(("entered", "timed", "unhelped", *PARTS), 0))
        runs = max(runs, c["timed"] - old["timed"])
        entered = max(entered, c["entered"] - old["entered"])
        unhelped += c["unhelped"] - old["unhelped"]
        for part in PARTS:
            sums[part] += c[part] - old[part]
    if runs == 0:
        return None
    mean = {part: total / (entered if part == "whole" else runs) for part, total in sums.items()}
    kernels = mean["shared"] + mean["alone"]
    return Split(call_us, call_us - mean["whole"], mean["whole"] - kernels, kernels, mean["alone"], mean["waiting"],
                 mean["helping"], mean["absent"], unhelped / runs)


def table(rows: list[tuple[str, int, Split]]) -> str:
    """Markdown; microseconds of a mean call."""
    lines = []
    for name, threads, split in rows:
        times = (split.call, split.tensorflow, split.around, split.kernels, split.alone, split.waiting, split.helping,
                 split.absent)
        lines.append((name, str(threads), *(f"{t:.0f}" for t in times), f"{split.unhelped:.1%}"))
    return figures.table(("workload", "threads", *HEADS), lines)
