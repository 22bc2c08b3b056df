"""Rows of variables that loops in loops, and loops in branches, change have TensorFlow's values, also after an error, and are
written where they lie: the checks of all turns come first (jit/passes/split_checks.cc)."""

import pytest

from tests.end_to_end.batches import Batch

PREAMBLE = """
raw = tf.raw_ops
def loops(epochs, rows=300, columns=8, when=None):
    table = tf.Variable(normal(rows, columns))
    count = tf.Variable(0, dtype=tf.int64)
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, columns]), tf.TensorSpec([], tf.int32)])
    def f(batches, x, epochs):
        count.assign_add(1)
        for e in tf.range(epochs):
            for b in tf.range(tf.shape(batches)[0]):
                at = tf.gather(batches, b)
                table.scatter_add(tf.IndexedSlices(x * 0.5, at))
            table.scatter_sub(tf.IndexedSlices(x * 0.125, tf.gather(batches, 0)))
        return x[0] * 2.0
    return f, table, count
def batches(n, turns, rows):
    return tf.constant(rng.integers(0, n, (turns, rows)), tf.int32)
def message(error):
    return str(error).splitlines()[0].split("{{")[0]
"""

VALID = """
f, table, count = loops(3)
ys = [f(batches(300, turns, 4), tf.constant(normal(4, 8)), tf.constant(epochs))
      for turns, epochs in ((5, 3), (5, 3), (1, 4), (7, 1), (5, 0), (2, 2))]
report(ys=ys, table=table, count=count)
"""

# Of constant sizes, which code for one shape knows.
KNOWN = """
table = tf.Variable(normal(300, 8))
@tf.function
def f(batches, x):
    for e in tf.range(3):
        for b in tf.range(5):
            table.scatter_add(tf.IndexedSlices(x * 0.5, tf.gather(batches, b)))
    return x[0] * 2.0
ys = [f(batches(300, 5, 4), tf.constant(normal(4, 8))) for _ in range(3)]
report(ys=ys, table=table)
"""

NOT_A_NUMBER = """
f, table, count = loops(3)
x = normal(4, 8)
x[1, 2], x[2, 3], x[3, 4], x[0, 0] = np.nan, np.inf, -np.inf, -0.0
f(batches(300, 5, 4), tf.constant(x), tf.constant(2))
report(table=np.nan_to_num(table.numpy(), nan=-1e9), which=np.isnan(table.numpy()))
"""

# The index that is out of range moves on by a turn of the outer loop: the first one has changed rows by then.
ERROR_IN_A_LATER_TURN = """
table = tf.Variable(normal(300, 8))
@tf.function
def f(batches, x, by):
    for e in tf.range(3):
        for b in tf.range(5):
            table.scatter_add(tf.IndexedSlices(x * 0.5, tf.gather(batches, b) + e * by))
    return x[0] * 2.0
def call(by):
    errors = []
    for at in (batches(100, 5, 4), batches(100, 5, 4)):
        try:
            f(at, tf.constant(normal(4, 8)), tf.constant(by))
        except tf.errors.InvalidArgumentError as error:
            errors.append(message(error))
    return errors
errors = [call(100), call(200), call(-100), call(3)]
report(errors=errors, table=table)
"""

IN_A_BRANCH = """
table = tf.Variable(normal(300, 8))
@tf.function
def f(batches, x, go):
    if go > 0:
        for b in tf.range(tf.shape(batches)[0]):
            table.scatter_add(tf.IndexedSlices(x * 0.5, tf.gather(batches, b)))
    return x[0] * 2.0
def call(at, go):
    try:
        f(at, tf.constant(normal(4, 8)), tf.constant(go))
    except tf.errors.InvalidArgumentError as error:
        return message(error)
calls = [call(batches(300, 5, 4), go) for go in (1, 0, 1)]
bad = tf.constant([[1, 2, 3, 4], [5, 300, 7, 8], [1, 2, 3, 4]])
calls += [call(bad, 0), call(bad, 1), call(batches(300, 3, 4), 1)]
report(calls=[str(c) for c in calls], table=table)
"""

# What is written next depends on what was written.
INDICES_IN_THE_TABLE = """
table = tf.Variable(normal(300, 8))
@tf.function
def f(batches, x):
    for e in tf.range(3):
        for b in tf.range(5):
            at = tf.cast(tf.abs(tf.gather(table, tf.gather(batches, b))[:, 0]) * 10.0, tf.int32)
            table.scatter_add(tf.IndexedSlices(x * 0.5, at))
    return x[0] * 2.0
ys = [f(batches(300, 5, 4), tf.constant(normal(4, 8) * 0.5)) for _ in range(3)]
report(ys=ys, table=table)
"""

PROGRAMS = {"valid indices, sizes unknown, zero turns": VALID, "valid indices, sizes known": KNOWN, "not a number": NOT_A_NUMBER,
            "an error in a later turn": ERROR_IN_A_LATER_TURN, "a loop in a branch": IN_A_BRANCH,
            "indices in the table": INDICES_IN_THE_TABLE}
ALL_PROGRAMS = Batch("loops in loops that change rows", PROGRAMS, PREAMBLE)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(run_batch, name):
    plain, compiled = run_batch(ALL_PROGRAMS, name)
    assert "error" not in plain.values, plain.values["error"]
    assert compiled.values == plain.values
    assert compiled.host["updates"] > 0


NO_COPY = """
table = tf.Variable(tf.zeros([100000, 32]))
@tf.function
def f(batches, x, go):
    BRANCH
        for e in tf.range(3):
            for b in tf.range(5):
                table.scatter_add(tf.IndexedSlices(x, tf.gather(batches, b)))
    return x[0] * 2.0
at = tf.constant(rng.integers(0, 100000, (5, 8)), tf.int32)
for _ in range(4): f(at, tf.ones([8, 32]), tf.constant(1))
report(sum=tf.reduce_sum(table))
"""


@pytest.mark.parametrize("branch", ["if True:", "if go > 0:"])
def test_rows_are_written_where_they_lie(run_program, branch):
    result = run_program(NO_COPY.replace("BRANCH", branch), tektite="1")
    assert result.values["sum"] == 4 * 15 * 8 * 32
    assert result.host["updates"] == 4
    assert result.stats["arena_bytes"] < 100000 * 32 * 4  # a copy of the table would lie there
