"""Follows a page of docs that says what to add where, in a copy of the tree, and builds the outcome out of what is built already.

    made = follow(PAGE, tree)                                # the page's new files and rows
    link(tree, "import_check", [compile_alone(tree, name, like="clustering/op_table.cc") for name in made])
"""
import json
import re
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/cmake"


def blocks(page: str, sentence: str) -> list[tuple[str, ...]]:
    """What the sentence names, and the block behind it."""
    return re.findall(rf"^{sentence}:\n\n```\w+\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[str]:
    return re.search(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1].splitlines()


def follow(page: str, tree: Path) -> list[str]:
    """Makes the page's edits; returns the new files."""
    made = []
    for name, text in blocks(page, "New file `([^`]+)`"):
        assert not (tree / name).exists()
        (tree / name).write_text(text)
        made.append(name)
    for name, place, text in blocks(page, "Add to `([^`]+)`, before `([^`]+)`"):
        lines = (tree / name).read_text().split("\n")
        at = next(i for i, line in enumerate(lines) if line.startswith(place))
        (tree / name).write_text("\n".join([*lines[:at], text.rstrip("\n"), *lines[at:]]))
    return made


def compile_alone(tree: Path, name: str, like: str) -> Path:
    """With the options of the first object whose command names `like`; the copy's headers come first."""
    of = next(entry for entry in json.loads((BUILD / "compile_commands.json").read_text()) if like in entry["command"])
    words = shlex.split(of["command"])
    made = tree / (name.replace("/", "_") + ".o")
    words = [words[0], f"-I{tree}", *words[1:words.index("-o")], "-o", str(made), "-c", str(tree / name)]
    subprocess.run(words, cwd=BUILD, check=True, timeout=300)
    return made


def link(tree: Path, target: str, objects: list[Path]) -> Path:
    """The first definition of a function counts: the libraries have the old ones."""
    said = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", target], capture_output=True, text=True, check=True)
    last = [line for line in said.stdout.splitlines() if not line.startswith("ninja:")][-1]
    words = shlex.split(last.removeprefix(": && ").split(" && ")[0])
    out = words.index("-o")
    program = tree / target
    words = [*words[:out], *map(str, objects), "-Wl,--allow-multiple-definition", "-o", str(program), *words[out + 2:]]
    subprocess.run(words, cwd=BUILD, check=True, timeout=120)
    return program
