"""`tektite profile`: what it says of a program that it runs unchanged, by names that the program has; and its page, in a browser."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential([tf.keras.Input((32, 32, 3)), tf.keras.layers.Conv2D(16, 3, activation="relu", name="stem"),
                             tf.keras.layers.Conv2D(32, 1, name="expand"), tf.keras.layers.ReLU(6.0, name="clip"),
                             tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(10, name="head")], name="net")
x = tf.constant(np.random.default_rng(1).normal(size=(8, 32, 32, 3)).astype(np.float32))

@tf.function
def predict(x):
    return tf.nn.softmax(model(x, training=False))

@tf.function
def words(x):
    return tf.strings.length(tf.strings.as_string(x))

@tf.function
def tiny(x):
    return tf.nn.softmax(tf.nn.relu(x @ x) * 2.0)

for _ in range(int(sys.argv[1])):
    y = predict(x)
for _ in range(3000):
    tiny(x[0, :, :, 0])
words(tf.range(5))
print("the program's own line", float(tf.reduce_sum(y)))
sys.exit(3)
"""
FLAGS = "--min_cluster_cost=0 --compile=sync"


def command(*arguments, code=0, flags=FLAGS, **environment):
    env = {k: v for k, v in os.environ.items() if k != "TEKTITE"}
    done = subprocess.run([sys.executable, "-m", "tektite", *map(str, arguments)], text=True, capture_output=True, timeout=300,
                          env={**env, "TF_CPP_MIN_LOG_LEVEL": "3", "TEKTITE_FLAGS": flags, **environment})
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    """The report, the table and the page of one run."""
    folder = tmp_path_factory.mktemp("profile")
    script = folder / "program.py"
    script.write_text(SCRIPT)
    # The program's exit code is the command's.
    done = command("profile", "--json", folder / "out.json", "--html", folder / "out.html", script, 150, code=3)
    return json.loads((folder / "out.json").read_text()), done.stdout, folder / "out.html"


def test_functions_clusters_and_kernels_have_the_programs_names(profiled):
    """Every cluster of every model was cluster_0."""
    report, _, _ = profiled
    functions = {row["name"]: row for row in report["functions"]}
    assert functions["predict"]["calls"] == 150 and functions["words"]["calls"] == 1
    (cluster,) = [row for row in report["clusters"] if row["function"] == "predict"]
    assert re.fullmatch(r"net(_\d+)?/predict", cluster["name"]) and 100 <= cluster["calls"] <= 150
    names = [kernel["name"] for kernel in cluster["kernels"]]
    assert any(re.fullmatch(r"stem(_\d+)?: conv 3x3 \+ bias \+ relu \[k\d+_contraction_convolution\]", n) for n in names), names
    # TensorFlow has fused the layers that follow, under the last one's name.
    assert any(re.match(r"(expand|clip)(_\d+)?: conv 1x1 \+ bias \+ relu6 ", n) for n in names), names


def test_short_calls_are_all_counted_and_few_are_timed(profiled):
    """Timing took a tenth of a call of 3 us: most calls go past Python, and past the clock."""
    report, _, _ = profiled
    (function,) = [row for row in report["functions"] if row["name"] == "tiny"]
    (cluster,) = [row for row in report["clusters"] if row["function"] == "tiny"]
    assert function["calls"] == 3000 and 2900 <= cluster["calls"] <= 3000 and report["runs"]["direct"] > 2900
    assert sum(span["function"] == "tiny" for span in report["timeline"]) < 250
    for kernel in cluster["kernels"]:
        assert abs(kernel["runs"] - cluster["calls"]) <= 64 and kernel["ms"] <= cluster["ms"] <= function["ms"]


def test_times_add_up(profiled):
    report, _, _ = profiled
    functions = {row["name"]: row for row in report["functions"]}
    (cluster,) = [row for row in report["clusters"] if row["function"] == "predict"]
    kernels = sum(kernel["ms"] for kernel in cluster["kernels"])
    assert 0 < kernels <= 1.3 * cluster["ms"] and cluster["ms"] <= functions["predict"]["ms"] <= 1e3 * report["seconds"]
    for kernel in cluster["kernels"]:
        assert 0 < kernel["least_us"] <= kernel["mean_us"] * 1.001 and 0 <= kernel["of_peak"] <= 1
    conv = next(kernel for kernel in cluster["kernels"] if "conv 3x3" in kernel["name"])
    assert conv["flops"] == 2 * 8 * 30 * 30 * 16 * 27
    assert report["compile"]["programs"] >= 1 and cluster["compile_ms"] > 0
    assert min(report["machine"].values()) > 0 and report["memory"]["peak_rss_bytes"] > 1e8


def test_what_is_left_out_has_a_reason_and_a_cure(profiled):
    report, text, _ = profiled
    left_out = {row["reason"]: row for row in report["left_out"]}
    assert "AsString" in left_out["NO_IMPORTER"]["example"] or "StringLength" in left_out["NO_IMPORTER"]["example"]
    assert left_out["NO_IMPORTER"]["meaning"] and left_out["NO_IMPORTER"]["cure"]
    for part in ("the program's own line", "/predict: ", "conv 3x3", "NO_IMPORTER", "GFLOP/s", "predict"):
        assert part in text, text


def test_the_page_is_drawn_without_network_and_holds_the_reports_numbers(profiled, tmp_path):
    report, _, page = profiled
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if browser is None:
        pytest.skip("no headless Chromium")
    log = tmp_path / "log"
    with log.open("w") as said:
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
                               "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'user'}",
                               "--virtual-time-budget=8000", "--dump-dom", page.as_uri()],
                              text=True, stdout=subprocess.PIPE, stderr=said, timeout=120)
    dom = done.stdout
    assert not re.search(r"CONSOLE.*(error|Uncaught)", log.read_text()), log.read_text()
    assert re.search(r'<body data-drawn="[1-9]', dom), dom[-2000:]
    held = json.loads(re.search(r'<script id="report" type="application/json">(.*?)</script>', page.read_text(), re.S)[1])
    assert held["report"] == report
    assert len(held["charts"]["flame"]["data"][0]["ids"]) > 5
    for name in held["charts"]:
        assert re.search(rf'<div id="{name}"[^>]*class="[^"]*js-plotly-plot', dom), name
    assert "/predict: " in dom


def test_a_model_and_what_is_neither(tmp_path):
    done = command("profile", tmp_path / "nothing.py", code=1)
    assert done.stderr.count("\n") == 1 and "neither a script nor a model" in done.stderr


TRACED = """
import glob
@tf.function
def scores(x, w):
    with tf.name_scope("head"):
        return tf.nn.softmax(tf.nn.relu(x @ w))
x, w = tf.constant(normal(16, 24)), tf.constant(normal(24, 8))
for _ in range(3):
    scores(x, w)
tf.profiler.experimental.start(os.environ["LOG"])
scores(x, w)
tf.profiler.experimental.stop()
trace = b"".join(open(path, "rb").read() for path in glob.glob(os.environ["LOG"] + "/**/*.xplane.pb", recursive=True))
report(found={name: name.encode() in trace for name in ("head/scores", "head: matmul + relu", "of_head", "[16,24];[24,8]")})
"""


def test_tensorflows_profiler_and_the_cache_show_the_names(run_program, tmp_path):
    """A trace showed one op of TensorFlow's for all that a cluster does."""
    result = run_program(TRACED, tektite="1", LOG=str(tmp_path / "log"), XDG_CACHE_HOME=str(tmp_path))
    found = result.values["found"]
    assert found["head/scores"] and found["head: matmul + relu"] and found["[16,24];[24,8]"], found
    # A program from the disk cache has no names of its own, and ended the process.
    again = run_program(TRACED, tektite="1", LOG=str(tmp_path / "again"), XDG_CACHE_HOME=str(tmp_path))
    assert again.stats["loaded_modules"] > 0 and again.values["found"]["head/scores"] and again.values["found"]["of_head"]
    from test_cli import COMMAND
    listed = subprocess.run([COMMAND, "cache", "ls"], env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}, text=True,
                            capture_output=True, check=True).stdout
    assert "head/scores" in listed and "matmul + relu" in listed, listed
