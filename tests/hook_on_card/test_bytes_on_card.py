"""Networks of bytes on a card, by flag: the stand-in driver's, whose kernels are interpreted.  The graphs are those that
test_low_precision.py and test_quantized_types.py of tests/end_to_end run on the host."""
from __future__ import annotations

from typing import Callable

import numpy as np
import pytest

from tests.end_to_end.test_low_precision import FAKE_QUANT, QUANTIZED, WEIGHT_ONLY, near
from tests.end_to_end.test_quantized_types import NETWORK
from tests.hook_on_card.test_card_device import NO_CACHE, built

# Fewer numbers than on the host: the stand-in's kernels are interpreted.
SMALLER = [("(2, 6, 16, 32)", "(2, 5, 6, 32)"), ("(20, 72)", "(6, 48)"), ("4, 20, 72", "3, 6, 48"), ("Dense(130", "Dense(48"),
           ("(20, 3, 16)", "(6, 3, 16)"), ("range(12)", "range(3)")]


@pytest.fixture
def run_both(run_program, tmp_path) -> Callable:
    """A program's results on the card and by TensorFlow alone, and the text of the kernels that ran."""
    library = str(built("libtektite_on_stand_in.so"))

    def run(source: str):
        for large, small in SMALLER:
            source = source.replace(large, small)
        ours = run_program(source, tektite="1", TEKTITE_LIBRARY=library,
                           TEKTITE_FLAGS=f"--device=gpu:0 {NO_CACHE} --dump_to={tmp_path}")
        plain = run_program(source, tektite="0")
        assert ours.host["runs"] > 0 and not ours.host["fallbacks"]
        assert ours.stats["interpreted_kernels"] == 0
        return ours, plain, "".join(path.read_text() for path in sorted(tmp_path.glob("**/*.loop")))

    return run


def test_fake_quant_is_bytes(run_both):
    ours, plain, kernels = run_both(FAKE_QUANT.format(special=""))
    assert ours.stats["byte_products"] >= 4 and kernels.count("warp_multiply s32x4") > 4
    near(ours.values["y"], plain.values["y"])


def test_keras_int8(run_both):
    ours, plain, kernels = run_both(QUANTIZED.format(config="keras.quantizers.Int8QuantizationConfig()"))
    assert ours.stats["byte_products"] > 0 and "warp_multiply s32x4" in kernels
    for got, want in zip(ours.values["y"], plain.values["y"], strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("config", ["Int8QuantizationConfig(activation_quantizer=None)", "Int4QuantizationConfig()"], ids=["int8", "int4_in_groups"])
def test_keras_weights_in_bytes(run_both, config):
    ours, plain, kernels = run_both(WEIGHT_ONLY.format(config=f"keras.quantizers.{config}", change=""))
    assert ours.stats["byte_products"] > 0 and "load s8x16" in kernels
    for got, want in zip(ours.values["y"], plain.values["y"], strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_quantized_types(run_both):
    ours, plain, kernels = run_both(NETWORK.replace("in (3, 3, 3)]", "in (1, 1)]"))
    assert kernels.count("warp_multiply s32x4") + kernels.count("dot_bytes s32") > 4
    for got, want in zip(ours.values["results"], plain.values["results"], strict=True):
        np.testing.assert_array_equal(np.float32(got), np.float32(want))
