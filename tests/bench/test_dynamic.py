"""The percentiles and the counts of new shapes of bench/dynamic."""
from bench.harness import dynamic


def test_every_kind_of_request_comes_equally_often_in_the_same_order_for_all():
    order = dynamic.request_order(200, 1000)
    assert sorted(order) == sorted(list(range(200)) * 5) and order == dynamic.request_order(200, 1000)
    assert order != sorted(order)


def test_a_shape_is_new_once_even_if_two_requests_share_it():
    assert dynamic.first_of_their_shape(["a", "b", "a"], [0, 2, 1, 1, 0]) == [True, False, True, False, False]


def test_percentiles_are_nearest_rank():
    assert dynamic.percentile(range(1, 101), 50) == 50 and dynamic.percentile(range(1, 101), 99) == 99
    assert dynamic.percentile([7.0], 99) == 7.0


def test_the_report_compares_with_stock_and_counts_artifacts():
    rows = [{"engine": "tf", "threads": 2, "ms": [10.0, 10.0]},
            {"engine": "tektite", "threads": 2, "ms": [20.0, 5.0], "difference": 1e-6,
             "stats": dynamic.counters_between({"compiles": 1}, {
                     "clusters": 1, "compiles": 4, "generic_artifacts": 2, "specialized_artifacts": 1, "runs": 2})},
            {"engine": "xla", "threads": 2, "error": "no answer within 1 s"}]
    text = dynamic.report("m", rows, [True, False])
    assert "2 requests, 1 of a new shape" in text and "0.800" in text and "2.00" in text
    assert "clusters 1, compiles 3, generic artifacts 2" in text and "artifacts per cluster 3" in text
    assert "XLA (jit_compile), 2 threads: no answer within 1 s" in text
