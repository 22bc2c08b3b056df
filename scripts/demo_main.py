"""Four models on real input, in plain TensorFlow and with TEKTITE=1; scripts/demo calls this.

    build/venv/bin/python scripts/demo_main.py [--quick] [--json FILE] [--rounds N] [--models A,B]

Two processes per model, one without and one with Tektite, are asked in turns (A B A B ...) to run the
model for a while; the table shows the median call of each.  Results are compared after the first call
and after the last.  Exit code 1 where they differ by more than 2e-5 of the largest output, where
Tektite compiled nothing, or where a process failed.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import numpy as np

import demo_models
from bench.harness import figures
from bench.harness.engines import ENGINES, STOCK, TEKTITE
from bench.harness.process import NOT_LOADED, Task, Worker, WorkerFailed, prepare

MODULE = str(ROOT / "scripts" / "demo_models.py")
ABOUT = {
    "sentences": (f"sentence encoder, batches of {demo_models.BATCH}",
                  "all-MiniLM-L6-v2 with its real weights reads the sentences of " + demo_models.TEXT.name),
    "mobilenetv2": ("MobileNetV2, a photograph", "a photograph of Grace Hopper; the weights are random"),
    "resnet50": ("ResNet50, a photograph", "the same photograph; the weights are random"),
    "bert_base": ("BERT-base, 128 tokens", "the text's beginning; the weights are random"),
}
COUNTERS = ("ops", "clustered_ops", "clusters", "compiles", "compile_seconds")


class Progress:
    """One line per step that may take a while, with the seconds since the start."""

    def __init__(self):
        self.begin = time.monotonic()

    def __call__(self, text: str) -> None:
        print(f"{time.monotonic() - self.begin:5.0f} s  {text}", flush=True)


def difference_of(before: dict, after: dict) -> dict:
    """Counters of this model alone: building it has run graphs, too."""
    return {name: after[name] - before.get(name, 0) for name in COUNTERS if name in after}


def run_model(name: str, args: argparse.Namespace, folder: Path, say: Progress) -> dict:
    """Both processes on one model; raises WorkerFailed."""
    # The first call's time is to say what compiling takes: on this thread, with all of the machine.
    flags = f"--compile=sync {os.environ.get('TEKTITE_FLAGS', '')}".strip()
    workload = demo_models.WORKLOADS[name]
    task = Task(MODULE, name, args.threads, environment=(("TEKTITE_FLAGS", flags),))
    prepare(task, workload)
    say("  plain TensorFlow starts and builds the model")
    with Worker(task, ENGINES[STOCK]) as plain:
        first_plain = plain.outputs(folder / "plain.npz")
        say(f"  first call {first_plain:.2f} s; TEKTITE=1 starts and builds the model")
        with Worker(task, ENGINES[TEKTITE]) as ours:
            before, _ = ours.stats()
            if before is None:
                raise WorkerFailed(NOT_LOADED)
            first_ours = ours.outputs(folder / "first.npz")
            say(f"  first call {first_ours:.2f} s; {args.rounds} rounds of {args.seconds:g} s each in turns")
            times = alternate(plain, ours, args)
            ours.settled_outputs(folder / "tektite.npz")
            after, rss_ours = ours.stats()
            _, rss_plain = plain.stats()
    return {"model": name, "ms_plain": times[0], "ms_tektite": times[1], "ratio": times[0] / times[1],
            "first_s_plain": first_plain, "first_s_tektite": first_ours,
            "rss_mb_plain": rss_plain, "rss_mb_tektite": rss_ours,
            "difference": max(figures.largest_difference(folder / "plain.npz", folder / f"{kind}.npz")
                              for kind in ("first", "tektite")),
            **difference_of(before, after), "fallbacks": after.get("fallbacks", {})}


def alternate(plain: Worker, ours: Worker, args: argparse.Namespace) -> tuple[float, float]:
    """Median milliseconds of each, over the rounds' medians; the first round is a warm-up."""
    rounds = [(statistics.median(plain.times(args.seconds).ms), statistics.median(ours.times(args.seconds).ms))
              for _ in range(args.rounds + 1)][1:]
    return tuple(statistics.median(column) for column in zip(*rounds))


def complaint(row: dict) -> str | None:
    """Why a model's row makes the demo fail."""
    if "error" in row:
        return row["error"]
    allowed = demo_models.WORKLOADS[row["model"]].tolerance
    if not row["difference"] <= allowed:
        return f"results differ by {row['difference']:.1e} of the largest output, allowed is {allowed:.0e}"
    return None if row.get("clustered_ops") else "Tektite compiled nothing"


def print_sentences(folder: Path, count: int = 5) -> None:
    """Prints the most alike sentences, as Tektite's encoder finds them."""
    with np.load(folder / "tektite.npz") as saved:
        vectors = np.concatenate([saved[name].reshape(-1, demo_models.HIDDEN) for name in saved.files])
    print(f"\n  The most alike of {len(vectors)} sentences, by TEKTITE=1:")
    for cosine, a, b in demo_models.most_alike(vectors, count):
        print(f"   {cosine:.3f}  {shorten(a)}\n          {shorten(b)}")
    print()


def shorten(text: str, width: int = 100) -> str:
    return text if len(text) <= width else text[:width - 3].rstrip() + "..."


def print_table(rows: list[dict]) -> None:
    header = ["model", "ms plain", "ms Tektite", "ratio", "difference", "ops compiled", "clusters", "compile s"]
    print("\n" + figures.table(header, [cells(row) for row in rows if "error" not in row]))
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    if ratios:
        print(f"\ngeometric mean of the ratios: {figures.geometric_mean(ratios):.2f}x (above 1: Tektite is faster)")
    print("difference: largest of any output, first and last call, relative to the largest output")


def cells(row: dict) -> list[str]:
    return [ABOUT[row["model"]][0], figures.short(row["ms_plain"]), figures.short(row["ms_tektite"]),
            figures.short(row["ratio"]), f"{row['difference']:.1e}",
            f"{row.get('clustered_ops', 0)} / {row.get('ops', 0)}", str(row.get("clusters", 0)),
            figures.short(row.get("compile_seconds"))]


def model_names(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in demo_models.WORKLOADS:
            raise argparse.ArgumentTypeError(f"no model '{name}'; there are {', '.join(ABOUT)}")
    return names


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 rounds of a quarter second")
    parser.add_argument("--rounds", type=int, help="turns each process gets (default 5)")
    parser.add_argument("--seconds", type=float, help="length of a turn (default 1)")
    parser.add_argument("--threads", type=int, default=2, help="CPUs and threads a process may use")
    parser.add_argument("--models", type=model_names, default=list(ABOUT), metavar="A,B",
                        help=f"of {', '.join(ABOUT)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures there")
    args = parser.parse_args()
    args.rounds = args.rounds or (2 if args.quick else 5)
    args.seconds = args.seconds or (0.25 if args.quick else 1.0)
    return args


def main() -> int:
    args, say, rows = parse_arguments(), Progress(), []
    for number, name in enumerate(args.models, 1):
        say(f"[{number}/{len(args.models)}] {ABOUT[name][0]}: {ABOUT[name][1]}")
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows.append(run_model(name, args, Path(folder), say))
                if name == "sentences":
                    print_sentences(Path(folder))
            except WorkerFailed as error:
                rows.append({"model": name, "error": str(error)})
                say(f"  failed: {error}")
    print_table(rows)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    problems = [f"{row['model']}: {text}" for row in rows if (text := complaint(row))]
    for problem in problems:
        print(f"demo: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
