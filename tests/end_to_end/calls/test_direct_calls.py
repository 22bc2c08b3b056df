"""Calls that go past TensorFlow's function runtime return the results of calls through it, and decline when they
must."""

import numpy as np
import pytest

from tests.end_to_end.calls.direct_calls import MODEL, check_close


def test_a_function_is_learned_and_called_directly(run_pair):
    plain, compiled = run_pair(MODEL + """
past_python(f)
report(y=often(f, x))
assert os.environ["TEKTITE"] == "0" or past_python(f) == 14
""")
    check_close(plain, compiled)
    assert compiled.host["direct_runs"] >= 20
    assert compiled.host["fallbacks"] == {}
    assert plain.stats == {} or plain.host.get("direct_runs", 0) == 0


ARGUMENTS = {
    "two tensors": ("lambda a, b: tf.exp(a) * b", "(x, y)"),
    "by name": ("lambda a, b: tf.exp(a) * b", "dict(b=x, a=y)"),
    "a default": ("lambda a, k=3.0: tf.exp(a) * k", "(x,)"),
    "a number": ("lambda a, k: tf.exp(a) * k", "(x, 2.5)"),
    "nested": ("lambda t: tf.exp(t['a'][0]) * t['b']", "({'b': x, 'a': (y, 1)},)"),
    "a list": ("lambda t: tf.exp(t[0]) - t[1]", "([x, y],)"),
    "one twice": ("lambda a, b: tf.exp(a) - b", "(x, x)"),
    "unused": ("lambda a, b: tf.exp(b)", "(x, y)"),
    "a scalar": ("lambda a, k: tf.exp(a) * k", "(x, tf.constant(2.5))"),
    "none": ("lambda: tf.exp(w) * 2.0", "()"),
    "an array": ("lambda a, b: tf.exp(a) * b", "(x.numpy(), y)"),
    "an array by name": ("lambda a, b: tf.exp(tf.cast(a, tf.float32)) * b", "dict(a=np.arange(24), b=y)"),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(run_pair, name):
    function, arguments = ARGUMENTS[name]
    text = MODEL + f"""
y, arguments = tf.constant(normal(8, 24)), lambda: {arguments}
g = tf.function({function})
call = lambda: g(**arguments()) if isinstance(arguments(), dict) else g(*arguments())
first = call()
last = often(call)
report(first=first, last=last)
assert os.environ["TEKTITE"] == "0" or direct() > before + 5, direct()
"""
    plain, compiled = run_pair(text)
    check_close(plain, compiled)
    assert compiled.values["first"] == compiled.values["last"]


RESULTS = {
    "a tuple": "(tf.exp(a), tf.sin(a))",
    "in another order": "(tf.reduce_sum(tf.exp(a)), tf.sin(a), tf.exp(a))",
    "a dict": "{'z': tf.exp(a), 'b': [tf.sin(a), tf.cos(a)]}",
    "one twice": "(lambda y: (y, y))(tf.exp(a) * 2.0)",
    "an argument": "(a, tf.exp(a) * 2.0)",
    "a constant": "(tf.constant(3.0), tf.exp(a) * 2.0)",
    "beside nothing": "(None, tf.exp(a) * 2.0)",
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(run_pair, name):
    plain, compiled = run_pair(MODEL + f"""
g = tf.function(lambda a: {RESULTS[name]})
report(y=tf.nest.flatten(often(g, x)), structure=repr(tf.nest.map_structure(lambda t: 0, often(g, x))))
""")
    assert plain.values.pop("structure") == compiled.values.pop("structure")
    check_close(plain, compiled)


def test_a_signature_converts_arrays(run_pair):
    plain, compiled = run_pair(MODEL + """
g = tf.function(lambda a: tf.exp(a) * 2.0, input_signature=[tf.TensorSpec([None, 24])])
report(single=often(g, x.numpy()), double=often(g, x.numpy().astype(np.float64)), tensor=often(g, x))
""")
    check_close(plain, compiled)


SIGNATURE = MODEL + """
g = tf.function(lambda a, b, k=2.0: tf.exp(a) * k - b,
                input_signature=[tf.TensorSpec([None, 24]), tf.TensorSpec([None, 24])])
often(g, x, x + 1.0)
before, _ = direct(), past_python(g)
"""


def test_a_signature_takes_new_sizes_directly(run_pair):
    plain, compiled = run_pair(SIGNATURE + """
ys = []
for n in (8, 3, 1, 0, 31, 300, 3):
    a = tf.constant(normal(n, 24))
    ys += [g(a, a * 2.0), g(a, tf.ones([1, 24]))]
report(ys=[y.numpy().tolist() for y in ys], shapes=[list(y.shape) for y in ys])
assert os.environ["TEKTITE"] == "0" or (direct() == before + 14 and past_python(g) == 14), (before, direct())
""")
    assert plain.values.pop("shapes") == compiled.values.pop("shapes")
    check_close(plain, compiled)


def test_what_a_signature_refuses_is_refused(run_pair):
    plain, compiled = run_pair(SIGNATURE + """
messages = []
for a in (tf.ones([3, 25]), tf.ones([24]), tf.ones([3, 24], tf.float64), tf.ones([2, 3, 24]), tf.ones([3, 24])):
    try:
        messages.append(str(g(a, tf.ones([1, 24])).shape))
    except Exception as error:
        messages.append(f"{type(error).__name__}: {error}")
report(messages=messages)
""")
    assert plain.values == compiled.values
    assert compiled.values["messages"][-1] == "(3, 24)" and "Error" in compiled.values["messages"][0]


def test_one_tensor_in_two_places_is_not_taken_for_one_argument(run_pair):
    plain, compiled = run_pair(MODEL + """
g = tf.function(lambda a, b: tf.exp(a) - b)
y = tf.constant(normal(8, 24))
same = often(g, x, x)
report(same=same, different=often(g, x, y), turned=often(g, y, x))
""")
    check_close(plain, compiled)


def test_as_many_tensors_in_a_structure_are_other_arguments(run_pair):
    """A route that was learned with a list and a number once served two tensors."""
    plain, compiled = run_pair(MODEL + """
@tf.function
def g(a, b):
    return tf.tanh(tf.exp(a[0]) - a[1]) * b if isinstance(a, list) else tf.tanh(a) - tf.exp(b)
y = tf.constant(normal(8, 24))
first = g(x, y)
listed = often(g, [x, y], 3.0)
report(first=first, listed=listed, last=g(x, y), often=often(g, x, y), listed_again=g([x, y], 3.0))
""")
    check_close(plain, compiled)


def test_new_shapes_types_and_numbers(run_pair):
    plain, compiled = run_pair(MODEL + """
g = tf.function(lambda a, k=1: tf.cast(tf.exp(tf.cast(a, tf.float32)), a.dtype) * k)
ys = []
for a in (x, x[:3], x[:0], x[:1], tf.cast(x, tf.float64), x[:, :5], x):
    for k in (1, 2, 1.0, True):
        if not (k == 1.0 and type(k) is bool):
            ys.append(tf.reduce_sum(often(g, a, k)))
report(ys=ys)
""")
    check_close(plain, compiled)


def test_an_assignment_is_seen_by_the_next_call(run_pair):
    plain, compiled = run_pair(MODEL + """
ys = []
for i in range(12):
    w.assign(normal(24, 16)) if i % 3 else b.assign_add(normal(16))
    if i == 7:
        w.scatter_nd_add([[3], [20]], normal(2, 16))
    ys += [f(x), f(x)]
report(ys=ys)
assert os.environ["TEKTITE"] == "0" or direct() > before
""")
    check_close(plain, compiled)


def test_updates_happen_once(run_pair):
    plain, compiled = run_pair(MODEL + """
count, mean = tf.Variable(0.0), tf.Variable(tf.zeros([8, 24]))
@tf.function
def step(a):
    count.assign_add(1.0)
    mean.assign(mean * 0.5 + tf.exp(a))
    return tf.reduce_sum(mean)
often(step, x)
before = direct()
report(y=[often(step, x) for _ in range(5)], count=count, mean=mean)
assert os.environ["TEKTITE"] == "0" or direct() > before
""")
    assert compiled.values["count"] == plain.values["count"] == 14.0 * 6
    check_close(plain, compiled)


# Calls that must not be served directly, and the results they must have.
OTHERWISE = {
    "a tape": "with tf.GradientTape() as tape:\n    y = f(x)\ny = tape.gradient(y[:, 0], [w, b])",
    "a tape that watches": "with tf.GradientTape() as tape:\n    tape.watch(x)\n    y = f(x)\ny = tape.gradient(y[:, 0], x)",
    "forward mode": "with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as acc:\n    y = f(x)\ny = acc.jvp(y)",
    "a device": "with tf.device('/CPU:0'):\n    y = f(x)",
    "another function": "y = tf.function(lambda x: f(x) + 1.0)(x)",
    "a session": "with tf.Graph().as_default(), tf.compat.v1.Session() as session:\n"
                 "    y = session.run(tf.function(lambda x: tf.exp(x) * 2.0)(x.numpy()))",
    "eager functions": "tf.config.run_functions_eagerly(True)\ny = f(x)\ntf.config.run_functions_eagerly(False)",
    "a strategy": "strategy = tf.distribute.OneDeviceStrategy('/cpu:0')\ny = strategy.run(f, (x,))",
    "check numerics": "tf.debugging.enable_check_numerics()\ny = f(x)\ntf.debugging.disable_check_numerics()",
    "a variable": "y = f(tf.Variable(x))",
    "a profiler": "tf.profiler.experimental.start('/dev/null/no')\ny = f(x)\n"
                  "try:\n    tf.profiler.experimental.stop(save=False)\nexcept Exception:\n    pass",
    "a cancellation": "from tensorflow.python.eager import cancellation as c\n"
                      "with c.CancellationManagerContext(c.CancellationManager()):\n    y = f(x)",
    "saving": "from tensorflow.python.saved_model import save_context, save_options\n"
              "with save_context.save_context(save_options.SaveOptions()):\n    y = f(x)",
    "asynchronous calls": "tf.config.experimental.set_synchronous_execution(False)\ny = f(x)\n"
                          "tf.config.experimental.set_synchronous_execution(True)",
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_calls_that_are_not_plain(run_pair, name):
    plain, compiled = run_pair(MODEL + OTHERWISE[name] + "\nafter = direct()\nlast = often(f, x)\n"
                               "report(y=y, last=last)\n"
                               "assert after == before, (before, after)\n"
                               "assert os.environ['TEKTITE'] == '0' or direct() > before\n")
    check_close(plain, compiled, 2e-5)


def test_other_captures(run_pair):
    plain, compiled = run_pair(MODEL + """
concrete = f.get_concrete_function(x)
ys = [often(concrete, x)]
other = tf.Variable(normal(16))
captures = [other.handle if c is b.handle else c for c in concrete.captured_inputs]
concrete.set_external_captures(captures)
ys += [concrete(x), often(concrete, x), often(f, x)]
other.assign(normal(16))
ys += [concrete(x), f(x)]
report(ys=ys)
assert os.environ["TEKTITE"] == "0" or direct() > before + 20
""")
    check_close(plain, compiled)


def test_captures_of_call_time(run_pair):
    plain, compiled = run_pair(MODEL + """
value = tf.constant(1.0)
@tf.function
def g(a):
    late = tf.compat.v1.get_default_graph().capture_call_time_value(lambda: value, tf.TensorSpec([], tf.float32))
    return tf.exp(a) * late
ys = [often(g, x)]
value = tf.constant(3.0)
ys += [g(x), often(g, x)]
report(ys=ys)
""")
    check_close(plain, compiled)


def test_saved_models_and_keras(run_pair, tmp_path):
    plain, compiled = run_pair(MODEL + f"""
import keras, pathlib
keras.utils.set_random_seed(5)
model = keras.Sequential([keras.Input((24,)), keras.layers.Dense(32, activation="gelu"), keras.layers.Dense(3)])
module = tf.Module()
module.f, module.w, module.b = f, w, b
place = pathlib.Path({str(tmp_path)!r}) / os.environ["TEKTITE"]
tf.saved_model.save(module, str(place), signatures=f.get_concrete_function(tf.TensorSpec([None, 24])))
loaded = tf.saved_model.load(str(place))
serve = loaded.signatures["serving_default"]
ys = [list(often(serve, x=x).values()), list(serve(x=x[:3]).values()), often(loaded.f, x)]
report(ys=ys, predicted=model.predict(x, verbose=0), called=often(tf.function(model), x))
assert os.environ["TEKTITE"] == "0" or direct() > before + 15
""")
    check_close(plain, compiled)


def test_an_error_is_tensorflows(run_pair):
    plain, compiled = run_pair(MODEL + """
table = tf.Variable(normal(10, 24))
g = tf.function(lambda i: tf.exp(tf.gather(table, i)) * 2.0)
good, bad = tf.constant([1, 2]), tf.constant([1, 12])
y, messages = often(g, good), []
for _ in range(3):
    try:
        g(bad)
    except tf.errors.InvalidArgumentError as error:
        messages.append("indices[1] = 12 is not in [0, 10)" in str(error))
report(y=y, last=often(g, good), messages=messages)
""")
    check_close(plain, compiled)
    assert compiled.values["messages"] == [True] * 3


def test_copies_learn_for_themselves(run_program):
    result = run_program(MODEL + """
import copy, pickle
concrete = f.get_concrete_function(x)
learned = f.__dict__["_tektite_direct"]
twin = copy.deepcopy(learned)
report(entries=len(learned.entries), copied=len(twin.entries),
       pickled=len(pickle.loads(pickle.dumps(learned)).entries),
       binding=copy.deepcopy(concrete.__dict__["_tektite_direct"]).plan is None,
       routes=[len(r) for r in (f.__dict__["_tektite_routes"], copy.deepcopy(f.__dict__["_tektite_routes"]))])
""", tektite="1")
    assert result.values == {"entries": 1, "copied": 0, "pickled": 0, "binding": True, "routes": [1, 0]}


def test_it_looks_like_tensorflows(run_pair):
    plain, compiled = run_pair(MODEL + """
import inspect
call = type(f).__call__
report(signature=str(inspect.signature(call)), of_function=str(inspect.signature(f)), name=call.__qualname__,
       doc=call.__doc__, y=f.__call__(x), mapped=list(map(f, [x, x + 1.0])), bound=f.__call__.__self__ is f)
""")
    y, mapped = compiled.values.pop("y"), compiled.values.pop("mapped")
    np.testing.assert_allclose(y, plain.values.pop("y"), rtol=1e-5)
    np.testing.assert_allclose(mapped, plain.values.pop("mapped"), rtol=1e-5)
    assert plain.values == compiled.values


def test_without_the_extension_module(run_program, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['tektite._fast_calls'] = None\n")
    result = run_program(MODEL + """
report(direct=direct() - before, past=past_python(f), y=often(f, x))
""", tektite="1", PYTHONPATH=str(tmp_path))
    assert result.values["past"] == 0
    assert result.host["direct_runs"] == 0 and result.host["runs"] > 14


def test_calls_past_python_are_counted_by_tensorflow(run_program):
    result = run_program(MODEL + """
from tensorflow.python.eager.polymorphic_function import polymorphic_function
detector = polymorphic_function._frequent_tracing_detector_manager._get_detector(f._key_for_call_stats)
often(f, x)
count = detector._call_count
f(x=x)  # not past Python
report(more=detector._call_count - count)
""", tektite="1")
    assert result.values["more"] >= 10


def test_shapes_in_turn(run_pair):
    plain, compiled = run_pair(MODEL + """
g = tf.function(lambda a: tf.exp(a) * 2.0)
inputs = [tf.constant(normal(n, 3)) for n in (1, 2, 3, 4, 5, 6)]  # more than there are routes
report(ys=[tf.reduce_sum(g(a)) for _ in range(12) for a in inputs])
""")
    check_close(plain, compiled)


def test_nothing_is_kept_alive(run_program):
    result = run_program(MODEL + """
import gc, weakref
def rss():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20
def once():
    big = tf.Variable(tf.ones([4 << 20]))  # 16 MiB
    g = tf.function(lambda a: tf.exp(big[:24]) * a)
    often(g, x)
    return weakref.ref(g), weakref.ref(big)
for _ in range(3):
    once()
start, dead = rss(), 0
for _ in range(12):
    refs = once()
    gc.collect()
    dead += all(ref() is None for ref in refs)
report(dead=dead, grown=rss() - start, direct=direct() - before)
""", tektite="1")
    assert result.values["dead"] == 12
    assert result.values["grown"] < 80  # of 192 MiB
    assert result.values["direct"] > 15 * 5


def test_background_compilation_and_a_comparison(run_program):
    result = run_program(MODEL + """
a = tf.constant(normal(512, 512))
g = tf.function(lambda a: tf.nn.softmax(tf.nn.gelu(a) * 2.0))
wanted = g(a).numpy()
tektite.wait_until_compiled()
worst = 0.0
for _ in range(400):
    worst = max(worst, float(np.abs(g(a).numpy() - wanted).max()))
report(worst=worst, direct=direct() - before)
""", tektite="1", TEKTITE_FLAGS="--compile=async --compare=true")
    assert result.values["worst"] < 1e-6


@pytest.mark.parametrize("tektite", ["scoped", None])
def test_switched_off(run_program, tektite):
    result = run_program(MODEL + "report(y=often(f, x), direct=direct())", tektite=tektite)
    assert result.values["direct"] == 0
    if tektite is None:
        assert "_tektite_direct" not in result.stderr


def test_enable_installs_it(run_program):
    result = run_program("tektite.enable(); tektite.enable()\n" + MODEL + "report(direct=direct())")
    assert result.values["direct"] > 0


def test_the_method_is_a_function_as_ever(run_pair):
    """It was an object of another kind: it could not be referred to weakly, and had no code."""
    plain, compiled = run_pair(MODEL + """
import copy, functools, inspect, pickle, weakref
from unittest import mock
Function = type(f)
method = Function.__call__
class Sub(Function):
    def __call__(self, *args, **kwds):
        return super().__call__(*args, **kwds) + 1.0
sub = Sub(lambda a: tf.nn.softmax(tf.matmul(a, w)) + 1.0, "sub")
with mock.patch.object(Function, "__call__", autospec=True, return_value=5):
    patched = f(x)
@functools.wraps(f.__call__)
def wrapper(*args): return f(*args)
before = direct()
y = [f.__call__(x), Function.__call__(f, x), method(f, x), f.__call__(x=x), often(sub, x), wrapper(x)]
report(function=inspect.isfunction(method), bound=inspect.ismethod(f.__call__), code=hasattr(method, "__code__"),
       weak=weakref.WeakMethod(f.__call__)() == f.__call__, weak_function=weakref.ref(method)() is method,
       signatures=[str(inspect.signature(m)) for m in (method, f.__call__, wrapper)],
       names=[method.__name__, method.__qualname__, method.__module__, method.__doc__, wrapper.__name__],
       pickled=pickle.loads(pickle.dumps(method)) is method, copied=copy.deepcopy(method) is method,
       source=type(inspect.getsource(method)).__name__, defaults=[method.__defaults__, method.__kwdefaults__],
       patched=patched, y=y)
assert os.environ["TEKTITE"] == "0" or direct() - before > 8, direct() - before
""")
    np.testing.assert_allclose(compiled.values.pop("y"), plain.values.pop("y"), rtol=1e-5)
    assert plain.values == compiled.values
    assert compiled.values["weak"] and compiled.values["function"]
