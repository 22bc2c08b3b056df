"""Products in less than f32: by permission, as TensorFlow's own; of Keras's integers, equal to the bit; of FakeQuant's
numbers in bytes, with TensorFlow's special values."""
from pathlib import Path

import numpy as np
import pytest

CPU = Path("/proc/cpuinfo").read_text()
HAS_TILES = "amx_bf16" in CPU
# Intel's CPUs without AMX multiply f32 faster than bf16.
MULTIPLIES_BF16 = HAS_TILES or ("AuthenticAMD" in CPU and "avx512_bf16" in CPU)

ROUNDED = """
import keras
keras.utils.set_random_seed(3)
image = keras.Input((24, 24, 32))
h = keras.layers.Conv2D(64, 3, padding="same", activation="relu")(image)
h = keras.layers.Conv2D(64, 1)(h) + h
h = keras.layers.GlobalAveragePooling2D()(keras.layers.ReLU()(h))
model = keras.Model(image, keras.layers.Dense(64)(h))
f = tf.function(lambda x: model(x), jit_compile=None)
x = tf.constant(normal(16, 24, 24, 32))
report(y=[f(x) for _ in range(12)][-1])  # weights stay
"""


# The largest error, of the largest output, is that of 2^-9 of each operand, and of 2^-17.
@pytest.mark.parametrize(("environment", "has_it", "largest"),
                         [({"TEKTITE_FLAGS": "--f32_products=bf16"}, MULTIPLIES_BF16, 2e-2),
                          ({"TEKTITE_FLAGS": "--f32_products=bf16_stored"}, MULTIPLIES_BF16, 2e-2),
                          ({"TF_SET_ONEDNN_FPMATH_MODE": "BF16"}, MULTIPLIES_BF16, 2e-2),
                          ({"TEKTITE_FLAGS": "--f32_products=bf16x3"}, HAS_TILES, 5e-5)],
                         ids=["flag", "stored", "tensorflow", "halves"])
def test_f32_by_permission(run_program, environment, has_it, largest):
    exact = run_program(ROUNDED, tektite="1")
    rounded = run_program(ROUNDED, tektite="1", **environment)
    assert exact.stats["bf16_products"] == 0
    error = np.abs(np.array(rounded.values["y"]) - exact.values["y"]).max() / np.abs(exact.values["y"]).max()
    if not has_it:
        assert error == 0 and rounded.stats["bf16_products"] == 0
        return
    assert rounded.stats["bf16_products"] >= 2
    assert 0 < error < largest


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
    assert ours.stats["byte_products"] > 0
    for got, want in zip(ours.values["y"], plain.values["y"], strict=True):
        np.testing.assert_array_equal(got, want)


WEIGHT_ONLY = """
import keras
keras.utils.set_random_seed(3)
token = keras.Input((1, 1024))
y = keras.layers.Dense(2048, "relu")(token)
z = keras.layers.EinsumDense("bnd,dhs->bnhs", (None, 16, 64), bias_axes="hs")(token)
model = keras.Model(token, [y, z])
model.quantize(config={config})
{change}
f = tf.function(lambda x: model(x), jit_compile=None)
x = tf.constant(normal(1, 1, 1024))
report(y=[f(x) for _ in range(12)][-1])
"""


# One token waits for its weights, which are bytes: the products are stock's but for the order of sums.
@pytest.mark.parametrize("config", ["Int8QuantizationConfig(activation_quantizer=None)", "Int4QuantizationConfig(block_size=-1)",
                                    "Int4QuantizationConfig()"], ids=["int8", "int4", "int4_in_groups"])
def test_keras_weights_in_bytes(run_pair, config):
    plain, ours = run_pair(WEIGHT_ONLY.format(config=f"keras.quantizers.{config}", change=""))
    assert ours.host["runs"] > 0 and not ours.host["fallbacks"]
    assert ours.stats["byte_products"] > 0
    for got, want in zip(ours.values["y"], plain.values["y"], strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_rows_of_weights_in_another_order(run_pair):
    """Which group a row is of is a variable: where groups are no blocks of rows, a check fails, and code does without."""
    change = "[layer.g_idx.assign(layer.g_idx[::-1]) for layer in model.layers if hasattr(layer, 'g_idx')]"
    plain, ours = run_pair(WEIGHT_ONLY.format(config="keras.quantizers.Int4QuantizationConfig()", change=change))
    assert ours.host["fallbacks"] == {"CHECK_FAILED": 2}
    for got, want in zip(ours.values["y"], plain.values["y"], strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


# Layers between FakeQuant, as training for integers leaves them: weights with a range a channel around 0, one range for
# activations, a residual, padding, ranges in variables, and one of numbers below 0 that is not around it.
FAKE_QUANT = """
ranges = tf.Variable(np.float32([-3, 5, 0, 7]))
kernels = [normal(*shape) / 8 for shape in ((3, 3, 32, 32), (1, 1, 32, 48), (48, 64), (64, 32))]
bounds = [np.abs(kernel).max(tuple(range(kernel.ndim - 1))) for kernel in kernels]
biases = [tf.Variable(normal(kernel.shape[-1])) for kernel in kernels]
x = normal(2, 6, 16, 32)
{special}
kernels = [tf.Variable(kernel) for kernel in kernels]

def weights(i):
    return tf.quantization.fake_quant_with_min_max_vars_per_channel(kernels[i], -bounds[i], bounds[i], narrow_range=True)

@tf.function(jit_compile=None)
def f(x):
    h = tf.quantization.fake_quant_with_min_max_args(tf.nn.relu(x), 0, 6)
    h = tf.nn.relu(tf.nn.conv2d(h, weights(0), 1, "SAME") + biases[0] + h)
    h = tf.quantization.fake_quant_with_min_max_args(h, 0, 6)
    h = tf.nn.conv2d(h, weights(1), 1, "VALID") + biases[1]
    h = tf.quantization.fake_quant_with_min_max_vars(h, ranges[0], ranges[1])
    h = tf.nn.relu(tf.matmul(tf.reshape(h, (-1, 48)), weights(2)) + biases[2])
    h = tf.quantization.fake_quant_with_min_max_vars(h, ranges[2], ranges[3])
    return tf.matmul(h, weights(3)) + biases[3]

report(y=[f(tf.constant(x)) for _ in range(3)][-1])
"""


def near(got, want):
    """As TensorFlow's, but for sums that rounding puts on the other side of half a step."""
    got, want = np.array(got), np.array(want)
    assert got.shape == want.shape
    apart = np.abs(got - want) / np.abs(want).max(initial=1e-30)
    assert apart.max(initial=0) < 2e-2 and np.sum(apart > 1e-5) <= 0.05 * apart.size, (apart.max(), np.mean(apart > 1e-5))


def test_fake_quant_in_bytes(run_pair):
    plain, ours = run_pair(FAKE_QUANT.format(special=""))
    assert ours.host["runs"] > 0 and not ours.host["fallbacks"]
    assert ours.stats["byte_products"] >= 4
    near(ours.values["y"], plain.values["y"])


SPECIAL = {
    "nan": "x[1, 2, 3, 4] = np.nan",
    "infinite": "x[0, 2, 3, 4], x[1, 0, 0, 0] = np.inf, -np.inf",
    "weights_of_nan": "kernels[0][1, 1, 2, 3] = np.nan",
    "infinite_weights": "kernels[2][5, 6] = np.inf",
    "bias_of_nan": "biases[1] = tf.Variable(np.full(48, np.nan, np.float32))",
    "range_of_zero": "ranges = tf.Variable(np.float32([0, 0, 0, 0]))",
    "range_without_zero": "ranges = tf.Variable(np.float32([2, 5, 1, 3]))",
    "reversed_range": "ranges = tf.Variable(np.float32([5, -3, 7, 0]))",
    "range_of_nan": "ranges = tf.Variable(np.float32([-3, np.nan, 0, 7]))",
    "channel_of_zeros": "bounds[1][3] = 0; kernels[1][..., 3] = 0",
    "empty": "x = x[:0]",
}


@pytest.mark.parametrize("special", SPECIAL.values(), ids=SPECIAL)
def test_special_values_of_fake_quant(run_pair, special):
    plain, ours = run_pair(FAKE_QUANT.format(special=special))
    got, want = (np.array(result.values["y"], np.float32) for result in (ours, plain))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    near(np.nan_to_num(got), np.nan_to_num(want))


def test_checks_that_must_fail_are_done_without(run_pair):
    """Weights of other ranges than symmetric ones are no bytes, which only a call can tell."""
    program = FAKE_QUANT.format(special="bounds = [tf.Variable(bound) for bound in bounds]")
    program = program.replace("-bounds[i], bounds[i]", "-0.5 * bounds[i], bounds[i]")
    plain, ours = run_pair(program.replace("range(3)", "range(12)"))
    assert ours.host["runs"] >= 12 and ours.host["fallbacks"] == {"CHECK_FAILED": 2}
    near(ours.values["y"], plain.values["y"])


def test_stored_plans_say_how_many_products_are_of_bytes(run_program, tmp_path):
    """Of kernels' names one in fifty said so."""
    first, second = (run_program(FAKE_QUANT.format(special=""), tektite="1", XDG_CACHE_HOME=str(tmp_path)) for _ in range(2))
    assert second.stats["loaded_modules"] > 0 and second.stats["compiles"] == 0
    assert second.stats["byte_products"] == first.stats["byte_products"]
