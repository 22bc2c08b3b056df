"""`tektite aot`: libraries give the JIT's results to the bit, and refuse the rest.

The JIT runs with --tuning=off: a library's kernels are chosen without measuring.
TEKTITE_COMMAND names the program; without it, build/bin/tektite.
"""
import concurrent.futures
import importlib.util
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ.get("TEKTITE_COMMAND", ROOT / "build/bin/tektite"))
JIT = "--tuning=off --cache_dir=off --compile=sync --tier=generic"

FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'


def constant(name, array):
    values = " ".join(f"float_val: {v!r}" for v in array.ravel().tolist())
    dims = " ".join(f"dim {{ size: {n} }}" for n in array.shape)
    return (f'node {{ name: "{name}" op: "Const" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} attr {{ key: "value" value '
            f'{{ tensor {{ dtype: DT_FLOAT tensor_shape {{ {dims} }} {values} }} }} }} }}\n')


def op(kind, name, *inputs):
    words = " ".join(f'input: "{i}"' for i in inputs)
    return f'node {{ name: "{name}" op: "{kind}" {words} {FLOAT} }}\n'


def mlp(n):
    """A frozen graph, f32[n,24] to f32[n,7]; n < 0: open."""
    rng = np.random.default_rng(3)
    return (f'node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} attr {{ key: "shape" '
            f'value {{ shape {{ dim {{ size: {n} }} dim {{ size: 24 }} }} }} }} }}\n'
            + constant("w", rng.standard_normal((24, 32))) + constant("b", rng.standard_normal(32))
            + constant("v", rng.standard_normal((32, 7))) + op("MatMul", "d", "x", "w") + op("BiasAdd", "a", "d", "b")
            + op("Tanh", "t", "a") + op("MatMul", "l", "t", "v") + op("Softmax", "r", "l"))


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
    """The Python module of a library of this frozen graph."""
    model = folder / f"{name}.pbtxt"
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
    tektite("run", folder / f"{name}.pbtxt", *words, "-d", out, flags=flags)
    return [np.load(path) for path in sorted(out.glob("*.npy"))]


@pytest.fixture(scope="module")
def open_mlp(tmp_path_factory):
    folder = tmp_path_factory.mktemp("open_mlp")
    return folder, library(folder, "open_mlp", mlp(-1), "--input", "x=f32[n,24]")


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
    x = np.random.default_rng(2).standard_normal((2, 24)).astype(np.float32)
    [both], [first] = module.run(x=x).values(), module.run(x=x[:1]).values()
    np.testing.assert_allclose(first, both[:1], rtol=1e-5)


def test_denormals_are_zeros_and_the_callers_threads_keep_theirs(tmp_path):
    """As on TensorFlow's threads; computing with them, EfficientNetB0 of small inputs took 21 ms instead of 9."""
    text = "".join(mlp(5).splitlines(True)[:1]) + constant("c", np.full(24, .25)) + op("Mul", "r", "x", "c")
    module = library(tmp_path, "quarter", text)
    small = np.full((5, 24), 2e-38, np.float32)
    small[1] = 1e-39  # one itself
    small[2] = 1
    for threads in 1, 3:
        [result] = module.run(x=small, threads=threads).values()
        assert (result == np.where(small == 1, np.float32(.25), 0)).all()
    assert (small[0] * np.float32(.25) > 0).all()


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


def test_threads_may_call_at_once(open_mlp):
    _, module = open_mlp
    inputs = [np.random.default_rng(n).standard_normal((n, 24)).astype(np.float32) for n in range(1, 9)]
    expected = [module.run(x=x)["r"].tobytes() for x in inputs]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda x: module.run(x=x, threads=2)["r"].tobytes(), inputs * 20))
    assert results == expected * 20


def test_libraries_are_the_same_bytes_each_time(open_mlp, tmp_path):
    folder, _ = open_mlp
    tektite("aot", folder / "open_mlp.pbtxt", "--out", tmp_path, "--input", "x=f32[n,24]")
    for file in "open_mlp.h", "libopen_mlp.a":
        assert (tmp_path / file).read_bytes() == (folder / "lib" / file).read_bytes(), file


def test_one_library_has_code_for_several_cpus(open_mlp, tmp_path):
    """The bits are those of a library for the CPU that is chosen alone: the most that this machine has."""
    folder, _ = open_mlp
    options = ["--input", "x=f32[n,24]", "--python"]
    names = ["x86-64-v3", "x86-64-v4"] if "avx512vl" in Path("/proc/cpuinfo").read_text() else ["x86-64-v3"]
    for cpu in names + [",".join(names)]:
        report = tektite("aot", folder / "open_mlp.pbtxt", "--out", tmp_path / cpu, "--cpu", cpu, *options)
        assert report.count("code for") == cpu.count(",") + 1
    x = np.random.default_rng(4).standard_normal((33, 24)).astype(np.float32)
    alone, both = (load(tmp_path / cpu, "open_mlp").run(x=x)["r"] for cpu in (names[-1], ",".join(names)))
    assert alone.tobytes() == both.tobytes()
    size = {cpu: (tmp_path / cpu / "libopen_mlp.a").stat().st_size for cpu in (names[-1], ",".join(names))}
    assert size[",".join(names)] < 2 * size[names[-1]]


def test_a_cpu_that_is_none_is_refused(open_mlp):
    folder, _ = open_mlp
    message = tektite("aot", folder / "open_mlp.pbtxt", "--cpu", "pdp11", code=1)
    assert "no CPU is called 'pdp11'" in message and "x86-64-v3" in message
