"""`tektite aot` of a SavedModel's signature or a file of Keras's: what TensorFlow has to load before it is compiled.

Frozen graphs and texts of the IR are the compiler's command's.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tektite import _models
from tektite._aot import aot


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tektite aot", description="Compile a signature of a SavedModel, or a file of Keras's, ahead of time: a C header and "
        "a static library.", epilog="docs/ahead_of_time.md has the rest; frozen graphs and IR text have options of their own.")
    parser.add_argument("model", metavar="MODEL", help="a SavedModel's folder, or a .keras or .h5 file")
    parser.add_argument("-o", "--out", default=".", help="the directory of the library")
    parser.add_argument("--name", default="", help="the library's name, a prefix of all names in it; without it, the model's")
    parser.add_argument("--signature", default="", help="of a SavedModel; without it, serving_default, or the only one")
    parser.add_argument("--cpu", default="native", help="what the code is for: native, x86-64-v3, x86-64-v4, or several of them, "
                        "separated by commas, of which a call runs the one for its machine")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=[n,224,224,3]",
                        help="sizes of an input: numbers are fixed, names are sizes that each call chooses")
    parser.add_argument("--typical", default="", metavar="n=8", help="open sizes to lay memory out for")
    parser.add_argument("--weights", default="inside", choices=["inside", "file", "caller"],
                        help="where weights are: inside the library, in a file that it maps, or the caller's copy of that file")
    parser.add_argument("--shared", action="store_true", help="link a shared library, too, with CC or cc")
    parser.add_argument("--python", action="store_true", help="write a Python module, too, which calls the shared library")
    parser.add_argument("--test", action="store_true", help="write NAME_test.c, too: whether results are what they should be")
    parser.add_argument("--bench", action="store_true", help="write NAME_bench.c, too: how long calls take")
    parser.add_argument("--report", action="store_const", const="layers", default="", help="print bytes by layer, too")
    parser.add_argument("--json", action="store_const", const="json", dest="report", help="print what was made as JSON")
    return parser


def _sizes(texts: list[str]) -> dict[str, list[Any]]:
    """{"x": ["n", 224, 224, 3]} of ["x=[n,224,224,3]"], or of "x=f32[n,224,224,3]", as the compiler's command has it."""
    sizes = {}
    for text in texts:
        match = re.fullmatch(r"([^=]+)=\w*\[([\w, ]*)\]", text)
        if match is None:
            raise ValueError(f"--input '{text}' is not NAME=[SIZE,SIZE]")
        words = [word.strip() for word in match[2].split(",") if word.strip()]
        sizes[match[1]] = [int(word) if word.isdigit() else word for word in words]
    return sizes


def _typical(text: str) -> dict[str, int]:
    typical = {}
    for part in filter(None, text.split(",")):
        name, _, size = part.partition("=")
        if not size.isdigit():
            raise ValueError(f"--typical '{part}' is not NAME=SIZE")
        typical[name] = int(size)
    return typical


def _function_of(path: str, signature: str) -> tuple[Callable[..., Any], list[Any], Any]:
    """What `aot` takes, and the object that must live until then: a model's variables go with it."""
    tf = _models.tensorflow()
    if _models.is_saved_model(path):
        loaded = tf.saved_model.load(path)
        return _models.signature_of(loaded, path, signature)[1], [], loaded
    model = tf.keras.models.load_model(path, compile=False)
    specs = [tf.TensorSpec(x.shape, x.dtype, x.name) for x in model.inputs]
    return lambda *inputs: model(inputs[0] if len(inputs) == 1 else list(inputs), training=False), specs, model


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    name = options.name or re.sub(r"\W", "_", Path(options.model).resolve().stem)
    try:
        sizes, typical = _sizes(options.input), _typical(options.typical)
        function, specs, _kept = _function_of(options.model, options.signature)
        print(aot(function, *specs, out=options.out, name=name, cpu=options.cpu, sizes=sizes, typical=typical,
                  python=options.python, shared=options.shared, weights=options.weights, test=options.test,
                  bench=options.bench, report=options.report), end="")
    except ValueError as error:
        text = str(error).removeprefix("tektite: ")
        print(f"tektite: '{options.model}': {text}", file=sys.stderr)
        return 1
    return 0
