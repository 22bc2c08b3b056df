"""`tektite aot`: libraries of IR text and frozen graphs give the JIT's results to the bit, and refuse the rest.

The JIT runs with --tuning=off: a library's kernels are chosen without measuring.
TEKTITE_COMMAND names the program; without it, build/bin/tektite.
"""
import importlib.util
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ.get("TEKTITE_COMMAND", ROOT / "build/bin/tektite"))
JIT = "--tuning=off --cache_dir=off --compile=sync --tier=generic"

MLP = """
graph @mlp(%x: f32[{n},24]) -> (f32[{n},7]) {{
  %w: f32[24,32] = constant() {{value = f32[24,32]{w}}}
  %b: f32[32] = constant() {{value = f32[32]{b}}}
  %v: f32[32,7] = constant() {{value = f32[32,7]{v}}}
  %d: f32[{n},32] = dot_general(%x, %w) {{lhs_contracting = [1], rhs_contracting = [0], lhs_batch = [], rhs_batch = []}}
  %bb: f32[{n},32] = broadcast_in_dim(%b) {{dimensions = [1], shape = ({n}, 32)}}
  %a: f32[{n},32] = add(%d, %bb)
  %t: f32[{n},32] = tanh(%a)
  %l: f32[{n},7] = dot_general(%t, %v) {{lhs_contracting = [1], rhs_contracting = [0], lhs_batch = [], rhs_batch = []}}
  %m: f32[{n}] = reduce(%l) {{dimensions = [1], reducer = "max"}}
  %mb: f32[{n},7] = broadcast_in_dim(%m) {{dimensions = [0], shape = ({n}, 7)}}
  %s: f32[{n},7] = sub(%l, %mb)
  %e: f32[{n},7] = exp(%s)
  %z: f32[{n}] = reduce(%e) {{dimensions = [1], reducer = "add"}}
  %zb: f32[{n},7] = broadcast_in_dim(%z) {{dimensions = [0], shape = ({n}, 7)}}
  %r: f32[{n},7] = div(%e, %zb)
  return %r
}}
"""


def literal(rng, *shape):
    """Its text: as a list of numbers where it is short, or else its bytes."""
    return "{#" + rng.standard_normal(shape).astype(np.float32).tobytes().hex() + "}"


def mlp(n):
    rng = np.random.default_rng(3)
    return MLP.format(n=n, w=literal(rng, 24, 32), b="{" + ", ".join(map(str, rng.integers(-2, 3, 32))) + "}",
                      v=literal(rng, 32, 7))


def tektite(*args, code=0, flags=""):
    done = subprocess.run([COMMAND, *map(str, args)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "TEKTITE_FLAGS": flags})
    assert done.returncode == code, done.stderr + done.stdout
    return done.stderr if code else done.stdout


def load(folder, name):
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def library(folder, name, text, *options):
    """The Python module of a library of this IR text."""
    model = folder / f"{name}.ir"
    model.write_text(text)
    tektite("aot", model, "--out", folder / "lib", "--python", *options)
    return load(folder / "lib", name)


def jit(folder, name, arrays, flags=JIT):
    """The JIT's results for the same text, in order."""
    words = []
    for i, array in enumerate(arrays):
        np.save(folder / f"in{i}.npy", array)
        words += ["--input", folder / f"in{i}.npy"]
    out = folder / "out"
    tektite("run", folder / f"{name}.ir", *words, "-d", out, flags=flags)
    return [np.load(path) for path in sorted(out.glob("*.npy"))]


@pytest.fixture(scope="module")
def open_mlp(tmp_path_factory):
    folder = tmp_path_factory.mktemp("open_mlp")
    return folder, library(folder, "open_mlp", mlp("n"))


def test_a_static_model_gives_the_jits_bits(tmp_path):
    module = library(tmp_path, "static_mlp", mlp(5))
    x = np.random.default_rng(1).standard_normal((5, 24)).astype(np.float32)
    [expected] = jit(tmp_path, "static_mlp", [x])
    for threads in 1, 3:
        [result] = module.run(x=x, threads=threads).values()
        assert result.tobytes() == expected.tobytes()


def test_one_library_serves_every_batch(open_mlp):
    folder, module = open_mlp
    for n in 2, 64, 1000, 0:
        x = np.random.default_rng(n).standard_normal((n, 24)).astype(np.float32)
        [expected] = jit(folder, "open_mlp", [x])
        for threads in 1, 2, 9:
            [result] = module.run(x=x, threads=threads).values()
            assert result.tobytes() == expected.tobytes(), (n, threads)
    # A process whose first call has one row makes code for one row, which adds up in another order.
    one = np.random.default_rng(2).standard_normal((2, 24)).astype(np.float32)
    [both], [first] = module.run(x=one).values(), module.run(x=one[:1]).values()
    assert first.tobytes() == both[:1].tobytes()


def test_sizes_that_nothing_can_hold_are_an_error(open_mlp):
    _, module = open_mlp
    for n in -1, 2**62, 2**63 - 1, 2**46:
        code = -module._arena_bytes(module.ctypes.byref(module._Sizes(n)), None)
        assert code & 0xff == 2, (n, code)
        assert module.Error(code).args[0]
    # So many rows would fit an address space, if not this arena.
    assert module._arena_bytes(module.ctypes.byref(module._Sizes(2**31 + 1)), None) > 2**31


def test_bad_addresses_are_errors_and_nothing_is_written(open_mlp):
    _, module = open_mlp
    c = module.ctypes
    x, y = np.ones((4, 24), np.float32), np.full((4, 7), 5, np.float32)
    sizes = c.byref(module._Sizes(4))
    bytes_needed = module._arena_bytes(sizes, None)
    arena = module._aligned(bytes_needed + 64)
    good = arena.ctypes.data

    def code(data, result, memory, size):
        return module._run(sizes, c.byref(module._Args(data)), c.byref(module._Results(result)),
                           module._Arena(memory, size), None)

    kinds = {"argument": 1, "arena": 3}
    for kind, answer in [("argument", code(None, y.ctypes.data, good, bytes_needed)),
                         ("argument", code(x.ctypes.data + 1, y.ctypes.data, good, bytes_needed)),
                         ("argument", code(x.ctypes.data, None, good, bytes_needed)),
                         ("argument", code(x.ctypes.data, y.ctypes.data + 2, good, bytes_needed)),
                         ("argument", module._run(sizes, None, c.byref(module._Results(y.ctypes.data)),
                                                  module._Arena(good, bytes_needed), None)),
                         ("argument", module._run(None, c.byref(module._Args(x.ctypes.data)),
                                                  c.byref(module._Results(y.ctypes.data)),
                                                  module._Arena(good, bytes_needed), None)),
                         ("arena", code(x.ctypes.data, y.ctypes.data, None, bytes_needed)),
                         ("arena", code(x.ctypes.data, y.ctypes.data, good + 4, bytes_needed)),
                         ("arena", code(x.ctypes.data, y.ctypes.data, good, bytes_needed - 1))]:
        assert answer & 0xff == kinds[kind], (kind, answer)
        assert module._message(answer) not in (b"no error", b"no such code")
        assert (y == 5).all()
    assert code(x.ctypes.data, y.ctypes.data, good, bytes_needed) == 0
    assert not (y == 5).any()


def test_libraries_are_the_same_bytes_each_time(open_mlp, tmp_path):
    folder, _ = open_mlp
    tektite("aot", folder / "open_mlp.ir", "--out", tmp_path)
    for file in "open_mlp.h", "libopen_mlp.a":
        assert (tmp_path / file).read_bytes() == (folder / "lib" / file).read_bytes(), file
