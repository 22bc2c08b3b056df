"""`tektite aot --weights file|caller`: weights outside of a library, mapped or handed over, and what is wrong with them."""
import ctypes
import os

import numpy as np
import pytest

from tests.ahead_of_time.test_c_programs import build, compiler, run
from tests.ahead_of_time.test_libraries import jit, library, mlp, op, tektite

BAD_ARGUMENT, BAD_WEIGHTS = 1, 6
CHECK_ALL, CHECK_SEAL = 0, 1
THREADS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


class Weights(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_int64)]


@pytest.fixture(scope="module", params=["file", "caller"])
def outside(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, folder, library(folder, "mlp", mlp(-1), "--input", "x=f32[n,24]", "--weights", request.param)


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mapped")
    return folder, library(folder, "mlp", mlp(-1), "--input", "x=f32[n,24]", "--weights", "file")


def refusal(module, code):
    assert code & 0xff == BAD_WEIGHTS, code
    return module._message(code).decode()


def test_weights_outside_change_no_bit(outside):
    _, folder, module = outside
    x = np.random.default_rng(1).standard_normal((9, 24)).astype(np.float32)
    [expected] = jit(folder, "mlp", [x])
    for threads in 1, 2:
        [result] = module.run(x=x, threads=threads).values()
        assert result.tobytes() == expected.tobytes()


def test_only_a_library_that_maps_calls_for_files(outside):
    place, folder, module = outside
    assert hasattr(module._library, "mlp_map_weights") == (place == "file")
    assert b"mlp__data" not in (folder / "lib/libmlp.a").read_bytes()
    assert (folder / "lib/mlp.weights").stat().st_size % 64 == 0
    assert f"#define mlp_weights_bytes INT64_C({(folder / 'lib/mlp.weights').stat().st_size})" in (folder / "lib/mlp.h").read_text()


def test_weights_that_are_none_are_errors_and_nothing_is_written(outside):
    _, folder, module = outside
    size = (folder / "lib/mlp.weights").stat().st_size
    memory = module._aligned(size + 64)
    memory[:size] = np.fromfile(folder / "lib/mlp.weights", np.uint8)
    x, y = np.ones((4, 24), np.float32), np.full((4, 7), 5, np.float32)
    sizes = ctypes.byref(module._Sizes(4))
    needed = module._arena_bytes(sizes, None)
    arena = module._aligned(needed)

    def run(weights):
        return module._run(sizes, ctypes.byref(module._Args(x.ctypes.data)), ctypes.byref(module._Results(y.ctypes.data)),
                           module._Arena(arena.ctypes.data, needed), weights, None)

    for weights, words in [(None, "'weights' is null"), (Weights(None, size), "null"), (Weights(memory.ctypes.data + 4, size), "64"),
                           (Weights(memory.ctypes.data, size - 1), "shorter"), (Weights(memory.ctypes.data, -1), "shorter")]:
        given = None if weights is None else ctypes.byref(weights)
        for call in run, lambda w: module._library.mlp_check_weights(w, None):
            assert words in refusal(module, call(given))
        assert (y == 5).all()
    good = ctypes.byref(Weights(memory.ctypes.data, size))
    assert module._library.mlp_check_weights(good, None) == 0 and run(good) == 0
    assert y.tobytes() == module.run(x=x)["r"].tobytes()
    memory[0] ^= 1
    assert "damaged" in refusal(module, module._library.mlp_check_weights(good, None))
    for byte in size - 64, size - 56, size - 48, size - 1:  # of the seal, at which calls look, too
        memory[byte] ^= 1
        y[:] = 5
        assert "another library's" in refusal(module, run(good)) and (y == 5).all()
        assert "another library's" in refusal(module, module._library.mlp_check_weights(good, None))
        memory[byte] ^= 1


def test_files_that_are_not_the_librarys_are_refused(mapped, tmp_path):
    folder, module = mapped
    whole = (folder / "lib/mlp.weights").read_bytes()

    def open_weights(path, check=CHECK_ALL):
        weights = Weights(1, 2)
        code = module._library.mlp_map_weights(os.fsencode(path), check, None, ctypes.byref(weights))
        assert code == 0 or (weights.data, weights.bytes) == (1, 2)
        return code, weights

    def written(content):
        path = tmp_path / "weights"
        path.write_bytes(content)
        return path

    # Two signs change: what multiplies and does not rotate would miss the top bits.
    signs = bytearray(whole)
    signs[7] ^= 0x80
    signs[71] ^= 0x80
    swapped = whole[64:128] + whole[:64] + whole[128:]
    os.mkfifo(tmp_path / "pipe")
    for path, words in [(tmp_path / "none", "cannot be opened"), (tmp_path, "length"), (tmp_path / "pipe", "length"),
                        (written(b""), "length")]:
        for check in CHECK_ALL, CHECK_SEAL:
            assert words in refusal(module, open_weights(path, check)[0])
    for content, words in [(whole[:-1], "length"), (whole + b"\0", "length"), (bytes(len(whole)), "another library's"),
                           (whole[:-56] + b"8" * 8 + whole[-48:], "another library's")]:
        for check in CHECK_ALL, CHECK_SEAL:
            assert words in refusal(module, open_weights(written(content), check)[0])
    for content in bytes(signs), swapped:
        path = written(content)
        assert "damaged" in refusal(module, open_weights(path)[0])
        # The seal says whose weights they are, and no more.
        code, weights = open_weights(path, CHECK_SEAL)
        assert code == 0
        assert "damaged" in refusal(module, module._library.mlp_check_weights(ctypes.byref(weights), None))
        module._library.mlp_unmap_weights(ctypes.byref(weights))
    for arguments in (None, CHECK_ALL, None, ctypes.byref(Weights())), (b"weights", CHECK_ALL, None, None), \
            (b"weights", 2, None, ctypes.byref(Weights())), (b"weights", -1, None, ctypes.byref(Weights())):
        assert module._library.mlp_map_weights(*arguments) & 0xff == BAD_ARGUMENT
    before = len(os.listdir("/proc/self/fd"))
    for check in CHECK_SEAL, CHECK_ALL:
        code, weights = open_weights(written(whole), check)
        assert code == 0
        if check == CHECK_SEAL:
            module._library.mlp_unmap_weights(ctypes.byref(weights))
    assert ctypes.string_at(weights.data, weights.bytes) == whole
    assert len(os.listdir("/proc/self/fd")) == before
    for _ in range(2):  # the second time there is nothing to unmap
        module._library.mlp_unmap_weights(ctypes.byref(weights))
        assert (weights.data, weights.bytes) == (None, 0)
    module._library.mlp_unmap_weights(None)


def test_threads_share_the_check_of_several_chunks(tmp_path):
    """Four megabytes of weights; a parallel_for that runs its bodies backwards, one after the other, does as well."""
    fill = ('node { name: "w" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor { '
            'dtype: DT_FLOAT tensor_shape { dim { size: 1030 } dim { size: 1030 } } float_val: 0.5 float_val: 0.25 } } } }\n')
    placeholder = f'node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} }}\n{fill}'
    module = library(tmp_path, "wide", placeholder + op("MatMul", "r", "x", "w"), "--input", "x=f32[3,1030]", "--weights", "file")
    path = tmp_path / "lib/wide.weights"
    assert path.stat().st_size > 4 << 20
    bodies = []

    @THREADS
    def backwards(context, count, body, argument):
        for i in reversed(range(count)):
            bodies.append(i)
            ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)(body)(argument, i)

    def code(threads):
        weights = Weights()
        answer = module._library.wide_map_weights(os.fsencode(path), CHECK_ALL, threads, ctypes.byref(weights))
        module._library.wide_unmap_weights(ctypes.byref(weights))
        return answer

    counts = [ctypes.byref(module._Threads(count, None, backwards)) for count in (1, 2, 3, 9)]
    assert [code(threads) for threads in [None, *counts]] == [0] * 5
    assert sorted(set(bodies)) == list(range(9))
    with open(path, "r+b") as file:
        file.seek(3 << 20)
        file.write(b"?")
    assert all(code(threads) & 0xff == BAD_WEIGHTS for threads in [None, *counts])


def test_a_c_program_maps_them(mapped, tmp_path):
    """From the header alone; and the class of C++ takes them."""
    folder, module = mapped
    (tmp_path / "main.cc").write_text(r"""
#include <cstdio>
#include "mlp.h"
int main(int, char** argv) {
  tektite_aot_weights weights;
  if (const int code = mlp_map_weights(argv[1], TEKTITE_AOT_CHECK_ALL, nullptr, &weights)) return std::puts(mlp_message(code)), 1;
  if (weights.bytes != mlp_weights_bytes) return 2;
  float x[24] = {1, 2, 3}, y[7];
  mlp_results results = {y};
  mlp_model model(&weights);
  if (const int code = model.Run({1}, {x}, results)) return std::puts(mlp_message(code)), 1;
  mlp_unmap_weights(&weights);
  return std::fwrite(y, sizeof(float), 7, stdout) == 7 ? 0 : 3;
}
""")
    build(compiler("CXX", "c++"), "-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{folder}/lib", tmp_path / "main.cc",
          "-o", tmp_path / "main", folder / "lib/libmlp.a")
    x = np.zeros((1, 24), np.float32)
    x[0, :3] = 1, 2, 3
    done = run([tmp_path / "main", folder / "lib/mlp.weights"], x)
    assert done.returncode == 0 and done.stdout == module.run(x=x)["r"].tobytes(), done.stdout
    done = run([tmp_path / "main", tmp_path / "none"], x)
    assert done.returncode == 1 and b"cannot be opened" in done.stdout


def test_another_place_is_refused(mapped):
    folder, _ = mapped
    assert "inside" in tektite("aot", folder / "mlp.pbtxt", "--weights", "elsewhere", code=1)
