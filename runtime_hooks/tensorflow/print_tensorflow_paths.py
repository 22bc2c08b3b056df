"""Prints "major.minor;include folder;library folder;site-packages" of this Python's TensorFlow."""

import sysconfig

import tensorflow as tf

major, minor = tf.__version__.split(".")[:2]
print(
    f"{major}.{minor}",
    tf.sysconfig.get_include(),
    tf.sysconfig.get_lib(),
    sysconfig.get_path("purelib"),
    sep=";",
)
