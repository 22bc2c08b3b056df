"""The Python tests that may be skipped, and where; any other skip is a failure.

A test that is skipped unnoticed tests nothing, so each reason stands here with the machines on which it holds.
tests/conftest.py takes the two hooks; tests/test_main.cc does the same for GoogleTest.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


def anywhere() -> bool:
    """The test itself finds out, and nothing else can."""
    return True


def is_no_root() -> bool:
    return os.geteuid() != 0


def has_no_avx512() -> bool:
    return "avx512bw" not in Path("/proc/cpuinfo").read_text()


def has_no_amx() -> bool:
    return "amx_bf16" not in Path("/proc/cpuinfo").read_text()


def has_no_onednn() -> bool:
    return not (ROOT / "build" / "onednn" / ".tektite-packages").exists()


def has_no_chromium() -> bool:
    return not (shutil.which("chromium-headless-shell") or shutil.which("chromium"))


def has_no(program: str) -> Callable[[], bool]:
    return lambda: shutil.which(program) is None


def names_no_cuda_tensorflow() -> bool:
    return not os.environ.get("TEKTITE_CUDA_TENSORFLOW")


@dataclass(frozen=True)
class Allowed:
    test: str  # beginning of the test's name
    reason: str  # part of what it says
    holds: Callable[[], bool]


ALLOWED = (
    Allowed("tests/ahead_of_time/test_amx_libraries.py", "no AMX", has_no_amx),
    Allowed("tests/ahead_of_time/test_halves_in_libraries.py", "no AMX", has_no_amx),
    Allowed("tests/ahead_of_time/test_suite_graphs.py", "no aarch64-linux-gnu-gcc", has_no("aarch64-linux-gnu-gcc")),
    Allowed("tests/ahead_of_time/test_suite_graphs.py", "no aarch64-linux-gnu-g++", has_no("aarch64-linux-gnu-g++")),
    Allowed("tests/ahead_of_time/test_suite_graphs.py", "no qemu-aarch64", has_no("qemu-aarch64")),
    Allowed("tests/c_api/test_profile_off.py", "no Valgrind", has_no("valgrind")),
    Allowed("tests/end_to_end/tools/test_cache_cli.py::test_a_pack_is_the_users", "only root can give files away", is_no_root),
    Allowed("tests/end_to_end/tools/test_debuggers.py", "no GDB", has_no("gdb")),
    Allowed("tests/end_to_end/tools/test_debuggers.py", "no perf", has_no("perf")),
    Allowed("tests/end_to_end/test_onednn.py", "built without oneDNN", has_no_onednn),
    Allowed("tests/end_to_end/test_onednn.py", "oneDNN is used with AVX-512 alone", has_no_avx512),
    Allowed("tests/end_to_end/tools/test_profile.py", "no headless Chromium", has_no_chromium),
    Allowed("tests/hook_on_card/test_cuda_wheel.py", "TEKTITE_CUDA_TENSORFLOW", names_no_cuda_tensorflow),
    # scripts/test makes one, where it can download what that takes.
    Allowed("tests/packaging/test_as_a_user.py", "no wheel of these sources", anywhere),
    # It takes root, Debian's keys and archive, and a container that lets a process have mounts.
    Allowed("tests/packaging/test_as_a_user.py", "no empty root: ", anywhere),
    # The index of packages lacks it, or cannot be reached.
    Allowed("tests/packaging/test_as_a_user.py", "no TensorFlow ", anywhere),
)


def may_skip(test: str, reason: str) -> bool:
    return any(test.startswith(row.test) and row.reason in reason and row.holds() for row in ALLOWED)


def check(report: Any) -> Any:
    """The report itself, or a failure in the place of a skip that is not listed."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return report
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not may_skip(report.nodeid, reason):
        report.outcome = "failed"
        report.longrepr = f"unexpected skip, which tests/skips.py does not list: {reason}"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    return check((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    return check((yield))
