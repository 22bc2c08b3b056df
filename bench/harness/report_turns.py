"""The figures of bench/reports: a model's two processes, stock TensorFlow's and Tektite's, measure each place in turn.

    for row in measure("resnet50", [Place("infer", "synthetic", 1)], Options(threads=2, seconds=2.0, longest=100.0, images=folder)):
        row["engine"], row["per_second"]

A row without a figure has "error", one line.  A place is "not run" where the batch before it says that it would take longer than
`longest`: steps of VGG16 on 64 images in training are minutes on two cores.  A process that ends is started again for the next place.
"""
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bench.harness.engines import ENGINES, STOCK, TEKTITE, default_python, environment
from bench.harness.machine import QUIET
from bench.harness.process import Answering, WorkerFailed

NOT_RUN = "not run: "
# A first call, one before the measured one, and that.
STEPS = 3
# Tektite's own code runs all calls: comparing it with TensorFlow's kernels takes four steps, of minutes in training.
OWN_CODE = "--compare=false"


class Place(NamedTuple):
    kind: str
    input: str
    batch: int


@dataclass(frozen=True)
class Options:
    threads: int
    seconds: float  # of steps, for each figure; one step at least
    longest: float  # seconds that a figure may take
    images: Path


class Side:
    def __init__(self, model: str, engine: str, options: Options) -> None:
        self.model, self.engine, self.options = model, engine, options
        self.worker: Answering | None = None
        self.step_s: dict[tuple[str, int], float] = {}

    def close(self) -> None:
        if self.worker is not None:
            self.worker.close()
        self.worker = None

    def measure(self, place: Place) -> dict[str, Any]:
        row = {"engine": self.engine, "model": self.model, **place._asdict()}
        expected = STEPS * self.expected_step(place)
        if expected > self.options.longest:
            return row | {"error": f"{NOT_RUN}{STEPS} steps take {expected:.0f} s"}
        begin = time.monotonic()
        try:
            row |= self.ask(place)
        except WorkerFailed as error:
            self.close()
            if "no answer within" in str(error):
                return row | {"error": f"{NOT_RUN}takes more than {2 * self.options.longest:.0f} s"}
            return row | {"error": str(error)}
        self.step_s[place.kind, place.batch] = row["ms"] / 1e3
        return row | {"wall_s": time.monotonic() - begin, "disturbed": row["others"] > QUIET}

    def expected_step(self, place: Place) -> float:
        """From the largest batch so far: time grows with the images."""
        known = [(batch, step) for (kind, batch), step in self.step_s.items() if kind == place.kind and batch <= place.batch]
        return max(known)[1] * place.batch / max(known)[0] if known else 0.0

    def ask(self, place: Place) -> dict[str, Any]:
        if self.worker is None:
            extra = {"TEKTITE_FLAGS": OWN_CODE} if self.engine == TEKTITE else {}
            command = [default_python(), "-m", "bench.harness.report_worker", self.model, "--threads", str(self.options.threads), "--images",
                       str(self.options.images)]
            self.worker = Answering(command, environment(ENGINES[self.engine], self.options.threads, extra), 2 * self.options.longest)
        return self.worker.ask(**place._asdict(), seconds=self.options.seconds)


def measure(model: str, places: Iterable[tuple[Place, str]], options: Options) -> Iterator[dict[str, Any]]:
    """A row for each place and engine, in that order."""
    sides = {engine: Side(model, engine, options) for engine in (STOCK, TEKTITE)}
    try:
        for place, engine in places:
            yield sides[engine].measure(place)
    finally:
        for side in sides.values():
            side.close()
