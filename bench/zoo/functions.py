"""Functions that users write themselves: attention variants, experts, losses, detection, images, control flow."""
import numpy as np

from bench.models.workload import integers, noise
from bench.zoo.case import Case, function_case


def relative_attention(tf, q, k, v, table):
    length = q.shape[2]
    distance = tf.range(length)[:, None] - tf.range(length)[None]
    bucket = tf.where(tf.abs(distance) < 8, tf.abs(distance), 8 + tf.cast(
        tf.math.log(tf.cast(tf.maximum(tf.abs(distance), 1), tf.float32) / 8) / np.log(16.0) * 8, tf.int32))
    bias = tf.transpose(tf.gather(table, tf.minimum(bucket, 15)), [2, 0, 1])
    return tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) + bias), v)


def experts(tf, x, gate, wide, narrow):
    weights, chosen = tf.math.top_k(tf.nn.softmax(x @ gate), 2)
    result = tf.zeros_like(x)
    for e in range(wide.shape[0]):
        rows = tf.where(tf.reduce_any(chosen == e, 1))[:, 0]
        share = tf.reduce_sum(tf.where(chosen == e, weights, 0.0), 1)
        y = tf.nn.gelu(tf.gather(x, rows) @ wide[e]) @ narrow[e] * tf.gather(share, rows)[:, None]
        result = tf.tensor_scatter_nd_add(result, rows[:, None], y)
    return result


def rotary_attention(tf, q, k, v):
    length, width = q.shape[2], q.shape[3]
    angle = tf.range(length, dtype=tf.float32)[:, None] * tf.pow(
        10000.0, -tf.range(0, width, 2, dtype=tf.float32) / width)
    sin, cos = tf.repeat(tf.sin(angle), 2, 1), tf.repeat(tf.cos(angle), 2, 1)

    def turned(x):
        pairs = tf.reshape(x, [*x.shape[:3], width // 2, 2])
        return x * cos + tf.reshape(tf.stack([-pairs[..., 1], pairs[..., 0]], -1), x.shape) * sin

    scores = tf.matmul(turned(q), turned(k), transpose_b=True) / width**0.5
    scores = tf.where(tf.linalg.band_part(tf.ones([length, length], tf.bool), -1, 0), scores, -1e9)
    return tf.matmul(tf.nn.softmax(scores), v)


def ctc(tf, logits, labels):
    size = tf.shape(logits)[0]
    return tf.nn.ctc_loss(labels, logits, tf.fill([size], 6), tf.fill([size], 30), logits_time_major=False)


def detection(tf, boxes, scores):
    corner, extent = boxes[..., :2], tf.nn.softplus(boxes[..., 2:])
    found = tf.image.combined_non_max_suppression(
        tf.concat([corner, corner + extent], -1)[:, :, None], tf.sigmoid(scores)[..., None], 10, 20)
    return found.nmsed_boxes, found.nmsed_scores, found.valid_detections


def augment(tf, image):
    x = tf.image.resize(image, [40, 36])
    x = tf.image.resize(x, [30, 44], "bicubic")
    x = tf.image.crop_to_bounding_box(tf.image.flip_left_right(x), 2, 3, 24, 32)
    x = tf.image.adjust_contrast(tf.image.adjust_brightness(x, 0.1), 1.5)
    x = tf.clip_by_value(x, 0, 1)
    x = tf.image.adjust_saturation(tf.image.adjust_hue(x, 0.1), 1.2)
    return tf.image.per_image_standardization(x), tf.image.rgb_to_grayscale(x), tf.image.rot90(x)


def halved(tf, x):
    return tf.while_loop(lambda i, y: tf.reduce_max(tf.abs(y)) > 0.01, lambda i, y: (i + 1, tf.tanh(y) * 0.5 + y * 0.1),
                         (0, x))


def newton(tf, x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(tf.nn.softplus(x) * tf.tanh(x) ** 2 + tf.exp(-x * x))
        g = inner.gradient(y, x)
    return g, outer.gradient(g, x)


def clipped(tf, x):
    @tf.custom_gradient
    def f(x):
        return tf.sin(x) * x, lambda dy: tf.clip_by_norm(dy * tf.cos(x), 1.0)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(f(x))
    return y, tape.gradient(y, x)


def conv_gradients(tf, x, w):
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = tf.nn.conv2d(x, w, 2, "SAME", dilations=1)
        y = tf.nn.avg_pool2d(tf.nn.max_pool2d(tf.nn.elu(y), 2, 2, "VALID"), 2, 1, "SAME")
        loss = tf.reduce_mean(tf.square(tf.image.resize(y, [9, 11])))
    return tape.gradient(loss, [x, w])


def quantized(tf, x, w):
    a = tf.cast(x, tf.int32) @ tf.cast(w, tf.int32)
    y = tf.clip_by_value((a * 77 + 128) // 256, -128, 127)
    wrapped = tf.cast(x, tf.uint8) * tf.constant(7, tf.uint8) + tf.constant(200, tf.uint8)
    return tf.cast(y, tf.int8), wrapped, tf.bitwise.bitwise_xor(x, x // 3), tf.reduce_max(tf.cast(y, tf.int8), 1)


def beam_step(tf, scores, logits):
    total = scores[:, :, None] + tf.nn.log_softmax(logits)
    best, index = tf.math.top_k(tf.reshape(total, [tf.shape(total)[0], -1]), 4)
    return best, index // logits.shape[-1], index % logits.shape[-1]


def contrastive(tf, a, b):
    scores = tf.matmul(tf.math.l2_normalize(a, 1), tf.math.l2_normalize(b, 1), transpose_b=True) / 0.07
    labels = tf.range(tf.shape(a)[0])
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores) \
        + tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.transpose(scores))


def heads(b):
    return [noise((b, 4, 48, 16), s) for s in (1, 2, 3)]


CASES = [Case(name, function_case(function, inputs)) for name, function, inputs in [
    ("relative_attention", relative_attention, lambda b: [*heads(b), noise((16, 4), 4)]),
    ("rotary_attention", rotary_attention, heads),
    ("experts", experts, lambda b: [noise((16 * b, 64)), noise((64, 4), 2), noise((4, 64, 128), 3),
                                    noise((4, 128, 64), 4)]),
    ("ctc_loss", ctc, lambda b: [noise((b, 30, 12)), integers(11, (b, 6)) + 1]),
    ("detection", detection, lambda b: [noise((b, 100, 4)), noise((b, 100), 2)]),
    ("image_augment", augment, lambda b: [noise((b, 48, 52, 3), low=0, high=1)]),
    ("ssim", lambda tf, x, y: (tf.image.ssim(x, y, 1.0), tf.image.psnr(x, y, 1.0), tf.image.total_variation(x),
                               tf.image.sobel_edges(x)),
     lambda b: [noise((b, 40, 40, 3), low=0, high=1), noise((b, 40, 40, 3), 8, 0, 1)]),
    ("patches", lambda tf, x: tf.reduce_sum(tf.image.extract_patches(x, [1, 4, 4, 1], [1, 2, 2, 1], [1, 1, 1, 1],
                                                                     "VALID") ** 2, -1),
     lambda b: [noise((b, 32, 32, 3))]),
    ("crop_and_resize", lambda tf, x: tf.nn.relu(tf.image.crop_and_resize(
        x * 2, [[0.1, 0.1, 0.8, 0.9]] * x.shape[0], list(range(x.shape[0])), [14, 14]) - 0.5),
     lambda b: [noise((b, 32, 32, 3))]),
    ("while_loop", halved, lambda b: [noise((b, 500))]),
    ("cond", lambda tf, x: tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.softmax(x * 2), lambda: tf.tanh(x) - 1),
     lambda b: [noise((b, 500))]),
    ("map_fn", lambda tf, x: tf.map_fn(lambda row: tf.nn.softmax(row) * tf.sin(row), x), lambda b: [noise((b, 500))]),
    ("vectorized_map", lambda tf, x: tf.vectorized_map(lambda row: tf.linalg.matvec(row, row[0]), x),
     lambda b: [noise((b, 40, 40))]),
    ("scan", lambda tf, x: tf.scan(lambda a, row: tf.tanh(a * 0.5 + row), tf.transpose(x), tf.zeros([x.shape[0]])),
     lambda b: [noise((b, 50))]),
    ("second_gradient", newton, lambda b: [noise((b, 500))]),
    ("custom_gradient", clipped, lambda b: [noise((b, 500))]),
    ("conv_gradients", conv_gradients, lambda b: [noise((b, 24, 24, 4)), noise((3, 3, 4, 8), 2)]),
    ("quantized", quantized, lambda b: [integers(100, (8 * b, 64)).astype(np.int8),
                                        integers(100, (64, 32), 8).astype(np.int8)]),
    ("beam_step", beam_step, lambda b: [noise((b, 4)), noise((b, 4, 1000), 2)]),
    ("contrastive", contrastive, lambda b: [noise((8 * b, 64)), noise((8 * b, 64), 2)]),
    ("random_in_the_middle", lambda tf, x: tf.nn.softmax(
        x * 2 + tf.random.stateless_normal(tf.shape(x), [1, 2])) * tf.random.stateless_uniform(tf.shape(x), [3, 4]),
     lambda b: [noise((b, 500))]),
]]
