"""The rivals of `tektite bench`, each by a stand-in of its package: what it is given of a model, and what it is called with."""
import json
import os
import subprocess
import sys

import pytest

MAKE = """
import sys
import tensorflow as tf

class Model(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.ones([6, 5]))

    @tf.function(input_signature=[tf.TensorSpec([None, 6], tf.float32, "x"), tf.TensorSpec([None, 6], tf.float32, "text")])
    def __call__(self, x, text):
        return {"y": (x + text) @ self.w}

model = Model()
tf.saved_model.save(model, sys.argv[1] + "/model", signatures=model.__call__)
tf.saved_model.save(model, sys.argv[1] + "/named", signatures={"score": model.__call__})
tf.keras.Sequential([tf.keras.Input((6,), name="x"), tf.keras.layers.Dense(2)]).save(sys.argv[1] + "/net.keras")
"""
OPENVINO = """
import os
class Port:
    def __init__(self, name): self.name = name
    def get_any_name(self): return self.name
    def get_names(self): return {self.name}
class Request:
    def infer(self, feed, share_inputs, share_outputs):
        for name, x in feed.items():
            assert x.shape == (1, 6), (name, x.shape)
        # An input whose name is part of another's was given that one's array.
        if len(feed) == 2:
            assert abs(feed["serving_default_x:0"] - feed["serving_default_text:0"]).max() > 0.1
class Compiled:
    def __init__(self, folder):
        # Exported by Keras or saved by the test.
        self.inputs = [Port(f"serving_default_{name}:0") for name in (["text", "x"] if folder.endswith("/model") else ["x"])]
    def create_infer_request(self): return Request()
class Core:
    def read_model(self, folder):
        assert os.path.exists(os.path.join(folder, "saved_model.pb"))
        return folder
    def compile_model(self, folder, device, settings):
        assert device == "CPU" and settings["INFERENCE_PRECISION_HINT"] == "f32" and settings["INFERENCE_NUM_THREADS"] == 1
        return Compiled(folder)
"""
ONNXRUNTIME = """
class SessionOptions: pass
class InferenceSession:
    def __init__(self, content, settings, providers):
        assert content.startswith(b"proto of ") and settings.intra_op_num_threads == 1
        self.names = content.decode().split(" of ")[1].split(",")
    def run(self, outputs, feed):
        assert outputs is None and [*feed] == self.names and {x.shape for x in feed.values()} == {(1, 6)}
"""
CONVERT = """
def from_function(function, input_signature):
    # Its variables were gone.
    concrete = function.get_concrete_function(*input_signature)
    assert concrete.variables or concrete.captured_inputs
    class Proto:
        def SerializeToString(self): return ("proto of " + ",".join(s.name for s in input_signature)).encode()
    return Proto(), None
"""
INTERPRETER = """
import os
class Interpreter:
    def __init__(self, file, num_threads):
        assert os.path.getsize(file) > 100 and num_threads == 1
    def get_signature_runner(self, key):
        assert key in ("serving_default", "score")
        def run(**feed):
            assert {x.shape for x in feed.values()} == {(1, 6)}
        return run
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rivals")
    subprocess.run([sys.executable, "-c", MAKE, str(folder)], check=True, capture_output=True, timeout=300,
                   env={**os.environ, "TEKTITE": "0", "TF_CPP_MIN_LOG_LEVEL": "3"})
    for module, text in {"openvino": OPENVINO, "onnxruntime": ONNXRUNTIME, "tf2onnx/__init__": "", "tf2onnx/convert": CONVERT,
                         "ai_edge_litert/__init__": "", "ai_edge_litert/interpreter": INTERPRETER}.items():
        file = folder / "modules" / f"{module}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def rows(made, model):
    env = {**os.environ, "PYTHONPATH": f"{made / 'modules'}:{os.environ.get('PYTHONPATH', '')}", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-m", "tektite", "bench", str(made / model), "--json", "--threads", "1", "--seconds",
                           "0.01", "--warmup", "0", "--engines", "openvino,onnxruntime,litert"], text=True, capture_output=True,
                          timeout=300, env=env)
    assert done.returncode == 0, done.stderr
    return {row["engine"]: row for row in json.loads(done.stdout)["rows"]}


def test_each_gets_the_model_and_its_inputs(made):
    for name, row in rows(made, "model").items():
        assert "error" not in row and row["calls"] >= 40, (name, row)
        assert row["inputs"] == {"text": "float32[1,6]", "x": "float32[1,6]"}


@pytest.mark.slow
def test_a_model_whose_signature_has_another_name(made):
    """All but TensorFlow ended with KeyError: 'serving_default'."""
    found = rows(made, "named")
    assert found["openvino"]["error"] == "ValueError: OpenVINO reads the signature serving_default alone"
    assert "error" not in found["onnxruntime"] and "error" not in found["litert"], found


@pytest.mark.slow
def test_a_file_of_keras(made):
    """They read SavedModels alone."""
    for name, row in rows(made, "net.keras").items():
        assert "error" not in row, (name, row)


def test_an_input_that_the_signature_lacks():
    from tektite import _bench_engines
    assert _bench_engines.input_of(["a", "serving_default_x:0"], ["text", "x"], "serving_default") == "x"
    with pytest.raises(ValueError, match="no input of the signature is called y"):
        _bench_engines.input_of(["y"], ["text", "x"], "serving_default")


def test_an_error_in_user_code_is_what_is_wrong():
    """It was `AssertionError: in user code:`."""
    from tektite import _models
    error = AssertionError("in user code:\n\n    File \"a.py\", line 3\n\n    AssertionError: the variable is gone\n")
    assert _models.in_a_line(error) == "AssertionError: AssertionError: the variable is gone"
    assert _models.in_a_line(ValueError("no\nmore")) == "ValueError: no"
