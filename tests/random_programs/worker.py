"""One half of `hunt`: makes and runs random programs, or runs those made before; see there.

    python -m tests.random_programs.worker make FOLDER 100 101 102     # with TEKTITE=0
    python -m tests.random_programs.worker run FOLDER 100 101 102      # with TEKTITE=1

TEKTITE_PROGRAMS=sizes: those of sizes that only a call tells; =deterministic: these with TensorFlow's op determinism.

Writes FOLDER/<seed>.made and FOLDER/<seed>.<word>; prints on stdout which seed it begins, so that the reader knows
which seed ended the process.
"""

import os
import pickle
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from tests.random_programs.programs import make_program, run_program, tolerances

KIND = os.environ.get("TEKTITE_PROGRAMS", "")
ROUNDS = 8  # enough for functions to be called directly in the end


def make(folder: Path, seed: int) -> None:
    program = make_program(seed, of_sizes=bool(KIND))
    made = {"program": program, "results": run_program(program), "allowed": tolerances(program)}
    (folder / f"{seed}.made").write_bytes(pickle.dumps(made))


def run(folder: Path, seed: int) -> None:
    made = folder / f"{seed}.made"
    if made.exists():
        results = run_program(pickle.loads(made.read_bytes())["program"], ROUNDS)
        (folder / f"{seed}.run").write_bytes(pickle.dumps(results))


def main() -> None:
    work = {"make": make, "run": run}[sys.argv[1]]
    tf.get_logger().setLevel("ERROR")
    if KIND == "deterministic":
        tf.config.experimental.enable_op_determinism()
    for seed in map(int, sys.argv[3:]):
        print(f"BEGIN {seed}", flush=True)
        work(Path(sys.argv[2]), seed)
        tf.keras.backend.clear_session() if seed % 100 == 0 else None
    os._exit(0)


if __name__ == "__main__":
    main()
