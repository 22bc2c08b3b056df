"""Writes a workload as a LiteRT file with the converter of the TensorFlow wheel, in floats or in 8 bits.

    convert(WORKLOADS["mobilenetv2"], cache, low_precision=True)    # makes litert_file(WORKLOADS["mobilenetv2"], cache, True)

In 8 bits the converter quantizes by itself: weights per channel, activations by the workload's one input. What it cannot quantize
stays in floats.
"""
from pathlib import Path

from bench.harness.onnx_export import sources_digest
from bench.models.workload import Workload


def litert_file(workload: Workload, cache: Path, low_precision: bool) -> Path:
    kind = "litert_int8" if low_precision else "litert"
    return cache / f"{workload.name}.{kind}-{sources_digest(Path(__file__))}.tflite"


def convert(workload: Workload, cache: Path, low_precision: bool) -> None:
    import tensorflow as tf
    from bench.harness.runners import make_model
    from bench.harness.tensorflow_runner import traced
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
    target = litert_file(workload, cache, low_precision)
    for old in cache.glob(f"{target.name.rsplit('-', 1)[0]}-*"):
        old.unlink()
    frozen = convert_variables_to_constants_v2(traced(workload, make_model(workload, cache)).get_concrete_function())
    converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen])
    if low_precision:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: [list(workload.inputs())]
    partial = target.with_suffix(".partial")
    partial.write_bytes(converter.convert())
    partial.rename(target)
