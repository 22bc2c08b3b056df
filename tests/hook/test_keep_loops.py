"""Loops that the hook keeps whole, whatever becomes of them afterwards."""

import numpy as np
import pytest

LOOPS = """
w = tf.Variable(normal(8))

@tf.function
def f(x, n):
    for i in tf.range(n):
        x = tf.nn.relu(x * w + 1.0) * 0.5
    w.assign_add(tf.ones(8))
    for i in tf.range(n):
        x = tf.nn.relu(x * w + 0.5) * 0.5
    return x + 1.0

x = tf.constant(normal(4, 8))
report(y=[f(x, tf.constant(n)) for n in (3, 0, 1)], w=w)
"""


# 1: no cluster takes them in the end, so the last pass takes them apart, and their bodies are clusters as ever.
@pytest.mark.parametrize("keep, kept, lowered", [("0", 0, 0), ("1", 0, 2), ("2", 2, 0)])
def test_what_becomes_of_a_loop(run_fake, keep, kept, lowered):
    expected = run_fake(LOOPS, tektite="0")
    result = run_fake(LOOPS, tektite="1", FAKE_TEKTITE_KEEP=keep, FAKE_TEKTITE_CODE="12" if kept else "0")
    np.testing.assert_allclose(result.values["w"], expected.values["w"])
    for ours, theirs in zip(result.values["y"], expected.values["y"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert (result.host["kept_loops"], result.host["lowered_loops"]) == (kept, lowered)
    if kept == 0:
        assert result.host["clusters_placed"] == 3  # a body each, and the sum at the end


# A cluster that cannot be placed leaves its loop behind.
def test_a_loop_of_a_refused_cluster_is_taken_apart(run_fake):
    text = """
@tf.function
def f(x):
    for i in tf.range(3):
        x = tf.nn.relu(x * 2.0 + 1.0)
    return tf.nn.relu(tf.cumsum(x) * 3.0)   # the double does not know cumsum
report(y=f(tf.constant(normal(4, 8))))
"""
    expected = run_fake(text, tektite="0")
    result = run_fake(text, tektite="1", FAKE_TEKTITE_ONE="1", FAKE_TEKTITE_KEEP="2")
    np.testing.assert_allclose(result.values["y"], expected.values["y"], rtol=1e-6)
    assert result.host["not_placed"] == {"HOST_CYCLE": 1}
    assert (result.host["kept_loops"], result.host["lowered_loops"]) == (0, 1)


# TensorFlow itself runs them as they are there.
def test_where_loops_stay_functional_they_are_none_of_ours(run_fake):
    text = """
tf.compat.v1.enable_control_flow_v2()
with tf.Graph().as_default():
    x = tf.compat.v1.placeholder(tf.float32, [None, 8])
    y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.nn.relu(v * 2.0 + 1.0)), (0, x))[1]
    config = tf.compat.v1.ConfigProto()
    config.experimental.executor_type = "SINGLE_THREADED_EXECUTOR"
    with tf.compat.v1.Session(config=config) as session:
        report(y=session.run(y, {x: normal(4, 8)}))
"""
    expected = run_fake(text, tektite="0")
    result = run_fake(text, tektite="1", FAKE_TEKTITE_KEEP="2")
    np.testing.assert_allclose(result.values["y"], expected.values["y"], rtol=1e-6)
    assert result.host.get("kept_loops", 0) == 0


def test_graphs_without_loops_are_asked_about_once(run_fake):
    result = run_fake("""
f = tf.function(lambda x: tf.nn.relu(x * 2.0 + 1.0))
report(y=f(tf.constant(normal(4, 8))))
""", tektite="1", FAKE_TEKTITE_KEEP="2")
    assert result.stats["markings"] == 1
