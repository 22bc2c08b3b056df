"""The end of a program that is no Python."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def newest(pattern: str) -> Path:
    return max(ROOT.glob(f"build/*/{pattern}"), key=lambda path: path.stat().st_mtime)


@pytest.mark.parametrize("way", ["return", "exit"])
def test_work_in_the_background_ends_before_static_objects_are_destroyed(tmp_path, way):
    """XLA may be at work there, and makes static objects in its first use, later than any handler was registered. Nothing
    stopped it: only Python did."""
    loader, hook = tmp_path / "tensorflow-plugins/loader.so", tmp_path / "tektite/lib/libtektite_tf-9.8.so"
    for source, copy in ((newest("runtime_hooks/tensorflow/loader/libtektite_loader.so"), loader),
                         (newest("tests/hook/libstopping_hook.so"), hook)):
        copy.parent.mkdir(parents=True)
        shutil.copy(source, copy)
    result = subprocess.run([newest("tests/hook/exiting_host"), loader, way], env={**os.environ, "TEKTITE": "1"}, capture_output=True, text=True,
                            timeout=60, check=True)
    assert result.stderr.split() == ["stopped", "destroyed"]
