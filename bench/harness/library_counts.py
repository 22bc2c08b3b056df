"""Which graphs of the conformance suite become libraries of `tektite aot`, and why others are refused.

    graphs = suite_graphs(folder)                        # {"/tmp/a/Fft_17.ir": "spectrum", ...}
    answer(path, "native", folder)                       # "the same bits", "close", a reason, or what went wrong
    print(table(graphs, answers))

Each graph becomes a library with its test program (`--test`), whose expected results are the JIT's; the suite compares
those with the reference interpreter's. `--cpu armv8-a` needs aarch64-linux-gnu-gcc, and -g++
when Tektite is built, and qemu-aarch64. With `sanitize`, test programs of this machine are watched (guarded_memory.py).
"""
import os
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

from bench.harness.guarded_memory import sanitizers

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "build/bin/tektite"
SUITE = ROOT / "build/bin/conformance_test"
SAME, CLOSE = "the same bits", "close"

# What may be refused: a part of the sentence, and the reason in the table.
REASONS = [
    (r"a size is an element of argument", "a size is an element of an argument"),
    (r"its kernel is compiled with Tektite", "a kernel that libraries do not have"),
    (r"is one of libtektite_kernels\.a's", "a kernel of libtektite_kernels.a, which was not built for AArch64"),
    (r"no such op here", "an op that only TensorFlow has"),
    (r"only values tell how many", "values that decide a shape"),
    (r"must be known when code is made|depends on a size", "an operand that must be a constant"),
    (r"^\w+ '[^']*': ", "a form of an op that only TensorFlow has"),
]
CROSS = {"armv8-a": ("aarch64-linux-gnu-gcc", ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"])}


def missing_tools(cpu):
    """Of a CPU that this machine is not."""
    compiler, emulator = CROSS.get(cpu, (None, []))
    tools = [compiler, compiler.replace("gcc", "g++"), *emulator[:1]] if compiler else []
    return [tool for tool in tools if shutil.which(tool) is None]


def suite_graphs(folder, tests="*"):
    """Each graph that the suite has, once, with the file of its test."""
    files = {}
    for source in sorted((ROOT / "tests/conformance").rglob("*_test.cc")):
        for test in re.findall(r"(?:CONFORMANCE_TEST|TEST_P)\((?:\w+, )?(\w+)\)", source.read_text()):
            files[test] = source.stem.removesuffix("_test")
    subprocess.run([SUITE, f"--gtest_filter={tests}/cpu"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "TEKTITE_CONFORMANCE_GRAPHS": str(folder)})
    graphs, seen = {}, set()
    for path in sorted(Path(folder).glob("*.ir"), key=lambda path: int(path.stem.rpartition("_")[2])):
        text = path.read_text()
        if text not in seen:
            graphs[path] = files[path.stem.rpartition("_")[0]]
        seen.add(text)
    return graphs


def make(path, cpu, folder):
    """The reason for a refusal, or None."""
    done = subprocess.run([COMMAND, "aot", path, "--out", folder, "--name", "model", "--cpu", cpu, "--test"], text=True,
                          capture_output=True, timeout=300)
    if done.returncode == 0:
        return None
    sentence = done.stderr.strip()
    return next((reason for pattern, reason in REASONS if re.search(pattern, sentence)), f"tektite aot: {sentence}")


def run_test_program(folder, cpu="native", limit=300, sanitize=False):
    """What it says: the same bits, close, or what went wrong."""
    compiler, emulator = CROSS.get(cpu, (os.environ.get("CC") or "cc", []))
    kernels = [*map(str, folder.glob("libtektite_kernels.a"))]
    watched = sanitizers(folder) if sanitize else []
    subprocess.run([compiler, "-O0", *watched, f"{folder}/model_test.c", f"{folder}/libmodel.a", *kernels,
                    *(["-lstdc++"] if kernels else []), "-lm", "-o", f"{folder}/test"], check=True)
    done = subprocess.run([*emulator, f"{folder}/test"], text=True, capture_output=True, timeout=limit)
    answers = {line.rpartition(": ")[2] for line in done.stdout.splitlines()}
    if done.returncode:
        wrong = [line for line in done.stdout.splitlines() if not line.endswith((f": {SAME}", f": {CLOSE}"))]
        seen = re.findall(r"Sanitizer: .*|runtime error: .*", done.stderr)
        return "; ".join(dict.fromkeys([*wrong, *seen[:1]])) or f"ended with {done.returncode}"
    return CLOSE if CLOSE in answers else SAME


def answer(path, cpu, folder, sanitize=False):
    """Of a graph in a file; `folder` is emptied afterwards."""
    try:
        return make(path, cpu, folder) or run_test_program(Path(folder), cpu, sanitize=sanitize)
    except (subprocess.SubprocessError, OSError) as error:
        return f"failed: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def table(graphs, answers):
    """Rows of the suite's files, and of all."""
    reasons = [reason for _, reason in REASONS if reason in answers.values()]
    rows = defaultdict(Counter)
    for path, given in answers.items():
        known = given in (SAME, CLOSE, *reasons)
        for row in graphs[path], "all":
            rows[row][given if known else "wrong"] += 1
    columns = [SAME, CLOSE, *reasons, "wrong"]
    lines = ["| graphs of | number | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|"]
    for row in [*sorted(set(rows) - {"all"}), "all"]:
        lines.append(f"| {row} | {sum(rows[row].values())} | " + " | ".join(str(rows[row][c]) for c in columns) + " |")
    return "\n".join(lines)
