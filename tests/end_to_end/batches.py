"""Runs many small programs in one pair of processes, stock TensorFlow's and Tektite's: most of such a program's time is
the start of a process, TensorFlow's first calls, and kernels that the other programs need, too.

    ZOO = Batch("zoo", {"lstm": "...; report(y=y)", "gru": "..."}, TEKTITE_FLAGS="--tier=generic")

    def test_zoo(run_batch):
        plain, compiled = run_batch(ZOO, "lstm")   # what this program reported, and its own share of the counters

Each program begins with the same random numbers, from a file of its own, since AutoGraph reads the sources. One that raises
an error fails alone, and so does one that ends the process: those behind it run in another. The first test that asks runs
the batch (tests/shared_results.py).

Limits: programs of one batch share what a process has once, such as its flags.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.conftest import Result, run_reports

PROGRAM = """
import pathlib, tempfile, traceback
report(begun=True)
with tempfile.TemporaryDirectory() as folder:
    for number, (name, text) in enumerate({programs!r}.items()):
        path = pathlib.Path(folder, f"program{{number}}.py")
        path.write_text(text)
        rng = np.random.default_rng(7)
        values = {{}}
        try:
            exec(compile(text, str(path), "exec"), {{**globals(), "report": values.update}})
        except Exception:
            values = {{"error": traceback.format_exc()}}
        report(name=name, values=values)
"""


class Batch:
    def __init__(self, name: str, programs: dict[str, str], preamble: str = "", **environment: str) -> None:
        """`preamble` runs once in each process, before the programs, which see what it defines."""
        self.name, self.programs, self.preamble, self.environment = name, programs, preamble, environment


BY_REASON = ("fallbacks", "left_out", "not_placed")  # dictionaries that have a reason once it is met


def change(after: Any, before: Any) -> Any:
    """Of counters, how much they grew; anything else as it is."""
    if isinstance(after, dict):
        before = before if isinstance(before, dict) else {}
        for name in BY_REASON:
            if name in after and name in before:
                met = {reason: value for reason, value in after[name].items() if value != before[name].get(reason)}
                after = {**after, name: met}
        return {name: change(value, before.get(name)) for name, value in after.items()}
    numbers = isinstance(after, (int, float)) and isinstance(before, (int, float)) and not isinstance(after, bool)
    return after - before if numbers else after


def run_one_side(batch: Batch, tektite: str) -> dict[str, Result]:
    """Of each program. One that failed has values["error"]."""
    results: dict[str, Result] = {}
    left = list(batch.programs)
    while left:
        programs = {name: batch.programs[name] for name in left}
        text = batch.preamble + PROGRAM.format(programs=programs)
        ended = run_reports(text, tektite, timeout=900, **batch.environment)
        before = ended.reports[0]["stats"] if ended.reports else {}
        for answer in ended.reports[1:]:
            stats, before = change(answer["stats"], before), answer["stats"]
            results[left.pop(0)] = Result(answer["values"]["values"], stats, ended.stderr)
        if left:  # the first of these ended the process
            results[left.pop(0)] = Result({"error": ended.failure or "it ended the process"}, {}, ended.stderr)
        elif ended.failure:  # at the end of the process, and any of them may be why
            results[answer["values"]["name"]].values["error"] = ended.failure
    return results


def run_both_sides(batch: Batch) -> dict[str, tuple[Result, Result]]:
    with ThreadPoolExecutor(2) as pool:
        plain, compiled = pool.map(lambda side: run_one_side(batch, side), ("0", "1"))
    return {name: (plain[name], compiled[name]) for name in batch.programs}
