"""The Python package: types, examples in its documentation."""

import os
import pty
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "runtime_hooks/tensorflow/python"


def test_types_are_strict():
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir",
                           ROOT / "build/.mypy_cache"], cwd=PYTHON, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout


def test_examples_in_the_documentation(run_program):
    text = """
import doctest
result = doctest.testmod(tektite, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
report(failed=result.failed, attempted=result.attempted)
"""
    result = run_program(text)
    assert result.values["attempted"] > 10
    assert result.values["failed"] == 0


def test_enable_after_the_import(run_program):
    text = """
f = tf.function(lambda x: tf.nn.relu(x * 2.0 + 1.0))
g = tf.function(lambda x: tf.nn.relu(x * 3.0 + 1.0))
x = tf.constant(normal(4, 8))
f(x)
before = tektite.stats()["host"]["clusters_placed"]
tektite.enable()
g(x)
report(before=before)
"""
    result = run_program(text)
    assert result.values["before"] == 0 and result.host["clusters_placed"] == 1


def test_enable_without_a_hook_says_so(run_program):
    text = """
try:
    tektite.enable()
    report(error="")
except RuntimeError as error:
    report(error=str(error))
"""
    assert "TEKTITE=0" in run_program(text, tektite="0").values["error"]


def test_scope_compiles_only_what_is_inside(run_program):
    text = """
@tf.function
def f(x):
    with tektite.scope("part"):
        y = tf.nn.relu(x * 2.0 + 1.0)
    return tf.exp(tf.cumsum(y) * 3.0)
x = tf.constant(normal(4, 8))
report(y=f(x))
"""
    result = run_program(text, tektite="scoped")
    assert result.host["clusters_placed"] == 1
    assert 1 <= result.host["ops_placed"] <= 3


def test_scopes_of_two_names_are_two_clusters(run_program):
    text = """
@tf.function
def f(x):
    with tektite.scope("a"):
        x = tf.nn.relu(x * 2.0 + 1.0)
    with tektite.scope("b"):
        return tf.nn.relu(x * 3.0 + 1.0)
report(y=f(tf.constant(normal(4, 8))))
"""
    assert run_program(text, tektite="scoped").host["clusters_placed"] == 2


def test_must_compile_names_the_op_before_anything_runs(run_program):
    text = """
v = tf.Variable(0)
@tektite.jit
def fine(x):
    return tf.nn.relu(x * 2.0 + 1.0)
def bad(x):
    v.assign_add(1)
    return tf.strings.as_string(x * 2.0)
bad = tektite.jit(bad, must_compile=True)
x = tf.constant(normal(4, 8))
fine(x)
errors = []
for _ in range(2):
    try:
        bad(x)
    except tektite.NotCompiledError as error:
        errors.append([str(error), [op.op for op in error.left_out]])
report(errors=errors, v=v)
"""
    result = run_program(text)
    assert len(result.values["errors"]) == 2 and result.values["v"] == 0
    message, ops = result.values["errors"][0]
    assert "AsString" in ops and ops[0] in message and "NO_IMPORTER" in message
    assert result.host["clusters_placed"] == 1


def test_an_error_of_the_function_itself_is_not_hidden(run_program):
    text = """
f = tektite.jit(lambda x, y: tf.matmul(x, y), must_compile=True)
try:
    f(tf.zeros([2, 3]), tf.zeros([2, 3]))
    kind = ""
except Exception as error:
    kind = type(error).__name__
report(kind=kind)
"""
    assert run_program(text).values["kind"] == "ValueError"


def test_warmup_leaves_nothing_to_compile(run_program):
    text = """
w = tf.Variable(normal(64, 64))
@tf.function(input_signature=[tf.TensorSpec([None, 64])])
def f(x):
    return tf.nn.softmax(tf.matmul(x, w))
model = tf.keras.Sequential([tf.keras.Input([256]), *[tf.keras.layers.Dense(256, activation="relu") for _ in range(2)]])
tektite.warmup(f, [(4, 64), tf.TensorSpec([8, 64])])
tektite.warmup(model, [(16, 256)])
before = tektite.stats()
f(tf.zeros([4, 64])); f(tf.zeros([8, 64])); model.predict(np.zeros((16, 256), np.float32), verbose=0)
after = tektite.stats()
report(new=[after[k] - before[k] for k in ("compiles", "clusters")],
       refused=sum(after["fallbacks"].values()) - sum(before["fallbacks"].values()), runs=after["runs"] - before["runs"])
"""
    # The functions that a Keras model makes for each call to slice its input are too small for a user's flags.
    result = run_program(text, tektite="1", TEKTITE_FLAGS="--compile=async --min_cluster_cost=20000")
    assert result.values["new"] == [0, 0] and result.values["refused"] == 0
    assert result.values["runs"] >= 3


def test_after_a_warmup_no_request_is_compared_with_tensorflow(run_program):
    text = """
f = tf.function(lambda x: tf.nn.softmax(tf.tanh(x) * 2.0 + 1.0))
x = tf.constant(normal(64, 512))
tektite.warmup(f, [x])
comparison = tektite.stats()["comparison"]
report(comparison=comparison)
"""
    result = run_program(text, tektite="1", TEKTITE_FLAGS="--compile=async --compare=true")
    comparison = result.values["comparison"]
    assert comparison["open"] == 0 and comparison["compiled"] + comparison["host"] == 1  # either may win


def test_explain_tells_what_is_left_out_and_why(run_program):
    text = """
def f(x):
    return tf.strings.as_string(tf.nn.softmax(x * 2.0 + 1.0))
e = tektite.explain(f, tf.TensorSpec([512, 1024]))
report(ops=e.ops, clustered=e.clustered, left_out=[[n.op, n.reason] for n in e.left_out],
       clusters=[c.ops for c in e.clusters], text=str(e))
"""
    values = run_program(text).values
    assert (values["ops"], values["clustered"], values["clusters"]) == (4, 3, [3])
    assert values["left_out"] == [["AsString", "NO_IMPORTER"]]
    assert "AsString" in values["text"]


# Of a loop that the host steers explain said no more than that it is one.
def test_explain_tells_what_a_turn_calls_and_the_line_to_blame(run_program):
    text = """
def f(x):
    for i in tf.range(5):
        x = tf.nn.softmax(tf.tanh(x) * 2.0 + 1.0)
        tf.print("turn", i)
    return x
e = tektite.explain(f, tf.TensorSpec([512, 1024]))
loop = [n for n in e.left_out if "While" in n.op][0]
parts = e.in_parts[0]

def until_large(x):
    rows, i = tf.TensorArray(tf.float32, 0, dynamic_size=True), 0
    while tf.reduce_sum(x) < 1e6:
        rows, x, i = rows.write(i, x), x * 2.0 + 1.0, i + 1
    return rows.stack()
unbounded = [n.detail for n in tektite.explain(until_large, tf.TensorSpec([512, 1024])).left_out if "While" in n.op]
report(unbounded=unbounded, first=f.__code__.co_firstlineno, reason=loop.reason, detail=loop.detail, where=loop.where, text=str(e),
       parts=[parts.ops, parts.clustered, parts.clusters])
"""
    values = run_program(text).values
    assert values["reason"] == "FUNCTION_BODY" and "NO_IMPORTER: StringFormat" in values["detail"]
    assert values["parts"][1:] == [6, 1] and values["parts"][0] > 6
    assert values["unbounded"] == ["a list grows in it, and nothing bounds how often it turns"]
    assert "a turn calls 1 cluster (6 of" in values["text"]
    assert values["where"].endswith(f":{values['first'] + 3}")


def test_explain_without_arguments_is_on_the_latest_trace(run_program):
    """It raised a TypeError for a function of two traces, and for a plain one around traced ones, as Keras 3.15 has."""
    text = """
f = tf.function(lambda x: tf.nn.softmax(x * 2.0 + 1.0))
f(tf.zeros([2, 8]))
f(tf.zeros([4, 8]))
def inner():
    def around(x):
        return wrapper(x)
    @functools.wraps(f)
    def wrapper(x):
        return f(x)
    return around
report(ops=[tektite.explain(g).ops for g in (f, inner())])
"""
    assert run_program("import functools\n" + text).values["ops"] == [3, 3]


def test_progress_is_one_line_on_a_terminal_and_nothing_elsewhere():
    """`tektite bench` and `tektite demo` said nothing for ten seconds and more."""
    program = ("import importlib.util, sys; spec = importlib.util.spec_from_file_location('p', sys.argv[1]); "
               "p = importlib.util.module_from_spec(spec); spec.loader.exec_module(p); p.show('first call' + 'x' * 200); p.clear()")
    command = [sys.executable, "-c", program, PYTHON / "tektite/_output.py"]
    assert subprocess.run(command, capture_output=True, check=True).stderr == b""
    ours, theirs = pty.openpty()
    subprocess.run(command, stderr=theirs, check=True)
    os.close(theirs)
    said = os.read(ours, 4096)
    os.close(ours)
    assert said.startswith(b"\rfirst callx") and said.endswith(b" \r") and b"\n" not in said and max(map(len, said.split(b"\r"))) < 80
