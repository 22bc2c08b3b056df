"""scripts/tidy.py with a clang-tidy of the test's own: progress, findings, summary and exit code."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / "jit/ir/dim.cc", ROOT / "jit/ir/shape.cc"]
FAKE = """#!/bin/sh
for file; do :; done
case $file in
  *dim.cc) echo "$file:7:3: warning: a variable is unused [misc-unused-x]"; echo "/usr/include/a.h:1:1: warning: theirs" ;;
esac
"""


@pytest.fixture
def tidy(tmp_path):
    rows = [{"directory": str(tmp_path), "file": str(file), "command": f"c++ -c {file}"} for file in FILES]
    (tmp_path / "compile_commands.json").write_text(json.dumps(rows))
    program = tmp_path / "clang-tidy-14"
    program.write_text(FAKE)
    program.chmod(0o755)

    def run(*arguments):
        return subprocess.run([sys.executable, ROOT / "scripts/tidy.py", tmp_path, *arguments], text=True,
                              capture_output=True, check=False,
                              env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    return run


def test_findings_of_ours_are_printed_and_fail(tidy):
    done = tidy("--all")
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and lines[-1] == "2 files, 1 with findings"
    assert "  jit/ir/dim.cc:7:3: a variable is unused [misc-unused-x]" in lines and "theirs" not in done.stdout
    assert {line.split(",")[0][6:] for line in lines if line.startswith("[")} == {"jit/ir/dim.cc", "jit/ir/shape.cc"}


def test_files_that_are_compiled_as_one_are_looked_at_each(tidy, tmp_path):
    """A united build names the whole alone, and its parts were "not compiled"."""
    whole = tmp_path / "Unity/unity_0_cxx.cxx"
    whole.parent.mkdir()
    whole.write_text("/* generated */\n" + "".join(f'\n#include "{file}"\n' for file in FILES))
    row = {"directory": str(tmp_path), "file": str(whole), "command": f"c++ -o Unity/unity_0_cxx.cxx.o -c {whole}"}
    (tmp_path / "compile_commands.json").write_text(json.dumps([row]))
    assert tidy("--all").stdout.splitlines()[-1] == "2 files, 1 with findings"
    rows = json.loads((tmp_path / "tidy/compile_commands.json").read_text())
    assert [row["command"] for row in rows] == [f"c++ -o Unity/unity_0_cxx.cxx.o -c {file}" for file in FILES]


def test_a_clean_file_passes_and_an_unknown_one_is_named(tidy):
    done = tidy(FILES[1])
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "1 files, 0 with findings"
    assert "does not compile" in tidy(ROOT / "jit/ir/graph.cc").stderr


def test_a_clang_tidy_that_fails_is_a_finding(tidy, tmp_path):
    (tmp_path / "clang-tidy-14").write_text("#!/bin/sh\necho 'no such option' >&2; exit 1\n")
    done = tidy("--all")
    assert done.returncode == 1 and "clang-tidy failed: no such option" in done.stdout


def test_without_a_build_it_says_what_to_do(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "scripts/tidy.py", tmp_path / "none"], text=True, capture_output=True,
                          check=False)
    assert done.returncode == 1 and ("scripts/setup" in done.stderr or "apt-get install clang-tidy" in done.stderr)
