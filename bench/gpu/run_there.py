#!/usr/bin/env python3
"""Runs on a machine with a card and nothing of ours but this archive: `python3 run_there.py RESULT.json`.

Each step is printed as it goes, and the file is written after each, so that a run that is cut off leaves what it has.
Needs numpy.  PyTorch, JAX and compute-sanitizer are used where they are there, and named as absent otherwise.

    python3 run_there.py RESULT.json --steps conformance,checks    some of the steps
"""
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

try:
    import numpy as np
except ImportError:
    sys.exit(f"{sys.executable} has no numpy, which this needs")

import models  # noqa: E402, which needs it too, as what follows
from cases import CASES, Case, widened  # noqa: E402

HERE = Path(__file__).resolve().parent
MODELS = HERE / "models"
# No library of ours is in a place where the loader looks by itself, and NVIDIA's may be Python packages.
LIBRARIES = [HERE / "lib", *(found for folder in sys.path for found in sorted(Path(folder).glob("nvidia/*/lib")))]
LOADER = {**os.environ,
          "LD_LIBRARY_PATH": ":".join([*map(str, LIBRARIES), os.environ.get("LD_LIBRARY_PATH", "")])}
SUITE = HERE / "bin/conformance_test"
FILTER = "--gtest_filter=*gpu_card"
PROCESSES = max(1, (os.cpu_count() or 1) - 2)
# A library or our own kernels: whichever is faster.
TUNING = "--tuning=auto"


def call(command: list, timeout: float, **environment: str) -> subprocess.CompletedProcess:
    try:
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout,
                              env={**LOADER, **environment}, check=False)
    except (subprocess.TimeoutExpired, OSError) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def machine() -> dict:
    said = call(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm", "--format=csv,noheader"], 60)
    found = {"card": said.stdout.strip() or None, "python": sys.version.split()[0]}
    for package in ("torch", "jax"):
        there = call([sys.executable, "-c", f"import {package}; print({package}.__version__)"], 300)
        found[package] = there.stdout.strip() if there.returncode == 0 else None
    return found


def one_test(words: list, name: str, timeout: float) -> tuple[int, str]:
    said = call([*words, SUITE, f"--gtest_filter={name}"], timeout, TEKTITE_CONFORMANCE_CARD="0")
    ran = said.returncode != 0 or "[  PASSED  ] 1 test" in said.stdout
    return said.returncode if ran else 1, said.stdout + said.stderr


def tests(words: list, timeout: float, names: list[str]) -> dict:
    """Each in a process of its own: after a fault of the card all later calls of a process fail."""
    began = time.monotonic()
    with ThreadPoolExecutor(PROCESSES) as pool:
        said = dict(zip(names, pool.map(lambda name: one_test(words, name, timeout), names)))
    failed = {name: text[-3000:] for name, (code, text) in said.items() if code != 0}
    return {"passed": len(said) - len(failed), "failed": sorted(failed), "exit": int(bool(failed) or not said),
            "seconds": time.monotonic() - began, "said": failed}


def suite() -> list[str]:
    """The names of the suite's tests for cards."""
    names, group = [], ""
    for line in call([SUITE, "--gtest_list_tests", FILTER], 60).stdout.splitlines():
        if line.startswith("  "):
            names.append(group + line.split()[0])
        elif line.rstrip().endswith("."):
            group = line.strip()
    return names


def sanitizer(timeout: float, names: list[str], checks: list[str]) -> dict:
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not Path(tool).exists():
        return {"absent": "compute-sanitizer"}
    return {check: tests([tool, "--tool", check, "--error-exitcode", "9"], timeout, names) for check in checks}


def write(case: Case, sizes: tuple, folder: Path) -> list:
    """The program and its inputs; returns the words that name them."""
    program = folder / "case.ir"
    program.write_text(case.ir(*sizes))
    words: list = [program]
    for number, array in enumerate(case.arrays(sizes)):
        np.save(folder / f"x{number}.npy", array)
        words += ["-i", folder / f"x{number}.npy"]
    return words


def run(case: Case, words: list, folder: Path, device: str, *more: str) -> subprocess.CompletedProcess:
    on_device = [*words, "--device", device]
    flags = TUNING if "--time" in more and not case.own else ""
    if flags:  # what it finds is used by the next process
        call([HERE / "bin/tektite", "bench", *on_device, "--repeat", "1"], 600, TEKTITE_FLAGS=flags)
    return call([HERE / "bin/tektite", "run", *on_device, "-d", folder / device.replace(":", ""), *more], 600,
                TEKTITE_FLAGS=flags)


def check(case: Case) -> dict:
    """The card's results beside those of the CPU's code."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        words = write(case, case.check, folder)
        for device in ("cpu", "gpu:0"):
            said = run(case, words, folder, device, "--repeat", "5")
            if said.returncode != 0:
                return {"ok": False, "said": f"{device}: {said.stderr.strip()}"}
        error = 0.0
        for file in sorted((folder / "cpu").glob("out*.npy")):
            want, got = widened(np.load(file)), widened(np.load(folder / "gpu0" / file.name))
            error = max(error, float(np.abs(got - want).max() / max(float(np.abs(want).max()), 1e-30)))
        return {"ok": error <= case.tolerance, "error": error, "tolerance": case.tolerance}


def routes(kernels: list[dict]) -> list[str]:
    """How each kernel is made: by our rule, or in the way that the tuner has found to be faster."""
    return [k["kernel"].partition("_by_")[2].partition("]")[0] or "own" for k in kernels]


def measure(case: Case, folder: Path) -> dict:
    """Microseconds of the kernels by the card's events, and of whole calls with copies of arguments and results."""
    said = run(case, write_once(case, folder), folder, "gpu:0", "--repeat", "10", "--time", "--profile")
    if said.returncode != 0:
        return {"failed": said.stderr.strip()}
    lines = [json.loads(line) for line in said.stdout.splitlines() if line.startswith('{"cluster"')]
    kernels = [line for line in lines if "least_microseconds" in line]
    least = sum(k["least_microseconds"] for k in kernels)
    call_ms = re.search(r"later calls: median ([\d.]+) ms", said.stdout)
    result_bytes = sum(int(np.load(file, mmap_mode="r").nbytes) for file in (folder / "gpu0").glob("out*.npy"))
    figures = {"sizes": case.measure, "kernels": len(kernels), "routes": routes(kernels), "microseconds": least,
               "call_microseconds": float(call_ms[1]) * 1e3 if call_ms else None}
    if least > 0:
        figures["gb_per_s"] = case.moved_bytes(case.measure, result_bytes) / least / 1e3
        figures["tflop_per_s"] = case.flops(*case.measure) / least / 1e6
    return figures


def write_once(case: Case, folder: Path) -> list:
    """Of the sizes that are measured: random numbers by the gigabyte take longer than what is measured."""
    if not (folder / "case.ir").exists():
        folder.mkdir(parents=True)
        write(case, case.measure, folder)
    files = sorted(folder.glob("x*.npy"), key=lambda file: int(file.stem[1:]))
    return [folder / "case.ir", *(word for file in files for word in ("-i", file))]


def write_named(name: str, folder: Path) -> None:
    """For another process, which no function can be sent to."""
    write_once(next(case for case in CASES if case.name == name), folder)


def measures(keep, cases: list[Case]) -> None:
    with tempfile.TemporaryDirectory() as text:
        folders = {case.name: Path(text) / case.name for case in cases}
        with ProcessPoolExecutor(PROCESSES) as pool:
            list(pool.map(write_named, folders, folders.values()))
        for case in cases:
            keep("measures", {case.name: measure(case, folders[case.name])})
            shutil.rmtree(folders[case.name])


def model(name: str) -> dict:
    """A whole model: its results beside stock TensorFlow's, and its calls with weights that lie on the card."""
    folder = MODELS / name
    with tempfile.TemporaryDirectory() as text:
        scratch = Path(text)
        program, words = folder / "program.ir", models.write_arguments(folder, scratch)
        said = call([HERE / "bin/tektite", "run", program, "--device", "gpu:0", "--repeat", "5", "-d", scratch, *words],
                    900)
        if said.returncode != 0:
            return {"ok": False, "said": said.stderr.strip()}
        error, tolerance = models.difference(folder, scratch), models.tolerance(folder)
        outcome = {"ok": error <= tolerance, "error": error, "tolerance": tolerance, "stock": models.stock(folder)}
        bench = [HERE / "bin/tektite", "bench", program, "--device", "gpu:0", "--json", *words]
        said = call(bench, 900)
        if said.returncode == 0:
            outcome["untuned_ms"] = json.loads(said.stdout)["median_ms"]
        call([*bench, "--repeat", "1"], 900, TEKTITE_FLAGS=TUNING)  # what it finds is used by the next process
        said = call([*bench, "--profile"], 900, TEKTITE_FLAGS=TUNING)
    if said.returncode != 0:
        return {**outcome, "said": said.stderr.strip()}
    figures = json.loads(said.stdout)
    kernels = figures.pop("kernels")
    return {**outcome, **figures, "kernels": len(kernels),
            "kernel_microseconds": sum(kernel["per_call"] for kernel in kernels), "slowest": kernels[:8]}


def rivals(keep, engine: str, names: list[str], seconds: float) -> None:
    """Whatever is there when its time is up: compiling a model can take a rival minutes."""
    with tempfile.TemporaryFile("w+") as errors:  # autotuning fills a pipe
        process = subprocess.Popen([sys.executable, HERE / "rival.py", engine, *names], stdout=subprocess.PIPE,
                                   stderr=errors, text=True, env=LOADER)
        bound = threading.Timer(seconds, process.kill)
        bound.start()
        for line in process.stdout:
            said = json.loads(line)
            keep("rivals", {f"{said.pop('name')} {engine}".removesuffix(" copy"): said})
        code = process.wait()
        bound.cancel()
        if code > 0:
            errors.seek(0)
            keep("rivals", {engine: {"failed": (errors.read().strip().splitlines() or ["no word"])[-1]}})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path)
    parser.add_argument("--steps", default="machine,checks,conformance,measures,models,rivals,sanitizer")
    parser.add_argument("--tests", default="", help="of the suite, those with this in their names")
    parser.add_argument("--cases", default=",".join(case.name for case in CASES), help="some of them")
    parser.add_argument("--models", default=",".join(models.names(MODELS)), help="some of them")
    parser.add_argument("--rival-seconds", type=float, default=600, help="of each rival, whatever it has not measured then")
    options = parser.parse_args()
    steps = options.steps.split(",")
    cases = [case for case in CASES if case.name in options.cases.split(",")]
    results: dict = {"commit": (HERE / "commit").read_text().strip()}

    def keep(step: str, what: dict) -> None:
        results.setdefault(step, {}).update(what)
        options.result.write_text(json.dumps(results, indent=1))
        print(step, json.dumps(what)[:2000], flush=True)

    if "machine" in steps:
        keep("machine", machine())
    if "checks" in steps:
        with ThreadPoolExecutor(PROCESSES) as pool:
            for case, outcome in zip(cases, pool.map(check, cases)):
                keep("checks", {case.name: outcome})
    if "conformance" in steps:
        wanted = options.tests.split(",")
        keep("conformance", tests([], 300, [name for name in suite() if any(part in name for part in wanted)]))
        if failed := results["conformance"]["failed"]:
            keep("faults", sanitizer(120, failed[:PROCESSES], ["memcheck"]))
    if "measures" in steps:
        measures(keep, cases)
    named = [name for name in options.models.split(",") if name]
    if "models" in steps:
        for name in named:
            keep("models", {name: model(name)})
    if "rivals" in steps:
        rivals(keep, "copy", [], 60)
        for engine in ("jax", "torch"):
            rivals(keep, engine, [*named, *(case.name for case in cases if not case.own)], options.rival_seconds)
    if "sanitizer" in steps:
        keep("sanitizer", sanitizer(600, suite(), ["memcheck", "racecheck", "initcheck"]))
    bad = [name for step in ("checks", "models") for name, outcome in results.get(step, {}).items()
           if not outcome["ok"]]
    bad += results.get("conformance", {}).get("failed", [])
    print(f"{len(bad)} wrong: {' '.join(bad)}" if bad else "all right")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
