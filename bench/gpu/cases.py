"""What `bench/gpu_acceptance` measures on a card: programs as IR text, and the same in PyTorch and JAX for the rivals.

Needs nothing but numpy, since it runs on machines that have no TensorFlow.  `check` is the size at which results are
compared with the CPU's code, `measure` the size that is timed.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import numpy as np


@dataclass(frozen=True)
class Case:
    name: str
    ir: Callable[..., str]            # of the sizes
    inputs: Callable[..., list[tuple[int, ...]]]
    check: tuple[int, ...]
    measure: tuple[int, ...]
    torch: str                        # an expression over x0, x1, ... with `torch` and `F`
    jax: str                          # over x0, x1, ... with `jax` and `jnp`
    tolerance: float = 1e-5           # of the largest result
    flops: Callable[..., float] = lambda *sizes: 0.0

    def arrays(self, sizes: tuple[int, ...]) -> list[np.ndarray]:
        random = np.random.default_rng(5)
        return [random.standard_normal(shape, dtype=np.float32) for shape in self.inputs(*sizes)]

    def moved_bytes(self, sizes: tuple[int, ...], result_bytes: int) -> int:
        return result_bytes + sum(4 * int(np.prod(shape)) for shape in self.inputs(*sizes))


def over_rows(op: str, value: str, rows: int, columns: int, result: str) -> str:
    """`result` is a reduction of each row, broadcast over the row again."""
    return f"""
  %{result}_r: f32[{rows}] = reduce({value}) {{dimensions = [1], reducer = "{op}"}}
  %{result}: f32[{rows},{columns}] = broadcast_in_dim(%{result}_r) {{dimensions = [0], shape = ({rows}, {columns})}}"""


def softmax(n: int, m: int) -> str:
    t = f"f32[{n},{m}]"
    return f"""graph @softmax(%x: {t}) -> ({t}) {{{over_rows("max", "%x", n, m, "m")}
  %d: {t} = sub(%x, %m)
  %e: {t} = exp(%d){over_rows("add", "%e", n, m, "s")}
  %y: {t} = div(%e, %s)
  return %y
}}
"""


def swish(n: int) -> str:
    t = f"f32[{n}]"
    return f"""graph @swish(%x: {t}) -> ({t}) {{
  %n: {t} = neg(%x)
  %e: {t} = exp(%n)
  %c: f32[] = constant() {{value = f32[]{{1}}}}
  %one: {t} = broadcast_in_dim(%c) {{dimensions = [], shape = ({n})}}
  %d: {t} = add(%e, %one)
  %y: {t} = div(%x, %d)
  return %y
}}
"""


def add(n: int) -> str:
    t = f"f32[{n}]"
    return f"graph @add(%x: {t}, %y: {t}) -> ({t}) {{\n  %z: {t} = add(%x, %y)\n  return %z\n}}\n"


def transpose(n: int, m: int) -> str:
    return (f"graph @transpose(%x: f32[{n},{m}]) -> (f32[{m},{n}]) {{\n"
            f"  %y: f32[{m},{n}] = transpose(%x) {{permutation = [1, 0]}}\n  return %y\n}}\n")


def column_sums(n: int, m: int) -> str:
    return (f"graph @column_sums(%x: f32[{n},{m}]) -> (f32[{m}]) {{\n"
            f"  %y: f32[{m}] = reduce(%x) {{dimensions = [0], reducer = \"add\"}}\n  return %y\n}}\n")


def product(n: int, k: int, m: int) -> str:
    return (f"graph @product(%x: f32[{n},{k}], %w: f32[{k},{m}]) -> (f32[{n},{m}]) {{\n"
            f"  %y: f32[{n},{m}] = dot_general(%x, %w) {{lhs_batch = [], lhs_contracting = [1], rhs_batch = [], "
            f"rhs_contracting = [0]}}\n  return %y\n}}\n")


def layers(n: int, m: int) -> str:
    """relu(relu(x a) b), as softmax: several kernels, and so a recorded run."""
    t, w = f"f32[{n},{m}]", f"f32[{m},{m}]"
    dot = "{lhs_batch = [], lhs_contracting = [1], rhs_batch = [], rhs_contracting = [0]}"
    return f"""graph @layers(%x: {t}, %a: {w}, %b: {w}) -> ({t}) {{
  %c: f32[] = constant() {{value = f32[]{{0}}}}
  %zero: {t} = broadcast_in_dim(%c) {{dimensions = [], shape = ({n}, {m})}}
  %p: {t} = dot_general(%x, %a) {dot}
  %q: {t} = max(%p, %zero)
  %r: {t} = dot_general(%q, %b) {dot}
  %h: {t} = max(%r, %zero){over_rows("max", "%h", n, m, "m")}
  %d: {t} = sub(%h, %m)
  %e: {t} = exp(%d){over_rows("add", "%e", n, m, "s")}
  %y: {t} = div(%e, %s)
  return %y
}}
"""


CASES = [
    Case("add", add, lambda n: [(n,), (n,)], (100_003,), (1 << 26,), "x0 + x1", "x0 + x1"),
    Case("swish", swish, lambda n: [(n,)], (100_003,), (1 << 26,), "F.silu(x0)", "jax.nn.silu(x0)"),
    Case("softmax_1k", softmax, lambda n, m: [(n, m)], (37, 1000), (65536, 1024), "torch.softmax(x0, 1)",
         "jax.nn.softmax(x0, 1)"),
    Case("softmax_16k", softmax, lambda n, m: [(n, m)], (5, 16001), (4096, 16384), "torch.softmax(x0, 1)",
         "jax.nn.softmax(x0, 1)"),
    Case("transpose", transpose, lambda n, m: [(n, m)], (300, 177), (8192, 8192), "x0.t().contiguous()", "x0.T + 0"),
    Case("column_sums", column_sums, lambda n, m: [(n, m)], (1000, 133), (65536, 1024), "x0.sum(0)", "x0.sum(0)"),
    Case("product", product, lambda n, k, m: [(n, k), (k, m)], (65, 130, 67), (4096, 4096, 4096), "x0 @ x1",
         "x0 @ x1", 1e-4, lambda n, k, m: 2.0 * n * k * m),
    Case("layers", layers, lambda n, m: [(n, m), (m, m), (m, m)], (33, 64), (1, 1024),
         "torch.softmax(F.relu(F.relu(x0 @ x1) @ x2), 1)",
         "jax.nn.softmax(jax.nn.relu(jax.nn.relu(x0 @ x1) @ x2), 1)", 1e-4, lambda n, m: 4.0 * n * m * m),
]
