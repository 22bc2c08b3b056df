"""Models of bench/models in low precision, for bench/low_precision.

    make("resnet50")         # once: a SavedModel with FakeQuant at every layer, by tektite.quantize
    WORKLOADS["resnet50"]    # a function that calls it
    WORKLOADS["blocks_int4"], WORKLOADS["decoding_int8"]    # Keras models after quantize("int4"), ("int8"); _f32: before

Which of the ranges are good does not matter for speed: weights are random, and one batch sets the ranges.
"""
import argparse
import hashlib
import math
from functools import cache as once
from functools import partial
from pathlib import Path
from typing import Any, Callable

from bench.harness.engines import ENGINES, ROOT, STOCK
from bench.harness.process import CACHE, Task, prepare
from bench.harness.runners import make_model
from bench.models import WORKLOADS as MODELS
from bench.models.weights import fill
from bench.models.workload import Workload, noise

FAKE_QUANT = ["resnet50", "mobilenetv2", "bert_base"]
F32, KERAS_MODES = "f32", ["int8", "int4"]


@once
def folder_of(name: str) -> Path:
    """Its name carries the digest of what made it."""
    python = ROOT / "runtime_hooks" / "tensorflow" / "python" / "tektite"
    sources = sorted(python.glob("_quantize*.py")) + sorted((ROOT / "bench" / "models").glob("*.py"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:12]
    return CACHE / "low_precision" / f"{name}-{digest}"


def make(name: str) -> None:
    """Where it is not there yet; in a process without Tektite."""
    folder, task = folder_of(name), Task("bench.models", name, threads=1)
    if folder.exists():
        return
    import tektite
    workload = MODELS[name]
    prepare(task, workload, [ENGINES[STOCK]])
    partial_folder = folder.with_suffix(".partial")
    tektite.quantize(make_model(workload, task.cache), [workload.inputs()], str(partial_folder), error=math.inf)
    partial_folder.rename(folder)


@once
def load(name: str) -> Any:
    import tensorflow as tf
    with tf.init_scope():
        return tf.saved_model.load(str(folder_of(name)))


def call(name: str, *inputs: Any) -> tuple:
    results = load(name).signatures["serving_default"](**{f"x{i}": x for i, x in enumerate(inputs)})
    return tuple(results[key] for key in sorted(results))


def blocks() -> Any:
    """Four transformer blocks of 512, 128 tokens."""
    import keras
    from keras import layers
    x = inputs = keras.Input((128, 512))
    for _ in range(4):
        h = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(8, 64)(h, h)
        h = layers.Dense(2048, "gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dense(512)(h)
    return keras.Model(inputs, x)


def decoding() -> Any:
    """The products of a step of GPT-2 (12 blocks of 768) for one token, with a gate instead of attention."""
    import keras
    from keras import layers
    x = inputs = keras.Input((1, 768))
    for _ in range(12):
        h = layers.LayerNormalization()(x)
        gate, key, value = (layers.Dense(768)(h) for _ in range(3))
        x = x + layers.Dense(768)(keras.ops.softmax(gate * key) * value)
        h = layers.Dense(3072, "gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dense(768)(h)
    return keras.Model(inputs, x)


def quantized(build: Callable[[], Any], mode: str) -> Any:
    model = build()
    fill(model)
    if mode != F32:
        model.quantize(mode)
    return model


def keras_workloads() -> dict[str, Workload]:
    rows = {}
    for build, shape in ((blocks, (1, 128, 512)), (decoding, (1, 1, 768))):
        for mode in (F32, *KERAS_MODES):
            name = f"{build.__name__}_{mode}"
            rows[name] = Workload(name, build=partial(quantized, build, mode), inputs=lambda s=shape: [noise(s)],
                                  own_weights=True)
    return rows


WORKLOADS = {name: Workload(name, kind="function", function=partial(call, name), inputs=MODELS[name].inputs)
             for name in FAKE_QUANT} | keras_workloads()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=FAKE_QUANT)
    make(parser.parse_args().name)
