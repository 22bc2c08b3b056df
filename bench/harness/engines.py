"""The engines that can run a workload; a rival is a row here (and a runner, if it is no TensorFlow).

An engine always gets a process of its own, since its environment must be set before TensorFlow is
imported.  `warm_seconds` is how long it may run before its time counts: an engine that compiles
behind the first calls needs more.
"""
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Engine:
    name: str
    label: str
    environment: dict[str, str] = field(default_factory=dict)
    jit_compile: bool = False  # tf.function(jit_compile=True): XLA
    warm_seconds: float = 1.0
    rival: bool = False        # runs only with --rivals


STOCK, TEKTITE = "tf", "tektite"
ENGINES = {e.name: e for e in [
    Engine(STOCK, "plain TensorFlow", {"TEKTITE": "0"}),
    Engine(TEKTITE, "Tektite", {"TEKTITE": "1"}, warm_seconds=3.0),
    Engine("xla", "XLA (jit_compile)", {"TEKTITE": "0"}, jit_compile=True, rival=True),
]}


def default_python() -> str:
    """The project's environment if there is one, else the interpreter that runs this."""
    python = ROOT / "build" / "venv" / "bin" / "python"
    return str(python) if python.exists() else sys.executable


def environment(engine: Engine, extra: dict[str, str] | None = None) -> dict[str, str]:
    """This process's environment without anything that would steer an engine by accident."""
    kept = {k: v for k, v in os.environ.items() if k not in ("TEKTITE", "TF_XLA_FLAGS", "PYTHONPATH")}
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
    return {**kept, **quiet, **engine.environment, **(extra or {})}
