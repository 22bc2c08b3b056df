"""Bad input: the user sees TensorFlow's own errors, and a bad setting is one line that names it."""

import re

import pytest

CATCH = """
def message(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"
"""

WRONG = {
    "shapes that do not match": """
@tf.function(input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec(None, tf.float32)])
def f(x, y):
    return tf.nn.relu(x * 2.0 + y) + 1.0
report(error=message(lambda: f(normal(4, 8), normal(4, 7))), good=list(f(normal(4, 8), normal(4, 8)).shape))
""",
    "inner sizes of a product": """
@tf.function(input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec(None, tf.float32)])
def f(x, y):
    return tf.nn.relu(tf.matmul(x, y) * 2.0 + 1.0)
report(error=message(lambda: f(normal(4, 8), normal(7, 4))), good=list(f(normal(4, 8), normal(8, 4)).shape))
""",
    "a rank that a product refuses": """
@tf.function(input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec(None, tf.float32)])
def f(x, y):
    return tf.nn.relu(tf.raw_ops.MatMul(a=x, b=y) * 2.0 + 1.0)
report(error=message(lambda: f(normal(2, 4, 8), normal(8, 4))), good=list(f(normal(4, 8), normal(8, 4)).shape))
""",
    "a variable without a value": """
tf1 = tf.compat.v1
with tf.Graph().as_default(), tf1.Session() as session:
    w = tf1.get_variable("w", initializer=normal(8), use_resource=True)
    y = tf.nn.relu(w * 2.0 + 1.0)
    error = message(lambda: session.run(y))
    session.run(w.initializer)
    report(error=error, good=list(session.run(y).shape))
""",
    "a variable that is gone": """
tf1 = tf.compat.v1
with tf.Graph().as_default(), tf1.Session() as session:
    w = tf1.get_variable("w", initializer=normal(8), use_resource=True)
    y = tf.nn.relu(w * 2.0 + 1.0)
    session.run(w.initializer)
    session.run(y)
    session.run(tf.raw_ops.DestroyResourceOp(resource=w.handle))
    error = message(lambda: session.run(y))
    session.run(w.initializer)
    report(error=error, good=list(session.run(y).shape))
""",
}


def comparable(text: str) -> str:
    """The message without the program's temporary folder, which chance decides, and without the line that
    adds the cluster to the list of nodes that failed."""
    text = re.sub(r"\n\t \[\[tektite/[^]]*\]\]", "", text)
    return re.sub(r'"[^"]*/program.py"', "program.py", text)


@pytest.mark.parametrize("case", WRONG)
def test_error_is_tensorflows_own(run_pair, case):
    pair = run_pair(CATCH + WRONG[case])
    plain, compiled = (result.values for result in pair)
    assert plain["error"] != "no error"
    assert comparable(compiled["error"]) == comparable(plain["error"])
    assert compiled["good"] == plain["good"]


def test_bad_flag_is_one_line(run_program):
    text = """
f = tf.function(lambda x: tf.nn.relu(x * 2.0 + 1.0))
report(y=[f(tf.constant(normal(4, 8))) for _ in range(3)])
"""
    result = run_program(text, tektite="1", TEKTITE_FLAGS="--nonsense=1")
    assert len([line for line in result.stderr.splitlines() if "nonsense" in line]) == 1
    assert result.stats["runs"] > 0


@pytest.mark.parametrize("path", ["/nonexistent/libtektite.so", "/etc/hostname"])
def test_missing_or_broken_compiler_is_one_line(run_program, path):
    text = """
f = tf.function(lambda x: tf.nn.relu(x * 2.0 + 1.0))
report(y=[f(tf.constant(np.ones((n, 2), np.float32))) for n in (1, 2)])
"""
    result = run_program(text, tektite="1", TEKTITE_LIBRARY=path)
    assert len(result.lines()) == 1 and path in result.lines()[0]
    assert result.values["y"][0] == [[3.0, 3.0]]
    assert result.host["clusters_placed"] == 0
