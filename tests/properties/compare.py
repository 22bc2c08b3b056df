"""Starts the two sides of draws and compares their results; `python -m tests.properties` and test_properties.py call it."""

from __future__ import annotations

import dataclasses
import os
import pickle
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Iterator

import numpy as np

from tests.properties.known import ENDS_TENSORFLOW, READS_BEYOND, is_known, may_be_onednn
from tests.properties.result import Result
from tests.random_programs.programs import mistakes

ROOT = Path(__file__).resolve().parents[2]
IMPORT_LIST = ROOT / "clustering" / "importer" / "import_list.inc"
CONTENTS_LIST = IMPORT_LIST.with_name("contents") / "contents_list.inc"
FLAGS_OF_LANE = {"plain": "", "known": "--tier=specialized", "reproducible": "--reproducible", "deterministic": "", "misfit": "",
                 "cut": "--tier=generic"}
FLAGS = "--min_cluster_cost=0 --compile=sync --compare=false --cache_dir=off --xla_guard=false"
TOGETHER = 2000  # draws between two reports
CALLS_A_DRAW = 3.4  # in the mean: draws of known sizes have one, the others five


@dataclasses.dataclass
class Report:
    op: str
    calls: int = 0
    errors: int = 0
    compiled: int = 0
    ended: int = 0
    doubtful: list[int] = dataclasses.field(default_factory=list)  # draws that differ where oneDNN may be wrong
    differences: list[str] = dataclasses.field(default_factory=list)


def rows_of_importer() -> list[str]:
    return re.findall(r"^TEKTITE_IMPORT\((\w+),", IMPORT_LIST.read_text(), re.MULTILINE)


def rows_of_contents() -> list[str]:
    """Those of which the importer computes results from known operands."""
    return re.findall(r"^TEKTITE_CONTENTS\((\w+),", CONTENTS_LIST.read_text(), re.MULTILINE)


def numbers_of(op: str, draws: int, seed: int, lane: str = "plain") -> list[int]:
    count = draws if op.startswith("Xla") or lane != "plain" else max(1, round(draws / CALLS_A_DRAW))
    return list(range(seed * 1000, seed * 1000 + count))


def run_side(folder: Path, draws: list[tuple[str, int]], tektite: str, lane: str,
             onednn: str = "1") -> dict[tuple[str, int], Result | str]:
    env = {k: v for k, v in os.environ.items() if k not in ("TEKTITE", "TEKTITE_FLAGS")}
    env |= {"TEKTITE": tektite, "TEKTITE_FLAGS": f"{FLAGS} {FLAGS_OF_LANE[lane]} {os.environ.get('TEKTITE_FLAGS', '')}", "TF_CPP_MIN_LOG_LEVEL": "3",
            "TF_NUM_INTRAOP_THREADS": "2", "TF_NUM_INTEROP_THREADS": "1", "TF_ENABLE_ONEDNN_OPTS": onednn}
    folder.mkdir()
    text = "".join(f"{op} {number}\n" for op, number in draws)
    done = subprocess.run([sys.executable, "-m", "tests.properties.worker", str(folder), lane], cwd=ROOT, env=env, input=text, text=True,
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the worker ends: {done.stderr[-2000:]}")
    return {(op, number): pickle.loads((folder / f"{op}.{number}").read_bytes()) for op, number in draws}


def compare_rows(draws: list[tuple[str, int]], lane: str = "plain") -> Iterator[Report]:
    """A report for each row, in the order of the draws; lanes.py says what else than `plain` ones there are."""
    for begin in range(0, len(draws), TOGETHER):
        batch = draws[begin:begin + TOGETHER]
        with tempfile.TemporaryDirectory(prefix="tektite_properties_") as name, ThreadPoolExecutor(2) as pool:
            sides = [pool.submit(run_side, Path(name) / tektite, batch, tektite, lane) for tektite in ("0", "1")]
            stock, compiled = (side.result() for side in sides)
        reports: dict[str, Report] = {}
        for draw in batch:
            check(reports.setdefault(draw[0], Report(draw[0])), draw[1], stock[draw], compiled[draw], lane)
        if doubtful := [(op, number) for op, report in reports.items() for number in report.doubtful]:
            with tempfile.TemporaryDirectory(prefix="tektite_properties_") as name:
                right = run_side(Path(name) / "without", doubtful, "0", lane, onednn="0")
            for draw in doubtful:
                check_without_onednn(reports[draw[0]], right[draw], compiled[draw])
        yield from reports.values()


def check(report: Report, number: int, stock: Result | str, compiled: Result | str, lane: str = "plain") -> None:
    if isinstance(stock, str):  # operands that do not fit may end it, or the row's own function
        if lane != "misfit" and ("Traceback" in stock or report.op not in ENDS_TENSORFLOW):
            report.differences.append(f"{report.op} {number}: TensorFlow: {stock}")
        report.ended += 1
        return
    if isinstance(compiled, str):
        report.differences.append(f"{stock.text}: compiled: {compiled}")
        return
    report.compiled += compiled.runs
    for call, (got, want, allowed) in enumerate(zip(compiled.calls, stock.calls, stock.allowed)):
        report.calls += 1
        report.errors += isinstance(want, str)
        found = differences(got, want, allowed, stock.signs)
        if found and not (lane == "misfit" and report.op in READS_BEYOND) and not is_known(report.op, stock.text, found):
            if may_be_onednn(report.op, found):
                report.doubtful.append(number)
            else:
                report.differences.append(f"{stock.text}: call {call}: {found}")
            return


def check_without_onednn(report: Report, right: Result | str, compiled: Result | str) -> None:
    """All calls of a draw in which oneDNN may be wrong."""
    if isinstance(right, str) or isinstance(compiled, str):
        report.differences.append(f"{report.op}: {right if isinstance(right, str) else compiled}")
        return
    for call, (got, want, allowed) in enumerate(zip(compiled.calls, right.calls, right.allowed)):
        if (found := differences(got, want, allowed, right.signs)) and not is_known(report.op, right.text, found):
            report.differences.append(f"{right.text}: call {call}, also without oneDNN: {found}")
            return


def differences(got: list[np.ndarray] | str, want: list[np.ndarray] | str, allowed: list[np.ndarray] | None, signs: bool) -> str:
    """Empty where the results are TensorFlow's; two errors are equal."""
    if isinstance(got, str) or isinstance(want, str):
        if isinstance(got, str) and isinstance(want, str):
            return ""
        return f"{got if isinstance(got, str) else 'results'} where {want if isinstance(want, str) else 'results'} is right"
    if len(got) != len(want):
        return f"{len(got)} results where {len(want)} are right"
    for i, (g, w, a) in enumerate(zip(got, want, allowed or [])):
        if found := mistakes(g, w, a):
            return f"result {i}: {found}"
        if signs and i == 0 and g.dtype.kind == "f" and np.any((g == 0) & (w == 0) & (np.signbit(g) != np.signbit(w))):
            return f"result {i}: a zero has the other sign"
    return ""
