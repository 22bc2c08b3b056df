"""Clusters that TensorFlow has placed on /GPU:0: there, TensorFlow's device (card_device.cc) and the compiler's card are
the stand-in driver's.  Few ops have a kernel of TensorFlow's on that device, so most programs end well only where
compiled code has run them.
"""
from __future__ import annotations

from pathlib import Path
from typing import Callable

import numpy as np
import pytest

# The stand-in runs kernels that this process has compiled.
NO_CACHE = "--cache_dir=off"
ROOT = Path(__file__).resolve().parents[2]

START = """
import ctypes
card = ctypes.CDLL({card!r})
assert [d.device_type for d in tf.config.list_logical_devices()] == ["CPU"] + ["GPU"] * {cards}
waits = card.card_device_waits
waits.restype = ctypes.c_int64

def on_card(f):
    def placed(*args):
        with tf.device("/GPU:0"):
            return f(*args)
    return tf.function(placed)
"""


def built(name: str) -> Path:
    found = max(ROOT.glob(f"build/*/tests/hook_on_card/{name}"), key=lambda path: path.stat().st_mtime, default=None)
    if found is None:
        pytest.fail(f"{name} is not built (scripts/setup --all does it)")
    return found


@pytest.fixture
def run_card(run_program) -> Callable:
    """Runs a program with a GPU and returns what it reported."""
    library = str(built("libtektite_on_stand_in.so"))
    device = str(built("libcard_device.so"))

    def run(source: str, flags: str = "", cards: int = 1, **environment: str):
        start = START.format(card=device, cards=cards)
        return run_program(start + source, tektite="1", TEKTITE_LIBRARY=library,
                           TEKTITE_FLAGS=f"--card_clusters {NO_CACHE} {flags}", **environment)

    return run


def on_card(result) -> dict:
    return result.stats["cards"]["gpu:0"]


def test_a_cluster_on_the_card_runs_there(run_card):
    result = run_card("""
f = on_card(lambda x, y: tf.nn.softmax(tf.matmul(tf.exp(x) * 0.5, y)))
x, y = normal(6, 5), normal(5, 7)
report(z=[f(x, y) for _ in range(3)], device=f(x, y).device, x=x, y=y)
""")
    p = np.exp(np.exp(np.array(result.values["x"])) * 0.5 @ np.array(result.values["y"]))
    for z in result.values["z"]:
        np.testing.assert_allclose(z, p / p.sum(1, keepdims=True), rtol=1e-4)
    assert result.values["device"].endswith("device:GPU:0")
    assert result.host["clusters_placed"] == 1 and result.host["fallbacks"] == {}
    assert on_card(result)["runs"] == 4 and result.stats["runs"] == 0


def test_nothing_waits_for_tensorflows_stream(run_card):
    """What the card computes is waited for where its result is read, and nowhere else."""
    result = run_card("""
f = on_card(lambda x: tf.nn.softmax(tf.tanh(x) + x))
with tf.device("/GPU:0"):
    x = tf.constant(normal(6, 5))
count = 0
for call in range(15):
    before = waits()
    x = f(x)
    count += waits() - before if call >= 5 else 0
    values = x.numpy()  # and all that was kept for the card is there again
report(waits=count, y=values)
""")
    assert result.values["waits"] == 0
    np.testing.assert_allclose(np.sum(result.values["y"], 1), np.ones(6), rtol=1e-5)


def test_clusters_end_where_devices_do(run_card):
    result = run_card("""
@tf.function
def f(x):
    with tf.device("/GPU:0"):
        y = tf.tanh(tf.exp(x) * 2.0)
    with tf.device("/CPU:0"):
        z = tf.sqrt(tf.abs(y) + 1.0)
    with tf.device("/GPU:0"):
        return tf.nn.relu(tf.tanh(z) + x)
x = normal(4, 4)
report(y=f(x), x=x)
""")
    x = np.array(result.values["x"])
    y = np.tanh(np.exp(x) * 2)
    np.testing.assert_allclose(result.values["y"], np.maximum(np.tanh(np.sqrt(np.abs(y) + 1)) + x, 0), rtol=1e-5)
    assert result.host["clusters_placed"] == 3
    assert on_card(result)["clusters"] == 2 and result.stats["clusters"] == 1


def test_int32_lies_in_the_hosts_memory(run_card):
    """Arguments of both memories, shapes among them, and results of both."""
    result = run_card("""
def body(x, ids, rows):
    y = tf.tanh(tf.gather(x, ids))
    return tf.reshape(y, [rows, -1]) * 2.0, tf.argmax(y, 1, output_type=tf.int32), tf.shape(y)
f = on_card(body)
x = normal(9, 4)
z, m, s = f(x, tf.constant([3, 1, 8, 0, 5, 2]), tf.constant(3))
report(x=x, z=z, m=m, s=s)
""")
    y = np.tanh(np.array(result.values["x"])[[3, 1, 8, 0, 5, 2]])
    np.testing.assert_allclose(result.values["z"], y.reshape(3, -1) * 2, rtol=1e-5)
    assert result.values["m"] == y.argmax(1).tolist() and result.values["s"] == [6, 4]
    assert result.host["fallbacks"] == {}


def test_variables_on_the_card_are_read_and_written_there(run_card):
    result = run_card("""
with tf.device("/GPU:0"):
    v = tf.Variable(normal(5, 4))
start = v.numpy()
def step(x):
    g = tf.tanh(v * x)
    v.assign_sub(g)
    return tf.reduce_sum(g, 1)
f = on_card(step)
x = normal(5, 4)
sums = [f(x) for _ in range(4)]
report(start=start, x=x, sums=sums, v=v.numpy())
""")
    v, x = np.array(result.values["start"]), np.array(result.values["x"])
    for sums in result.values["sums"]:
        g = np.tanh(v * x)
        v = v - g
        np.testing.assert_allclose(sums, g.sum(1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(result.values["v"], v, rtol=1e-4, atol=1e-5)
    assert result.host["updates"] == 4 and result.host["fallbacks"] == {}


def test_weights_that_stay_are_kept(run_card):
    result = run_card("""
with tf.device("/GPU:0"):
    w = tf.Variable(normal(5, 6))
f = on_card(lambda x: tf.nn.relu(tf.matmul(x, tf.exp(w))))
x = normal(3, 5)
before = [f(x) for _ in range(6)]
first = w.numpy()
w.assign(w.numpy() + 1.0)
after = [f(x) for _ in range(6)]
report(w=first, x=x, before=before, after=after)
""")
    w, x = np.array(result.values["w"]), np.array(result.values["x"])
    for y in result.values["before"]:
        np.testing.assert_allclose(y, np.maximum(x @ np.exp(w), 0), rtol=1e-4, atol=1e-5)
    for y in result.values["after"]:
        np.testing.assert_allclose(y, np.maximum(x @ np.exp(w + 1), 0), rtol=1e-4, atol=1e-5)


FALLBACK = """
f = on_card(lambda x, n: (tf.exp(x) * 2.0 + x, n + n))
x = normal(4, 4)
y, n = f(x, tf.constant(3))
report(x=x, y=y, n=n)
"""


def test_tensorflows_kernels_run_where_compiled_code_does_not(run_card):
    result = run_card(FALLBACK, flags="--compile=async")
    x = np.array(result.values["x"])
    np.testing.assert_allclose(result.values["y"], np.exp(x) * 2 + x, rtol=1e-5)
    assert result.values["n"] == 6
    assert sum(result.host["fallbacks"].values()) == 2


def test_a_comparison_has_both_sides_run(run_card):
    result = run_card("""
f = on_card(lambda x: tf.exp(x) * 2.0 + x)
x = normal(4, 4)
report(x=x, y=[f(x) for _ in range(40)])
""", flags="--compare=true")
    x = np.array(result.values["x"])
    for y in result.values["y"]:
        np.testing.assert_allclose(y, np.exp(x) * 2 + x, rtol=1e-5)
    assert result.host["fallbacks"].get("MEASURING_HOST", 0) > 0


def test_a_card_that_no_code_is_for_is_tensorflows(run_card):
    """The hook says why, once."""
    result = run_card("""
f = on_card(lambda x: tf.exp(x) * 2.0 + x)
g = on_card(lambda x: tf.exp(x) + x)
x = normal(4, 4)
report(x=x, y=f(x), z=g(x))
""", TEKTITE_FAKE_DRIVER="capability=75")
    x = np.array(result.values["x"])
    np.testing.assert_allclose(result.values["y"], np.exp(x) * 2 + x, rtol=1e-5)
    assert result.host["clusters_placed"] == 0
    assert result.lines() == ["tektite: off on gpu:0: gpu:0 (card that is not there): no code is made for GPUs of compute "
                              "capability 7.5"]


def test_each_card_has_its_own_code(run_card):
    result = run_card("""
f = on_card(lambda x: tf.tanh(tf.exp(x) * 2.0))
@tf.function
def g(x):
    with tf.device("/GPU:1"):
        return tf.nn.relu(tf.tanh(x) * 3.0)
with tf.device("/CPU:0"):  # TensorFlow's copies from card to card want its own device
    x = tf.constant(normal(4, 4))
calls = [(f(x), g(x)) for _ in range(4)]
report(x=x, y=[y for y, _ in calls], z=[z for _, z in calls])
""", TEKTITE_FAKE_DRIVER="cards=2", cards=2)
    x = np.array(result.values["x"])
    for y, z in zip(result.values["y"], result.values["z"]):
        np.testing.assert_allclose(y, np.tanh(np.exp(x) * 2), rtol=1e-5)
        np.testing.assert_allclose(z, np.maximum(np.tanh(x) * 3, 0), rtol=1e-5)
    assert result.host["clusters_placed"] == 2 and result.host["fallbacks"] == {}
    assert {name: card["runs"] for name, card in result.stats["cards"].items()} == {"gpu:0": 4, "gpu:1": 4}


LOOP = """
def body(x):
    for _ in tf.range(3):
        x = tf.tanh(x * 2.0) + x
    return x
f = tf.function(body)  # TensorFlow prefers the card
x = normal(4, 4)
report(x=x, y=f(x))
"""


def test_loops_are_taken_apart_beside_a_card(run_card):
    """A loop that were kept would have all its nodes on the card, those without a kernel there, too."""
    result = run_card(LOOP)
    y = x = np.array(result.values["x"])
    for _ in range(3):
        y = np.tanh(y * 2) + y
    np.testing.assert_allclose(result.values["y"], y, rtol=1e-5)
    assert result.host["kept_loops"] == 0 and result.host["lowered_loops"] == 0
    assert on_card(result)["runs"] > 0


def test_clusters_on_cards_are_left_out_without_the_flag(run_card):
    result = run_card("""
f = on_card(lambda x: tf.exp(x) * 2.0 + x)
x = normal(4, 4)
report(x=x, y=f(x))
""", flags="--card_clusters=false")
    x = np.array(result.values["x"])
    np.testing.assert_allclose(result.values["y"], np.exp(x) * 2 + x, rtol=1e-5)
    assert result.host["clusters_placed"] == 0 and "cards" not in result.stats
