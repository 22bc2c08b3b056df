"""``tektite convert SAVEDMODEL OUT``: a copy of a SavedModel that carries the code of its signatures (docs/packs.md).

The functions in it are unchanged: TensorFlow alone serves it as before. A server with ``TEKTITE=1`` and
``TEKTITE_FLAGS=--cache_pack=OUT`` compiles nothing for the sizes that were asked for, on CPUs of this machine's kind;
on others, and for other sizes, it compiles as it does without a pack.

Three processes run the model: TensorFlow alone, one that compiles, and one that has nothing but the pack. The last
one's results are compared with the first one's, and a program that it still had to compile is a failure.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tektite import _models
from tektite._library import Status, open_library, take_text

# Beyond --hot_calls (docs/flags.md), after which sizes have code of their own.
_CALLS = 120
_MOST_DIFFERENCE = 2e-5  # of the largest result, in f32: docs/numbers.md


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tektite convert", description="Copy a SavedModel, and put the code of its signatures "
                                     "beside it, so that servers compile nothing.", epilog="docs/packs.md says more.")
    parser.add_argument("model", metavar="SAVEDMODEL", help="its folder")
    parser.add_argument("out", metavar="OUT", help="a folder that is not there yet, or is empty")
    parser.add_argument("--batch", default="1", metavar="1,8", help="values of the first size that a signature leaves open; "
                        "two of them or more make code for all sizes, too")
    parser.add_argument("--signature", default="", help="this one alone; without it, serving_default, or the first")
    parser.add_argument("--sign", default="", metavar="FILE", help="sign the pack with the secret key in this file "
                        "(`tektite cache key FILE` makes one)")
    parser.add_argument("--calls", type=int, default=_CALLS, help="calls of each batch while the code is made")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _cache(flags: str, *words: str) -> str:
    """What `tektite cache` prints; ValueError where it fails."""
    library = open_library()
    library.tektite_cache.restype = ctypes.c_void_p
    status, count = Status(), ctypes.c_int64()
    given = (ctypes.c_char_p * len(words))(*map(os.fsencode, words))
    address = library.tektite_cache(flags.encode(), given, len(words), 0, ctypes.byref(count), ctypes.byref(status))
    return take_text(library, address, status)


def _run(model: Path, options: argparse.Namespace, tektite: str, flags: str, results: Path) -> dict[str, Any]:
    """What one process (`work`) says of the model."""
    words = [sys.executable, "-c", "import sys; from tektite import _convert; _convert.work(sys.argv[1:])", str(model),
             options.batch, options.signature, str(options.calls), str(results)]
    environment = {**os.environ, "TEKTITE": tektite, "TEKTITE_FLAGS": f"{os.environ.get('TEKTITE_FLAGS', '')} {flags}",
                   "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(words, env=environment, text=True, capture_output=True)
    if done.returncode != 0:
        raise ValueError((done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1])
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def work(arguments: list[str]) -> None:
    """In a process of its own: calls the model at each batch; JSON on the last line of stdout, results in a file."""
    np: Any = importlib.import_module("numpy")
    path, batches, signature, calls, results = arguments
    rows, arrays = [], {}
    for batch in map(int, batches.split(",")):
        model = _models.load(path, batch, signature)
        times = []
        for _ in range(max(int(calls), 2)):
            began = time.perf_counter()
            found = model.call()
            times.append((time.perf_counter() - began) * 1e3)
        for i, tensor in enumerate(found):
            array = np.asarray(tensor.numpy())
            arrays[f"{batch}.{i}"] = array.astype(np.float32) if array.dtype.kind == "V" else array  # bfloat16
        rows.append({"batch": batch, "name": model.name, "first_ms": times[0], "median_ms": statistics.median(times[1:])})
    import tektite

    if tektite.is_active():
        tektite.wait_until_compiled()
    np.savez(results, **arrays)
    stats = tektite.stats()
    print(json.dumps({"rows": rows, "compiles": stats.get("compiles", 0), "loaded": stats.get("loaded_modules", 0)}))


def _difference(a: Path, b: Path) -> float:
    """The largest, of the largest result; infinite where shapes, texts, NaNs or infinities differ."""
    np: Any = importlib.import_module("numpy")
    worst = 0.0
    with np.load(a, allow_pickle=True) as left, np.load(b, allow_pickle=True) as right:
        for key in left.files:
            x, y = left[key], right[key]
            if x.shape != y.shape or x.dtype != y.dtype:
                return float("inf")
            if x.dtype.kind not in "fc":
                worst = worst if np.array_equal(x, y) else float("inf")
                continue
            finite = np.isfinite(x)
            if not np.array_equal(x[~finite], y[~finite], equal_nan=True):
                return float("inf")
            apart = float(np.max(np.abs(x[finite] - y[finite]), initial=0))
            worst = max(worst, apart / (float(np.max(np.abs(x[finite]), initial=0)) or 1.0))
    return worst


def _convert(options: argparse.Namespace) -> dict[str, Any]:
    model, out = Path(options.model), Path(options.out)
    if not _models.is_saved_model(str(model)):
        raise ValueError("this is no SavedModel")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"'{out}' is there already")
    if not all(word.isdigit() and int(word) > 0 for word in options.batch.split(",")):
        raise ValueError(f"--batch '{options.batch}' is not a list of sizes such as 1,8")
    shutil.copytree(model, out, dirs_exist_ok=True, ignore=shutil.ignore_patterns("tektite_pack"))
    with tempfile.TemporaryDirectory(prefix="tektite_convert_") as name:
        folder = Path(name)
        plain = _run(out, options, "0", "", folder / "plain.npz")
        kept = f"--cache_dir={folder / 'cache'} --compile=sync"
        made = _run(out, options, "1", kept, folder / "made.npz")
        _cache(kept, "pack", str(out))
        if options.sign:
            _cache(kept, "sign", str(out), options.sign)
        key = f" --pack_key={options.sign}.pub" if options.sign else ""
        served = _run(out, options, "1", f"--cache_dir=off --cache_pack={out.resolve()}{key}", folder / "served.npz")
        apart = _difference(folder / "plain.npz", folder / "served.npz")
    packed = sum(path.stat().st_size for path in (out / "tektite_pack").rglob("*") if path.is_file())
    rows = [{"signature": a["name"], "batch": a["batch"], "tensorflow_first_ms": a["first_ms"], "tensorflow_ms": a["median_ms"],
             "first_ms": b["first_ms"], "ms": b["median_ms"]} for a, b in zip(plain["rows"], served["rows"])]
    return {"rows": rows, "compiled_while_made": made["compiles"], "loaded": served["loaded"], "compiled": served["compiles"],
            "apart": apart, "pack_bytes": packed, "signed": bool(options.sign), "out": str(out)}


def _text(answer: dict[str, Any]) -> str:
    lines = [f"{'batch':>6} {'TensorFlow':>11} {'first call':>11} {'Tektite':>9} {'first call':>11}   (ms)"]
    lines += [f"{row['batch']:>6} {row['tensorflow_ms']:>11.3f} {row['tensorflow_first_ms']:>11.1f} {row['ms']:>9.3f} "
              f"{row['first_ms']:>11.1f}" for row in answer["rows"]]
    lines.append(f"{answer['out']}/tektite_pack: {answer['pack_bytes'] / 1e6:.1f} MB, {answer['loaded']} programs"
                 f"{', signed' if answer['signed'] else ''}; results differ by {answer['apart']:.0e} of the largest")
    key = " --pack_key=FILE.pub" if answer["signed"] else ""
    lines.append(f"serve it with TEKTITE=1 TEKTITE_FLAGS='--cache_pack={Path(answer['out']).resolve()}{key}'")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    try:
        answer = _convert(options)
    except (OSError, ValueError) as error:
        print(f"tektite: '{options.model}': {str(error).removeprefix('tektite: ')}", file=sys.stderr)
        return 1
    print(json.dumps(answer) if options.json else _text(answer))
    failed = ""
    if answer["compiled"] != 0 or answer["compiled_while_made"] > 0 == answer["loaded"]:
        failed = f"with the pack {answer['loaded']} programs were loaded, and {answer['compiled']} compiled"
    elif not answer["apart"] <= _MOST_DIFFERENCE:
        failed = f"results differ from TensorFlow's by {answer['apart']:.0e} of the largest"
    if failed:
        print(f"tektite: '{options.model}': {failed}", file=sys.stderr)
    return 1 if failed else 0
