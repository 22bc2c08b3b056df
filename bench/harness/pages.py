"""A page of results that several tools write, each its own section.

    write_section(Path("bench/RESULTS.md"), "## Kernels and layers\\n\\n...")   # the other sections stay
    command_line("bench/layers", sys.argv[1:])   # what to run for the same figures: `bench/layers --roofline`
"""
import re
import subprocess
from pathlib import Path
from typing import Sequence

VERSIONS_SHOWN = {"tensorflow-cpu", "keras", "jax", "onnxruntime", "openvino", "zentf", "tf2onnx", "ai-edge-litert"}
OUTPUT_OPTIONS = ("--json", "--markdown")


def write_section(page: Path, section: str) -> None:
    """`section` begins with a heading of the second level.  The section of that name is replaced; where there is
    none, or no page yet, it becomes the last."""
    section = section.strip() + "\n"
    heading = section.split("\n", 1)[0]
    if not heading.startswith("## "):
        raise ValueError(f"a section begins with '## ', not with {heading[:40]!r}")
    parts = re.split(r"(?m)^(?=## )", page.read_text()) if page.exists() else []
    mine = [i for i, part in enumerate(parts) if part.split("\n", 1)[0].rstrip() == heading]
    if mine:
        parts[mine[0]] = section
    else:
        parts.append(section)
    page.write_text("\n".join(part.strip() + "\n" for part in parts if part.strip()))


def command_line(program: str, arguments: Sequence[str]) -> str:
    """Without the options that say where results go: those name files of the person who measured."""
    kept, skip = [], False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in OUTPUT_OPTIONS:
            skip = True
        elif not argument.startswith(tuple(f"{option}=" for option in OUTPUT_OPTIONS)):
            kept.append(argument)
    return " ".join([program, *kept])


def versions(root: Path) -> dict[str, str]:
    """This commit, and what the requirements pin."""
    commit = subprocess.run(["git", "-C", str(root), "rev-parse", "--short", "HEAD"], text=True,
                            capture_output=True).stdout.strip()
    found = {"Tektite": commit or "unknown"}
    for file in [root / "scripts/requirements.txt", *sorted((root / "bench/rivals").glob("*.txt"))]:
        for line in file.read_text().splitlines():
            name, pinned, version = line.partition("==")
            if pinned and name in VERSIONS_SHOWN:
                found.setdefault(name, version.split()[0])
    return found
