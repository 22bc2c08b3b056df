"""Loops of TensorFlow 1, which a graph holds taken apart: made whole again and compiled, with their arrays."""
import numpy as np
import pytest

from tests.end_to_end.batches import Batch

KEEP = "--keep_loops"

# Each program makes `y` of the placeholders x, [None, 6], and n in a graph of its own. The number is how many loops are
# made whole in it.
PROGRAMS = {
    "turns": (1, """
y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf.tanh(v @ w) + 1.0), [0, x])
"""),
    "until": (1, """
y = tf.while_loop(lambda v, k: (k < 20) & (tf.reduce_sum(v) < 1e3), lambda v, k: (tf.abs(v) * 1.5 + 1.0, k + 1), [x, 0])[0]
"""),
    "one turn at a time": (1, """
y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf.tanh(v) * 2.0), [0, x], parallel_iterations=1)[1]
"""),
    "one in the other": (1, """
def outer(i, v):
    return i + 1, tf.while_loop(lambda j, u: j < i, lambda j, u: (j + 1, tf.cos(u) + 0.5), [0, v])[1] * 1.25
y = tf.while_loop(lambda i, v: i < n, outer, [0, x])[1]
"""),
    "behind one another": (2, """
z = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf.tanh(v) + 1.0), [0, x])[1]
y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sin(v @ w)), [0, z * 0.25])[1]
"""),
    "a branch in it": (1, """
def body(i, v):
    return i + 1, tf.cond(tf.reduce_sum(v) > 0.0, lambda: tf.sin(v) - 0.5, lambda: tf.exp(v) * 0.5)
y = tf.while_loop(lambda i, v: i < n, body, [0, x])[1]
"""),
    "in a branch": (1, """
y = tf.cond(n > 2, lambda: tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf.tanh(v) + 1.0), [0, x])[1],
            lambda: tf.exp(x) * 2.0)
"""),
    "map": (1, """
y = tf.map_fn(lambda row: tf.tanh(row) * 2.0 + tf.reduce_sum(row), x)
"""),
    "map of pairs": (1, """
y = tf.map_fn(lambda p: (p[0] * p[1], p[0] + 1.0), (x, x * 2.0), dtype=(tf.float32, tf.float32))
"""),
    "map with a branch": (1, """
y = tf.map_fn(lambda row: tf.cond(row[0] > 0.0, lambda: tf.tanh(row), lambda: row * 0.5), x)
"""),
    "scan": (1, """
y = tf.scan(lambda a, row: tf.tanh(a + row), x, initializer=tf.zeros([6]))
"""),
    "scan that begins with a row": (1, """
y = tf.scan(lambda a, row: tf.tanh(a) + row, tf.concat([x, x[:1] + 1.0, tf.ones([1, 6])], 0))
"""),
    "foldl": (1, """
y = tf.foldl(lambda a, row: a * 0.5 + row, x, initializer=tf.zeros([6]))
"""),
    "foldr": (1, """
y = tf.foldr(lambda a, row: a * 0.5 + row, x, initializer=tf.zeros([6]))
"""),
    "map in a map": (1, """
y = tf.map_fn(lambda row: tf.map_fn(lambda e: tf.tanh(e) + 1.0, row), x)
"""),
    "a cell by hand": (1, """
sequence = tf.transpose(tf.reshape(tf.tile(x, [1, 4]), [-1, 4, 6]), [1, 0, 2])
inputs = tf.TensorArray(tf.float32, size=4).unstack(sequence)
outputs = tf.TensorArray(tf.float32, size=4)
def body(t, h, outputs):
    h = tf.tanh(inputs.read(t) @ w + h @ w)
    return t + 1, h, outputs.write(t, h)
_, last, outputs = tf.while_loop(lambda t, *_: t < 4, body, [0, tf.zeros_like(x), outputs])
y = [last, outputs.stack()]
"""),
    "what was written is read": (1, """
numbers = tf.TensorArray(tf.float32, size=7, clear_after_read=False, element_shape=[])
numbers = numbers.write(0, tf.reduce_sum(x)).write(1, 1.0)
def body(i, numbers):
    return i + 1, numbers.write(i, tf.tanh(numbers.read(i - 1)) + numbers.read(i - 2))
y = tf.while_loop(lambda i, _: i < 7, body, [2, numbers])[1].stack()
"""),
    "less is written than there is room for": (1, """
rows = tf.TensorArray(tf.float32, size=9, element_shape=[2])
rows = tf.while_loop(lambda i, _: i < n, lambda i, r: (i + 1, r.write(i, [tf.cast(i, tf.float32), tf.reduce_sum(x)])),
                     [0, rows])[1]
y = [rows.stack(), rows.size()]
"""),
    "rows one behind the other": (1, """
rows = tf.TensorArray(tf.float32, size=3, infer_shape=False)
rows = tf.while_loop(lambda i, _: i < 3, lambda i, r: (i + 1, r.write(i, tf.tanh(x) * tf.cast(i, tf.float32))), [0, rows])[1]
y = rows.concat()
"""),
    "chosen rows": (1, """
rows = tf.TensorArray(tf.float32, size=5, clear_after_read=False)
rows = tf.while_loop(lambda i, _: i < 5, lambda i, r: (i + 1, r.write(i, x * tf.cast(i, tf.float32))), [0, rows])[1]
y = [rows.gather([4, 0, 2, 2]), rows.read(3)]
"""),
    "several types": (1, """
def body(i, a, b):
    return i + 1, a.write(i, tf.cast(x, tf.float64) * 0.5), b.write(i, x > 0.0)
arrays = [tf.TensorArray(t, size=3) for t in (tf.float64, tf.bool)]
_, a, b = tf.while_loop(lambda i, *_: i < 3, body, [0, *arrays])
y = [a.stack(), b.stack()]
"""),
    "an array that grows": (0, """
rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
y = tf.while_loop(lambda i, _: i < 3, lambda i, r: (i + 1, r.write(i, tf.tanh(x))), [0, rows])[1].stack()
"""),
    "from the last to the first": (1, """
rows = tf.TensorArray(tf.float32, size=4)
y = tf.while_loop(lambda i, _: i >= 0, lambda i, r: (i - 1, r.write(i, tf.tanh(x) + tf.cast(i, tf.float32))), [3, rows])[1].stack()
"""),
    "random numbers": (0, """
y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v + tf.zeros_like(v) * tf.random.uniform([])), [0, x])[1]
"""),
    "a reference is assigned to in it": (0, """
counter = v1.get_variable("counter", initializer=1.0, use_resource=False)
def body(i, v):
    with tf.control_dependencies([v1.assign_add(counter, 1.0)]):
        return i + 1, tf.tanh(v) + tf.cast(i, tf.float32)
done = tf.while_loop(lambda i, v: i < n, body, [0, x], parallel_iterations=1)[1]
with tf.control_dependencies([done]):
    y = [done, counter.read_value()]
"""),
    "a variable is assigned to in it": (1, """
counter = v1.get_variable("counter", initializer=1.0, use_resource=True)
def body(i, v):
    with tf.control_dependencies([counter.assign_add(2.0)]):
        return i + 1, tf.tanh(v) + counter.read_value()
done = tf.while_loop(lambda i, v: i < n, body, [0, x], parallel_iterations=1)[1]
with tf.control_dependencies([done]):
    y = [done, counter.read_value()]
"""),
    "a variable is assigned to before it": (1, """
counter = v1.get_variable("counter", initializer=1.0, use_resource=True)
with tf.control_dependencies([counter.assign_add(1.0)]):
    y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf.tanh(v) + counter.read_value()), [tf.constant(0), x])[1]
"""),
    "a variable is assigned to before a loop in it": (1, """
counter = v1.get_variable("counter", initializer=1.0, use_resource=True)
def body(i, v):
    with tf.control_dependencies([counter.assign_add(1.0)]):
        start = tf.identity(v)
    with tf.control_dependencies([start]):
        inner = tf.while_loop(lambda j, u: j < 2, lambda j, u: (j + 1, tf.tanh(u) + counter.read_value()), [tf.constant(0), v])[1]
    with tf.control_dependencies([inner]):
        after = counter.assign_sub(0.25)
    with tf.control_dependencies([after]):
        return i + 1, tf.identity(inner)
y = tf.while_loop(lambda i, v: i < n, body, [0, x], parallel_iterations=1)[1]
"""),
    "it prints": (0, """
def body(i, v):
    return i + 1, v1.Print(tf.tanh(v), [i], "turn")
y = tf.while_loop(lambda i, v: i < n, body, [0, x])[1]
"""),
    "a variable is read in it and assigned to before": (1, """
weight = v1.get_variable("weight", initializer=normal(6, 6), use_resource=True)
with tf.control_dependencies([weight.assign(weight * 0.5)]):
    start = tf.identity(x)
with tf.control_dependencies([start]):
    y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf.tanh(v @ weight)), [0, start])[1]
"""),
    "room that only a value tells": (0, """
rows = tf.TensorArray(tf.float32, size=n + 1)
y = tf.while_loop(lambda i, _: i < n + 1, lambda i, r: (i + 1, r.write(i, tf.tanh(x))), [0, rows])[1].stack()
"""),
    "the gradient": (0, """
z = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.tanh(v @ w) + 1.0), [0, x])[1]
y = tf.gradients(tf.reduce_sum(z), x)
"""),
    "the gradient of a map": (0, """
y = tf.gradients(tf.reduce_sum(tf.map_fn(lambda row: tf.tanh(row) * row, x)), x)
"""),
    "in one that is not compiled": (1, """
def body(i, v):
    inner = tf.while_loop(lambda j, u: j < 3, lambda j, u: (j + 1, tf.tanh(u) + tf.cast(j, tf.float32)), [0, v])[1]
    return i + 1, v1.Print(inner, [i], "turn")
y = tf.while_loop(lambda i, v: i < n, body, [0, x])[1]
"""),
}

REFUSED_BY_THE_IMPORTER = {"from the last to the first": "an array is not written in order"}

START = """
v1 = tf.compat.v1
v1.disable_control_flow_v2()
v1.disable_eager_execution()
"""

TEXT = """
v1.reset_default_graph()
w = tf.constant(normal(6, 6) * 0.5)
x, n = v1.placeholder(tf.float32, [None, 6], name="x"), v1.placeholder(tf.int32, [], name="n")
{program}
fetched = y
special = np.array([[np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0]], np.float32)
values = []
with v1.Session() as session:
    session.run(v1.global_variables_initializer())
    for fed, turns in ((normal(5, 6), 4), (normal(1, 6), 1), (normal(5, 6), 0), (special, 3), (normal(5, 6), 4)):
        result = session.run(fetched, {{x: fed, n: turns}})
        values.append([np.nan_to_num(v, nan=12345.0) for v in tf.nest.flatten(result)])
report(y=values)
"""


def same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        for p, q in zip(a, b, strict=True):
            np.testing.assert_allclose(p, q, rtol=2e-5, atol=1e-6)


ALL = Batch("version 1 loops", {name: TEXT.format(program=program) for name, (_, program) in PROGRAMS.items()},
            preamble=START, TEKTITE_FLAGS=KEEP)


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_tensorflows(run_batch, name):
    loops, _ = PROGRAMS[name]
    plain, compiled = run_batch(ALL, name)
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["rebuilt_loops"] == loops, compiled.stats["left_out"]
    assert compiled.host["lowered_loops"] == 0 and compiled.host["unrebuilt_graphs"] == 0
    refused = REFUSED_BY_THE_IMPORTER.get(name)
    if refused:
        assert refused in compiled.stats["fallback_examples"]["NO_CODE"]
    elif loops:
        assert compiled.host["fallbacks"] == {}


# What must not be compiled, or is an error for some values: each program makes `y`, and one call follows the other.
WRONG = {
    "written twice": "y = rows().write(1, x[0]).stack()",
    "read twice": "r = rows(); y = [r.read(1), r.read(1) * 2.0]",
    "read in each turn": """
r = rows()
y = tf.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, a + r.read(0)), [0, tf.zeros([6])], parallel_iterations=1)[1]
""",
    "read and stacked": "r = rows(); y = [r.read(1), r.stack()]",
    "read behind the end": "y = rows().read(n) * 2.0",
    "written behind the end": "y = rows(n).stack()",
    "written in part": "y = rows(n, infer_shape=False).stack()",
    "written in part, of a known shape": "y = rows(n, element_shape=[6]).stack()",
    "rows of other shapes": """
r = tf.TensorArray(tf.float32, size=4, infer_shape=False)
y = tf.while_loop(lambda i, _: i < 4, lambda i, r: (i + 1, r.write(i, tf.tanh(x[:i]))), [0, r])[1].read(n)
""",
    "other numbers of rows": """
r = tf.TensorArray(tf.float32, size=4).unstack(x[:n + 1])
y = tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, a + r.read(i)), [0, tf.zeros([6])])[1]
""",
    "read along an older flow": """
r = tf.TensorArray(tf.float32, size=4, clear_after_read=False, element_shape=[6])
written = r.write(0, x[0]).write(1, tf.tanh(x[0]))
with tf.control_dependencies([written.flow]):
    y = [r.stack() * 2.0, written.read(1)]
""",
    "read along a flow from before the loop": """
r = tf.TensorArray(tf.float32, size=4, clear_after_read=False, element_shape=[6])
written = fill(r, 4)
with tf.control_dependencies([written.flow]):
    y = [r.stack() * 2.0, written.read(1)]
""",
    "two flows out of one": """
r = tf.TensorArray(tf.float32, size=2, clear_after_read=False, element_shape=[6])
first = r.write(0, x[0])
with tf.control_dependencies([first.flow]):
    second = r.write(1, tf.tanh(x[0]))
with tf.control_dependencies([second.flow]):
    y = first.stack() * 2.0
""",
    "the flow is fetched": "r = rows(); y = [r.flow, r.stack()]",
    "an error in a loop": "y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf.reshape(v, [n + 3, 6])), [0, x])[1]",
}

WRONG_TEXT = """
v1.reset_default_graph()
x, n = v1.placeholder(tf.float32, [None, 6]), v1.placeholder(tf.int32, [])
def fill(r, turns):
    return tf.while_loop(lambda i, _: i < turns, lambda i, r: (i + 1, r.write(i, tf.tanh(x[0]) * tf.cast(i, tf.float32))),
                         [0, r])[1]
def rows(turns=4, **options):
    return fill(tf.TensorArray(tf.float32, size=4, **options), turns)
{program}
values = []
with v1.Session() as session:
    for turns in (3, 1, 4, 5, 0, 3):
        try:
            values.append([v for v in tf.nest.flatten(session.run(y, {{x: normal(5, 6), n: turns}}))])
        except tf.errors.OpError as error:
            values.append(type(error).__name__)
report(y=values)
"""

ALL_WRONG = Batch("wrong version 1 loops", {name: WRONG_TEXT.format(program=text) for name, text in WRONG.items()},
                  preamble=START, TEKTITE_FLAGS=KEEP)


@pytest.mark.parametrize("name", WRONG)
def test_errors_and_order_are_tensorflows(run_batch, name):
    plain, compiled = run_batch(ALL_WRONG, name)
    for ours, theirs in zip(compiled.values["y"], plain.values["y"], strict=True):
        if isinstance(theirs, str) or isinstance(ours, str):
            assert ours == theirs
        else:
            same([ours], [theirs])


def test_a_frozen_graph_and_its_fetches(run_pair):
    """Each fetch prunes the graph differently; nodes of a loop keep the names that are fetched."""
    plain, compiled = run_pair(START + """
with tf.Graph().as_default() as graph:
    x = v1.placeholder(tf.float32, [None, 5, 6], name="x")
    tf.identity(tf.map_fn(lambda rows: tf.scan(lambda a, row: tf.tanh(a + row), rows), x), name="y")
    tf.identity(tf.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, tf.tanh(v) + 1.0), [0, x])[1], name="z")
    frozen = graph.as_graph_def()
y = []
with tf.Graph().as_default():
    tf.import_graph_def(frozen, name="")
    with v1.Session() as session:
        for fetched in (["y:0", "z:0"], ["z:0"], ["y:0"], ["while/Exit_1:0", "while/Exit:0"], ["y:0", "z:0"]):
            y.append(session.run(fetched, {"x:0": normal(3, 5, 6)}))
        setup = session.partial_run_setup(["y:0", "z:0"], ["x:0"])
        y.append([session.partial_run(setup, "z:0", {"x:0": normal(2, 5, 6)}), session.partial_run(setup, "y:0")])
report(y=y)
""", TEKTITE_FLAGS=KEEP)
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["rebuilt_loops"] == 7 and compiled.host["fallbacks"] == {}


@pytest.mark.parametrize("inner", [False, True])
def test_turns_one_at_a_time_stay_so_in_tensorflows_kernels(run_pair, inner):
    """What keeps the reading of a turn before the writing of the next is the number of turns at once alone."""
    text = START + f"""
n = v1.placeholder(tf.int32, [])
total = v1.get_variable("total", initializer=0.0, use_resource=True)
def body(i, v):
    with tf.control_dependencies([total.assign_add(tf.cast(i, tf.float32))]):
        return i + 1, v + total.read_value()
def turns(v):
    return tf.while_loop(lambda i, v: i < n, body, [0, v], parallel_iterations=1)[1]
def outer(k, v):
    return k + 1, turns(v)
y = tf.while_loop(lambda k, v: k < 2, outer, [0, 0.0], parallel_iterations=1)[1] if {inner} else turns(0.0)
with v1.Session() as session:
    session.run(v1.global_variables_initializer())
    values = [[session.run(y, {{n: turns}})] for turns in (5, 40, 40, 40)]
report(y=values)
"""
    plain, compiled = run_pair(text, TEKTITE_FLAGS=f"{KEEP} --compile=async --compile_after_percent=1000000")
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["rebuilt_loops"] == 1


def test_a_wrapped_graph_in_functions_and_datasets(run_pair):
    plain, compiled = run_pair("""
v1 = tf.compat.v1
v1.disable_control_flow_v2()
with tf.Graph().as_default() as graph:
    x = v1.placeholder(tf.float32, [None, 6], name="x")
    tf.identity(tf.map_fn(lambda row: tf.tanh(row) + tf.reduce_sum(row), x), name="y")
wrapped = v1.wrap_function(lambda: tf.import_graph_def(graph.as_graph_def(), name=""), []).prune("x:0", "y:0")
outer = tf.function(lambda x: wrapped(x) * 2.0 + 1.0)
data = tf.data.Dataset.from_tensor_slices(normal(3, 4, 6)).map(wrapped)
report(y=[[wrapped(tf.constant(normal(k, 6))), outer(tf.constant(normal(k, 6)))] for k in (4, 1)] + [[*data], [*data]])
""", TEKTITE_FLAGS=KEEP)
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["rebuilt_loops"] >= 4 and compiled.host["fallbacks"] == {}


def test_dynamic_rnn(run_pair):
    plain, compiled = run_pair(START + """
class Cell:
    state_size = output_size = 6
    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        return tf.zeros([batch_size, 6])
    zero_state = lambda self, batch_size, dtype: tf.zeros([batch_size, 6])
    def __call__(self, x, h, scope=None):
        h = tf.tanh(x @ w + h)
        return h, h
    call = __call__
w = tf.constant(normal(6, 6))
x, lengths = v1.placeholder(tf.float32, [None, 7, 6]), v1.placeholder(tf.int32, [None])
y = [v1.nn.dynamic_rnn(Cell(), x, dtype=tf.float32), v1.nn.dynamic_rnn(Cell(), x, lengths, dtype=tf.float32)]
with v1.Session() as session:
    report(y=[tf.nest.flatten(session.run(y, {x: normal(3, 7, 6), lengths: l})) for l in ([7, 3, 2], [5, 1, 4], [0, 0, 0])])
""", TEKTITE_FLAGS=KEEP)
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["rebuilt_loops"] == 2 and compiled.host["fallbacks"] == {}


def test_without_the_flag_none_is_made_whole(run_pair):
    plain, compiled = run_pair(START + TEXT.format(program=PROGRAMS["map"][1]), TEKTITE_FLAGS="--keep_loops=false")
    same(compiled.values["y"], plain.values["y"])
    assert compiled.host["rebuilt_loops"] == 0 and compiled.host["kept_loops"] == 0
