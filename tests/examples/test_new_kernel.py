"""docs/new_kernel.md, followed to the letter in a copy of the CPU back end and of the conformance suite.

Instead of `ninja` the test compiles the new files and the list, and links them with the libraries that are there.
"""
import re
import shutil
import subprocess

import pytest

from tests.examples.follow import ROOT, commands, compile_alone, follow, link

PAGE = (ROOT / "docs/new_kernel.md").read_text()
LIST = "backends/cpu/implementation_list.cc"


@pytest.mark.slow
def test_an_implementation_is_added(tmp_path):
    for folder in ("backends/cpu", "tests/conformance"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    emitter, cases = follow(PAGE, tmp_path)
    assert emitter.removeprefix("backends/cpu/") in (tmp_path / "backends/cpu/CMakeLists.txt").read_text()
    assert cases.removeprefix("tests/conformance/") in (tmp_path / "tests/conformance/CMakeLists.txt").read_text()
    program = link(tmp_path, "conformance_test", [compile_alone(tmp_path, cases, like="tests/conformance/products/products_test.cc"),
                                                  *(compile_alone(tmp_path, name, like="tektite_cpu.dir/") for name in (emitter, LIST))])
    build, run = commands(PAGE)
    assert build == "ninja -C build/cmake conformance_test"
    done = subprocess.run(run.replace("build/bin/conformance_test", str(program)), shell=True, cwd=tmp_path, capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    ran = re.findall(r"\[       OK \] (\S+)", done.stdout)
    assert "ImplementationList.OneElementIsFilledIn" in ran and len(ran) >= 4, done.stdout
