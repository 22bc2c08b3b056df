"""Every public function of the Python package, every function of the C interface and every option of the command says what
it is; functions of Python name their arguments and their errors."""
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tektite

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "build/bin/tektite"
HEADERS = [ROOT / "runtime_hooks/c_api/tektite.h", ROOT / "runtime_hooks/c_api/aot.h"]
OF_PYTHON = ["aot", "bench", "convert", "demo", "doctor", "profile", "quantize", "top"]
OPTION = re.compile(r"^  (-[^\n]*?)(?:\s{2,}(\S.*))?$")


def of_the_compiler() -> list[str]:
    text = (ROOT / "runtime_hooks/standalone/command_list.inc").read_text()
    return [name.lower() for name in re.findall(r"^TEKTITE_COMMAND\(Add(\w+)\)", text, re.M)]


def names_left_out(function, doc: str) -> list[str]:
    """Arguments that the text does not name, and classes of errors that the code raises and the text does not."""
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "args", "kwargs")]
    source = inspect.getsource(function)
    return [name for name in [*names, *re.findall(r"raise (\w+)\(", source)] if not re.search(rf"\b{name}\b", doc)]


@pytest.mark.parametrize("name", [name for name in tektite.__all__ if name != "__version__"])
def test_a_public_name_of_the_package_has_a_text(name):
    thing = getattr(tektite, name)
    assert thing.__doc__ and not thing.__doc__.startswith(f"{name}("), name  # that is what dataclass writes
    if inspect.isfunction(thing):
        assert not names_left_out(inspect.unwrap(thing), thing.__doc__)


def test_a_text_without_an_argument_or_an_error_is_found():
    def broken(size, shape):
        """Takes a size."""
        raise ValueError("no")

    assert names_left_out(broken, broken.__doc__) == ["shape", "ValueError"]


def undocumented(header: str) -> list[str]:
    """Functions with no comment before them, nor before the block of declarations that they stand in."""
    found, documented, declaring = [], False, False
    for line in header.splitlines():
        if line.rstrip().endswith("*/"):
            documented = True
        elif not line.strip() or line.startswith("}"):
            documented = False
        if match := re.match(r"TEKTITE_API .*?(\w+)\(", line):
            if not documented:
                found.append(match[1])
    return found


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_a_function_of_the_c_interface_has_a_comment(header):
    assert not undocumented(header.read_text())


def test_a_function_without_a_comment_is_found():
    assert undocumented("/* What it does. */\nTEKTITE_API int a(void);\n\nTEKTITE_API int b(int x,\n    int y);\n") == ["b"]


def options_without_text(help_text: str) -> list[str]:
    lines = help_text.splitlines()
    bare = []
    for line, following in zip(lines, [*lines[1:], ""]):
        match = OPTION.match(line)
        if match and not match[2] and not re.match(r"^ {8,}\S", following):
            bare.append(match[1])
    return bare


def test_an_option_without_text_is_found():
    assert options_without_text("options:\n  -h, --help  shows it\n  --bare X\n  --long-one OTHER\n          its text\n") == ["--bare X"]


def help_of(command: list[str]) -> str:
    done = subprocess.run([*command, "--help"], text=True, capture_output=True, timeout=120,
                          env={**os.environ, "TEKTITE": "0", "COLUMNS": "120"})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", of_the_compiler())
def test_help_of_the_compilers_commands(name):
    text = help_of([COMMAND, name])
    assert len(text.splitlines()[0].split()) >= 3 and "Usage: tektite " in text and not options_without_text(text)


@pytest.mark.parametrize("name", OF_PYTHON)
def test_help_of_pythons_commands(name):
    text = help_of([sys.executable, "-m", "tektite", name, *(["net.keras"] if name == "aot" else [])])
    assert f"usage: tektite {name}" in text and len(text.split()) > 20 and not options_without_text(text)
    # A word that the command takes in place has a text, too.
    places = re.search(r"positional arguments:\n((?: .*\n)+)", text)
    assert not places or all(re.match(r"  \S+\s{2,}\S|^ {8,}", line) for line in places[1].splitlines()), text


def test_the_list_of_pythons_commands_is_whole():
    from tektite import _command
    assert sorted(_command._OF_PYTHON) == OF_PYTHON
