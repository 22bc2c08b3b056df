"""--keep_loops: loops and branches that stay whole, and all that may become of them."""
import numpy as np
import pytest

from tests.end_to_end.batches import Batch

KEEP = "--keep_loops"
# Nothing but what is said here counts as work enough for a cluster.
USUAL = "--keep_loops --min_cluster_cost=20000"

# Each program returns y of x; `loops` is how many loops and branches are kept in it.
PROGRAMS = {
    "turns": (1, """
def f(x, n):
    for i in tf.range(n):
        x = tf.tanh(x @ w) + 1.0
    return x
"""),
    "until": (1, """
def f(x, n):
    y = tf.exp(x) + 1.0
    i = 0
    while i < 20 and tf.reduce_sum(y) < 1e4:
        y = y * 1.5 + tf.abs(x)
        i += 1
    return y * 2.0
"""),
    "constants only": (1, """
def f(x, n):
    total = tf.while_loop(lambda i, s: i < 7, lambda i, s: (i + 1, s * 1.5 + 1.0), (0, 1.0))[1]
    return tf.tanh(x) * total
"""),
    "one in the other": (1, """
def f(x, n):
    for i in tf.range(n):
        for j in tf.range(i + 1):
            x = tf.sin(x) + 0.5
        x = x * 1.25
    return x
"""),
    "in called functions": (2, """
@tf.function
def inner(x):
    for i in tf.range(3):
        x = tf.tanh(x @ w) + 1.0
    return x

def f(x, n):
    return inner(x) * 2.0 + inner(x + 1.0)
"""),
    "branch": (1, """
def f(x, n):
    return tf.cond(n > 3, lambda: tf.tanh(x @ w), lambda: tf.exp(x) * 2.0) + 1.0
"""),
    "branch by a number": (1, """
def f(x, n):
    return tf.switch_case(n - 1, [lambda: tf.tanh(x), lambda: tf.exp(x) * 2.0, lambda: x @ w]) * 2.0
"""),
    "branch in a loop": (1, """
def f(x, n):
    for i in tf.range(n):
        if tf.reduce_sum(x) > 0.0:
            x = tf.tanh(x) - 0.5
        else:
            x = tf.exp(x) * 0.5
    return x
"""),
    "two values change places": (1, """
def f(x, n):
    return tf.while_loop(lambda i, a, b: i < n, lambda i, a, b: (i + 1, tf.tanh(b) + 1.0, a * 0.5),
                         (0, tf.zeros_like(x), x), parallel_iterations=1)[1]
"""),
    "behind one another": (2, """
def f(x, n):
    for i in tf.range(n):
        x = tf.tanh(x) + 1.0
    x = tf.exp(x) * 0.25
    for i in tf.range(n):
        x = tf.sin(x) + 1.0
    return tf.stop_gradient(x)
"""),
    "a variable is assigned to in it": (1, """
counter = tf.Variable(0.0)
def f(x, n):
    for i in tf.range(n):
        counter.assign_add(1.0)
        x = tf.tanh(x) + counter
    return x
"""),
    "a variable is read in it, and assigned to around it": (1, """
counter = tf.Variable(1.0)
def f(x, n):
    counter.assign_add(2.0)
    for i in tf.range(n):
        x = tf.tanh(x) + counter
    counter.assign_add(1.0)
    return x + counter
"""),
    "an op that is not compiled": (0, """
def f(x, n):
    for i in tf.range(n):
        x = tf.tanh(x) + tf.ensure_shape(tf.numpy_function(np.sin, [x], tf.float32), [None, 6])
    return x
"""),
    "in one that is not compiled": (2, """
@tf.function
def called(x):
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.exp(x) * 0.5, lambda: tf.tanh(x) - 1.0)

def f(x, n):
    for i in tf.range(n):
        x = x + tf.ensure_shape(tf.numpy_function(np.sin, [x], tf.float32), [None, 6])
        for j in tf.range(3):
            x = tf.tanh(x) + tf.cast(j, tf.float32)
        x = called(x)
    return x
"""),
    "another device": (0, """
def f(x, n):
    for i in tf.range(n):
        with tf.device("CPU:1"):
            x = tf.tanh(x) + 1.0
    return x
"""),
}

TWO_DEVICES = """
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
"""

TEXT = """
w = tf.Variable(normal(6, 6))
{program}
f = tf.function(f, input_signature=[tf.TensorSpec([None, 6]), tf.TensorSpec([], tf.int32)])
special = np.array([[np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0]], np.float32)
y = [f(tf.constant(v), n) for v, n in (
    (normal(5, 6), 4), (normal(1, 6), 1), (normal(5, 6), 0), (normal(0, 6), 2), (special, 3), (normal(5, 6), 4))]
report(y=[np.nan_to_num(v, nan=12345.0) for v in y])
"""


def same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


ALL = Batch("kept loops", {name: TEXT.format(program=program) for name, (_, program) in PROGRAMS.items()},
            preamble=TWO_DEVICES, TEKTITE_FLAGS=KEEP)


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_tensorflows(run_batch, name):
    loops, _ = PROGRAMS[name]
    plain, compiled = run_batch(ALL, name)
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["kept_loops"] == loops and compiled.host["lowered_loops"] == 0
    # Those that TensorFlow takes apart are not made whole again.
    assert compiled.host["rebuilt_loops"] == 0 and compiled.host["unrebuilt_graphs"] == 0


def test_without_the_flag_none_is_kept(run_pair):
    _, compiled = run_pair(TEXT.format(program=PROGRAMS["turns"][1]), TEKTITE_FLAGS="--keep_loops=false")
    assert compiled.host["kept_loops"] == 0 and compiled.host["clusters_placed"] >= 1


def test_a_loop_of_a_session(run_pair):
    plain, compiled = run_pair("""
tf.compat.v1.enable_control_flow_v2()
with tf.Graph().as_default():
    x = tf.compat.v1.placeholder(tf.float32, [None, 6])
    n = tf.compat.v1.placeholder(tf.int32, [])
    y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf.tanh(v) + 1.0), (0, tf.exp(x)))
    fetched = [y[1] * 2.0, y[1]]
    with tf.compat.v1.Session() as session:
        report(y=[session.run(fetched, {x: normal(k, 6), n: k}) for k in (3, 1, 0)])
""", TEKTITE_FLAGS=KEEP)
    for ours, theirs in zip(compiled.values["y"], plain.values["y"], strict=True):
        same(ours, theirs)
    assert compiled.host["kept_loops"] == 1


def test_a_loop_that_tensorflow_never_takes_apart(run_pair):
    """tf.nn.ctc_loss has such loops; they were the host's, and so were the loops whose lists they read."""
    plain, compiled = run_pair("""
@tf.function
def f(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.map_fn(lambda row: tf.tanh(row) * 2.0, x)
        loss = tf.reduce_mean(tf.nn.ctc_loss(tf.constant([[1, 2, 1]] * 4), y, tf.constant([3, 2, 3, 1]),
                                             tf.constant([10, 9, 10, 8]), blank_index=0))
    return loss, tape.gradient(loss, x)
report(y=f(tf.constant(normal(10, 4, 6))))
""", TEKTITE_FLAGS=KEEP)
    for ours, theirs in zip(compiled.values["y"], plain.values["y"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)
    assert compiled.host["clusters_placed"] == 1 and compiled.host["lowered_loops"] == 0


def test_loops_of_a_dataset_and_its_epochs(run_pair):
    plain, compiled = run_pair("""
def f(x):
    for i in tf.range(3):
        x = tf.tanh(x) + tf.cast(i, tf.float32)
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.exp(x) * 2.0, lambda: x - 1.0)

data = tf.data.Dataset.from_tensor_slices(normal(5, 6)).map(f)
report(y=[[x for x in data] for _ in range(4)])
""", TEKTITE_FLAGS=KEEP)
    for ours, theirs in zip(compiled.values["y"], plain.values["y"], strict=True):
        same(ours, theirs)
    assert compiled.host["kept_loops"] == 4 * 2 and compiled.host["repeated_graphs"] == 2


def test_a_saved_model_eager_functions_and_strategies(run_pair):
    plain, compiled = run_pair("""
import tempfile
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)

class Model(tf.Module):
    def __init__(self):
        self.w = tf.Variable(normal(6, 6))
    @tf.function(input_signature=[tf.TensorSpec([None, 6])])
    def __call__(self, x):
        for i in tf.range(4):
            x = tf.tanh(x @ self.w) + 1.0
        return x

model, x = Model(), normal(3, 6)
y = [model(x)]
with tempfile.TemporaryDirectory() as folder:
    tf.saved_model.save(model, folder)
    y.append(tf.saved_model.load(folder)(x))
tf.config.run_functions_eagerly(True)
y.append(model(x))
tf.config.run_functions_eagerly(False)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
y.extend(strategy.experimental_local_results(
    tf.function(lambda x: strategy.run(model, (x,)))(tf.constant(x))))
report(y=y)
""", TEKTITE_FLAGS=KEEP)
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["kept_loops"] >= 2


def test_an_error_in_a_loop_is_tensorflows(run_pair):
    plain, compiled = run_pair("""
@tf.function
def f(x):
    for i in tf.range(3):
        x = tf.tanh(tf.linalg.matmul(x, tf.reshape(x, [2, 3])) + 1.0)
    return x
try:
    f(tf.constant(normal(3, 4)))
    report(kind="none")
except Exception as error:
    report(kind=type(error).__name__)
""", TEKTITE_FLAGS=KEEP)
    assert plain.values["kind"] == compiled.values["kind"] != "none"


# A branch on its own is too little for a cluster, and stays what TensorFlow makes of it.
def test_what_is_too_small_is_not_kept(run_pair):
    plain, compiled = run_pair("""
f = tf.function(lambda x: tf.cond(x > 1.0, lambda: x + 1.0, lambda: x - 1.0))
report(y=[f(tf.constant(v)) for v in (0.5, 1.5)])
""", TEKTITE_FLAGS=USUAL)
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["kept_loops"] == 0 and compiled.host["lowered_loops"] == 0


def test_a_cancelled_loop_ends(run_pair):
    _, compiled = run_pair("""
import time
from tensorflow.python.eager import cancellation

@tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
def f(x):
    while x > 0.0:
        x = tf.sin(x) * 0.0 + 1.0
    return x

manager = cancellation.CancellationManager()
call = manager.get_cancelable_function(f.get_concrete_function())
threading.Timer(2.0, manager.start_cancel).start()
try:
    call(tf.constant(1.0))
    report(kind="none")
except tf.errors.CancelledError:
    report(kind="cancelled")
""", TEKTITE_FLAGS=KEEP)
    assert compiled.values["kind"] == "cancelled" and compiled.host["kept_loops"] == 1


# With few rows the sums of gradients become products of all turns (sink_products).
@pytest.mark.parametrize("batch,units", [(24, 12), (2, 40)])
def test_training_of_a_recurrent_layer_is_one_cluster(run_pair, batch, units):
    plain, compiled = run_pair(f"batch, units = {batch}, {units}" + """
import keras
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((7, 5)), keras.layers.LSTM(units), keras.layers.Dense(1)])
model.compile("sgd", "mse", jit_compile=False)
x, y = normal(batch, 7, 5), normal(batch, 1)
losses = [model.train_on_batch(x, y) for _ in range(6)]
report(losses=[float(v) for v in losses], weights=model.get_weights())
""", TEKTITE_FLAGS="--keep_loops --compile=sync --compare=false")
    same(compiled.values["losses"], plain.values["losses"])
    same(compiled.values["weights"], plain.values["weights"])
    # Forward and backward, in each of the two functions that Keras traces.
    assert compiled.host["kept_loops"] >= 2 and compiled.host["runs"] > 0
    assert "NO_CODE" not in compiled.host["fallbacks"]


# The compiler refuses it when it sees the sizes: then the parts of the loop are clusters, as if it had not been kept.
REFUSED = """
w = tf.Variable(normal(6, 6))

@tf.function(input_signature=[tf.TensorSpec([None, 6]), tf.TensorSpec([], tf.int32)])
def f(x, n):
    y = tf.while_loop(lambda i, v: i < n,
                      lambda i, v: (i + 1, tf.tanh(tf.concat([v @ w + 1.0, tf.exp(x) * 0.5], 0)) * 2.0),
                      (0, x), shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 6])))[1]
    return tf.tanh(y) * 2.0

y = [f(tf.constant(normal(5, 6)), 3)]
placed = []
for n in (3, 0, 4, 1) * 3:
    try:
        import tektite
        if tektite.is_active():
            tektite.wait_until_compiled()
            placed.append(tektite.stats()["host"]["clusters_placed"])
    except ImportError:
        pass
    y.append(f(tf.constant(normal(n, 6)), n))
report(y=y, placed=np.array(placed))
"""


def test_a_refused_loop_is_taken_apart(run_pair):
    plain, compiled = run_pair(REFUSED)
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["kept_loops"] == 1
    placed = compiled.values["placed"]
    assert placed[-1] > 1, compiled.host  # the loop's, and those of its parts
    assert compiled.host["fallbacks"]["NO_CODE"] >= 1
    assert compiled.stats["runs"] > 13, "no cluster of the loop's body runs"
    # What a turn calls then was not said.
    parts = compiled.stats["loops_in_parts"].values()
    assert any(1 <= p["clusters"] <= p["clustered_ops"] <= p["ops"] for p in parts), parts


# What follows a loop or a branch in the order of effects must wait for all of its effects, also where the host's kernels
# run it, which have it taken apart.  The effects come late: behind a chain of products.
LATE = """
w, counter, seen = tf.Variable(normal(200, 200) / 20), tf.Variable(1.0), tf.Variable(0.0)

def see(x):
    for _ in range(10):
        x = tf.tanh(x @ w)
    with tf.control_dependencies([x]):
        seen.assign(seen * 0.5 + counter)

{program}

f = tf.function(f, input_signature=[tf.TensorSpec([None, 200]), tf.TensorSpec([], tf.int32)])
y = []
for turn in range(12):
    y.append([f(tf.constant(normal(200, 200)), turn), seen.numpy(), counter.numpy()])
report(y=np.array(y, np.float32))
"""

EFFECTS = {
    "a branch without results": """
def f(x, n):
    tf.cond(n % 3 == 1, lambda: see(x), lambda: None)
    counter.assign_add(1.0)
    return tf.reduce_sum(x) * counter
""",
    "a branch whose results come first": """
def f(x, n):
    def effect():
        see(x)
        return tf.exp(x) * 0.5
    y = tf.cond(n % 3 == 1, effect, lambda: x + 1.0)
    counter.assign_add(1.0)
    return tf.reduce_sum(y) * counter
""",
    "a loop whose results come first": """
def f(x, n):
    y = x
    for i in tf.range(2):
        see(x)
        y = tf.tanh(y) + 1.0
    counter.assign_add(1.0)
    return tf.reduce_sum(y) * counter
""",
}


@pytest.mark.parametrize("flags", ["--compile=async --compile_after_percent=1000000", "--compile=sync"])
@pytest.mark.parametrize("name", EFFECTS)
def test_what_follows_waits_for_all_effects(run_pair, name, flags):
    plain, compiled = run_pair(LATE.format(program=EFFECTS[name]), TEKTITE_FLAGS=f"{KEEP} {flags}")
    np.testing.assert_allclose(compiled.values["y"], plain.values["y"], rtol=1e-4)
    assert compiled.host["kept_loops"] == 1
    assert bool(compiled.stats["runs"]) == ("sync" in flags), compiled.stats["fallbacks"]


# What nothing reads behind a loop is not computed in it by TensorFlow.  It was in a cluster's fallback, which waited for all
# of the loop, and knew neither its constants nor its shapes: TensorFlow's kernels ran half as many nodes again.
UNREAD = """
weights = normal(64, 64) / 8

@tf.function
def f(x, n):
    w, unread, one = tf.constant(weights), [x, x + 1.0], tf.ones([64, 64])
    for i in tf.range(n):
        x = tf.tanh(x @ w) * one
        unread = [tf.sin(u) * 0.5 for u in unread]
    return x + 1.0

with tf.Graph().as_default():
    y = f(tf.constant(normal(64, 64)) + 0.5, tf.compat.v1.placeholder_with_default(7, []))
    with tf.compat.v1.Session() as session:
        session.run(y)
        trace, seen = tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE), tf.compat.v1.RunMetadata()
        value = session.run(y, options=trace, run_metadata=seen)
labels = [n.timeline_label for d in seen.step_stats.dev_stats for n in d.node_stats]
report(y=value, nodes=len(labels), sines=sum("= Sin(" in l for l in labels), products=sum("MatMul(" in l for l in labels))
"""


def test_a_fallback_runs_as_few_nodes_of_a_loop_as_tensorflow(run_pair):
    plain, compiled = run_pair(UNREAD, TEKTITE_FLAGS=f"{KEEP} --compile=async --compile_after_percent=1000000")
    np.testing.assert_allclose(compiled.values["y"], plain.values["y"], rtol=1e-5)
    assert compiled.host["kept_loops"] == 1 and compiled.stats["fallbacks"] == {"NOT_COMPILED": 2}
    assert compiled.values["products"] == plain.values["products"] == 7
    assert compiled.values["sines"] == plain.values["sines"] == 0
    assert compiled.values["nodes"] <= plain.values["nodes"] + 20, plain.values["nodes"]
