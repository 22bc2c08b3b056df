"""--device as a user meets it: without a card, and with cards that are not there (tests/gpu/fake_driver).

Kernels on those cards compute nothing, so results are not looked at here; tests/conformance does that.
"""
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ.get("TEKTITE_COMMAND", ROOT / "build/bin/tektite"))
DRIVER = ROOT / "build/cmake/tests/gpu/fake_driver"

# Two kernels that cannot be one.
IR = """
graph @two(%x: f32[n,10]) -> (f32[n,10]) {
  %e: f32[n,10] = exp(%x)
  %s: f32[10] = reduce(%e) {dimensions = [0], reducer = "add"}
  %b: f32[n,10] = broadcast_in_dim(%s) {dimensions = [1], shape = (n, 10)}
  %r: f32[n,10] = div(%e, %b)
  return %r
}
"""


@pytest.fixture
def tektite(tmp_path):
    """Runs the command where libcuda.so.1 is the stand-in, set up by `driver`; returns what it printed."""
    assert (DRIVER / "libcuda.so.1").exists(), "ninja -C build/cmake tektite_fake_driver"

    def run(*args, code=0, driver="", flags=""):
        env = {**os.environ, "LD_LIBRARY_PATH": str(DRIVER), "TEKTITE_FAKE_DRIVER": driver, "TEKTITE_FLAGS": flags,
               "XDG_CACHE_HOME": str(tmp_path / "home")}
        done = subprocess.run([COMMAND, *map(str, args)], capture_output=True, text=True, timeout=120, env=env)
        assert done.returncode == code, done.stderr + done.stdout
        return done.stderr if code else done.stdout

    return run


@pytest.fixture
def program(tmp_path):
    (tmp_path / "two.ir").write_text(IR)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(6, 10)).astype("f4"))
    return ["run", tmp_path / "two.ir", "-i", tmp_path / "x.npy", "-d", tmp_path]


ABSENT = {
    "cards=0": "the NVIDIA driver finds no card",
    "version=11040": "the NVIDIA driver is of CUDA 11.4; libcuda.so.1 must be of CUDA 12.0 or later",
    "fail=cuInit:803": "the NVIDIA driver does not start: error 803",
}


@pytest.mark.parametrize("driver", ABSENT)
def test_without_a_card_one_line_says_why(tektite, program, driver):
    for how in (["--device", "gpu:0"], ["--device", "gpu"], ["--backend", "gpu"]):
        assert tektite(*program, *how, code=4, driver=driver) == f"tektite: {ABSENT[driver]}\n"
    assert tektite(*program, code=4, driver=driver, flags="--device=gpu:0") == f"tektite: {ABSENT[driver]}\n"


def test_a_card_that_is_not_there_is_named(tektite, program):
    assert (tektite(*program, "--device", "gpu:2", code=4, driver="cards=2") ==
            "tektite: there is no gpu:2: the NVIDIA driver finds 2 cards\n")


def test_a_card_of_another_generation_is_refused(tektite, program):
    said = tektite(*program, "--device", "gpu:0", code=1, driver="capability=75")
    assert said == ("tektite: gpu:0 (card that is not there): no code is made for GPUs of compute capability 7.5\n")


@pytest.mark.parametrize("driver", ABSENT)
def test_auto_uses_the_cpu_where_there_is_no_card(tektite, program, tmp_path, driver):
    tektite(*program, "--device", "auto", driver=driver)
    e = np.exp(np.load(tmp_path / "x.npy"))
    np.testing.assert_allclose(np.load(tmp_path / "out0.npy"), e / e.sum(0), rtol=1e-5)


def test_what_asks_for_no_card_opens_no_driver(tektite, program):
    # It would abort, since its settings make no sense.
    tektite(*program, driver="nonsense=1")


def test_a_run_on_a_card_and_what_the_cache_shows_of_it(tektite, program):
    assert "out0: f32[6,10]" in tektite(*program, "--device", "gpu:0", "--repeat", 5)
    keys = [line.split()[0] for line in tektite("cache", "ls").splitlines() if " kernel " in line]
    assert len(keys) >= 2
    for key in keys:
        shown = tektite("cache", "show", key)
        assert re.search(r"^code +\d+ threads a block, \d+ blocks \(\d+ threads\) a multiprocessor; \d+ registers a "
                         r"thread, 0 bytes spilled, 0 bytes of stack", shown, re.M), shown
        assert re.search(r"^cpu +gpu: sm_90a", shown, re.M) and "PTX compiler" in shown
    # Loaded by the next process, and not by one with a card of another generation.
    stats = tektite(*program, "--device", "gpu:0", "--stats")
    assert '"kernels": 0' in stats
    stats = tektite(*program, "--device", "gpu:0", "--stats", driver="capability=80")
    assert '"kernels": 0' not in stats


def test_no_memory_on_the_card_is_said(tektite, program):
    assert "no memory for" in tektite(*program, "--device", "gpu:0", code=1, driver="memory=2048")


def test_a_flag_that_names_no_device_is_ignored(tektite, program):
    tektite(*program, flags="--device=tpu")


def test_tensorflow_answers_where_there_is_no_card(run_pair):
    plain, compiled = run_pair("report(y=tf.function(lambda x: tf.nn.softmax(tf.exp(x) * 2.0))(normal(5, 7)))",
                               TEKTITE_FLAGS="--device=gpu:0", LD_LIBRARY_PATH=str(DRIVER),
                               TEKTITE_FAKE_DRIVER="cards=0")
    assert "tektite: off: no compiler: the NVIDIA driver finds no card\n" in compiled.stderr
    assert compiled.values == plain.values
