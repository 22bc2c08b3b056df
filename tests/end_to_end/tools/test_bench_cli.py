"""`tektite bench`: what it prints of the time of calls, and what it refuses."""
import json
import os
import re
import subprocess

import numpy as np
import pytest

from test_cards import DRIVER
from test_cli import COMMAND, frozen, ir, tektite  # noqa: F401, two fixtures


def bench(*args, **how):
    return json.loads(tektite("bench", *args, "--json", **how))


def test_a_table_for_people(ir):
    said = tektite("bench", ir, "--input", "f32[7,10]", "--repeat", 20, "--threads", 2)
    lines = said.splitlines()
    assert lines[0].endswith("softmax.ir on the usual device, 2 threads")
    assert "result        f32[7,10]" in lines
    times = {row[0]: float(row[1]) for line in lines if (row := line.split()) and row[0] in
             ("median", "p10", "p90", "least")}
    assert 0 < times["least"] <= times["p10"] <= times["median"] <= times["p90"]
    assert re.search(r"^calls +20, after 5 to warm up$", said, re.M)
    assert "kernel" not in said


def test_json_and_the_kernels_share(ir, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((50, 10), "f4"))
    said = bench(ir, "-i", tmp_path / "x.npy", "--repeat", 12, "--warmup", 0, "--profile", "--device", "cpu")
    assert (said["calls"], said["warmup"], said["device"], said["threads"]) == (12, 0, "cpu", 1)
    assert said["results"] == ["f32[50,10]"]
    assert 0 < said["least_ms"] <= said["p10_ms"] <= said["median_ms"] <= said["p90_ms"] < said["first_ms"]
    assert sum(kernel["share"] for kernel in said["kernels"]) == pytest.approx(1, abs=1e-3)
    (kernel,) = said["kernels"]
    assert "softmax" in kernel["kernel"] or "row" in kernel["kernel"]
    assert kernel["bytes"] == 2 * 50 * 10 * 4 and kernel["microseconds"] > 0


def test_the_time_decides_how_many_calls(ir):
    short, longer = (bench(ir, "-i", "f32[7,10]", "--seconds", seconds)["calls"] for seconds in (0, 0.5))
    assert short == 10 and longer > 20


def test_inputs_that_are_not_given_are_made(ir, frozen):
    """It refused to run without them."""
    assert bench(ir, "--repeat", 1)["results"] == ["f32[1,10]"]
    assert bench(ir, "--repeat", 1, "--batch", 6)["results"] == ["f32[6,10]"]
    assert bench(frozen, "--outputs", "square", "--repeat", 1, "--batch", 4, "-i", "y=f32[1,3]")["results"] == ["f32[4,3]"]


def test_a_frozen_graph_with_named_inputs(frozen, tmp_path):
    np.save(tmp_path / "y.npy", np.zeros((2, 3), "f4"))
    said = bench(frozen, "--outputs", "square", "-i", f"y={tmp_path / 'y.npy'}", "-i", "x=f32[2,3]", "--repeat", 10)
    assert said["results"] == ["f32[2,3]"]


def test_the_results_of_made_inputs_are_the_same_each_time(tmp_path):
    """Every type that can be made is what a program of that type takes."""
    for name in ("bool", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"):
        file = tmp_path / f"{name}.ir"
        file.write_text(f"graph @copy(%x: {name}[3,2]) -> ({name}[3,2]) {{\n  return %x\n}}\n")
        assert bench(file, "-i", f"{name}[3,2]", "--repeat", 1)["results"] == [f"{name}[3,2]"]


def test_progress_is_said_where_it_takes_long(ir):
    args = [COMMAND, "bench", str(ir), "-i", "f32[50000,10]", "--json", "--seconds"]
    quick = subprocess.run([*args, "0.3"], capture_output=True, text=True, timeout=60)
    assert quick.returncode == 0 and quick.stderr == ""
    slow = subprocess.run([*args, "4.5"], capture_output=True, text=True, timeout=60)
    assert re.match(r"\d+ calls, [23] of some \d s\n", slow.stderr), slow.stderr
    json.loads(slow.stdout)


def test_without_a_card_it_exits_with_4(ir):
    env = {**os.environ, "LD_LIBRARY_PATH": str(DRIVER), "TEKTITE_FAKE_DRIVER": "cards=0"}
    done = subprocess.run([COMMAND, "bench", str(ir), "-i", "f32[7,10]", "--device", "gpu:0"], capture_output=True,
                          text=True, timeout=60, env=env)
    assert (done.returncode, done.stderr) == (4, "tektite: the NVIDIA driver finds no card\n")


def test_on_a_card(ir, tmp_path):
    env = {**os.environ, "LD_LIBRARY_PATH": str(DRIVER), "TEKTITE_FAKE_DRIVER": "cards=1",
           "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([COMMAND, "bench", str(ir), "-i", "f32[7,10]", "--device", "gpu:0", "--profile", "--json",
                           "--repeat", "10"], capture_output=True, text=True, timeout=60, env=env)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["device"] == "gpu:0" and said["kernels"]


@pytest.mark.parametrize("args", [["bench"], ["bench", "x", "--repeat", "0"], ["bench", "x", "--seconds", "-1"],
                                  ["bench", "x", "--repeat", "2", "--seconds", "1"], ["bench", "x", "--threads", "0"]])
def test_wrong_usage(args):
    assert tektite(*args, code=2).count("\n") == 1


def test_failures_are_one_line(ir):
    for args, reason in [([ir, "-i", "f32[2,x]"], "'f32[2,x]' is no type of an array"),
                         ([ir, "-i", "f32[2,-1]"], "is no type of an array"),
                         ([ir, "-i", "q8[2]"], "q8[2]"), ([ir, "-i", "f32[2,11]"], "f32[2,11]"),
                         (["nowhere.pb"], "cannot read 'nowhere.pb'")]:
        said = tektite("bench", *args, code=1)
        assert said.count("\n") == 1 and said.startswith("tektite: ") and reason in said, said
