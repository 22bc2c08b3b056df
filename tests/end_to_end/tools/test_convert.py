"""`tektite convert`: a SavedModel that carries its code, and a server that has nothing else."""
import json
import os
import subprocess
import sys

import pytest

from test_profile import command

# Two results, one of integers; large enough for a cluster.
MAKE = """
import sys
import tensorflow as tf
tf.keras.utils.set_random_seed(1)
layers = [tf.keras.layers.Dense(256, activation="gelu") for _ in range(3)]
network = tf.keras.Sequential([tf.keras.Input((128,)), *layers, tf.keras.layers.Dense(9, activation="softmax")])
@tf.function(input_signature=[tf.TensorSpec([None, 128], tf.float32, "x")])
def classify(x):
    scores = network(x, training=False)
    return {"scores": scores, "best": tf.argmax(scores, axis=1)}
network.classify = classify
tf.saved_model.save(network, sys.argv[1], signatures={"classify": classify})
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "classifier"
    subprocess.run([sys.executable, "-c", MAKE, str(folder)], check=True, capture_output=True,
                   env={**os.environ, "TEKTITE": "0", "TF_CPP_MIN_LOG_LEVEL": "3"})
    return folder


@pytest.mark.slow
def test_a_converted_model_is_served_without_compiling(saved, tmp_path):
    out, key = tmp_path / "served", tmp_path / "key"
    said = json.loads(command("convert", saved, out, "--batch", "1,4", "--calls", 6, "--json",
                              flags="--compare=false --hot_calls=3").stdout)
    assert [row["batch"] for row in said["rows"]] == [1, 4]
    assert said["compiled_while_made"] >= 1 and said["loaded"] >= 1 and said["compiled"] == 0
    assert said["apart"] < 2e-5 and said["pack_bytes"] > 1000
    for path in saved.rglob("*"):  # the functions and the variables are the original's
        assert path.is_dir() or (out / path.relative_to(saved)).read_bytes() == path.read_bytes()

    command("convert", saved, out, code=1)  # there is one already
    missing = command("convert", saved, tmp_path / "signed", "--sign", key, "--calls", 2, code=1)
    assert str(key) in missing.stderr and "Traceback" not in missing.stderr


def test_what_is_no_saved_model_is_refused(saved, tmp_path):
    (tmp_path / "model").mkdir()
    for words, said in ((("model", "out"), "this is no SavedModel"), ((saved, "out", "--batch", "1,x"), "--batch '1,x'")):
        refused = command("convert", *(tmp_path / word if word in ("model", "out") else word for word in words), code=1)
        assert said in refused.stderr and len(refused.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
