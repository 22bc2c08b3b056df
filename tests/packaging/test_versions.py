"""What must hold in every TensorFlow, without any of them: which hook the loader opens, and what it asks of private state."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

from debian_suite import DebianSuite, Unavailable, headers_of  # noqa: E402

VERSIONS = [line.split() for line in (ROOT / "packaging/versions.txt").read_text().splitlines()
            if line and not line.startswith("#")]
# All of TensorFlow that the loader knows.
FAKE = """
const char* TF_Version(void) { return "%s"; }
"""
# As TensorFlow up to 2.18: its libraries are open, and their names are not global.
HOST = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  if (!dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) || !dlopen(argv[2], RTLD_NOW | RTLD_LOCAL)) puts(dlerror());
  return 0;
}
"""
HOOK = """
#include <stdio.h>
__attribute__((constructor)) static void Say(void) { fputs("hook %s\\n", stderr); }
"""


def compile_c(text: str, output: Path, *options: str) -> Path:
    output.parent.mkdir(parents=True, exist_ok=True)
    source = output.with_suffix(".c")
    source.write_text(text)
    subprocess.run(["gcc", "-fPIC", *options, source, "-o", output, "-ldl"], check=True)
    return output


def newest_loader() -> Path:
    return max(ROOT.glob("build/*/runtime_hooks/tensorflow/loader/libtektite_loader.so"), key=lambda p: p.stat().st_mtime)


def open_in(tmp_path: Path, version: str, hooks: list[str]) -> str:
    """What the loader writes in a process with that TensorFlow, where there are hooks for those versions."""
    for hook in hooks:
        compile_c(HOOK % hook, tmp_path / f"tektite/lib/libtektite_tf-{hook}.so", "-shared")
    loader = tmp_path / "tensorflow-plugins/libtektite_loader.so"
    loader.parent.mkdir()
    shutil.copy(newest_loader(), loader)
    tensorflow = compile_c(FAKE % version, tmp_path / "libtensorflow_cc.so.2", "-shared", "-Wl,-soname,libtensorflow_cc.so.2")
    host = compile_c(HOST, tmp_path / "host")
    done = subprocess.run([host, tensorflow, loader], env={**os.environ, "TEKTITE": "1"}, text=True, capture_output=True,
                          check=True)
    return done.stdout + done.stderr


def test_the_hook_of_the_running_minor_is_opened(tmp_path):
    """With names that are not global: "TF_Version is not in this process" was the answer in 2.16 to 2.18."""
    assert open_in(tmp_path, "2.16.2", ["2.16", "2.21"]) == "hook 2.16\n"


def test_an_unknown_minor_is_one_line_with_those_that_work(tmp_path):
    said = open_in(tmp_path, "2.30.0-rc1", ["2.21", "2.9", "2.16"])
    assert re.fullmatch(r"tektite: off: no hook for TensorFlow 2\.30\.0-rc1; there is one for 2\.9, 2\.16, 2\.21 \(.*\)\n",
                        said), said


def test_versions_are_sorted_and_known_to_the_documentation():
    names = [version for version, *_ in VERSIONS]
    assert names == sorted(names, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
    page = (ROOT / "docs/compatibility.md").read_text()
    assert all(f"| {name} |" in page for name in names)


PRIVATE_STATE = """
import importlib, os
os.environ["TEKTITE"] = "0"
import tensorflow
from tektite import _private_state

GONE = object()

def answer(module, owner, name, value):
    place = importlib.import_module("tensorflow.python." + module)
    place = getattr(place, owner) if owner else place
    before = getattr(place, name)
    delattr(place, name) if value is GONE else setattr(place, name, value)
    print("answer:", _private_state.missing.__wrapped__())
    setattr(place, name, before)

functions = "eager.polymorphic_function.concrete_function"
answer("framework.ops", "", "get_default_graph", print)
answer("framework.ops", "", "EagerTensor", GONE)
answer("eager.context", "", "_context", GONE)
answer(functions, "ConcreteFunction", "_call_flat", lambda self, inputs: None)
answer(functions, "ConcreteFunction", "__init__", lambda self: None)
"""


def test_private_state_that_is_not_as_it_was_is_named():
    """A name that was gone became an AttributeError in the import or in a user's call."""
    done = subprocess.run([sys.executable, "-c", PRIVATE_STATE], text=True, capture_output=True, check=True)
    assert re.findall("answer: ?(.*)", done.stdout) == [
        "",
        "TensorFlow has no framework.ops.EagerTensor._datatype_enum",
        "TensorFlow has no eager.context._context",
        "arguments of ConcreteFunction._call_flat: self, inputs",
        "TensorFlow has no eager.polymorphic_function.concrete_function.ConcreteFunction._captured_inputs",
    ]


def test_what_apt_does_not_have_is_unavailable_and_no_error(tmp_path, monkeypatch):
    """A mirror without an older suite failed the tests that want an empty root."""
    apt = tmp_path / "bin/apt-get"
    apt.parent.mkdir()
    apt.write_text("#!/bin/sh\necho 'E: no such suite' >&2\nexit 100\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{apt.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("DEBIAN_MIRROR", "mirror")
    with pytest.raises(Unavailable, match="apt-get update for bullseye: E: no such suite"):
        DebianSuite("bullseye", tmp_path / "suite")
    with pytest.raises(Unavailable, match=r"no Debian has Python 3\.10"):
        headers_of("3.10", tmp_path)
