"""Every example in a header that is marked as one compiles (header_examples.py says how to mark it)."""
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.headers.header_examples import Example, examples_of
from tests.headers.recent import all_headers
from tests.headers.syntax import ROOT, commands, messages


def all_examples() -> list[tuple[str, Example]]:
    return [(name, example) for name in all_headers(ROOT) for example in examples_of(name, (ROOT / name).read_text())]


def compile_example(header: str, example: Example, rows: list[dict]) -> str:
    """The compiler's messages; empty where it has none."""
    found = messages(header, example.source, rows)
    return f"{header}:{example.line}:\n{found}\n{example.source}" if found else ""


@pytest.mark.slow
def test_every_marked_example_compiles():
    rows = commands()
    examples = all_examples()
    assert len(examples) >= 10
    with ThreadPoolExecutor(2) as pool:
        errors = list(filter(None, pool.map(lambda job: compile_example(*job, rows), examples)))
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
    answer = compile_example("jit/base/flags.h", example, commands())
    assert bool(answer) == bool(says) and says in answer
