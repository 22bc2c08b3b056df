"""Messages and counts of the programs in scripts/, without building anything."""
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

CTEST = """<testsuite><testcase name="a" status="run"/>
<testcase name="b" status="fail"><failure message=""/></testcase>
<testcase name="c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
<testcase name="d" status="notrun"><skipped message="Unable to find executable"/></testcase></testsuite>"""
PYTEST = """<testsuites><testsuite><testcase name="a"/><testcase name="b"><error/></testcase>
<testcase name="c"><skipped/></testcase></testsuite></testsuites>"""


def count(*files):
    return subprocess.run([sys.executable, SCRIPTS / "count_tests.py", *files], text=True, capture_output=True)


def write(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


def test_both_kinds_of_files_are_added_up(tmp_path):
    done = count(write(tmp_path, "ctest.xml", CTEST), write(tmp_path, "pytest.xml", PYTEST))
    assert done.stdout == "2 passed, 3 failed, 2 skipped\n" and done.returncode == 1


def test_a_run_without_failures_succeeds(tmp_path):
    done = count(write(tmp_path, "a.xml", '<testsuite><testcase name="a"/></testsuite>'))
    assert done.stdout == "1 passed, 0 failed, 0 skipped\n" and done.returncode == 0


@pytest.mark.parametrize("text", ["", "<testsuite>", "<testsuite/>"])
def test_a_run_that_tested_nothing_is_no_success(tmp_path, text):
    assert count(write(tmp_path, "a.xml", text)).returncode == 1


@pytest.mark.parametrize("script", ["setup", "test", "demo", "format", "release"])
def test_help_is_printed_and_bad_options_are_named(script):
    done = subprocess.run([SCRIPTS / script, "--help"], text=True, capture_output=True)
    assert done.returncode == 0 and done.stdout.startswith(f"Usage: scripts/{script}")


@pytest.mark.parametrize("options,message", [
    (["--wrong"], "unknown option '--wrong'"),
    (["--sanitize", "memory"], "--sanitize takes address, address,undefined or thread, got 'memory'"),
    (["--jobs", "many"], "--jobs takes a positive number, got 'many'"),
])
def test_setup_names_a_bad_option(options, message):
    done = subprocess.run([SCRIPTS / "setup", *options], text=True, capture_output=True)
    assert done.returncode == 1 and message in done.stderr


def test_the_pages_of_lists_are_current():
    done = subprocess.run([sys.executable, SCRIPTS / "write_list_pages.py", "--check"])
    assert done.returncode == 0, "run scripts/write_list_pages.py"


def test_the_page_of_ops_is_current():
    done = subprocess.run([sys.executable, SCRIPTS / "write_op_coverage.py", "--check"])
    assert done.returncode == 0, "run scripts/write_op_coverage.py"
