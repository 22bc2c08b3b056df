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
    adds an op that the cluster stands for to the list of nodes that failed."""
    text = re.sub(r"\n\t \[\[[\w/.-]*\]\]", "", text)
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


INSIDE = {
    "a shape that is ensured": """
@tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
def f(x):
    return tf.ensure_shape(tf.nn.relu(x) * 2.0, [3], name="three")
call = lambda: f(normal(2))
""",
    "two of them": """
@tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
def f(x):
    y = tf.nn.relu(x) * 2.0
    return tf.ensure_shape(y, [None]), tf.ensure_shape(y, [3]), tf.nn.softmax(y)
call = lambda: f(normal(2))
""",
    "a reshape": """
@tf.function(input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec([None], tf.int32)])
def f(x, shape):
    return tf.nn.relu(tf.reshape(tf.exp(x) * 2.0, shape, name="into")) + 1.0
call = lambda: f(normal(6), [4])
""",
    "an index out of range": """
@tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32), tf.TensorSpec([None], tf.int32)])
def f(x, i):
    return tf.nn.relu(tf.gather(tf.exp(x) * 2.0, i, name="rows")) + 1.0
call = lambda: f(normal(6, 4), [1, 6])
""",
    "numbers that are checked": """
@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def f(x):
    return tf.debugging.check_numerics(tf.math.log(x) * 2.0, "no number", name="checked") + 1.0
call = lambda: f([1.0, -1.0])
""",
    "an assertion": """
@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def f(x):
    y = tf.nn.relu(x) * 2.0 + 1.0
    tf.debugging.assert_less(tf.reduce_max(y), 3.0, message="too large", name="small")
    return tf.nn.softmax(y)
call = lambda: f([5.0, 1.0])
""",
    "a division by zero": """
@tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.int32)])
def f(x, y):
    return tf.math.floordiv(x * 3 + 1, y * 2, name="whole") + 5
call = lambda: f([4, 5], [1, 0])
""",
    "a function in a function": """
@tf.function(input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec(None, tf.float32)])
def inner(x, y):
    with tf.name_scope("deep"):
        return tf.matmul(tf.exp(x) * 2.0, y, name="product")
@tf.function(input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec(None, tf.float32)])
def f(x, y):
    return tf.nn.relu(inner(x, y)) + 1.0
call = lambda: f(tf.constant(normal(2, 3)), tf.constant(normal(2, 3)))
""",
    "a model": """
model = tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Embedding(8, 4, name="words"),
                             tf.keras.layers.Flatten(), tf.keras.layers.Dense(3, name="last")])
model.compile("sgd", "mse")
call = lambda: model.predict(np.array([[1, 9]]), verbose=0)
""",
    "training": """
model = tf.keras.Sequential([tf.keras.layers.Dense(8, "relu"), tf.keras.layers.Dense(3)])
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
call = lambda: model.fit(normal(8, 4), np.full(8, 7), verbose=0)
""",
    "a session": """
tf1 = tf.compat.v1
def call():
    with tf.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf.float32, [None])
        y = tf.ensure_shape(tf.nn.relu(x) * 2.0 + 1.0, [3], name="three")
        session.run(y, {x: normal(2)})
""",
}


@pytest.mark.parametrize("case", INSIDE)
def test_an_error_names_what_the_user_wrote(run_pair, case):
    """It named tektite/cluster_0_3, which nothing has written."""
    pair = run_pair(CATCH + INSIDE[case] + "report(error=message(call))")
    plain, compiled = (comparable(result.values["error"]) for result in pair)
    assert plain != "no error" and pair[1].host["clusters_placed"] >= 1
    assert "tektite" not in pair[1].values["error"]
    # The same sentence, and every node that stock TensorFlow names.
    named = set(re.findall(r"node '?([\w/.]+)", plain))
    assert named <= set(re.findall(r"node '?([\w/.]+)", compiled)), compiled
    assert compiled == plain
