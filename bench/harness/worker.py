"""One engine on one workload in one process, steered by JSON lines on stdin; see process.Worker.

    {"do": "outputs", "save": FILE}   -> {"seconds": s}            runs once, keeps the results
    {"do": "settled_outputs", "save": FILE} -> also "compiled": none of it was left to TensorFlow's
                                         kernels; null where there is no Tektite
    {"do": "time", "seconds": s}      -> {"ms": [a, b, ...], "others": n}   a time per call, and how
                                         many CPUs others used meanwhile
    {"do": "requests", "order": [...], "save": FILE} -> as "time"  dynamic: a time per request; keeps
                                         samples of each one's results when it first comes
    Both of these take "warmup": true -> what comes before the first call: tektite.warmup
    {"do": "stats"}                   -> {"stats": {...} or null, "rss_mb": n, "weights_mb": n}
    {"do": "layers"}                  -> {"layers": [...]}         with --profile, of some engines
    {"do": "quit"}

Every answer is one line; a failure is {"error": "..."} and ends the process.  Output of TensorFlow or a model to stdout
goes to stderr, so that it cannot disturb the answers.
"""
import argparse
import gc
import importlib.util
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from bench.harness.engines import ENGINES
from bench.harness.litert_model import convert
from bench.harness.machine import OtherLoad
from bench.harness.onnx_export import export
from bench.harness.runners import Runner, limit_cpus, make_model, make_runner
from bench.models.workload import Workload


MOST_CALLS_TO_SETTLE = 50
MOST_CALLS_TO_COMPARE = 5


def take_stdout() -> TextIO:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return answers


def peak_rss_mb() -> float:
    """Peak resident memory of this process so far, MiB."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def tektite_stats() -> dict[str, Any] | None:
    """The compiler's counters; None where Tektite is not installed or not active."""
    try:
        import tektite
    except ImportError:
        return None
    return tektite.stats() or None


def run_outputs(runner: Runner, request: dict) -> dict:
    begin = time.perf_counter()
    arrays = runner.outputs()
    seconds = time.perf_counter() - begin
    np.savez(request["save"], *arrays)
    return {"seconds": seconds}


def run_settled_outputs(runner: Runner, request: dict) -> dict:
    """Of a call that compiled code answered, where one can be had: some go to TensorFlow's kernels, to see which
    are faster, and all of those where compiled code is slower."""
    def fallbacks() -> int | None:
        stats = tektite_stats()
        return None if stats is None else sum(stats.get("host", {}).get("fallbacks", {}).values())

    for _ in range(MOST_CALLS_TO_COMPARE):
        before, answer = fallbacks(), run_outputs(runner, request)
        answer["compiled"] = None if before is None else fallbacks() == before
        if answer["compiled"] is not False:
            break
    return answer


def run_timed(runner: Runner, request: dict) -> dict:
    """At least so many calls, or one, then calls until the time is over."""
    clock, times = time.perf_counter, []
    with OtherLoad() as load:
        if request.get("warmup"):
            runner.warmup()
        end = clock() + request["seconds"]
        while len(times) < request.get("calls", 1) or clock() < end:
            begin = clock()
            runner.call()
            times.append((clock() - begin) * 1e3 / runner.per_call)
    return {"ms": times, "others": load.cpus}


def comparison_of(stats: dict[str, Any]) -> dict[str, Any]:
    """Which sides have won; until version 7 of the C interface the hook counted them."""
    return stats.get("comparison") or stats.get("contest") or stats.get("host", {}).get("contest") or {}


def run_warm(runner: Runner, request: dict) -> dict:
    """Calls for a while.  Where Tektite compiles behind them, also until its code is there, however busy the
    machine is, and has been compared with TensorFlow's kernels."""
    run_timed(runner, request)
    if tektite_stats() is None:
        return {}
    import tektite
    tektite.wait_until_compiled()
    for _ in range(MOST_CALLS_TO_SETTLE):
        if not comparison_of(tektite_stats() or {}).get("open"):
            break
        runner.call()
    return {}


def run_requests(runner: Runner, request: dict, workload: Workload) -> dict:
    """The workload's requests in this order, an index each."""
    clock, times, inputs, kept = time.perf_counter, [], workload.requests(), {}
    with OtherLoad() as load:
        if request.get("warmup"):
            runner.warmup()
        for i in request["order"]:
            begin = clock()
            results = runner.request(inputs[i])
            times.append((clock() - begin) * 1e3)
            if i not in kept:
                kept[i] = runner.samples(results)
    np.savez(request["save"], *(a for i in sorted(kept) for a in kept[i]))
    return {"ms": times, "others": load.cpus}


def run_stats(runner: Runner, request: dict) -> dict:
    return {"stats": tektite_stats(), "rss_mb": peak_rss_mb(),
            "weights_mb": float(runner.weights_mb)}


def run_layers(runner: Runner, request: dict) -> dict:
    return {"layers": runner.layers()}


def serve(runner: Runner, workload: Workload, answers: TextIO) -> None:
    commands = {"outputs": run_outputs, "time": run_timed, "warm": run_warm, "stats": run_stats, "layers": run_layers,
                "settled_outputs": run_settled_outputs,
                "requests": lambda runner, request: run_requests(runner, request, workload)}
    gc.collect()  # takes a tenth of a second, and would fall into the first call of one engine or another
    print(json.dumps({"ready": True}), file=answers)
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "quit":
            break
        print(json.dumps(commands[request["do"]](runner, request)), file=answers)


def brief(error: Exception) -> str:
    """One line.  TensorFlow tells the whole call stack first, then what was wrong, then the node."""
    told, node, _ = str(error).partition("[[{{node")
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    text = lines[-1] if node and lines else " ".join(lines)
    return f"{type(error).__name__}: {text[:300]}"


def load_module(name: str) -> Any:
    if not name.endswith(".py"):
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(Path(name).stem, name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Runs one engine on one workload; see the source.")
    parser.add_argument("--module", default="bench.models",
                        help="module, or path of a Python file, with a WORKLOADS table")
    parser.add_argument("--workload", required=True)
    parser.add_argument("--engine", required=True, choices=ENGINES)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="folder of batch-norm statistics")
    parser.add_argument("--then", choices=["serve", "prepare", "export", "litert", "litert_int8"], default="serve",
                        help="answer requests, or compute those statistics, or write a file for another engine")
    parser.add_argument("--profile", action="store_true", help="let the engine time its layers")
    parser.add_argument("--any-batch", action="store_true", help="trace for every size of the first dimension")
    return parser.parse_args()


def main() -> None:
    args, answers = parse_arguments(), take_stdout()
    try:
        limit_cpus(args.threads)
        workload = replace(load_module(args.module).WORKLOADS[args.workload], any_batch=args.any_batch)
        if args.then == "serve":
            engine = ENGINES[args.engine]
            runner = make_runner(workload, engine, args.threads, args.cache, args.profile)
            serve(runner, workload, answers)
        else:
            if args.then == "prepare":
                make_model(workload, args.cache, compute_statistics=True)
            elif args.then == "export":
                export(workload, args.cache)
            else:
                convert(workload, args.cache, low_precision=args.then == "litert_int8")
            print(json.dumps({"ready": True}), file=answers)
    except Exception as error:  # whatever an engine throws is an answer of this run
        print(json.dumps({"error": brief(error)}), file=answers)
        raise
    finally:
        answers.flush()
    os._exit(0)  # TensorFlow's own teardown is slow, and of no interest


if __name__ == "__main__":
    main()
