"""Keras under mixed_bfloat16: loss curves and predictions near stock TensorFlow's, compiled."""

import numpy as np
import pytest

TRANSFORMER = """
x, y = rng.integers(0, 50, (64, 20)), rng.integers(0, 4, 64)
def make():
    ids = keras.Input((20,), dtype="int32")
    h = keras.layers.Embedding(50, 48)(ids)
    for _ in range(2):
        h = keras.layers.LayerNormalization()(h + keras.layers.MultiHeadAttention(3, 16)(h, h))
        h = keras.layers.LayerNormalization()(h + keras.layers.Dense(48)(keras.layers.Dense(96, "gelu")(h)))
    return keras.Model(ids, keras.layers.Dense(4)(keras.layers.GlobalAveragePooling1D()(h)))
"""

CONVOLUTIONS = """
x, y = normal(64, 16, 16, 3), rng.integers(0, 4, 64)
def make():
    image = keras.Input((16, 16, 3))
    h = keras.layers.Conv2D(16, 3, padding="same", use_bias=False)(image)
    for features, stride in ((32, 1), (48, 2), (64, 2)):
        h = keras.layers.ReLU()(keras.layers.BatchNormalization()(h))
        h = keras.layers.Conv2D(features, 3, stride, padding="same")(h)
    return keras.Model(image, keras.layers.Dense(4)(keras.layers.GlobalAveragePooling2D()(h)))
"""

FIT = """
import keras
keras.config.set_dtype_policy("{policy}")
{model}
keras.utils.set_random_seed(1)
model = make()
model.compile({optimizer}, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
losses = []
model.fit(x, y, batch_size=16, epochs=4, shuffle=False, verbose=0,
          callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=lambda b, logs: losses.append(logs["loss"]))])
scale = getattr(model.optimizer, "dynamic_scale", None)
report(losses=losses, predicted=np.float32(model.predict(x, batch_size=24, verbose=0)),
       dtypes=sorted({{str(v.dtype) for v in model.trainable_weights}}), computed=model.compute_dtype,
       scale=0.0 if scale is None else float(scale), steps=int(model.optimizer.iterations))
"""

ADAM = "keras.optimizers.Adam(0.002)"


def fits(run_pair, model: str, policy: str, optimizer: str = ADAM):
    plain, ours = run_pair(FIT.format(model=model, policy=policy, optimizer=optimizer))
    assert ours.host["runs"] > 0
    assert ours.values["computed"] == policy.removeprefix("mixed_")
    assert ours.values["dtypes"] == ["float32"]
    for name in ("scale", "steps"):
        assert ours.values[name] == plain.values[name]
    return plain.values, ours.values


# bf16 has 8 bits: a rounding that goes the other way moves a loss by some 1e-3, and Adam's steps carry it on.
@pytest.mark.parametrize("policy,tolerance", [("mixed_bfloat16", 3e-2)])
@pytest.mark.parametrize("model", [TRANSFORMER, CONVOLUTIONS], ids=["transformer", "convolutions"])
def test_losses(run_pair, model, policy, tolerance):
    plain, ours = fits(run_pair, model, policy)
    assert len(ours["losses"]) == 16
    np.testing.assert_allclose(ours["losses"], plain["losses"], rtol=0, atol=tolerance)
    largest = np.abs(plain["predicted"]).max()
    np.testing.assert_allclose(ours["predicted"], plain["predicted"], rtol=0, atol=4 * tolerance * largest)
