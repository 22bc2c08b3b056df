"""Libraries of `tektite aot` in programs of C and C++: headers, linking, and what a program then needs.

CC and CXX name the compilers; without them, cc and c++.
"""
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.ahead_of_time.test_libraries import COMMAND, jit, mlp, tektite

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
