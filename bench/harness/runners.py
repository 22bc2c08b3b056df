"""Turns a workload into two callables in this process.

    runner = make_runner(WORKLOADS["bert_base"], threads=2, jit_compile=False, cache=Path("build/bench"))
    arrays = runner.outputs()   # NumPy results of one call (or of the first steps, when training)
    runner.call()               # one call, results left where they are: what is timed

`per_call` is the number of requests in one call(), by which a time is divided.
"""
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import numpy as np

from bench.models.weights import calibrate, fill
from bench.models.workload import Arrays, Workload

TRAINING_STEPS_COMPARED = 5
SAMPLE = 4096  # values kept of each output of a dynamic workload, which may have 200 large ones


@dataclass
class Runner:
    outputs: Callable[[], Arrays]
    call: Callable[[], Any]
    per_call: int = 1


def limit_threads(threads: int) -> None:
    """Thread pools of this size, and no more CPUs than that: some libraries only obey the latter."""
    import tensorflow as tf
    cpus = sorted(os.sched_getaffinity(0))
    if threads < len(cpus):
        os.sched_setaffinity(0, cpus[-threads:])
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def statistics_file(workload: Workload, cache: Path) -> Path:
    return cache / f"{workload.name}.statistics.npz"


def make_model(workload: Workload, cache: Path, compute_statistics: bool = False) -> Any:
    model = workload.build()
    if not workload.own_weights:
        fill(model)
    if workload.calibrate:
        calibrate(model, workload.inputs(), statistics_file(workload, cache), compute_statistics)
    return model


def to_numpy(results: Any) -> Arrays:
    import tensorflow as tf
    return [np.asarray(r) for r in tf.nest.flatten(results)]


def sample(array: np.ndarray) -> np.ndarray:
    flat = array.reshape(-1)
    return flat[::max(1, flat.size // SAMPLE)]


def traced(workload: Workload, model: Any, jit_compile: bool) -> Callable:
    """A tf.function of the workload's inputs, with the signature that its kind calls for."""
    import tensorflow as tf
    if model is None:
        body = workload.function
    else:
        def body(*x):
            return model(x[0] if len(x) == 1 else list(x), training=False)
    open_shape = workload.kind == "dynamic"
    signature = [tf.TensorSpec([None] * x.ndim if open_shape else x.shape, x.dtype)
                 for x in workload.inputs()]
    return tf.function(body, input_signature=signature, jit_compile=jit_compile or None)


def fixed_runner(workload: Workload, model: Any, jit_compile: bool) -> Runner:
    import tensorflow as tf
    function = traced(workload, model, jit_compile)
    inputs = [tf.constant(x) for x in workload.inputs()]
    return Runner(lambda: to_numpy(function(*inputs)), lambda: function(*inputs))


def dynamic_runner(workload: Workload, model: Any, jit_compile: bool) -> Runner:
    import tensorflow as tf
    function = traced(workload, model, jit_compile)
    requests = [[tf.constant(x) for x in request] for request in workload.requests()]

    def call():
        for request in requests:
            function(*request)

    def outputs():
        return [sample(a) for request in requests for a in to_numpy(function(*request))]

    return Runner(outputs, call, len(requests))


def session_runner(workload: Workload, threads: int, jit_compile: bool) -> Runner:
    import tensorflow as tf
    graph = tf.Graph()
    with graph.as_default():
        feeds = [tf.compat.v1.placeholder(x.dtype, x.shape) for x in workload.inputs()]
        body = tf.function(workload.function, jit_compile=True) if jit_compile else workload.function
        fetches = list(body(*feeds))
    session = tf.compat.v1.Session(graph=graph, config=tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads))
    feed = dict(zip(feeds, workload.inputs()))
    return Runner(lambda: session.run(fetches, feed), lambda: session.run(fetches, feed))


def training_runner(workload: Workload, model: Any, jit_compile: bool) -> Runner:
    import keras
    import tensorflow as tf
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.Adam(1e-4)
    optimizer.build(model.trainable_variables)

    @tf.function(jit_compile=jit_compile or None)
    def step(x, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(x, training=True))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    inputs = [tf.constant(x) for x in workload.inputs()]
    first: list[float] = []

    def outputs():
        """The first losses of all; later calls answer the same, since every step changes the model."""
        while len(first) < TRAINING_STEPS_COMPARED:
            first.append(float(step(*inputs)))
        return [np.array(first)]

    return Runner(outputs, lambda: step(*inputs))


def make_runner(workload: Workload, threads: int, jit_compile: bool, cache: Path) -> Runner:
    if workload.kind == "session":
        return session_runner(workload, threads, jit_compile)
    model = make_model(workload, cache) if workload.build else None
    make = {"dynamic": dynamic_runner, "train": training_runner}.get(workload.kind, fixed_runner)
    return make(workload, model, jit_compile)
