"""One rival on the card: `rival.py torch|jax|copy EXPRESSION FOLDER` prints a line of JSON.

The arrays x0.npy, x1.npy, ... of FOLDER lie on the card before the clock starts, and results stay there.  torch is
torch.compile with max-autotune, jax is jax.jit, both in strict single precision; copy is the card's bandwidth.
"""
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


def with_torch(expression: str, arrays: list) -> dict:
    import torch
    import torch.nn.functional as F

    torch.backends.cuda.matmul.allow_tf32 = False
    given = [torch.from_numpy(array).cuda() for array in arrays]
    names = ", ".join(f"x{n}" for n in range(len(given)))
    function = torch.compile(eval(f"lambda {names}: {expression}", {"torch": torch, "F": F}), mode="max-autotune")
    return {"microseconds": microseconds(lambda: function(*given), torch.cuda.synchronize), "version": torch.__version__}


def with_jax(expression: str, arrays: list) -> dict:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_default_matmul_precision", "highest")
    given = [jax.device_put(array) for array in arrays]
    names = ", ".join(f"x{n}" for n in range(len(given)))
    function = jax.jit(eval(f"lambda {names}: {expression}", {"jax": jax, "jnp": jnp}))
    last: list = []

    def run() -> None:
        last[:] = [function(*given)]

    return {"microseconds": microseconds(run, lambda: last[0].block_until_ready()), "version": jax.__version__}


def copy() -> dict:
    import torch

    size = 1 << 28
    x, y = torch.empty(size, device="cuda"), torch.empty(size, device="cuda")
    took = microseconds(lambda: y.copy_(x), torch.cuda.synchronize)
    return {"microseconds": took, "gb_per_s": 2 * 4 * size / took / 1e3}


def main() -> None:
    engine, expression, folder = sys.argv[1:]
    files = sorted(Path(folder).glob("x*.npy"), key=lambda file: int(file.stem[1:]))
    arrays = [np.load(file) for file in files]
    print(json.dumps(copy() if engine == "copy" else
                     {"torch": with_torch, "jax": with_jax}[engine](expression, arrays)))


if __name__ == "__main__":
    main()
