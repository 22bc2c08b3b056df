"""Processes that the system denies something, and devices that Python divides."""
import numpy as np

# PR_SET_MDWE, since Linux 6.3: no memory becomes executable any more. Without oneDNN, whose kernels would fail, too.
NO_CODE = """
import ctypes
tf.constant(1.0) + 1.0
denied = ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) == 0
w = tf.Variable(normal(8, 8))
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.tanh(x @ w) * tf.exp(x))
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss
report(y=[step(tf.constant(normal(4 + n % 3, 8))) for n in range(12)], denied=denied)
"""


def test_where_no_memory_may_be_executable_tensorflow_runs(run_pair):
    plain, compiled = run_pair(NO_CODE, TF_ENABLE_ONEDNN_OPTS="0", TEKTITE_FLAGS="--cache_dir=off")
    np.testing.assert_allclose(compiled.values["y"], plain.values["y"], rtol=1e-4)
    if compiled.values["denied"]:
        assert sum(compiled.host["fallbacks"].values()) == compiled.host["runs"] > 0


DIVIDED = """
[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
y = []
for device in ("CPU:0", "CPU:2", "CPU:1"):
    with tf.device(device):
        w = tf.Variable(normal(8, 8))
        @tf.function
        def step(x):
            w.assign_sub(0.1 * tf.matmul(x, tf.tanh(x @ w), transpose_a=True))
            return tf.nn.softmax(x @ w)
        y += [step(tf.constant(normal(5, 8))) for _ in range(8)]
        inner = tf.function(lambda x: tf.nn.softmax(tf.tanh(x @ w)), jit_compile=True)
        y += [inner(tf.constant(normal(5, 8))) for _ in range(8)]
report(y=y)
"""


def test_several_logical_cpus(run_pair):
    plain, compiled = run_pair(DIVIDED)
    np.testing.assert_allclose(compiled.values["y"], plain.values["y"], rtol=1e-4, atol=1e-6)
    assert compiled.host["clusters_placed"] >= 6 and not compiled.host["fallbacks"]
