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
    dtype: str = "f32"                # of the arrays; an array of bf16 is one of V2 in a file
    own: bool = False                 # our own kernels alone, and no rival

    def arrays(self, sizes: tuple[int, ...]) -> list[np.ndarray]:
        random = np.random.default_rng(5)
        return [rounded(random.standard_normal(shape, dtype=np.float32), self.dtype) for shape in self.inputs(*sizes)]

    def moved_bytes(self, sizes: tuple[int, ...], result_bytes: int) -> int:
        element = 4 if self.dtype == "f32" else 2
        return result_bytes + sum(element * int(np.prod(shape)) for shape in self.inputs(*sizes))


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "bf16":
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        return ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16).astype(np.uint16).view("V2")
    return values.astype(np.float16) if dtype == "f16" else values


def widened(values: np.ndarray) -> np.ndarray:
    """As f32, whatever it was in its file."""
    if values.dtype == np.dtype("V2"):
        return (np.ascontiguousarray(values).view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float32)


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


def sums_of(t: str) -> Callable[..., str]:
    """Over the first dimension."""
    def text(*sizes: int) -> str:
        x, y = (f"{t}[{','.join(map(str, kept))}]" for kept in (sizes, sizes[1:]))
        return (f"graph @sums(%x: {x}) -> ({y}) {{\n"
                f"  %y: {y} = reduce(%x) {{dimensions = [0], reducer = \"add\"}}\n  return %y\n}}\n")
    return text


DOT = "{lhs_batch = [], lhs_contracting = [1], rhs_batch = [], rhs_contracting = [0]}"


def product_of(t: str) -> Callable[..., str]:
    return lambda n, k, m: (f"graph @product(%x: {t}[{n},{k}], %w: {t}[{k},{m}]) -> ({t}[{n},{m}]) {{\n"
                            f"  %y: {t}[{n},{m}] = dot_general(%x, %w) {DOT}\n  return %y\n}}\n")


def dense_gelu(n: int, k: int, m: int) -> str:
    """gelu(x w + b), by the error function."""
    t = f"bf16[{n},{m}]"
    constants = "".join(f"""
  %c{i}: bf16[] = constant() {{value = bf16[]{{{value}}}}}
  %k{i}: {t} = broadcast_in_dim(%c{i}) {{dimensions = [], shape = ({n}, {m})}}"""
                        for i, value in enumerate((0.5, 0.70703125, 1)))
    return f"""graph @dense(%x: bf16[{n},{k}], %w: bf16[{k},{m}], %b: bf16[{m}]) -> ({t}) {{{constants}
  %p: {t} = dot_general(%x, %w) {DOT}
  %s: {t} = broadcast_in_dim(%b) {{dimensions = [1], shape = ({n}, {m})}}
  %h: {t} = add(%p, %s)
  %r: {t} = mul(%h, %k1)
  %e: {t} = erf(%r)
  %o: {t} = add(%e, %k2)
  %f: {t} = mul(%h, %k0)
  %y: {t} = mul(%f, %o)
  return %y
}}
"""


def attention(h: int, n: int, d: int) -> str:
    """Of h heads: softmax(q k^T / sqrt(d)) v, the softmax in f32."""
    t, s, w = f"bf16[{h},{n},{d}]", f"[{h},{n},{n}]", f"f32[{h},{n},{n}]"

    def over_keys(op: str, value: str, result: str) -> str:
        return f"""
  %{result}_r: f32[{h},{n}] = reduce({value}) {{dimensions = [2], reducer = "{op}"}}
  %{result}: {w} = broadcast_in_dim(%{result}_r) {{dimensions = [0, 1], shape = ({h}, {n}, {n})}}"""

    return f"""graph @attention(%q: {t}, %k: {t}, %v: {t}) -> ({t}) {{
  %p: bf16{s} = dot_general(%q, %k) {{lhs_batch = [0], lhs_contracting = [2], rhs_batch = [0], rhs_contracting = [2]}}
  %c: f32[] = constant() {{value = f32[]{{{d ** -0.5!r}}}}}
  %scale: {w} = broadcast_in_dim(%c) {{dimensions = [], shape = ({h}, {n}, {n})}}
  %wide: {w} = convert(%p) {{dtype = f32}}
  %l: {w} = mul(%wide, %scale){over_keys("max", "%l", "m")}
  %d: {w} = sub(%l, %m)
  %e: {w} = exp(%d){over_keys("add", "%e", "s")}
  %a: {w} = div(%e, %s)
  %n: bf16{s} = convert(%a) {{dtype = bf16}}
  %y: {t} = dot_general(%n, %v) {{lhs_batch = [0], lhs_contracting = [2], rhs_batch = [0], rhs_contracting = [1]}}
  return %y
}}
"""


def adam(n: int) -> str:
    """A step of Adam: the weights, and both moments."""
    t, values = f"f32[{n}]", {"b": 0.9, "bb": 0.1, "c": 0.999, "cc": 0.001, "r": 0.001, "i": 1e-7}
    constants = "".join(f"""
  %{k}0: f32[] = constant() {{value = f32[]{{{value!r}}}}}
  %{k}: {t} = broadcast_in_dim(%{k}0) {{dimensions = [], shape = ({n})}}""" for k, value in values.items())
    return f"""graph @adam(%w: {t}, %m: {t}, %v: {t}, %g: {t}) -> ({t}, {t}, {t}) {{{constants}
  %u: {t} = abs(%v)
  %m1: {t} = mul(%m, %b)
  %m2: {t} = mul(%g, %bb)
  %mm: {t} = add(%m1, %m2)
  %g2: {t} = mul(%g, %g)
  %v1: {t} = mul(%u, %c)
  %v2: {t} = mul(%g2, %cc)
  %vv: {t} = add(%v1, %v2)
  %s: {t} = sqrt(%vv)
  %d: {t} = add(%s, %i)
  %q: {t} = div(%mm, %d)
  %step: {t} = mul(%q, %r)
  %ww: {t} = sub(%w, %step)
  return %ww, %mm, %vv
}}
"""


def layer_norm(n: int, m: int) -> str:
    t = f"f32[{n},{m}]"
    return f"""graph @norm(%x: {t}) -> ({t}) {{
  %c0: f32[] = constant() {{value = f32[]{{{m}}}}}
  %c: {t} = broadcast_in_dim(%c0) {{dimensions = [], shape = ({n}, {m})}}
  %e0: f32[] = constant() {{value = f32[]{{1e-05}}}}
  %e: {t} = broadcast_in_dim(%e0) {{dimensions = [], shape = ({n}, {m})}}{over_rows("add", "%x", n, m, "t")}
  %a: {t} = div(%t, %c)
  %d: {t} = sub(%x, %a)
  %q: {t} = mul(%d, %d){over_rows("add", "%q", n, m, "u")}
  %v: {t} = div(%u, %c)
  %w: {t} = add(%v, %e)
  %s: {t} = sqrt(%w)
  %y: {t} = div(%d, %s)
  return %y
}}
"""


def products(name: str, t: str, sizes: tuple[int, int, int], **more) -> Case:
    return Case(name, product_of(t), lambda n, k, m: [(n, k), (k, m)], (min(sizes[0], 65), 136, 72), sizes, "x0 @ x1",
                "x0 @ x1", 1e-4 if t == "f32" else 0.01, lambda n, k, m: 2.0 * n * k * m, t, **more)


def attentions(name: str, length: int, **more) -> Case:
    """As many tokens at every length; so many heads in the check that a card's rule is the same for them."""
    sizes = (16 * 16384 // length, length, 128)
    return Case(name, attention, lambda h, n, d: [(h, n, d)] * 3, (66, 130, 128), sizes,
                "F.scaled_dot_product_attention(x0[None], x1[None], x2[None])[0]",
                "jax.nn.dot_product_attention(*(x.transpose(1, 0, 2)[None] for x in (x0, x1, x2)), "
                "implementation='cudnn')[0].transpose(1, 0, 2)", 0.02, lambda h, n, d: 4.0 * h * n * n * d, "bf16", **more)


def layers(n: int, m: int) -> str:
    """relu(relu(x a) b), as softmax: several kernels, and so a recorded run."""
    t, w = f"f32[{n},{m}]", f"f32[{m},{m}]"
    return f"""graph @layers(%x: {t}, %a: {w}, %b: {w}) -> ({t}) {{
  %c: f32[] = constant() {{value = f32[]{{0}}}}
  %zero: {t} = broadcast_in_dim(%c) {{dimensions = [], shape = ({n}, {m})}}
  %p: {t} = dot_general(%x, %a) {DOT}
  %q: {t} = max(%p, %zero)
  %r: {t} = dot_general(%q, %b) {DOT}
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
    Case("column_sums", sums_of("f32"), lambda n, m: [(n, m)], (1000, 133), (65536, 1024), "x0.sum(0)", "x0.sum(0)"),
    Case("array_sum", sums_of("f32"), lambda n: [(n,)], (1_000_003,), (1 << 26,), "x0.sum()", "x0.sum()"),
    Case("bias_gradient_bf16", sums_of("bf16"), lambda n, m: [(n, m)], (5003, 256), (401408, 256), "x0.sum(0)", "x0.sum(0)",
         0.01, dtype="bf16"),
    Case("layer_norm_1k", layer_norm, lambda n, m: [(n, m)], (37, 1000), (65536, 1024), "F.layer_norm(x0, x0.shape[1:])",
         "(x0 - x0.mean(1, keepdims=True)) / jnp.sqrt(x0.var(1, keepdims=True) + 1e-5)"),
    Case("layer_norm_16k", layer_norm, lambda n, m: [(n, m)], (5, 16001), (4096, 16384),
         "F.layer_norm(x0, x0.shape[1:])",
         "(x0 - x0.mean(1, keepdims=True)) / jnp.sqrt(x0.var(1, keepdims=True) + 1e-5)"),
    Case("adam", adam, lambda n: [(n,)] * 4, (100_003,), (1 << 25,),
         "(lambda m, v: (x0 - 0.001 * m / (v.sqrt() + 1e-7), m, v))(0.9 * x1 + 0.1 * x3, "
         "0.999 * x2.abs() + 0.001 * x3 * x3)",
         "(lambda m, v: (x0 - 0.001 * m / (jnp.sqrt(v) + 1e-7), m, v))(0.9 * x1 + 0.1 * x3, "
         "0.999 * jnp.abs(x2) + 0.001 * x3 * x3)"),
    products("product", "f32", (4096, 4096, 4096)),
    products("product_own", "f32", (4096, 4096, 4096), own=True),
    products("product_bf16", "bf16", (4096, 4096, 4096)),
    products("product_bf16_own", "bf16", (4096, 4096, 4096), own=True),
    products("product_bf16_wide", "bf16", (8192, 8192, 4096)),
    products("product_bf16_8_rows", "bf16", (8, 4096, 4096)),
    products("product_bf16_64_rows", "bf16", (64, 4096, 4096)),
    products("product_f16", "f16", (4096, 4096, 4096)),
    products("product_f16_wide", "f16", (8192, 8192, 4096)),
    Case("dense_gelu_bf16", dense_gelu, lambda n, k, m: [(n, k), (k, m), (m,)], (65, 136, 72), (4096, 4096, 4096),
         "F.gelu(x0 @ x1 + x2)", "jax.nn.gelu(x0 @ x1 + x2, approximate=False)", 0.02,
         lambda n, k, m: 2.0 * n * k * m, "bf16"),
    attentions("attention_4k", 4096),
    attentions("attention_4k_own", 4096, own=True),
    attentions("attention_8k", 8192),
    attentions("attention_16k", 16384),
    Case("layers", layers, lambda n, m: [(n, m), (m, m), (m, m)], (33, 64), (1, 1024),
         "torch.softmax(F.relu(F.relu(x0 @ x1) @ x2), 1)",
         "jax.nn.softmax(jax.nn.relu(jax.nn.relu(x0 @ x1) @ x2), 1)", 1e-4, lambda n, m: 4.0 * n * m * m),
]
