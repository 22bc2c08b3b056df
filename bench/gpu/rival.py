"""One rival on the card: `rival.py torch|jax NAME ...` prints a line of JSON for each case and model named, as it goes.

    rival.py torch softmax_1k bert_base       cases of cases.py, models of rival_models.py
    rival.py copy                             the card's bandwidth

Arguments are random numbers that lie on the card before the clock starts, and results stay there.  torch is torch.compile
with max-autotune (single cases without CUDA graphs, which copy arguments), jax is jax.jit, both in strict single precision.
Of f32 products and convolutions torch asks its libraries alone: without TF32 Triton's have no matrix instructions, and
trying them takes minutes.
"""
import argparse
import json
import statistics
import sys
import time

from cases import CASES, Case

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


class Torch:
    def __init__(self) -> None:
        import torch

        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.torch, self.version = torch, torch.__version__

    def time(self, function, given: list, dtype: str, mode: str) -> float:
        import torch._inductor.config as inductor

        backends = "ATEN" if dtype == "f32" else "ATEN,TRITON"
        inductor.max_autotune_gemm_backends = inductor.max_autotune_conv_backends = backends
        self.torch._dynamo.reset()
        compiled = self.torch.compile(function, mode=mode)
        with self.torch.inference_mode():
            return microseconds(lambda: compiled(*given), self.torch.cuda.synchronize)

    def case(self, case: Case) -> float:
        import torch.nn.functional as F

        dtype = {"f32": self.torch.float32, "f16": self.torch.float16, "bf16": self.torch.bfloat16}[case.dtype]
        given = [self.torch.randn(shape, dtype=dtype, device="cuda") for shape in case.inputs(*case.measure)]
        return self.time(function_of(case.torch, len(given), {"torch": self.torch, "F": F}), given, case.dtype,
                         "max-autotune-no-cudagraphs")

    def model(self, name: str) -> float:
        from rival_models import NAMED
        from rival_models import Torch as Operations

        o, rival = Operations(), NAMED[name]
        weights = o.arrays(rival.weights)
        given = [self.torch.from_numpy(array).cuda() for array in rival.inputs()]
        return self.time(lambda *inputs: rival.function(o, weights, list(inputs)), given, "f32", "max-autotune")

    def copy(self) -> float:
        x, y = (self.torch.empty(COPIED, device="cuda") for _ in range(2))
        return microseconds(lambda: y.copy_(x), self.torch.cuda.synchronize)


class Jax:
    def __init__(self) -> None:
        import jax

        jax.config.update("jax_default_matmul_precision", "highest")
        self.jax, self.version = jax, jax.__version__

    def time(self, function, given: list) -> float:
        compiled = self.jax.jit(function)
        last: list = []

        def run() -> None:
            last[:] = [compiled(*given)]

        return microseconds(run, lambda: self.jax.block_until_ready(last[0]))

    def case(self, case: Case) -> float:
        dtype = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}[case.dtype]
        given = [self.jax.random.normal(self.jax.random.key(n), shape, dtype)
                 for n, shape in enumerate(case.inputs(*case.measure))]
        return self.time(function_of(case.jax, len(given), {"jax": self.jax, "jnp": self.jax.numpy}), given)

    def model(self, name: str) -> float:
        from rival_models import NAMED
        from rival_models import Jax as Operations

        o, rival = Operations(), NAMED[name]
        weights, given = o.arrays(rival.weights), [self.jax.device_put(array) for array in rival.inputs()]
        return self.time(lambda weights, inputs: rival.function(o, weights, inputs), [weights, given])


COPIED = 1 << 28  # f32


def function_of(expression: str, inputs: int, names: dict):
    return eval(f"lambda {', '.join(f'x{n}' for n in range(inputs))}: {expression}", names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=("torch", "jax", "copy"))
    parser.add_argument("names", nargs="*", help="cases and models")
    given = parser.parse_args()
    package = "jax" if given.engine == "jax" else "torch"
    try:
        engine = {"torch": Torch, "jax": Jax}[package]()
    except ImportError:
        sys.exit(f"{package} is not installed on this machine")
    cases = {case.name: case for case in CASES}
    for name in given.names or ["copy"]:
        said: dict = {"version": engine.version}
        try:
            took = engine.copy() if name == "copy" else engine.case(cases[name]) if name in cases else engine.model(name)
            said["microseconds"] = took
            if name == "copy":
                said["gb_per_s"] = 2 * 4 * COPIED / took / 1e3
        except Exception as error:  # pylint: disable=broad-except
            said["failed"] = f"{type(error).__name__}: {error}".splitlines()[0]
        print(json.dumps({"name": name, **said}), flush=True)


if __name__ == "__main__":
    main()
