"""The parts of a call must add up to it; the sums are checked by hand."""
import pytest

from bench.harness.calls import HEADS, calls_between, table


def calls(cluster, runs, unhelped=0, **parts):
    whole = {"whole": 0.0, "team": 0.0, "shared": 0.0, "alone": 0.0, "waiting": 0.0, "helping": 0.0, "absent": 0.0}
    return {"cluster": cluster, "calls": runs, "entered": runs, "timed": runs, "unhelped": unhelped, **whole, **parts}


def test_parts_of_the_mean_call_between():
    before = {"calls": [calls("a/shape0", 10, 2, whole=1000.0, team=900.0, shared=500.0, alone=300.0)]}
    after = {"calls": [calls("a/shape0", 20, 7, whole=3000.0, team=2700.0, shared=1500.0, alone=800.0, waiting=50.0,
                             helping=900.0, absent=400.0)]}
    split = calls_between(before, after, call_us=250.0)
    assert (split.tensorflow, split.around, split.kernels, split.alone) == (50.0, 50.0, 150.0, 50.0)
    assert split.tensorflow + split.around + split.kernels == split.call
    assert (split.waiting, split.helping, split.absent, split.unhelped) == (5.0, 90.0, 40.0, 0.5)


def test_clusters_of_one_model_add_up():
    after = {"calls": [calls("a/shape0", 4, whole=400.0, alone=360.0), calls("b/shape0", 4, whole=40.0, alone=20.0)]}
    split = calls_between({}, after, call_us=200.0)
    assert (split.tensorflow, split.around, split.kernels) == (90.0, 15.0, 95.0)


@pytest.mark.parametrize("after", [{}, {"calls": []}, {"calls": [calls("a/shape0", 0)]}])
def test_nothing_ran(after):
    assert calls_between({}, after, call_us=1.0) is None


def test_table_has_a_figure_under_each_head():
    split = calls_between({}, {"calls": [calls("a/shape0", 1, whole=80.0, shared=70.0)]}, call_us=100.0)
    lines = table([("mlp", 2, split)]).split("\n")
    assert len(lines) == 3 and len({line.count("|") for line in lines}) == 1
    cells = " ".join(lines[2].split())
    assert cells.startswith("| mlp | 2 | 100 | 20 | 10 | 70 |") and len(HEADS) == 9
