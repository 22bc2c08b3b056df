"""Files, functions, counters, commands and other names that pages show in code exist."""
import fnmatch
import re
import subprocess
from pathlib import Path

import pytest
import tektite

from tests.docs.test_commands import OTHERS, PAGES
from tests.docs.test_reference import OF_PYTHON, of_the_compiler

ROOT = Path(__file__).resolve().parents[2]
SPAN = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.M | re.S)
# Of TensorFlow, GDB, oneDNN, processors and systems; and words that stand for what a reader puts there.
FOREIGN = set("""ABORTED KMP_BLOCKTIME MADV_RANDOM NAME_rows NEW ParameterServerStrategy RESOURCE_EXHAUSTED inter_op intra_op
readonly tdpbf16ps tdpbssd tdpbusd tensorflow_model_server threefry upgrade vdpbf16ps vpdpbusd""".split())


def tracked() -> list[str]:
    """Files of the project, also where they are no checkout of git."""
    told = subprocess.run(["git", "ls-files"], cwd=ROOT, text=True, capture_output=True, check=False)
    if told.returncode == 0 and told.stdout:
        return told.stdout.split("\n")[:-1]
    return [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*")
            if path.is_file() and path.relative_to(ROOT).parts[0] not in ("build", ".git")]


@pytest.fixture(scope="module")
def files():
    return tracked()


@pytest.fixture(scope="module")
def words(files):
    """All names in sources, in names of files, and in the tables of the compiler's lists."""
    texts = [name.replace("/", " ").replace(".", " ") for name in files]
    texts += [(ROOT / name).read_text(errors="replace") for name in files
              if not name.endswith((".md", ".svg", ".npy")) and name != "tests/docs/test_names.py" and (ROOT / name).is_file()]
    return {word for text in texts for word in re.findall(r"[A-Za-z_]\w+", text)}


def unknown_names(text: str, words: set[str]) -> list[str]:
    found = {word for span in SPAN.findall(text) for word in re.findall(r"(?<![\w-])[A-Za-z_]\w{2,}", span)}
    # An option of CMake's; the beginning or the end of a name.
    return sorted(word for word in found - words - FOREIGN if not word.startswith(("_", "D")) and not word.endswith("_"))


def unknown_files(text: str, files: list[str]) -> list[str]:
    folders = {parent.as_posix() for name in files for parent in Path(name).parents}
    tops = {folder for folder in folders if "/" not in folder}
    found = {path.rstrip("./") for span in SPAN.findall(text) for path in re.findall(r"(?<![\w./~$<-])(\w[\w./*-]*/[\w./*-]*)", span)}
    return sorted(path for path in found if path.split("/")[0] in tops and path.split("/")[0] != "build"
                  and path not in folders and not fnmatch.filter(files, path + "*"))


def unknown_commands(text: str, commands: set[str]) -> list[str]:
    code = "\n".join([*SPAN.findall(text), *BLOCK.findall(text)])
    used = re.findall(r"^(?:[A-Z_]+=\S+ )*(?:build/bin/|python -m )?tektite ([a-z]\w*)", code, re.M)
    return sorted(set(used) - commands)


def unknown_functions(text: str) -> list[str]:
    code = "\n".join([*SPAN.findall(text), *BLOCK.findall(text)])
    return sorted({name for name in re.findall(r"(?<![\w./-])tektite\.([a-z]\w*)\(", code) if not hasattr(tektite, name)})


@pytest.mark.parametrize("page", [page for page in PAGES if page not in OTHERS])
def test_names_exist(page, words, files):
    text = (ROOT / page).read_text()
    new = re.findall("^New file `([^`]+)`", text, re.M)
    if page != "docs/op_coverage.md":  # whose test knows TensorFlow's ops
        assert not unknown_names(text, words | {Path(name).stem for name in new})
    assert not unknown_files(text, files + new)
    assert not unknown_commands(text, {*OF_PYTHON, *of_the_compiler()})
    assert not unknown_functions(text)


def test_what_is_gone_is_found(words, files):
    gone = "Splits" + "Groups"
    assert unknown_names(f"`Backend::{gone}` beside `Backend`", words) == [gone]
    assert unknown_files("`jit/ir/graph.h`, `jit/passes/*.cc`, `jit/ir/" + "never_was.h`", files) == ["jit/ir/" + "never_was.h"]
    assert unknown_commands("`TEKTITE=1 tektite polish x` or `tektite bench y`\n```\ntektite varnish\n```\n",
                            {"bench"}) == ["polish", "varnish"]
    assert unknown_functions("`tektite.explain(f)`, `tektite.polish(f)`") == ["polish"]
