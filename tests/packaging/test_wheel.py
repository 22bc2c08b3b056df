"""The wheel, out of libraries that stand in for the real ones: what it holds, equal bytes, and what its check finds."""
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
NAME = "tektite-0.1.0-py3-none-manylinux_2_27_x86_64.whl"
sys.path.insert(0, str(PACKAGING))

import check_wheel  # noqa: E402
import link_portable  # noqa: E402
import make_cuda_wheel  # noqa: E402

PARTS = ("fast_calls-2.21.cpython-311-x86_64-linux-gnu.so", "libtektite.so", "libtektite_loader.so", "libtektite_tf-2.16.so",
         "libtektite_tf-2.21.so")


def library(path: Path, text: str = "int nothing;", *options: str) -> None:
    source = path.with_suffix(".c")
    source.write_text(text)
    subprocess.run(["gcc", "-shared", "-fPIC", "-nostdlib", "-Wl,-s", *options, source, "-o", path], check=True)
    source.unlink()


@pytest.fixture
def inputs(tmp_path) -> Path:
    (tmp_path / "parts").mkdir()
    for name in PARTS:
        library(tmp_path / "parts" / name)
    for licence in check_wheel.LICENCES:
        path = tmp_path / "licences" / licence
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"of {licence}")
    return tmp_path


def make(inputs: Path, output: str, **environment: str) -> Path:
    done = subprocess.run([sys.executable, PACKAGING / "make_wheel.py", "--parts", inputs / "parts", "--licences",
                           inputs / "licences", "--tag", "manylinux_2_27_x86_64", "--output", inputs / output],
                          env={**os.environ, **environment}, text=True, capture_output=True, check=True)
    return Path(done.stdout.strip())


def test_it_holds_what_an_environment_needs(inputs):
    path = make(inputs, "out")
    assert path.name == NAME
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
    for wanted in ("tensorflow-plugins/libtektite_loader.so", "tektite/lib/libtektite.so", "tektite/lib/libtektite_tf-2.16.so",
                   "tektite/lib/" + PARTS[0], "tektite/__main__.py", "tektite/py.typed",
                   "tektite-0.1.0.dist-info/licenses/LICENSE", "tektite-0.1.0.dist-info/entry_points.txt"):
        assert wanted in names
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", inputs / "site", path],
                   check=True)
    installed = inputs / "site/tensorflow-plugins/libtektite_loader.so"
    assert installed.read_bytes() == (inputs / "parts/libtektite_loader.so").read_bytes()
    assert (inputs / "site/bin/tektite").exists()


def test_uninstalling_leaves_nothing(inputs):
    venv = inputs / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    before = set(venv.rglob("*"))
    pip = [sys.executable, "-m", "pip", "-q", "--python", venv / "bin/python"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", make(inputs, "out"), make_cuda_wheel.make(inputs)], check=True)
    assert (venv / "bin/tektite").exists()
    subprocess.run([venv / "bin/python", "-c", "import tektite, tektite._command, tektite._doctor"], check=True)
    subprocess.run([*pip, "uninstall", "-y", "tektite", "tektite-cuda"], check=True)
    assert set(venv.rglob("*")) == before


def test_equal_inputs_make_equal_bytes(inputs):
    first = make(inputs, "first", SOURCE_DATE_EPOCH="1790000000").read_bytes()
    shutil.copytree(inputs / "parts", inputs / "copies")  # with times of their own, and in another order
    shutil.rmtree(inputs / "parts")
    (inputs / "copies").rename(inputs / "parts")
    assert make(inputs, "second", SOURCE_DATE_EPOCH="1790000000").read_bytes() == first


def test_the_check_finds_nothing_in_a_sound_wheel(inputs):
    assert check_wheel.check(make(inputs, "out")) == []


@pytest.mark.parametrize("text, options, said", [
    ("int nothing;", ["-Wl,-rpath,/somewhere"], "has a search path of its own"),
    ("int nothing;", ["-Wl,-soname,libtektite.so", "-Wl,--no-as-needed", "-l:libz.so.1"], "needs libz.so.1"),
    ("#include <math.h>\ndouble f(double x, double y) { return fmod(x, y) + hypot(x, y); }", ["-Wl,--no-as-needed", "-lm"],
     "asks for GLIBC_2.35"),
    (f'const char* path = "{ROOT}/build";', [], "holds the path"),
])
def test_the_check_names_what_would_not_load_elsewhere(inputs, text, options, said):
    library(inputs / "parts/libtektite.so", text, *options)
    errors = check_wheel.check(make(inputs, "out"))
    assert errors and all(error.startswith("tektite/lib/libtektite.so") and said in error for error in errors), errors


def test_the_check_misses_licences_and_names_symbols_that_were_left_in(inputs):
    (inputs / "licences/inside/zstd.txt").unlink()
    source = inputs / "hook.c"
    source.write_text("int nothing; static int inside; int* f(void) { return &inside; }")
    subprocess.run(["gcc", "-shared", "-fPIC", "-nostdlib", source, "-o", inputs / "parts/libtektite_tf-2.21.so"], check=True)
    assert check_wheel.check(make(inputs, "out")) == [
        "no licenses/inside/zstd.txt", "tektite/lib/libtektite_tf-2.21.so: is not stripped"]


def test_the_command_is_linked_from_what_ninja_makes_now():
    """All objects of its folder were taken, and older ones may lie there."""
    build = ROOT / "build/cmake"
    objects = link_portable.objects_of_command(build)
    assert objects and all((build / name).exists() for name in objects)
    assert len({Path(name).parent.name for name in objects}) == 1, objects


def test_an_archive_without_a_known_licence_fails(tmp_path):
    done = subprocess.run([sys.executable, PACKAGING / "licences.py", "--output", tmp_path / "out", "--abseil", tmp_path,
                           "--onednn", tmp_path, "--tensorflow", tmp_path, "libz.a", "libunheard_of.a"], text=True, capture_output=True)
    assert done.returncode != 0 and "libunheard_of.a" in done.stderr and "libz.a" not in done.stderr
