"""The installed plugin in a CUDA build of TensorFlow, on a machine without a card: the hook that was built against
tensorflow-cpu loads there and compiles what is on the CPU.

    TEKTITE_CUDA_TENSORFLOW=/path/to/venv/bin/python pytest tests/hook_on_card/test_cuda_wheel.py

names a Python with PyPI's `tensorflow` of the same version (a download of 550 MB, which no other test needs).
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

PROGRAM = """
import ctypes, glob, json, os, sys
site = sys.argv[1]
import tensorflow as tf
assert tf.test.is_built_with_cuda()
tf.load_library(glob.glob(os.path.join(site, "tektite", "lib", "libtektite_tf-*.so"))[0])
sys.path.append(site)
import tektite

@tf.function
def f(x, y):
    return tf.nn.softmax(tf.matmul(tf.exp(x) * 2.0, y))

x, y = tf.random.stateless_normal([64, 30], [1, 2]), tf.random.stateless_normal([30, 20], [3, 4])
compiled = f(x, y)
plain = tf.nn.softmax(tf.matmul(tf.exp(x) * 2.0, y))
print(json.dumps({"error": float(tf.reduce_max(tf.abs(compiled - plain))), "stats": tektite.stats()}))
"""


def test_the_hook_of_the_cpu_wheel_runs_there(tmp_path):
    python = os.environ.get("TEKTITE_CUDA_TENSORFLOW")
    if not python:
        pytest.skip("TEKTITE_CUDA_TENSORFLOW names no Python with a CUDA build of TensorFlow")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    site = sysconfig.get_paths()["purelib"]
    env = {**os.environ, "TEKTITE": "1", "TF_CPP_MIN_LOG_LEVEL": "2",
           "TEKTITE_FLAGS": "--compile=sync --compare=false --min_cluster_cost=0"}
    done = subprocess.run([python, program, site], capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["error"] < 1e-5 and answer["stats"]["host"]["clusters_placed"] == 1
    assert answer["stats"]["runs"] == 1 and "cards" not in answer["stats"]
