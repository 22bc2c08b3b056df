"""What `bench/gpu_acceptance` takes to a machine with a card: right programs, and a run that says what is wrong."""
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.harness.gpu_models import mark_weights

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ.get("TEKTITE_COMMAND", ROOT / "build/bin/tektite"))
THERE = ROOT / "bench/gpu"
sys.path.insert(0, str(THERE))
import models  # noqa: E402, a module of the archive, which has no packages
from cases import CASES, softmax as softmax_program, widened  # noqa: E402


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def relu(x):
    return np.maximum(x, 0)


def norm(x):
    d = x - x.mean(1, keepdims=True)
    return d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5)


def step_of_adam(w, m, v, g):
    m, v = 0.9 * m + 0.1 * g, 0.999 * np.abs(v) + 0.001 * g * g
    return w - 0.001 * m / (np.sqrt(v) + 1e-7)


def gelu_of_dense(x, w, b):
    h = x @ w + b
    return 0.5 * h * (1 + np.vectorize(math.erf)(h * 0.5 ** 0.5))


def attention(q, k, v):
    scores = q @ k.transpose(0, 2, 1) * q.shape[-1] ** -0.5
    e = np.exp(scores - scores.max(2, keepdims=True))
    return e / e.sum(2, keepdims=True) @ v


MEANING = {
    "add": lambda x, y: x + y,
    "swish": lambda x: x / (1 + np.exp(-x)),
    "softmax_1k": softmax,
    "softmax_16k": softmax,
    "transpose": lambda x: x.T,
    "column_sums": lambda x: x.sum(0, dtype=np.float64),
    "array_sum": lambda x: x.sum(dtype=np.float64),
    "bias_gradient_bf16": lambda x: x.sum(0, dtype=np.float64),
    "layer_norm_1k": norm,
    "layer_norm_16k": norm,
    "adam": step_of_adam,
    "dense_gelu_bf16": gelu_of_dense,
    "layers": lambda x, a, b: softmax(relu(relu(x @ a) @ b)),
}


def write_model(folder):
    """A model of one weight, whose golden is numpy's: softmax(x + w) by rows."""
    folder.mkdir(parents=True)
    t = "f32[8,100]"
    program = softmax_program(8, 100).replace(f"@softmax(%x: {t})", f"@tiny(%i: {t}, %w: {t} {{weight = true}})")
    (folder / "program.ir").write_text(program.replace(f"({t}) {{", f"({t}) {{\n  %x: {t} = add(%i, %w)"))
    np.save(folder / "input.npy", np.random.default_rng(1).normal(size=(8, 100)).astype("f4"))
    weight = {"seed": 3, "shape": [8, 100], "scale": 2.0, "mean": 0.5}
    (folder / "model.json").write_text(json.dumps({"arguments": [{"file": "input.npy"}, weight], "tolerance": 1e-5}))
    result = softmax(np.load(folder / "input.npy") + models.argument(weight, folder))
    np.save(folder / "golden0.npy", models.sample(result))


def test_a_model_is_right_where_its_code_is(tmp_path):
    write_model(tmp_path / "tiny")
    assert models.names(tmp_path) == ["tiny"]
    words = models.write_arguments(tmp_path / "tiny", tmp_path)
    subprocess.run([COMMAND, "run", tmp_path / "tiny/program.ir", "-d", tmp_path, *words], check=True,
                   capture_output=True)
    assert models.difference(tmp_path / "tiny", tmp_path) < models.tolerance(tmp_path / "tiny")
    wrong = np.load(tmp_path / "out0.npy")
    wrong[3, 5] += 0.1
    np.save(tmp_path / "out0.npy", wrong)
    assert models.difference(tmp_path / "tiny", tmp_path) > models.tolerance(tmp_path / "tiny")
    wrong[3, 5] = np.nan
    np.save(tmp_path / "out0.npy", wrong)
    assert not models.difference(tmp_path / "tiny", tmp_path) <= 1


def test_weights_are_marked_in_the_order_of_parameters():
    program = "graph @main(%arg0: f32[2,3], %arg1: s32[], %arg2: f32[3]) -> (f32[2,3]) {\n  %3: f32[2,3] = exp(%arg0)\n}"
    marked = mark_weights(program, [True, False, True])
    assert marked.splitlines()[0] == ("graph @main(%arg0: f32[2,3] {weight = true}, %arg1: s32[], %arg2: f32[3] "
                                      "{weight = true}) -> (f32[2,3]) {")
    assert marked.splitlines()[1:] == program.splitlines()[1:]
    with pytest.raises(RuntimeError, match="3 parameters for 2 placeholders"):
        mark_weights(program, [True, False])


def test_what_is_made_from_a_seed_is_the_same_everywhere():
    made = models.argument({"seed": 3, "shape": [2, 2], "scale": 2.0, "mean": 0.5}, THERE)
    np.testing.assert_array_equal(made, np.array([[0.70319164, 1.3325913], [-0.33638105, 0.5433104]], np.float32))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_programs_compute_what_they_are_called(tmp_path, case):
    (tmp_path / "case.ir").write_text(case.ir(*case.check))
    arrays = case.arrays(case.check)
    words = []
    for number, array in enumerate(arrays):
        np.save(tmp_path / f"x{number}.npy", array)
        words += ["-i", tmp_path / f"x{number}.npy"]
    subprocess.run([COMMAND, "run", tmp_path / "case.ir", "-d", tmp_path, *words], check=True, capture_output=True)
    meaning = MEANING.get(case.name) or (attention if case.name.startswith("attention") else np.matmul)
    got, want = widened(np.load(tmp_path / "out0.npy")), meaning(*map(widened, arrays))
    np.testing.assert_allclose(got, want, rtol=0, atol=case.tolerance * np.abs(want).max())


@pytest.mark.parametrize("engine, package", [("torch", "torch"), ("jax", "jax"), ("copy", "torch")])
def test_a_rival_that_is_not_there_is_named_in_one_line(tmp_path, engine, package):
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules['{package}'] = None\n")
    words = [sys.executable, THERE / "rival.py", engine, "add"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{package} is not installed on this machine\n")


@pytest.mark.parametrize("script", ["rival.py", "run_there.py", "ways.py"])
def test_scripts_say_what_they_do(script):
    done = subprocess.run([sys.executable, THERE / script, "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "usage:" in done.stdout and done.stderr == ""


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
    write_model(folder / "models/tiny")
    script = (THERE / "run_there.py").read_text()
    (folder / "run_there.py").unlink()
    (folder / "run_there.py").write_text(script)  # which looks beside itself
    env = {**os.environ, "LD_LIBRARY_PATH": str(ROOT / "build/cmake/tests/gpu/fake_driver"),
           "XDG_CACHE_HOME": str(tmp_path / "home")}
    done = subprocess.run([sys.executable, folder / "run_there.py", tmp_path / "result.json", "--steps",
                           "checks,models"],
                          capture_output=True, text=True, env=env, timeout=600)
    result = json.loads((tmp_path / "result.json").read_text())
    assert done.returncode == 1 and "wrong: add" in done.stdout
    assert set(result["checks"]) == {case.name for case in CASES}
    assert all("error" in outcome for outcome in result["checks"].values()), result["checks"]
    assert not result["models"]["tiny"]["ok"] and result["models"]["tiny"]["median_ms"] > 0
    words = [ROOT / "bench/report", tmp_path / "result.json"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "commit abc" in shown
    for name in ("softmax_1k", "tiny"):
        assert any(line.split()[1:4:2] == [name, "WRONG"] for line in shown.splitlines()), shown
    assert subprocess.run([*words, "--strict"], capture_output=True).returncode == 1
