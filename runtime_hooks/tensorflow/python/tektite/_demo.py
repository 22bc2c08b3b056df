"""``tektite demo``: small models, plain and compiled, in under a minute; ``--json`` for programs.

Two processes, one with ``TEKTITE=0`` and one with ``TEKTITE=1``, run each model in turns (A B A B ...); the table shows the
median call of each, and how far the results are apart. Weights and inputs are random numbers of one seed. Exit code 1
where results differ by more than 2e-5 of the largest, or where nothing was compiled.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tektite import _output

_MOST_APART = 2e-5  # of the largest output
_ROUNDS = 5
_TURN_SECONDS = 0.2
_BUSY = 1.0  # threads of other programs that change times
_SETTLING_SECONDS = 1.5  # in which Tektite finds out whether code or TensorFlow's kernels are faster
_WARM_SECONDS = 0.3  # the same of plain TensorFlow, which has nothing to find out


def _encoder(tf: Any) -> Callable[[], Any]:
    """Two layers of a text encoder: 8 sentences of 64 words, 256 features, 4 heads."""
    random = np.random.default_rng(5)
    width, heads, words, count = 256, 4, 64, 8

    def weight(*shape: int) -> Any:
        return tf.Variable(random.normal(0, 0.05, shape).astype(np.float32))

    layers = [[weight(width, 3 * width), weight(width, width), weight(width, 4 * width), weight(4 * width, width)]
              for _ in range(2)]

    def norm(x: Any) -> Any:
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-5)

    @tf.function(input_signature=[tf.TensorSpec([None, words, width])])  # type: ignore[untyped-decorator, unused-ignore]
    def encode(x: Any) -> Any:
        for qkv, out, up, down in layers:
            q, k, v = tf.unstack(tf.transpose(tf.reshape(norm(x) @ qkv, [-1, words, 3, heads, width // heads]),
                                              [2, 0, 3, 1, 4]))
            scores = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * (width // heads) ** -0.5)
            x += tf.reshape(tf.transpose(scores @ v, [0, 2, 1, 3]), [-1, words, width]) @ out
            x += tf.nn.gelu(norm(x) @ up) @ down
        return norm(x)

    sentences = tf.constant(random.normal(size=(count, words, width)).astype(np.float32))
    return lambda: encode(sentences)


def _mobilenet(tf: Any) -> Callable[[], Any]:
    """MobileNetV2 on one image."""
    random = np.random.default_rng(5)
    model = tf.keras.applications.MobileNetV2(weights=None)
    model.set_weights([random.uniform(0.5, 1.5, w.shape).astype(np.float32) if w.ndim == 1 else
                       random.normal(0, np.sqrt(2 / np.prod(w.shape[:-1])), w.shape).astype(np.float32)
                       for w in model.get_weights()])
    image = tf.constant(random.uniform(-1, 1, (1, 224, 224, 3)).astype(np.float32))
    call = tf.function(lambda x: model(x, training=False))
    return lambda: call(image)


def _options(tf: Any) -> Callable[[], Any]:
    """Prices of 200,000 options, by Black and Scholes."""
    random = np.random.default_rng(5)
    spot, strike, years = (tf.constant(random.uniform(low, high, 200_000).astype(np.float32))
                           for low, high in ((50, 150), (50, 150), (0.2, 2)))

    @tf.function  # type: ignore[untyped-decorator, unused-ignore]
    def price(spot: Any, strike: Any, years: Any) -> Any:
        spread = 0.3 * tf.sqrt(years)
        d1 = (tf.math.log(spot / strike) + 0.065 * years) / spread
        chance = [0.5 * (1.0 + tf.math.erf(d * 0.70710678)) for d in (d1, d1 - spread)]
        return spot * chance[0] - strike * tf.exp(-0.02 * years) * chance[1]

    return lambda: price(spot, strike, years)


MODELS: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "encoder": _encoder, "mobilenetv2": _mobilenet, "options": _options}


def _call_for(seconds: float, call: Callable[[], Any]) -> list[float]:
    times: list[float] = []
    begin = time.perf_counter()
    while not times or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        call().numpy()
        times.append(time.perf_counter() - start)
    return times


def _work() -> int:
    """A process with or without Tektite: reads a model's name for each turn, answers a line of JSON."""
    import tektite

    tf = importlib.import_module("tensorflow")  # it has no type stubs
    calls: dict[str, Callable[[], Any]] = {}
    for line in sys.stdin:
        name, path = line.split()
        if name not in calls:
            calls[name] = MODELS[name](tf)
            np.save(path, calls[name]().numpy())
            if tektite.is_active():
                tektite.wait_until_compiled()
            _call_for(_SETTLING_SECONDS if tektite.is_active() else _WARM_SECONDS, calls[name])
            np.save(path, calls[name]().numpy())  # by compiled code, where that is faster
        print("\n" + json.dumps({"times": _call_for(_TURN_SECONDS, calls[name]), "stats": tektite.stats()}), flush=True)
    return 0


class _Process:
    def __init__(self, switch: str, folder: Path) -> None:
        environment = {**os.environ, "TEKTITE": switch, "TF_CPP_MIN_LOG_LEVEL": "3"}
        self.folder = folder / switch
        self.folder.mkdir()
        self.said = self.folder / "stderr"  # TensorFlow has something to say at any level
        with self.said.open("w") as said:
            self.process = subprocess.Popen([sys.executable, "-m", "tektite", "demo", "--worker"], env=environment, text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said)

    def turn(self, name: str) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{name} {self.folder / name}.npy\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise SystemExit(f"{self.said.read_text(errors='replace')}tektite demo: a process ended with code {self.process.wait()}")

    def result(self, name: str) -> Any:
        return np.load(self.folder / f"{name}.npy")

    def end(self) -> None:
        self.process.stdin.close() if self.process.stdin is not None else None
        self.process.wait()


def _threads_of_others() -> int:
    """How many threads of other programs run or want to, while both processes wait for a turn; Linux's answer."""
    try:
        return int(Path("/proc/loadavg").read_text().split()[3].split("/")[0]) - 1
    except (OSError, ValueError, IndexError):
        return 0


def measure() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        plain, compiled = _Process("0", Path(folder)), _Process("1", Path(folder))
        models = {}
        stats: dict[str, Any] = {}
        others: list[int] = []
        for name in MODELS:
            times: tuple[list[float], list[float]] = ([], [])
            for turn in range(_ROUNDS):
                _output.show(f"{name}: turn {turn + 1} of {_ROUNDS}")
                others.append(_threads_of_others())
                times[0].extend(plain.turn(name)["times"])
                answer = compiled.turn(name)
                times[1].extend(answer["times"])
                stats = answer["stats"]
            before, after = (1e3 * statistics.median(each) for each in times)
            expected = plain.result(name)
            apart = float(np.abs(compiled.result(name) - expected).max() / np.abs(expected).max())
            models[name] = {"plain_ms": before, "compiled_ms": after, "times_faster": before / after, "apart": apart}
        _output.clear()
        plain.end()
        compiled.end()
    host = stats.get("host", {})
    return {"models": models, "threads_of_others": statistics.fmean(others),
            "clusters": stats.get("clusters", 0), "runs": host.get("runs", 0),
            "compiled_or_loaded": stats.get("compiles", 0) + stats.get("loaded_modules", 0),
            "loaded_modules": stats.get("loaded_modules", 0), "direct_runs": host.get("direct_runs", 0)}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tektite demo", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON in the table's place")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        return _work()
    result = measure()
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        print(f"{'model':<14}{'TensorFlow':>12}{'Tektite':>12}{'faster':>10}{'apart':>10}")
        for name, row in result["models"].items():
            print(f"{name:<14}{row['plain_ms']:>9.2f} ms{row['compiled_ms']:>9.2f} ms{row['times_faster']:>9.2f}x"
                  f"{row['apart']:>10.1e}")
        print(f"{result['clusters']} clusters, {result['direct_runs']} of {result['runs']} calls direct, "
              f"{result['loaded_modules']} read from the cache")
        if result["threads_of_others"] >= _BUSY:
            print(f"the machine was busy: {result['threads_of_others']:.0f} threads of other programs wanted its "
                  f"{os.cpu_count()} CPUs; at rest the times would be others")
    right = all(row["apart"] <= _MOST_APART for row in result["models"].values())
    return 0 if right and result["compiled_or_loaded"] > 0 else 1
