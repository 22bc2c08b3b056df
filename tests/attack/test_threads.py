"""Hundreds of threads on one function, with the comparison that users get and a library that waits before and after
each call of the C interface (delaying_tektite.cc), so that every gap between two questions is met."""

import importlib.util
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

THREADS = """
def attack(call, threads, calls):
    # The first error of each thread, if it has one.
    problems = []
    start = threading.Barrier(threads)
    def work(number):
        try:
            start.wait()
            for i in range(calls):
                call(number, i)
        except BaseException as error:
            problems.append(f"{type(error).__name__}: {error}"[:300])
    workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    return problems[:3]

def check(ours, theirs):
    difference = np.abs(ours - theirs).max()
    if not difference < 1e-4: raise AssertionError(f"differs by {difference}")
"""


def delaying_library():
    found = ROOT.glob("build/*/tests/attack/libdelaying_tektite.so")
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


@pytest.fixture
def run_delayed(run_program):
    """`run_program` with the comparison, compiling in the background, and the delays."""
    library = delaying_library()
    if library is None:
        pytest.fail("libdelaying_tektite.so is not built (scripts/setup --all does it)")
    spec = importlib.util.find_spec("tektite")
    real = os.environ.get("TEKTITE_LIBRARY") or str(Path(spec.origin).parent / "lib" / "libtektite.so")

    def run(source, flags="", **environment):
        return run_program(THREADS + source, tektite="1", TEKTITE_LIBRARY=str(library), DELAYING_TEKTITE_LIBRARY=real,
                           TEKTITE_FLAGS=f"--compile=async --compare=true --cache_dir=off {flags}", **environment)

    return run


def test_one_function(run_delayed):
    """A spot check fell due between a direct call's question whether compiled code has won and the turn that it was
    given then: TensorFlow's, with no kernels to run it, and a null pointer."""
    result = run_delayed("""
w = tf.Variable(normal(64, 64) * 0.1)
@tf.function
def f(x):
    return tf.nn.softmax(tf.nn.relu(tf.matmul(x, w)) + 1.0)
xs = [tf.constant(normal(n, 64)) for n in (16, 16, 17, 40)]
expected = [tf.nn.softmax(tf.nn.relu(tf.matmul(x, w)) + 1.0).numpy() for x in xs]
for _ in range(40):  # the comparison is decided, and calls are direct
    for x in xs: f(x)
    tektite.wait_until_compiled()
def call(number, i):
    k = (number + i // 8) % len(xs)
    check(f(xs[k]).numpy(), expected[k])
report(problems=attack(call, threads=200, calls=50))
""")
    assert result.values["problems"] == []
    assert result.host["direct_runs"] > 1000, result.host


def test_one_keras_model(run_delayed):
    result = run_delayed("""
model = tf.keras.Sequential([tf.keras.layers.Dense(64, "gelu"), tf.keras.layers.LayerNormalization(),
                             tf.keras.layers.Dense(10, "softmax")])
xs = [tf.constant(normal(n, 32)) for n in (8, 8, 9, 33)]
expected = [model(x, training=False).numpy() for x in xs]
f = tf.function(lambda x: model(x, training=False), input_signature=[tf.TensorSpec([None, 32])])
def call(number, i):
    k = (number + i) % len(xs)
    check(f(xs[k]).numpy(), expected[k])
report(problems=attack(call, threads=200, calls=30))
""")
    assert result.values["problems"] == []
    assert result.host["runs"] > 1000


def test_updates_are_counted_once(run_delayed):
    """Each call adds one to each variable, on either side."""
    result = run_delayed("""
v, w = tf.Variable(tf.zeros([256])), tf.Variable(tf.zeros([256]))
@tf.function
def f(x):
    v.assign_add(tf.nn.relu(tf.exp(x * 0.0)))
    w.assign_add(tf.nn.relu(tf.exp(x * 0.0)))
    return tf.reduce_sum(x)
x = tf.ones([256])
problems = attack(lambda number, i: f(x), threads=100, calls=20)
report(problems=problems, v=sorted(set(v.numpy().tolist())), w=sorted(set(w.numpy().tolist())))
""")
    assert result.values["problems"] == []
    assert result.values["v"] == [2000.0] and result.values["w"] == [2000.0]


def test_functions_come_and_go(run_delayed):
    """Functions that die while other functions are called, and while their kernels are being prepared."""
    result = run_delayed("""
x = tf.constant(normal(32, 48))
expected = tf.nn.softmax(tf.nn.gelu(x) * 2.0).numpy()
def call(number, i):
    f = tf.function(lambda x: tf.nn.softmax(tf.nn.gelu(x) * 2.0))
    for _ in range(8):
        check(f(x).numpy(), expected)
report(problems=attack(call, threads=16, calls=4))
""")
    assert result.values["problems"] == []
