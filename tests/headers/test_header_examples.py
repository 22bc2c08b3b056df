"""Every example in a header that is marked as one compiles (header_examples.py says how to mark it)."""
import json
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.headers.header_examples import Example, examples_of

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from tidy import take_apart  # noqa: E402

FOLDERS = ("jit", "clustering", "backends", "runtime_hooks")
BUILD = ROOT / "build" / "cmake"
# Options that belong to the file itself; those of one argument, and those of two.
OWN_OPTIONS, OWN_PAIRS = ("-c", "-MD", "-MMD"), ("-o", "-MF", "-MT", "-MQ")


def all_examples() -> list[tuple[str, Example]]:
    headers = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.h"))
    return [(name, example) for path in headers
            for name in [path.relative_to(ROOT).as_posix()] for example in examples_of(name, path.read_text())]


def options_for(header: str, commands: list[dict]) -> list[str]:
    """The compiler and its options for the nearest source file: of the same folder, or of the one above."""
    folder = Path(header).parent
    while folder.parts:
        for row in commands:
            file = Path(row["file"])
            if file.is_relative_to(ROOT) and file.parent == ROOT / folder and file.suffix == ".cc":
                words, kept, skip = shlex.split(row["command"]), [], False
                for word in words:
                    if skip or word == row["file"] or word in OWN_OPTIONS:
                        skip = False
                    elif word in OWN_PAIRS:
                        skip = True
                    else:
                        kept.append(word)
                return kept[1:] if Path(kept[0]).name == "ccache" else kept
        folder = folder.parent
    raise AssertionError(f"nothing beside {header} is compiled")


def compile_example(header: str, example: Example, commands: list[dict]) -> str:
    """The compiler's messages; empty where it has none."""
    done = subprocess.run([*options_for(header, commands), "-fsyntax-only", "-w", "-x", "c++", "-"], cwd=BUILD,
                          input=example.source, text=True, capture_output=True, check=False)
    return f"{header}:{example.line}:\n{done.stderr[:2000]}\n{example.source}" if done.returncode else ""


@pytest.mark.slow
def test_every_marked_example_compiles():
    commands = json.loads((take_apart(BUILD) / "compile_commands.json").read_text())
    examples = all_examples()
    assert len(examples) >= 10
    with ThreadPoolExecutor(2) as pool:
        errors = list(filter(None, pool.map(lambda job: compile_example(*job, commands), examples)))
    assert not errors, "\n".join(errors)


HEADER = """// A thing.
//
// Example(int base) -> absl::Status:
//   #include "jit/base/status.h"
//   Thing thing(base);
//
// Limits: none.
namespace tektite::base {
"""


def test_an_example_becomes_a_program():
    (example,) = examples_of("jit/base/thing.h", HEADER)
    assert example.line == 3
    assert example.source == ('#include "jit/base/thing.h"\n#include "jit/base/status.h"\n\nnamespace tektite::base {\n'
                              "absl::Status Example3(int base) {\nThing thing(base);\nreturn absl::OkStatus();\n}\n}\n")


def test_c_comments_and_examples_without_parameters():
    (example,) = examples_of("c/tektite.h", "/* A header.\n *\n * Example:\n *   call();\n */\n")
    assert example.source == '#include "c/tektite.h"\n\nvoid Example3() {\ncall();\n}\n'
    assert examples_of("a.h", "// For example:\n//   call();\n") == []


@pytest.mark.parametrize("line, says", [("Flags flags;", ""), ("Flagz flags;", "Flagz")])
def test_a_broken_example_is_found(line, says):
    (example,) = examples_of("jit/base/flags.h", f"// Example:\n//   {line}\nnamespace tektite {{\n")
    answer = compile_example("jit/base/flags.h", example, json.loads((BUILD / "compile_commands.json").read_text()))
    assert bool(answer) == bool(says) and says in answer
