"""The `tektite` command: what it prints, writes and answers to wrong usage.

TEKTITE_COMMAND names the program; without it, build/bin/tektite.
"""
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
COMMAND = Path(os.environ.get("TEKTITE_COMMAND", ROOT / "build/bin/tektite"))

SOFTMAX = """
graph @softmax(%x: f32[n,10]) -> (f32[n,10]) {
  %m: f32[n] = reduce(%x) {dimensions = [1], reducer = "max"}
  %mb: f32[n,10] = broadcast_in_dim(%m) {dimensions = [0], shape = (n, 10)}
  %d: f32[n,10] = sub(%x, %mb)
  %e: f32[n,10] = exp(%d)
  %s: f32[n] = reduce(%e) {dimensions = [1], reducer = "add"}
  %sb: f32[n,10] = broadcast_in_dim(%s) {dimensions = [0], shape = (n, 10)}
  %r: f32[n,10] = div(%e, %sb)
  return %r
}
"""

FROZEN = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 3 } } } } }
node { name: "y" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 3 } } } } }
node { name: "difference" op: "Sub" input: "x" input: "y" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "square" op: "Square" input: "difference" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "text" op: "AsString" input: "square" attr { key: "T" value { type: DT_FLOAT } } }
"""


def tektite(*args, code=0, stdin=None, flags=""):
    done = subprocess.run([COMMAND, *map(str, args)], input=stdin, capture_output=True, text=True,
                          timeout=120, env={**os.environ, "TEKTITE_FLAGS": flags})
    assert done.returncode == code, done.stderr + done.stdout
    return done.stderr if code else done.stdout


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@pytest.fixture
def ir(tmp_path):
    path = tmp_path / "softmax.ir"
    path.write_text(SOFTMAX)
    return path


@pytest.fixture
def frozen(tmp_path):
    path = tmp_path / "distance.pbtxt"
    path.write_text(FROZEN)
    return path


@pytest.mark.parametrize("backend", ["reference", ""])
@pytest.mark.parametrize("order", ["C", "F"])
def test_run_ir(tmp_path, ir, backend, order):
    x = np.asarray(np.random.default_rng(1).normal(size=(7, 10)), np.float32, order=order)
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "out"
    options = ["--backend", backend] if backend else []
    said = tektite("run", ir, "--input", tmp_path / "x.npy", "-d", out, "--repeat", 3, "--time",
                   "--threads", 2, *options)
    assert "out0: f32[7,10]" in said and "later calls: median" in said
    np.testing.assert_allclose(np.load(out / "out0.npy"), softmax(x), atol=1e-6)


def test_run_frozen_graph_with_named_inputs(tmp_path, frozen):
    x, y = np.ones((2, 3), np.float32), np.full((2, 3), 4, np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    tektite("run", frozen, "--outputs", "square", "-d", tmp_path, "--input",
            f"y={tmp_path / 'y.npy'}", "--input", f"x={tmp_path / 'x.npy'}")
    np.testing.assert_array_equal(np.load(tmp_path / "square.npy"), np.full((2, 3), 9))


@pytest.mark.parametrize("dtype", ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4",
                                   "f8"])
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (2, 3)])
def test_npy_of_every_type_and_rank(tmp_path, dtype, shape):
    name = {"b": "bool", "i": "s", "u": "u", "f": "f"}[np.dtype(dtype).kind]
    name = name if name == "bool" else name + str(8 * np.dtype(dtype).itemsize)
    dims = ",".join(map(str, shape))
    file = tmp_path / "copy.ir"
    file.write_text(f"graph @copy(%x: {name}[{dims}]) -> ({name}[{dims}]) {{\n  return %x\n}}\n")
    x = (np.random.default_rng(2).integers(0, 2, shape)).astype(dtype)
    np.save(tmp_path / "x.npy", x)
    tektite("run", file, "-i", tmp_path / "x.npy", "-d", tmp_path)
    y = np.load(tmp_path / "out0.npy")
    assert y.dtype == x.dtype and y.shape == x.shape
    np.testing.assert_array_equal(x, y)


def test_explain(frozen, tmp_path):
    flags = "--min_cluster_cost=0"
    assert "Sub" in tektite("explain", frozen, flags=flags)
    report = json.loads(tektite("explain", frozen, "--json", flags=flags))
    assert report["ops"] == 3 and report["clustered"] == 2
    assert report["clusters"] == [{"name": "cluster_0", "ops": 2}]
    assert report["left_out"][0]["node"] == "text" and report["left_out"][0]["reason"]
    tektite("explain", frozen, "--dot", "-o", tmp_path / "graph.dot", flags=flags)
    assert (tmp_path / "graph.dot").read_text().startswith("digraph")


# square and difference are one kernel, which writes the result itself; its log's mean is another.
def test_explain_memory(frozen, tmp_path):
    chain = tmp_path / "chain.pbtxt"
    attr = 'attr { key: "T" value { type: DT_FLOAT } }'
    chain.write_text(FROZEN + f"""
node {{ name: "axis" op: "Const" attr {{ key: "dtype" value {{ type: DT_INT32 }} }}
  attr {{ key: "value" value {{ tensor {{ dtype: DT_INT32 tensor_shape {{ }} int_val: 0 }} }} }} }}
node {{ name: "sums" op: "Sum" input: "square" input: "axis" {attr} }}
node {{ name: "scaled" op: "RealDiv" input: "square" input: "sums" {attr} }}
node {{ name: "roots" op: "Cumsum" input: "scaled" input: "axis" {attr} }}
""")
    flags = "--min_cluster_cost=0 --cache_dir=off"
    for size in 64, 1000:
        options = [] if size == 64 else ["--size", f"n0={size}", "--size", f"n1={size}"]
        report = json.loads(tektite("explain", chain, "--json", "--memory", *options, flags=flags))
        memory = report["clusters"][0]["memory"]
        assert memory["sizes"]["n0"] == size
        assert 4 * 3 * size <= memory["max_live_bytes"] <= memory["arena_bytes"]
        assert memory["arena_bytes"] <= 3 * (4 * 3 * size + 64)
    assert "memory of a call: " in tektite("explain", chain, "--memory", flags=flags)
    kernels = tektite("explain", chain, "--kernels", flags=flags)
    assert "\n    transposing: a loop that reads in the order in which it writes\n    own: chosen as own\n" in kernels
    assert "\n    library: no library kernel for " in kernels
    assert "no size is called 'm'" in tektite("explain", frozen, "--memory", "--size", "m=3",
                                              flags=flags, code=1)
    assert "not a size: 'n0=-3'" in tektite("explain", frozen, "--memory", "--size", "n0=-3",
                                            flags=flags, code=1)


def test_opt(ir):
    assert "fusion" in tektite("opt", ir)
    assert "fusion" not in tektite("opt", ir, "--passes", "canonicalize,eliminate_dead")
    same = tektite("opt", "-", "--passes", "eliminate_dead", stdin=SOFTMAX)
    assert tektite("opt", "-", "--passes", "eliminate_dead", stdin=same) == same


def test_lists():
    passes = tektite("passes").split("\n")
    assert passes[0].startswith("canonicalize ")
    assert "--compile=async" in tektite("flags")
    assert tektite("version").strip() and tektite("--version") == tektite("version")
    assert "explain" in tektite("--help")


def test_dump(tmp_path, ir):
    np.save(tmp_path / "x.npy", np.zeros((2, 10), np.float32))
    dump = tmp_path / "dump"
    tektite("run", ir, "-i", tmp_path / "x.npy", "--backend", "reference",
            flags=f"--dump_to={dump}")
    assert (dump / "softmax/graph.tir").read_text() == SOFTMAX
    assert (dump / "softmax/shape0.00_input.tir").exists()
    assert list((dump / "softmax").glob("shape0.*_fuse.tir"))
    assert (dump / "softmax/shape0.plan").read_text().startswith("arena 0 bytes")


def test_profile(tmp_path, ir):
    np.save(tmp_path / "x.npy", np.zeros((2, 10), np.float32))
    said = tektite("run", ir, "-i", tmp_path / "x.npy", "--profile", "--repeat", 5)
    calls, *kernels = [json.loads(line.rstrip(", ")) for line in said.split("\n") if line.startswith("{")]
    assert calls["calls"] == 5 and calls["whole"] >= calls["team"] >= calls["shared"] + calls["alone"] > 0
    assert len(kernels) == 1 and kernels[0]["runs"] == 5
    assert (kernels[0]["flops"], kernels[0]["bytes"], kernels[0]["weight_bytes"]) == (0, 160, 0)


USAGE = [[], ["explain"], ["polish"], ["run"], ["explain", "x", "--json", "--dot"],
         ["explain", "x", "--size", "n0=8"],
         ["run", "x", "--repeat", "0"], ["run", "x", "--threads", "many"]]


@pytest.mark.parametrize("args", USAGE)
def test_wrong_usage(args):
    assert tektite(*args, code=2).count("\n") == 1


def test_what_never_ends_is_not_read(tmp_path, ir):
    """A device was read until memory ended, and a pipe was waited for."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for file in ("/dev/zero", pipe):
        for args in (["explain", file], ["run", file], ["bench", file], ["opt", file], ["run", ir, "-i", file]):
            said = tektite(*args, code=1)
            assert said.count("\n") == 1 and "Not a regular file" in said, said


def test_failures_are_one_line(tmp_path, ir, frozen):
    assert "cannot read 'nowhere.pb'" in tektite("explain", "nowhere.pb", code=1)
    assert "cannot read" in tektite("run", tmp_path, code=1)
    bad = tmp_path / "bad.ir"
    bad.write_text("graph @f(")
    cut = tmp_path / "cut.npy"
    np.save(cut, np.zeros((100, 10), np.float32))
    cut.write_bytes(cut.read_bytes()[:500])
    wide = tmp_path / "wide.npy"
    np.save(wide, np.zeros((2, 11), np.float32))
    strings = tmp_path / "strings.npy"
    np.save(strings, np.array(["a"]))
    for args, reason in [
            (["opt", bad], "bad.ir"),
            (["opt", ir, "--passes", "polish"], "'polish'"),
            (["opt", ir, "--backend", "abacus"], "abacus"),
            (["run", ir], "input 0 of"),
            (["run", ir, "-i", ir], "not an .npy file"),
            (["run", ir, "-i", cut], "cut off"),
            (["run", ir, "-i", wide], "f32[2,11]"),
            (["run", ir, "-i", strings], "not supported"),
            (["run", ir, "-i", wide, "-i", wide], "one too many"),
            (["run", frozen, "--outputs", "nothing"], "nothing"),
            (["explain", ir], "softmax.ir")]:
        said = tektite(*args, code=1)
        assert said.count("\n") == 1 and said.startswith("tektite: ") and reason in said, said
