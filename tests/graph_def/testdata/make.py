"""Makes the files of this folder with stock TensorFlow: real bytes for the readers' tests.

    python tests/graph_def/testdata/make.py
"""
import os
import shutil
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

HERE = Path(__file__).parent


class Model(tf.Module):
    """Two dense layers, a nested call, a batch norm with several outputs, a branch."""

    def __init__(self):
        self.w = tf.Variable(tf.reshape(tf.range(24, dtype=tf.float32), (4, 6)) / 24, name="w")
        self.b = tf.Variable([0.5] * 6, name="b")
        self.count = tf.Variable(0, trainable=False, name="count")

    @tf.function
    def dense(self, x):
        return tf.nn.relu(tf.matmul(x, self.w) + self.b)

    @tf.function(input_signature=[tf.TensorSpec((None, 4), tf.float32, name="x")])
    def serve(self, x):
        self.count.assign_add(1)
        y = self.dense(x) + self.dense(-x)
        y = tf.reshape(y, (tf.shape(x)[0], 1, 1, 6))
        y, mean, _ = tf.compat.v1.nn.fused_batch_norm(y, tf.ones(6), tf.zeros(6))
        halves = tf.split(tf.nn.softmax(y), 2, axis=-1)
        return {"probabilities": halves[1], "mean": mean}


def main():
    tf.keras.utils.set_random_seed(0)
    model = Model()
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(model, folder, signatures=model.serve)
        shutil.copy(Path(folder) / "saved_model.pb", HERE / "saved_model.pb")

    @tf.function(input_signature=[tf.TensorSpec((None, 4), tf.float32, name="x")])
    def branch(x):
        y = model.dense(x)
        return tf.cond(tf.reduce_sum(y) > 0, lambda: tf.exp(y), lambda: y - 1.0)

    frozen = convert_variables_to_constants_v2(branch.get_concrete_function()).graph.as_graph_def()
    (HERE / "frozen.pb").write_bytes(frozen.SerializeToString(deterministic=True))
    tf.io.write_graph(frozen, str(HERE), "frozen.pbtxt")

    graph = tf.compat.v1.GraphDef()
    values = [("half", tf.constant([1.5, -2.0], tf.float16)),
              ("bfloat16", tf.constant([1.5, -2.0], tf.bfloat16)),
              ("strings", tf.constant(["a", "b\0c", ""])), ("bools", tf.constant([True, False])),
              ("fill", tf.fill((3, 2), 7.0)), ("int8", tf.constant([-1, 5], tf.int8)),
              ("int64", tf.constant([1 << 40, -3], tf.int64)), ("empty", tf.zeros((0, 4))),
              ("complex", tf.constant([1 + 2j], tf.complex64)), ("double", tf.constant(2.25, tf.float64)),
              ("uint16", tf.constant([65535, 1], tf.uint16)), ("uint64", tf.constant([2**63], tf.uint64))]
    for name, value in values:
        node = graph.node.add(name=name, op="Const")
        node.attr["dtype"].type = value.dtype.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value.numpy(), value.dtype, value.shape))
    (HERE / "constants.pb").write_bytes(graph.SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
