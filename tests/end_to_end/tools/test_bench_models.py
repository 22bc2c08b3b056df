"""`tektite bench` and `tektite profile` of SavedModels with no other argument; `tektite top`; `--report`."""
import json
import os
import re
import subprocess
import sys
import time

import pytest

from test_cli import COMMAND
from test_profile import FLAGS, command

MAKE = """
import sys
import tensorflow as tf
tf.keras.utils.set_random_seed(1)

class Model(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.random.normal([6, 5]))
        self.table = tf.Variable(tf.random.normal([4, 6]))

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, "ids"), tf.TensorSpec([None, 6], tf.float32, "x"),
                                  tf.TensorSpec([None], tf.string, "text")])
    def __call__(self, ids, x, text):
        return {"y": tf.nn.softmax((tf.reduce_mean(tf.gather(self.table, ids), 1) + x) @ self.w),
                "n": tf.strings.length(text)}

    @tf.function(input_signature=[tf.TensorSpec([None, 6], tf.float32, "x")])
    def score(self, x):
        return tf.nn.softmax(x @ self.w)

model = Model()
tf.saved_model.save(model, sys.argv[1], signatures=model.__call__)
tf.saved_model.save(model, sys.argv[1] + "_scores", signatures=model.score)
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "tagger"
    subprocess.run([sys.executable, "-c", MAKE, str(folder)], check=True, capture_output=True,
                   env={**os.environ, "TEKTITE": "0", "TF_CPP_MIN_LOG_LEVEL": "3"})
    return folder


def test_bench_makes_inputs_for_the_signature(saved):
    """It refused a model whose inputs it was not told."""
    said = json.loads(command("bench", saved, "--json", "--seconds", 0.2, "--warmup", 0, "--engines", "tf,tektite").stdout)
    rows = {row["engine"]: row for row in said["rows"]}
    assert rows["tf"]["inputs"] == {"ids": "int32[1,1]", "x": "float32[1,6]", "text": "string[1]"}
    for row in rows.values():
        assert row["batch"] == 1 and row["calls"] >= 40 and row["first_ms"] > row["least_ms"]
        assert 0 < row["least_ms"] <= row["p10_ms"] <= row["median_ms"] <= row["p90_ms"] <= row["p99_ms"]


def test_the_compilers_own_bench_makes_variables_too(saved):
    """It took a variable for an input, and numbered both alike."""
    said = json.loads(subprocess.run([COMMAND, "bench", f"{saved}_scores", "--repeat", "3", "--batch", "4", "--json"], check=True,
                                     capture_output=True, text=True, timeout=60).stdout)
    assert said["results"] == ["f32[4,5]"]


def test_a_sweep_names_the_knee(saved, tmp_path):
    page = tmp_path / "sweep.html"
    done = command("bench", saved, "--sweep", "--batch", 2, "--threads", 1, "--seconds", 0.1, "--warmup", 0,
                   "--engines", "tektite", "--html", page)
    assert "The knee is at batch " in done.stdout and done.stdout.count("Tektite ") == 2
    assert '"knee"' in page.read_text() and "the knee" in page.read_text()


def test_profile_of_a_saved_model(saved):
    report = json.loads(command("profile", "--json", "-", "--seconds", 0.2, saved).stdout)
    assert any(cluster["kernels"] for cluster in report["clusters"])
    # TensorFlow calls it signature_wrapper.
    assert {row["function"] for row in report["clusters"]} == {row["name"] for row in report["functions"]} == {"serving_default"}


def test_wrong_usage(saved):
    assert "no SavedModel" in command("bench", saved.parent / "none", code=1).stderr
    command("bench", saved, "--batch", 0, code=2)
    command("bench", saved, "--engines", "abacus", code=2)


WORK = """
import time
import tensorflow as tf
f = tf.function(lambda x: tf.nn.softmax(x * 2.0 + 1.0))
x = tf.ones([64, 64])
end = time.time() + {seconds}
while time.time() < end:
    f(x)
    time.sleep(0.001)
"""


def test_top_sees_a_process_that_runs(tmp_path):
    env = {**os.environ, "TEKTITE": "1", "TEKTITE_FLAGS": FLAGS, "TF_CPP_MIN_LOG_LEVEL": "3", "XDG_CACHE_HOME": str(tmp_path)}
    working = subprocess.Popen([sys.executable, "-c", WORK.format(seconds=60)], env=env)
    try:
        end = time.time() + 60
        rows = []
        while not (rows and rows[0]["calls_per_second"] > 0) and time.time() < end:  # it is seen while it compiles, too
            rows = json.loads(command("top", "--once", "--json", "--seconds", 1, XDG_CACHE_HOME=str(tmp_path)).stdout)
        (row,) = rows
        assert row["pid"] == working.pid and row["calls_per_second"] > 0 and row["rss_bytes"] > 1e7
        assert "softmax" in row["program"]
        text = command("top", "--once", "--seconds", 0.2, XDG_CACHE_HOME=str(tmp_path)).stdout
        assert text.split()[0] == "process" and str(working.pid) in text
    finally:
        working.kill()
        working.wait()
    assert "no process runs" in command("top", "--once", "--seconds", 0.1, XDG_CACHE_HOME=str(tmp_path)).stdout


def test_a_report_at_the_end():
    env = {**os.environ, "TEKTITE": "1", "TEKTITE_FLAGS": f"{FLAGS} --report", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", WORK.format(seconds=2)], env=env, text=True, capture_output=True, timeout=120)
    said = done.stderr[done.stderr.index("tektite: "):]
    assert done.returncode == 0 and done.stdout == "" and said.count("\n") < 30
    assert re.match(r"tektite: \d+ of \d+ ops", said), said  # and not that there is no such flag
    assert "ops (100%) in 1 clusters" in said and "<lambda>: " in said and "tektite profile" in said, said
