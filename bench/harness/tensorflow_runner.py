"""Workloads in TensorFlow: plain, with a plugin, or compiled by XLA."""
from pathlib import Path
from typing import Any, Callable

import numpy as np

from bench.harness.engines import Engine
from bench.harness.runners import (Runner, dynamic_runner, fixed_runner, kept_on_disk, make_model,
                                   training_runner)
from bench.models.workload import Arrays, Workload


CALLS_COMPARED = 3  # of a program whose calls differ: a training step's updates show in the next one's loss


def limit_threads(threads: int) -> None:
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def to_numpy(results: Any) -> Arrays:
    import tensorflow as tf
    wide = [tf.cast(r, tf.float32) if getattr(r, "dtype", None) == tf.bfloat16 else r for r in tf.nest.flatten(results)]
    return [np.asarray(r) for r in wide]  # NumPy's files hold no bfloat16


def signature(workload: Workload) -> list:
    """Inputs x0, x1, ...: of the shapes of inputs(), or all or the first dimension unknown."""
    import tensorflow as tf

    def shape(x):
        unknown = x.ndim if workload.kind == "dynamic" else int(workload.any_batch)
        return [None] * unknown + list(x.shape[unknown:])

    return [tf.TensorSpec(shape(x), x.dtype, f"x{i}") for i, x in enumerate(workload.inputs())]


def traced(workload: Workload, model: Any, jit_compile: bool = False) -> Callable:
    """A tf.function of the workload's inputs."""
    import tensorflow as tf
    if model is None:
        body = workload.function
    else:
        def body(*x):
            return model(x[0] if len(x) == 1 else list(x), training=False)
    return tf.function(body, input_signature=signature(workload), jit_compile=jit_compile or None)


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
    return fixed_runner(lambda: session.run(fetches, feed), list)


def make_training(workload: Workload, model: Any, jit_compile: bool) -> Runner:
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
    variables = [*model.variables, *optimizer.variables]
    initial = kept_on_disk(v.numpy() for v in variables)

    def restart():
        for variable, value in zip(variables, initial()):
            variable.assign(value)

    return training_runner(lambda: step(*inputs), restart)


def make_program(workload: Workload) -> Runner:
    call = workload.program()
    if not workload.stateful:
        return fixed_runner(call, to_numpy)
    first: Arrays = []

    def outputs() -> Arrays:
        if not first:
            first.extend(array for _ in range(CALLS_COMPARED) for array in to_numpy(call()))
        return first

    return Runner(outputs, call)


def make_runner(workload: Workload, engine: Engine, threads: int, cache: Path) -> Runner:
    limit_threads(threads)
    if workload.kind == "session":
        return session_runner(workload, threads, engine.jit_compile)
    if workload.kind == "program":
        return make_program(workload)
    model = make_model(workload, cache)
    runner = make_model_runner(workload, model, engine.jit_compile)
    if model is not None:
        runner.weights_mb = sum(np.prod(v.shape) * v.value.dtype.size for v in model.variables) / 2**20
    return runner


def make_model_runner(workload: Workload, model: Any, jit: bool) -> Runner:
    import tensorflow as tf
    if workload.kind == "train":
        return make_training(workload, model, jit)
    function = traced(workload, model, jit)
    if workload.kind == "dynamic":
        runner = dynamic_runner(workload, lambda x: function(*map(tf.constant, x)), to_numpy)
    else:
        inputs = [tf.constant(x) for x in workload.inputs()]
        runner = fixed_runner(lambda: function(*inputs), to_numpy)

    def warmup() -> None:
        import tektite
        first = workload.requests()[0] if workload.kind == "dynamic" else workload.inputs()
        tektite.warmup(function, [[tf.constant(x) for x in first]])

    runner.warmup = warmup
    return runner
