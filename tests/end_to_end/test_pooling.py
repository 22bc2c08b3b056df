"""Which element max pooling's gradient goes to where several are the greatest, or some are NaN: the one that
TensorFlow's oneDNN kernels choose, which take 16-bit floats only on CPUs with AVX-512.  TensorFlow's other kernel for
volumes passes it to every one of them (docs/numbers.md)."""

from pathlib import Path

import pytest

GRADIENTS = """
raw = tf.raw_ops
results = {}
for dtype, volumes in ((tf.float32, (False, True)), (tf.bfloat16, BFLOAT16_VOLUMES), (tf.float64, (False,))):
    for volume in volumes:
        for size, stride, padding in ((2, 2, "VALID"), (3, 2, "SAME"), (3, 1, "SAME"), (2, 3, "VALID")):
            n = 3 if volume else 2
            window = dict(ksize=[1] + [size] * n + [1], strides=[1] + [stride] * n + [1], padding=padding)
            pool, grad = (raw.MaxPool3D, raw.MaxPool3DGrad) if volume else (raw.MaxPool, raw.MaxPoolGrad)

            @tf.function(autograph=False)
            def gradient(x):
                y = pool(input=x, **window)
                dy = tf.cast(tf.reshape(tf.range(1, tf.size(y) + 1) % 7, tf.shape(y)), x.dtype)
                return tf.nn.relu(x) + grad(orig_input=x, orig_output=y, grad=dy, **window)

            x = np.round(normal(2, *[6, 5, 7][:n], 5))
            results[f"{dtype.name} {n} {size} {stride} {padding} ties"] = gradient(tf.constant(x, dtype))
            # TensorFlow's kernel for f64 keeps a NaN that comes first.
            if dtype == tf.float32 and size <= stride:
                x[normal(*x.shape) > 1] = np.nan
                g = tf.where(tf.math.is_nan(gradient(tf.constant(x, dtype))), 100.0, gradient(tf.constant(x, dtype)))
                results[f"{dtype.name} {n} {size} {stride} {padding} NaN"] = g
results = {k: tf.cast(v, tf.float64) for k, v in results.items()}
report(**results)
"""


# Guards against choosing NaN, or another of several greatest elements than stock TensorFlow does.
def test_gradients_choose_as_tensorflow_does(run_pair):
    bfloat16_volumes = (False, True) if "avx512f" in Path("/proc/cpuinfo").read_text() else (False,)
    plain, ours = run_pair(f"BFLOAT16_VOLUMES = {bfloat16_volumes}\n{GRADIENTS}")
    assert ours.host["runs"] > 0
    assert plain.values.keys() == ours.values.keys()
    for name, value in plain.values.items():
        assert ours.values[name] == value, name


TRAINING = """
import keras
keras.utils.set_random_seed(3)
for layer in ("Max", "Average"):
    for n in (1, 2, 3):
        pool = getattr(keras.layers, f"{layer}Pooling{n}D")
        conv = getattr(keras.layers, f"Conv{n}D")
        model = keras.Sequential([keras.Input([12] * n + [3]), conv(8, 3, activation="relu"), pool(2),
                                  conv(5, 2, padding="same"), pool(3, strides=2, padding="same"),
                                  keras.layers.Flatten(), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(1e-3), "mse")  # small steps: larger ones diverge, and rounding with them
        x, y = normal(8, *[12] * n, 3), normal(8, 1)
        losses = [float(model.train_on_batch(x, y)) for _ in range(4)]
        globals().setdefault("all_losses", {})[f"{layer}{n}"] = losses
report(**all_losses)
"""


@pytest.mark.parametrize("onednn", ["0", "1"])
def test_training_gives_the_same_losses(run_pair, onednn):
    plain, ours = run_pair(TRAINING, TF_ENABLE_ONEDNN_OPTS=onednn)
    assert ours.host["runs"] > 0
    for name, losses in plain.values.items():
        for a, b in zip(losses, ours.values[name]):
            assert abs(a - b) < 1e-4 * abs(a), name
