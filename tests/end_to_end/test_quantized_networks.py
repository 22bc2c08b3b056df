"""A few of the random networks between FakeQuant that tests/random_programs/quantized.py can make without end."""

import numpy as np

from tests.random_programs import quantized
from tests.random_programs.spans import Grid, Span, linear, rounded


def test_a_span_holds_what_f32_may_round_to():
    grid = Grid.of_fake_quant(-1.0, 1.55, 8, False)  # steps of 0.01
    assert abs(grid.step - 0.01) < 1e-8
    inside = rounded(Span.exact([0.012, 0.018, -7.0, 9.0]), grid)
    np.testing.assert_allclose(inside.low, [0.01, 0.02, -1.0, 1.55], atol=1e-6)
    np.testing.assert_allclose(inside.high, inside.low, atol=1e-6)
    between = rounded(Span(np.float64([0.0149]), np.float64([0.0151])), grid)
    np.testing.assert_allclose([between.low[0], between.high[0]], [0.01, 0.02], atol=1e-6)
    product = linear(Span.exact([[1.0, -2.0]]), np.float64([[3.0], [4.0]]), np.matmul, 2)
    assert product.low[0, 0] < -5 < product.high[0, 0] and product.high[0, 0] - product.low[0, 0] < 1e-4


def test_a_wrong_result_is_seen():
    want = np.float32([[1.0, 2.0]])
    span = Span(np.float64(want) - 1e-6, np.float64(want) + 1e-6)
    assert not quantized.mistake(want, want, span)
    assert "1 of 2 are off" in quantized.mistake(want + np.float32([0, 0.01]), want, span)
    assert "the bar is wrong" in quantized.mistake(want, want + 1, span)
    assert "NaN" in quantized.mistake(want * np.nan, want, span)
    assert "is right" in quantized.mistake(want[:, :1], want, span)


def test_random_networks_are_tensorflows_within_roundings():
    found, counts = quantized.compare(list(range(40)))
    assert not found, "\n".join(found)
    assert counts["runs"] >= 80 and counts["width"] < 0.02
    assert counts["byte_products"] >= 20
