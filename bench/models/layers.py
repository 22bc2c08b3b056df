"""Pieces that several models share, from public Keras layers."""
from typing import Any


def encoder_block(x: Any, index: int, hidden: int, heads: int, *, norm_first: bool = False,
                  epsilon: float = 1e-6, mask: Any = None) -> Any:
    """Attention and a GELU feed-forward of four times the width, each with a residual."""
    from keras import layers
    norm_a = layers.LayerNormalization(epsilon=epsilon, name=f"block{index}_norm_a")
    norm_b = layers.LayerNormalization(epsilon=epsilon, name=f"block{index}_norm_b")
    attention = layers.MultiHeadAttention(heads, hidden // heads, name=f"block{index}_attention")
    widen = layers.Dense(4 * hidden, activation="gelu", name=f"block{index}_widen")
    narrow = layers.Dense(hidden, name=f"block{index}_narrow")
    if norm_first:
        h = norm_a(x)
        x = layers.Add()([x, attention(h, h, attention_mask=mask)])
        return layers.Add()([x, narrow(widen(norm_b(x)))])
    x = norm_a(layers.Add()([x, attention(x, x, attention_mask=mask)]))
    return norm_b(layers.Add()([x, narrow(widen(x))]))


def add_positions(x: Any, longest: int, hidden: int, name: str = "positions") -> Any:
    """x + table[:length], also where the length is known only at run time."""
    import keras

    class AddPositions(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.table = keras.layers.Embedding(longest, hidden)

        def build(self, shape):
            self.table.build(None)
            self.built = True

        def compute_output_spec(self, x):
            return keras.KerasTensor(x.shape, x.dtype)

        def call(self, x):
            length = keras.ops.shape(x)[1]
            return x + self.table(keras.ops.arange(length, dtype="int32"))

    return AddPositions(name=name)(x)
