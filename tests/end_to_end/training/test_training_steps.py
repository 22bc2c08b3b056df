"""How much of the training steps that people write is compiled, and in how many pieces: counted at run time, where each
step runs once, and compared with what tektite.explain says of it. Results are compared by bench/compare and by
test_loop_zoo.py."""
from pathlib import Path

import pytest

from bench.models import WORKLOADS
from bench.training_scripts import SCRIPTS
from tests.conftest import run
from tests.shared_results import once

# Steps whose ops others have: those of half precision all but one, transformer_train's, and those of resnet20 and of
# resnext_train. Tracing a step takes seconds.
LIKE_OTHERS = ("encoder_bf16_train", "encoder_f16_train", "encoder_f32_train", "network_f16_train", "network_f32_train",
               "resnet50_train")
TRAINED = [name for name, w in WORKLOADS.items() if w.kind == "train" and name not in LIKE_OTHERS]
ROOT = Path(__file__).resolve().parents[3]

# All cases in one process, which compiles nothing.  A script's first step ends it; loops of its own run for an epoch.
PROGRAM = """
sys.path.insert(0, ROOT)
import keras
from bench.models import WORKLOADS
from bench.training_scripts import SCRIPTS

def counted():
    s = tektite.stats()
    small = s.get("left_out", {}).get("TOO_SMALL", {}).get("ops", 0)  # initial values of metrics
    return np.array([s.get("ops", 0) - small, s.get("clustered_ops", 0), s["host"].get("clusters_placed", 0)])

class Enough(Exception):
    pass

class OneStep(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        self.before = counted()
    def on_train_batch_end(self, batch, logs=None):
        step = counted() - self.before
        said = tektite.explain(self.model.train_function)  # a plain function around the one that was traced
        case.update(step=step, said=[said.ops, said.clustered, len(said.clusters)])
        raise Enough

def workload(name):
    w = WORKLOADS[name]
    model = w.build()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    x, y = keras.tree.map_structure(lambda a: a[:2], w.inputs())  # TensorFlow's convolutions of groups take 20 s of 16 images
    model.fit(x, y, batch_size=len(x), epochs=1, verbose=0, callbacks=[OneStep()])

every = {}
for name in NAMES:
    case = every[name] = {}
    keras.utils.clear_session()
    before = counted()
    try:
        workload(name) if name.endswith("_train") else SCRIPTS[name](epochs=1, callbacks=[OneStep()])
    except Enough:
        pass
    except Exception as error:
        case["error"] = repr(error)
    case.setdefault("step", counted() - before)
report(**every)
"""


@pytest.fixture
def counts(tmp_path_factory):
    text = f"ROOT, NAMES = {str(ROOT)!r}, {[*TRAINED, *SCRIPTS]!r}\n{PROGRAM}"
    flags = "--min_cluster_cost=20000 --compile=async --compile_after_percent=1000000"
    return once(tmp_path_factory, "steps", lambda: run(text, tektite="1", timeout=600, TEKTITE_FLAGS=flags).values)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TRAINED, *SCRIPTS])
def test_a_step_is_compiled_whole(counts, name):
    case = counts[name]
    assert "error" not in case, case
    ops, clustered, clusters = case["step"]
    assert clustered >= 0.95 * ops and clusters <= 3, case
    if "said" in case:
        said_ops, said_clustered, said_clusters = case["said"]
        assert said_clustered >= 0.95 * said_ops and said_clusters == clusters, case
