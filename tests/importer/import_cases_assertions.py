"""Cases of assertions, which TensorFlow puts into branches of their own; import_oracle.py runs them."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from import_oracle import Case

raw = tf.raw_ops
X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
IDS = np.arange(3, dtype=np.int32)


def below(limit):
    def function(x):
        tf.debugging.assert_less(x, limit, message="too large")
        return x * 2

    return function


def several(x, ids):
    tf.debugging.assert_equal(tf.shape(x)[0], tf.shape(ids)[0], message="sizes")
    tf.debugging.assert_non_negative(ids)
    y = tf.gather(x, ids)
    tf.debugging.assert_all_finite(y, "numbers")
    tf.debugging.Assert(tf.reduce_any(y > -3), [y, "nothing", ids])
    return y + 1


def plain(x, flag):
    raw.Assert(condition=flag, data=["a message", tf.reduce_sum(x), x])
    return x + 1


def in_a_loop(x):
    def body(i, x):
        tf.debugging.assert_less(tf.reduce_max(x), 20.0)
        return i + 1, x * 2

    return tf.while_loop(lambda i, x: i < 3, body, [0, x])[1]


def in_a_branch(x, flag):
    return tf.cond(flag, lambda: below(1.0)(x), lambda: x)


def of_text(x):
    raw.Assert(condition=tf.reduce_all(x < 3), data=[tf.strings.as_string(x)])
    return x


CASES = [
    Case("AssertHolds", below(3.0), [X]),
    Case("AssertFails", below(2.0), [X], fails=True),
    Case("AssertOfNan", below(3.0), [X * np.float32(np.nan)], fails=True),
    Case("AssertOfNothing", below(0.0), [X[:0]]),
    Case("AssertSeveral", several, [X, IDS]),
    Case("AssertSeveralDynamic", several, [X, IDS], dynamic=True),
    Case("AssertSizes", several, [X, IDS[:2]], fails=True, dynamic=True),
    Case("AssertNegative", several, [X, -IDS], fails=True),
    Case("AssertAny", several, [X - 9, IDS], fails=True),
    Case("AssertPlainHolds", plain, [X, np.array(True)]),
    Case("AssertPlainFails", plain, [X, np.array(False)], fails=True),
    Case("AssertInLoopHolds", in_a_loop, [X]),
    Case("AssertInLoopFails", in_a_loop, [X * 8], fails=True),
    Case("AssertInBranchHolds", in_a_branch, [X, np.array(False)]),
    Case("AssertInBranchFails", in_a_branch, [X, np.array(True)], fails=True),
    Case("AssertOfText", of_text, [X], refused="no such op"),
]
