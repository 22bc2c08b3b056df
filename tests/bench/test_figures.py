"""The comparison that decides whether results are right must not be fooled."""
import math

import numpy as np
import pytest

from bench.harness import figures

ONES = np.ones(4, np.float32)


def differing(index, value, base=ONES):
    changed = base.copy()
    changed[index] = value
    return changed


def test_equal_arrays_differ_by_nothing():
    for array in (ONES, np.zeros(3), np.array([], np.float32), np.array([np.nan, np.inf, -np.inf, 1.0])):
        assert figures.array_difference(array, array.copy()) == 0.0


def test_the_difference_is_relative_to_the_largest_value():
    big = np.array([1000.0, 1.0])
    assert figures.array_difference(big, np.array([1000.0, 1.5])) == pytest.approx(5e-4)
    assert figures.array_difference(np.zeros(2), np.array([0.0, 0.25])) == 0.25


@pytest.mark.parametrize("a,b", [
    (ONES, differing(0, np.nan)), (differing(0, np.nan), ONES), (ONES, differing(1, np.inf)),
    (differing(2, np.inf), differing(2, -np.inf)), (ONES, ONES[:3]), (ONES, ONES.reshape(2, 2)),
])
def test_shapes_and_values_that_are_not_numbers_must_agree(a, b):
    assert figures.array_difference(a, b) == math.inf


def test_integers_do_not_wrap():
    assert figures.array_difference(np.array([0], np.uint8), np.array([255], np.uint8)) == 255.0


def test_files_are_compared_output_by_output(tmp_path):
    a, b, c = (tmp_path / f"{name}.npz" for name in "abc")
    np.savez(a, ONES, 100 * ONES)
    np.savez(b, differing(3, 1.5), 100 * ONES)
    np.savez(c, ONES)
    assert figures.largest_difference(a, a) == 0.0
    assert figures.largest_difference(a, b) == 0.5
    assert figures.largest_difference(a, c) == math.inf


def test_means_and_numbers():
    assert figures.geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert math.isnan(figures.geometric_mean([]))
    assert [figures.short(v) for v in (1234.5, 56.78, 8.9, 0.1234, None)] == [
        "1234", "56.8", "8.90", "0.123", "-"]


def test_a_table_is_markdown_of_even_width():
    lines = figures.table(["name", "ms"], [["a", "1.00"], ["longer", "2"]]).splitlines()
    assert lines[1] == "|--------|-----:|" and len({len(line) for line in lines}) == 1
