"""Optimizers' rules that change variables, for tests of any kind: nothing here runs TensorFlow."""

from __future__ import annotations

# The rule: its variables, of which accumulators are positive, and its other inputs but the gradient, in order.
RULES: dict[str, tuple[str, str, dict[str, float]]] = {
    "AdaMax": ("var m v", "v", dict(beta1_power=0.7, lr=0.01, beta1=0.9, beta2=0.99, epsilon=1e-7)),
    "Adadelta": ("var accum accum_update", "accum accum_update", dict(lr=0.5, rho=0.9, epsilon=1e-6)),
    "Adagrad": ("var accum", "accum", dict(lr=0.1)),
    "AdagradDA": ("var gradient_accumulator gradient_squared_accumulator", "gradient_squared_accumulator",
                  dict(lr=0.1, l1=0.2, l2=0.1)),
    "AdagradV2": ("var accum", "accum", dict(lr=0.1, epsilon=1e-3)),
    "Adam": ("var m v", "v", dict(beta1_power=0.7, beta2_power=0.9, lr=0.01, beta1=0.9, beta2=0.99, epsilon=1e-7)),
    "AddSign": ("var m", "", dict(lr=0.1, alpha=1.0, sign_decay=0.9, beta=0.8)),
    "CenteredRMSProp": ("var mg ms mom", "ms", dict(lr=0.01, rho=0.9, momentum=0.5, epsilon=1.0)),
    "Ftrl": ("var accum linear", "accum", dict(lr=0.1, l1=0.2, l2=0.1, lr_power=-0.5)),
    "FtrlV2": ("var accum linear", "accum", dict(lr=0.1, l1=0.2, l2=0.1, l2_shrinkage=0.3, lr_power=-0.5)),
    "GradientDescent": ("var", "", dict(alpha=0.1)),
    "KerasMomentum": ("var accum", "", dict(lr=0.1, momentum=0.9)),
    "Momentum": ("var accum", "", dict(lr=0.1, momentum=0.9)),
    "PowerSign": ("var m", "", dict(lr=0.1, logbase=1.0, sign_decay=0.9, beta=0.8)),
    "ProximalAdagrad": ("var accum", "accum", dict(lr=0.1, l1=0.2, l2=0.1)),
    "ProximalGradientDescent": ("var", "", dict(alpha=0.1, l1=0.2, l2=0.1)),
    "RMSProp": ("var ms mom", "ms", dict(lr=0.01, rho=0.9, momentum=0.5, epsilon=1e-7)),
}
ATTRIBUTES = {"Adam": "use_nesterov", "Momentum": "use_nesterov", "KerasMomentum": "use_nesterov",
              "Adagrad": "update_slots", "AdagradV2": "update_slots", "Ftrl": "multiply_linear_by_lr",
              "FtrlV2": "multiply_linear_by_lr"}
# Those that TensorFlow also applies to the rows that a gradient has (ResourceSparseApply*).
SPARSE_RULES = ("Adadelta", "Adagrad", "AdagradDA", "AdagradV2", "CenteredRMSProp", "Ftrl", "FtrlV2", "KerasMomentum",
                "Momentum", "ProximalAdagrad", "ProximalGradientDescent", "RMSProp")
WITHOUT_HALF = ("AdagradDA", "ProximalAdagrad", "ProximalGradientDescent")
