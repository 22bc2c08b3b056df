"""Ops whose values decide how many rows a result has, as ends of clusters: TensorFlow's results, bit for bit."""

import numpy as np
import pytest

# Each returns its results for several inputs; `wild` has NaN, both zeros and infinities in it.
PREAMBLE = """
wild = lambda n: np.resize(np.array([0.0, -0.0, np.nan, 1, np.inf, -1, 0.5, np.nan, 1], np.float32), n)
SIZES = [(5, 7), (8, 1), (1, 1), (0, 3), (64, 33), (17, 16)]

def rows(*results):
    return [[list(r.shape), str(r.dtype.name), tf.strings.as_string(tf.cast(r, tf.float64)).numpy().astype(str)]
            for r in tf.nest.flatten(results)]

dynamic = tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
"""

PROGRAMS = {
    "where": """
@dynamic
def f(x):
    y = x * 0.5 - 1
    return y, tf.where(y > -0.9), tf.where(tf.reduce_any(y > 0, 1)), tf.where(x)
""",
    "boolean_mask": """
@dynamic
def f(x):
    y = tf.abs(x) * 0.5
    columns = tf.reduce_any(x > 0, 0)
    return tf.boolean_mask(y, x[:, 0] > 0.1), tf.boolean_mask(y, y < 0.5), tf.boolean_mask(x, columns, axis=1)
""",
    "unique": """
@dynamic
def f(x):
    y = tf.reshape(tf.round(x * 2) / 2, [-1])
    values, numbers, counts = tf.unique_with_counts(y)
    return values, numbers, counts, tf.unique(tf.cast(y > 0, tf.int32) + 3, tf.int64).y
""",
    "dynamic_partition": """
@dynamic
def f(x):
    parts = tf.cast(x > 0, tf.int32) + tf.cast(x > 1, tf.int32)
    return tf.dynamic_partition(x * 2 - 1, parts, 3), tf.dynamic_partition(x + 1, parts[:, 0] * 0 + 2, 4)
""",
    "unique_rows": """
@dynamic
def f(x):
    rows = tf.round(tf.clip_by_value(x, -1, 1))
    column = tf.raw_ops.UniqueV2(x=rows[:, 0], axis=tf.zeros([0], tf.int32))
    return tuple(tf.raw_ops.UniqueWithCountsV2(x=rows, axis=[0])), column[0]
""",
    "setdiff1d": """
@dynamic
def f(x):
    y = tf.reshape(tf.round(x * 2) / 2, [-1])
    others = tf.raw_ops.ListDiff(x=y, y=[0.5])[0]  # one constant
    return tuple(tf.raw_ops.ListDiff(x=y, y=y[:3] * 1)), others, tf.unique(y).y
""",
    "dynamic_stitch": """
@dynamic
def f(x):
    order = tf.range(tf.shape(x)[0])[::-1]
    odd = tf.where(order % 2 == 1)[:, 0]
    return tf.dynamic_stitch([order], [x * 2 - 1]), tf.dynamic_stitch([order // 2, order], [x, x + 1])
""",
    "non_max_suppression": """
@dynamic
def f(x):
    y = tf.reshape(x, [-1])
    n = tf.size(y) // 4
    boxes = tf.clip_by_value(tf.reshape(y[:4 * n], [-1, 4]), -1, 2)
    scores = tf.round(boxes[:, 0] * 3) / 3 + tf.minimum(boxes[:, 1], 0)
    few = tf.image.non_max_suppression(boxes, scores, 3, 0.2)
    all_scores = tf.image.non_max_suppression_with_scores(boxes, y[:n], n + 5, 0.4, -0.5)
    padded = tf.raw_ops.NonMaxSuppressionV4(
        boxes=boxes, scores=scores, max_output_size=tf.shape(x)[0], iou_threshold=1.0, score_threshold=0.0,
        pad_to_max_output_size=True)
    return few, tf.gather(boxes, few), few * 2, all_scores, padded[0], padded[1][None]
""",
    "what follows": """
@dynamic
def f(x):
    kept = tf.boolean_mask(x + 1, x[:, 0] > 0)
    return tf.reduce_sum(tf.cast(kept > 1, tf.int32), 0) + tf.shape(kept)[0], tf.nn.relu(kept) - 1
""",
}

CALLS = """
report(y=[rows(f(tf.constant(x))) for s in SIZES
          for x in (normal(*s), np.full(s, -2, np.float32), np.full(s, 2, np.float32), wild(s))])
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_the_same(run_pair, name):
    plain, compiled = run_pair(PREAMBLE + PROGRAMS[name] + CALLS)
    assert str(compiled.values["y"]) == str(plain.values["y"])
    stats = compiled.stats
    assert stats["runs"] > 0 and not stats["fallbacks"], stats.get("fallback_examples")
    assert stats["generic_artifacts"] >= 1, stats["generic_refusal_example"]
    left_out = stats["left_out"].get("DATA_DEPENDENT_SHAPE", {"ops": 0})
    assert left_out["ops"] == 0, left_out


def test_a_partition_that_does_not_exist_is_tensorflows_error(run_pair):
    source = """
@tf.function
def f(x, parts):
    return tf.dynamic_partition(x * 2, parts + 0, 2)
try:
    f(tf.constant(normal(4, 2)), tf.constant([0, 1, 2, 0]))
except tf.errors.InvalidArgumentError as error:
    report(error="partitions[2] = 2" in str(error))
"""
    for result in run_pair(source):
        assert result.values["error"]


def test_what_no_bound_is_known_for_is_left_with_a_reason(run_program):
    result = run_program(
        """
@tf.function
def f(x):
    i = tf.cast(x, tf.int32)
    rows = tf.reshape(x, [1, -1])
    return (tf.ragged.range(i * 2).flat_values, tf.dynamic_partition(x + 1, i % 20, 20)[3],
            tf.raw_ops.UniqueV2(x=rows * 2, axis=[1])[0] + 1)
report(y=f(tf.range(5.0)))
""",
        tektite="1",
    )
    assert result.stats["left_out"]["DATA_DEPENDENT_SHAPE"]["ops"] >= 3


def test_segments(run_pair):
    """Each ends a cluster, and more segments than rows are TensorFlow's."""
    source = """
@tf.function
def f(x, i, rows):
    total = tf.math.segment_sum(x * 2.0, i) + 1.0
    mean = tf.sparse.segment_mean(tf.exp(x), rows, i)
    return total, mean * 3.0, tf.math.segment_max(x - 1.0, i)
rows = tf.constant([4, 0, 0, 2, 3, 1])
ys = [f(tf.constant(normal(6, 4)), tf.constant(i), rows) for i in ([0, 0, 1, 3, 3, 4], [0, 1, 2, 3, 4, 5], [0, 0, 0, 0, 0, 0])]
many = f(tf.constant(normal(6, 4)), tf.constant([0, 0, 1, 3, 3, 40]), rows)
report(ys=ys, many=many)
"""
    plain, compiled = run_pair(source)
    for ours, theirs in zip([*compiled.values["ys"], compiled.values["many"]],
                            [*plain.values["ys"], plain.values["many"]], strict=True):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert compiled.host["runs"] > 0 and compiled.stats["fallbacks"]


def test_a_stitch_with_more_rows_than_there_are_is_tensorflows(run_pair):
    """The code has room for as many rows as come in, which is all that a permutation needs."""
    source = """
@tf.function
def f(x, i):
    return tf.dynamic_stitch([i + 1], [x * 2])
y = f(tf.constant(normal(4, 2)), tf.constant([5, 0, 2, 1]))
report(shape=list(y.shape), y=tf.gather(y, [1, 2, 3, 6]).numpy())
"""
    plain, compiled = run_pair(source)
    assert str(compiled.values) == str(plain.values)
    assert compiled.stats["fallbacks"]
