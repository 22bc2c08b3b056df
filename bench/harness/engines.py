"""The engines that can run a workload.  A rival is a row here, and a module with a `make_runner` where
none of those there are runs it.

An engine always gets a process of its own, since its environment must be set before it is imported.
Every engine computes in the precision of the workload: where one would take bfloat16 for float32 when
the processor has it, its row or runner says no. Those with `low_precision` may, and run only when they are named.
"""
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INFERENCE = frozenset({"infer", "dynamic", "function", "session"})
EVERY_KIND = INFERENCE | {"train"}


@dataclass(frozen=True)
class Engine:
    name: str
    label: str
    environment: dict[str, str] = field(default_factory=dict)  # {threads} stands for their number
    runner: str = "tensorflow_runner"   # module of bench/harness
    family: str = ""           # its Python under build/rivals (bench/setup_rivals); empty: the project's
    jit_compile: bool = False  # tf.function(jit_compile=True): XLA
    reads: str = ""            # a file that the workload is written to first: "onnx", "tflite"
    warm_seconds: float = 1.0  # how long it runs before its time counts: more, if it compiles meanwhile
    rival: bool = False        # runs only with --rivals
    low_precision: bool = False  # computes float32 in bfloat16 where that is faster
    kinds: frozenset[str] = EVERY_KIND  # of workloads that it can run


STOCK, TEKTITE = "tf", "tektite"
ENGINES = {e.name: e for e in [
    Engine(STOCK, "plain TensorFlow", {"TEKTITE": "0"}),
    Engine(TEKTITE, "Tektite", {"TEKTITE": "1"}, warm_seconds=3.0),
    Engine("xla", "XLA (jit_compile)", {"TEKTITE": "0"}, jit_compile=True, rival=True),
    Engine("jax", "Keras on JAX", {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu",
                                   "JAX_DEFAULT_MATMUL_PRECISION": "float32"},
           runner="jax_runner", family="jax", rival=True),
    Engine("onnxruntime", "ONNX Runtime", {"OMP_NUM_THREADS": "{threads}"}, runner="onnxruntime_runner",
           family="onnx", reads="onnx", rival=True, kinds=INFERENCE),
    Engine("openvino", "OpenVINO", runner="openvino_runner", family="onnx", reads="onnx", rival=True,
           kinds=INFERENCE),
    Engine("tektite_bf16", "Tektite, bf16", {"TEKTITE": "1", "TEKTITE_FLAGS": "--f32_products=bf16"}, warm_seconds=3.0,
           rival=True, low_precision=True),
    Engine("tektite_bf16_stored", "Tektite, bf16 stored", {"TEKTITE": "1", "TEKTITE_FLAGS": "--f32_products=bf16_stored"}, warm_seconds=3.0,
           rival=True, low_precision=True),
    Engine("tektite_bf16x3", "Tektite, bf16x3", {"TEKTITE": "1", "TEKTITE_FLAGS": "--f32_products=bf16x3"}, warm_seconds=3.0,
           rival=True, low_precision=True),
    Engine("openvino_bf16", "OpenVINO, bf16", runner="openvino_runner", family="onnx", reads="onnx", rival=True,
           low_precision=True, kinds=INFERENCE),
    Engine("litert", "LiteRT", runner="litert_runner", family="litert", reads="tflite", rival=True, kinds=INFERENCE),
    Engine("litert_int8", "LiteRT, int8", runner="litert_runner", family="litert", reads="tflite", rival=True, low_precision=True,
           kinds=INFERENCE),
    Engine("zentf", "zentf (AMD)", {"TF_ENABLE_ZENDNN_OPTS": "1", "TF_ENABLE_ONEDNN_OPTS": "0",
                                    "OMP_NUM_THREADS": "{threads}"}, family="zentf", rival=True),
]}
RIVALS = {name: engine for name, engine in ENGINES.items() if engine.rival and not engine.low_precision}
# Whatever starts with one of these would steer an engine by accident.
STEERING = ("TF_", "XLA_", "JAX_", "KERAS_", "OMP_", "KMP_", "GOMP_", "ONEDNN_", "DNNL_",
            "ZENDNN_", "OV_", "PYTHONPATH")


def default_python() -> str:
    """The project's environment if there is one, else the interpreter that runs this."""
    python = ROOT / "build" / "venv" / "bin" / "python"
    return str(python) if python.exists() else sys.executable


def python_of(engine: Engine, project_python: str) -> str:
    if not engine.family:
        return project_python
    return str(ROOT / "build" / "rivals" / engine.family / "bin" / "python")


def environment(engine: Engine, threads: int, extra: dict[str, str] | None = None) -> dict[str, str]:
    """This process's environment without anything that would steer an engine by accident."""
    kept = {k: v for k, v in os.environ.items() if k != "TEKTITE" and not k.startswith(STEERING)}
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
    own = {k: v.format(threads=threads) for k, v in engine.environment.items()}
    return {**kept, **quiet, **own, **(extra or {})}
