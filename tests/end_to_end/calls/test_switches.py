"""The switches that turn Tektite on and off, alone and together: each process is checked by the plugin's counters, and
its numbers against a process with TEKTITE=0."""

import functools

import numpy as np
import pytest

PROGRAM = """
w = tf.Variable(normal(8))
x = normal(4, 8)
scope = tf.xla.experimental.jit_scope

def net(x):
    plain = tf.nn.relu(x * 2.0 + 1.0)
    if ANNOTATED:
        with scope():
            inside = tf.nn.relu(x * 3.0 + 2.0)
            with scope(compile_ops=False):
                left_out = tf.nn.relu(inside * 4.0 + 3.0)
            with scope():
                nested = tf.nn.relu(inside * 5.0 + 4.0)
        plain = plain + left_out + nested
    return plain * 2.0

def ops_placed():
    return tektite.stats().get("host", {}).get("ops_placed", 0)

tf.config.optimizer.set_jit(SESSION)
f = tf.function(lambda x: net(x) * w)
function = [f(tf.constant(x)) for _ in range(2)]
function_ops = ops_placed()

tf1 = tf.compat.v1
config = tf1.ConfigProto()
if SESSION:
    config.graph_options.optimizer_options.global_jit_level = tf1.OptimizerOptions.ON_1
with tf.Graph().as_default(), tf1.Session(config=config) as session:
    p = tf1.placeholder(tf.float32, [None, 8])
    y = net(p)
    sessions = [session.run(y, {p: x}) for _ in range(2)]
report(numbers=[function, sessions], ops=[function_ops, ops_placed() - function_ops])
"""

# (TEKTITE, session flag, annotations) -> what is compiled.
NOTHING, ANNOTATED, EVERYTHING = "nothing", "annotated", "everything"
CASES = [
    (None, False, False, NOTHING),
    (None, False, True, ANNOTATED),
    (None, True, False, EVERYTHING),
    (None, True, True, EVERYTHING),
    ("1", False, False, EVERYTHING),
    ("1", False, True, EVERYTHING),
    ("1", True, True, EVERYTHING),
    ("scoped", False, False, NOTHING),
    ("scoped", True, False, NOTHING),
    ("scoped", True, True, ANNOTATED),
    ("scoped", False, True, ANNOTATED),
    ("0", False, True, NOTHING),
    ("0", True, False, NOTHING),
    ("", True, False, EVERYTHING),
]


def program(session: bool, annotated: bool) -> str:
    return PROGRAM.replace("SESSION", str(session)).replace("ANNOTATED", str(annotated))


@pytest.fixture(scope="module")
def outcome():
    """Runs each combination once."""
    return functools.lru_cache(None)(
        lambda run, session, annotated, switch: run(program(session, annotated), tektite=switch))


@pytest.mark.parametrize("switch, session, annotated, extent", CASES)
def test_extent(run_program, outcome, switch, session, annotated, extent):
    expected = outcome(run_program, False, annotated, "0")
    everything = outcome(run_program, False, annotated, "1")
    result = outcome(run_program, session, annotated, switch)
    np.testing.assert_allclose(result.values["numbers"], expected.values["numbers"], rtol=2e-5,
                               atol=1e-6)
    for ops, all_ops in zip(result.values["ops"], everything.values["ops"], strict=True):
        if extent == NOTHING:
            assert ops == 0
        elif extent == EVERYTHING:
            assert ops == all_ops > 0
        else:
            assert 0 < ops < all_ops
    assert (result.stats == {}) == (switch == "0")
    assert ("runs" in result.stats) == (extent != NOTHING)


def test_compile_ops_false_is_respected(run_program):
    text = """
@tf.function
def f(x):
    with tf.xla.experimental.jit_scope(compile_ops=False):
        return tf.nn.relu(x * 2.0 + 1.0) * 0.5
report(y=f(tf.constant(normal(4, 8))))
"""
    assert run_program(text, tektite="1").host["clusters_placed"] == 0


def test_scopes_are_clusters_of_their_own(run_program):
    text = """
scope = tf.xla.experimental.jit_scope
@tf.function
def f(x):
    with scope():
        x = tf.nn.relu(x * 2.0 + 1.0)
    with scope():
        x = tf.nn.relu(x * 3.0 + 1.0)
    return x
report(y=f(tf.constant(normal(4, 8))))
"""
    assert run_program(text, tektite="scoped").host["clusters_placed"] == 2


def test_must_compile_functions_stay_with_xla_where_nothing_is_taken_over(run_program):
    text = """
w = tf.Variable(normal(8))
@tf.function(jit_compile=True)
def f(x):
    return tf.nn.relu(x * w + 1.0) * 0.5
report(y=f(tf.constant(normal(4, 8))))
"""
    result = run_program(text, tektite="1", TEKTITE_FLAGS="--take_over_xla=false")
    assert result.host["graphs"] == 0
    np.testing.assert_allclose(result.values["y"], run_program(text, tektite="0").values["y"],
                               rtol=1e-5)


def test_eager_ops_stay_with_tensorflow(run_program):
    result = run_program("report(y=tf.nn.relu(tf.constant(normal(4, 8)) * 2.0))", tektite="1")
    assert result.host["graphs"] == 0


def test_unknown_value_is_one_line_and_counts_as_unset(run_program):
    result = run_program(program(False, False), tektite="yes")
    assert result.lines() == ["tektite: TEKTITE=yes is not 0, 1 or scoped; treated as unset"]
    assert result.host["graphs"] == 0


def test_off_opens_nothing_and_unset_opens_no_compiler(run_program):
    text = "report(maps=open('/proc/self/maps').read())"
    assert "libtektite_tf" not in run_program(text, tektite="0").values["maps"]
    unset = run_program(text).values["maps"]
    assert "libtektite_tf" in unset and "libtektite.so" not in unset
