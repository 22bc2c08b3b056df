"""`tektite.aot`: functions of TensorFlow as libraries, against TensorFlow: loops, branches, random numbers, state.

Kernels give the JIT's bits (tests/ahead_of_time); here what a library does around them is compared with TensorFlow.
"""
from pathlib import Path

import pytest

LIBRARIES = """
import importlib.util, pathlib, tempfile
folder = tempfile.mkdtemp()

def library(function, *specs, name, **options):
    tektite.aot(function, *specs, out=folder, name=name, python=True, **options)
    spec = importlib.util.spec_from_file_location(name, f"{folder}/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

def close(a, b):
    return bool(np.allclose(a, b, rtol=2e-5, atol=2e-5)) and a.shape == np.shape(b)

f32 = lambda *shape: tf.TensorSpec(shape, tf.float32)
x = normal(5, 6)

"""

PROGRAM = LIBRARIES + """
@tf.function
def loop(x, n):
    a = tf.zeros_like(x)
    b = x
    for i in tf.range(n):
        a, b = tf.tanh(a + b), a * .5 + tf.cast(i, tf.float32)
    return a, b
module = library(loop, tf.TensorSpec([None, 6], tf.float32, "x"), tf.TensorSpec([], tf.int32, "n"), name="loop",
                 sizes={"x": ("rows", 6)})
turns = {}
for n in (0, 1, 2, 7):
    got, want = module.run(x=x, n=np.int32(n)), loop(x, n)
    turns[n] = all(close(g, w) for g, w in zip(got.values(), want))
    shared = module.run(x=x, n=np.int32(n), threads=3)
    turns[n] &= all(g.tobytes() == s.tobytes() for g, s in zip(got.values(), shared.values()))

@tf.function
def choice(x, which):
    return tf.cond(which, lambda: tf.exp(x), lambda: tf.nn.softmax(x) * 2)
module = library(choice, tf.TensorSpec([5, 6], tf.float32, "x"), tf.TensorSpec([], tf.bool, "which"), name="choice")
branches = [close(*module.run(x=x, which=np.bool_(w)).values(), choice(x, tf.constant(w))) for w in (True, False)]

@tf.function
def cases(x, which):
    return tf.switch_case(which, [lambda: x + 1, lambda: x * 2, lambda: tf.sqrt(tf.abs(x))])
module = library(cases, tf.TensorSpec([5, 6], tf.float32, "x"), tf.TensorSpec([], tf.int32, "which"), name="cases")
switches = [close(*module.run(x=x, which=np.int32(w)).values(), cases(x, tf.constant(w))) for w in (0, 1, 2, 9, -1)]

@tf.function
def draw(seed):
    return tf.random.stateless_normal([4, 7], seed)
module = library(draw, tf.TensorSpec([2], tf.int32, "seed"), name="draw")
seed = np.array([3, 8], np.int32)
random = close(*module.run(seed=seed).values(), draw(seed))

@tf.function
def look_up(table, ids):
    return tf.gather(table, ids)
module = library(look_up, tf.TensorSpec([None, 6], tf.float32, "table"), tf.TensorSpec([None], tf.int32, "ids"),
                 name="look_up")
checked = close(*module.run(table=x, ids=np.array([4, 0], np.int32)).values(), look_up(x, [4, 0]))
try:
    module.run(table=x, ids=np.array([4, 5], np.int32))
    out_of_range = 0
except module.Error as error:
    out_of_range = error.code & 0xff

@tf.function
def look_up_in_turn(table, ids):
    rows = tf.zeros_like(table[0])
    for i in tf.range(tf.size(ids)):
        rows = rows * .5 + tf.gather(table, ids[i])
    return rows
module = library(look_up_in_turn, tf.TensorSpec([None, 6], tf.float32, "table"), tf.TensorSpec([6], tf.int32, "ids"),
                 name="look_up_in_turn")
in_turn = []
for third in (3, 5):
    ids = np.array([4, 0, third, 1, 2, 3], np.int32)
    for threads in (1, 2):
        try:
            in_turn.append(close(*module.run(table=x, ids=ids, threads=threads).values(), look_up_in_turn(x, ids)))
        except module.Error as error:
            in_turn.append(error.code & 0xff)

# Tensors from outside are no arguments: Keras's Normalization has its statistics so, in EfficientNet for one.
mean, flip = tf.constant(normal(6)), tf.constant(True)
@tf.function
def centre(x):
    return tf.where(flip, x - mean, mean - x)
module = library(centre, tf.TensorSpec([None, 6], tf.float32, "x"), name="centre", sizes={"x": ("rows", 6)})
captured = close(*module.run(x=x).values(), centre(x))

weight, step = tf.Variable(normal(6, 3), name="weight"), tf.Variable(0, name="steps")
@tf.function
def train(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ weight - y) ** 2)
    weight.assign_sub(.1 * tape.gradient(loss, weight))
    step.assign_add(1)
    return loss
y = normal(5, 3)
module = library(train, tf.TensorSpec([None, 6], tf.float32, "x"), tf.TensorSpec([None, 3], tf.float32, "y"), name="train",
                 sizes={"x": ("n", 6), "y": ("n", 3)})
state = {name: v.numpy().copy() if v.shape.rank else np.array(v.numpy())
         for name, _, dims in module.STATE for v in [weight if dims else step]}
losses = []
for _ in range(4):
    [loss] = module.run(x=x, y=y, **state).values()
    losses.append(close(loss, train(x, y)))
after = [close(state[name], (weight if dims else step).numpy()) for name, _, dims in module.STATE]

tf.keras.utils.set_random_seed(1)
network = tf.keras.applications.MobileNetV2(weights=None, alpha=.35, input_shape=(96, 96, 3), classes=10)
module = library(lambda x: network(x, training=False), tf.TensorSpec([None, 96, 96, 3], tf.float32, "x"), name="network",
                 sizes={"x": ("n", 96, 96, 3)}, cpu="x86-64-v3,native")
images = normal(3, 96, 96, 3)
network_is_close = [close(*module.run(x=images[:n], threads=n).values(), network(images[:n], training=False))
                    for n in (1, 2, 3)]

class Scorer(tf.Module):
    def __init__(self):
        self.weight = tf.Variable(normal(6, 2))
    @tf.function(input_signature=[tf.TensorSpec([None, 6], tf.float32, "rows")])
    def score(self, rows):
        return {"logits": rows @ self.weight, "best": tf.reduce_max(rows @ self.weight, axis=1)}
scorer = Scorer()
tf.saved_model.save(scorer, f"{folder}/scorer", signatures={"score": scorer.score})
from tektite import _aot_command
command = [f"{folder}/scorer", "--out", folder, "--python", "--input", "rows=[n,6]"]
codes = [_aot_command.main(command), _aot_command.main([*command, "--typical", "n"])]
spec = importlib.util.spec_from_file_location("scorer", f"{folder}/scorer.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
want = scorer.score(x)
signature = [close(value, want[key].numpy()) for key, value in module.run(rows=x).items()]

try:
    library(lambda x: tf.strings.length(x), tf.TensorSpec([4], tf.string, "x"), name="texts")
    text = ""
except ValueError as error:
    text = str(error)
report(turns=turns, branches=branches, switches=switches, random=random, checked=checked, captured=captured,
       out_of_range=out_of_range, in_turn=in_turn, losses=losses, after=after, network=network_is_close, text=text,
       codes=codes, signature=signature)
"""


KERNELS = "import subprocess" + LIBRARIES + """
@tf.function
def kernels(x, mask):
    values, places = tf.math.top_k(x, 3)
    factor = tf.linalg.cholesky(tf.matmul(x, x, transpose_b=True) + 9 * tf.eye(tf.shape(x)[0]))
    return {"ascending": tf.sort(x, axis=1), "values": values, "places": places, "factor": factor,
            "spectrum": tf.abs(tf.signal.rfft(x)), "rows": tf.boolean_mask(x, mask),
            "along_n": tf.sort(x, axis=0, direction="DESCENDING"), "order_of_equals": tf.argsort(tf.round(x), axis=0)}
wants, archives = kernels(x, np.array([1, 0, 1, 1, 0], bool)), []
for rows in (5, None):
    module = library(kernels, tf.TensorSpec([rows, 6], tf.float32, "x"), tf.TensorSpec([rows], tf.bool, "mask"),
                     name=f"kernels_{rows or 'n'}", sizes={} if rows else {"x": ("n", 6), "mask": ("n",)}, test=True)
    program = pathlib.Path(folder, f"kernels_{rows or 'n'}_test.c")
    command = next(line for line in program.read_text().splitlines() if " cc " in line).strip(" */")
    said = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    got = module.run(x=x, mask=np.array([1, 0, 1, 1, 0], bool), threads=2)
    count = int(got.pop("rows_rows"))
    got["rows"] = got["rows"][:count]
    archives.append({key: close(got[key], want.numpy()) for key, want in wants.items()} | {"rows counted": count == 3})
    archives[-1]["its own test"] = said.returncode == 0 and said.stdout == said.stdout.replace("WRONG", "") != ""
report(archives=archives)
"""

SAME_BITS = "import sys; sys.path.insert(0, ROOT)" + LIBRARIES + """
from bench.models.language import bert
same = {}
tf.keras.utils.set_random_seed(2)
for name, model, x in [
        ("mobile", tf.keras.applications.MobileNetV2(weights=None, alpha=.35, input_shape=(96, 96, 3), classes=10), normal(1, 96, 96, 3)),
        ("residual", tf.keras.applications.ResNet50(weights=None, input_shape=(32, 32, 3), classes=10), normal(1, 32, 32, 3)),
        ("bert", bert(2, 128, 4, 32), np.arange(32, dtype=np.int32)[None]),
        ("lstm", tf.keras.Sequential([tf.keras.layers.LSTM(256)]), normal(1, 12, 64)),
        ("conv_lstm", tf.keras.Sequential([tf.keras.layers.ConvLSTM2D(16, 3, padding="same")]), normal(2, 5, 16, 16, 4)),
        ("two_ways", tf.keras.Sequential([tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(96))]), normal(9, 12, 64))]:
    model(x)
    for i, variable in enumerate(model.variables):  # batch normalizations that do something
        if len(variable.shape) == 1:
            variable.assign(np.random.default_rng(i).uniform(.5, 1.5, variable.shape))
    function = tf.function(lambda x: model(x, training=False), input_signature=[tf.TensorSpec(x.shape, x.dtype, "x")])
    constant = tf.constant(x)
    jit = [[np.asarray(y).tobytes() for y in tf.nest.flatten(function(constant))] for _ in range(3)]
    module = library(function, *function.input_signature, name=name)
    same[name] = [[y.tobytes() for y in module.run(x=x, threads=threads).values()] == jit[-1] for threads in (1, 2, 3)]
    same[name].append(len(module.RESULTS) == len(jit[-1]) and np.isfinite(np.frombuffer(jit[-1][0], np.float32)).all())
report(same=same)
"""


@pytest.mark.slow
def test_libraries_of_models_give_the_jits_bits(run_program):
    """They were others once: TensorFlow rewrites a graph before the JIT sees it, and variables were folded as constants."""
    root = f"ROOT = {str(Path(__file__).resolve().parents[3])!r}\n"
    result = run_program(root + SAME_BITS, tektite="1", TEKTITE_FLAGS="--tuning=off")
    assert result.host["runs"] >= 18, result.host
    assert len(result.values["same"]) == 6 and all(all(same) for same in result.values["same"].values()), result.values["same"]


@pytest.mark.slow
def test_libraries_of_functions_do_what_tensorflow_does(run_program):
    values = run_program(PROGRAM, tektite="0").values
    assert all(values["turns"].values()), values["turns"]
    assert all(values["branches"]) and all(values["switches"]), (values["branches"], values["switches"])
    assert values["random"] and values["checked"] and values["captured"]
    assert values["out_of_range"] == 4  # TEKTITE_AOT_CHECK_FAILED
    assert values["in_turn"] == [True, True, 4, 4]
    assert all(values["network"])
    assert values["codes"] == [0, 1] and values["signature"] == [True, True]
    assert all(values["losses"]) and values["after"] == [True, True]
    assert "type" in values["text"] or "string" in values["text"].lower()


@pytest.mark.slow
def test_kernels_that_are_compiled_with_tektite_do_what_tensorflow_does(run_program):
    """Of fixed and of open sizes; the second archive is linked. A test compared rows that do not count, too."""
    for archive in run_program(KERNELS, tektite="0").values["archives"]:
        assert len(archive) == 10 and all(archive.values()), archive
