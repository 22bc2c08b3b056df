"""A function too small for a cluster, which Python calls often, gets a copy that Python alone calls."""
import numpy as np
import pytest

from tests.end_to_end.calls.direct_calls import check_close

DEFAULT = "--compile=sync --compare=false --min_cluster_cost=20000"

SMALL = """
v = tf.Variable(normal(6))
def direct():
    return tektite.stats().get("host", {}).get("direct_runs", 0)
def often(f, *args):
    return [f(*args) for _ in range(180)][-1]
def copied(f):
    from tektite import _xla_calls
    inner = f.get_concrete_function(*tensors)._inference_function
    return os.environ["TEKTITE"] == "1" and _xla_calls.called_by(inner) is not inner
"""

# name: (is it copied, the program, which defines f and its arguments `tensors`)
FUNCTIONS = {
    "a norm": (True, """
f = tf.function(lambda x: tf.sqrt(tf.reduce_sum(x * x)))
tensors = [tf.constant(normal(64))]
"""),
    "one op": (True, """
f = tf.function(lambda x: tf.tanh(x))
tensors = [tf.constant(normal(8))]
"""),
    "several results": (True, """
f = tf.function(lambda x, y: (lambda e: {"a": e - y, "b": (e * y, tf.reduce_max(e))})(tf.exp(x)))
tensors = [tf.constant(normal(8)), tf.constant(normal(8))]
"""),
    "a variable that is read": (True, """
f = tf.function(lambda x: tf.nn.softmax(x * v + v))
tensors = [tf.constant(normal(6))]
"""),
    "a variable that is assigned to": (True, """
def step(x):
    v.assign(v * 0.5 + x)
    return tf.reduce_sum(v)
f = tf.function(step)
tensors = [tf.constant(normal(6))]
"""),
    "less than it was traced as": (True, """
f = tf.function(lambda r: tf.reduce_sum(r * tf.pow(0.99, tf.cast(tf.range(tf.shape(r)[0]), tf.float32))))
tensors = [tf.constant(normal(256))]
"""),
    "a branch inside": (False, """
f = tf.function(lambda x: tf.cond(x[0] > 0.0, lambda: tf.exp(x), lambda: x * 2.0) + 1.0)
tensors = [tf.constant(normal(4))]
"""),
    "parts that are not connected": (False, """
f = tf.function(lambda x, y: (tf.exp(x), tf.sin(y) * y))
tensors = [tf.constant(normal(4)), tf.constant(normal(4))]
"""),
    "a random number": (False, """
f = tf.function(lambda x: x * 2.0 + 0.0 * tf.random.uniform([]))
tensors = [tf.constant(normal(4))]
"""),
    "a string": (False, """
f = tf.function(lambda x: tf.strings.as_string(x * 2.0))
tensors = [tf.constant(normal(4))]
"""),
    "zero rows": (True, """
f = tf.function(lambda x: tf.reduce_sum(x * x, 0) + 1.0)
tensors = [tf.zeros([0, 4])]
"""),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results(run_pair, name):
    is_copied, text = FUNCTIONS[name]
    plain, compiled = run_pair(SMALL + text + f"""
y = often(f, *tensors)
report(y=[np.asarray(t).astype(str if t.dtype == tf.string else float).tolist() for t in tf.nest.flatten(y)])
assert copied(f) == ({is_copied} and os.environ["TEKTITE"] == "1")
""", TEKTITE_FLAGS=DEFAULT)
    if name == "a string":
        assert plain.values == compiled.values
    else:
        check_close(plain, compiled)
    assert (compiled.host["direct_runs"] > 10) == is_copied
    assert compiled.host["fallbacks"] == {}


def test_other_callers_keep_the_function(run_pair):
    """Gradients, graphs that call it, a saved model and an error's text are of the function itself."""
    plain, compiled = run_pair(SMALL + """
import tempfile
@tf.function
def f(x):
    return tf.reduce_sum(x * x) * v[0]
tensors = [tf.constant(normal(6))]
before = often(f, *tensors)
with tf.GradientTape() as tape:
    tape.watch(tensors[0])
    y = f(*tensors)
gradients = tape.gradient(y, [tensors[0], v.value()])
outer = tf.function(lambda x: f(x) + f(x * 2.0))(*tensors)
mapped = sum(tf.data.Dataset.from_tensors(tensors[0]).repeat(3).map(f))
module = tf.Module()
module.f, module.v = f, v
folder = tempfile.mkdtemp()
tf.saved_model.save(module, folder)
again = tf.saved_model.load(folder)
loaded = again.f(*tensors)
v.assign(v * 2.0)
after = often(f, *tensors)
report(before=float(before), gradient=gradients[0].numpy().tolist(), outer=float(outer), mapped=float(mapped),
       loaded=float(loaded), after=float(after))
assert copied(f) == (os.environ["TEKTITE"] == "1")
""", TEKTITE_FLAGS=DEFAULT)
    check_close(plain, compiled)
    assert compiled.host["direct_runs"] > 10


def test_errors_name_the_users_line(run_pair):
    plain, compiled = run_pair(SMALL + """
@tf.function
def f(x):
    tf.debugging.assert_less(x, 5.0, message="too large")
    return x * 2.0
tensors = [tf.constant(1.0)]
y = often(f, *tensors)
try:
    f(tf.constant(7.0))
    said = ""
except tf.errors.InvalidArgumentError as error:
    said = str(error)
report(y=float(y), named="too large" in said)
""", TEKTITE_FLAGS=DEFAULT)
    assert plain.values["named"] and compiled.values["named"]
    check_close(plain, compiled)


@pytest.mark.parametrize("switch", ["flag", "TensorFlow's"])
def test_one_side_where_calls_are_to_be_reproducible(run_pair, switch):
    """No function changes sides after 30 calls."""
    flags = DEFAULT + (" --reproducible" if switch == "flag" else "")
    text = "" if switch == "flag" else "tf.keras.utils.set_random_seed(1); tf.config.experimental.enable_op_determinism()\n"
    plain, compiled = run_pair(SMALL + text + """
f = tf.function(lambda x: tf.sqrt(tf.reduce_sum(tf.exp(x) * x * x)))
tensors = [tf.constant(normal(640))]
report(y=sorted({float(f(*tensors)).hex() for _ in range(150)}))
assert not copied(f)
""", TEKTITE_FLAGS=flags)
    assert len(compiled.values["y"]) == 1 == len(plain.values["y"])
