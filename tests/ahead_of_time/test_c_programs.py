"""Libraries of `tektite aot` in programs of C and C++: headers, linking, and what a program then needs.

CC and CXX name the compilers; without them, cc and c++.
"""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.ahead_of_time.test_libraries import COMMAND, FLOAT, jit, load, mlp, op, tektite

PACKAGE = Path(__file__).resolve().parents[2] / "runtime_hooks/tensorflow/python/tektite"
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include "dense.h"
int main(int argc, char** argv) {
  dense_sizes sizes = {argc > 1 ? atoll(argv[1]) : 3};
  float *x = malloc(sizes.n * 24 * sizeof(float)), *y = malloc(sizes.n * 7 * sizeof(float));
  if (fread(x, sizeof(float), sizes.n * 24, stdin) != (size_t)sizes.n * 24) return 2;
  dense_args args = {x};
  dense_results results = {y};
  tektite_aot_arena arena = {0, dense_arena_bytes(&sizes, NULL)};
  arena.data = aligned_alloc(64, arena.bytes);
  int32_t code = dense_run(&sizes, &args, &results, arena, NULL);
  if (code != 0) return fputs(dense_message(code), stderr), 1;
  fwrite(y, sizeof(float), sizes.n * 7, stdout);
  return 0;
}
"""

CLASS = r"""
#include <cstdio>
#include <vector>
#include "dense.h"
int main() {
  dense_model model;
  std::vector<float> x(3 * 24), y(3 * 7);
  if (std::fread(x.data(), sizeof(float), x.size(), stdin) != x.size()) return 2;
  dense_results results = {y.data()};
  if (model.Prepare({-1}) == 0 || model.Prepare({3}) != 0) return 4;
  for (long n : {1, 3}) {
    if (const int code = model.Run({n}, {x.data()}, results)) return std::puts(model.Message(code)), 1;
  }
  return std::fwrite(y.data(), sizeof(float), y.size(), stdout) == y.size() ? 0 : 3;
}
"""


def compiler(variable, otherwise):
    return os.environ.get(variable) or otherwise


def build(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dense")
    (folder / "dense.pbtxt").write_text(mlp(-1))
    tektite("aot", folder / "dense.pbtxt", "--out", folder, "--input", "x=f32[n,24]")
    (folder / "main.c").write_text(PROGRAM)
    build(compiler("CC", "cc"), "-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", folder / "main.c",
          "-o", folder / "main", folder / "libdense.a", "-lm", "-lc")
    x = np.random.default_rng(8).standard_normal((3, 24)).astype(np.float32)
    return folder, x, jit(folder, "dense", [x])[0]


def run(program, x):
    return subprocess.run(program, input=x.tobytes(), capture_output=True, timeout=60)


def test_a_c_program_gets_the_jits_bits(dense):
    folder, x, expected = dense
    done = run([folder / "main"], x)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected.tobytes()


def test_a_program_needs_libc_and_libm_alone(dense):
    folder, _, _ = dense
    needed = build("readelf", "-d", folder / "main")
    libraries = [line.split("[")[1].rstrip("]") for line in needed.splitlines() if "NEEDED" in line]
    assert set(libraries) <= {"libc.so.6", "libm.so.6"}
    undefined = {line.split()[-1].split("@")[0] for line in
                 build("nm", "-u", folder / "libdense.a").splitlines() if " U " in line}
    own = {name for name in undefined if name.startswith("dense")}
    assert undefined - own <= {"memcpy", "memmove", "memset", "sched_yield"}


def test_a_program_runs_where_nothing_else_is(dense, tmp_path):
    """Its files in an empty root: the program, the loader, libc and libm."""
    folder, x, expected = dense
    root = tmp_path / "root"
    for line in build("ldd", folder / "main").splitlines():
        path = next((word for word in line.split() if word.startswith("/")), None)
        if path is not None:
            target = root / path[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.realpath(path), target)
    shutil.copy(folder / "main", root / "main")
    enter = ["unshare", "--map-root-user", "chroot", root] if os.geteuid() else ["chroot", root]
    done = run([*enter, "/main"], x)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected.tobytes()


def test_the_class_of_cpp_keeps_an_arena(dense):
    folder, x, expected = dense
    (folder / "class.cc").write_text(CLASS)
    build(compiler("CXX", "c++"), "-std=c++17", "-Wall", "-Wextra", "-Werror", folder / "class.cc", "-o", folder / "class",
          folder / "libdense.a")
    done = run([folder / "class"], x)
    assert done.returncode == 0, done.stdout
    assert done.stdout == expected.tobytes()


def test_a_cmake_project_finds_it(dense, tmp_path):
    folder, x, expected = dense
    (tmp_path / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.16)
project(outside C)
find_package(dense CONFIG REQUIRED PATHS "{folder}" NO_DEFAULT_PATH)
add_executable(outside "{folder}/main.c")
set_target_properties(outside PROPERTIES C_STANDARD 11)
target_link_libraries(outside PRIVATE dense::dense)
""")
    build("cmake", "-S", tmp_path, "-B", tmp_path / "build")
    build("cmake", "--build", tmp_path / "build")
    done = run([tmp_path / "build" / "outside"], x)
    assert done.stdout == expected.tobytes(), done.stderr


def test_a_cmake_project_makes_it(dense, tmp_path):
    """While it is built, and anew after a change of the model."""
    folder, x, expected = dense
    (tmp_path / "dense.pbtxt").write_text(mlp(-1))
    project = f"""
cmake_minimum_required(VERSION 3.16)
project(outside C)
include("{PACKAGE}/tektite_add_model.cmake")
set(TEKTITE_COMMAND "{COMMAND}")
tektite_add_model(dense MODEL dense.pbtxt CPU native INPUT "x=f32[n,24]" TYPICAL n=4)
add_executable(outside "{folder}/main.c")
set_target_properties(outside PROPERTIES C_STANDARD 11)
target_link_libraries(outside PRIVATE dense)
"""
    (tmp_path / "CMakeLists.txt").write_text(project)
    build("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build")
    build("cmake", "--build", tmp_path / "build")
    assert run([tmp_path / "build" / "outside"], x).stdout == expected.tobytes()
    assert "no work to do" in build("cmake", "--build", tmp_path / "build")
    (tmp_path / "dense.pbtxt").write_text(mlp(-1).replace('"Tanh"', '"Relu"'))
    build("cmake", "--build", tmp_path / "build")
    done = run([tmp_path / "build" / "outside"], x)
    assert done.returncode == 0 and done.stdout != expected.tobytes()
    (tmp_path / "CMakeLists.txt").write_text(project.replace("MODEL dense.pbtxt", "MODEL none.pbtxt"))
    refused = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build"], capture_output=True, text=True)
    assert refused.returncode != 0 and f"there is no '{tmp_path}/none.pbtxt'" in " ".join(refused.stderr.split())


def test_the_programs_that_come_with_it_run(tmp_path):
    """`--test` finds the same bits here, and a wrong one; `--bench` prints times; `--report` and `--json` say where bytes are."""
    (tmp_path / "dense.pbtxt").write_text(mlp(-1))
    report = json.loads(tektite("aot", tmp_path / "dense.pbtxt", "--out", tmp_path, "--input", "x=f32[n,24]", "--typical", "n=5",
                                "--weights", "file", "--test", "--bench", "--json"))
    assert {"dense.h", "libdense.a", "dense.weights", "dense_test.c", "dense_bench.c"} <= set(report["files"])
    assert all((tmp_path / file).exists() for file in report["files"])
    [variant] = report["variants"]
    assert 0 < sum(layer["code_bytes"] for layer in variant["layers"]) <= variant["code_bytes"]
    # Panels are wider than the weights that they hold.
    assert (24 * 32 + 32 * 7 + 32) * 4 <= sum(layer["weight_bytes"] for layer in variant["layers"]) <= report["weight_bytes"]
    for name, *flags in [("dense_test", "-Wall", "-Wextra", "-Werror", "-pedantic"), ("dense_bench", "-Wall", "-Wextra", "-Werror")]:
        build(compiler("CC", "cc"), "-std=c11", *flags, tmp_path / f"{name}.c", tmp_path / "libdense.a", "-lm", "-lpthread", "-o",
              tmp_path / name)
    done = subprocess.run([tmp_path / "dense_test"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "r: the same bits\n" * 2, done.stdout
    assert "arena_ms" in build(tmp_path / "dense_bench", "2", "0.05", tmp_path / "dense.weights")
    text = (tmp_path / "dense_test.c").read_text()
    first = re.search(r"expected_r\[\] = \{\n    (0x\w+)", text)[1]
    (tmp_path / "dense_test.c").write_text(text.replace(first, "0x40400000", 1))
    build(compiler("CC", "cc"), "-std=c11", tmp_path / "dense_test.c", tmp_path / "libdense.a", "-lm", "-o", tmp_path / "dense_test")
    done = subprocess.run([tmp_path / "dense_test"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "r: WRONG" in done.stdout


def test_many_weights_lie_as_large_pages_do(tmp_path):
    """At a multiple of 2 MB in memory and in the file; each linker keeps to it."""
    rows, columns = 2900, 3000
    floats = "".join(np.random.default_rng(2).choice(list("<=>"), rows * columns * 4))  # bytes of floats from .01 to .2
    dims = f"dim {{ size: {rows} }} dim {{ size: {columns} }}"
    (tmp_path / "wide.pbtxt").write_text(
        f'node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} attr {{ key: "shape" value '
        f'{{ shape {{ dim {{ size: 9 }} dim {{ size: {rows} }} }} }} }} }}\n'
        f'node {{ name: "w" op: "Const" {FLOAT.replace("T", "dtype", 1)} attr {{ key: "value" value {{ tensor {{ dtype: DT_FLOAT '
        f'tensor_shape {{ {dims} }} tensor_content: "{floats}" }} }} }} }}\n' + op("MatMul", "r", "x", "w"))
    tektite("aot", tmp_path / "wide.pbtxt", "--out", tmp_path, "--test")
    for linker in filter(lambda name: shutil.which(f"ld.{name}"), ["bfd", "gold", "lld"]):
        build(compiler("CC", "cc"), f"-fuse-ld={linker}", tmp_path / "wide_test.c", tmp_path / "libwide.a", "-lm", "-o",
              tmp_path / linker)
        assert build(tmp_path / linker) == "r: the same bits\n" * 2
        loaded = [line.split() for line in build("readelf", "-lW", tmp_path / linker).splitlines() if " LOAD " in line]
        [(at, address)] = [(int(words[1], 0), int(words[2], 0)) for words in loaded if int(words[4], 0) > rows * columns * 4]
        assert at % 2**21 == address % 2**21 and "0x200000" in [words[-1] for words in loaded], linker


def test_a_cpu_that_brings_nothing_is_left_out(tmp_path):
    """Code for whole numbers that wide vectors do not change: one of two equal names is left out, and the other serves."""
    (tmp_path / "one.ir").write_text("graph @one(%x: s32[]) -> (s32[]) {\n  %y: s32[] = add(%x, %x)\n  return %y\n}\n")
    report = tektite("aot", tmp_path / "one.ir", "--out", tmp_path, "--cpu", "x86-64-v3,x86-64-v4")
    assert "left out x86-64-v4: its code is that for x86-64-v3" in report and "code for x86-64-v4" not in report


def test_kernels_that_are_compiled_with_tektite_are_a_second_archive(tmp_path):
    """It needs libc, libm and the C++ library, and models that do not use it have none."""
    (tmp_path / "order.ir").write_text("graph @order(%x: f32[n,5]) -> (f32[n,5]) {\n  %y: f32[n,5] = sort(%x) "
                                       "{descending = false, dimension = 0}\n  return %y\n}\n")
    tektite("aot", tmp_path / "order.ir", "--out", tmp_path, "--python")
    undefined = {line.split()[-1].split("@")[0] for line in
                 build("nm", "-u", tmp_path / "libtektite_kernels.a").splitlines() if " U " in line}
    defined = {line.split()[-1] for line in build("nm", "--defined-only", tmp_path / "libtektite_kernels.a").splitlines()
               if len(line.split()) == 3}
    foreign = {name for name in undefined - defined if "absl" in name or "llvm" in name or "tektite" in name}
    assert not foreign, foreign
    module = load(tmp_path, "order")
    x = np.random.default_rng(2).standard_normal((700, 5)).astype(np.float32)
    [result] = module.run(x=x, threads=2).values()
    assert (result == np.sort(x, axis=0)).all()
    for n in 2**32, 2**31 + 1, 2**62, -1:
        needed = module._arena_bytes(module.ctypes.byref(module._Sizes(n)), None)
        assert (needed > 0 if n == 2**31 + 1 else -needed & 0xff == 2), (n, needed)
    assert "libtektite_kernels.a" in (tmp_path / "orderConfig.cmake").read_text()
    assert "-ltektite_kernels -lstdc++" in (tmp_path / "order.pc").read_text()


TWO_THREADS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dense.h"
static float x[3 * 24], expected[3 * 7];
static int call(float* y, const tektite_aot_threads* threads) {
  const dense_sizes sizes = {3};
  const dense_args args = {x};
  dense_results results = {y};
  tektite_aot_arena arena = {NULL, dense_arena_bytes(&sizes, threads)};
  arena.data = aligned_alloc(64, (size_t)(arena.bytes + 63) / 64 * 64);
  const int32_t code = dense_run(&sizes, &args, &results, arena, threads);
  free(arena.data);
  return code != 0;
}
static void* many(void* wrong) {
  for (int i = 0; i < 200; ++i) {
    float y[3 * 7];
    *(int*)wrong |= call(y, NULL) || memcmp(y, expected, sizeof(y)) != 0;
  }
  return NULL;
}
int main(void) {
  if (fread(x, sizeof(float), 3 * 24, stdin) != 3 * 24) return 2;
  pthread_t threads[2];
  int wrong[2] = {0, 0};
  if (call(expected, NULL)) return 3;
  for (int t = 0; t < 2; ++t) pthread_create(&threads[t], NULL, many, &wrong[t]);
  for (int t = 0; t < 2; ++t) pthread_join(threads[t], NULL);
  fwrite(expected, sizeof(float), 3 * 7, stdout);
  return wrong[0] | wrong[1];
}
"""


def test_two_threads_call_at_once_under_the_thread_sanitizer(dense, tmp_path):
    folder, x, expected = dense
    (tmp_path / "two.c").write_text(TWO_THREADS)
    build(compiler("CC", "cc"), "-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-fsanitize=thread", f"-I{folder}", tmp_path / "two.c",
          folder / "libdense.a", "-lm", "-o", tmp_path / "two")
    done = run([tmp_path / "two"], x)
    assert done.returncode == 0 and done.stdout == expected.tobytes() and not done.stderr, done.stderr
