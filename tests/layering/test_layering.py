"""The house rules hold in every file, and the checker that says so would notice if they did not."""
import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
spec = importlib.util.spec_from_file_location("layering", HERE / "layering.py")
layering = importlib.util.module_from_spec(spec)
spec.loader.exec_module(layering)


def test_the_tree_keeps_the_rules():
    errors = layering.check_tree(ROOT)
    assert not errors, "\n" + "\n".join(errors)


def test_rooms_see_rooms_that_exist_in_the_table_and_never_in_a_circle():
    for room, seen in layering.VISIBLE.items():
        assert seen <= layering.VISIBLE.keys(), room
    order: list[str] = []
    while len(order) < len(layering.VISIBLE):
        ready = [r for r, seen in layering.VISIBLE.items() if r not in order and seen <= set(order)]
        assert ready, f"a circle among {layering.VISIBLE.keys() - set(order)}"
        order += ready


BAD_INCLUDES = [
    ("jit/base/hash.h", '#include "jit/ir/graph.h"', "jit/base may not include jit/ir"),
    ("jit/ir/graph.h", '#include "jit/ops/shape.h"', "jit/ir may not include jit/ops"),
    ("jit/passes/fusion/fuse.cc", '#include "jit/backend/backend.h"', "jit/passes may not include jit/backend"),
    ("jit/llvm/a.cc", '#include "jit/runtime/arena.h"', "jit/llvm may not include jit/runtime"),
    ("backends/cpu/a.cc", '#include "jit/passes/fuse.h"', "may not include jit/passes"),
    ("backends/cpu/a.cc", '#include "backends/gpu/ptx.h"', "may not include backends/gpu"),
    ("clustering/mark.cc", '#include "jit/compiler/compiler.h"', "may not include jit/compiler"),
    ("jit/compiler/compiler.cc", '#include "backends/cpu/cpu.h"', "may not include backends/cpu"),
    ("jit/reference/a.cc", '#include "jit/llvm/loop.h"', "may not include jit/llvm"),
    ("runtime_hooks/tensorflow/hook.cc", '#include "jit/base/hash.h"', "may not include jit/base"),
    ("runtime_hooks/standalone/run.cc", '#include "clustering/mark.h"', "may not include clustering"),
    ("examples/host/main.cc", '#include "jit/ir/graph.h"', "examples may not include jit/ir"),
    ("runtime_hooks/c_api/tektite.h", "#include <vector>", "C headers only"),
    ("jit/base/dump.cc", "#include <llvm/IR/Module.h>", "jit/base may not include llvm/"),
    ("clustering/a.cc", '  #  include "tensorflow/core/graph.h"', "may not include tensorflow/"),
    ("jit/ir/graph.cc", '#include "graph.h"', "include paths start at the root"),
]


@pytest.mark.parametrize("path,line,expected", BAD_INCLUDES)
def test_a_forbidden_include_is_found(path, line, expected):
    errors = layering.check_file(path, f"// a comment\n{line}\n")
    assert len(errors) == 1 and expected in errors[0] and f"{path}:2:" in errors[0]


GOOD_INCLUDES = [
    ("jit/ir/graph.h", '#include "jit/base/hash.h"'),
    ("jit/ir/graph.cc", '#include "jit/ir/graph.h"'),
    ("jit/ir/graph.cc", '#include "absl/status/status.h"'),
    ("runtime_hooks/c_api/backend_list.cc", '#include "backends/cpu/cpu.h"'),
    ("backends/cpu/orc.cc", "#include <llvm/ExecutionEngine/Orc/LLJIT.h>"),
    ("runtime_hooks/standalone/run.cc", '#include "runtime_hooks/c_api/tektite.h"'),
    ("runtime_hooks/tensorflow/hook.cc", '#include "tensorflow/core/framework/op.h"'),
    ("tests/ir/graph_test.cc", '#include "jit/compiler/compiler.h"'),
]


@pytest.mark.parametrize("path,line", GOOD_INCLUDES)
def test_an_allowed_include_passes(path, line):
    assert layering.check_file(path, line + "\n") == []


def test_a_long_file_is_found():
    assert layering.check_file("jit/ir/a.cc", "\n" * 500) == []
    assert "501 lines" in layering.check_file("jit/ir/a.cc", "\n" * 501)[0]


def test_an_unsorted_list_is_found():
    path = "clustering/importer/import_list.inc"
    assert layering.check_file(path, 'OP("Abs", kUnary)\nOP("Abs", kOther)\nOP("Add", kBinary)\n') == []
    assert "'Abs' stands after 'Add'" in layering.check_file(path, 'OP("Add", kB)\nOP("Abs", kU)\n')[0]
    flags = 'FLAG(string, cpu, "x")\nFLAG(bool, %s, true)\n'
    assert layering.check_file("jit/base/flag_list.inc", flags % "verify") == []
    assert len(layering.check_file("jit/base/flag_list.inc", flags % "bench")) == 1
    assert "no row found" in layering.check_file(path, "nothing\n")[0]


@pytest.mark.parametrize("line", ["// see /home/me/notes", "# TODO later", "// FIXME", "cd /work/x",
                                  "using namespace std;"])
def test_a_forbidden_word_is_found(line):
    assert len(layering.check_file("jit/ir/a.cc", line + "\n")) == 1


@pytest.mark.parametrize("line", ["// TODO(ada): when LLVM 23 is out", "the session's work/home split",
                                  "using namespace std::string_literals;"])
def test_ordinary_words_pass(line):
    assert layering.check_file("jit/ir/a.cc", line + "\n") == []


def test_a_bad_tree_is_found(tmp_path):
    """The walk itself: a bad file in a room is reported, one under build/ is not."""
    for folder in ("jit/base", "build/jit/base"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.h").write_text('#include "jit/ops/op.h"\n')
    errors = layering.check_tree(tmp_path)
    assert errors == ["jit/base/a.h:1: jit/base may not include jit/ops (jit/ops/op.h)"]


def test_a_folder_of_too_many_files_is_found(tmp_path):
    for folder, count in (("jit/ir", layering.MAX_FILES + 1), ("jit/ir/text", layering.MAX_FILES), ("tests/ir", 40), ("docs/ir", 60)):
        (tmp_path / folder).mkdir(parents=True)
        for number in range(count):
            (tmp_path / folder / f"{number}.cc").write_text("")
    assert layering.check_tree(tmp_path) == [f"jit/ir: {layering.MAX_FILES + 1} files, of {layering.MAX_FILES} at most"]
