"""bench/low_precision: its rows and its ratios; the models themselves take minutes."""
import subprocess
import sys
from pathlib import Path

from bench.harness import low_precision
from bench.harness.quantized_models import WORKLOADS, folder_of

ROOT = Path(__file__).resolve().parents[2]


def test_ratios_are_other_times_over_ours():
    row = {"model": "resnet50", "ms": {"f32": 40.0, "int8": 8.0, "OpenVINO int8": 12.0, "LiteRT int8": 16.0}, "errors": {}, "difference": 0.01,
           "stats": {"byte_products": 53}}
    assert low_precision.cells(row) == ["resnet50", "40.0", "8.00", "12.0", "16.0", "5.00", "1.50", "2.00", "-", "1.0e-02", "53"]


def test_an_engine_that_fails_has_no_figure():
    row = {"model": "resnet50", "ms": {"f32": 40.0}, "errors": {"int8": "no"}, "difference": None, "stats": {}}
    assert low_precision.cells(row) == ["resnet50", "40.0", "-", "-", "-", "-", "-", "-", "-", "-", "-"]


def test_every_model_has_a_workload():
    assert sorted(low_precision.NAMES) == sorted(name for name in WORKLOADS if not name.endswith("_f32"))
    assert {f"{name.rsplit('_', 1)[0]}_f32" for name in low_precision.KERAS} <= set(WORKLOADS)
    assert all(WORKLOADS[name].inputs()[0].size for name in low_precision.NAMES)
    assert folder_of("resnet50").name.startswith("resnet50-")


def test_unknown_models_are_one_line():
    done = subprocess.run([sys.executable, ROOT / "bench" / "low_precision", "--models", "none"], capture_output=True, text=True)
    assert done.returncode == 2 and "no such model: none" in done.stderr.splitlines()[-1]
