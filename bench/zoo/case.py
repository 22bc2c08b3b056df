"""Shorthand for the cases of the zoo.

    Case("dense", keras_case(lambda k: k.Sequential([k.Input((16,)), k.layers.Dense(4)]), lambda b: [noise((b, 16))]))
    Case("fft", function_case(lambda tf, x: tf.abs(tf.signal.rfft(x)), lambda b: [noise((b, 256))]))
"""
from dataclasses import dataclass
from typing import Any, Callable

from bench.models.workload import Arrays, Workload

Inputs = Callable[[int], Arrays]


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[[str, int], Workload]

    def workload(self, batch: int) -> Workload:
        return self.make(f"{self.name}_b{batch}", batch)


def keras_case(build: Callable[[Any], Any], inputs: Inputs, policy: str = "", **options) -> Callable:
    """`build` gets the keras module; its model runs in a tf.function of fixed shapes."""
    def model():
        import keras
        if policy:
            keras.config.set_dtype_policy(policy)
        keras.utils.set_random_seed(3)
        return build(keras)

    return lambda name, batch: Workload(name, build=model, inputs=lambda: inputs(batch), **options)


def function_case(function: Callable, inputs: Inputs, **options) -> Callable:
    """`function` gets the tensorflow module first, then the inputs; a tf.function of fixed shapes."""
    def body(*arguments):
        import tensorflow as tf
        return function(tf, *arguments)

    return lambda name, batch: Workload(name, kind="function", function=body, inputs=lambda: inputs(batch), **options)


def program_case(program: Callable, **options) -> Callable:
    """`program` gets tensorflow, keras and the batch size, and answers a callable: one call of it is measured."""
    def made(batch: int):
        import keras
        import tensorflow as tf
        keras.utils.set_random_seed(3)
        return program(tf, keras, batch)

    return lambda name, batch: Workload(name, kind="program", program=lambda: made(batch), inputs=list, **options)
