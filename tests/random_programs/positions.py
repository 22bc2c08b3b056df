"""Lines of random programs about sizes that only a call tells: ranges of them, outer combinations of ranges, masks, and
rows that a mask selects. They are what positions, causal masks and relative distances are made of, and are known where
code is made for exact sizes.

    v3_ = tf.range(tf.shape(v1_)[0])[None] - tf.range(tf.shape(v1_)[1])[:, None]
"""

from __future__ import annotations

from tests.random_programs.operations import Chooser, Line

COMBINED = ("{} + {}", "{} - {}", "{} - {}", "{} * {}", "tf.maximum({}, {})", "tf.minimum({}, {})", "{} // ({} + 1)", "{} % ({} + 2)")
COMPARED = ("{} < {}", "{} <= {}", "{} > {}", "{} >= {}", "tf.equal({}, {})", "tf.not_equal({}, {})")


def size(c: Chooser) -> str:
    v = c.value(lambda v: v.rank > 0)
    return f"tf.shape({v.name})[{c.axis(v)}]"


def counted(c: Chooser) -> str:
    """A vector of integers."""
    n = size(c)
    return c.rng.choice((f"tf.range({n})", f"tf.range({n})", f"tf.range({n})", f"tf.range({n}) * 2 + 1", f"tf.range({n})[::-1]",
                         f"tf.range(1, {n} + 1)", f"tf.concat([tf.range({n}), tf.range({size(c)})], 0)",
                         f"tf.concat([tf.shape({c.value().name}), [{n}]], 0)", f"tf.stack([{n}, {size(c)}, 2])"))


def outer(c: Chooser) -> tuple[str, str]:
    """Two operands that broadcast."""
    a, b = counted(c), counted(c)
    return c.rng.choice(((f"{a}[None]", f"{b}[:, None]"), (f"{a}[:, None]", f"{b}[None]"), (f"{a}[:, None]", f"{a}[None]"),
                         (a, f"{b}[:, None]"), (a, f"tf.reshape({size(c)}, [1, 1])"), (f"tf.reshape({a}, [-1, 1, 1])", f"{b}[None]"),
                         (a, size(c)), (f"tf.expand_dims({a}, 0)", "tf.constant([[1], [2]])")))


def positions(c: Chooser) -> Line:
    a, b = outer(c)
    n = size(c)
    distance = c.rng.choice(COMBINED).format(a, b)
    mask = c.rng.choice(COMPARED).format(a, b)
    text = c.rng.choice((
        counted(c), distance, distance, distance, mask, mask, f"tf.cast({distance}, tf.float32)", f"tf.where({mask}, {a}, {b})",
        f"tf.where({mask}, {distance}, 0)", f"tf.logical_and({mask}, {c.rng.choice(COMPARED).format(a, b)})",
        f"tf.logical_not({mask})", f"tf.cast({mask}, tf.int64)", f"tf.reduce_sum({counted(c)})", f"tf.reduce_max({distance}, 0)",
        f"tf.meshgrid({counted(c)}, {counted(c)})[{c.rng.randint(0, 1)}]", f"tf.transpose({distance})",
        f"tf.tile({counted(c)}[None], [2, 1])", f"tf.tile(({distance}), [1, 2])", f"tf.stack([{counted(c)}] * 2, {c.rng.randint(0, 1)})",
        f"tf.one_hot({counted(c)}, {n})", f"tf.eye({n})", f"tf.sequence_mask({counted(c)}, {n})", f"tf.cumsum({counted(c)})",
        f"tf.gather({counted(c)}, tf.range(1))", f"tf.split({counted(c)}, [1, -1])[1]", f"tf.reverse({distance}, [0])",
        f"tf.fill([{n}, 2], {size(c)})", f"tf.add_n([{distance}, {distance}])", f"tf.unstack(tf.stack([{n}, {size(c)}]))[1]",
        f"tf.ones_like({distance})", f"tf.expand_dims({distance}, 1)", f"tf.broadcast_to({n}, [{size(c)}, 2])",
        f"tf.broadcast_dynamic_shape(tf.shape({a}), tf.shape({b}))", f"tf.abs({distance})", f"tf.negative({distance})",
        f"tf.roll({counted(c)}, 1, 0)", f"tf.squeeze({distance})", f"tf.slice({counted(c)}, [0], [1])"))
    return Line(text)


def masked(c: Chooser) -> Line:
    """Scores of rows, as attention has them, or values at positions."""
    v = c.float(lambda v: v.rank >= 2)
    r = f"tf.range(tf.shape({v.name})[-2])"
    scores = f"tf.matmul({v.name}, {v.name}, transpose_b=True) * 0.25"
    keep = c.rng.choice(COMPARED).format(f"{r}[:, None]", f"{r}[None]")
    distance = f"tf.cast({r}[None] - {r}[:, None], {v.name}.dtype)"
    text = c.rng.choice((f"tf.matmul(tf.nn.softmax(tf.where({keep}, {scores}, -1e4)), {v.name})",
                         f"tf.nn.softmax({scores} + {distance} * 0.125)", f"tf.where({keep}, {scores}, 0)",
                         f"{scores} * tf.cast({keep}, {v.name}.dtype)", f"{v.name} + tf.cast({r}, {v.name}.dtype)[:, None]",
                         f"tf.linalg.band_part({scores}, -1, 0)"))
    return Line(text, exact=False, tame=True, ulps=100)


def selected(c: Chooser) -> Line:
    """Rows that a mask selects, read by ops of many kinds."""
    v = c.value(lambda v: v.rank > 0)
    mask = c.rng.choice((f"(tf.range(tf.shape({v.name})[0]) % 3 > 0)", f"(tf.range(tf.shape({v.name})[0]) < 2)",
                         f"tf.reduce_any(tf.cast({v.name}, tf.bool), {list(range(1, v.rank))})"))
    where, some = f"tf.where({mask})", f"tf.boolean_mask({v.name}, {mask})"
    rows = c.rng.choice((f"tf.gather({v.name}, {where})", f"tf.gather({v.name}, {where})", f"tf.gather({v.name}, {where}[:, 0])",
                         f"tf.gather({v.name}, tf.squeeze({where}, 1))", f"tf.gather_nd({v.name}, {where})", some,
                         f"tf.gather({some}, [0, 0])", f"tf.gather({v.name}, tf.reshape({where}, [-1]))",
                         f"tf.gather({v.name}, tf.cast({where}, tf.int32))", where))
    reader = c.rng.choice(("{}", "{}", "tf.reduce_max({}, 0)", "tf.shape({})", "tf.concat([{0}, {0}], 0)", "tf.stack([{0}, {0}])",
                           "tf.size({})", "tf.expand_dims({}, -1)", "tf.reshape({}, [-1])", "tf.transpose({})", "tf.zeros_like({})",
                           "tf.identity({})", "tf.squeeze({})", "{}[:1]", "tf.reverse({}, [0])", "tf.cast({}, tf.float32)",
                           "tf.tile({0}[None], tf.concat([[2], tf.ones_like(tf.shape({0}))], 0))", "tf.unique(tf.reshape({}, [-1])).y",
                           "tf.cond(tf.size({0}) > 3, lambda: {0}, lambda: {0} if {0}.dtype == tf.bool else {0} + {0})"))
    text = reader.format(rows)
    if c.rng.random() < 0.15:
        text = f"tf.tensor_scatter_nd_update({v.name}, {where}, tf.zeros_like({some}))"
    return Line(text, steep=True, tame=True)
