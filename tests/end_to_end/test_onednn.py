"""oneDNN beside TensorFlow's own: found, opened late, without threads."""
import importlib.util
from pathlib import Path

import pytest


MODEL = """
w = tf.Variable(normal(3, 3, 3, 32, 64) * 0.1)
@tf.function(jit_compile=None)
def f(x):
    return tf.nn.relu(tf.nn.conv3d(x, w, [1, 1, 1, 1, 1], "SAME")) + 1.0
x = tf.constant(normal(1, 6, 14, 14, 32))

def threads():
    return len(os.listdir("/proc/self/task"))
def opened():
    return "libdnnl.so.3" in open("/proc/self/maps").read()
"""


@pytest.fixture(autouse=True)
def _built_with_onednn():
    spec = importlib.util.find_spec("tektite")
    if spec is None or not (Path(spec.origin).parent / "lib/libdnnl.so.3").exists():
        pytest.skip("built without oneDNN")
    if "avx512bw" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("oneDNN is used with AVX-512 alone")


def test_is_opened_for_volumes_and_starts_no_thread(run_program):
    result = run_program(MODEL + """
at_import = opened()
f(x)  # compiled: the background's thread is there
before = threads()
tektite.wait_until_compiled()
f(x)
y = tf.nn.conv3d(x, w, [1, 1, 1, 1, 1], "SAME")
report(at_import=at_import, opened=opened(), before=before, after=threads(),
       error=float(tf.reduce_max(tf.abs(f(x) - (tf.nn.relu(y) + 1.0)))))
""", tektite="1", TEKTITE_FLAGS="--cache_dir=off")
    values = result.values
    assert not values["at_import"] and values["opened"]
    assert values["after"] <= values["before"]
    assert values["error"] < 1e-4


def test_is_not_opened_for_images(run_program):
    images = MODEL.replace("normal(3, 3, 3, 32, 64)", "normal(3, 3, 32, 64)").replace(
        "conv3d(x, w, [1, 1, 1, 1, 1]", "conv2d(x, w, [1, 1, 1, 1]").replace("normal(1, 6, 14", "normal(1, 14")
    result = run_program(images + "f(x); report(opened=opened())", tektite="1", TEKTITE_FLAGS="--cache_dir=off")
    assert result.stats["tuning"] == [] and not result.values["opened"]
