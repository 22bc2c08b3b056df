"""Lines of random programs: each function below looks at the values there are and proposes one line's right-hand side.

    random_line(rng, values, {}) -> Line("tf.nn.relu(v3)", exact=True)

A proposal need not be valid: the caller evaluates it and asks again where TensorFlow refuses.  `exact` says that the
result has TensorFlow's bits whenever the operands have; `steep` that a small change of an operand may change the result
much, so that operands must be exact; `tame` that operands must be finite, since TensorFlow itself has several kernels
that differ where they are not; `ulps` how inexact it is.
"""

from __future__ import annotations

import random
from typing import Callable, NamedTuple

from tests.random_programs.loops import loop


class Line(NamedTuple):
    text: str
    exact: bool = True
    steep: bool = False
    tame: bool = False
    ulps: int = 4


class Known(NamedTuple):
    """The facts that a proposal may use; sizes are those of the first call."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    exact: bool
    tame: bool

    @property
    def rank(self) -> int:
        return len(self.shape)


FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int32", "int64", "int8", "uint8", "int16", "uint16")

EXACT_UNARY = ("tf.abs({})", "tf.negative({})", "tf.nn.relu({})", "tf.square({})", "tf.stop_gradient({})",
               "tf.nn.relu6({})", "tf.nn.leaky_relu({}, 0.3)", "tf.identity({})",
               "tf.zeros_like({})", "tf.ones_like({})", "tf.clip_by_value({}, -1, 2)", "tf.sqrt(tf.abs({}))")
STEEP_UNARY = ("tf.floor({})", "tf.math.ceil({})", "tf.round({})", "tf.math.rint({})", "tf.sign({})",
               "tf.math.is_nan({})", "tf.math.is_inf({})", "tf.math.is_finite({})")
SMOOTH_UNARY = ("tf.exp({})", "tf.math.log({})", "tf.math.log1p({})", "tf.math.expm1({})", "tf.tanh({})",
                "tf.sigmoid({})", "tf.math.erf({})", "tf.math.erfc({})", "tf.sin({})", "tf.cos({})", "tf.math.rsqrt({})",
                "tf.nn.elu({}) + 1", "tf.nn.selu({}) + 1", "tf.math.reciprocal({})", "1.0 / {}", "tf.nn.softplus({})", "tf.nn.softsign({})",
                "tf.nn.silu({})", "tf.atan({})", "tf.asinh({})", "tf.sinh({})",
                "tf.cosh({})", "tf.tan({})", "tf.asin({})", "tf.acosh({})", "tf.atanh({})",
                "tf.math.lgamma({})", "tf.math.digamma({})", "tf.math.erfinv({}) + 1", "tf.math.ndtri({})")
COMPOSED_UNARY = ("tf.nn.gelu({}) + 1", "tf.nn.gelu({}, approximate=True) + 1", "tf.nn.log_softmax({}) + 1", "tf.nn.softmax({})",
                  "tf.math.l2_normalize({}, -1)", "tf.math.log_sigmoid({})")
EXACT_BINARY = ("{} + {}", "{} - {}", "{} * {}", "tf.maximum({}, {})", "tf.minimum({}, {})")
FLOAT_BINARY = ("{} / {}", "tf.math.divide_no_nan({}, {})", "tf.math.squared_difference({}, {})",
                "tf.math.multiply_no_nan({}, {})")
SMOOTH_BINARY = ("tf.atan2({}, {})", "tf.pow(tf.abs({}), {})", "tf.math.xlogy({}, {})", "tf.math.xdivy({}, {})",
                 "tf.math.xlog1py({}, {})")
INT_BINARY = ("{0} // (tf.cast(tf.equal({1}, 0), {1}.dtype) + {1})", "{0} % (tf.cast(tf.equal({1}, 0), {1}.dtype) + {1})",
              "tf.bitwise.bitwise_and({}, {})", "tf.bitwise.bitwise_or({}, {})", "tf.bitwise.bitwise_xor({}, {})",
              "tf.bitwise.left_shift({}, tf.bitwise.bitwise_and({}, 7))",
              "tf.bitwise.right_shift({}, tf.bitwise.bitwise_and({}, 7))", "tf.truncatediv({0}, tf.abs({1}) + 1)",
              "tf.truncatemod({0}, tf.bitwise.bitwise_or({1}, 1))")
STEEP_FLOAT_BINARY = ("tf.math.floordiv({}, {})", "tf.math.floormod({}, {})")
COMPARES = ("tf.equal({}, {})", "tf.not_equal({}, {})", "tf.less({}, {})", "tf.less_equal({}, {})",
            "tf.greater({}, {})", "tf.greater_equal({}, {})")
LOGICAL = ("tf.logical_and({}, {})", "tf.logical_or({}, {})", "tf.math.logical_xor({}, {})")
# The sign of their zeros is free: TensorFlow's differs from kernel to kernel, and within one.
FREE_ZEROS = ("maximum(", "minimum(", "relu", "clip_by_value(", "_max(", "_min(", "max_pool", "tf.sign(", "xlog", "cumsum(",
              "sort(", "top_k(", "unique")
SUMS = ("sum", "sum", "mean", "mean", "prod", "logsumexp", "euclidean_norm", "variance", "std")


def composed(text: str) -> Line:
    """Of several ops, whose inner results may cancel."""
    return Line(text, exact=False, tame=True, ulps=100)


class Chooser:
    """Random picks out of a program's values."""

    def __init__(self, rng: random.Random, values: list[Known]):
        self.rng, self.values = rng, values

    def value(self, test: Callable[[Known], bool] = lambda _: True) -> Known:
        """One that passes, later ones more likely; IndexError where none does."""
        fitting = [v for v in self.values if test(v)]
        return fitting[-1 - min(int(self.rng.expovariate(0.25)), len(fitting) - 1)]

    def number(self, test: Callable[[Known], bool] = lambda _: True) -> Known:
        return self.value(lambda v: v.dtype != "bool" and test(v))

    def float(self, test: Callable[[Known], bool] = lambda _: True) -> Known:
        return self.value(lambda v: v.dtype in FLOATS and test(v))

    def axis(self, v: Known) -> int:
        return self.rng.randrange(-v.rank, v.rank)

    def axes(self, v: Known) -> list[int]:
        return sorted(self.rng.sample(range(v.rank), self.rng.randint(0, v.rank)))

    def partner(self, a: Known) -> Known:
        """Of a's type, of the same shape where the dice say so."""
        if self.rng.random() < 0.6:
            return self.value(lambda v: v.dtype == a.dtype and v.shape == a.shape)
        return self.value(lambda v: v.dtype == a.dtype)


def unary(c: Chooser) -> Line:
    kind = c.rng.random()
    if kind < 0.25:
        return Line(c.rng.choice(EXACT_UNARY).format(c.number().name))
    if kind < 0.35:
        return Line(c.rng.choice(STEEP_UNARY).format(c.float().name), steep=True)
    if kind < 0.4:
        return Line(f"tf.logical_not({c.value(lambda v: v.dtype == 'bool').name})")
    if kind < 0.5:
        return composed(c.rng.choice(COMPOSED_UNARY).format(c.float().name))
    text = c.rng.choice(SMOOTH_UNARY).format(c.float().name)
    return Line(text, exact=False, tame="erf(" in text)  # TensorFlow's erf of an infinite float64 is NaN


def binary(c: Chooser) -> Line:
    a = c.value()
    b = c.partner(a)
    names = (a.name, b.name)
    if a.dtype == "bool":
        return Line(c.rng.choice(LOGICAL).format(*names))
    kind = c.rng.random()
    if kind < 0.5:
        return Line(c.rng.choice(EXACT_BINARY).format(*names))
    if kind < 0.65:
        return Line(c.rng.choice(COMPARES).format(*names), steep=True)
    if a.dtype in INTS:
        return Line(c.rng.choice(INT_BINARY).format(*names))
    if kind < 0.8:
        return Line(c.rng.choice(FLOAT_BINARY).format(*names))
    if kind < 0.85:
        return Line(c.rng.choice(STEEP_FLOAT_BINARY).format(*names), steep=True)
    return Line(c.rng.choice(SMOOTH_BINARY).format(*names), exact=False)


def scalar_operand(c: Chooser) -> Line:
    a = c.number()
    return Line(f"{a.name} {c.rng.choice('+-*')} {c.rng.choice((0, 1, 2, 3, 7))}")


def select(c: Chooser) -> Line:
    a = c.value()
    condition = c.value(lambda v: v.dtype == "bool")
    return Line(f"tf.where({condition.name}, {a.name}, {c.partner(a).name})")


def cast(c: Chooser) -> Line:
    a, to = c.value(), c.rng.choice(("float32", "float32", "float64", "float16", "bfloat16", "int32", "int64", "int8",
                                     "uint8", "bool"))
    if a.dtype in FLOATS and to not in FLOATS and to != "bool":  # what is beyond an integer's range is undefined
        return Line(f"tf.cast(tf.clip_by_value(tf.math.multiply_no_nan({a.name}, tf.cast(tf.math.is_finite({a.name}), "
                    f"{a.name}.dtype)), 0, 100), tf.{to})", steep=True)
    return Line(f"tf.cast({a.name}, tf.{to})", steep=to not in FLOATS)


def reduction(c: Chooser) -> Line:
    keep = c.rng.choice(("True", "False"))
    kind = c.rng.random()
    if kind < 0.15:
        v = c.value(lambda v: v.dtype == "bool")
        return Line(f"tf.reduce_{c.rng.choice(('any', 'all'))}({v.name}, {c.axes(v)}, keepdims={keep})")
    if kind < 0.35:
        v = c.number()
        return Line(f"tf.reduce_{c.rng.choice(('max', 'min'))}({v.name}, {c.axes(v)}, keepdims={keep})")
    if kind < 0.45:
        v = c.number(lambda v: v.rank > 0)
        return Line(f"tf.{c.rng.choice(('argmax', 'argmin'))}({v.name}, {c.axis(v)})", steep=True)
    if kind < 0.6:
        v = c.number(lambda v: v.rank > 0)
        name, x = c.rng.choice(("cumsum", "cumprod", "cumulative_logsumexp")), v.name
        if name == "cumulative_logsumexp":  # TensorFlow's passes NaN by or keeps it, by the order of its comparisons
            x = f"tf.where({x} == {x}, {x}, tf.zeros_like({x}))"
        return Line(f"tf.math.{name}({x}, {c.axis(v)}, exclusive={c.rng.choice(('True', 'False'))}, reverse={keep})",
                    exact=False)
    v = c.number()
    name = c.rng.choice(SUMS)
    text = f"tf.math.reduce_{name}({v.name}, {c.axes(v)}, keepdims={keep})"
    if name in ("sum", "mean"):
        return Line(text, exact=False)
    if name == "prod":  # in another order, what overflows may meet a zero
        return Line(text, exact=False, tame=True)
    return Line(text, exact=False, ulps=100)


def slicing(c: Chooser) -> Line:
    v = c.value(lambda v: v.rank > 0)

    def part(size: int) -> str:
        ends = ("", "", str(c.rng.randint(-size - 1, size + 1)))
        return c.rng.choice((":", ":", str(c.rng.randint(-size, max(size - 1, 0))), "tf.newaxis", "...",
                             f"{c.rng.choice(ends)}:{c.rng.choice(ends)}:{c.rng.choice(('', '2', '-1', '3', '-2'))}"))

    return Line(f"{v.name}[{', '.join(part(d) for d in v.shape)}]")


def movement(c: Chooser) -> Line:
    v = c.value()
    places = list(range(v.rank))
    c.rng.shuffle(places)
    pads = [[c.rng.randint(0, 2), c.rng.randint(0, 2)] for _ in places]
    choices = [f"tf.transpose({v.name}, {places})", f"tf.transpose({v.name})", f"tf.reshape({v.name}, [-1])",
               f"tf.expand_dims({v.name}, {c.rng.randint(-v.rank - 1, v.rank)})", f"tf.squeeze({v.name})",
               f"tf.pad({v.name}, {pads})", f"tf.reverse({v.name}, {c.axes(v)})",
               f"tf.tile({v.name}, {[c.rng.choice((0, 1, 1, 2, 3)) for _ in places]})",
               f"tf.pad({v.name}, {pads}, mode='{c.rng.choice(('REFLECT', 'SYMMETRIC'))}')",
               f"tf.roll({v.name}, {[c.rng.randint(-9, 9)]}, {[c.axis(v) if v.rank else 0]})",
               f"tf.reshape({v.name}, tf.concat([tf.shape({v.name})[1:], tf.shape({v.name})[:1]], 0))",
               f"tf.reshape({v.name}, [tf.size({v.name}) // 2, 2])",
               f"tf.broadcast_to({v.name}, tf.concat([[2], tf.shape({v.name})], 0))",
               f"tf.slice({v.name}, {[c.rng.randint(0, min(d, 2)) for d in v.shape]}, "
               f"{[c.rng.choice((-1, -1, 0, 1)) for _ in places]})",
               f"tf.linalg.band_part({v.name}, {c.rng.randint(-1, 3)}, {c.rng.randint(-1, 3)})",
               f"tf.linalg.diag({v.name})", f"tf.linalg.diag_part({v.name})",
               f"tf.repeat({v.name}, 2, axis={c.axis(v) if v.rank else 0})",
               f"tf.ensure_shape({v.name}, [None] * {v.rank})", f"tf.nn.space_to_depth({v.name}, 2)",
               f"tf.nn.depth_to_space({v.name}, 2)", f"tf.linalg.set_diag({v.name}, tf.linalg.diag_part({v.name}))",
               f"tf.meshgrid({v.name}, {v.name})[{c.rng.randint(0, 1)}]"]
    return Line(c.rng.choice(choices))


def several(c: Chooser) -> Line:
    a = c.value()
    b = c.partner(a)
    axis = c.axis(a) if a.rank else 0
    parts = c.rng.choice((1, 2, 3))
    return Line(c.rng.choice((
        f"tf.concat([{a.name}, {b.name}, {a.name}], {axis})", f"tf.stack([{a.name}, {b.name}], {axis})",
        f"tf.split({a.name}, {parts}, {axis})[{c.rng.randrange(parts)}]", f"tf.add_n([{a.name}, {b.name}, {a.name}])",
        f"tf.unstack({a.name}, axis={axis})[0]",
        f"tf.split({a.name}, [1, -1], {axis})[1]")))


def contraction(c: Chooser) -> Line:
    if c.rng.random() < 0.3:
        v = c.float(lambda v: v.rank == 4)
        channels, padding = v.shape[3], c.rng.choice(("SAME", "VALID"))
        size, stride = c.rng.choice((1, 2, 3)), c.rng.choice((1, 1, 2))
        window = f"[1, {size}, {size}, 1], [1, {stride}, {stride}, 1], '{padding}'"
        filters = c.rng.choice((1, 3, 16))
        dilation = 1 if stride > 1 else c.rng.choice((1, 1, 2))
        ramp = f"tf.cast(tf.reshape(tf.range({{}}), {{}}), {v.name}.dtype) / 16 - 1"
        return Line(c.rng.choice((
            f"tf.nn.max_pool2d({v.name}, {size}, {stride}, '{padding}')",
            f"tf.nn.avg_pool2d({v.name}, {size}, {stride}, '{padding}')",
            f"tf.nn.depthwise_conv2d({v.name}, "
            f"{ramp.format(size * size * channels, [size, size, channels, 1])}, [1, {stride}, {stride}, 1], '{padding}', "
            f"dilations=[{dilation}, {dilation}])",
            f"tf.nn.conv2d({v.name}, "
            f"{ramp.format(size * size * channels * filters, [size, size, channels, filters])}, {stride}, '{padding}', "
            f"dilations={dilation})",
            f"tf.nn.avg_pool({v.name}, {window})")), exact=False, tame=True)
    a = c.number(lambda v: v.rank >= 2)
    kind = c.rng.random()
    if kind < 0.3:
        return Line(f"tf.matmul({a.name}, {a.name}, {c.rng.choice(('transpose_a', 'transpose_b'))}=True)", exact=False)
    b = c.value(lambda v: v.dtype == a.dtype and v.rank >= 1)
    if kind < 0.7:
        flags = c.rng.choice(("", ", transpose_a=True", ", transpose_b=True", ", transpose_a=True, transpose_b=True"))
        return Line(f"tf.matmul({a.name}, {b.name}{flags})", exact=False)
    letters = "abcd"[:a.rank] if a.rank <= 4 else "abcd"
    other = "".join(c.rng.sample("abcdef", min(b.rank, 6)))
    result = "".join(c.rng.sample(sorted(set(letters + other)), c.rng.randint(0, min(4, len(set(letters + other))))))
    return Line(f"tf.einsum('{letters},{other}->{result}', {a.name}, {b.name})", exact=False)


def indexing(c: Chooser) -> Line:
    v = c.value(lambda v: v.rank > 0)
    i = c.value(lambda v: v.dtype in ("int32", "int64"))
    axis = c.axis(v)
    inside = f"tf.math.floormod({i.name}, tf.maximum(tf.cast(tf.shape({v.name})[{axis}], {i.name}.dtype), 1))"
    k = min(v.shape[-1], c.rng.choice((0, 1, 2, 3)))
    return Line(c.rng.choice((
        f"tf.gather({v.name}, {inside}, axis={axis})", f"tf.gather({v.name}, {inside}, axis={axis})",
        f"tf.gather_nd({v.name}, tf.expand_dims(tf.math.floormod({i.name}, "
        f"tf.maximum(tf.cast(tf.shape({v.name})[0], {i.name}.dtype), 1)), -1))",
        f"tf.one_hot({i.name}, {c.rng.choice((1, 3, 5))}, axis=-1)",
        f"tf.math.unsorted_segment_{c.rng.choice(('sum', 'max', 'min', 'prod', 'mean'))}({v.name}, "
        f"tf.range(tf.shape({v.name})[0]) % 3, 4)",
        f"tf.math.segment_{c.rng.choice(('sum', 'max', 'min', 'mean'))}({v.name}, tf.range(tf.shape({v.name})[0]) // 2)",
        f"tf.scatter_nd(tf.range(tf.shape({v.name})[0])[:, tf.newaxis], {v.name}, "
        f"tf.concat([[tf.shape({v.name})[0] + 2], tf.shape({v.name})[1:]], 0))",
        f"tf.tensor_scatter_nd_{c.rng.choice(('add', 'update', 'max', 'sub', 'min'))}({v.name}, "
        f"tf.range(tf.shape({v.name})[0])[::2, tf.newaxis], {v.name}[::2])",
        f"tf.math.top_k({v.name}, {k}).values", f"tf.math.top_k({v.name}, {k}).indices", f"tf.sort({v.name})",
        f"tf.argsort({v.name})", f"tf.searchsorted(tf.sort(tf.reshape({v.name}, [-1])), tf.reshape({v.name}, [-1]))",
        f"tf.math.in_top_k(tf.zeros([tf.shape({v.name})[0]], tf.int32), tf.cast({v.name}, tf.float32), 2)",
        f"tf.math.bincount(tf.reshape({inside}, [-1]), minlength=3)")),
        exact=False, steep=True, tame=True)


def rows(c: Chooser) -> Line:
    v = c.value(lambda v: v.rank > 0)
    line, n = f"tf.reshape({v.name}, [-1])", f"tf.range(tf.shape({v.name})[0])"
    boxes = f"tf.reshape(tf.cast({line}[:tf.size({v.name}) // 4 * 4], tf.float32), [-1, 4])"
    return Line(c.rng.choice((
        f"tf.boolean_mask({v.name}, {n} % 2 < 1)", f"tf.where(tf.cast({v.name}, tf.bool))", f"tf.unique({line}).y",
        f"tf.unique_with_counts({line}).count", f"tf.raw_ops.UniqueV2(x={v.name}, axis=[0]).y",
        f"tf.raw_ops.UniqueV2(x={v.name}, axis=[0]).idx", f"tf.compat.v1.setdiff1d({line}, {line}[::3]).out",
        f"tf.dynamic_stitch([{n}[::2], {n}[1::2]], [{v.name}[::2], {v.name}[1::2]])",
        f"tf.image.non_max_suppression({boxes}, tf.reduce_max({boxes}, 1), {c.rng.choice((1, 3, 50))}, "
        f"{c.rng.choice((0.1, 0.5, 1.0))})",
        f"tf.dynamic_partition({v.name}, {n} % 2, 2)[1]")), steep=True, tame=True)


def measures(c: Chooser) -> Line:
    v = c.value()
    return Line(c.rng.choice((f"tf.shape({v.name})", f"tf.size({v.name})", f"tf.rank({v.name})",
                              f"tf.range(tf.size({v.name}))", f"tf.fill(tf.shape({v.name}), 3)",
                              f"tf.zeros(tf.shape({v.name})[:2])", f"tf.linspace(0.0, 1.0, tf.size({v.name}) + 1)",
                              f"tf.cast(tf.shape({v.name}), tf.float32)")))


def normalized(c: Chooser) -> Line:
    v = c.float(lambda v: v.rank >= 2)
    return composed(c.rng.choice((
        f"tf.nn.l2_normalize({v.name}, [0, 1])", f"({v.name} - tf.reduce_mean({v.name}, -1, keepdims=True)) * "
        f"tf.math.rsqrt(tf.math.reduce_variance({v.name}, -1, keepdims=True) + 1)", f"tf.nn.softmax({v.name}, axis=0)",
        f"tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax({v.name}), {v.name})",
        f"tf.nn.bias_add({v.name}, tf.ones([tf.shape({v.name})[-1]], {v.name}.dtype))",
        f"tf.nn.moments({v.name}, [0])[1]", f"tf.nn.l2_loss({v.name})", f"tf.linalg.norm({v.name})",
        f"tf.cumsum(tf.nn.softmax({v.name}), -1)",
        f"tf.matmul(tf.nn.softmax(tf.matmul({v.name}, {v.name}, transpose_b=True) * 0.5), {v.name})")))


def pixels(c: Chooser) -> Line:
    """Colours out of three values; and images made larger or smaller."""
    if c.rng.random() < 0.3:
        v = c.float(lambda v: v.rank == 4)
        method = c.rng.choice(("bilinear", "bicubic", "nearest"))
        return composed(f"tf.image.resize({v.name}, {[c.rng.randint(1, 9), c.rng.randint(1, 9)]}, '{method}')")
    a = c.float(lambda v: v.dtype == "float32" and v.rank >= 2)
    b, d = (c.value(lambda v: v.dtype == a.dtype and v.shape == a.shape) for _ in range(2))
    image = f"images=tf.stack([{a.name}, {b.name} * 0.5, {d.name} + 1], -1)"
    amount = c.rng.choice((0.0, 0.1, -0.4, 0.9, 1.5))
    if c.rng.random() < 0.3:
        return composed(f"tf.raw_ops.AdjustContrastv2({image}, contrast_factor={amount})")
    # Between two sextants, and where all three are equal, a little changes much.
    return Line(c.rng.choice((f"tf.raw_ops.AdjustHue({image}, delta={amount})",
                              f"tf.raw_ops.AdjustSaturation({image}, scale={amount})")), steep=True)


def control(c: Chooser) -> Line:
    v = c.float()
    return Line(c.rng.choice((
        f"tf.cond(tf.size({v.name}) > 6, lambda: {v.name} * 2 + 1, lambda: {v.name} - 1)",
        f"tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.tanh(x) * 2 + 1), (0, {v.name}))[1]",
        f"tf.map_fn(lambda x: tf.sin(x) * 2 + 1, {v.name})", f"tf.vectorized_map(lambda x: x * 2 + 1, {v.name})",
        f"gradient_of(lambda x: tf.reduce_sum(tf.tanh(x) * x), {v.name})",
        f"gradient_of(lambda x: tf.reduce_sum(tf.nn.softmax(x) * x), {v.name})",
        f"gradient_of(lambda x: tf.reduce_max(x * x), {v.name})",
        f"gradient_of(lambda x: tf.reduce_sum(tf.square(x[1:]) * 3), {v.name})")), exact=False, tame=True, ulps=100)


PROPOSALS: list[tuple[int, Callable[[Chooser], Line]]] = [
    (6, unary), (6, binary), (2, scalar_operand), (2, select), (2, cast), (4, reduction), (2, slicing), (4, movement),
    (2, several), (2, contraction), (2, indexing), (1, rows), (1, measures), (2, normalized), (1, control),
    (1, pixels), (4, loop)]


def update(c: Chooser, states: dict[int, Known]) -> Line:
    """An assignment to one of the variables, whose values are `states`; the line's value is the variable's new one.

    Variables take exact values where they are exact, so that a later call begins with what an earlier one expects."""
    variable, old = c.rng.choice(sorted(states.items()))
    v = c.value(lambda v: v.dtype == old.dtype and v.exact >= old.exact and v.tame >= old.tame)
    value = v.name if v.shape == old.shape and c.rng.random() < 0.7 else \
        f"tf.reduce_max({v.name}) + tf.zeros_like({old.name})" if c.rng.random() < 0.7 else f"tf.ones_like({old.name})"
    if old.dtype in FLOATS:  # lest it grows from call to call
        value = f"tf.clip_by_value({value}, -2, 2)"
    method = c.rng.choice(("assign", "assign_add", "assign_sub"))
    return Line(f"updated({variable}, '{method}', {old.name}, {value})")


def random_line(rng: random.Random, values: list[Known], states: dict[int, Known],
                more: tuple[tuple[int, Callable[[Chooser], Line]], ...] = ()) -> Line | None:
    """None where what the dice chose needs a value that there is not. `more`: proposals beside those of all programs."""
    weights, kinds = zip(*PROPOSALS, *more)
    try:
        if states and rng.random() < 0.2:
            return update(Chooser(rng, values), states)
        return rng.choices(kinds, weights)[0](Chooser(rng, values))
    except (IndexError, ValueError):
        return None
