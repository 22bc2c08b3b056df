"""A cluster that falls back runs the kernels that stock TensorFlow runs, oneDNN's where it has them."""

import pytest

TRACED = """
import re
tf1 = tf.compat.v1

def ops_that_ran(session, fetch, feed):
    \"\"\"Kernel types and how often each ran, without what only moves tensors in and out.\"\"\"
    metadata = tf1.RunMetadata()
    session.run(fetch, feed, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), run_metadata=metadata)
    counts = {}
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            op = re.search(r"= (\\w+)\\(", node.timeline_label)
            if op and op[1] not in ("_Arg", "_Retval", "Const", "NoOp", "TektiteCluster", "_Recv", "_Send"):
                counts[op[1]] = counts.get(op[1], 0) + 1
    return counts

def conv_net(weight):
    x = tf1.placeholder(tf.float32, [2, 16, 16, 16], name="x")
    y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, weight(3, 3, 16, 128), 2, "SAME"), weight(128)))
    y = tf.nn.relu6(tf.nn.depthwise_conv2d(y, weight(3, 3, 128, 1), [1, 1, 1, 1], "SAME"))
    y = tf.nn.max_pool2d(y, 2, 2, "SAME")
    y = tf.reshape(y, [2, 2048])
    return tf.nn.softmax(tf.nn.relu(tf.matmul(y, weight(2048, 32)) + weight(32)))

with tf.Graph().as_default(), tf1.Session() as session:
    y = conv_net(WEIGHT)
    session.run(tf1.global_variables_initializer())
    feed = {"x:0": normal(2, 16, 16, 16)}
    for _ in range(2):
        session.run(y, feed)
    report(ops=ops_that_ran(session, y, feed), y=session.run(y, feed))
"""

# With these flags no cluster is ever worth compiling, so calls always fall back.
FLAGS = "--compile=async --compile_after_percent=1000000000 --cache_dir=off"

WEIGHTS = {
    "variables": "WEIGHT = lambda *shape: tf1.get_variable('w%d' % len(tf1.global_variables()), "
                 "initializer=normal(*shape), use_resource=True)\n",
    "constants": "WEIGHT = lambda *shape: tf.constant(normal(*shape))\n",
}


@pytest.mark.parametrize("weights", WEIGHTS)
def test_fallback_runs_stock_kernels(run_pair, weights):
    pair = run_pair("tf1 = tf.compat.v1\n" + WEIGHTS[weights] + TRACED, TEKTITE_FLAGS=FLAGS)
    plain, fallen_back = pair
    assert fallen_back.host["clusters_placed"] > 0
    assert fallen_back.stats["fallbacks"]["NOT_COMPILED"] > 0
    assert plain.values["ops"] == fallen_back.values["ops"]
    # The same kernels on the same values.
    assert plain.values["y"] == fallen_back.values["y"]


# oneDNN's kernels that take in a neighbor of another op (Pad, BiasAdd, Transpose), or that a gradient has, among ops that
# oneDNN's pass is not shown.
NEIGHBORS = """
def training_net(weight):
    x = tf1.placeholder(tf.float32, [2, 16, 16, 16], name="x")
    padded = tf.pad(x, [[0, 0], [1, 1], [2, 2], [0, 0]])
    y = tf.nn.bias_add(tf.nn.conv2d(padded, weight(3, 3, 16, 24), 2, "VALID"), weight(24))
    y = tf.nn.local_response_normalization(tf.math.atan(y)) * tf.sigmoid(y)
    volume = tf.transpose(tf.reshape(y, [2, 24, 4, 2, 9]) if y.shape[1] * y.shape[2] == 72 else y[:, None], [0, 2, 3, 4, 1])
    z = tf.transpose(tf.nn.conv3d(volume, weight(1, 1, 1, int(volume.shape[-1]), 8), [1] * 5, "SAME"), [0, 4, 1, 2, 3])
    z = tf.einsum("bchwd,ce->bhwde", z, weight(8, 4))
    return tf.gradients(tf.reduce_sum(tf.nn.softmax(z) ** 2) + tf.reduce_mean(tf.math.erf(y)), [x])[0]
"""


@pytest.mark.parametrize("weights", WEIGHTS)
def test_fallback_of_a_training_step_runs_stock_kernels(run_pair, weights):
    traced = TRACED.replace("y = conv_net(WEIGHT)", "y = training_net(WEIGHT)")
    plain, fallen_back = run_pair("tf1 = tf.compat.v1\n" + WEIGHTS[weights] + NEIGHBORS + traced, TEKTITE_FLAGS=FLAGS)
    assert fallen_back.stats["fallbacks"]["NOT_COMPILED"] > 0
    assert any(op.startswith("_Mkl") for op in plain.values["ops"])
    assert plain.values["ops"] == fallen_back.values["ops"]
    assert plain.values["y"] == fallen_back.values["y"]
