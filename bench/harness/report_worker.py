"""One model in one process for bench/reports, steered by JSON lines on stdin (process.Answering); the first answer says that it is there.

    python -m bench.harness.report_worker resnet50 --threads 2 --images DIR
    {"kind": "train", "input": "real", "batch": 8, "seconds": 2}      is answered by throughput, latency, memory, the input's share

The engine is the environment's: TEKTITE=0 or 1.  Real input is JPEG files in TFRecords, decoded, resized and batched by
tf.data; synthetic input is one batch that is there already.
"""
import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Callable, Generator, Iterator

import numpy as np

from bench.harness.machine import OtherLoad
from bench.harness.worker import brief, peak_rss_mb, take_stdout

KEPT = 64  # images of the real input
CLASSES = 1000


def alexnet() -> Any:
    """Krizhevsky and others, 2012, in one tower."""
    import keras
    from keras import layers
    return keras.Sequential([
        keras.Input((224, 224, 3)), layers.Conv2D(96, 11, 4, activation="relu", name="conv1"), layers.MaxPooling2D(3, 2),
        layers.Conv2D(256, 5, padding="same", activation="relu", name="conv2"), layers.MaxPooling2D(3, 2),
        layers.Conv2D(384, 3, padding="same", activation="relu", name="conv3"),
        layers.Conv2D(384, 3, padding="same", activation="relu", name="conv4"),
        layers.Conv2D(256, 3, padding="same", activation="relu", name="conv5"), layers.MaxPooling2D(3, 2), layers.Flatten(),
        layers.Dense(4096, activation="relu", name="fc6"), layers.Dense(4096, activation="relu", name="fc7"),
        layers.Dense(CLASSES, activation="softmax", name="fc8")], name="alexnet")


def application(name: str) -> Callable[[], Any]:
    def make() -> Any:
        import keras
        return getattr(keras.applications, name)(weights=None, classes=CLASSES)
    return make


# The performance guide's own table.
MODELS = {"alexnet": alexnet, "inceptionv3": application("InceptionV3"), "resnet50": application("ResNet50"),
          "resnet152": application("ResNet152"), "vgg16": application("VGG16")}


def write_images(folder: Path) -> Path:
    """KEPT images of 320 x 280 pixels, once."""
    import tensorflow as tf
    file = folder / "images.tfrecord"
    if file.exists():
        return file
    random = np.random.default_rng(5)
    partial = file.with_suffix(".partial")
    with tf.io.TFRecordWriter(str(partial)) as writer:
        for label in range(KEPT):
            coarse = random.integers(0, 256, (20, 24, 3), dtype=np.uint8)
            image = tf.cast(tf.image.resize(coarse, (280, 320)), tf.uint8)
            features = tf.train.Features(feature={
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[tf.io.encode_jpeg(image).numpy()])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))})
            writer.write(tf.train.Example(features=features).SerializeToString())
    partial.rename(file)
    return file


def batches(model: Any, batch: int, kind: str, folder: Path | None) -> Generator[tuple[Any, Any], None, None]:
    import tensorflow as tf
    size = model.input_shape[1:3]
    if kind == "synthetic":
        random = np.random.default_rng(5)
        one = (tf.constant(random.uniform(-1, 1, (batch, *size, 3)).astype(np.float32)),
               tf.constant(random.integers(0, CLASSES, batch)))
        while True:
            yield one
    types = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

    def read(record: Any) -> tuple[Any, Any]:
        example = tf.io.parse_single_example(record, types)
        image = tf.image.resize(tf.io.decode_jpeg(example["image"], channels=3), size)
        return image / 127.5 - 1.0, example["label"]

    data = tf.data.TFRecordDataset(str(write_images(folder or Path(".")))).repeat().map(read, tf.data.AUTOTUNE)
    yield from data.batch(batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def make_step(model: Any, kind: str) -> Callable[[Any, Any], Any]:
    import keras
    import tensorflow as tf
    if kind == "infer":
        @tf.function
        def predict(images: Any, labels: Any) -> Any:
            return model(images, training=False)
        return predict
    optimizer, loss_of = keras.optimizers.SGD(1e-3, momentum=0.9), keras.losses.SparseCategoricalCrossentropy()

    @tf.function
    def train_step(images: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss
    return train_step


class Reporter:
    """The model, and a step of each kind that was asked for."""

    def __init__(self, name: str, folder: Path | None) -> None:
        self.model, self.folder = MODELS[name](), folder
        self.steps: dict[str, Callable[[Any, Any], Any]] = {}
        self.called: set[tuple[str, int]] = set()

    def measure(self, kind: str, source: str, batch: int, seconds: float) -> dict[str, Any]:
        """`seconds` of steps, and one at least; half as many before them, and one at least."""
        import tektite
        step, images = self.steps.setdefault(kind, make_step(self.model, kind)), batches(self.model, batch, source, self.folder)
        forget_peak()
        answer: dict[str, Any] = {}
        if (kind, batch) not in self.called:
            begin = time.perf_counter()
            np.asarray(step(*next(images)))
            answer["first_s"] = time.perf_counter() - begin
            self.called.add((kind, batch))
            if tektite.is_active():
                tektite.wait_until_compiled()
        timed(step, images, seconds / 2)  # TensorFlow's kernels ran the first call while code was made
        with OtherLoad() as load:
            steps, waits = timed(step, images, seconds)
        images.close()
        return answer | {"steps": len(steps), "ms": statistics.median(steps) * 1e3, "p90_ms": float(np.quantile(steps, 0.9)) * 1e3,
                         "per_second": batch / statistics.fmean(steps), "input_share": sum(waits) / sum(steps), "rss_mb": peak_rss_mb(),
                         "others": load.cpus, "stats": tektite.stats()}


def timed(step: Callable[[Any, Any], Any], images: Iterator[tuple[Any, Any]], seconds: float) -> tuple[list[float], list[float]]:
    """Seconds of each step with its wait for input, and of the waits."""
    steps: list[float] = []
    waits: list[float] = []
    begin = time.perf_counter()
    while not steps or time.perf_counter() - begin < seconds:
        asked = time.perf_counter()
        one = next(images)
        waits.append(time.perf_counter() - asked)
        np.asarray(step(*one))
        steps.append(time.perf_counter() - asked)
    return steps, waits


def forget_peak() -> None:
    """Peaks of memory count from here."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass  # then they count from the process's beginning


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--images", type=Path, help="where the real input's file is, or is made")
    args, answers = parser.parse_args(), take_stdout()
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    reporter = Reporter(args.model, args.images)
    print(json.dumps({"ready": True}), file=answers)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = reporter.measure(request["kind"], request["input"], request["batch"], request["seconds"])
        except Exception as error:  # whatever TensorFlow raises is a row of this run
            answer = {"error": brief(error)}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main()
