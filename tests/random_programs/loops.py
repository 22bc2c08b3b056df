"""Lines of random programs that are loops with random bodies; operations.py lists them among its proposals.

    loop(chooser) -> Line("tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.tanh(a) + v2_), (0, v1_))[1]", ...)

A body is an expression of the shape and type of what the loop carries: of it, of the number of the turn, and of values
outside of the loop. What decides on turns and branches is exact, so that both sides take the same ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import tensorflow as tf

if TYPE_CHECKING:
    from tests.random_programs.operations import Chooser, Known, Line

OF_ONE = ("-{}", "tf.abs({})", "tf.nn.relu({})", "tf.identity({})", "tf.stop_gradient({})")
# Nothing cancels within a line: tolerances come from changing whole lines by some units.
OF_FLOAT = ("tf.tanh({})", "{} * 0.5 + 1", "tf.sin({})", "tf.square({}) * 0.25", "tf.sigmoid({}) * 0.5", "tf.math.softplus({}) * 0.5")
OF_ROWS = ("tf.reverse({}, [0])", "tf.roll({}, 1, 0)", "tf.concat([{0}[1:], {0}[:1]], 0)")
OF_FLOAT_ROWS = ("{0} - tf.reduce_mean({0}, -1, keepdims=True)", "tf.nn.softmax({})", "tf.cumsum({}, 0) * 0.125",
                 "{0} * 0.5 + tf.reduce_max({0}, 0, keepdims=True) * 0.25")
OF_TWO = ("{} + {}", "{} - {}", "tf.maximum({}, {})", "tf.minimum({}, {})")
OF_TURN = ("{0} + tf.cast(i, {0}.dtype)", "{0} - tf.cast(i % 2, {0}.dtype)")


def turns_of(n: Any, body: Callable[..., Any], *values: Any) -> Any:
    """A Python loop of tf.function: `body` of the turn's number and the values, n times."""

    @tf.function(autograph=True)
    def run(*values: Any) -> Any:
        for i in tf.range(n):
            values = body(i, *values)
        return values

    return kept(run(*values), values)


def collected(n: Any, body: Callable[..., Any], x: Any) -> Any:
    """What a Python loop of tf.function writes into a TensorArray: `body` of the turn's number and the value before."""

    @tf.function(autograph=True)
    def run(x: Any) -> Any:
        array = tf.TensorArray(x.dtype, size=n, element_shape=x.shape)
        for i in tf.range(n):
            x = body(i, x)
            array = array.write(i, x)
        return array.stack()

    return kept([run(x)], [x])[0]


def kept(results: Any, values: Any) -> Any:
    """With op determinism TensorFlow 2.21 returns an empty float32 from some loops over int32: no line of a program."""
    if any(result.dtype != value.dtype for result, value in zip(results, values)):
        raise ValueError("TensorFlow has lost a result")
    return results


class Body:
    """Random expressions of the shape `like` has; `names` are the values to build them from."""

    def __init__(self, c: Chooser, like: Known, names: list[str], outer: list[Known], counted: bool) -> None:
        self.c, self.like, self.names, self.counted = c, like, names, counted
        self.is_float = like.dtype in ("float32", "float64", "float16", "bfloat16")
        same = [v.name for v in outer if v.dtype == like.dtype and v.shape == like.shape]
        self.same = same[-3:]
        self.rows = [v.name for v in outer if v.dtype == like.dtype and v.rank >= 1 and 0 < v.rank - 1 <= like.rank
                     and v.shape[1:] == like.shape[like.rank - v.rank + 1:]][-3:]
        self.weights = [v.name for v in outer if v.dtype == like.dtype and self.is_float and like.rank >= 2 and v.rank == 2
                        and v.shape == (like.shape[-1],) * 2][-2:]

    def leaf(self) -> str:
        choices = self.names * 2 + self.same
        return self.c.rng.choice(choices)

    def expression(self, depth: int) -> str:
        rng = self.c.rng
        if depth == 0:
            return self.leaf()
        kind = rng.random()
        inner = self.expression(depth - 1)
        if kind < 0.4:
            templates = OF_ONE + (OF_FLOAT * 2 if self.is_float else ()) + (OF_ROWS if self.like.rank else ())
            if self.is_float and self.like.rank:
                templates += OF_FLOAT_ROWS
            return self.put(rng.choice(templates), inner)
        if kind < 0.5 and self.counted:
            return self.put(rng.choice(OF_TURN), inner)
        if kind < 0.6 and self.counted and self.rows:
            row = rng.choice(self.rows)
            return f"{inner} + tf.gather({row}, tf.math.floormod(i, tf.maximum(tf.shape({row})[0], 1)))"
        if kind < 0.7 and self.weights:
            return f"tf.matmul({inner}, {rng.choice(self.weights)}) * 0.125"
        if kind < 0.85:
            test = rng.choice(("i % 2 < 1", "i > 1")) if self.counted else f"tf.size({self.names[0]}) > 2"
            return f"tf.cond({test}, lambda: {inner}, lambda: {self.expression(depth - 1)})"
        return self.put(rng.choice(OF_TWO), f"({inner})", self.leaf())

    @staticmethod
    def put(template: str, *operands: str) -> str:
        return template.format(*(f"({o})" if " " in o and not o.startswith("(") else o for o in operands))


def count(c: Chooser) -> str:
    """A number of turns that is exact: known, a size, or a value."""
    sized = c.value(lambda v: v.rank > 0)
    choices = [str(c.rng.randint(0, 5)), f"tf.minimum(tf.shape({sized.name})[0], 4)"]
    whole = [v for v in c.values if v.dtype in ("int32", "int64") and v.exact]
    if whole:
        choices.append(f"tf.cast(tf.reduce_max(tf.abs(tf.reshape({whole[-1].name}, [-1])[:1] % 5)), tf.int32)")
    return c.rng.choice(choices)


def loop(c: Chooser) -> Line:
    from tests.random_programs.operations import Line
    rng = c.rng
    v = c.number(lambda v: v.dtype not in ("uint16", "uint32", "uint64", "int16", "int8", "uint8"))
    outer = c.values
    depth = rng.choice((1, 2, 2, 3))
    kind = rng.choice(("while", "while", "python", "python", "array", "map", "scan", "fold"))
    if kind in ("map", "scan", "fold"):
        text = over_rows(c, v, outer, kind, depth)
    else:
        other = c.value(lambda o: o.dtype == v.dtype and o.shape == v.shape)
        names = ["a", "b"] if kind != "array" and rng.random() < 0.5 else ["a"]
        body = Body(c, v, names, outer, counted=True)
        results = ", ".join(body.expression(depth) for _ in names)
        start = ", ".join([v.name, other.name][:len(names)])
        arguments, n = ", ".join(["i", *names]), count(c)
        if kind == "while":
            text = (f"tf.while_loop(lambda {arguments}: i < {n}, lambda {arguments}: (i + 1, {results}), "
                    f"(0, {start}))[{rng.randint(1, len(names))}]")
        elif kind == "python":
            text = f"turns_of({n}, lambda {arguments}: ({results},), {start})[{rng.randrange(len(names))}]"
        else:
            text = f"collected({n}, lambda {arguments}: {results}, {start})"
    if v.dtype.startswith("float") and rng.random() < 0.3:
        text = f"gradient_of(lambda x: tf.reduce_sum({text.replace(v.name, 'x')}), {v.name})"
    return Line(text, exact=False, tame=True, ulps=100)


def over_rows(c: Chooser, v: Known, outer: list[Known], kind: str, depth: int) -> str:
    rng = c.rng
    if v.rank == 0:
        raise ValueError("a scalar has no rows")
    row = v._replace(shape=v.shape[1:])
    if kind == "map":
        body = Body(c, row, ["r"], outer, counted=False)
        return f"tf.map_fn(lambda r: {body.expression(depth)}, {v.name})"
    body = Body(c, row, ["a", "r"], outer, counted=False)
    back = rng.choice(("", ", reverse=True"))
    start = rng.choice(("", f", initializer=tf.zeros_like({v.name}[0])"))
    if kind == "scan":
        return f"tf.scan(lambda a, r: {body.expression(depth)}, {v.name}{start}{back})"
    return f"tf.fold{rng.choice('lr')}(lambda a, r: {body.expression(depth)}, {v.name}{start})"
