"""The times of functions for `tektite profile`: what is timed, what is counted, and that short calls are mostly left alone."""
from tektite import _function_times
from tektite._function_times import FunctionTimes, time_calls


class Clock:
    """Says what it is told, and how often it was asked."""

    def __init__(self):
        self.now, self.asked = 0.0, 0

    def __call__(self):
        self.asked += 1
        return self.now


def function_class(clock, seconds):
    class Function:
        def __call__(self, inner=None):
            clock.now += seconds
            return inner() if inner else "result"

    return Function


def timed(monkeypatch, seconds):
    clock = Clock()
    monkeypatch.setattr(_function_times.time, "perf_counter", clock)
    times, owner = FunctionTimes(), function_class(clock, seconds)
    time_calls(owner, lambda function: "step", times)
    clock.asked = 0
    return clock, times, owner


def test_calls_and_seconds_are_those_of_all_calls(monkeypatch):
    for seconds in (1e-5, 1e-2):
        _, times, owner = timed(monkeypatch, seconds)
        function = owner()
        assert {function() for _ in range(1234)} == {"result"}
        times.settle()
        times.settle()
        step = times.by_name["step"]
        assert step.calls == 1234 and abs(step.seconds / (1233 * seconds) - 1) < 1e-6 and step.first_seconds > 0


def test_the_shorter_calls_are_the_fewer_are_timed(monkeypatch):
    """Timing took a tenth of calls of 3 us."""
    for seconds, timed_of_1000 in ((1e-6, 100 + 900 // 256), (1e-5, 100 + 900 // 61), (1e-2, 1000)):
        clock, _, owner = timed(monkeypatch, seconds)
        function = owner()
        for _ in range(1000):
            function()
        assert abs(clock.asked - 2 * timed_of_1000) <= 4


class Routes:
    """What _fast_calls.Routes has for a profile."""

    def __init__(self):
        self.spared = 0

    def spare(self, calls):
        left, self.spared = self.spared, calls
        return left


def test_calls_that_go_past_python_are_counted(monkeypatch):
    clock, times, owner = timed(monkeypatch, 1e-5)
    function = owner()
    routes = function.__dict__["_tektite_routes"] = Routes()
    past = 0
    for _ in range(1000):
        if routes.spared > 0:
            routes.spared, past = routes.spared - 1, past + 1
            clock.now += 1e-5
        else:
            function()
    times.settle()
    step = times.by_name["step"]
    assert step.calls == 1000 and past > 800 and abs(step.seconds / (999 * 1e-5) - 1) < 1e-6


def test_a_function_within_another_is_a_part_of_it(monkeypatch):
    _, times, owner = timed(monkeypatch, 1e-2)
    outer, inner = owner(), owner()
    for _ in range(5):
        outer(inner)
    times.settle()
    assert times.by_name["step"].calls == 5


def test_functions_of_one_name_are_one_row(monkeypatch):
    _, times, owner = timed(monkeypatch, 1e-5)
    one, other = owner(), owner()
    for _ in range(500):
        one()
        other()
    times.settle()
    assert times.by_name["step"].calls == 1000
