"""One row of bench/shipped: a program of a package in stock TensorFlow and with Tektite, as bench/sweep's cases.

    row = run_program("hmc", threads=2, seconds=2.0)
    row["speed"], row["first_speed"], row["compiled"], row["difference"]   # or row["error"]
"""
from dataclasses import replace

from bench.harness import figures
from bench.harness.engines import ROOT, STOCK, TEKTITE
from bench.harness.process import Task
from bench.harness.sweep import is_wrong, run_workload
from bench.shipped_programs import PROGRAMS

PACKAGES = ROOT / "build" / "shipped"
FIRST_CALLS = 50
LEAST_SPEED, LEAST_FIRST_SPEED, LEAST_COMPILED = 0.97, 0.9, 0.95
ALWAYS_COMPILED = ("TEKTITE_FLAGS", "--compile=sync --compare=false")
HEADER = ["program", "threads", "stock ms", "Tektite ms", "speed", f"first {FIRST_CALLS}", "difference", "compiled", "clusters",
          "memory", "left to TensorFlow"]


def run_program(name: str, threads: int, seconds: float) -> dict:
    program = PROGRAMS[name]
    environment = [("PYTHONPATH", f"{ROOT}:{PACKAGES}")]
    if not program.keras_3:
        environment.append(("TF_USE_LEGACY_KERAS", "1"))
    task = Task("bench.shipped_programs", name, threads, timeout=600.0, environment=tuple(environment))
    compiled = replace(task, environment=(*environment, ALWAYS_COMPILED))
    row = {"program": name, "threads": threads} | run_workload(
        task, program.workload, seconds, FIRST_CALLS, compiled if program.trains else None)
    if "error" not in row:
        row["speed"] = row["stock_ms"] / row["tektite_ms"]
        row["first_speed"] = row[f"{STOCK}_first_s"] / row[f"{TEKTITE}_first_s"]
        row["compiled"] = row["clustered_ops"] / max(row["ops"], 1)
    return row


def misses(row: dict) -> list[str]:
    """The bars that a row is below, in words."""
    if "error" in row:
        return ["fails"]
    return [word for word, missed in [
        ("wrong", is_wrong(row)), ("slower", row["speed"] < LEAST_SPEED),
        ("slower at first", row["first_speed"] < LEAST_FIRST_SPEED), ("in part", row["compiled"] < LEAST_COMPILED)] if missed]


def cells(row: dict) -> list[str]:
    start = [row["program"], str(row["threads"])]
    if "error" in row:
        return [*start, *["-"] * (len(HEADER) - 3), row["error"]]
    left = ", ".join(f"{k} {v['ops']}" for k, v in sorted(row["left_out"].items(), key=lambda x: -x[1]["ops"]) if v["ops"])
    return [*start, figures.short(row["stock_ms"]), figures.short(row["tektite_ms"]), figures.short(row["speed"]),
            figures.short(row["first_speed"]), f"{row['difference']:.1e}{'!' if is_wrong(row) else ''}",
            f"{row['clustered_ops']}/{row['ops']}", str(row["clusters"]),
            figures.short(row["tektite_mb"] / row["stock_mb"]), left]
