"""Libraries of small models of the zoo in programs that are watched.

Each program is the library's own test (`--test`), compiled with the sanitizers of addresses and of undefined behaviour. They do not
see into machine code that is linked, so that all memory which a call is given ends at a page that nobody may touch.
"""
import os
import subprocess
from pathlib import Path

import pytest

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

# Memory from posix_memalign ends where a page without access begins.
GUARD = r"""
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
static inline int guarded_memalign(void** memory, size_t alignment, size_t bytes) {
  const size_t page = 4096, pages = (bytes + page - 1) / page + 1;
  char* const all = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)alignment;
  if (all == MAP_FAILED || mprotect(all + pages * page, page, PROT_NONE) != 0) return 1;
  *memory = all + pages * page - bytes;
  return 0;
}
#define posix_memalign guarded_memalign
#define free(memory) ((void)(memory))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("libraries")


def build(folder, name, *flags):
    library = folder / name
    kernels = library / "libtektite_kernels.a"
    more = [kernels, "-lstdc++"] if kernels.exists() else []
    program = library / "test"
    done = subprocess.run([os.environ.get("CC") or "cc", "-std=gnu11", "-g", "-O1", *flags,
                           library / "model_test.c", library / "libmodel.a", *more, "-lm", "-lpthread", "-o", program],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.slow
def test_no_call_touches_what_is_not_its_own(run_program, folder):
    names = f"ROOT, FOLDER, NAMES = {str(Path(__file__).resolve().parents[2])!r}, {str(folder)!r}, {CASES!r}\n"
    values = run_program(names + MAKE, tektite="0").values
    assert not values["refused"], values["refused"]
    (folder / "guard.h").write_text(GUARD)
    for name in CASES:
        program = build(folder, name, "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-include", folder / "guard.h")
        done = subprocess.run([program], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (name, done.stdout, done.stderr)
        assert done.stdout.count("the same bits") == len(done.stdout.splitlines()), (name, done.stdout)
