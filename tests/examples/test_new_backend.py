"""docs/new_backend.md, followed to the letter: the lines of its sh blocks, with other folders for those in /tmp.

It guards against a guide that names files, targets or options which are no more.
"""
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs/new_backend.md").read_text(), re.MULTILINE | re.DOTALL)


def follow(block: str, folder: Path) -> str:
    script = "set -eu\n" + block.replace("/tmp/", f"{folder}/")
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.slow
def test_an_empty_folder_becomes_a_back_end(tmp_path):
    said = follow(BLOCKS[0], tmp_path)
    ran, of = re.search(r"^(\d+) of (\d+) tests ran on kernels of the back end alone\.$", said, re.MULTILINE).groups()
    assert int(ran) == int(of) > 10, said[-2000:]


@pytest.mark.slow
def test_the_back_end_in_c_compiles_and_computes(tmp_path):
    said = follow(BLOCKS[1], tmp_path)
    assert "0.0900 0.2447 0.6652\n" in said and "0.3333 0.3333 0.3333\n" in said
    assert int(re.search(r"kernels in C: (\d+)", said)[1]) > 0
    ran, _ = re.search(r"^(\d+) of (\d+) tests ran on kernels of the back end alone\.$", said, re.MULTILINE).groups()
    assert int(ran) > 0, said[-2000:]


def test_a_folder_that_is_not_empty_stays_as_it_is(tmp_path):
    (tmp_path / "mine.txt").write_text("kept")
    done = subprocess.run([ROOT / "scripts/new_backend", "other", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "is not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
