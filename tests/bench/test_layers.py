"""Shares of a roofline that are too high would hide work; the sums are checked by hand."""
import pytest

from bench.harness import layers

PEAKS = layers.Peaks(flops=100e3, cache_bytes=100e3, memory_bytes=10e3)  # a microsecond


def profile(kernel, runs, microseconds, flops=0.0, size=0, weights=0):
    return {"cluster": "c/0", "kernel": kernel, "runs": runs, "microseconds": microseconds, "flops": flops,
            "bytes": size, "weight_bytes": weights}


def kernel(us, kind="contraction_dot_general", flops=0.0, size=0, weights=0):
    return layers.Kernel("k0", kind, "layer", us, flops, size, weights)


def test_the_line_of_bench_kernels_is_read():
    peaks = layers.parse_peaks("one core: 277 GFLOP/s f32, 203 GB/s in L2, 44 GB/s from memory\nRunning ...")
    assert peaks == layers.Peaks(277e3, 203e3, 44e3)
    with pytest.raises(ValueError, match="no roofline"):
        layers.parse_peaks("one core: many GFLOP/s")


def test_names_are_taken_apart():
    assert layers.parse_name("k3_contraction_convolution 'block1/conv'") == (
        "k3", "contraction_convolution", "block1/conv")
    assert layers.parse_name("something") == ("", "something", "")


def test_times_are_of_the_calls_between_and_without_what_ran_once():
    before = {"profile": [profile("k1_loop_add", 10, 1000.0)]}
    after = {"profile": [profile("k1_loop_add", 20, 1100.0), profile("k0_loop_pack", 1, 500.0),
                         profile("k2_row_reduce", 10, 50.0)]}
    kernels = layers.kernels_between(before, after)
    assert [(k.number, k.microseconds) for k in kernels] == [("k1", 10.0), ("k2", 5.0)]
    assert layers.kernels_between(after, after) == []


def test_the_roofline_is_the_slowest_of_its_bounds():
    k = kernel(20, flops=1e6, size=500_000, weights=400_000)
    assert layers.roofline(k, PEAKS, cached=True) == (10.0, "arithmetic")
    assert layers.roofline(k, PEAKS, cached=False) == (40.0, "memory")
    assert layers.roofline(kernel(9, size=500_000), PEAKS, cached=True) == (5.0, "cache")


def test_weights_stay_in_a_cache_that_holds_all_of_them():
    kernels = [kernel(1, weights=600), kernel(1, weights=600)]
    assert layers.weights_in_cache(kernels, 1200) and not layers.weights_in_cache(kernels, 1199)


def test_equal_kernels_share_a_line_and_the_verdict_counts_each():
    groups = layers.group([kernel(10, flops=1e6), kernel(12, flops=1e6), kernel(20, flops=1e6 + 2),
                           kernel(5, "loop_add", size=1000)])
    assert [len(g.kernels) for g in groups] == [2, 1, 1]
    text = layers.kernel_table(groups, PEAKS, cached=True)
    assert "91%" in text and "50%" in text
    assert layers.verdict(groups, PEAKS, cached=True).endswith("2 of 3 at 85% or more")


def test_layers_are_summed_by_type():
    lines = layers.by_type([("conv", 1.0), ("add", 0.5), ("conv", 2.0)], "t").splitlines()
    assert [c.strip() for c in lines[2].strip("|").split("|")] == ["conv", "2", "3.000"]
    assert [c.strip() for c in lines[-1].strip("|").split("|")] == ["all", "3", "3.500"]
