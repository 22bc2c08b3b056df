"""Shares of a roofline that are too high would hide work; the sums are checked by hand."""
import pytest

from bench.harness import layers

READINGS = ((1_000_000, 80e3), (3_000_000, 20e3))
PEAKS = layers.Peaks(flops=100e3, l2=100e3, l3=50e3, memory=10e3, readings=READINGS)  # a microsecond
NEAR, FAR = layers.Source(50e3, 1_000_000), layers.Source(10e3, 9_000_000)


def profile(kernel, runs, microseconds, flops=0.0, size=0, weights=0):
    return {"cluster": "c/0", "kernel": kernel, "runs": runs, "microseconds": microseconds,
            "least_microseconds": microseconds / runs / 2, "flops": flops,
            "bytes": size, "weight_bytes": weights, "shape": "2x3"}


def kernel(us, kind="contraction_dot_general", flops=0.0, size=0, weights=0):
    return layers.Kernel("k0", kind, "layer", us, flops, size, weights)


def test_the_lines_of_bench_kernels_are_read():
    peaks = layers.parse_peaks("one core: 277 GFLOP/s f32, 203 GB/s in L2, 90 GB/s in L3, 44 GB/s from memory\n"
                               "one core reads, again and again: 1 MB at 120 GB/s, 64 MB at 36 GB/s\nRunning ...")
    assert peaks == layers.Peaks(277e3, 203e3, 90e3, 44e3, ((2**20, 120e3), (64 * 2**20, 36e3)))
    with pytest.raises(ValueError, match="no roofline"):
        layers.parse_peaks("one core: many GFLOP/s")


def test_names_are_taken_apart():
    assert layers.parse_name("block1/conv: conv 3x3 [k3_contraction_convolution]") == (
        "k3", "contraction_convolution", "block1/conv: conv 3x3")
    assert layers.parse_name("something") == ("", "something", "")


def test_times_are_of_the_calls_between_and_without_what_ran_once():
    before = {"profile": [profile("k1_loop_add", 10, 1000.0)]}
    after = {"profile": [profile("k1_loop_add", 20, 1100.0), profile("k0_loop_pack", 1, 500.0),
                         profile("k2_row_reduce", 10, 50.0)]}
    kernels = layers.kernels_between(before, after, mean=True)
    assert [(k.number, k.microseconds) for k in kernels] == [("k1", 10.0), ("k2", 5.0)]
    kernels = layers.kernels_between(before, after)
    assert [(k.number, k.microseconds) for k in kernels] == [("k1", 27.5), ("k2", 2.5)]
    assert layers.kernels_between(after, after) == []


def test_the_roofline_is_the_slowest_of_its_bounds():
    k = kernel(20, flops=1e6, size=500_000, weights=400_000)
    caches = (1_000_000, 2_000_000)
    assert layers.roofline(k, PEAKS, NEAR, caches) == (10.0, "arithmetic")
    assert layers.roofline(k, PEAKS, FAR, caches) == (40.0, "weights, 9 MB a call")
    assert layers.roofline(kernel(9, size=500_000), PEAKS, NEAR, (500_000, 0)) == (5.0, "all in l2")


def test_what_does_not_fit_a_cache_moves_at_the_rate_of_the_next():
    k = kernel(20, size=500_000)
    assert layers.roofline(k, PEAKS, NEAR, (499_999, 500_000)) == (10.0, "all in l3")
    assert layers.roofline(k, PEAKS, NEAR, (1, 2)) == (50.0, "all in memory")


@pytest.mark.parametrize("touched,rate", [(0, 80e3), (1_000_000, 80e3), (2_000_000, 32e3), (3_000_000, 20e3),
                                          (9_000_000, 20e3)])
def test_weights_come_as_fast_as_what_a_call_touches_is_read_again(touched, rate):
    kernels = [kernel(1, size=touched // 2, weights=touched // 4), kernel(1, size=touched // 2, weights=touched // 2)]
    assert layers.source_of_weights(kernels, PEAKS) == layers.Source(pytest.approx(rate), touched)


def test_equal_kernels_share_a_line_and_the_summary_counts_each():
    groups = layers.group([kernel(10, flops=1e6), kernel(12, flops=1e6), kernel(20, flops=1e6 + 2),
                           kernel(5, "loop_add", size=1000)])
    assert [len(g.kernels) for g in groups] == [2, 1, 1]
    text = layers.kernel_table(groups, PEAKS, NEAR)
    assert "91%" in text and "50%" in text
    assert layers.summary(groups, PEAKS, NEAR).endswith("2 of 3 at 85% or more")


def test_what_beats_its_roofline_counts_as_all_of_it():
    groups = layers.group([kernel(5, flops=1e6), kernel(20, flops=1e6 + 2)])
    assert ">100%" in layers.kernel_table(groups, PEAKS, NEAR) and "200%" not in layers.kernel_table(groups, PEAKS, NEAR)
    assert "contractions 0.03 ms, at 60% of their roofline together; 1 of 2" in layers.summary(groups, PEAKS, NEAR)


def test_layers_are_summed_by_type():
    lines = layers.by_type([("conv", 1.0), ("add", 0.5), ("conv", 2.0)], "t").splitlines()
    assert [c.strip() for c in lines[2].strip("|").split("|")] == ["conv", "2", "3.000"]
    assert [c.strip() for c in lines[-1].strip("|").split("|")] == ["all", "3", "3.500"]


def test_json_holds_what_the_table_shows():
    groups = layers.group([kernel(20, flops=1e6), kernel(20, flops=1e6)])
    (row,) = layers.as_json("m", groups, PEAKS, NEAR)["kernels"]
    assert (row["of_roofline"], row["bound_by"], len(row["layers"])) == (0.5, "arithmetic", 2)
