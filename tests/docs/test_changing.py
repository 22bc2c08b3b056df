"""docs/changing.md names every place that a change touches: each file that names a sample op of its kind is on the page."""
import fnmatch
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/changing.md").read_text()


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def places(text: str) -> set[str]:
    """Patterns of the paths in code: `jit/ops/<family>.cc` is "jit/ops/*.cc", and a name alone lies beside the path before it."""
    found, folder = set(), ""
    for span in re.findall(r"`([\w./<>-]+)`", text):
        pattern = re.sub(r"<\w+>", "*", span).rstrip("/")
        if "/" in pattern:
            folder = pattern if "." not in pattern.rpartition("/")[2] else pattern.rpartition("/")[0]
        elif "." in pattern:
            pattern = f"{folder}/{pattern}"
        found.add(pattern)
    return found


def naming(word: str) -> list[str]:
    told = subprocess.run(["git", "grep", "-lw", word, "--", ":!docs", ":!CHANGELOG.md", ":!bench", ":!tests/docs"], cwd=ROOT, text=True,
                          capture_output=True, check=False)
    return told.stdout.split() if told.returncode == 0 else pytest.skip("no checkout of git")


def left_out(names: list[str], patterns: set[str]) -> list[str]:
    return [name for name in names if not any(fnmatch.fnmatch(name, end) for pattern in patterns for end in (pattern, f"{pattern}/*"))]


# A function, kernels of the library for CPUs, and one that cards have code for.
@pytest.mark.parametrize("op", ["kAcosh", "kCholesky", "kIsMember", "kRealFft"])
def test_the_places_of_an_op_of_the_tensor_ir(op):
    assert not left_out(naming(op), places(section("An op of the tensor IR")))


@pytest.mark.parametrize("op", ["SoftplusGrad", "Cross", "NextAfter"])
def test_the_places_of_a_tensorflow_op(op):
    assert not left_out(naming(op), places(section("A TensorFlow op")))


def test_a_place_that_is_not_named_is_found():
    patterns = places("`jit/ir/op_list.inc`, `attribute_list.inc` and `backends/gpu/emit/<family>`")
    assert patterns == {"jit/ir/op_list.inc", "jit/ir/attribute_list.inc", "backends/gpu/emit/*"}
    assert left_out(["jit/ir/attribute_list.inc", "jit/ir/op.h", "backends/gpu/emit/order/x.cc"], patterns) == ["jit/ir/op.h"]
