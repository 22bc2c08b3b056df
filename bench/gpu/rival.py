"""One rival on the card: `rival.py torch|jax|copy EXPRESSION FOLDER` or `rival.py torch|jax model NAME` prints a line of
JSON.

The arrays x0.npy, x1.npy, ... of FOLDER lie on the card before the clock starts, and results stay there.  torch is
torch.compile with max-autotune, jax is jax.jit, both in strict single precision; copy is the card's bandwidth.
"""
import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np

ROUNDS, CALLS = 15, 10


def microseconds(run, wait) -> float:
    """Of a call, the median of rounds of calls that follow each other."""
    for _ in range(5):
        run()
    wait()
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(CALLS):
            run()
        wait()
        rounds.append((time.perf_counter() - begin) / CALLS * 1e6)
    return statistics.median(rounds)


def in_torch(array: np.ndarray):
    import torch

    if array.dtype == np.dtype("V2"):
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).cuda()
    return torch.from_numpy(array).cuda()


def in_jax(array: np.ndarray):
    import jax

    if array.dtype == np.dtype("V2"):
        return jax.device_put(array.view(np.uint16)).view(jax.numpy.bfloat16)
    return jax.device_put(array)


def with_torch(expression: str, arrays: list) -> dict:
    import torch
    import torch.nn.functional as F

    torch.backends.cuda.matmul.allow_tf32 = False
    given = [in_torch(array) for array in arrays]
    names = ", ".join(f"x{n}" for n in range(len(given)))
    function = torch.compile(eval(f"lambda {names}: {expression}", {"torch": torch, "F": F}), mode="max-autotune")
    return {"microseconds": microseconds(lambda: function(*given), torch.cuda.synchronize), "version": torch.__version__}


def with_jax(expression: str, arrays: list) -> dict:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_default_matmul_precision", "highest")
    given = [in_jax(array) for array in arrays]
    names = ", ".join(f"x{n}" for n in range(len(given)))
    function = jax.jit(eval(f"lambda {names}: {expression}", {"jax": jax, "jnp": jnp}))
    last: list = []

    def run() -> None:
        last[:] = [function(*given)]

    return {"microseconds": microseconds(run, lambda: jax.block_until_ready(last[0])), "version": jax.__version__}


def model_with_torch(name: str) -> dict:
    import torch

    from rival_models import NAMED, Torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    o, rival = Torch(), NAMED[name]
    weights = o.arrays(rival.weights)
    given = [torch.from_numpy(array).cuda() for array in rival.inputs()]
    function = torch.compile(lambda *inputs: rival.function(o, weights, list(inputs)), mode="max-autotune")
    with torch.inference_mode():
        took = microseconds(lambda: function(*given), torch.cuda.synchronize)
    return {"microseconds": took, "version": torch.__version__}


def model_with_jax(name: str) -> dict:
    import jax

    from rival_models import NAMED, Jax

    jax.config.update("jax_default_matmul_precision", "highest")
    o, rival = Jax(), NAMED[name]
    weights, given = o.arrays(rival.weights), [jax.device_put(array) for array in rival.inputs()]
    function = jax.jit(lambda weights, inputs: rival.function(o, weights, inputs))
    last: list = []

    def run() -> None:
        last[:] = [function(weights, given)]

    return {"microseconds": microseconds(run, lambda: jax.block_until_ready(last[0])), "version": jax.__version__}


def copy() -> dict:
    import torch

    size = 1 << 28
    x, y = torch.empty(size, device="cuda"), torch.empty(size, device="cuda")
    took = microseconds(lambda: y.copy_(x), torch.cuda.synchronize)
    return {"microseconds": took, "gb_per_s": 2 * 4 * size / took / 1e3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=("torch", "jax", "copy"))
    parser.add_argument("expression", help="over x0, x1, ..., or `model`")
    parser.add_argument("folder", help="of the arrays, or the model's name")
    given = parser.parse_args()
    engine, expression, folder = given.engine, given.expression, given.folder
    package = "jax" if engine == "jax" else "torch"
    try:
        __import__(package)
    except ImportError:
        sys.exit(f"{package} is not installed on this machine")
    if expression == "model":
        return print(json.dumps({"torch": model_with_torch, "jax": model_with_jax}[engine](folder)))
    files = sorted(Path(folder).glob("x*.npy"), key=lambda file: int(file.stem[1:]))
    arrays = [np.load(file) for file in files]
    print(json.dumps(copy() if engine == "copy" else
                     {"torch": with_torch, "jax": with_jax}[engine](expression, arrays)))


if __name__ == "__main__":
    main()
