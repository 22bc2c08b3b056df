"""A network of TensorFlow's quantized types, as its tool quantize_graph writes them, in one cluster."""

import numpy as np

NETWORK = """
raw = tf.raw_ops
rng = np.random.default_rng(3)

def weights(*shape):
    w = rng.normal(size=shape).astype(np.float32)
    low, high = w.min(), w.max()
    return tf.bitcast(tf.constant(np.round((w - low) * (255 / (high - low))).clip(0, 255).astype(np.uint8)), tf.quint8), low, high

def narrowed(sums, low, high):
    used = raw.RequantizationRange(input=sums, input_min=low, input_max=high)
    return raw.Requantize(input=sums, input_min=low, input_max=high, requested_output_min=used[0],
                          requested_output_max=used[1], out_type=tf.quint8)

def convolution(x, filter, stride):
    y = narrowed(*raw.QuantizedConv2D(input=x[0], filter=filter[0], min_input=x[1], max_input=x[2], min_filter=filter[1],
                                      max_filter=filter[2], strides=[1, stride, stride, 1], padding="SAME"))
    return raw.QuantizedRelu(features=y[0], min_features=y[1], max_features=y[2])

LAYERS = [(weights(3, 3, 3, 16), 2), (weights(3, 3, 16, 16), 1), (weights(3, 3, 16, 32), 2)]
LAST = weights(4 * 4 * 32, 10)

@tf.function
def network(x):
    y = raw.QuantizeV2(input=x, min_range=tf.reduce_min(x), max_range=tf.reduce_max(x), T=tf.quint8, mode="MIN_FIRST")
    for layer in LAYERS:
        y = convolution(y, *layer)
    y = raw.QuantizedMaxPool(input=y[0], min_input=y[1], max_input=y[2], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    y = raw.QuantizedReshape(tensor=y[0], shape=[-1, 4 * 4 * 32], input_min=y[1], input_max=y[2])
    y = narrowed(*raw.QuantizedMatMul(a=y[0], b=LAST[0], min_a=y[1], max_a=y[2], min_b=LAST[1], max_b=LAST[2], Toutput=tf.qint32))
    return raw.Dequantize(input=y[0], min_range=y[1], max_range=y[2], mode="MIN_FIRST")

results = [network(tf.constant(rng.normal(size=(n, 32, 32, 3)).astype(np.float32))).numpy().tolist() for n in (3, 3, 3)]
report(results=results)
"""


def test_a_network_is_tensorflows(run_program):
    for onednn in ("1", "0"):
        stock = run_program(NETWORK, tektite="0", TF_ENABLE_ONEDNN_OPTS=onednn)
        ours = run_program(NETWORK, tektite="1", TF_ENABLE_ONEDNN_OPTS=onednn, TEKTITE_FLAGS="--cache_dir=off --compile=sync")
        for got, want in zip(ours.values["results"], stock.values["results"], strict=True):
            np.testing.assert_array_equal(np.float32(got), np.float32(want))
        assert ours.stats["clusters"] == 1
