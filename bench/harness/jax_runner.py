"""Workloads in JAX: Keras models on its JAX back end, functions in jax.numpy."""
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness.engines import Engine
from bench.harness.runners import (Runner, dynamic_runner, fixed_runner, kept_on_disk, make_model,
                                   training_runner)
from bench.models import functions_jax
from bench.models.workload import Arrays, Workload


def to_numpy(results: Any) -> Arrays:
    import jax
    return [np.asarray(r) for r in jax.tree.leaves(results)]


def without_initializers() -> None:
    """Keras draws random weights that fill() replaces; JAX would compile a program for each shape."""
    import keras
    for name in ("VarianceScaling", "RandomUniform", "RandomNormal", "TruncatedNormal", "Orthogonal"):
        getattr(keras.initializers, name).__call__ = keras.initializers.Zeros.__call__


def make_training(workload: Workload, model: Any) -> Runner:
    import jax
    import keras
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.Adam(1e-4)
    optimizer.build(model.trainable_variables)

    def loss_and_updates(trained, others, x, labels):
        predicted, others = model.stateless_call(trained, others, x, training=True)
        return loss_of(labels, predicted), others

    def step(state, x, labels):
        trained, others, moments = state
        (loss, others), gradients = jax.value_and_grad(loss_and_updates, has_aux=True)(
            trained, others, x, labels)
        trained, moments = optimizer.stateless_apply(moments, gradients, trained)
        return (trained, others, moments), loss

    compiled = jax.jit(step, donate_argnums=0)  # the old weights' memory takes the new ones
    inputs = [jax.device_put(x) for x in workload.inputs()]
    lists = (model.trainable_variables, model.non_trainable_variables, optimizer.variables)
    state = tuple([v.value for v in variables] for variables in lists)
    initial = kept_on_disk(np.asarray(value) for values in state for value in values)

    def restart():
        nonlocal state
        values = initial()
        state = tuple([jax.device_put(next(values)) for _ in variables] for variables in lists)

    def call():
        nonlocal state
        state, loss = jax.block_until_ready(compiled(state, *inputs))
        return loss

    return training_runner(call, restart)


def make_runner(workload: Workload, engine: Engine, threads: int, cache: Path) -> Runner:
    import jax
    if workload.kind == "program":  # on Keras, which has JAX compile it
        call = workload.program()
        return fixed_runner(lambda: jax.block_until_ready(call()), to_numpy)
    jax.config.update("jax_enable_x64", any(x.dtype == np.float64 for x in workload.inputs()))
    without_initializers()
    model = make_model(workload, cache)
    if workload.kind == "train":
        return make_training(workload, model)
    if model is None:
        function = jax.jit(getattr(functions_jax, workload.function.__name__))
    else:
        weights = [[v.value for v in variables] for variables in (
            model.trainable_variables, model.non_trainable_variables)]

        @jax.jit
        def predict(weights, *x):
            return model.stateless_call(*weights, x[0] if len(x) == 1 else list(x), training=False)[0]

        def function(*x):
            return predict(weights, *x)

    if workload.kind == "dynamic":
        return dynamic_runner(workload, lambda x: jax.block_until_ready(function(*x)), to_numpy)
    inputs = workload.inputs()
    if workload.kind != "session":  # a session is fed from NumPy in each call
        inputs = [jax.device_put(x) for x in inputs]
    return fixed_runner(lambda: jax.block_until_ready(function(*inputs)), to_numpy)
