"""bench/compare, and a model with published weights: slow, since each starts processes."""
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.harness.engines import ENGINES, STOCK
from bench.harness.process import Task, Worker, WorkerFailed
from bench.models import WORKLOADS

ROOT = Path(__file__).resolve().parents[2]


def compare(*options):
    return subprocess.run([sys.executable, ROOT / "bench" / "compare", *options], text=True, capture_output=True)


def test_workloads_have_names_kinds_and_what_their_kind_needs():
    for name, workload in WORKLOADS.items():
        assert workload.name == name
        assert workload.kind in ("infer", "dynamic", "function", "session", "train")
        assert (workload.function is None) != (workload.build is None)
        assert (workload.requests is not None) == (workload.kind == "dynamic")


def test_an_unknown_name_is_named():
    done = compare("--models", "bert_bass")
    assert done.returncode == 2 and "no workload 'bert_bass'; there are resnet50" in done.stderr


@pytest.mark.slow
def test_stock_tensorflow_agrees_with_itself(tmp_path):
    out = tmp_path / "out.json"
    done = compare("--models", "softmax,seed_case", "--engines", STOCK, "--repeat", "1", "--seconds", "0.1",
                   "--threads", "1", "--json", str(out))
    assert done.returncode == 0, done.stderr
    summary = json.loads(out.read_text())["summary"]
    assert [line["model"] for line in summary] == ["softmax", "seed_case"]
    for line in summary:
        assert line["difference"] == 0 and line["ratio"] == 1 and line["ms"] > 0 and line["rss_mb"] > 100


@pytest.mark.slow
def test_a_worker_that_fails_says_why():
    with pytest.raises(WorkerFailed, match="nothing_like_this"):
        Worker(Task("bench.models", "nothing_like_this", threads=1), ENGINES[STOCK])


@pytest.mark.slow
@pytest.mark.parametrize("tektite", ["0", "1"])
def test_the_sentence_encoder_gives_the_published_similarities(tektite):
    """The three sentences and cosines of the model's own documentation, with its real weights."""
    code = """
import numpy as np, tektite, tensorflow as tf
from tests.bench.sentence_encoder import sentence_encoder, tokenizer
model, vectors = sentence_encoder(), []
encode = tf.function(model)
for text in ("The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."):
    ids = np.array([tokenizer().encode(text).ids], np.int32)
    vectors.append(np.asarray(encode([ids, np.ones_like(ids)]))[0])
print(np.array(vectors) @ np.array(vectors).T, (tektite.stats() or {}).get("compiles", 0))
"""
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, cwd=ROOT,
                          env=os.environ | {"TEKTITE": tektite, "TEKTITE_FLAGS": "--compile=sync --compare=false"})
    assert done.returncode == 0, done.stderr
    *cosines, compiles = done.stdout.replace("[", " ").replace("]", " ").split()
    expected = [[1, 0.6660, 0.1046], [0.6660, 1, 0.1411], [0.1046, 0.1411, 1]]
    np.testing.assert_allclose(np.array(cosines, float).reshape(3, 3), expected, atol=1e-4)
    assert (int(compiles) > 0) == (tektite == "1")
