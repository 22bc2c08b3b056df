"""Text models: a BERT encoder of fixed and of unknown shape, and one step of a GPT-2 decoder."""
from typing import Any

import numpy as np

from bench.models.layers import add_positions, encoder_block
from bench.models.workload import Arrays, Workload, integers, noise

VOCABULARY = 30522


def bert(layers: int, hidden: int, heads: int, length: int | None) -> Any:
    """Token ids [batch, length] -> hidden states and the pooled first token."""
    import keras
    ids = keras.Input((length,), dtype="int32")
    x = keras.layers.Embedding(VOCABULARY, hidden, name="tokens")(ids)
    x = keras.layers.LayerNormalization(epsilon=1e-12)(add_positions(x, 512, hidden))
    for i in range(layers):
        x = encoder_block(x, i, hidden, heads, epsilon=1e-12)
    pooled = keras.layers.Dense(hidden, activation="tanh", name="pooled")(x[:, 0])
    return keras.Model(ids, [x, pooled])


def mixed_requests(count: int = 200) -> list[Arrays]:
    """Batches of 1 to 8 sentences of 8 to 256 tokens."""
    rng = np.random.default_rng(5)
    shapes = zip(rng.integers(1, 9, count), rng.integers(8, 257, count))
    return [[integers(VOCABULARY, shape, seed=i)] for i, shape in enumerate(shapes)]


class GPT2Step:
    """One token through 12 layers of width 768; the cache grows from 255 to 256 positions."""
    LAYERS, HIDDEN, HEADS, PAST, VOCABULARY = 12, 768, 12, 255, 50257
    SIZE = HIDDEN // HEADS

    @classmethod
    def attention(cls, h: Any, past_key: Any, past_value: Any, name: str) -> tuple[Any, Any, Any]:
        from keras import layers, ops

        def split_heads(t):
            return ops.transpose(ops.reshape(t, (-1, 1, cls.HEADS, cls.SIZE)), (0, 2, 1, 3))

        parts = ops.split(layers.Dense(3 * cls.HIDDEN, name=f"{name}_qkv")(h), 3, axis=-1)
        query, key, value = map(split_heads, parts)
        key = ops.concatenate([past_key, key], axis=2)
        value = ops.concatenate([past_value, value], axis=2)
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))) * cls.SIZE ** -0.5
        mixed = ops.matmul(ops.softmax(scores, axis=-1), value)
        mixed = ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, 1, cls.HIDDEN))
        return layers.Dense(cls.HIDDEN, name=f"{name}_out")(mixed), key, value

    @classmethod
    def build(cls) -> Any:
        import keras
        from keras import layers, ops
        token, position = (keras.Input((1,), dtype="int32") for _ in range(2))
        past = [keras.Input((cls.HEADS, cls.PAST, cls.SIZE)) for _ in range(2 * cls.LAYERS)]
        x = layers.Add()([layers.Embedding(cls.VOCABULARY, cls.HIDDEN, name="tokens")(token),
                          layers.Embedding(1024, cls.HIDDEN, name="positions")(position)])
        caches = []
        for i in range(cls.LAYERS):
            h = layers.LayerNormalization(epsilon=1e-5, name=f"block{i}_norm_a")(x)
            h, key, value = cls.attention(h, past[2 * i], past[2 * i + 1], f"block{i}")
            caches += [key, value]
            x = layers.Add()([x, h])
            h = layers.LayerNormalization(epsilon=1e-5, name=f"block{i}_norm_b")(x)
            h = ops.gelu(layers.Dense(4 * cls.HIDDEN, name=f"block{i}_widen")(h), approximate=True)
            x = layers.Add()([x, layers.Dense(cls.HIDDEN, name=f"block{i}_narrow")(h)])
        x = layers.LayerNormalization(epsilon=1e-5, name="norm")(x)
        logits = layers.Dense(cls.VOCABULARY, use_bias=False, name="logits")(x)
        return keras.Model([token, position, *past], [logits, *caches])

    @classmethod
    def inputs(cls) -> Arrays:
        shape = (1, cls.HEADS, cls.PAST, cls.SIZE)
        ids = [np.array([[n]], np.int32) for n in (42, cls.PAST)]
        return ids + [noise(shape, seed=i) for i in range(2 * cls.LAYERS)]


WORKLOADS = [
    Workload("bert_base", build=lambda: bert(12, 768, 12, 128),
             inputs=lambda: [integers(VOCABULARY, (1, 128))]),
    Workload("bert_tiny_dyn", kind="dynamic", build=lambda: bert(4, 256, 4, None),
             inputs=lambda: mixed_requests(1)[0], requests=mixed_requests),
    Workload("gpt2_decode", build=GPT2Step.build, inputs=GPT2Step.inputs),
]
