"""Variables of which some rows change have TensorFlow's values after every step, in TensorFlow's two modes (a variable whose
rows TensorFlow's own kernels have changed is in copy-on-read mode for good), and rows are written where they lie."""

import pytest

from tests.end_to_end.batches import Batch
from tests.end_to_end.training.test_variable_updates import check_close

# Whether TensorFlow's kernels have changed rows before compiled code does.
MODES = {"rows of which nobody has changed": False, "rows that TensorFlow has changed": True}

PREAMBLE = """
import hashlib
raw = tf.raw_ops
def variable(value, sparse):
    v = tf.Variable(value)
    if sparse:
        raw.ResourceScatterUpdate(resource=v.handle, indices=[0], updates=v[:1] * 1)
    return v
def rows(n, count):
    return tf.constant(rng.integers(0, n, count))
def digest(v):  # of all bits, where there are too many values to pass on
    return hashlib.sha256(v.numpy().tobytes()).hexdigest()
"""

SCATTERS = """
v, w = variable(normal(40, 6), SPARSE), variable(normal(40, 6), SPARSE)
counts = variable(rng.integers(0, 9, (40,)), SPARSE)
@tf.function
def f(at, x, points, y):
    raw.ResourceScatterAdd(resource=v.handle, indices=at, updates=x)
    raw.ResourceScatterMul(resource=v.handle, indices=at, updates=1.0 + x * 0.125)
    between = tf.gather(v, at)
    raw.ResourceScatterSub(resource=w.handle, indices=at, updates=x)
    raw.ResourceScatterDiv(resource=w.handle, indices=at, updates=2.0)
    raw.ResourceScatterMax(resource=w.handle, indices=at, updates=x * 0.5)
    raw.ResourceScatterMin(resource=w.handle, indices=at, updates=x * 3.0)
    raw.ResourceScatterNdAdd(ref=v.handle, indices=points, updates=y)
    raw.ResourceScatterNdUpdate(ref=w.handle, indices=points[:1], updates=y[:1])
    raw.ResourceScatterAdd(resource=counts.handle, indices=at, updates=tf.constant(1, tf.int64))
    v[3:5].assign(x[:2] * 2.0)
    v[::7, 1].assign(tf.zeros([6]))
    return between, v * 1.5
ys = []
for _ in range(5):
    points = np.stack([rng.integers(0, 40, 7), rng.integers(0, 6, 7)], 1)
    ys.append(f(rows(40, 9), tf.constant(normal(9, 6)), tf.constant(points), tf.constant(normal(7))))
    if _ == 2: w.assign_add(normal(40, 6))
report(ys=ys, v=v, w=w, counts=counts)
"""

AN_ERROR = """
v, m = variable(normal(40, 6), SPARSE), tf.Variable(normal(6))
@tf.function
def f(at, x):
    m.assign_add(x[0])
    v.scatter_add(tf.IndexedSlices(x * 2.0, at))
    return v[0] * m
f(rows(40, 3), tf.constant(normal(3, 6)))
before, errors = [v.numpy(), m.numpy()], []
for bad in ([1, 40, 2], [-1, 1, 2]):
    try:
        f(tf.constant(bad, tf.int64), tf.constant(normal(3, 6)))
    except tf.errors.InvalidArgumentError as error:
        errors.append(str(error).splitlines()[0].split("{{")[0])
f(rows(40, 3), tf.constant(normal(3, 6)))
report(errors=errors, before=before)
"""

A_HOLDER = """
v = variable(normal(500, 6), SPARSE)
@tf.function
def f(at, x):
    v.scatter_add(tf.IndexedSlices(x * 2.0, at))
    v.scatter_sub(tf.IndexedSlices(x * x, at))
kept = []
for _ in range(5):
    kept.append(v.read_value())
    f(rows(500, 3), tf.constant(normal(3, 6)))
report(kept=kept, v=v)
"""

DENSE_AND_SPARSE = """
v = variable(normal(30, 4), SPARSE)
@tf.function
def f(at, x):
    v.assign(v * 0.5)
    v.scatter_add(tf.IndexedSlices(x * 2.0, at))
    return tf.gather(v, at)
@tf.function
def g(x):
    v.assign_sub(v * x * 0.25)
    return v * 2.0
ys = []
for _ in range(4):
    ys.append(f(rows(30, 5), tf.constant(normal(5, 4))))
    ys.append(g(tf.constant(normal(30, 4))))
report(ys=ys, v=v)
"""

NAMES = {"scatters": SCATTERS, "an error": AN_ERROR, "who holds the old value keeps it": A_HOLDER,
         "all of a variable and rows of it": DENSE_AND_SPARSE}
PROGRAMS = {f"{name}, {mode}": text.replace("SPARSE", str(sparse)) for name, text in NAMES.items()
            for mode, sparse in MODES.items()}
ALL_PROGRAMS = Batch("programs that change rows", PROGRAMS, PREAMBLE)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(run_batch, name):
    plain, compiled = run_batch(ALL_PROGRAMS, name)
    assert compiled.values == plain.values
    assert compiled.host["updates"] > 0


OPTIMIZERS = {
    "GradientDescent": "0.1", "Momentum": "0.1, 0.9", "Momentum with Nesterov": "0.1, 0.9, use_nesterov=True", "Adagrad": "0.1",
    "Adadelta": "0.5", "RMSProp": "0.01, momentum=0.5", "RMSProp centered": "0.01, momentum=0.5, centered=True",
    "Ftrl": "0.1, l1_regularization_strength=0.01", "ProximalAdagrad": "0.1, l1_regularization_strength=0.01",
    "ProximalGradientDescent": "0.1, l2_regularization_strength=0.01", "Adam": "0.01",
}
TRAINING = """
table = tf.Variable(normal(1000, 16))
dense = tf.Variable(normal(16, 4) * 0.25)
optimizer = tf.compat.v1.train.{name}Optimizer({options})
@tf.function
def step(at, labels):
    with tf.GradientTape() as tape:
        x = tf.reduce_mean(tf.gather(table, at), 1)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.tanh(x) @ dense)
        loss = tf.reduce_mean(losses)
    gradients = tape.gradient(loss, [table, dense])
    assert isinstance(gradients[0], tf.IndexedSlices)
    optimizer.apply_gradients(zip(gradients, [table, dense]))
    return loss
losses = [step(tf.constant(rng.zipf(1.3, (32, 5)) % 1000), tf.constant(rng.integers(0, 4, 32))) for _ in range(8)]
report(losses=losses, table=[table], dense=[dense])
"""
ALL_OPTIMIZERS = Batch("optimizers of rows", {
    name: TRAINING.format(name=name.split()[0], options=options) for name, options in OPTIMIZERS.items()}, PREAMBLE)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(run_batch, name):
    plain, compiled = run_batch(ALL_OPTIMIZERS, name)
    check_close(plain, compiled, 2e-4)
    assert compiled.host["updates"] > 0
    assert compiled.host["fallbacks"] == {}


THREADS = PREAMBLE + """
v, n = variable(tf.zeros([50, 8]), SPARSE), tf.Variable(0, dtype=tf.int64)
@tf.function
def f(at, x):
    n.assign_add(1)
    v.scatter_add(tf.IndexedSlices(x * 2.0, at))
    return tf.reduce_sum(v)
at, x = tf.constant([3, 3, 49], tf.int64), tf.ones([3, 8])
f(at, x)
stop, wrong = [], []
def read():
    while not stop:
        y = v.numpy()
        if (y[3] != y[3, 0]).any() or (y[49] != y[49, 0]).any():
            wrong.append(y.tolist())
def work():
    for _ in range(100): f(at, x)
readers = [threading.Thread(target=read)]
threads = [threading.Thread(target=work) for _ in range(3)]
for t in [*threads, *readers]: t.start()
for _ in range(50): v.assign_add(tf.ones([50, 8]))
for t in threads: t.join()
stop.append(True)
for t in readers: t.join()
report(n=n, wrong=wrong, v=[v.numpy()[0].max(), v.numpy()[3].min(), v.numpy()[49].max()])
"""


@pytest.mark.parametrize("mode", MODES)
def test_threads_that_read_and_assign(run_program, mode):
    result = run_program(THREADS.replace("SPARSE", str(MODES[mode])), tektite="1")
    assert result.values["n"] == 301
    assert result.host["updates"] > 0
    # Where compiled code does not come to it, TensorFlow's kernels run, which change rows under a shared lock: such an
    # update may be lost to another thread's, as it may without Tektite.
    v = result.values["v"]
    assert v[0] == 50
    assert v[1] <= 50 + 4 * 301 and v[2] <= 50 + 2 * 301


def test_rows_are_written_where_they_lie(run_program):
    text = PREAMBLE + """
v, m = tf.Variable(tf.zeros([200000, 32])), tf.Variable(tf.ones([200000, 32]))
@tf.function
def f(at, g):
    raw.ResourceSparseApplyMomentum(var=v.handle, accum=m.handle, lr=0.1, grad=g * 2.0, indices=at, momentum=0.9)
    v.scatter_add(tf.IndexedSlices(g, at))
for _ in range(10): f(rows(200000, 64), tf.constant(normal(64, 32)))
report(done=1)
"""
    host = run_program(text, tektite="1").host
    assert host["updates"] == 20
    assert host["copied_updates"] <= 2  # other tensors share the first values


def test_copy_on_read_mode_is_no_dead_end(run_program):
    text = PREAMBLE + """
v, w = variable(normal(100, 8), True), tf.Variable(normal(8))
@tf.function
def f(at, g):
    w.assign_add(g[0])
    v.assign(v * 0.5)
    v.scatter_add(tf.IndexedSlices(g * 2.0, at))
    return tf.reduce_sum(v) + tf.reduce_sum(w)
for _ in range(6): f(rows(100, 4), tf.constant(normal(4, 8)))
report(v=v)
"""
    host = run_program(text, tektite="1").host
    assert host["fallbacks"] == {}
    assert host["updates"] == 12
    assert host["copied_updates"] <= 1


# With the defaults of a user, so that clusters must be worth it.
AS_USED = "--min_cluster_cost=20000"
TABLE = """
v, m = tf.Variable(normal(5000, 64)), tf.Variable(tf.ones([5000, 64]))
small = tf.Variable(normal(100, 8))
points = lambda at: tf.stack([at, at % 8], 1)
def calls(f, count, table=v):
    n = table.shape[0]
    ys = [f(rows(n, count), tf.constant(normal(count, table.shape[1]))) for _ in range(5)]
    report(left=[digest(w) for w in (v, m, small)], ys=[y for y in ys if y is not None])
"""
ADAGRAD = "raw.ResourceSparseApplyAdagradV2(var=v.handle, accum=m.handle, lr=0.1, epsilon=1e-7, grad=g, indices=at)"
ADD = "raw.ResourceScatterAdd(resource={}.handle, indices=at, updates=g)"
REPLACE = "raw.ResourceScatterUpdate(resource=v.handle, indices=at, updates=g)"
BESIDE = "; return tf.strings.length(tf.strings.as_string(at[:2]))"
# What a function does, its indices, and its table.
STEPS = {
    "a lone update of few rows": ("small.scatter_update(tf.IndexedSlices(g, at))", 4, "small"),
    "a lone sum of few rows": (ADD.format("small"), 4, "small"),
    "a lone slice": ("small[2:4].assign(g[:2] * 1.0)", 4, "small"),
    "points": ("raw.ResourceScatterNdAdd(ref=small.handle, indices=points(at), updates=g[:, 0])", 4, "small"),
    "rows and what lies there then": (ADD.format("small") + "; return tf.gather(small, at)", 4, "small"),
    "an optimizer": (ADAGRAD, 64, "v"),
    "an optimizer of rows that come twice": (
        "u, where = tf.unique(at); at, g = u, tf.math.unsorted_segment_sum(g, where, tf.shape(u)[0]); " + ADAGRAD
        + "; return tf.gather(v, at[:1])", 64, "v"),
    "many rows beside what is not compiled": (ADAGRAD + BESIDE, 256, "v"),
}
FEW_ROWS_BESIDE = {
    "an update": (ADD.format("small") + BESIDE, 4, "small"),
    "rows that are replaced": (REPLACE + BESIDE, 256, "v"),
}


def step_programs(steps: dict[str, tuple[str, int, str]]) -> dict[str, str]:
    return {name: TABLE + f"""
@tf.function
def f(at, g):
    {body}
calls(f, {count}, {table})
""" for name, (body, count, table) in steps.items()}


ALL_STEPS = Batch("steps that change rows", step_programs({**STEPS, **FEW_ROWS_BESIDE}), PREAMBLE, TEKTITE_FLAGS=AS_USED)


@pytest.mark.parametrize("name", STEPS)
def test_steps_that_change_rows_are_worth_compiling(run_batch, name):
    plain, compiled = run_batch(ALL_STEPS, name)
    assert compiled.values == plain.values
    assert compiled.host["updates"] >= 5
    assert compiled.host["fallbacks"] == {}


@pytest.mark.parametrize("name", FEW_ROWS_BESIDE)
def test_few_rows_beside_other_ops_are_not(run_batch, name):
    plain, compiled = run_batch(ALL_STEPS, name)
    assert compiled.values == plain.values
    assert compiled.host["updates"] == 0


SMALL_ADD = "raw.ResourceScatterAdd(resource=v.handle, indices=[3, 3, 99], updates=tf.ones([3, 8]))"
WITHOUT_DIRECT_CALLS = {
    "a session": ("""
tf.compat.v1.disable_eager_execution()
session, v = tf.compat.v1.Session(), tf.compat.v1.get_variable("v", initializer=np.zeros([100, 8], np.float32), use_resource=True)
session.run(v.initializer)
add = """ + SMALL_ADD + """
call = lambda: session.run(add)""", ""),
}


@pytest.mark.parametrize("name", WITHOUT_DIRECT_CALLS)
def test_small_steps_without_direct_calls_are_not_worth_compiling(run_program, name):
    text, flags = WITHOUT_DIRECT_CALLS[name]
    text = PREAMBLE + text + "\nfor _ in range(5): call()\nreport(done=1)"
    result = run_program(text, tektite="1", TEKTITE_FLAGS=AS_USED + flags)
    assert result.host["updates"] == 0
    assert "ResourceScatterAdd" in result.stats["left_out"]["TOO_SMALL"]["example"]


LOOP = """
v, m = tf.Variable(normal(100000, 64)), tf.Variable(tf.ones([100000, 64]))
g = tf.constant(normal(16, 64))
@tf.function
def f(all):
    for t in tf.range(tf.shape(all)[0]):
        at = tf.gather(all, t)
        UPDATE
    return tf.reduce_sum(v)
def indices(turns): return rng.integers(0, 100000, (turns, 16))
ys = [f(tf.constant(indices(turns))) for turns in (1000, 1000, 7, 0, 1)]
errors, bad = [], indices(100)
bad[50, 3] = 100000
try:
    f(tf.constant(bad))
except tf.errors.InvalidArgumentError as error:
    errors.append("100000" in str(error))
report(ys=ys, errors=errors, left=[digest(w) for w in (v, m)])
"""
UPDATES_IN_TURNS = {
    "a sum": "v.scatter_add(tf.IndexedSlices(g * tf.cast(t, tf.float32), at))",
    "two sums": "v.scatter_add(tf.IndexedSlices(g, at)); v.scatter_sub(tf.IndexedSlices(g * 0.5, at))",
    "an optimizer": "raw.ResourceSparseApplyAdagradV2(var=v.handle, accum=m.handle, lr=0.1, epsilon=1e-7, grad=g, indices=at)",
    "rows that are read before": "v.scatter_update(tf.IndexedSlices(tf.gather(v, at) * 0.5 + g, at))",
}
LOOPS = Batch("loops that change rows", {name: LOOP.replace("UPDATE", text) for name, text in UPDATES_IN_TURNS.items()}, PREAMBLE)


@pytest.mark.parametrize("name", UPDATES_IN_TURNS)
def test_turns_of_a_loop(run_batch, name):
    plain, compiled = run_batch(LOOPS, name)
    assert plain.values["errors"] == [True]
    assert compiled.values["errors"] == plain.values["errors"]
    assert compiled.values["left"] == plain.values["left"]
    assert compiled.values["ys"] == pytest.approx(plain.values["ys"], rel=1e-4)
    assert compiled.host["updates"] >= 4  # without the call of no turns
    assert compiled.host["copied_updates"] <= 2  # other tensors share the first values


def test_turns_write_rows_where_they_lie(run_program):
    """A call of few turns takes nothing like the time of a copy of the table, which is 100 MB."""
    text = PREAMBLE + """
import time
v = tf.Variable(tf.zeros([400000, 64]))
g = tf.constant(normal(16, 64))
@tf.function
def f(all):
    for t in tf.range(tf.shape(all)[0]):
        v.scatter_add(tf.IndexedSlices(g, tf.gather(all, t)))
@tf.function
def copy(): return v * 1.0
def least(f, *args):
    seconds = []
    for _ in range(12):
        begin = time.perf_counter()
        f(*args)
        seconds.append(time.perf_counter() - begin)
    return min(seconds)
report(loop=least(f, tf.constant(rng.integers(0, 400000, (10, 16)))), copy=least(copy))
"""
    result = run_program(text, tektite="1")
    assert result.host["updates"] == 12
    assert result.values["loop"] < result.values["copy"] / 4
