"""docs/new_op.md, followed to the letter in a copy of the importer: its files, its rows, its commands.

Instead of `ninja`, which would build the tree's own importer anew, the test compiles the new file and those that read the list, and
links them with the libraries that are there.
"""
import os
import re
import shutil
import subprocess

import pytest

from tests.examples.follow import ROOT, commands, compile_alone, follow, link

PAGE = (ROOT / "docs/new_op.md").read_text()
# They read import_list.inc.
READERS = ("clustering/op_table.cc", "clustering/importer/import_table.cc")


@pytest.mark.slow
def test_an_op_is_added(tmp_path):
    for folder in ("clustering", "tests/importer", "tests/properties", "tests/random_programs", "tests/attack", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for file in ("pytest.ini", "scripts/write_op_coverage.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    new = follow(PAGE, tmp_path)
    assert new and all(name.removeprefix("clustering/importer/") in (tmp_path / "clustering/importer/CMakeLists.txt").read_text() for name in new)
    program = link(tmp_path, "import_check", [compile_alone(tmp_path, name, like="clustering/op_table.cc") for name in (*new, *READERS)])
    build, *rest = commands(PAGE)
    assert build == "ninja -C build/cmake import_check"
    said = ""
    for line in rest:
        done = subprocess.run(line.replace("build/venv", str(ROOT / "build/venv")), shell=True, cwd=tmp_path, capture_output=True, text=True,
                              env=os.environ | {"TEKTITE_IMPORT_CHECK": str(program)}, timeout=300, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        said += done.stdout
    assert int(re.search(r"(\d+) passed", said)[1]) >= 10 and "failed" not in said and "skipped" not in said, said
    compiled = (tmp_path / "docs/op_coverage.md").read_text().split("## Compiled, and not by XLA")[1]
    assert "`NthElement`" in compiled
