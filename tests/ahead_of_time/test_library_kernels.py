"""libtektite_kernels.a under ASan and UBSan, which the sources of its kernels are compiled with here.

Each kernel runs with numbers, with values that are none (log of a random number, a quotient by 0), with lines of one element and with
none, in a library's test program, whose expected results are the JIT's. Its arguments and results are blocks of their own, so
that what is read or written beyond their ends is found. The solvers are compiled for ASan alone, and the decomposition into
singular values is the archive's own object: the compiler would take minutes.
"""
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.ahead_of_time.test_libraries import ROOT, tektite

KERNELS = ROOT / "build/cmake/backends/cpu/libtektite_kernels.a"
ADDRESSES = "-fsanitize=address"
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1"]
VALUES = {"numbers": None, "NaN": "log({x})", "infinite": "div({x}, {rounded})"}


class Graph:
    """The text of a graph, a line after the other."""

    def __init__(self, arguments):
        self.head = ", ".join(f"%{name}: {kind}" for name, kind in arguments.items())
        self.lines, self.results, self.checked = [], [], set()

    def value(self, kind, text):
        self.lines.append(f"  %v{len(self.lines)}: {kind} = {text}")
        return f"%v{len(self.lines) - 1}"

    def op(self, text, *kinds, checked):
        """`checked`: numbers of the results that are defined."""
        several = f":{len(kinds)} : ({', '.join(kinds)})" if len(kinds) > 1 else f": {kinds[0]}"
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name}{several} = {text}")
        for i, kind in enumerate(kinds):
            if i in checked:
                self.checked.add(f"result_{len(self.results)}")
            self.results.append((f"{name}#{i}" if len(kinds) > 1 else name, kind))

    def text(self):
        kinds, names = ", ".join(kind for _, kind in self.results), ", ".join(name for name, _ in self.results)
        return "\n".join([f"graph @f({self.head}) -> ({kinds}) {{", *self.lines, f"  return {names}", "}", ""])


def kernels_graph(n, dtype, values, line=12):
    """All kernels, of n lines, n elements or n matrices."""
    t = dtype
    graph = Graph({"x": f"{t}[{n},{line}]", "y": f"{t}[{n},{line}]", "mask": f"bool[{n}]", "a": f"{t}[{n},5,5]", "b": f"{t}[{n},5,2]",
                   "d": f"{t}[{n},3,5]", "boxes": f"f32[{n},4]", "scores": f"f32[{n}]", "most": "s32[]", "part": "f32[]",
                   "keys": f"s32[{n},3]"})

    def special(name, kind):
        if VALUES[values] is None:
            return name
        rounded = graph.value(kind, f"round_even({name})")
        return graph.value(kind, VALUES[values].format(x=name, rounded=rounded))

    whole = values == "numbers"
    x, y = special("%x", f"{t}[{n},{line}]"), special("%y", f"{t}[{n},{line}]")
    a, b, d = special("%a", f"{t}[{n},5,5]"), special("%b", f"{t}[{n},5,2]"), special("%d", f"{t}[{n},3,5]")
    boxes, scores = special("%boxes", f"f32[{n},4]"), special("%scores", f"f32[{n}]")
    lines, spectrum, count = f"{t}[{n},{line}]", f"{t}[{n},{line // 2 + 1}]", "s64[]"
    for dimension in 0, 1:
        graph.op(f"sort({x}, %y) {{descending = true, dimension = {dimension}}}", lines, lines, checked={0, 1})
        graph.op(f"fft({x}, {y}) {{dimension = {dimension}, inverse = {'true' if dimension else 'false'}}}", lines, lines, checked={0, 1})
    for heap in "true", "false":
        k = min(3, line)
        graph.op(f"top_k({x}) {{heap = {heap}, k = {k}}}", f"{t}[{n},{k}]", f"s32[{n},{k}]", checked={0, 1})
    graph.op(f"real_fft({x}) {{dimension = 1}}", spectrum, spectrum, checked={0, 1})
    graph.op(f"compact(%mask, {x})", lines, count, checked={1})
    graph.op("nonzero(%mask)", f"s64[{n},1]", count, checked={1})
    graph.op(f"unique({scores}) {{dtype = s64}}", f"f32[{n}]", f"s64[{n}]", f"s64[{n}]", count, checked={1, 3})
    graph.op("unique(%keys) {dtype = s32}", f"s32[{n},3]", f"s32[{n}]", f"s32[{n}]", count, checked={1, 3})
    graph.op(f"is_member({scores}, {scores})", f"bool[{n}]", checked={0})
    graph.op(f"non_max_suppression({boxes}, {scores}, %most, %part, %part, %part) {{shape = (4)}}", "s32[4]", "f32[4]", count, checked={2})
    answers = f"bool[{n}]"
    graph.op(f"cholesky({a})", f"{t}[{n},5,5]", answers, checked={1})
    graph.op(f"triangular_solve({a}, {b}) {{lower = true, transpose_a = true}}", f"{t}[{n},5,2]", answers, checked={0, 1} if whole else {1})
    graph.op(f"solve({a}, {b})", f"{t}[{n},5,2]", answers, checked={0, 1} if whole else {1})
    graph.op(f"tridiagonal_solve({d}, {b}) {{pivots = true}}", f"{t}[{n},5,2]", answers, checked={1})
    graph.op(f"qr({b}) {{full = true}}", f"{t}[{n},5,5]", f"{t}[{n},5,2]", answers, checked={2})
    graph.op(f"eigh({a}) {{vectors = true}}", f"{t}[{n},5]", f"{t}[{n},5,5]", answers, checked={2})
    graph.op(f"svd({b}) {{full = false, vectors = true}}", f"{t}[{n},2]", f"{t}[{n},5,2]", f"{t}[{n},2,2]", answers, checked={3})
    return graph


def long_lines_graph():
    graph = Graph({"x": "f32[1,40000]", "y": "f32[1,40000]", "z": "f32[1,31]"})
    graph.op("fft(%x, %y) {dimension = 1, inverse = true}", "f32[1,40000]", "f32[1,40000]", checked={0, 1})
    graph.op("real_fft(%x) {dimension = 1}", "f32[1,20001]", "f32[1,20001]", checked={0, 1})
    graph.op("inverse_real_fft(%z, %z) {dimension = 1, shape = (61)}", "f32[1,61]", checked={0})
    graph.op("sort(%x) {descending = false, dimension = 1}", "f32[1,40000]", checked={0})
    graph.op("top_k(%x) {heap = false, k = 300}", "f32[1,300]", "s32[1,300]", checked={0, 1})
    return graph


def sources():
    """Of the archive's members."""
    names = subprocess.run(["ar", "t", KERNELS], check=True, capture_output=True, text=True).stdout.split()
    folders = [ROOT / "backends/cpu/library", ROOT / "jit/ir", ROOT / "jit/ops"]
    return [next(path for folder in folders if (path := folder / name.removesuffix(".o")).exists()) for name in names]


@pytest.fixture(scope="module")
def sanitized_kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")

    def compiled(source):
        out = folder / f"{source.stem}.o"
        if source.stem == "singular_values":
            out.write_bytes(subprocess.run(["ar", "p", KERNELS, f"{source.name}.o"], check=True, capture_output=True).stdout)
            return out
        cache = ["ccache"] if shutil.which("ccache") else []
        kinds = [ADDRESSES] if source.stem == "matrix_solvers" else SANITIZERS
        subprocess.run([*cache, os.environ.get("CXX", "c++"), "-std=c++17", "-O0", *kinds, "-mavx2", "-mfma", f"-I{ROOT}", "-isystem",
                        "/usr/include/eigen3", "-c", source, "-o", out], check=True)
        return out

    with ThreadPoolExecutor(os.cpu_count()) as workers:
        objects = list(workers.map(compiled, sources()))
    assert len(objects) > 10
    return objects


def run(graph, folder, kernels, *options):
    """Runs the test program of the graph's library."""
    folder.mkdir()
    (folder / "kernels.ir").write_text(graph.text())
    tektite("aot", folder / "kernels.ir", "--out", folder, "--cpu", "x86-64-v3", "--test", *options)
    subprocess.run([os.environ.get("CC", "cc"), "-O1", *SANITIZERS, "-c", folder / "kernels_test.c", "-o", folder / "test.o"], check=True)
    subprocess.run([os.environ.get("CXX", "c++"), *SANITIZERS, folder / "test.o", folder / "libkernels.a", *kernels, "-lm", "-o",
                    folder / "test"], check=True)
    # The program does not free its arguments and results.
    (folder / "leaks").write_text("leak:memory_of\n")
    done = subprocess.run([folder / "test"], text=True, capture_output=True, timeout=300,
                          env={**os.environ, "LSAN_OPTIONS": f"print_suppressions=0:suppressions={folder}/leaks"})
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
    answers = dict(line.split(": ") for line in done.stdout.splitlines())
    assert set(answers) == {f"result_{i}" for i in range(len(graph.results))}
    wrong = {name for name, given in answers.items() if given == "WRONG"}
    assert not wrong & graph.checked, (wrong & graph.checked, done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("values", VALUES)
def test_under_sanitizers(values, dtype, sanitized_kernels, tmp_path):
    """Sizes that are fixed, and a size that calls choose."""
    for line in 1, 12:
        run(kernels_graph(5, dtype, values, line), tmp_path / f"fixed_{line}", sanitized_kernels)
    for n in 0, 1:
        run(kernels_graph("n", dtype, values), tmp_path / f"open_{n}", sanitized_kernels, "--typical", f"n={n}")


@pytest.mark.slow
def test_long_lines_under_sanitizers(sanitized_kernels, tmp_path):
    run(long_lines_graph(), tmp_path / "long", sanitized_kernels)
