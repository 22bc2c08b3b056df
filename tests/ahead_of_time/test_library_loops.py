"""Loops and choices in libraries: threads share the kernels inside, and the bits are the JIT's.

A kernel here is a product of 48 rows with a matrix of 256 x 256, far more than what is worth sharing.
"""
import concurrent.futures
import ctypes
import threading

import numpy as np
import pytest

from tests.ahead_of_time.test_libraries import JIT, load, tektite

PRODUCT = '{lhs_contracting = [1], rhs_contracting = [0]}'


def counter(name, count):
    """A condition: the first value is less than `count`."""
    return f"""graph @{name}(%i: s32[], %a: f32[n,256], %w: f32[256,256]) -> (bool[]) {{
      %n: s32[] = constant() {{value = s32[]{{{count}}}}}
      %c: bool[] = compare(%i, %n) {{direction = "lt"}}
      return %c
    }}"""


VALUES = "(%i: s32[], %a: f32[n,256], %w: f32[256,256]) -> (s32[], f32[n,256], f32[256,256])"
TYPES = "(s32[], f32[n,256], f32[256,256])"
BODY = f"""{VALUES} {{
      %one: s32[] = constant() {{value = s32[]{{1}}}}
      %next: s32[] = add(%i, %one)
      %d: f32[n,256] = dot_general(%a, %w) {PRODUCT}
      %t: f32[n,256] = tanh(%d)
      return %next, %t, %w
    }}"""


def graph(name, *lines):
    text = "\n".join(lines)
    return f"""graph @{name}(%x: f32[n,256], %w: f32[256,256]) -> (f32[n,256]) {{
  %zero: s32[] = constant() {{value = s32[]{{0}}}}
  {text}
}}
"""


UNTIL = graph("until", f"""%r:3 : {TYPES} = while(%zero, %x, %w)
    graph @condition(%i: s32[], %a: f32[n,256], %w: f32[256,256]) -> (bool[]) {{
      %b: f32[n,256] = abs(%a)
      %most: f32[] = reduce(%b) {{dimensions = [0, 1], reducer = "max"}}
      %limit: f32[] = constant() {{value = f32[]{{0.01}}}}
      %c: bool[] = compare(%most, %limit) {{direction = "gt"}}
      return %c
    }}
    graph @body{BODY}
  return %r#1""")
NESTED = graph("nested", f"""%r:3 : {TYPES} = while(%zero, %x, %w)
    {counter("condition", 3)}
    graph @body{VALUES} {{
      %start: s32[] = constant() {{value = s32[]{{0}}}}
      %s:3 : {TYPES} = while(%start, %a, %w)
        {counter("inner_condition", 4)}
        graph @inner{BODY}
      %one: s32[] = constant() {{value = s32[]{{1}}}}
      %next: s32[] = add(%i, %one)
      %e: f32[n,256] = add(%s#1, %a)
      return %next, %e, %w
    }}
  return %r#1""")
CHOICES = graph("choices", f"""%r:3 : {TYPES} = while(%zero, %x, %w)
    {counter("condition", 5)}
    graph @body{VALUES} {{
      %one: s32[] = constant() {{value = s32[]{{1}}}}
      %next: s32[] = add(%i, %one)
      %d: f32[n,256] = conditional(%i, %a, %w)
        graph @first(%a: f32[n,256], %w: f32[256,256]) -> (f32[n,256]) {{
          %d: f32[n,256] = dot_general(%a, %w) {PRODUCT}
          return %d
        }}
        graph @second(%a: f32[n,256], %w: f32[256,256]) -> (f32[n,256]) {{
          %d: f32[n,256] = neg(%a)
          return %d
        }}
        graph @others(%a: f32[n,256], %w: f32[256,256]) -> (f32[n,256]) {{
          %d: f32[n,256] = dot_general(%a, %w) {PRODUCT}
          %t: f32[n,256] = tanh(%d)
          return %t
        }}
      return %next, %d, %w
    }}
  return %r#1""")
TWO = graph("two", f"""%r:3 : {TYPES} = while(%zero, %x, %w)
    {counter("condition", 7)}
    graph @body{BODY}
  %m: f32[n,256] = neg(%x)
  %s:3 : {TYPES} = while(%zero, %m, %w)
    {counter("condition", 3)}
    graph @body{BODY}
  %y: f32[n,256] = sub(%r#1, %s#1)
  return %y""")
GRAPHS = {"until": UNTIL, "nested": NESTED, "choices": CHOICES, "two": TWO}


@pytest.fixture(scope="module")
def inputs():
    rng = np.random.default_rng(5)
    return {"x": rng.standard_normal((48, 256)).astype(np.float32),
            "w": (rng.standard_normal((256, 256)) / 32).astype(np.float32)}


def library(folder, name):
    path = folder / f"{name}.ir"
    path.write_text(GRAPHS[name])
    tektite("aot", path, "--out", folder, "--python", "--typical", "n=48")
    return load(folder, name), path


@pytest.fixture(scope="module", params=GRAPHS)
def loops(request, tmp_path_factory, inputs):
    """A library's module, and the JIT's result."""
    folder = tmp_path_factory.mktemp(request.param)
    module, path = library(folder, request.param)
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
    tektite("run", path, "--input", folder / "x.npy", "--input", folder / "w.npy", "-d", folder / "out", flags=JIT)
    [expected] = [np.load(file) for file in (folder / "out").glob("*.npy")]
    assert np.isfinite(expected).all() and expected.any()
    return module, expected


def add_parallel_for(module, key, count, run_all):
    """Calls with `threads=key` offer `count` threads, and `run_all` runs the bodies of a list."""
    @module._THREADS_FUNCTION
    def run(context, bodies, body, argument):
        body = ctypes.cast(body, module._BODY)
        run_all([lambda index=index: body(argument, index) for index in range(bodies)])
    module._pools[key] = module._Threads(count, None, run)


def test_every_number_of_threads_gives_the_jits_bits(loops, inputs):
    module, expected = loops
    for threads, calls in (1, 1), (2, 20), (3, 10), (11, 2):
        for _ in range(calls):
            [result] = module.run(threads=threads, **inputs).values()
            assert result.tobytes() == expected.tobytes(), threads


def test_bodies_may_run_in_any_order_and_on_fewer_threads(loops, inputs):
    module, expected = loops
    two = concurrent.futures.ThreadPoolExecutor(2)
    add_parallel_for(module, 101, 5, lambda bodies: [body() for body in reversed(bodies)])
    add_parallel_for(module, 102, 5, lambda bodies: list(two.map(lambda body: body(), bodies)))
    for threads in 101, 102:
        [result] = module.run(threads=threads, **inputs).values()
        assert result.tobytes() == expected.tobytes(), threads


def test_calls_at_once_have_loops_of_their_own(loops, inputs):
    module, expected = loops
    module.run(threads=2, **inputs)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda _: module.run(threads=2, **inputs), range(30)))
    assert all(value.tobytes() == expected.tobytes() for result in results for value in result.values())


def test_no_rows_and_one_row(loops, inputs):
    module, _ = loops
    for rows in 0, 1:
        x = inputs["x"][:rows]
        alone, shared = (module.run(x=x, w=inputs["w"], threads=threads) for threads in (1, 3))
        assert [a.tobytes() for a in alone.values()] == [s.tobytes() for s in shared.values()]


def test_a_thread_that_waits_for_a_loop_helps_with_its_kernels(tmp_path, inputs):
    """Both leave something in the scratch memory of the product, which is each thread's own and lies at the arena's end."""
    module, _ = library(tmp_path, "choices")
    both = threading.Barrier(2)
    pool = concurrent.futures.ThreadPoolExecutor(2)
    add_parallel_for(module, 103, 2, lambda bodies: list(pool.map(lambda body: (both.wait(), body()), bodies)))
    sizes, team = ctypes.byref(module._Sizes(48)), ctypes.byref(module._pools[103])
    needed = module._arena_bytes(sizes, team)
    scratch = needed - module._arena_bytes(sizes, None)
    assert scratch > 0
    result = np.empty((48, 256), np.float32)
    args, results = ([array.ctypes.data for array in arrays] for arrays in (inputs.values(), [result]))
    arena = module._aligned(needed)
    for _ in range(1000):
        arena[:] = 0
        assert module._run(sizes, ctypes.byref(module._Args(*args)), ctypes.byref(module._Results(*results)),
                           module._Arena(arena.ctypes.data, needed), team) == 0
        if arena[-2 * scratch:-scratch].any() and arena[-scratch:].any():
            return
    raise AssertionError("one thread ran all kernels in 1000 calls")
