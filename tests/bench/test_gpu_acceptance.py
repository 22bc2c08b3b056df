"""What `bench/gpu_acceptance` takes to a machine with a card: right programs, and a run that says what is wrong."""
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ.get("TEKTITE_COMMAND", ROOT / "build/bin/tektite"))
THERE = ROOT / "bench/gpu"
sys.path.insert(0, str(THERE))
from cases import CASES  # noqa: E402, a module of the archive, which has no packages


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def relu(x):
    return np.maximum(x, 0)


MEANING = {
    "add": lambda x, y: x + y,
    "swish": lambda x: x / (1 + np.exp(-x)),
    "softmax_1k": softmax,
    "softmax_16k": softmax,
    "transpose": lambda x: x.T,
    "column_sums": lambda x: x.sum(0, dtype=np.float64),
    "product": lambda x, w: x @ w,
    "layers": lambda x, a, b: softmax(relu(relu(x @ a) @ b)),
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_programs_compute_what_they_are_called(tmp_path, case):
    (tmp_path / "case.ir").write_text(case.ir(*case.check))
    arrays = case.arrays(case.check)
    words = []
    for number, array in enumerate(arrays):
        np.save(tmp_path / f"x{number}.npy", array)
        words += ["-i", tmp_path / f"x{number}.npy"]
    subprocess.run([COMMAND, "run", tmp_path / "case.ir", "-d", tmp_path, *words], check=True, capture_output=True)
    got, want = np.load(tmp_path / "out0.npy"), MEANING[case.name](*arrays)
    np.testing.assert_allclose(got, want, rtol=0, atol=case.tolerance * np.abs(want).max())


def test_a_run_there_says_what_is_wrong(tmp_path):
    """On the stand-in driver, whose kernels compute nothing: every step ends, and results count as wrong."""
    folder = tmp_path / "there"
    for name, target in {"bin/tektite": COMMAND, "lib": None}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if target:
            (folder / name).symlink_to(target)
    for file in THERE.glob("*.py"):
        (folder / file.name).symlink_to(file)
    (folder / "commit").write_text("abc\n")
    script = (THERE / "run_there.py").read_text()
    (folder / "run_there.py").unlink()
    (folder / "run_there.py").write_text(script)  # which looks beside itself
    env = {**os.environ, "LD_LIBRARY_PATH": str(ROOT / "build/cmake/tests/gpu/fake_driver"),
           "XDG_CACHE_HOME": str(tmp_path / "home")}
    done = subprocess.run([sys.executable, folder / "run_there.py", tmp_path / "result.json", "--steps", "checks"],
                          capture_output=True, text=True, env=env, timeout=600)
    result = json.loads((tmp_path / "result.json").read_text())
    assert done.returncode == 1 and "wrong: add" in done.stdout
    assert set(result["checks"]) == {case.name for case in CASES}
    assert all("error" in outcome for outcome in result["checks"].values()), result["checks"]
    shown = subprocess.run([ROOT / "bench/gpu_acceptance", "show", tmp_path / "result.json"], capture_output=True,
                           text=True, check=True).stdout
    assert "commit abc" in shown and "softmax_1k     WRONG" in shown
