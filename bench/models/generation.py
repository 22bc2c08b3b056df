"""Text generation as KerasHub writes it: a loop over tokens in the graph, with keys and values of all layers in one cache."""
from typing import Any

from bench.models.workload import Workload, integers

LAYERS, HIDDEN, HEADS, VOCABULARY, LENGTH, PROMPT = 4, 256, 4, 5000, 64, 8


def decoder_layer(name: str) -> Any:
    """x [batch, positions, HIDDEN] after attention to all positions of the cache up to its own; x and the new cache."""
    import keras
    from keras import layers, ops
    size = HIDDEN // HEADS

    class DecoderLayer(layers.Layer):
        def __init__(self) -> None:
            super().__init__(name=name)
            self.norms = [layers.LayerNormalization(epsilon=1e-5, name=f"norm{i}") for i in range(2)]
            self.parts = [layers.EinsumDense("bnd,dhs->bnhs", (None, HEADS, size), bias_axes="hs", name=n) for n in ("query", "key", "value")]
            self.out = layers.EinsumDense("bnhs,hsd->bnd", (None, HIDDEN), bias_axes="d", name="attention_output")
            self.widen, self.narrow = layers.Dense(4 * HIDDEN, name="widen"), layers.Dense(HIDDEN, name="narrow")

        def build(self, shape: Any) -> None:
            for layer in (*self.norms, *self.parts, self.widen):
                layer.build((None, None, HIDDEN))
            self.out.build((None, None, HEADS, size))
            self.narrow.build((None, None, 4 * HIDDEN))

        def call(self, x: Any, cache: Any, index: Any) -> tuple[Any, Any]:
            query, key, value = (part(self.norms[0](x)) for part in self.parts)
            start = [0, index, 0, 0]
            keys = ops.slice_update(cache[:, 0, ...], start, key)
            values = ops.slice_update(cache[:, 1, ...], start, value)
            scores = ops.einsum("bqhs,bkhs->bhqk", query * size ** -0.5, keys)
            seen = ops.arange(ops.shape(keys)[1])[None] <= ops.arange(ops.shape(x)[1])[:, None] + index
            weights = ops.softmax(ops.where(seen[None, None], scores, -1e9))
            x = x + self.out(ops.einsum("bhqk,bkhs->bqhs", weights, values))
            h = keras.activations.gelu(self.widen(self.norms[1](x)), approximate=True)
            return x + self.narrow(h), ops.stack([keys, values], axis=1)

    return DecoderLayer()


def generator() -> Any:
    """Prompts [batch, LENGTH], of which PROMPT tokens count -> the same with the likeliest tokens behind them."""
    import keras
    from keras import layers, ops

    class Generator(layers.Layer):
        def __init__(self) -> None:
            super().__init__(name="generator")
            self.tokens = layers.Embedding(VOCABULARY, HIDDEN, name="tokens")
            self.positions = layers.Embedding(LENGTH, HIDDEN, name="positions")
            self.blocks = [decoder_layer(f"block{i}") for i in range(LAYERS)]
            self.norm = layers.LayerNormalization(epsilon=1e-5, name="norm")
            self.logits = layers.Dense(VOCABULARY, use_bias=False, name="logits")

        def build(self, shape: Any) -> None:
            self.tokens.build()
            self.positions.build()
            for block in self.blocks:
                block.build((None, None, HIDDEN))
            self.norm.build((None, None, HIDDEN))
            self.logits.build((None, None, HIDDEN))

        def step(self, tokens: Any, cache: Any, index: Any) -> tuple[Any, Any]:
            """Logits of the last position, and the cache with these tokens in it."""
            x = self.tokens(tokens) + self.positions(ops.arange(ops.shape(tokens)[1]) + index)
            caches = []
            for i, block in enumerate(self.blocks):
                x, layer_cache = block(x, cache=cache[:, i, ...], index=index)
                caches.append(layer_cache)
            return self.logits(self.norm(x))[:, -1], ops.stack(caches, axis=1)

        def call(self, prompt: Any) -> Any:
            batch = ops.shape(prompt)[0]
            cache = ops.zeros((batch, LAYERS, 2, LENGTH, HEADS, HIDDEN // HEADS))
            _, cache = self.step(prompt[:, :PROMPT], cache, 0)

            def body(prompt: Any, cache: Any, index: Any) -> tuple[Any, Any, Any]:
                last = ops.slice(prompt, [0, index - 1], [batch, 1])
                logits, cache = self.step(last, cache, index - 1)
                token = ops.cast(ops.argmax(logits, axis=-1), prompt.dtype)
                return ops.slice_update(prompt, [0, index], token[:, None]), cache, index + 1

            loop = ops.while_loop(lambda prompt, cache, index: True, body, (prompt, cache, ops.convert_to_tensor(PROMPT, dtype="int32")),
                                  maximum_iterations=LENGTH - PROMPT)
            return loop[0]

    ids = keras.Input((LENGTH,), dtype="int32")
    return keras.Model(ids, Generator()(ids))


WORKLOADS = [
    Workload("generate", build=generator, inputs=lambda: [integers(VOCABULARY, (2, LENGTH))]),
]
