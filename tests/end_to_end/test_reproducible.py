"""One side from the first call to the last: with TensorFlow's switch for deterministic ops, whenever it is turned on,
and with --reproducible.  All else is as users have it: compiling in the background, the comparison, code for hot
shapes."""

import pytest

ASYNC = "--compile=async --compare=true --hot_calls=20 --min_cluster_cost=20000"

FIT = """
import zlib
x, y = normal(250, 12, 12, 3), rng.integers(0, 10, 250)

def make_model():
    keras = tf.keras
    model = keras.Sequential([keras.layers.Conv2D(8, 3, activation="relu"), keras.layers.MaxPooling2D(),
                              keras.layers.Flatten(), keras.layers.Dense(64, "gelu"),
                              keras.layers.BatchNormalization(), keras.layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

def fit(model=None):
    tf.keras.utils.set_random_seed(1)
    # The last batch is smaller than the batches before.
    history = (model or make_model()).fit(x, y, epochs=3, batch_size=32, verbose=0, validation_data=(x[:50], y[:50]))
    return [loss.hex() for loss in history.history["loss"] + history.history["val_loss"]]
"""


def test_four_times_fit_with_deterministic_ops(run_pair):
    """Code that appeared in the middle of a run, and comparisons, gave four histories."""
    plain, compiled = run_pair(FIT + """
tf.config.experimental.enable_op_determinism()
report(histories=[fit() for _ in range(4)])
""", TEKTITE_FLAGS=ASYNC + " --cache_dir=off")
    for result in (plain, compiled):
        assert result.values["histories"] == [result.values["histories"][0]] * 4
    assert compiled.stats["runs"] > 0 and compiled.stats["fallbacks"] == {}, compiled.stats["fallbacks"]
    assert compiled.host["fallbacks"] == {}, compiled.host["fallbacks"]


def test_turned_on_in_the_middle(run_program):
    """It had no effect on a cluster that had run before."""
    result = run_program(FIT + """
model = make_model()
fit(model)
weights = [v.numpy() for v in model.variables + model.optimizer.variables]
def again():
    for variable, value in zip(model.variables + model.optimizer.variables, weights):
        variable.assign(value)
    return fit(model)
before = [again() for _ in range(2)]
tf.config.experimental.enable_op_determinism()
report(histories=[again() for _ in range(4)])
""", tektite="1", TEKTITE_FLAGS=ASYNC + " --cache_dir=off")
    assert result.values["histories"] == [result.values["histories"][0]] * 4


def test_a_direct_call_notices_too(run_program):
    """They do not ask TensorFlow each time."""
    result = run_program("""
w = tf.Variable(normal(24, 16))
f = tf.function(lambda x: tf.nn.softmax(tf.matmul(x, w)) + 1.0)
x = tf.constant(normal(8, 24))
for _ in range(30): f(x)
def seen():
    stats = tektite.stats()
    return [stats["compiles"], stats["host"]["direct_runs"]]
before = seen()
tf.config.experimental.enable_op_determinism()
f(x)
report(more=[b - a for a, b in zip(before, seen())])
""", tektite="1", TEKTITE_FLAGS="--cache_dir=off")
    assert result.values["more"] == [1, 1]  # code that no earlier call has decided on


MANY = """
w = tf.Variable(normal(300, 40))
@tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
def f(x):
    y = tf.nn.softmax(tf.matmul(tf.nn.gelu(x), w))
    return tf.reduce_mean(tf.exp(x), axis=0), tf.reduce_sum(y, axis=1), y
xs = [tf.constant(normal(n, 300)) for n in (64, 7, 1, 129, 64, 33, 1000)]
def bits(x):
    return [zlib.crc32(t.numpy().tobytes()) for t in f(x)]
import zlib
"""


@pytest.mark.parametrize("flags", ["", " --tuning=auto", " --tier=generic"])
def test_the_flag_makes_bits_independent_of_what_came_before(run_program, tmp_path, flags):
    """Of the calls before in this process, and of what an earlier one has left on disk."""
    first = run_program(MANY + "bits(xs[0])\nreport(y=[bits(x) for x in xs for _ in range(30)][::30])", tektite="1",
                        TEKTITE_FLAGS=f"{ASYNC} --reproducible --cache_dir={tmp_path}{flags}")
    # Fills the cache with code made and measured in other ways.
    run_program(MANY + "report(y=[bits(x) for x in xs for _ in range(30)][::30])", tektite="1",
                TEKTITE_FLAGS=f"{ASYNC} --compile=sync --cache_dir={tmp_path} --tuning=auto")
    second = run_program(MANY + "report(y=[bits(x) for x in reversed(xs)][::-1], more=[bits(x) for x in xs])",
                         tektite="1", TEKTITE_FLAGS=f"{ASYNC} --reproducible --cache_dir={tmp_path}{flags}")
    assert first.lines() == []
    assert first.values["y"] == second.values["y"] == second.values["more"]
    for result in (first, second):
        assert result.host["fallbacks"] == {} and result.stats["fallbacks"] == {}
        assert result.stats["comparison"]["compiled"] == 0


def test_threads_get_the_same_bits(run_program):
    result = run_program(MANY + """
seen = [set() for _ in xs]
def work(number):
    for i in range(40):
        k = (number * 3 + i) % len(xs)
        seen[k].add(tuple(bits(xs[k])))
threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
for t in threads: t.start()
for t in threads: t.join()
report(answers=[len(s) for s in seen])
""", tektite="1", TEKTITE_FLAGS=ASYNC + " --reproducible --cache_dir=off")
    assert result.values["answers"] == [1] * 7
