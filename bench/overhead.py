#!/usr/bin/env python3
"""What Tektite costs where it does nothing useful: at import, in eager ops, around a cluster.

    bench/overhead.py [--repeat 11] [--plain-python OTHER/bin/python] [--json FILE]

import        seconds of `import tensorflow`: TEKTITE=0 (or, with --plain-python, an environment that
              has no plugin), TEKTITE unset, TEKTITE=1
eager op      microseconds of a + b on one element, the same three ways
cluster       microseconds that a call of a tf.function takes more when its body (four ops on one
              element) is one cluster than when it is empty in stock TensorFlow; what that body costs
              as TensorFlow's own ops stands beside it
Processes take turns. All these costs are constant and disturbances only ever add to them, so a figure is the
fastest of its kind: of the batches within a process, and of all processes. Differences below the spread
that is printed with them mean nothing.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

CALLS, BATCHES = 400, 25
# So that even one element is worth a cluster, and the compiled one is what runs.
EVERYTHING = "--min_cluster_cost=0 --compile=sync --compare=false"


# ---- in the measured process -----------------------------------------------------------------------

def per_call_us(call) -> float:
    """Microseconds of a call: the fastest batch, which nothing interrupted."""
    for _ in range(CALLS):
        call()
    clock, times = time.perf_counter, []
    for _ in range(BATCHES):
        begin = clock()
        for _ in range(CALLS):
            call()
        times.append((clock() - begin) / CALLS * 1e6)
    return min(times)


def time_functions(tf) -> dict[str, float]:
    x = tf.constant([0.5])
    body = tf.function(lambda x: tf.tanh(x * x + x) - x)
    empty = tf.function(lambda x: tf.identity(x))
    return {"body_us": per_call_us(lambda: body(x)), "empty_us": per_call_us(lambda: empty(x))}


def cluster_runs() -> int:
    """How often compiled code has run in this process; 0 without Tektite."""
    try:
        import tektite
    except ImportError:
        return 0
    return int(tektite.stats().get("runs", 0))


def measure_here() -> None:
    """Prints one JSON object; the environment has been set by the parent."""
    begin = time.perf_counter()
    import tensorflow as tf
    result = {"import_s": time.perf_counter() - begin}
    a, b = tf.constant([1.0]), tf.constant([2.0])
    result["eager_us"] = per_call_us(lambda: a + b)
    result |= time_functions(tf)
    result["cluster_runs"] = cluster_runs()
    print(json.dumps(result))


# ---- in the parent ---------------------------------------------------------------------------------

def run(python: str, switch: str | None) -> dict[str, float]:
    """One process with TEKTITE set to `switch`, or unset."""
    environment = {k: v for k, v in os.environ.items() if k not in ("TEKTITE", "TEKTITE_FLAGS")}
    environment |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    if switch is not None:
        environment |= {"TEKTITE": switch, "TEKTITE_FLAGS": EVERYTHING}
    done = subprocess.run([python, __file__, "--measure"], env=environment, text=True, capture_output=True)
    if done.returncode:
        words = done.stderr.strip().splitlines() or ["no message"]
        sys.exit(f"overhead: a process with TEKTITE={switch} failed: {words[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def summarise(turns: list[dict[str, dict]]) -> dict[str, float]:
    def best(name: str, figure: str) -> float:
        return min(turn[name][figure] for turn in turns)

    def spread(figure: str) -> float:
        """How far the middle process is from the fastest, in plain TensorFlow."""
        return statistics.median(turn["plain"][figure] for turn in turns) - best("plain", figure)

    result = {"import_s": best("plain", "import_s"), "import_spread_ms": spread("import_s") * 1e3,
              "eager_us": best("plain", "eager_us"), "eager_spread_us": spread("eager_us")}
    for name in ("unset", "on"):
        result[f"import_more_ms_{name}"] = (best(name, "import_s") - result["import_s"]) * 1e3
        result[f"eager_more_us_{name}"] = best(name, "eager_us") - result["eager_us"]
    result["cluster_more_us"] = best("on", "body_us") - best("plain", "empty_us")
    result["stock_body_more_us"] = best("plain", "body_us") - best("plain", "empty_us")
    result["function_spread_us"] = spread("empty_us")
    result["cluster_runs"] = min(turn["on"]["cluster_runs"] for turn in turns)
    return result


def print_report(r: dict[str, float]) -> None:
    print(f"import tensorflow  plain {r['import_s']:.3f} s (spread {r['import_spread_ms']:.1f} ms), "
          f"TEKTITE unset {r['import_more_ms_unset']:+.1f} ms, TEKTITE=1 {r['import_more_ms_on']:+.1f} ms")
    print(f"eager op           plain {r['eager_us']:.2f} us (spread {r['eager_spread_us']:.2f} us), "
          f"TEKTITE unset {r['eager_more_us_unset']:+.2f} us, TEKTITE=1 {r['eager_more_us_on']:+.2f} us")
    if r["cluster_runs"]:
        print(f"cluster            {r['cluster_more_us']:+.2f} us over an empty function (spread "
              f"{r['function_spread_us']:.2f} us); the same four ops in stock TensorFlow {r['stock_body_more_us']:+.2f} us")
    else:
        print("cluster            not measured: nothing was compiled in this environment")


def main() -> None:
    from bench.harness.engines import default_python
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=11, help="turns of three processes")
    parser.add_argument("--python", default=default_python(), help="Python that has TensorFlow and the plugin")
    parser.add_argument("--plain-python", help="Python that has the same TensorFlow and no plugin")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures there")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        return measure_here()
    turns = []
    for number in range(args.repeat + 1):
        turns.append({"plain": run(args.plain_python or args.python, "0"),
                      "unset": run(args.python, None), "on": run(args.python, "1")})
        print(f"turn {number} of {args.repeat} done", file=sys.stderr)
    result = summarise(turns[1:])  # the first turn fills the file cache
    print_report(result)
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
