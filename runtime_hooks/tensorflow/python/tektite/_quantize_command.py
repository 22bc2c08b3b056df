"""``tektite quantize SAVEDMODEL OUT --data FILE|SCRIPT``: see _quantize.py.

FILE is an .npy or .npz: arrays of examples, by the names of the model's inputs. SCRIPT is a Python file that has
``batches()``, which yields batches.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import runpy
import sys
from collections.abc import Iterator
from typing import Any

from tektite import _models, _output
from tektite._quantize import ERROR, Quantized, quantize
from tektite._quantize_ranges import METHODS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tektite quantize", description="Write a SavedModel whose convolutions and products "
                                     "have inputs and weights of 8 bits, by calibration.",
                                     epilog="docs/guide/quantize.md says more.")
    parser.add_argument("model", metavar="SAVEDMODEL", help="its folder")
    parser.add_argument("out", metavar="OUT", help="a folder that is not there yet, or is empty")
    parser.add_argument("--data", required=True, metavar="FILE", help="examples: an .npy, an .npz with an array for each input, "
                        "or a Python file with batches()")
    parser.add_argument("--batch", type=int, default=8, help="examples in a batch of a file of arrays")
    parser.add_argument("--method", choices=METHODS, default="mse", help="how ranges follow from the data")
    parser.add_argument("--error", type=float, default=ERROR, help="bound of the results' error: layers that hurt most stay f32 "
                        "until it is met")
    parser.add_argument("--signature", default="", help="this one; without it, serving_default, or the first")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--html", default="", metavar="FILE", help="write a page with a picture for each layer")
    return parser


def read_batches(path: str, batch: int) -> Iterator[Any]:
    """ValueError where the file is none of those that the command reads."""
    if path.endswith(".py"):
        found = runpy.run_path(path).get("batches")
        if found is None:
            raise ValueError(f"'{path}' has no function batches()")
        yield from found()
        return
    if not path.endswith((".npy", ".npz")):
        raise ValueError(f"'{path}' is no .npy, .npz or .py")
    if batch < 1:
        raise ValueError(f"--batch {batch} is no number of examples")
    np: Any = importlib.import_module("numpy")
    read = np.load(path)
    arrays = {key: read[key] for key in read.files} if path.endswith(".npz") else {"": read}
    lengths = {len(array) if array.ndim else 0 for array in arrays.values()}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(f"'{path}' must hold as many examples of each input, and at least one")
    for first in range(0, lengths.pop(), batch):
        given = {key: array[first:first + batch] for key, array in arrays.items()}
        yield given[""] if "" in given else given


def text(result: Quantized) -> str:
    width = max([len(layer.name) for layer in result.layers] + [5])
    lines = [f"{'layer':{width}}  {'error':>8}  {'MMAC':>8}  {'range':>20}  type"]
    lines += [f"{layer.name:{width}}  {layer.error:>8.4f}  {layer.multiplications / 1e6:>8.1f}  "
              f"{f'{layer.low:.3g} to {layer.high:.3g}':>20}  {'int8' if layer.quantized else 'f32'}" for layer in result.layers]
    count = sum(layer.quantized for layer in result.layers)
    lines.append(f"{result.path}: {count} of {len(result.layers)} layers in int8, {100 * result.share:.0f} % of multiplications; "
                 f"error of the results {result.error:.4f}, of all layers {result.error_of_all:.4f}")
    return "\n".join(lines)


def page(result: Quantized, title: str) -> str:
    """One page without network: each layer's error, and the numbers that its range holds."""
    names = [layer.name for layer in result.layers]
    charts: dict[str, dict[str, Any]] = {"chart0": {"data": [{"type": "bar", "x": names, "y": [layer.error for layer in result.layers]}],
                                                    "layout": {"title": {"text": "error of each layer alone"}, "height": 420}}}
    for number, layer in enumerate(result.layers, 1):
        counts, limit = result.histograms[layer.name]
        group = len(counts) // 128
        heights = [sum(counts[i:i + group]) for i in range(0, len(counts), group)]
        places = [limit * (2 * (i + 0.5) / len(heights) - 1) for i in range(len(heights))]
        lines = [{"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1} for x in (layer.low, layer.high)]
        charts[f"chart{number}"] = {"data": [{"type": "bar", "x": places, "y": heights}],
                                    "layout": {"title": {"text": f"{layer.name} ({'int8' if layer.quantized else 'f32'})"},
                                               "height": 260, "shapes": lines, "yaxis": {"type": "log"}}}
    return _output.page(title, charts, {}, text(result))


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    picture = _output.page_to_write(options.html)
    try:
        if not _models.is_saved_model(options.model):
            raise ValueError("this is no SavedModel")
        result = quantize(options.model, read_batches(options.data, options.batch), options.out, method=options.method,
                          error=options.error, signature=options.signature)
    except (OSError, ValueError) as error:
        print(f"tektite: '{options.model}': {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    if picture is not None:
        picture.write_text(page(result, f"{options.model} in 8 bits"), encoding="utf-8")
    if options.json:
        answer = dataclasses.asdict(result)
        del answer["histograms"]
        print(json.dumps({**answer, "share": result.share}))
    else:
        print(text(result))
    return 0
