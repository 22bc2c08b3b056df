"""The figures that bench/warm computes from a process's calls and counters."""
from bench.harness import warm


def stats(misses: int = 0) -> dict:
    return {"disk": {"hits": 9, "pack_hits": 1, "misses": misses}, "loaded_kernels": 50, "kernels": misses,
            "compile_seconds": 7.0, "load_seconds": 0.001, "host": {"fallbacks": {"MEASURING_HOST": 4}}}


def test_the_first_twenty_calls_are_compared_with_the_later_ones():
    found = warm.figures_of([100.0, 3.0, 8.0] + [2.2] * 17 + [2.0] * 50, stats())
    assert found["first"] == 100.0 and found["p50"] == 2.0
    assert found["second"] == 1.5 and found["worst"] == 4.0 and round(found["soon"], 3) == 1.1
    assert found["on_host"] == 4


def test_loading_is_given_for_a_hundred_kernels():
    assert round(warm.figures_of([1.0] * 30, stats())["load_ms"], 6) == 2.0
    assert warm.figures_of([1.0] * 30, {})["load_ms"] is None


def test_a_miss_shows_in_the_hit_rate():
    assert warm.figures_of([1.0] * 30, stats())["hit_rate"] == 1.0
    assert warm.figures_of([1.0] * 30, stats(misses=10))["hit_rate"] == 0.5


def test_a_single_call_has_no_later_ones():
    assert warm.figures_of([5.0], stats())["second"] is None


def test_processes_that_others_disturbed_do_not_count():
    rows = [{"workload": "m", "threads": 2, "disturbed": disturbed, "second": second, "load_ms": None}
            for disturbed, second in [(False, 1.0), (True, 9.0), (False, 1.2), (False, 1.1)]]
    assert warm.medians_of(rows) == {"workload": "m", "threads": 2, "disturbed": False, "second": 1.1, "load_ms": None}
    assert warm.medians_of(rows[1:2])["second"] == 9.0


def test_the_report_has_a_line_for_each_row():
    good = {"workload": "m", "threads": 2, "disturbed": True, "request": 1.03, "stock": 1.57,
            **warm.figures_of([4.0] + [2.0] * 40, stats())}
    text = warm.report([good, {**good, "kernels": 150}, {"workload": "n", "threads": 2, "error": "no answer within 1 s"}])
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert "m ~" in text and "100%" in text and "no answer within 1 s" in text
    assert len({len(line) for line in lines}) == 1
    assert lines[2][lines[0].index("1st after warmup / p50")] == "1.03"
    assert lines[2][lines[0].index("stock's 2nd / p50")] == "1.57"
    assert lines[-1][0] == "all" and lines[-1][lines[0].index("loaded")] == "200"
    assert lines[-1][lines[0].index("load ms / 100")] == "1.00"


def test_a_call_is_compared_with_the_later_ones_of_its_process():
    assert warm.over_later([3.0, 5.0] + [9.0] * 18 + [2.0] * 9, 0) == 1.5
    assert warm.over_later([3.0], 1) is None
