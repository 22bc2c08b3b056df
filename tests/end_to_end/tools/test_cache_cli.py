"""The disk cache as a user meets it: `tektite run` twice, `tektite cache ...`, packs."""
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
COMMAND = Path(os.environ.get("TEKTITE_COMMAND", ROOT / "build/bin/tektite"))

# Two kernels that cannot be one.
IR = """
graph @two(%x: f32[n,10]) -> (f32[n,10], f32[10,n]) {
  %e: f32[n,10] = exp(%x)
  %s: f32[10] = reduce(%e) {dimensions = [0], reducer = "add"}
  %b: f32[n,10] = broadcast_in_dim(%s) {dimensions = [1], shape = (n, 10)}
  %r: f32[n,10] = div(%e, %b)
  %t: f32[10,n] = transpose(%r) {permutation = [1, 0]}
  return %r, %t
}
"""


class Cache:
    """A cache directory of its own, and the command in it."""

    def __init__(self, folder):
        self.folder = folder
        self.directory = folder / "home" / "tektite"
        (folder / "two.ir").write_text(IR)
        np.save(folder / "x.npy", np.random.default_rng(0).normal(size=(6, 10)).astype("f4"))
        np.save(folder / "y.npy", np.random.default_rng(0).normal(size=(9, 10)).astype("f4"))

    def __call__(self, *args, code=0, flags="", **environment):
        env = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "home"), "TEKTITE_FLAGS": flags, **environment}
        done = subprocess.run([COMMAND, *map(str, args)], capture_output=True, text=True,
                              timeout=120, env=env)
        assert done.returncode == code, done.stderr + done.stdout
        return done.stderr if code in (1, 2) else done.stdout

    def json(self, *args, **kwargs):
        return json.loads(self("cache", *args, "--json", **kwargs))

    def run(self, array="x", flags="", **environment):
        """The counters of a run, and its results."""
        out = self.folder / "out"
        said = self("run", self.folder / "two.ir", "-i", self.folder / f"{array}.npy", "-d", out,
                    "--stats", flags=flags, **environment)
        return json.loads(said.splitlines()[-1]), np.load(out / "out0.npy").tobytes()

    def entries(self):
        return sorted(self.directory.glob("*.entry"))


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path)


def test_a_second_process_compiles_nothing(cache):
    first, expected = cache.run()
    # The kernels, and the module that says how they make up the program.
    assert first["kernels"] + 1 == first["disk"]["stores"] > 1
    second, result = cache.run()
    assert second["compiles"] == second["kernels"] == second["disk"]["misses"] == 0
    assert second["loaded_kernels"] == first["kernels"] and second["loaded_modules"] == 1
    assert second["disk"]["hits"] == 1, "the module brings its kernels along"
    assert result == expected
    assert cache.directory.stat().st_mode & 0o777 == 0o700


def test_off(cache):
    for flags in ("--cache_dir=off", "--cache_mb=0"):
        stats, _ = cache.run(flags=flags)
        assert stats["kernels"] > 0 and stats["disk"]["stores"] == 0
    assert not cache.directory.exists()
    assert "the disk cache is off" in cache("cache", "ls", code=1, flags="--cache_dir=off")


def test_a_directory_of_ones_own(cache, tmp_path):
    flags = f"--cache_dir={tmp_path}/here"
    cache.run(flags=flags)
    assert cache.run(flags=flags)[0]["kernels"] == 0
    assert not cache.directory.exists()
    os.symlink(tmp_path / "here", tmp_path / "link")
    done = subprocess.run(
        [COMMAND, "run", cache.folder / "two.ir", "-i", cache.folder / "x.npy"], text=True,
        capture_output=True, env={**os.environ, "TEKTITE_FLAGS": f"--cache_dir={tmp_path}/link"})
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1 and "symbolic link" in done.stderr


def test_ls_show_rm(cache):
    cache.run()
    listed = cache.json("ls")
    assert sorted(e["kind"] for e in listed) == ["kernel"] * (len(listed) - 1) + ["module"]
    table = cache("cache", "ls")
    assert table.startswith("KEY") and "\033" not in table and listed[0]["name"] in table
    module = next(e["key"] for e in listed if e["kind"] == "module")
    assert "reduce" in cache("cache", "show", module) and "types" not in cache.json("show", module)["parts"]
    key = next(e["key"] for e in listed if e["kind"] == "kernel")
    shown = cache("cache", "show", key[:12])
    assert key in shown and "llvm" in shown and "graph (" in shown
    assert set(cache.json("show", key)["parts"]) >= {"ir", "cpu", "build", "llvm", "flags"}
    assert "no entry's key begins 'zz'" in cache("cache", "show", "zz", code=1)
    assert cache.json("rm", key)["removed"] == 1
    assert len(cache.entries()) == len(listed) - 1
    assert cache.json("rm", "--all")["removed"] == len(listed) - 1
    assert not cache.directory.exists(), "what it kept of runs stayed"
    cache.run()
    (cache.directory / "of the user").touch()
    cache("cache", "rm", "--all")
    assert [path.name for path in cache.directory.iterdir()] == ["of the user"]


def test_why_names_what_differed(cache):
    cache.run()
    why = cache.json("why")
    assert {tuple(m["causes"]) for m in why["missed"]} == {("absent",)}
    cache.run()
    assert cache.json("why")["missed"] == [] and cache.json("why")["served"] > 0
    cache.run(flags="--cpu=avx2")
    assert {tuple(m["causes"]) for m in cache.json("why")["missed"]} == {("cpu", "flags")}
    cache.run(array="y")
    assert {tuple(m["causes"]) for m in cache.json("why")["missed"]} <= {("types",)}
    cache("cache", "gc", "--max-size", "0")
    cache.run()
    assert {tuple(m["causes"]) for m in cache.json("why")["missed"]} == {("evicted",)}
    text = cache("cache", "why")
    assert "evicted" in text and "to keep the bound" in text


def test_why_names_another_build(cache, tmp_path):
    """For kernels and for modules: the same library with one digit of its build id changed."""
    linked = subprocess.run(["ldd", COMMAND], capture_output=True, text=True, check=True).stdout
    library = Path(re.search(r"libtektite\.so => (\S+)", linked)[1])
    data = bytearray(library.read_bytes())
    note = data.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0") + 16
    data[note] ^= 1
    (tmp_path / library.name).write_bytes(data)
    first, expected = cache.run()
    other, result = cache.run(LD_LIBRARY_PATH=str(tmp_path))
    assert other["disk"]["hits"] == 0 and other["kernels"] == first["kernels"] and result == expected
    missed = cache.json("why")["missed"]
    assert {m["kind"] for m in missed} == {"kernel", "module"} and len(missed) == first["kernels"] + 1
    assert {tuple(m["causes"]) for m in missed} == {("build",)}
    assert {m["sentence"] for m in missed} == {"stored by another build of Tektite"}
    # Both lie side by side.
    assert cache.run()[0]["disk"]["misses"] == 0
    assert cache.run(LD_LIBRARY_PATH=str(tmp_path))[0]["disk"]["misses"] == 0
    # A pack of another build serves nothing, and is no error.
    cache.run()
    cache("cache", "pack", tmp_path / "model")
    served = "--cache_dir=off --cache_pack=" + str(tmp_path / "model")
    assert cache.run(flags=served)[0]["disk"]["pack_hits"] == 1
    upgraded, result = cache.run(flags=served, LD_LIBRARY_PATH=str(tmp_path))
    assert upgraded["disk"]["pack_hits"] == upgraded["disk"]["damaged"] == upgraded["disk"]["refused"] == 0
    assert upgraded["kernels"] == first["kernels"] and result == expected


# Rows that values decide on: those of x whose sum is at most 0, and the rest.
ROWS = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: -1 } dim { size: 10 } } } } }
node { name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1 } } } }
node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0 } } } }
node { name: "sum" op: "Sum" input: "x" input: "one" attr { key: "T" value { type: DT_FLOAT } }
       attr { key: "Tidx" value { type: DT_INT32 } } }
node { name: "greater" op: "Greater" input: "sum" input: "zero" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "part" op: "Cast" input: "greater" attr { key: "SrcT" value { type: DT_BOOL } }
       attr { key: "DstT" value { type: DT_INT32 } } }
node { name: "rows" op: "DynamicPartition" input: "x" input: "part" attr { key: "T" value { type: DT_FLOAT } }
       attr { key: "num_partitions" value { i: 2 } } }
"""


@pytest.mark.parametrize("tier", ["specialized", "generic"])
def test_a_later_process_knows_how_many_rows_values_give(cache, tier):
    (cache.folder / "rows.pbtxt").write_text(ROWS)
    arrays = {name: np.random.default_rng(seed).normal(size=(6, 10)).astype("f4")
              for seed, name in enumerate(["a", "b", "c"])}
    arrays["none"] = np.full((6, 10), -1, "f4")
    if tier == "generic":
        arrays["more"] = np.random.default_rng(9).normal(size=(31, 10)).astype("f4")
    for number, (name, x) in enumerate(arrays.items()):
        np.save(cache.folder / f"{name}.npy", x)
        out = cache.folder / f"out_{name}"
        said = cache("run", cache.folder / "rows.pbtxt", "-i", cache.folder / f"{name}.npy", "-d", out,
                     "--outputs", "rows,rows:1", "--stats", flags=f"--tier={tier}")
        stats = json.loads(said.splitlines()[-1])
        assert (stats["compiles"], stats["loaded_modules"]) == ((1, 0) if number == 0 else (0, 1))
        results = [np.load(path) for path in sorted(out.glob("*.npy"))]
        kept = x.sum(1) > 0
        np.testing.assert_array_equal(results[0], x[~kept])
        np.testing.assert_array_equal(results[1], x[kept])


def test_verify_and_damage(cache):
    _, expected = cache.run()
    assert "0 are damaged" in cache("cache", "verify")
    module = next(e["key"] for e in cache.json("ls") if e["kind"] == "module")
    victim = cache.directory / f"{module}.entry"
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    answer = cache.json("verify", code=3)
    assert [b["fault"] for b in answer["bad"]] == ["damaged"]
    stats, result = cache.run()
    assert stats["disk"]["damaged"] == 1 and stats["compiles"] == 1 and result == expected
    assert stats["kernels"] == 0, "those have entries of their own, too"
    assert cache.json("why")["missed"][0]["causes"] == ["damaged"]
    cache.entries()[0].write_bytes(b"")
    assert cache.json("verify", "--remove", code=3)["removed"] == 1
    cache("cache", "verify")


def test_diff(cache):
    cache.run()
    before = {e["key"]: e["name"] for e in cache.json("ls")}
    cache.run(flags="--cpu=avx2")
    new = {e["key"]: e["name"] for e in cache.json("ls") if e["key"] not in before}
    key, name = next(iter(new.items()))
    twin = next(k for k, n in before.items() if n == name)
    assert cache.json("diff", key, twin, code=3)["differing"] == ["cpu", "flags"]
    assert re.search(r"\+ .*\bcpu=avx2;", cache("cache", "diff", twin, key, code=3))
    assert "equal in every part" in cache("cache", "diff", key, key)


def test_gc(cache):
    cache.run()
    size = sum(p.stat().st_size for p in cache.entries())
    assert cache.json("gc", "--max-size", "1G") == {
        "removed": 0, "removed_bytes": 0, "left": len(cache.entries()), "left_bytes": size}
    assert cache.json("gc", "--max-size", str(size - 1))["removed"] == 1


def test_a_server_with_a_pack_compiles_nothing(cache, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    _, expected = cache.run()
    cache.run(array="y", flags="--cache_dir=off")  # another program: not in the pack
    packed = cache.json("pack", model)
    assert packed["packed"] == len(list((model / "tektite_pack").glob("*.entry"))) == 1
    assert packed["held"] > 0 and packed["missing"] == 0, "the module holds its kernels"
    for path in (model / "tektite_pack", model):
        path.chmod(0o555)
    stats, result = cache.run(flags=f"--cache_dir=off --cache_pack={model}")
    assert stats["kernels"] == 0 and stats["disk"]["misses"] == 0
    assert stats["disk"]["pack_hits"] == 1, "the module brings its kernels along"
    assert result == expected
    # A pack that is not there is one line, and no more.
    done = subprocess.run([COMMAND, "run", cache.folder / "two.ir", "-i", cache.folder / "x.npy"],
                          capture_output=True, text=True,
                          env={**os.environ, "TEKTITE_FLAGS": "--cache_pack=/nowhere"})
    assert done.returncode == 0 and done.stderr.count("\n") == 1 and "/nowhere" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_pack_is_the_users_or_signed(cache, tmp_path):
    """Root loaded a pack that belonged to the user `nobody`."""
    model = tmp_path / "model"
    model.mkdir()
    _, expected = cache.run()
    for name in ("good", "other"):
        assert "pack_key" in cache("cache", "key", tmp_path / name)
    assert "cannot write" in cache("cache", "key", tmp_path / "good", code=1)
    assert "signed with" in cache("cache", "pack", model, "--sign", tmp_path / "good")
    pack = model / "tektite_pack"
    for path in (*pack.iterdir(), pack):
        os.chown(path, 65534, 65534)

    def serve(flags):
        done = subprocess.run([COMMAND, "run", cache.folder / "two.ir", "-i", cache.folder / "x.npy", "-d",
                               tmp_path / "out", "--stats"], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "TEKTITE_FLAGS": f"--cache_dir=off --cache_pack={model} {flags}"})
        assert done.returncode == 0 and np.load(tmp_path / "out" / "out0.npy").tobytes() == expected
        return json.loads(done.stdout.splitlines()[-1])["disk"]["pack_hits"], done.stderr

    hits, said = serve("")
    assert hits == 0 and said.count("\n") == 1 and "belongs to user 65534" in said
    hits, said = serve(f"--pack_key={tmp_path}/other.pub")
    assert hits == 0 and said.count("\n") == 1 and "does not match" in said
    assert serve(f"--pack_key={tmp_path}/good.pub") == (1, "")
    faults = cache.json("verify", code=3, flags=f"--cache_dir={pack}")
    assert "belongs to user 65534" in json.dumps(faults)


def test_usage(cache):
    for command in ("ls", "show", "why", "verify", "gc", "diff", "pack", "rm"):
        assert "--json" in cache("cache", command, "--help")
    cache("cache", code=2)
    cache("cache", "nothing", code=2)
    assert "cannot open" in cache("cache", "ls", code=1)


# Its answer to each, in one line: exit code 2 for wrong usage, 1 for a missing thing.
@pytest.mark.parametrize("arguments, code, said", [
    ("", 2, "subcommand is required"), ("nothing", 2, "there is no 'nothing'"),
    ("--nothing ls", 2, "there is no '--nothing'"), ("--flags", 2, "--flags"),
    ("cache", 2, "subcommand is required"), ("cache nothing", 2, "there is no 'nothing'"),
    ("cache ls more", 2, "more"), ("cache ls --bad", 2, "--bad"),
    ("cache show", 2, "KEY is required"), ("cache show zz", 1, "no entry's key begins 'zz'"),
    ("cache show a b", 2, "not expected: b"), ("cache diff a", 2, "B is required"),
    ("cache diff zz yy", 1, "'zz'"), ("cache why more", 2, "more"), ("cache verify more", 2, "more"),
    ("cache verify --remove=maybe", 2, "maybe"), ("cache gc --max-size", 2, "--max-size"),
    ("cache gc --max-size much", 2, "--max-size: must be a number"), ("cache gc --max-size=-5", 2, "'-5'"),
    ("cache gc --max-size nan", 2, "'nan'"), ("cache gc --max-size 1e400", 2, "'1e400'"),
    ("cache gc --max-size 1T", 2, "'1T'"), ("cache rm", 2, "KEY, or else --all, is required"),
    ("cache rm --all k", 2, "or else --all"), ("cache rm zz", 1, "'zz'"),
    ("cache pack", 2, "DIR is required"), ("cache pack --all /dev/null", 1, "/dev/null"),
    ("stats nothing", 1, "'nothing'"), ("stats 0", 1, "process 0 left no counters"),
    ("stats -- -5", 1, "process -5 left no counters"), ("stats 99999999", 1, "process 99999999"),
    ("stats 1 2", 2, "not expected: 2"), ("stats --json --prometheus", 2, "excludes"),
    ("stats /dev/null", 1, "holds no counters"), ("stats /", 1, "'/'"),
    ("run two.ir --repeat 0", 2, "not in range 1 to 1000000000"), ("run two.ir --threads x", 2, "--threads"),
    ("completion csh", 2, "csh"), ("man more", 2, "more"), ("passes more", 2, "more"),
])
def test_bad_arguments_are_one_clear_line(cache, arguments, code, said):
    cache.directory.mkdir(parents=True, mode=0o700)
    said_there = cache(*arguments.split(), code=code)
    assert said in said_there and said_there.count("\n") == 1 and len(said_there) < 250
    assert said_there.startswith("tektite: ")


def test_stats_of_a_process(cache, tmp_path):
    assert "no counters of a process" in cache("stats", code=1)
    counters, _ = cache.run()
    stats = json.loads(cache("stats", "--json"))
    assert stats["kernels"] == counters["kernels"] > 0 and stats["runs"] == 1
    assert stats["disk_stores"] == counters["disk"]["stores"]
    assert json.loads(cache("stats", stats["pid"], "--json")) == stats
    assert f"process {stats['pid']}" in cache("stats", stats["pid"])
    metrics = cache("stats", "--prometheus")
    assert f'tektite_runs_total{{pid="{stats["pid"]}"}} 1\n' in metrics
    assert "# TYPE tektite_arena_bytes gauge" in metrics
    # Three lines a counter, as the text format requires.
    lines = metrics.splitlines()
    assert len(lines) == 3 * len(set(lines[2::3]))
    for told, typed, sample in zip(lines[::3], lines[1::3], lines[2::3]):
        name = re.fullmatch(r'(tektite_[a-z0-9_]+)\{pid="\d+"\} \d+', sample)[1]
        assert re.fullmatch(rf"# HELP {name} [^\\]+", told) and "  " not in told
        assert typed in (f"# TYPE {name} counter", f"# TYPE {name} gauge")
    cache.run(flags=f"--stats_file={tmp_path}/mine")
    assert json.loads(cache("stats", tmp_path / "mine", "--json"))["loaded_kernels"] > 0
    (tmp_path / "other").write_text("not counters " * 1000)
    assert "holds no counters" in cache("stats", tmp_path / "other", code=1)
    for _ in range(20):
        cache.run()
    assert len(list((cache.directory / "run").glob("*.stats"))) <= 18


def test_completion_and_manual(cache, tmp_path):
    script = tmp_path / "completion.bash"
    script.write_text(cache("completion", "bash"))
    ask = f"""source {script}; COMP_WORDS=(tektite cache ""); COMP_CWORD=2; cd /var/empty 2>/dev/null
              _tektite; printf '%s\\n' "${{COMPREPLY[@]}}" """
    offered = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert {"ls", "why", "pack"} <= set(offered.stdout.split()) and "explain" not in offered.stdout
    assert cache("completion", "zsh").startswith("#compdef tektite")
    assert "-a why" in cache("completion", "fish")
    cache("completion", "csh", code=2)
    manual = cache("man")
    assert manual.startswith(".TH TEKTITE 1") and "tektite cache why" in manual
    assert "\\-\\-max\\-size" in manual
