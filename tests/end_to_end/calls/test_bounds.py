"""Slices, splits, mirrors and channels that sizes, known from call to call only, do not allow: TensorFlow's error, also
where the program uses nothing but the result's size."""
import numpy as np

PROGRAM = """
PARTS = {
    "index": lambda x: x[5], "from the end": lambda x: x[-3], "column": lambda x: x[:, 4],
    "slice": lambda x: tf.slice(x, [0, 2], [1, 3]), "what is left": lambda x: tf.slice(x, [3, 0], [-1, -1]),
    "by sizes": lambda x: tf.slice(x, [0, 1], [tf.shape(x)[0], tf.shape(x)[1] - 2]),
    "split": lambda x: tf.split(x, [1, 2])[0], "split and rest": lambda x: tf.split(x, [4, -1], 1)[1],
    "even split": lambda x: tf.split(x, 2)[1],
    "reflect": lambda x: tf.pad(x, [[0, 0], [0, 2]], "REFLECT"),
    "channels": lambda x: tf.nn.depthwise_conv2d(x[None, :, None, :], tf.ones([1, 1, 2, 1]), [1] * 4, "SAME"),
    "symmetric": lambda x: tf.pad(x, [[2, 0], [0, 0]], "SYMMETRIC"),
}

def outcome(f, x):
    try:
        return [v.numpy().tolist() for v in f(x)]
    except tf.errors.InvalidArgumentError:
        return "error"

outcomes = {}
for name, part in PARTS.items():
    for kind, last in (("read", lambda x: tf.exp(x) * 2.0), ("measured", tf.size)):
        f = tf.function(lambda x: [tf.exp(x) * 2.0 + 1.0, last(part(x))],
                        input_signature=[tf.TensorSpec([None, None])])
        for shape in ((8, 6), (3, 5), (0, 6), (8, 0), (1, 1), (2, 3), (3, 2)):
            outcomes[f"{name} {kind} {shape}"] = outcome(f, tf.constant(normal(*shape)))
report(outcomes=outcomes)
"""


def test_sizes_that_do_not_fit(run_pair):
    plain, compiled = (result.values["outcomes"] for result in run_pair(PROGRAM))
    wrong = [name for name, y in plain.items() if (y == "error") != (compiled[name] == "error")]
    assert wrong == []
    assert 30 <= list(plain.values()).count("error") <= len(plain) - 30
    for name, y in plain.items():
        for ours, theirs in zip(compiled[name], y) if y != "error" else ():
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, err_msg=name)
