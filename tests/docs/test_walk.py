"""A newcomer's walk: README's own commands, from an empty folder to a profile of a program of their own."""
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import tensorflow as tf
import tektite

@tf.function
def step(x):
    return tf.nn.softmax(tf.nn.relu(x @ x) * 2.0)

for call in range(120):
    y = step(tf.ones([32, 32]))
    if call == 4:
        tektite.wait_until_compiled()
print("sum", float(tf.reduce_sum(y)))
"""


def commands_of_the_start() -> list[str]:
    """The first block of README's "Start", command by command, without its comments."""
    start = (ROOT / "README.md").read_text().partition("## Start")[2]
    block = re.search(r"```\n(.*?)```", start, re.S)[1]
    return [part.strip() for line in block.splitlines() for part in line.partition("#")[0].split(";") if part.strip()]


def test_the_walk_is_short():
    """Installing, looking, running and profiling; nothing else."""
    first, *rest = commands_of_the_start()
    assert first.startswith("pip install ") and "tektite profile program.py" in rest and len(rest) <= 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An empty one outside the tree, with a program and what an activated environment has: `tektite` and `python`."""
    folder = tmp_path_factory.mktemp("walk")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "bin").mkdir()
    for name, words in (("python", [sys.executable]), ("tektite", [sys.executable, "-m", "tektite"])):
        (folder / "bin" / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        (folder / "bin" / name).chmod(0o755)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", commands_of_the_start()[1:])
def test_a_command_of_the_walk(command, folder):
    env = {name: value for name, value in os.environ.items() if not name.startswith("TEKTITE")}
    env |= {"PATH": f"{folder / 'bin'}:{env['PATH']}", "XDG_CACHE_HOME": str(folder / "cache"), "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, text=True, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    if "program.py" in command:
        assert "sum 32.0" in done.stdout
    if "profile" in command:
        assert re.search(r"\b120\b.* step$", done.stdout, re.M) and "softmax" in done.stdout, done.stdout
