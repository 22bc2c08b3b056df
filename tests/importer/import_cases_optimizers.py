"""Cases of optimizers' rules, which change variables; import_oracle.py runs them.

Variables get their values from the case's inputs first, so that each run is the same, and are read last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from import_oracle import Case
from optimizer_rules import ATTRIBUTES, RULES, WITHOUT_HALF

raw = tf.raw_ops
RNG = np.random.default_rng(41)
SHAPE = (6, 5)
FLOATS = (np.float32, np.float64)


def rule_case(rule: str, name: str, shape: tuple[int, ...], dtype: Any = np.float32, ulps: int = 16,
              rel: float = 0.0, **changed: Any):
    variables, positive, scalars = RULES[rule]
    attributes = {k: v for k, v in changed.items() if k == ATTRIBUTES.get(rule)}
    scalars = {**scalars, **{k: v for k, v in changed.items() if k not in attributes}}
    contents = [RNG.normal(0, 1, shape).astype(dtype) for _ in variables.split()]
    contents = [np.abs(c) + dtype(0.5) if v in positive.split() else c for v, c in zip(variables.split(), contents)]
    held = [tf.Variable(c) for c in contents]

    def run(gradient, *values):
        for variable, value in zip(held, values):
            variable.assign(value)
        handles = {v: h.handle for v, h in zip(variables.split(), held)}
        numbers = {k: tf.constant(v, dtype) for k, v in scalars.items()}
        if rule == "AdagradDA":
            numbers["global_step"] = tf.constant(3, tf.int64)
        last = "delta" if rule.endswith("GradientDescent") else "grad"
        getattr(raw, f"ResourceApply{rule}")(**handles, **numbers, **attributes, **{last: gradient})
        return [variable.read_value() for variable in held]

    return Case(f"ResourceApply{rule}{name}", run, [RNG.normal(0, 1, shape).astype(dtype), *contents], ulps=ulps, rel=rel)


def rule_cases():
    for rule in RULES:
        for dtype in FLOATS:
            # TensorFlow's roots differ from CPU to CPU, and a variable may nearly cancel.
            yield rule_case(rule, str(np.dtype(dtype)), SHAPE, dtype, rel=1e-6 if rule == "Adadelta" else 0.0)
        if rule not in WITHOUT_HALF:
            yield rule_case(rule, "Half", SHAPE, np.float16, rel=1e-2)  # TensorFlow rounds after each operation
        for name, shape in (("Scalar", ()), ("None", (0, 3)), ("One", (1,))):
            yield rule_case(rule, name, shape)
        if rule in ATTRIBUTES:
            for value in (False, True):
                yield rule_case(rule, f"{ATTRIBUTES[rule]}{value}", SHAPE, **{ATTRIBUTES[rule]: value})
        if "l1" in RULES[rule][2]:
            yield rule_case(rule, "WithoutPenalty", SHAPE, l1=0.0, l2=0.0)
    for rule in ("Ftrl", "FtrlV2"):
        yield rule_case(rule, "Power", SHAPE, ulps=256, lr_power=-0.7)


CASES = [*rule_cases()]
