"""Products in less than f32: by permission, as TensorFlow's own, and of Keras's integers, equal to the bit."""
from pathlib import Path

import numpy as np
import pytest

CPU = Path("/proc/cpuinfo").read_text()

ROUNDED = """
import keras
keras.utils.set_random_seed(3)
image = keras.Input((24, 24, 32))
h = keras.layers.Conv2D(64, 3, padding="same", activation="relu")(image)
h = keras.layers.Conv2D(64, 1)(h) + h
h = keras.layers.GlobalAveragePooling2D()(keras.layers.ReLU()(h))
model = keras.Model(image, keras.layers.Dense(64)(h))
f = tf.function(lambda x: model(x), jit_compile=None)
report(y=f(tf.constant(normal(16, 24, 24, 32))))
"""


@pytest.mark.parametrize("environment", [{"TEKTITE_FLAGS": "--f32_products=bf16"}, {"TF_SET_ONEDNN_FPMATH_MODE": "BF16"}],
                         ids=["flag", "tensorflow"])
def test_f32_by_permission(run_program, environment):
    exact = run_program(ROUNDED, tektite="1")
    rounded = run_program(ROUNDED, tektite="1", **environment)
    assert exact.stats["bf16_products"] == 0
    error = np.abs(np.array(rounded.values["y"]) - exact.values["y"]).max() / np.abs(exact.values["y"]).max()
    if "avx512_bf16" not in CPU:
        assert error == 0 and rounded.stats["bf16_products"] == 0
        return
    assert rounded.stats["bf16_products"] >= 2
    assert 0 < error < 2e-2  # 2^-9 of each operand


QUANTIZED = """
import keras
keras.utils.set_random_seed(3)
rows = keras.Input((20, 72))
y = keras.layers.Dense(130, "relu")(rows)
z = keras.layers.EinsumDense("abc,cde->abde", (20, 3, 16), bias_axes="de")(rows)
model = keras.Model(rows, [y, z])
model.quantize(config={config})
f = tf.function(lambda x: model(x), jit_compile=None)
x = normal(4, 20, 72)
x[0, 1], x[1, 2, 3], x[2, 3, 4] = 0, 1e30, 1e-30
report(y=f(tf.constant(x)))
"""


# The scale of each row, its rounding and the products are the same numbers as stock's.
@pytest.mark.parametrize("config", ["Int8QuantizationConfig()", "Int4QuantizationConfig(activation_quantizer=keras.quantizers.AbsMaxQuantizer(axis=-1), block_size=-1)"], ids=["int8", "int4"])
def test_keras_quantized(run_pair, config):
    plain, ours = run_pair(QUANTIZED.format(config=f"keras.quantizers.{config}"))
    assert ours.host["runs"] > 0
    assert (ours.stats["byte_products"] > 0) == ("avx512_vnni" in CPU)
    for got, want in zip(ours.values["y"], plain.values["y"], strict=True):
        np.testing.assert_array_equal(got, want)
