"""Which models and functions of bench/zoo become libraries of `tektite aot`, and why others are refused.

    answers = count_zoo(["gru", "sorting"], "native", Path("zoo.json"), limit=300)
    print(zoo_table(answers))        # of {"gru": "the same bits", "linalg": "MatrixDeterminant 'det': no such op here"}

One process makes many libraries, since it takes seconds to import TensorFlow. It has `limit` seconds for each of them; what takes
longer is an answer, too, and another process goes on behind it. Each answer is printed, and saved in the file: answers that
are there are not looked for again. Libraries have their test programs (`--test`), whose expected results are the JIT's.
A name is a case's of bench/zoo, or a workload's of bench/models.
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from bench.harness.engines import ENGINES, default_python, environment
from bench.harness.library_counts import CLOSE, REASONS, SAME, run_test_program
from bench.harness.process import Task
from bench.models import WORKLOADS
from bench.zoo import CASES

# Writes NAME.made, with the sentence of a refusal or nothing.
MAKE = """
import os, sys
from pathlib import Path
from bench.harness.runners import make_model
from bench.harness.tensorflow_runner import signature, traced
from bench.harness.zoo_counts import workload_of
import tektite
folder, cpu, *names = sys.argv[1:]
for name in names:
    task, workload = workload_of(name)
    said = ""
    try:
        model = make_model(workload, task.cache, compute_statistics=True)
        tektite.aot(traced(workload, model), *signature(workload), out=f"{folder}/{name}", name="model",
                    test=True, cpu=cpu)
    except ValueError as error:
        said = str(error).removeprefix("tektite: ").strip()
    Path(folder, f"{name}.part").write_text(said)
    os.rename(f"{folder}/{name}.part", f"{folder}/{name}.made")
"""


def workload_of(name):
    if name in CASES:
        return Task("bench.zoo", f"{name}_b1", 1), CASES[name].workload(1)
    return Task("bench.models", name, 1), WORKLOADS[name]


def zoo_names():
    """Those that are no programs, which call TensorFlow themselves."""
    return [name for name, case in CASES.items() if case.workload(1).kind != "program"]


def _answer(folder, name, cpu, limit, sanitize):
    said = (folder / f"{name}.made").read_text()
    try:
        return said or run_test_program(folder / name, cpu, limit, sanitize)
    except subprocess.TimeoutExpired:
        return f"its test program did not end within {limit} s"
    except subprocess.CalledProcessError as error:
        return f"its test program does not compile: {error}"
    finally:
        shutil.rmtree(folder / name, ignore_errors=True)


def _answers(folder, names, cpu, limit, sanitize):
    """Pairs of a name and an answer, of a process that makes the libraries; the last one is of that which stopped it."""
    child = subprocess.Popen([default_python(), "-c", MAKE, str(folder), cpu, *names], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, env=environment(ENGINES["tf"], 1))
    try:
        for name in names:
            deadline = time.monotonic() + limit
            while not (made := (folder / f"{name}.made").exists()) and time.monotonic() < deadline and child.poll() is None:
                time.sleep(0.2)
            if not made and not (folder / f"{name}.made").exists():
                yield name, f"not made within {limit} s" if child.poll() is None else f"its process ended with {child.poll()}"
                return
            yield name, _answer(folder, name, cpu, limit, sanitize)
    finally:
        child.kill()
        child.wait()


def count_zoo(names, cpu, file, limit, sanitize=False):
    answers = json.loads(file.read_text()) if file.exists() else {}
    names = [name for name in names if name not in answers]
    while names:
        with tempfile.TemporaryDirectory() as folder:
            for name, answer in _answers(Path(folder), names, cpu, limit, sanitize):
                answers[name] = answer
                print(f"{len(answers)}: {name}: {answer}", file=sys.stderr, flush=True)
                file.write_text(json.dumps(answers, indent=1))
        names = [name for name in names if name not in answers]
    return answers


def zoo_table(answers):
    """Counts, and the names of others by the reasons of the list."""
    same, near = [list(answers.values()).count(kind) for kind in (SAME, CLOSE)]
    lines = [f"{same} of {len(answers)} models and functions have the JIT's bits, {near} are close."]
    names = defaultdict(list)
    for name, answer in answers.items():
        if answer not in (SAME, CLOSE):
            names[next((reason for pattern, reason in REASONS if re.search(pattern, answer)), answer)].append(name)
    if names:
        lines += ["", "| refused: | |", "|---|---|", *(f"| {reason} | {', '.join(sorted(found))} |" for reason, found in names.items())]
    return "\n".join(lines)
