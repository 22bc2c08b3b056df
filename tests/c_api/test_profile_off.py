"""Outside of a profile a call runs none of the profiler's code, and the same instructions each time: callgrind counts them.

Counts of one build differ from those of another, so the test asks what holds in each: which functions a hundred steady calls run,
and that each function's instructions are a multiple of a hundred. A run with --profile_kernels shows that both can fail.
"""
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build/cmake/runtime_hooks/c_api/libtektite.so"
CALLS = 100
# What a profile runs in a call that it measures, and what asks whether there is one.
PROFILERS = ("steady_clock::now()", "Executable::Watch::", "StepTime::Add(", "StepClock::NanosecondsUntilItHasRun(", "TeamStream::Record")
ASKS = ("Executable::WeightOfCall(", "StepClock::StepClock(")


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    """Linked with a library without debug information, which Valgrind reads slowly, and of some compilers not at all."""
    if not shutil.which("valgrind"):
        pytest.skip("no Valgrind")
    folder = tmp_path_factory.mktemp("steady")
    subprocess.run(["objcopy", "--strip-debug", LIBRARY, folder / "libtektite.so"], check=True)
    subprocess.run(["cc", "-std=c11", f"-I{ROOT}", ROOT / "tests/c_api/steady_calls.c", "-o", folder / "steady_calls",
                    f"-L{folder}", "-ltektite", f"-Wl,-rpath,{folder}"], check=True)
    return folder / "steady_calls"


def instructions(program: Path, *flags: str) -> dict[str, int]:
    """By function, of the steady calls alone."""
    out = program.with_name("callgrind.out")
    command = ["valgrind", "--tool=callgrind", "--toggle-collect=steady_calls", f"--callgrind-out-file={out}", program, str(CALLS), *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0 and done.stdout == "0 failed, 0.0900\n", done.stdout + done.stderr
    said = subprocess.run(["callgrind_annotate", "--threshold=100", "--auto=no", out], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^ *([0-9,]+) \([ 0-9.]+%\)  \S*?:(.*?)(?: \[.*)?$", said, re.MULTILINE)
    counts: dict[str, int] = {}
    for count, function in rows:
        counts[function] = counts.get(function, 0) + int(count.replace(",", ""))
    counts.pop("steady_calls")  # the loop itself
    assert len(counts) > 30, said
    return counts


def of(counts: dict[str, int], names: tuple[str, ...]) -> dict[str, int]:
    return {function: count for function, count in counts.items() if any(name in function for name in names)}


def now_and_then(counts: dict[str, int]) -> list[str]:
    return [function for function, count in counts.items() if count % CALLS]


def test_a_call_outside_of_a_profile_runs_nothing_of_it(program):
    off, on = instructions(program), instructions(program, "--profile_kernels")
    assert all(of(on, (name,)) for name in PROFILERS), "a profile runs none of it: the names are of another time"
    assert all(of(off, (name,)) for name in ASKS), "the names are of another time"
    assert of(off, PROFILERS) == {}
    assert now_and_then(on) and now_and_then(off) == []
    assert sum(of(off, ASKS).values()) < sum(off.values()) / 100
