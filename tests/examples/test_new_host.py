"""docs/new_host.md, followed to the letter: its program, its commands with other folders for those in /tmp, and its output."""
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/new_host.md").read_text()


def block(kind: str) -> str:
    return re.search(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]


def test_an_empty_folder_becomes_a_host(tmp_path):
    (tmp_path / "host").mkdir()
    (tmp_path / "host/softmax.c").write_text(block("c"))
    done = subprocess.run(["bash", "-c", "set -eu\n" + block("sh").replace("/tmp/", f"{tmp_path}/")], cwd=ROOT,
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    said = re.search(r"prints two rows:\n\n```\n(.*?)```", PAGE, re.DOTALL)[1]
    assert done.stdout == said
