"""A skip that tests/skips.py does not list fails the run; tests/unlisted_skip_test.cc shows it of GoogleTest."""
import os
import subprocess
import sys
from pathlib import Path

from tests import skips

ROOT = Path(__file__).resolve().parents[2]

SKIPPING = """
import pytest

def test_that_runs():
    assert True

def test_that_skips():
    pytest.skip("the moon is full")

@pytest.mark.skip(reason="the moon is full")
def test_that_is_marked():
    pass

@pytest.fixture
def moon():
    pytest.skip("the moon is full")

def test_whose_fixture_skips(moon):
    pass
"""


def run_pytest(folder: Path, text: str) -> subprocess.CompletedProcess:
    (folder / "conftest.py").write_text(
        "from tests.skips import pytest_make_collect_report, pytest_runtest_makereport\n")
    (folder / "test_moon.py").write_text(text)
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder], cwd=folder,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True, capture_output=True, check=False)


def test_every_kind_of_skip_fails_the_run(tmp_path):
    done = run_pytest(tmp_path, SKIPPING)
    assert done.returncode == 1 and "1 passed" in done.stdout and "skipped" not in done.stdout
    assert done.stdout.count("unexpected skip, which tests/skips.py does not list") >= 3


def test_a_module_that_skips_fails_the_run(tmp_path):
    done = run_pytest(tmp_path, "import pytest\npytest.importorskip('no_such_module')\n")
    assert done.returncode not in (0, 5) and "unexpected skip" in done.stdout


def test_a_listed_skip_needs_its_test_its_reason_and_its_machine(monkeypatch):
    test, reason = "tests/end_to_end/test_onednn.py::test_x", "Skipped: oneDNN is used with AVX-512 alone"
    for avx512 in (False, True):
        row = skips.Allowed("tests/end_to_end/test_onednn.py", "AVX-512", lambda: not avx512)
        monkeypatch.setattr(skips, "ALLOWED", (row,))
        assert skips.may_skip(test, reason) is not avx512
        assert not skips.may_skip(test, "Skipped: the moon is full")
        assert not skips.may_skip("tests/end_to_end/calls/test_hosts.py::test_x", reason)


def test_every_row_names_a_test_that_exists():
    for row in skips.ALLOWED:
        path, _, name = row.test.partition("::")
        text = (ROOT / path).read_text()
        assert row.reason in text and name in text

