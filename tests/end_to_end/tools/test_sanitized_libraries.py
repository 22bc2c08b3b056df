"""Libraries of small models of the zoo in programs that are watched.

Each program is the library's own test (`--test`), compiled with the sanitizers of addresses and of undefined behaviour, with memory
that is guarded (bench/harness/guarded_memory.py). Copies of a program that lie to the library about its memory must fail.
`bench/ahead_of_time --zoo all --sanitize` does this with the whole zoo.
"""
import os
import subprocess
from pathlib import Path

import pytest

from bench.harness.guarded_memory import sanitizers
from tests import conftest

CASES = ["while_loop", "cond", "beam_step", "quantized", "embedding_bag", "separable", "masked_gru"]
MAKE = """
import pathlib, sys
sys.path.insert(0, ROOT)
from bench.harness.runners import make_model
from bench.harness.tensorflow_runner import signature, traced
from bench.zoo import CASES
refused = {}
for case in CASES.values():
    if case.name not in NAMES:
        continue
    workload = case.workload(2)
    try:
        tektite.aot(traced(workload, make_model(workload, pathlib.Path(FOLDER))), *signature(workload), out=f"{FOLDER}/{case.name}",
                    name="model", test=True)
    except ValueError as error:
        refused[case.name] = str(error)
report(refused=refused)
"""

ARENA = "tektite_aot_arena arena = {memory_of(needed), needed};"
# What the test program hands over instead, and what then must be seen.
LIES = {"an arena that is too short": ("{memory_of(needed / 128 * 64), needed}", "SEGV"),
        "an arena that begins before its memory": ("{(char*)memory_of(needed) - 64, needed}", "before the memory")}

# Two threads call at once, each with memory of its own.
TWO_THREADS = r"""
#define main test_main
#include "model_test.c"
#undef main
#include <pthread.h>
static void* call(void* unused) {
  char* arguments[] = {"model_test", NULL};
  (void)unused;
  return (void*)(intptr_t)test_main(1, arguments);
}
int main(void) {
  pthread_t threads[2];
  void* answers[2];
  for (int i = 0; i < 2; ++i) {
    if (pthread_create(&threads[i], NULL, call, NULL) != 0) return 1;
  }
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], &answers[i]);
  return answers[0] != NULL || answers[1] != NULL;
}
"""
RACE = "static int shared; ++shared;\n  const tektite_aot_threads threads ="


def build(library, source, *flags):
    kernels = library / "libtektite_kernels.a"
    more = [kernels, "-lstdc++"] if kernels.exists() else []
    program = library / source.removesuffix(".c")
    done = subprocess.run([os.environ.get("CC") or "cc", "-std=gnu11", "-g", "-O0", *flags, library / source, library / "libmodel.a",
                           *more, "-lm", "-lpthread", "-o", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def run(program):
    return subprocess.run([program], capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A library of each case, with its test program."""
    folder = tmp_path_factory.mktemp("libraries")
    names = f"ROOT, FOLDER, NAMES = {str(Path(__file__).resolve().parents[3])!r}, {str(folder)!r}, {CASES!r}\n"
    values = conftest.run(names + MAKE, tektite="0").values
    assert not values["refused"], values["refused"]
    return folder


def build_guarded(folder, name, source="model_test.c"):
    return build(folder / name, source, *sanitizers(folder / name))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_call_touches_what_is_not_its_own(run_program, folder, name):
    done = run(build_guarded(folder, name))
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert done.stdout.count("the same bits") == len(done.stdout.splitlines()), done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("lie", LIES)
def test_a_call_that_touches_more_is_seen(folder, lie):
    """The test above can fail: this program's arena is not what the library is told."""
    text = (folder / "separable/model_test.c").read_text()
    assert text.count(ARENA) == 1
    memory, seen = LIES[lie]
    (folder / "separable/lie.c").write_text(text.replace(ARENA, f"tektite_aot_arena arena = {memory};"))
    done = run(build_guarded(folder, "separable", "lie.c"))
    assert done.returncode != 0 and seen in done.stdout + done.stderr, (done.stdout, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["separable", "while_loop", "masked_gru"])
def test_two_threads_call_at_once(folder, name):
    (folder / name / "two_threads.c").write_text(TWO_THREADS)
    done = run(build(folder / name, "two_threads.c", "-fsanitize=thread"))
    assert done.returncode == 0 and done.stdout.count("the same bits") == len(done.stdout.splitlines()) > 0, (done.stdout, done.stderr)


@pytest.mark.slow
def test_threads_that_share_something_are_seen(folder):
    library = folder / "separable"
    text = (library / "model_test.c").read_text()
    (library / "race_test.c").write_text(text.replace("const tektite_aot_threads threads =", RACE))
    (library / "race.c").write_text(TWO_THREADS.replace("model_test.c", "race_test.c"))
    done = run(build(library, "race.c", "-fsanitize=thread"))
    assert done.returncode != 0 and "data race" in done.stderr, (done.stdout, done.stderr)
