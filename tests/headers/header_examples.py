"""Finds the examples in header comments that say they compile, and makes programs of them.

    // Example(Comparison& comparison, double work):
    //   Comparison::Turn turn = comparison.Begin(7, work, 0);
    //   comparison.End(turn);

An example ends with the first line that is not indented by two blanks more than the marker.  The parameters declare
what the reader has already.  `Example(...) -> absl::Status:` may use TEKTITE_RETURN_IF_ERROR and its like.  Lines of
#include go to the top.  A comment in C (` * `) works the same.

    examples_of("jit/serving/comparison.h", text)  ->  [Example(line=12, source="#include ...")]
"""
import re
from dataclasses import dataclass

MARKER = re.compile(r"^(?P<lead>//| \*) Example(?:\((?P<parameters>.*)\))?(?: -> (?P<result>.+))?:$")
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    line: int
    source: str


def program(path: str, text: str, marker: re.Match, lines: list[str], number: int) -> str:
    includes = [line for line in lines if line.startswith("#include")]
    body = [line for line in lines if line not in includes]
    namespace = NAMESPACE.search(text)
    result = marker["result"] or "void"
    source = [f'#include "{path}"', *includes, ""]
    source += [f"namespace {namespace[1]} {{"] if namespace else []
    source += [f"{result} Example{number}({marker['parameters'] or ''}) {{", *body]
    source += ["return absl::OkStatus();"] if result == "absl::Status" else []
    return "\n".join([*source, "}", *(["}"] if namespace else []), ""])


def examples_of(path: str, text: str) -> list[Example]:
    found, lines = [], text.splitlines()
    for number, line in enumerate(lines, 1):
        if not (marker := MARKER.match(line)):
            continue
        indent, body = marker["lead"] + "   ", []
        for follower in lines[number:]:
            if not follower.startswith(indent):
                break
            body.append(follower.removeprefix(indent))
        found.append(Example(number, program(path, text, marker, body, number)))
    return found
