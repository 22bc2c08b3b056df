"""How long each ``tf.function`` of a process takes that Python calls, for ``tektite profile``.

    times = FunctionTimes()
    times.install()          # once TensorFlow's calls have been wrapped (_direct.py)
    times.by_name["train_step"].calls, .seconds, .first_seconds

A function's first calls are timed, and of shorter ones then one in so many that timing takes less than a hundredth of the
time. It stands for those before it. The calls between, where they have a route (_direct.py), go past Python. Functions called
while another one runs or is traced are part of that one.
Limits: ``calls`` is exact after ``settle``, in programs of several threads within some; where functions run eagerly, as in
debugging, functions within others may be counted, too.
"""

from __future__ import annotations

import dataclasses
import importlib
import threading
import time
from typing import Any

from tektite import _hook, _signatures

_MOST_SPANS = 4000  # calls that the timeline shows
_ALL = 100  # calls of a function that are timed at first
_ONE_TIMED_IN = 6e-4  # seconds of calls: timing one takes some 3 us
_MOST_UNTIMED = 255


@dataclasses.dataclass
class Times:
    calls: int = 0
    seconds: float = 0.0  # without the first call, which traces the function
    first_seconds: float = 0.0


class _Inside(threading.local):
    is_inside = False


@dataclasses.dataclass
class _Sampling:
    """Of one function object."""

    name: str
    timed: int = 0
    took: float = 0.0  # the latest that was timed
    granted: int = 0  # calls that need not be timed, by the way of `skip` and by that of routes together
    skip: int = 0  # of these: are left
    routes: Any = None  # the function's _fast_calls.Routes, or None

    def take_untimed(self) -> int:
        """Calls since the one that was timed last."""
        left = self.skip + (0 if self.routes is None else self.routes.spare(0))
        untimed, self.granted, self.skip = self.granted - left, 0, 0
        return untimed

    def grant(self, calls: int, routes: Any) -> None:
        self.skip, self.routes, self.granted = calls, routes, calls
        if routes is not None:
            routes.spare(calls)
            self.granted += calls


def _to_skip(sampling: _Sampling) -> int:
    if sampling.timed < _ALL:
        return 0
    return min(int(_ONE_TIMED_IN / max(sampling.took, 1e-9)), _MOST_UNTIMED)


class FunctionTimes:
    def __init__(self) -> None:
        self.by_name: dict[str, Times] = {}
        self.spans: list[tuple[str, float, float]] = []  # name, begin, seconds; from `began` on
        self.began = time.perf_counter()
        self._sampled: list[_Sampling] = []

    def sample(self, name: str) -> _Sampling:
        self._sampled.append(_Sampling(name))
        return self._sampled[-1]

    def add(self, sampling: _Sampling, begin: float, end: float, routes: Any = None) -> None:
        name, took = sampling.name, end - begin
        stands_for = 1 + sampling.take_untimed()
        times = self.by_name.get(name)
        if times is None:
            times = self.by_name[name] = Times()
            times.first_seconds = took
        else:
            times.seconds += took * stands_for
        times.calls += stands_for
        sampling.timed += 1
        sampling.took = took
        if skip := _to_skip(sampling):
            sampling.grant(skip, routes)
        if len(self.spans) < _MOST_SPANS:
            self.spans.append((name, begin - self.began, took))

    def settle(self) -> None:
        """Counts the calls behind the last one that was timed, which were like it."""
        for sampling in self._sampled:
            if untimed := sampling.take_untimed():
                self.by_name[sampling.name].calls += untimed
                self.by_name[sampling.name].seconds += untimed * sampling.took

    def install(self) -> None:
        direct: Any = importlib.import_module("tektite._direct")  # which looks at TensorFlow's hook when it is imported
        functions: Any = importlib.import_module("tensorflow.python.eager.polymorphic_function.polymorphic_function")
        concrete: Any = importlib.import_module("tensorflow.python.eager.polymorphic_function.concrete_function")
        time_calls(functions.Function, lambda function: str(function._name), self)
        time_calls(concrete.ConcreteFunction, lambda function: readable(function.name), self)
        functions.Function.__call__ = direct.past(functions.Function.__call__)


def readable(name: str) -> str:
    """ "train_step" for "__inference_train_step_1234", as clustering/cluster_names.h."""
    if isinstance(name, bytes):
        name = name.decode()
    if name in _signatures.NAMES:
        return _signatures.NAMES[name]
    name = name.removeprefix("__inference_").removeprefix("__forward_")
    stem = name.rstrip("0123456789")
    return stem[:-1] if len(stem) < len(name) and len(stem) > 1 and stem.endswith("_") else name


def time_calls(owner: Any, name_of: Any, times: FunctionTimes) -> None:
    """Wraps the calls of a class's objects."""
    ordinary = owner.__call__
    inside = _INSIDE
    clock = time.perf_counter

    def timed(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            sampling = self._tektite_sampling
        except AttributeError:
            sampling = self._tektite_sampling = times.sample(name_of(self))
        if sampling.skip > 0 and (sampling.routes is None or sampling.routes.spared > 0):
            sampling.skip -= 1
            return ordinary(self, *args, **kwargs)
        if inside.is_inside:
            return ordinary(self, *args, **kwargs)
        inside.is_inside = True
        begin = clock()
        try:
            return ordinary(self, *args, **kwargs)
        finally:
            end = clock()
            inside.is_inside = False
            times.add(sampling, begin, end, self.__dict__.get(_hook.ROUTES))

    for name, value in vars(ordinary).items() if hasattr(ordinary, "__dict__") else ():
        setattr(timed, name, value)
    timed._tektite_direct = True  # type: ignore[attr-defined]  # what _direct.install looks for
    owner.__call__ = timed


_INSIDE = _Inside()
