"""Random networks between FakeQuant and QuantizeAndDequantize: products, convolutions, residual sums, pools, concatenations.

    network = Network(seed=5)
    network.calls                    inputs of several sizes, with NaN, infinities or no element in some networks
    network.run(x)                   TensorFlow ops: of a tf.function with `network.spec`
    network.span(x)                  what f32's roundings make of that (spans.py)

    python -m tests.random_programs.quantized --count 200 --seed 40      stock against compiled; prints what differs

Ranges are ordinary, zero, reversed, huge, tiny or without 0; some are variables, and so are some weights.
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable

import numpy as np
import tensorflow as tf

from tests.random_programs import spans
from tests.random_programs.spans import Grid, Span

ROOT = Path(__file__).resolve().parents[2]
FLAGS = "--min_cluster_cost=0 --compile=sync --compare=false --cache_dir=off"
RANGES = {"ordinary": (-2.5, 3.1), "of relu": (0.0, 4.0), "symmetric": (-3.0, 3.0), "below zero": (-3.0, 0.0), "zero": (0.0, 0.0),
          "reversed": (2.0, -3.0), "without zero": (1.0, 4.0), "huge": (-3e38, 3e38), "large": (-1e20, 2e20), "tiny": (-1e-30, 1e-30)}
ORDINARY = ("ordinary", "of relu", "symmetric", "below zero")


def wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """A TensorFlow function of arrays of f64."""
    return lambda *xs: function(*map(tf.constant, xs)).numpy()


class Step:
    """`run` builds ops of f32 on a tensor, `span` says where their results may lie."""

    def __init__(self, text: str, run: Callable[[Any], Any], span: Callable[[Span], Span]) -> None:
        self.text, self.run, self.span = text, run, span


class Network:
    def __init__(self, seed: int) -> None:
        self.pick, self.rng = random.Random(seed), np.random.default_rng(seed)
        self.is_odd = self.pick.random() < 0.3  # ranges and values that nothing sensible has
        self.variables: list[tf.Variable] = []
        self.steps: list[Step] = []
        self.shape: tuple[int, ...] = (0, self.pick.randint(3, 9), self.pick.randint(3, 9), self.pick.choice((3, 8, 16, 24, 33)))
        self.calls = self.inputs()
        known = [all(call.shape[i] == self.calls[0].shape[i] for call in self.calls) and self.pick.random() < 0.7 for i in range(3)]
        self.spec = tf.TensorSpec([size if k else None for size, k in zip(self.calls[0].shape, [*known, True])], tf.float32)
        self.is_sized = known[1] and known[2]
        for _ in range(self.pick.randint(1, 3)):
            self.stage()
        if self.pick.random() < 0.5:
            self.quantizer()

    def inputs(self) -> list[np.ndarray]:
        sizes = [(self.pick.choice((1, 2, 3)), *self.shape[1:])]
        for _ in range(self.pick.choice((0, 2))):
            sizes.append((self.pick.choice((0, 1, 2, 4)), *sizes[0][1:]))
        if self.pick.random() < 0.2:
            sizes.append((2, self.shape[1] + 1, self.shape[2] + 3, self.shape[3]))
        calls = [(self.rng.standard_normal(size) * 1.5).astype(np.float32) for size in sizes]
        if self.is_odd and self.pick.random() < 0.5:
            for call in calls:
                special = self.rng.random(call.shape) < 0.005
                call[special] = self.rng.choice(np.float32([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-40, -0.0]), special.sum())
        return calls * 2

    def describe(self) -> str:
        shapes = ", ".join(str(call.shape) for call in self.calls[:len(self.calls) // 2])
        return f"{self.spec.shape} of {shapes}: " + " · ".join(step.text for step in self.steps)

    def run(self, x: Any) -> Any:
        for step in self.steps:
            x = step.run(x)
        return x

    def span(self, x: np.ndarray) -> Span:
        span = Span.exact(x)
        for step in self.steps:
            span = step.span(span)
        return span

    def add(self, text: str, run: Callable[[Any], Any], span: Callable[[Span], Span] | None = None) -> None:
        """Without `span`, `run` rounds nothing and never falls."""
        self.steps.append(Step(text, run, span or (lambda s: s.map(wide(run)))))

    def held(self, value: Any) -> Callable[[], Any]:
        """A constant or a variable."""
        if self.pick.random() < 0.5:
            return lambda: tf.constant(value)
        self.variables.append(tf.Variable(value))
        return self.variables[-1].value

    # ---- quantizers ----

    def quantizer(self) -> None:
        kind = self.pick.choice(list(RANGES) if self.is_odd else ORDINARY)
        low, high = (np.float32(bound) for bound in RANGES[kind])
        bits, narrow = self.pick.choice((8, 8, 8, 7, 5, 4)), self.pick.random() < 0.3
        name = self.pick.choice(("args", "vars", "vars", "qdq"))
        if name == "args" and low >= high:
            name = "vars"
        text = f"{name}({kind}, {bits}{', narrow' * narrow})"
        if name == "qdq" and low <= high:
            signed = bool(low < 0) or self.pick.random() < 0.5
            mode = self.pick.choice(("HALF_TO_EVEN", "HALF_UP"))
            grid = Grid.of_quantize_and_dequantize(low, high, bits, narrow, signed)
            self.add(f"{text} {mode}{' signed' * signed}", lambda x: tf.quantization.quantize_and_dequantize_v2(
                x, low, high, signed_input=signed, num_bits=bits, range_given=True, round_mode=mode, narrow_range=narrow),
                lambda s: spans.rounded(s, grid))
            return
        grid = Grid.of_fake_quant(low, high, bits, narrow)
        if name == "args":
            def run(x: Any) -> Any:
                return tf.quantization.fake_quant_with_min_max_args(x, float(low), float(high), bits, narrow)
        else:
            ends = self.held(low), self.held(high)

            def run(x: Any) -> Any:
                return tf.quantization.fake_quant_with_min_max_vars(x, ends[0](), ends[1](), bits, narrow)
        self.add(text, run, lambda s: spans.rounded(s, grid))

    def weights(self, *shape: int) -> tuple[str, Callable[[], Any]]:
        """What they are called, and the ops that round them; their numbers are those that stock TensorFlow computes."""
        values = (self.rng.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)
        kind = self.pick.choice(("channel", "channel", "tensor", "qdq", "rounded", "uneven" if self.is_odd else "channel"))
        bits = self.pick.choice((8, 8, 4))
        if self.is_odd and self.pick.random() < 0.3:
            values[..., 0] = self.pick.choice((0, np.nan, np.inf, 1e-42, 1e30))
        most = np.nan_to_num(np.abs(values), posinf=0).max(tuple(range(values.ndim - 1)))
        if kind == "tensor" or kind == "qdq":
            most = most.max()
        w = self.held(values)
        if kind == "rounded":
            steps = most / np.float32(2**(bits - 1) - 1)
            with np.errstate(all="ignore"):
                values = (np.round(values / steps) * steps).astype(np.float32)
            return kind, lambda: tf.constant(values)
        if kind == "qdq":
            return kind, lambda: tf.quantization.quantize_and_dequantize_v2(w(), -most, most, num_bits=bits, range_given=True,
                                                                            narrow_range=True)
        low = self.held(-most / 2 if kind == "uneven" else -most)
        high = self.held(most)
        function = (tf.quantization.fake_quant_with_min_max_vars if kind == "tensor" else
                    tf.quantization.fake_quant_with_min_max_vars_per_channel)
        return f"{kind} {bits}", lambda: function(w(), low(), high(), num_bits=bits, narrow_range=kind != "uneven")

    # ---- what reads them ----

    def stage(self) -> None:
        if self.pick.random() < 0.95:
            self.quantizer()
        start, before = len(self.steps), self.shape
        self.keeps_sizes = True  # in every call
        self.moved()
        self.product()
        self.behind()
        if self.keeps_sizes and self.shape == before and self.pick.random() < 0.7:
            self.branch(start, "residual", lambda x, y: x + y, spans.total)
        elif self.keeps_sizes and self.pick.random() < 0.5:
            self.shape = (*self.shape[:3], self.shape[3] + before[3])
            self.branch(start, "concat", lambda x, y: tf.concat([x, y], 3),
                        lambda x, y: spans.joined([x, y], lambda parts: np.concatenate(parts, 3)))
        if len(self.shape) == 4 and self.pick.random() < 0.3:
            self.pool()

    def branch(self, start: int, text: str, run: Callable[[Any, Any], Any], span: Callable[[Span, Span], Span]) -> None:
        """What the steps from `start` on read joins their result."""
        inner, self.steps = self.steps[start:], self.steps[:start]

        def both(x: Any, of: str, join: Callable[[Any, Any], Any]) -> Any:
            y = x
            for step in inner:
                y = getattr(step, of)(y)
            return join(y, x)

        self.add(f"{text}({' · '.join(step.text for step in inner)})", lambda x: both(x, "run", run), lambda s: both(s, "span", span))

    def moved(self) -> None:
        kind = self.pick.random()
        if len(self.shape) == 2 or kind < 0.7:
            return
        self.keeps_sizes = False
        if kind < 0.8:
            low, high = self.pick.randint(0, 2), self.pick.randint(0, 1)
            self.shape = (self.shape[0], self.shape[1] + low + high, self.shape[2] + low, self.shape[3])
            self.add(f"pad {low}, {high}", lambda x: tf.pad(x, [[0, 0], [low, high], [low, 0], [0, 0]]))
        elif kind < 0.9:
            self.shape = (self.shape[0], self.shape[2], self.shape[1], self.shape[3])
            self.add("transpose", lambda x: tf.transpose(x, [0, 2, 1, 3]))
        else:
            channels = self.shape[3]
            self.shape = (0, channels)
            self.add("rows", lambda x: tf.reshape(x, [-1, channels]))

    def product(self) -> None:
        if len(self.shape) == 2:
            self.keeps_sizes = False
            return self.matmul()
        self.pick.choice((self.convolution, self.convolution, self.depthwise, self.matmul))()

    def linear(self, text: str, weights: tuple[str, Callable[[], Any]], function: Callable[[Any, Any], Any], terms: int) -> None:
        of, w = weights
        self.add(f"{text} {of}", lambda x: function(x, w()),
                 lambda s: spans.linear(s, np.float64(w()), wide(function), terms))

    def matmul(self) -> None:
        inner, outer = self.shape[-1], self.pick.choice((1, 8, 17, 32, 48))
        weights = self.weights(inner, outer)
        if len(self.shape) == 2 or self.pick.random() < 0.5:
            self.shape = (*self.shape[:-1], outer)
            self.linear(f"matmul {outer}", weights, lambda x, w: tf.tensordot(x, w, 1), inner)
        else:
            self.shape = (*self.shape[:-1], outer)
            self.linear(f"einsum {outer}", weights, lambda x, w: tf.einsum("abcd,de->abce", x, w), inner)

    def sizes(self, size: int, stride: int, padding: str) -> tuple[int, int]:
        """Of the result; the padding must leave some of it, whatever the call's sizes."""
        self.keeps_sizes &= stride == 1 and (padding == "SAME" or size == 1)
        return tuple(-(-n // stride) if padding == "SAME" else (n - size) // stride + 1 for n in self.shape[1:3])  # type: ignore[return-value]

    def convolution(self) -> None:
        size, stride = self.pick.choice((1, 1, 2, 3)), self.pick.choice((1, 1, 1, 2))
        padding = self.pick.choice(("SAME", "SAME", "VALID"))
        if min(self.shape[1:3]) < size:
            padding = "SAME"
        inner, outer = self.shape[3], self.pick.choice((8, 16, 32, self.shape[3], self.shape[3]))
        groups = self.pick.choice([g for g in (1, 1, 1, 2, 4) if inner % g == 0 and outer % g == 0])
        weights = self.weights(size, size, inner // groups, outer)
        self.shape = (self.shape[0], *self.sizes(size, stride, padding), outer)
        self.linear(f"conv {size}x{size}x{outer}/{stride} {padding}{f' groups {groups}' * (groups > 1)}", weights,
                    lambda x, w: tf.nn.conv2d(x, w, stride, padding), size * size * inner // groups)

    def depthwise(self) -> None:
        size, stride = self.pick.choice((2, 3, 3)), self.pick.choice((1, 1, 2))
        weights = self.weights(size, size, self.shape[3], 1)
        self.shape = (self.shape[0], *self.sizes(size, stride, "SAME"), self.shape[3])
        self.linear(f"depthwise {size}x{size}/{stride}", weights,
                    lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, stride, stride, 1], "SAME"), size * size)

    def behind(self) -> None:
        if self.pick.random() < 0.6:
            values = self.rng.standard_normal(self.shape[-1]).astype(np.float32)
            bias = self.held(values)
            self.add("bias", lambda x: x + bias(), lambda s: spans.total(s, Span.exact(values)))
        kind = self.pick.choice(("none", "none", "relu", "relu", "relu6", "tanh"))
        if kind == "tanh":
            self.add("tanh", tf.tanh, lambda s: spans.smooth(s, np.tanh))
        elif kind != "none":
            self.add(kind, getattr(tf.nn, kind))

    def pool(self) -> None:
        if self.pick.random() < 0.5:
            self.shape = (self.shape[0], *self.sizes(2, 2, "SAME"), self.shape[3])
            return self.add("max", lambda x: tf.nn.max_pool2d(x, 2, 2, "SAME"))
        if self.pick.random() < 0.5:
            self.shape = (self.shape[0], *self.sizes(3, 1, "SAME"), self.shape[3])
            self.add("mean of 3x3", lambda x: tf.nn.avg_pool2d(x, 3, 1, "SAME"),
                     lambda s: spans.linear(s, np.float64(1), wide(lambda x, w: tf.nn.avg_pool2d(x, 3, 1, "SAME")), 9))
        else:
            terms = 200
            self.shape = (self.shape[0], self.shape[3])
            self.add("mean", lambda x: tf.reduce_mean(x, [1, 2]),
                     lambda s: spans.linear(s, np.float64(1), wide(lambda x, w: tf.reduce_mean(x, [1, 2])), terms))


def attempt(run: Callable[[Any], Any], x: np.ndarray) -> np.ndarray | str:
    try:
        return run(tf.constant(x)).numpy()
    except tf.errors.OpError as error:
        return f"error {type(error).__name__}: {error.message[-200:]}"


def results_of(seed: int) -> dict[str, Any]:
    """Of each call; spans in a process without Tektite."""
    network = Network(seed)
    run = tf.function(network.run, input_signature=[network.spec], autograph=False)
    compiled = os.environ.get("TEKTITE") == "1"
    answer: dict[str, Any] = {"text": f"{seed}: {network.describe()}", "results": [attempt(run, x) for x in network.calls]}
    if compiled:
        import tektite
        stats = tektite.stats()
        answer |= {"byte_products": stats.get("byte_products", 0), "runs": stats["host"]["runs"]}
    else:
        with np.errstate(all="ignore"):
            answer["spans"] = [network.span(x) for x in network.calls]
    return answer


def mistake(got: np.ndarray | str, want: np.ndarray | str, span: Span) -> str:
    """Empty where `got` is within what roundings of f32 allow, with NaN and infinities where TensorFlow has them."""
    if not span.low.size:  # TensorFlow's fused convolutions have their input's shape then, and errors by it
        if isinstance(got, str):
            return "" if isinstance(want, str) else got
        shapes = [span.low.shape, *([] if isinstance(want, str) else [want.shape])]
        return "" if got.shape in shapes else f"{got.shape} where {shapes} are right"
    if isinstance(got, str) or isinstance(want, str):
        return f"the network is wrong: {want}" if isinstance(want, str) else f"{got} where results are right"
    if got.shape != want.shape:
        return f"{got.shape} where {want.shape} is right"
    if np.any(np.isnan(got) != np.isnan(want)):
        return f"{np.sum(np.isnan(got))} NaN where {np.sum(np.isnan(want))} are right"
    finite = np.isfinite(want) & np.isfinite(span.low) & np.isfinite(span.high)
    with np.errstate(all="ignore"):
        bad_bar = span.misses(want, finite)
        if bad_bar:
            return f"the bar is wrong: TensorFlow misses {bad_bar} of {want.size}"
        missed = span.misses(got, finite)
        if missed:
            worst = np.argmax(np.where(finite, np.maximum(got - span.high, span.low - got), -np.inf))
            return f"{missed} of {got.size} are off, such as {got.flat[worst]} of [{span.low.flat[worst]}, {span.high.flat[worst]}]"
    other = ~np.isfinite(want) & ~np.isnan(want)
    return "infinities differ" if np.any(got[other] != want[other]) else ""


def run_side(folder: Path, seeds: list[int], tektite: str) -> dict[int, Any]:
    environment = {**os.environ, "TEKTITE": tektite, "TEKTITE_FLAGS": f"{FLAGS} {os.environ.get('TEKTITE_FLAGS', '')}",
                   "TF_CPP_MIN_LOG_LEVEL": "3", "TF_NUM_INTRAOP_THREADS": "2", "TF_ENABLE_ONEDNN_OPTS": "1"}
    file = folder / f"results{tektite}"
    done = subprocess.run([sys.executable, "-m", "tests.random_programs.quantized", "--worker", str(file), *map(str, seeds)], cwd=ROOT,
                          env=environment, capture_output=True, text=True, check=False, timeout=120 + 20 * len(seeds))
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    return pickle.loads(file.read_bytes())


def compare(seeds: list[int]) -> tuple[list[str], dict[str, float]]:
    """What differs, and counts: of networks, of products in bytes, and the mean width of a span over the largest result."""
    found, widths = [], []
    with tempfile.TemporaryDirectory(prefix="tektite_quantized_") as name:
        stock, ours = (run_side(Path(name), seeds, tektite) for tektite in ("0", "1"))
    for seed in seeds:
        for call, (got, want, span) in enumerate(zip(ours[seed]["results"], stock[seed]["results"], stock[seed]["spans"])):
            if wrong := mistake(got, want, span):
                found.append(f"{stock[seed]['text']}\n    call {call}: {wrong}")
                break
            with np.errstate(all="ignore"):
                width = np.mean(span.high - span.low) / np.max(np.abs(want), initial=1e-30) if span.low.size else 0.0
            widths += [float(width)] if np.isfinite(width) else []
    last = ours[seeds[-1]]
    return found, {"networks": len(seeds), "byte_products": last["byte_products"], "runs": last["runs"],
                   "width": float(np.median(widths))}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        results = {int(seed): results_of(int(seed)) for seed in args.worker[1:]}
        Path(args.worker[0]).write_bytes(pickle.dumps(results))
        return 0
    found, counts = compare(list(range(args.seed, args.seed + args.count)))
    print("\n".join([*found, f"{counts}, {len(found)} of them wrong"]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
