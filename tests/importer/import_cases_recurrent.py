"""Keras' recurrent layers, forward and with their gradients, in functional form."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import tensorflow as tf

from import_oracle import Case

RNG = np.random.default_rng(31)
LAYERS = tf.keras.layers
BATCH, TIME, FEATURES, UNITS = 7, 4, 5, 6  # no weight has a size of the first two
SEQUENCE = RNG.standard_normal((BATCH, TIME, FEATURES)).astype(np.float32)
FRAMES = RNG.standard_normal((BATCH, TIME, 6, 5, 2)).astype(np.float32)


def forward(layer: Any) -> Callable[..., Any]:
    return lambda x: layer(x)


def with_gradients(layer: Any) -> Callable[..., Any]:
    """Of the input and of all weights, for a loss that looks at every element."""

    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.add_n([tf.reduce_sum(tf.square(y)) for y in tf.nest.flatten(layer(x))])
        return tape.gradient(loss, [x, *layer.trainable_variables])

    return step


def built(layer: Any, x: np.ndarray) -> Any:
    layer.build(x.shape)
    return layer


def recurrent() -> dict[str, tuple[Any, np.ndarray]]:
    layers = {
        "LSTM": LAYERS.LSTM(UNITS),
        "LSTMSequences": LAYERS.LSTM(UNITS, return_sequences=True),
        "LSTMBackwards": LAYERS.LSTM(UNITS, return_sequences=True, go_backwards=True),
        "LSTMState": LAYERS.LSTM(UNITS, return_sequences=True, return_state=True),
        "GRU": LAYERS.GRU(UNITS),
        "GRUResetBefore": LAYERS.GRU(UNITS, reset_after=False),
        "SimpleRNN": LAYERS.SimpleRNN(UNITS),
        "Stacked": LAYERS.RNN([LAYERS.LSTMCell(UNITS), LAYERS.GRUCell(UNITS)]),
        "Bidirectional": LAYERS.Bidirectional(LAYERS.LSTM(UNITS, return_sequences=True)),
        "TimeDistributed": LAYERS.TimeDistributed(LAYERS.Dense(UNITS, activation="relu")),
    }
    cases = {name: (built(layer, SEQUENCE), SEQUENCE) for name, layer in layers.items()}
    frames = LAYERS.ConvLSTM2D(3, 3, return_sequences=True, padding="same")
    return {**cases, "ConvLSTM2D": (built(frames, FRAMES), FRAMES)}


# Without a known size Keras takes as many steps as there are rows, and TensorFlow finds no step so far behind.
FAILS = {"TimeDistributedDynamic", "TimeDistributedGradientsDynamic"}


def cases() -> list[Case]:
    cases = []
    for name, (layer, x) in recurrent().items():
        for suffix, function, rel in (("", forward(layer), 5e-6), ("Gradients", with_gradients(layer), 2e-5)):
            for dynamic in (False, True):
                full_name = f"{name}{suffix}{'Dynamic' if dynamic else ''}"
                cases.append(Case(full_name, function, [x], rel=rel, dynamic=dynamic, fails=full_name in FAILS))
    return cases


CASES = cases()


def is_open(size: int, place: int) -> bool:
    """Batch and time have no known size."""
    return size in (BATCH, TIME)
