"""Assertions in compiled code: TensorFlow's errors in TensorFlow's words, and variables as TensorFlow leaves them."""

PROGRAM = """
def message_of(f, *args):
    try:
        f(*args)
        return ""
    except tf.errors.InvalidArgumentError as error:
        return "".join(words for words in ("not finite", "too large", "rows") if words in error.message)

# An update that takes its value from a check, and one that waits for an assertion.
checked, waiting = tf.Variable(tf.zeros([8])), tf.Variable(tf.zeros([8]))
@tf.function
def step(x):
    y = tf.debugging.check_numerics(tf.tanh(x) * 2.0 + tf.exp(-x), "not finite")
    checked.assign_add(y * 0.5)
    with tf.control_dependencies([tf.debugging.Assert(tf.reduce_max(y) < 4.0, ["too large", x])]):
        waiting.assign_add(tf.nn.relu(x) * 2.0)
    return y * 3.0

@tf.function
def guarded(x, n):
    tf.debugging.assert_equal(tf.shape(x)[0], n, message="rows")
    return tf.nn.relu(x * 2.0 - 1.0)

steps, states, messages = [], [], []
for shift in (0.0, 1.0, -9.0, 0.5, float("nan"), 0.25, float("-inf"), 2.0):
    x = tf.constant(np.linspace(-1, 1, 8, dtype=np.float32) + np.float32(shift))
    messages.append(message_of(step, x))
    if not messages[-1]:
        steps.append(step(x))
    states.append([checked.numpy().tolist(), waiting.numpy().tolist()])
messages += [message_of(guarded, tf.ones([n, 3]), 4) for n in (4, 5, 4, 3)]
report(steps=steps, states=states, messages=messages)
"""


def close(ours, theirs):
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(close, ours, theirs))
    return ours == theirs or abs(ours - theirs) <= 1e-5 * max(abs(theirs), 1)


def test_assertions(run_pair):
    plain, compiled = run_pair(PROGRAM)
    assert compiled.values["messages"] == plain.values["messages"]
    assert plain.values["messages"] == [
        "", "", "too large", "", "not finite", "", "not finite", "", "", "rows", "", "rows"]
    for key in ("steps", "states"):
        assert close(compiled.values[key], plain.values[key]), key
    assert compiled.host["updates"] > 0
    # Nothing but the calls that fail are TensorFlow's, and no assertion is left out.
    assert compiled.host["fallbacks"] == {"CHECK_FAILED": 5}, compiled.host
    assert not any("Assert" in v["example"] or "CheckNumerics" in v["example"]
                   for v in compiled.stats["left_out"].values()), compiled.stats["left_out"]
