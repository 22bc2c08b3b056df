"""The wheel of build/wheel in a root folder with an interpreter and the C library alone (packaging/empty_root.py), as a user
without rights, with nothing in /tmp that can be run: what a user does there, in TensorFlow's oldest version on Debian 11's C
library, and in the newest.

scripts/wheel makes the wheel, and scripts/test a small one; scripts/wheel_matrix does some of this in every version and every
Python. What the machine or the network withholds (mounts, a Debian's packages, an older TensorFlow) is a skip that says so.
"""
from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

from clean_environment import CleanEnvironment  # noqa: E402
from debian_suite import Unavailable  # noqa: E402
from empty_root import EmptyRoot, may_be_made  # noqa: E402

pytestmark = pytest.mark.slow

CASES = (("bullseye", "2.16.2"), ("bookworm", "2.21.0"))
FLAGS = "--compare=false --min_cluster_cost=0 --compile=sync"
MEMORY = 512 << 20
# A small model, served and trained; the most address space that the process had.
PROGRAM = """
import json, re
import numpy as np
import tensorflow as tf
import tektite
tf.config.threading.set_intra_op_parallelism_threads(2)
tf.config.threading.set_inter_op_parallelism_threads(2)
random = np.random.default_rng(3)
weights = [tf.Variable(random.normal(size=size).astype(np.float32) * 0.1) for size in ((64, 128), (128, 10))]

def model(x):
    return tf.nn.softmax(tf.nn.gelu(x @ weights[0]) @ weights[1])

serve = tf.function(model)

@tf.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(-tf.math.log(model(x)[:, 0]))
    for weight, gradient in zip(weights, tape.gradient(loss, weights)):
        weight.assign_sub(0.1 * gradient)
    return loss

x = tf.constant(random.normal(size=(32, 64)).astype(np.float32))
losses = [float(train(x)) for _ in range(20)]
for _ in range(20):
    y = serve(x)
most = int(re.search(r"VmPeak:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
print("\\n" + json.dumps({"loss": losses[-1], "mean": float(tf.reduce_mean(y ** 2)), "most": most, "stats": tektite.stats()}))
"""


def find_wheel() -> Path | None:
    """The newest, if it was made from these sources."""
    wheel = max(ROOT.glob("build/wheel/tektite-*.whl"), key=lambda path: path.stat().st_mtime, default=None)
    if wheel is None:
        return None
    package = ROOT / "runtime_hooks/tensorflow/python/tektite"
    with zipfile.ZipFile(wheel) as file:
        inside = {name: file.read(name) for name in file.namelist() if name.startswith("tektite/") and name.endswith(".py")}
    return wheel if inside == {f"tektite/{path.name}": path.read_bytes() for path in package.glob("*.py")} else None


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case))
def user(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CleanEnvironment]:
    wheel = find_wheel()
    if wheel is None:
        pytest.skip("no wheel of these sources in build/wheel: scripts/wheel makes one")
    if why := may_be_made():
        pytest.skip(f"no empty root: {why}")
    suite, version = request.param
    folder = tmp_path_factory.mktemp(suite)
    try:
        here = CleanEnvironment(folder, root=EmptyRoot.make(suite, ROOT / "build/wheel/roots"))
    except Unavailable as why:
        pytest.skip(f"no empty root: {why}")
    if why := here.install_packages(f"tensorflow-cpu=={version}"):
        pytest.skip(f"no TensorFlow {version}: {why}")
    why = here.install_wheel(wheel)
    assert not why, why
    yield here
    shutil.rmtree(folder)  # 1.5 GB


def has_direct_calls(user: CleanEnvironment) -> bool:
    """Whether the machine that made the wheel had headers of this Python."""
    done = user.run(["python", "-c", "import glob, sys, sysconfig; print(glob.glob(sysconfig.get_path('purelib') + "
                     "f'/tektite/**/*fast_calls-*.{sys.implementation.cache_tag}*', recursive=True))"], 60)
    return done.stdout.strip() != "[]"


def run_program(user: CleanEnvironment, switch: str, memory: int = 0, **more: str) -> dict[str, object]:
    done = user.run(["python", "-c", PROGRAM], 300, memory=memory, TEKTITE=switch, TEKTITE_FLAGS=FLAGS, **more)
    assert done.returncode == 0, done.stderr[-2000:]
    # Without the times in front of TensorFlow's own lines.
    said = re.sub(r"(?m)^[IWE]\d{4} [\d:. ]+", "", done.stderr)
    return {**json.loads(done.stdout.splitlines()[-1]), "said": said}


def doctor(user: CleanEnvironment, **environment: str) -> dict[str, dict[str, str]]:
    done = user.run(["tektite", "doctor", "--json"], 300, **environment)
    lines = {line["subject"]: line for line in json.loads(done.stdout)}
    assert done.returncode == 0 and not [line for line in lines.values() if line["state"] == "FAILED"], done.stdout
    return lines


def test_the_doctor_finds_nothing_and_the_second_process_reads_the_cache(user):
    first, second = doctor(user), doctor(user)
    assert first["cache"]["state"] == "ok"
    assert first["direct calls"]["state"] == ("ok" if has_direct_calls(user) else "off")
    said = first["a function"]["text"]
    assert said.startswith("compiled, ") and (", 0 of" not in said) == has_direct_calls(user)
    assert second["a function"]["text"].startswith("from the cache, ")


def test_the_command_line_runs(user):
    """As a program of its own, and as a module."""
    for words in (["tektite"], ["python", "-m", "tektite"]):
        assert user.run([*words, "reasons"], 60).stdout.startswith("CHEAP_OUTPUT")
        assert user.run([*words, "cache", "ls"], 60).returncode == 0
        assert "no-such-command" in user.run([*words, "no-such-command"], 60).stderr
        said = user.run([*words, "--help"], 60).stdout  # the compiler's command first, though Python does not wait for a pipe
        assert 0 < said.index("Subcommands:") < said.index("Of the Python package:")


def test_results_and_memory_are_those_of_tensorflow(user):
    """In 512 MiB of address space above what TensorFlow takes for itself."""
    stock = run_program(user, "0")
    compiled = run_program(user, "1", memory=stock["most"] + MEMORY)
    for name in ("loss", "mean"):
        assert compiled[name] == pytest.approx(stock[name], rel=1e-5)
    assert compiled["stats"]["clusters"] >= 2
    assert (compiled["stats"]["host"]["direct_runs"] > 0) == has_direct_calls(user)
    assert compiled["said"] == stock["said"]  # nothing about memory


def test_a_home_that_cannot_be_written_is_no_error(user):
    lines = doctor(user, HOME=user.venv)
    assert lines["cache"]["state"] == "off" and "cannot be written" in lines["cache"]["text"]
    assert lines["a function"]["text"].startswith("compiled, ")


def test_the_demo_has_equal_numbers(user):
    done = user.run(["tektite", "demo", "--json"], 600)
    assert done.stderr == ""  # TensorFlow's own lines are of no use here
    answer = json.loads(done.stdout)
    for name, model in answer["models"].items():
        assert model["apart"] <= 2e-5, (name, model)
    assert (answer["direct_runs"] > 0) == has_direct_calls(user) and answer["clusters"] > 0


@pytest.mark.parametrize("example", sorted(path.name for path in (ROOT / "examples").glob("*.py")))
def test_the_examples_run(user, example):
    done = user.run(["python", f"/shown/examples/{example}"], 300, shown={ROOT / "examples": "/shown/examples"}, TEKTITE="1",
                    TEKTITE_FLAGS=FLAGS)
    assert done.returncode == 0, done.stderr[-2000:]
    calls = next(line for line in done.stdout.splitlines() if line.startswith("compiled calls: "))
    assert int(calls.split()[-1]) > 0
