"""How long each ``tf.function`` of a process takes that Python calls, for ``tektite profile``.

    times = FunctionTimes()
    times.install()          # once TensorFlow's calls have been wrapped (_direct.py)
    times.by_name["train_step"].calls, .seconds, .first_seconds

A call costs 0.3 us more. Functions called while another one runs or is traced are part of that one.
"""

from __future__ import annotations

import dataclasses
import importlib
import threading
import time
from typing import Any

from tektite import _signatures

_MOST_SPANS = 4000  # calls that the timeline shows


@dataclasses.dataclass
class Times:
    calls: int = 0
    seconds: float = 0.0  # without the first call, which traces the function
    first_seconds: float = 0.0


class _Inside(threading.local):
    is_inside = False


class FunctionTimes:
    def __init__(self) -> None:
        self.by_name: dict[str, Times] = {}
        self.spans: list[tuple[str, float, float]] = []  # name, begin, seconds; from `began` on
        self.began = time.perf_counter()

    def add(self, name: str, begin: float, end: float) -> None:
        times = self.by_name.get(name)
        if times is None:
            times = self.by_name[name] = Times()
            times.first_seconds = end - begin
        else:
            times.seconds += end - begin
        times.calls += 1
        if len(self.spans) < _MOST_SPANS:
            self.spans.append((name, begin - self.began, end - begin))

    def install(self) -> None:
        functions: Any = importlib.import_module("tensorflow.python.eager.polymorphic_function.polymorphic_function")
        concrete: Any = importlib.import_module("tensorflow.python.eager.polymorphic_function.concrete_function")
        _time_calls(functions.Function, lambda function: str(function._name), self)
        _time_calls(concrete.ConcreteFunction, lambda function: readable(function.name), self)


def readable(name: str) -> str:
    """ "train_step" for "__inference_train_step_1234", as clustering/cluster_names.h."""
    if isinstance(name, bytes):
        name = name.decode()
    if name in _signatures.NAMES:
        return _signatures.NAMES[name]
    name = name.removeprefix("__inference_").removeprefix("__forward_")
    stem = name.rstrip("0123456789")
    return stem[:-1] if len(stem) < len(name) and len(stem) > 1 and stem.endswith("_") else name


def _time_calls(owner: Any, name_of: Any, times: FunctionTimes) -> None:
    ordinary = owner.__call__
    inside = _INSIDE
    clock = time.perf_counter

    def timed(self: Any, *args: Any, **kwargs: Any) -> Any:
        if inside.is_inside:
            return ordinary(self, *args, **kwargs)
        inside.is_inside = True
        begin = clock()
        try:
            return ordinary(self, *args, **kwargs)
        finally:
            end = clock()
            inside.is_inside = False
            times.add(name_of(self), begin, end)

    for name, value in vars(ordinary).items() if hasattr(ordinary, "__dict__") else ():
        setattr(timed, name, value)
    timed._tektite_direct = True  # type: ignore[attr-defined]  # what _direct.install looks for
    owner.__call__ = timed


_INSIDE = _Inside()
