"""Sums that Grappler spells out over a temporary variable do not cut a model in two."""

import numpy as np
import pytest

# The nodes that Grappler's memory optimizer makes of tf.add_n([x, y, 0.5 * x]); `zero` and `last` vary.
PROGRAM = """
tf1, raw = tf.compat.v1, tf.raw_ops
with tf.Graph().as_default(), tf1.Session() as session:
    x = tf1.placeholder(tf.float32, [4, 8], name="x")
    y = tf.nn.relu(x * 2.0 + 1.0)
    shared = tf.constant(np.zeros((4, 8), np.float32))
    before = tf.nn.relu(tf.minimum(shared, y))
    def total(name, zero, last):
        with tf.control_dependencies([y]):
            variable = raw.TemporaryVariable(shape=[4, 8], dtype=tf.float32, var_name=name)
        start = raw.Assign(ref=variable, value=zero)
        added = [raw.AssignAdd(ref=start, value=value, use_locking=True) for value in (x, y)]
        added.append(last(ref=start, value=0.5 * x))
        with tf.control_dependencies(added):
            return raw.DestroyTemporaryVariable(ref=start, var_name=name)
    z = total("a", ZERO, raw.LAST)
    w = total("b", ZERO, raw.LAST)
    out = tf.nn.relu(tf.exp(z * 0.1) - w) + 1.0 + before
    feed = {x: normal(4, 8)}
    report(y=[session.run(out, feed) for _ in range(3)], again=session.run([z, out], feed))
"""


def program(zero: str, last: str) -> str:
    return PROGRAM.replace("ZERO", zero).replace("LAST", last)


def test_sums_are_restored(run_pair):
    plain, compiled = run_pair(program("shared", "AssignAdd"))
    for name in ("y", "again"):
        np.testing.assert_allclose(compiled.values[name], plain.values[name], rtol=2e-5)
    # One for each of the session's two graphs; all of it is compiled.
    assert compiled.host["clusters_placed"] == 2, compiled.stats
    assert "NO_IMPORTER" not in compiled.stats["left_out"], compiled.stats
    assert compiled.host["not_placed"] == {} and compiled.host["fallbacks"] == {}


@pytest.mark.parametrize("zero,last", [("y", "AssignAdd"), ("shared", "AssignSub")])
def test_other_temporary_variables_are_left_alone(run_pair, zero, last):
    # Subtraction and addition in any order: no value but the sum's is ever seen.
    plain, compiled = run_pair(program(zero, last))
    for name in ("y", "again"):
        np.testing.assert_allclose(compiled.values[name], plain.values[name], rtol=2e-5)
    assert "TemporaryVariable" in compiled.stats["left_out"]["NO_IMPORTER"]["example"]
