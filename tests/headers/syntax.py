"""Compiles a text that stands where a header stands, with the options of the source files beside it.

    messages("jit/base/flags.h", "Flagz flags;", commands())  ->  "<stdin>:1:1: error: 'Flagz' does not name a type"
"""
import json
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from tidy import take_apart  # noqa: E402

BUILD = ROOT / "build" / "cmake"
# Options that belong to the file itself; those of one argument, and those of two.
OWN_OPTIONS, OWN_PAIRS = ("-c", "-MD", "-MMD"), ("-o", "-MF", "-MT", "-MQ")


def commands() -> list[dict]:
    """A row for each file that the build compiles."""
    return json.loads((take_apart(BUILD) / "compile_commands.json").read_text())


def options_for(header: str, rows: list[dict], precompiled: bool) -> list[str]:
    """The compiler and its options for the nearest source file: in the same folder or below it, or in those above."""
    pairs = OWN_PAIRS if precompiled else (*OWN_PAIRS, "-include")
    folder = Path(header).parent
    while folder.parts:
        for row in rows:
            file = Path(row["file"])
            if file.is_relative_to(ROOT / folder) and file.suffix == ".cc":
                words, kept, skip = shlex.split(row["command"]), [], False
                for word in words:
                    if skip or word == row["file"] or word in OWN_OPTIONS:
                        skip = False
                    elif word in pairs:
                        skip = True
                    else:
                        kept.append(word)
                return kept[1:] if Path(kept[0]).name == "ccache" else kept
        folder = folder.parent
    raise AssertionError(f"nothing beside {header} is compiled")


def messages(header: str, source: str, rows: list[dict], precompiled: bool = True) -> str:
    """The compiler's; empty where it has none.  `precompiled`: with other projects' headers, as the build has them."""
    done = subprocess.run([*options_for(header, rows, precompiled), "-fsyntax-only", "-w", "-x", "c++", "-"], cwd=BUILD,
                          input=source, text=True, capture_output=True, check=False)
    return done.stderr[:2000] if done.returncode else ""
