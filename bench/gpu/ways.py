"""Measures every way to make a product, a convolution and attention on a card: `python3 ways.py OUT.json [FAMILY ...]`.

The rules of docs/kernels/gpu_libraries.md, which say where a library comes before our own kernels, are read off its table.
The tuner measures (jit/compiler/tuner.h), by the card's events; a family of shapes is one program.  Needs the archive of
`bench/gpu_acceptance`, and nothing but Python.
"""
from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cases import attention
from run_there import call

HERE = Path(__file__).resolve().parent
SECONDS = 110  # a family takes; what was measured then counts
FLAGS = "--tuning=auto"


def constant(name: str, value: str, t: str, shape: str) -> str:
    return (f"  %{name}_s: {t}[] = constant() {{value = {t}[]{{{value}}}}}\n"
            f"  %{name}: {t}[{shape}] = broadcast_in_dim(%{name}_s) {{dimensions = [], shape = ({shape.replace(',', ', ')})}}\n")


def behind(y: str, t: str, shape: str, features: int, n: int, tail: str) -> tuple[str, list[str], str]:
    """Lines of an epilogue, its parameters, and its result."""
    rank = shape.count(",")
    lines, parameters, at = "", [], y
    for step in filter(None, tail.split("+")):
        made = f"{at}{step[0]}"
        if step == "bias":
            parameters.append(f"%b{n}: {t}[{features}] {{weight = true}}")
            lines += (f"  %bb{n}: {t}[{shape}] = broadcast_in_dim(%b{n}) {{dimensions = [{rank}], shape = "
                      f"({shape.replace(',', ', ')})}}\n  {made}: {t}[{shape}] = add({at}, %bb{n})\n")
        elif step == "rest":
            parameters.append(f"%r{n}: {t}[{shape}]")
            lines += f"  {made}: {t}[{shape}] = add({at}, %r{n})\n"
        elif step == "relu":
            lines += constant(f"z{n}", "0", t, shape) + f"  {made}: {t}[{shape}] = max({at}, %z{n})\n"
        elif step == "tanh":
            lines += f"  {made}: {t}[{shape}] = tanh({at})\n"
        at = made
    return lines, parameters, at


def product(n: int, t: str, batch: int, m: int, k: int, columns: int, tail: str, transposed: bool) -> tuple[list, str, str]:
    head = f"{batch}," if batch > 1 else ""
    rhs = f"{head}{columns},{k}" if transposed else f"{head}{k},{columns}"
    shape = f"{head}{m},{columns}"
    at = 1 if batch > 1 else 0
    dims = (f"lhs_batch = [{'0' if at else ''}], lhs_contracting = [{at + 1}], rhs_batch = [{'0' if at else ''}], "
            f"rhs_contracting = [{at + transposed}]")
    lines = f"  %y{n}: {t}[{shape}] = dot_general(%x{n}, %w{n}) {{{dims}}}\n"
    more, parameters, result = behind(f"%y{n}", t, shape, columns, n, tail)
    return ([f"%x{n}: {t}[{head}{m},{k}]", f"%w{n}: {t}[{rhs}]" + ("" if batch > 1 else " {weight = true}"), *parameters],
            lines + more, f"{result}: {t}[{shape}]")


def convolution(n: int, t: str, batch: int, size: int, channels: int, window: int, features: int, stride: int,
                tail: str) -> tuple[list, str, str]:
    out, pad = -(-size // stride), (window - 1) // 2
    high = max((out - 1) * stride + window - size - pad, 0)
    shape = f"{batch},{out},{out},{features}"
    lines = (f"  %y{n}: {t}[{shape}] = convolution(%x{n}, %w{n}) {{high = [{high}, {high}], input_layout = \"b01f\", kernel_layout "
             f"= \"01io\", low = [{pad}, {pad}], output_layout = \"b01f\", strides = [{stride}, {stride}]}}\n")
    more, parameters, result = behind(f"%y{n}", t, shape, features, n, tail)
    return ([f"%x{n}: {t}[{batch},{size},{size},{channels}]", f"%w{n}: {t}[{window},{window},{channels},{features}] {{weight = true}}",
             *parameters], lines + more, f"{result}: {t}[{shape}]")


def program(parts: list[tuple[list, str, str]]) -> str:
    parameters = [parameter for part in parts for parameter in part[0]]
    results = [part[2].split(": ") for part in parts]
    return (f"graph @ways({', '.join(parameters)}) -> ({', '.join(t for _, t in results)}) {{\n"
            + "".join(part[1] for part in parts) + f"  return {', '.join(name for name, _ in results)}\n}}\n")


SIZES = [(1, 768, 768), (1, 4096, 4096), (16, 1024, 1024), (64, 768, 3072), (128, 768, 768), (128, 768, 3072),
         (128, 3072, 768), (256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (4096, 768, 768), (4096, 768, 3072),
         (4096, 3072, 768), (2048, 2048, 2048), (4096, 4096, 4096), (1000, 333, 777), (64, 16384, 64)]
IMAGES = [(56, 64, 1, 64, 1), (56, 64, 3, 64, 1), (56, 64, 1, 256, 1), (56, 256, 1, 128, 2), (28, 128, 3, 128, 1),
          (28, 512, 1, 128, 1), (14, 256, 3, 256, 1), (14, 1024, 1, 256, 1), (7, 512, 3, 512, 1), (7, 2048, 1, 512, 1),
          (224, 3, 7, 64, 2)]


def products(t: str) -> list:
    parts = [(1, *size, tail, False) for size in SIZES for tail in ("", "bias", "bias+tanh")]
    parts += [(1, 512, 512, 512, "", True), (1, 4096, 768, 3072, "", True), (12, 128, 64, 128, "", True),
              (384, 128, 64, 128, "", True), (384, 128, 128, 64, "", False), (64, 512, 64, 512, "", True)]
    return [product(n, t, *part) for n, part in enumerate(parts)]


def convolutions(t: str, batch: int) -> list:
    parts = [(batch, size, channels, window, features, stride, tail)
             for size, channels, window, features, stride in IMAGES for tail in ("", "bias+relu", "bias+rest+relu")]
    return [convolution(n, t, *part) for n, part in enumerate(parts)]


def families() -> dict[str, str]:
    made = {f"products_{t}": program(products(t)) for t in ("f32", "bf16")}
    made |= {f"convolutions_{t}_{batch}": program(convolutions(t, batch))
             for t, batch in (("f32", 1), ("f32", 32), ("bf16", 32), ("bf16", 1), ("f32", 8))}
    for heads, rows, width in ((12, 128, 64), (384, 128, 64), (96, 512, 64), (16, 1024, 64), (16, 1024, 128), (64, 4096, 64),
                               (16, 8192, 128)):
        made[f"attention_{heads}_{rows}_{width}"] = attention(heads, rows, width)
    return made | {"products_f16": program(products("f16"))}


def arguments(text: str) -> list[str]:
    return [word for t in re.findall(r"%\w+: (\w+\[[\d,]*\])", text.partition(" -> ")[0]) for word in ("-i", t)]


def measure(name: str, text: str) -> dict:
    """Of each class the microseconds of each way, our own rule first."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.ir"
        file.write_text(text)
        environment = {"XDG_CACHE_HOME": folder, "TEKTITE_FLAGS": FLAGS}
        tool = HERE / "bin/tektite"
        words = [tool, "bench", file, "--device", "gpu:0", "--repeat", "1", "--warmup", "0", *arguments(text)]
        said = call(words, SECONDS, **environment)
        table = []
        for entry in sorted(Path(folder).glob("tektite/*.entry")):
            shown = call([tool, "cache", "show", entry.stem], 60, **environment).stdout
            if "\nkind       tuning" in shown:
                table.append(shown)
        return {"seconds": round(time.monotonic() - began, 1), "exit": said.returncode, "said": said.stderr[-500:],
                "table": table}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("families", nargs="*", help="those with one of these in their names; without it, all")
    options = parser.parse_args()
    chosen = {name: text for name, text in families().items()
              if not options.families or any(part in name for part in options.families)}
    found: dict = {}
    with ThreadPoolExecutor(5) as pool:  # compiling takes most of the time; the least of seven turns counts
        for name, made in zip(chosen, pool.map(lambda name: measure(name, chosen[name]), chosen)):
            found[name] = made
            options.out.write_text(json.dumps(found, indent=1))
            print(name, made["seconds"], "s,", len(made["table"]), "classes", made["said"], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
