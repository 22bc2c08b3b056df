"""Helpers of the tests of direct calls."""

import numpy as np

# One cluster with captured variables, called often enough to be learned.
MODEL = """
w, b = tf.Variable(normal(24, 16)), tf.Variable(normal(16))
@tf.function
def f(x):
    return tf.nn.softmax(tf.matmul(x, w) + b)
x = tf.constant(normal(8, 24))
def direct():
    return tektite.stats().get("host", {}).get("direct_runs", 0)
def often(f, *args, **kwds):
    return [f(*args, **kwds) for _ in range(14)][-1]
often(f, x)
before = direct()
def past_python(f):
    # Calls without Python since this was asked last.
    routes = f.__dict__.get("_tektite_routes")
    return 0 if routes is None else routes.take_calls()
"""


def check_close(plain, compiled, tolerance=1e-5):
    def flat(value):
        if isinstance(value, dict):
            value = list(value.values())
        return [x for v in value for x in flat(v)] if isinstance(value, list) else [value]

    for name, value in plain.values.items():
        a, b = np.asarray(flat(value), float), np.asarray(flat(compiled.values[name]), float)
        np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance, err_msg=name)
