"""Property tests: random draws of every op row, run by TensorFlow's own kernels and by compiled code, and compared.

    python -m tests.properties --draws 200 --seed 7                    every row of the importer's list
    python -m tests.properties --draws 200 --ops Conv2D,MaxPool
    python -m tests.properties --ops Conv2D --numbers 41,57            these draws again
    python -m tests.properties --lane known --draws 200                operands that are known from shapes (lanes.py)

A draw is one call: its shapes (0, 1, odd, large; known to the graph or not), types, attributes and values, special ones
among them. TensorFlow runs it eagerly without Tektite; the compiled side is forced. Results are compared by the contract
of docs/numbers.md, gradients too where TensorFlow has them. Prints each difference, with the number that draws it again;
exit code 1 where there is one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    from tests.properties.compare import FLAGS_OF_LANE, compare_rows, numbers_of, rows_of_importer
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200, help="calls of each row")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ops", default="", help="rows, separated by commas; all of them where empty")
    parser.add_argument("--numbers", default="", help="numbers of draws, as printed, instead of --draws")
    parser.add_argument("--lane", default="plain", choices=list(FLAGS_OF_LANE))
    parser.add_argument("--verbose", action="store_true", help="print how many calls of each row compiled code ran")
    args = parser.parse_args()
    ops = args.ops.split(",") if args.ops else rows_of_importer()
    given = [int(n) for n in args.numbers.split(",") if n]
    draws = [(op, number) for op in ops for number in given or numbers_of(op, args.draws, args.seed, args.lane)]
    wrong = 0
    for report in compare_rows(draws, args.lane):
        wrong += len(report.differences)
        for line in report.differences:
            print(line, flush=True)
        if args.verbose or report.compiled == 0:
            print(f"{report.op}: {report.calls} calls, {report.errors} errors, {report.compiled} compiled, "
                  f"{report.ended} ended TensorFlow", flush=True)
    print(f"{len(draws)} functions of {len(ops)} rows, {wrong} of them wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
