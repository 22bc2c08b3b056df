"""Speed measurements: workloads in models/, processes and arithmetic in harness/."""
import importlib.util
import os
import sys
from pathlib import Path


def use_project_python() -> None:
    """Runs the script anew with build/venv's Python where the present one has no NumPy."""
    if importlib.util.find_spec("numpy"):
        return
    python = Path(__file__).resolve().parents[1] / "build" / "venv" / "bin" / "python"
    if not python.exists() or Path(sys.executable) == python:
        sys.exit(f"bench/{Path(sys.argv[0]).name} needs NumPy and TensorFlow: run scripts/setup first")
    os.execv(python, [str(python), *sys.argv])
