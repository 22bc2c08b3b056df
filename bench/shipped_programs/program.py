"""Shorthand for bench/shipped_programs: a program of a package, and how its results are compared.

    Program("hmc", hmc)                                # a call is repeatable: default flags' results are compared
    Program("dcgan", dcgan, trains=True)               # calls differ: the first ones are compared, all of them compiled

`make` builds all that it needs once and returns a callable; one call of it is measured.
"""
from dataclasses import dataclass
from typing import Any, Callable

from bench.models.workload import Workload


@dataclass(frozen=True)
class Program:
    name: str
    make: Callable[[], Callable[[], Any]]
    trains: bool = False
    keras_3: bool = False  # the others are written for Keras 2, which tf-keras is
    tolerance: float = 2e-5  # of the largest result

    @property
    def workload(self) -> Workload:
        return Workload(self.name, kind="program", program=self.make, inputs=list, stateful=self.trains,
                        tolerance=self.tolerance)
