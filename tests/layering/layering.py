"""What the house rules forbid, found in the sources' text; test_layering.py runs it.

Rooms are folders.  VISIBLE says for each room which other rooms it may include, in full: nothing is
inherited, so the table can be read line by line.  A new room, host or back end is a new row.

    check_tree(repo_root)  ->  ["jit/ir/dim.h:12: jit/ir may not include jit/ops (jit/ops/op.h)", ...]

Each check takes a path and a text, and so can be shown bad text without a bad file.
"""
import collections
import re
from pathlib import Path
from typing import Iterator

MAX_LINES = 500
MAX_FILES = 40  # in a folder of a room or of its tests
WRITTEN_BY_PROGRAMS = {"bench/RESULTS.md"}  # tables, as many as there are measurements

BACKEND_SEES = {"jit/base", "jit/ir", "jit/ops", "jit/target", "jit/backend", "jit/llvm", "jit/runtime"}
VISIBLE: dict[str, set[str]] = {
    "jit/base": set(),
    "jit/ir": {"jit/base"},
    "jit/ops": {"jit/base", "jit/ir"},
    "jit/target": {"jit/base", "jit/ir"},
    "jit/passes": {"jit/base", "jit/ir", "jit/ops", "jit/target"},
    "jit/backend": {"jit/base", "jit/ir", "jit/ops", "jit/target"},
    "jit/llvm": {"jit/base", "jit/ir", "jit/ops"},
    "jit/cache": {"jit/base", "jit/ir", "jit/backend"},
    "jit/runtime": {"jit/base", "jit/ir", "jit/backend"},
    "jit/aot": {"jit/base", "jit/ir", "jit/backend", "jit/runtime"},
    "jit/reference": BACKEND_SEES - {"jit/llvm"},
    "jit/compiler": {"jit/base", "jit/ir", "jit/ops", "jit/target", "jit/passes", "jit/backend",
                     "jit/cache", "jit/runtime"},
    "jit/serving": {"jit/base", "jit/ir", "jit/cache", "jit/compiler", "jit/runtime"},
    "clustering/source": {"clustering", "jit/base", "jit/ir", "jit/compiler", "jit/serving", "jit/aot"},
    "clustering": {"jit/base", "jit/ir", "jit/ops"},
    "backends/cpu": BACKEND_SEES | {"jit/aot"},
    "backends/gpu": BACKEND_SEES,
    "runtime_hooks/c_api": {"jit/serving", "jit/compiler", "jit/cache", "jit/runtime", "jit/aot", "clustering",
                            "clustering/source", "jit/base", "jit/ir"},
    "runtime_hooks/tensorflow/reasons": set(),
    "runtime_hooks/tensorflow": {"runtime_hooks/c_api", "runtime_hooks/tensorflow/reasons"},
    "runtime_hooks/standalone": {"runtime_hooks/c_api", "runtime_hooks/tensorflow/reasons"},
    # Projects of their own, as far as Tektite's rooms go.
    "examples/backend_c": BACKEND_SEES | {"jit/reference", "jit/compiler"},
    "examples/backend_template": BACKEND_SEES | {"jit/reference"},
    "examples": {"runtime_hooks/c_api"},
}

# The one file that lists all back ends may name them.
BACKEND_LIST = "runtime_hooks/c_api/backend_list.cc"
BACKENDS = {"jit/reference", "backends/cpu", "backends/gpu"}

# A library that only some rooms may include, and those rooms.
RESTRICTED: dict[str, set[str]] = {
    "tensorflow/": {"runtime_hooks/tensorflow"},
    "llvm/": {"jit/llvm", "backends/cpu", "backends/gpu"},
    "llvm-c/": {"jit/llvm", "backends/cpu", "backends/gpu"},
    "protozero/": {"clustering"},
    "CLI/": {"runtime_hooks/standalone"},
    "dnnl": {"backends/cpu"},
    "oneapi/dnnl/": {"backends/cpu"},
    "xla/": {"runtime_hooks/tensorflow"},  # as the wheel has it
}
PLAIN_C_HEADER = "runtime_hooks/c_api/tektite.h"

# Lists in the order of one column, counted from 0.
SORTED_LISTS = {"contents_list.inc": 0, "cublaslt_function_list.inc": 0, "cudnn_function_list.inc": 0, "cudnn_number_list.inc": 0, "driver_function_list.inc": 0, "fallback_list.inc": 0, "flag_list.inc": 1, "fusion_kind_list.inc": 0, "host_op_list.inc": 0, "host_reason_list.inc": 0,
                "import_list.inc": 0, "reason_list.inc": 0}
SOURCES = (".h", ".cc", ".inc")
TEXTS = SOURCES + (".py", ".md", ".txt", ".cmake", ".sh", ".test", ".yml")

FORBIDDEN = {
    r"(?<![\w.])/(?:home|root|work|Users)/\w": "an absolute path of one machine",
    r"\b(?:FIXME|XXX|HACK)\b": "a note to nobody: do it, or file it",
    r"\bTODO\b(?!\(\w+\))": "a TODO without its owner: TODO(name)",
    r"\busing namespace (?!\w*literals)(?!std::\w*literals)": "a namespace opened wholesale",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
LIST_ROW = re.compile(r"^\s*[A-Z][A-Z0-9_]*\((.*)$")


def room_of(path: str) -> str | None:
    """The room a file or an include path belongs to; None for tests, bench and other libraries."""
    return next((room for room in VISIBLE if path.startswith(room + "/")), None)


def includes(text: str) -> Iterator[tuple[int, str, bool]]:
    """(line, path, quoted) of every #include line."""
    for number, line in enumerate(text.splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[2], match[1] == '"'


def check_includes(path: str, text: str) -> list[str]:
    room = room_of(path)
    if room is None:
        return []
    allowed = VISIBLE[room] | {room}
    if path == BACKEND_LIST:
        allowed = allowed | BACKENDS
    own_project = room.startswith("examples/")
    errors = []
    for number, target, quoted in includes(text):
        where, seen = f"{path}:{number}:", room_of(target)
        if seen is not None and seen not in allowed:
            errors.append(f"{where} {room} may not include {seen} ({target})")
        elif quoted and seen is None and not target.startswith(("absl/", *RESTRICTED)) and not own_project:
            errors.append(f"{where} include paths start at the root, got \"{target}\"")
        for prefix, rooms in RESTRICTED.items():
            if target.startswith(prefix) and room not in rooms:
                errors.append(f"{where} {room} may not include {prefix} ({target})")
        if path == PLAIN_C_HEADER and not target.startswith("std"):
            errors.append(f"{where} the C interface includes C headers only ({target})")
    return errors


def check_length(path: str, text: str) -> list[str]:
    lines = text.count("\n") + (not text.endswith("\n"))
    return [f"{path}: {lines} lines, over {MAX_LINES}"] if lines > MAX_LINES else []


def check_sorted(path: str, text: str) -> list[str]:
    """The rows of an explicit list stand in the order of their key."""
    column = SORTED_LISTS.get(Path(path).name)
    if column is None:
        return []
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := LIST_ROW.match(line):
            rows.append((number, (match[1] + "," * column).split(",")[column].strip(' ")')))
    if not rows:
        return [f"{path}: no row found, so its order cannot be checked"]
    return [f"{path}:{n}: '{key}' stands after '{last}'"
            for (_, last), (n, key) in zip(rows, rows[1:]) if key < last]


def check_words(path: str, text: str) -> list[str]:
    if Path(path).name == Path(__file__).name or path == "tests/layering/test_layering.py":
        return []   # they have to spell out what is forbidden
    return [f"{path}:{n}: {why}: {line.strip()[:80]}"
            for pattern, why in FORBIDDEN.items()
            for n, line in enumerate(text.splitlines(), 1) if re.search(pattern, line)]


def check_file(path: str, text: str) -> list[str]:
    errors = check_words(path, text)
    if path.endswith(TEXTS) and path not in WRITTEN_BY_PROGRAMS:
        errors += check_length(path, text)
    if path.endswith(SOURCES):
        errors += check_includes(path, text) + check_sorted(path, text)
    return errors


def is_script(path: Path) -> bool:
    """A program without an ending, such as scripts/setup."""
    if path.suffix:
        return False
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def tree_files(root: Path) -> Iterator[Path]:
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if parts[0] in ("build", ".git") or "__pycache__" in parts or not path.is_file():
            continue
        if path.suffix in TEXTS or is_script(path):
            yield path


def check_tree(root: Path) -> list[str]:
    errors = []
    files: collections.Counter[str] = collections.Counter()
    for path in tree_files(root):
        name = path.relative_to(root).as_posix()
        errors += check_file(name, path.read_text(encoding="utf-8"))
        folder = name.rpartition("/")[0]
        files[folder] += room_of(folder + "/") is not None or folder.startswith("tests/")
    return errors + [f"{folder}: {count} files, of {MAX_FILES} at most" for folder, count in files.items() if count > MAX_FILES]
