"""Recent headers include what they name: each compiles alone, without precompiled headers.

The build compiles files of a room together and with other projects' headers precompiled, which hides a missing include
from everything but the sanitizers' builds.
"""
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.headers.recent import recent_headers
from tests.headers.syntax import ROOT, commands, messages

MOST = 25  # 1.6 s of CPU each


def alone(header: str, rows: list[dict]) -> str:
    found = messages(header, f'#include "{header}"\n', rows, precompiled=False)
    return f"{header} does not compile alone:\n{found}" if found else ""


@pytest.mark.slow
def test_recent_headers_compile_alone():
    rows = commands()
    headers = recent_headers(ROOT, MOST)
    assert len(headers) == MOST
    with ThreadPoolExecutor(2) as pool:
        errors = list(filter(None, pool.map(lambda header: alone(header, rows), headers)))
    assert not errors, "\n".join(errors)


@pytest.mark.parametrize("include, says", [("#include <vector>", ""), ("", "vector")])
def test_a_missing_include_is_found(include, says):
    answer = messages("jit/ops/ops.h", f"{include}\nstd::vector<int> sizes;\n", commands(), precompiled=False)
    assert bool(answer) == bool(says) and says in answer


def test_headers_that_read_a_recent_one_are_recent(tmp_path):
    (tmp_path / "jit").mkdir()
    (tmp_path / "jit/a.h").write_text("")
    (tmp_path / "jit/b.h").write_text('#include "jit/a.h"\n')
    assert recent_headers(tmp_path, 2) == ["jit/a.h", "jit/b.h"]
    assert recent_headers(tmp_path, 1) == ["jit/a.h"]
