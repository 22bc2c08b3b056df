"""docs/new_op.md, followed to the letter in a copy of the importer: its files, its rows, its commands.

Instead of `ninja`, which would build the tree's own importer anew, the test compiles the new file and those that read the list, and
links them with the libraries that are there.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/new_op.md").read_text()
BUILD = ROOT / "build/cmake"
# They read import_list.inc.
READERS = ("clustering/op_table.cc", "clustering/importer/import_table.cc")


def blocks(sentence: str) -> list[tuple[str, ...]]:
    """What the sentence names, and the block behind it."""
    return re.findall(rf"^{sentence}:\n\n```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def follow(tree: Path) -> list[str]:
    """Makes the page's edits; returns the new files."""
    made = []
    for name, text in blocks("New file `([^`]+)`"):
        assert not (tree / name).exists()
        (tree / name).write_text(text)
        made.append(name)
    for name, place, text in blocks("Add to `([^`]+)`, before `([^`]+)`"):
        lines = (tree / name).read_text().split("\n")
        at = next(i for i, line in enumerate(lines) if line.startswith(place))
        (tree / name).write_text("\n".join([*lines[:at], text.rstrip("\n"), *lines[at:]]))
    return made


def commands(target: str) -> list[str]:
    said = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", target], capture_output=True, text=True, check=True)
    return [line for line in said.stdout.splitlines() if not line.startswith("ninja:")]


def compile_alone(tree: Path, name: str) -> Path:
    """With the options of op_table.cc; the copy's headers come first."""
    of = next(entry for entry in json.loads((BUILD / "compile_commands.json").read_text()) if entry["file"].endswith("clustering/op_table.cc"))
    words = shlex.split(of["command"])
    made = tree / (name.replace("/", "_") + ".o")
    words = [words[0], f"-I{tree}", *words[1:words.index("-o")], "-o", str(made), "-c", str(tree / name)]
    subprocess.run(words, cwd=BUILD, check=True, timeout=300)
    return made


def link(tree: Path, objects: list[Path]) -> Path:
    """The first definition of a function counts: the libraries have the old list."""
    words = shlex.split(commands("import_check")[-1].removeprefix(": && ").removesuffix(" && :"))
    out = words.index("-o")
    program = tree / "import_check"
    words = [*words[:out], *map(str, objects), "-Wl,--allow-multiple-definition", "-o", str(program), *words[out + 2:]]
    subprocess.run(words, cwd=BUILD, check=True, timeout=120)
    return program


@pytest.mark.slow
def test_an_op_is_added(tmp_path):
    for folder in ("clustering", "tests/importer", "tests/properties", "tests/random_programs", "tests/attack", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for file in ("pytest.ini", "scripts/write_op_coverage.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    new = follow(tmp_path)
    assert new and all(name.removeprefix("clustering/importer/") in (tmp_path / "clustering/importer/CMakeLists.txt").read_text() for name in new)
    program = link(tmp_path, [compile_alone(tmp_path, name) for name in (*new, *READERS)])
    build, *rest = re.search(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1].splitlines()
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
