"""`tektite quantize` and `tektite.quantize` on the handwritten digits that come with scikit-learn: a small network of
convolutions keeps its top-1, TensorFlow alone runs the result, and Tektite multiplies bytes for it."""

import json

import numpy as np
import pytest

from tests.conftest import run


# Of the package only this file is read; its rows are 64 grey values from 0 to 16 and the digit.
TRAIN = """
import gzip, importlib.util
import keras
folder = importlib.util.find_spec("sklearn").submodule_search_locations[0]
with gzip.open(folder + "/datasets/data/digits.csv.gz") as file:
    rows = np.loadtxt(file, delimiter=",", dtype=np.float32)
x, y = rows[:, :-1].reshape(-1, 8, 8, 1) / 16, rows[:, -1].astype(np.int32)
unseen = len(x) // 3
keras.utils.set_random_seed(3)

def block(h, features, strides=1, padding="same"):
    h = keras.layers.Conv2D(features, 3, strides, padding=padding, use_bias=False)(h)
    return keras.layers.ReLU()(keras.layers.BatchNormalization(momentum=0.8)(h))

image = keras.Input([8, 8, 1])
h = block(image, 16)
h = keras.layers.Add()([block(h, 16), h])
h = keras.layers.DepthwiseConv2D(3, padding="same", use_bias=False)(h)
h = keras.layers.ReLU(6.0)(keras.layers.BatchNormalization(momentum=0.8)(h))
h = keras.layers.ZeroPadding2D(((0, 1), (0, 1)))(h)
h = keras.layers.Flatten()(block(h, 32, 2, "valid"))
model = keras.Model(image, keras.layers.Dense(10)(h))
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x[unseen:], y[unseen:], batch_size=32, epochs=6, verbose=0)
model.export(r"FOLDER/model", verbose=False)
np.save(r"FOLDER/seen.npy", x[unseen:unseen + 256])
np.save(r"FOLDER/unseen.npy", x[:unseen])
np.save(r"FOLDER/digits.npy", y[:unseen])
report(done=1)
"""

TOP_1 = """
f = tf.saved_model.load(r"MODEL").signatures["serving_default"]
x = tf.constant(np.load(r"FOLDER/unseen.npy"))
for _ in range(3):
    logits = f(x)["output_0"].numpy()
report(top_1=float(np.mean(logits.argmax(1) == np.load(r"FOLDER/digits.npy"))), logits=logits)
"""


COMMANDS = """
import contextlib, io
from tektite import _command
answers = []
for words in json.loads(WORDS):
    out, errors = io.StringIO(), io.StringIO()
    sys.argv = ["tektite", "quantize", *words]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = _command.main()
    answers.append([code, out.getvalue(), errors.getvalue()])
report(answers=answers)
"""


def commands(*calls):
    """Exit code, output and errors of each."""
    words = json.dumps([list(map(str, call)) for call in calls])
    return run(COMMANDS.replace("WORDS", repr(words)), tektite="0").values["answers"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    run(TRAIN.replace("FOLDER", str(folder)), tektite="0")
    return folder


@pytest.fixture(scope="module")
def answers(folder):
    model, data = folder / "model", ("--data", folder / "seen.npy")
    return commands((model, folder / "int8", *data, "--batch", 64, "--json", "--html", folder / "report.html"),
                    (model, folder / "strict", *data, "--error", 1e-9),
                    (model, folder / "some", *data, "--json", "--method", "minmax", "--error", 0.004))


def test_digits_keep_their_class(folder, answers, run_program):
    answer = json.loads(answers[0][1])
    assert answer["share"] == 1 and len(answer["layers"]) == 5 and 0 < answer["error"] < 0.05
    assert all(0 < layer["error"] < 0.05 and layer["low"] == 0 < layer["high"] for layer in answer["layers"])
    programs = {name: TOP_1.replace("MODEL", str(folder / name)).replace("FOLDER", str(folder)) for name in ("model", "int8")}
    plain = run_program(programs["model"], tektite="0").values
    in_floats = run_program(programs["int8"], tektite="0").values
    in_bytes = run_program(programs["int8"], tektite="1")
    rounded = run_program(programs["model"], tektite="1", TEKTITE_FLAGS="--f32_products=bf16").values
    assert plain["top_1"] > 0.9
    for other in (in_floats, in_bytes.values, rounded):
        assert abs(other["top_1"] - plain["top_1"]) <= 0.005
    assert in_bytes.stats["byte_products"] >= 4  # all but the first, of one channel
    # Equal but for sums that rounding puts on the other side of half a step.
    apart = np.abs(np.array(in_bytes.values["logits"]) - in_floats["logits"])
    assert np.mean(apart) < 2e-3 * np.abs(in_floats["logits"]).max()
    page = (folder / "report.html").read_text()
    assert page.count('<div id="chart') == 1 + len(answer["layers"]) and "of multiplications" in page


def test_layers_that_hurt_stay_in_floats(answers):
    assert "0 of 5 layers in int8, 0 % of multiplications; error of the results 0.0000" in answers[1][1]
    some = json.loads(answers[2][1])
    assert some["error"] <= 0.004
    kept = [layer["error"] for layer in some["layers"] if layer["quantized"]]
    left = [layer["error"] for layer in some["layers"] if not layer["quantized"]]
    assert left and (not kept or max(kept) <= min(left))


# The argument itself is what the first layer reads, and what is rounded.
BARE = """
module = tf.Module()
module.w = tf.Variable(normal(8, 4))
@tf.function(input_signature=[tf.TensorSpec([None, 8], name="x")])
def serve(x):
    return {"y": x @ module.w, "same": x}
module.serve = serve
tf.saved_model.save(module, r"FOLDER/bare")
x = normal(16, 8)
with contextlib.redirect_stdout(io.StringIO()):
    done = tektite.quantize(r"FOLDER/bare", [x], r"FOLDER/bytes", error=1.0)
results = tf.saved_model.load(r"FOLDER/bytes").signatures["serving_default"](x=tf.constant(x))
report(layers=len(done.layers), y=results["y"].numpy(), right=np.asarray(x @ module.w.numpy()),
       same=bool(np.array_equal(results["same"].numpy(), x)))
"""


def test_a_layer_reads_the_argument(tmp_path, run_program):
    program = "import contextlib, io\nimport tektite\n" + BARE.replace("FOLDER", str(tmp_path))
    values = run_program(program, tektite="0").values
    assert values["layers"] == 1 and values["same"]
    right = np.array(values["right"])
    assert 0 < np.abs(np.array(values["y"]) - right).max() < 0.05 * np.abs(right).max()


def test_wrong_arguments_are_one_line(folder, tmp_path):
    script = tmp_path / "data.py"
    script.write_text("def batches():\n    yield {'wrong': 1}\n")
    empty = tmp_path / "empty.npy"
    np.save(empty, np.zeros([0, 8, 8, 1], np.float32))
    infinite = tmp_path / "infinite.npy"
    np.save(infinite, np.full([4, 8, 8, 1], np.inf, np.float32))
    model, out = folder / "model", tmp_path / "out"
    cases = [((tmp_path / "none", out, "--data", empty), "this is no SavedModel"),
             ((model, folder / "model", "--data", folder / "seen.npy"), "is there already"),
             ((model, out, "--data", empty), "at least one"),
             ((model, out, "--data", script), "a batch must have the inputs"),
             ((model, out, "--data", infinite), "is not finite on the calibration data"),
             ((model, out, "--data", tmp_path / "data.txt"), "is no .npy, .npz or .py"),
             ((model, out, "--data", folder / "seen.npy", "--batch", 0), "is no number of examples")]
    for (_, message), (code, out, errors) in zip(cases, commands(*(words for words, _ in cases)), strict=True):
        lines = [line for line in errors.splitlines() if line.startswith("tektite:")]
        assert code == 1 and not out and len(lines) == 1 and message in lines[0], errors
