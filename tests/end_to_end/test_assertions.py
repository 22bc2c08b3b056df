"""Assertions in compiled code: TensorFlow's errors in TensorFlow's words, and variables as TensorFlow leaves them."""

PROGRAM = """
def message_of(f, *args):
    try:
        f(*args)
        return ""
    except tf.errors.InvalidArgumentError as error:
        return error.message.split("\\\\n")[0][:60]

before, behind = tf.Variable(0.0), tf.Variable(tf.zeros([8]))
@tf.function
def step(x):
    before.assign_add(1.0)
    tf.debugging.assert_less(x, 4.0, message="too large")
    y = tf.tanh(x) * 2.0 + tf.exp(-x)
    tf.debugging.assert_all_finite(y, "not finite")
    behind.assign_add(y * 0.5)
    return y * 3.0

@tf.function
def guarded(x, n):
    tf.debugging.assert_equal(tf.shape(x)[0], n, message="rows")
    return tf.nn.relu(x * 2.0 - 1.0)

steps, states, messages = [], [], []
for shift in (0.0, 1.0, 9.0, 0.5, float("nan"), 0.25, float("-inf"), 2.0):
    x = tf.constant(np.linspace(-1, 1, 8, dtype=np.float32) + np.float32(shift))
    messages.append(message_of(step, x))
    if not messages[-1]:
        steps.append(step(x))
    states.append([before.numpy().tolist(), behind.numpy().tolist()])
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
    assert [bool(m) for m in plain.values["messages"]] == [
        False, False, True, False, True, False, True, False, False, True, False, True]
    for key in ("steps", "states"):
        assert close(compiled.values[key], plain.values[key]), key
    assert compiled.host["updates"] > 0
    # Nothing but the calls that fail are TensorFlow's, and no assertion is left out.
    assert sum(compiled.host["fallbacks"].values()) <= 5, compiled.host
    assert not any("Assert" in v["example"] or "CheckNumerics" in v["example"]
                   for v in compiled.stats["left_out"].values()), compiled.stats["left_out"]
