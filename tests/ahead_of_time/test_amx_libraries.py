"""AMX's tiles in a library: it asks the system at its first call, and runs other code where the system says no.

Linux refuses where a thread's signal stack has no room for tiles, which is how these programs have it refuse.
"""
import os
import subprocess
from pathlib import Path

import pytest

from tests.ahead_of_time.test_libraries import mlp, tektite

PRODUCT = """graph @f(%x: bf16[64,256], %w: bf16[256,96]) -> (bf16[64,96]) {
  %p: bf16[64,96] = dot_general(%x, %w) {lhs_contracting = [1], rhs_contracting = [0]}
  return %p
}
"""
# ARCH_GET_XCOMP_PERM, and the bit of XFEATURE_XTILEDATA in its answer.
SAY = """#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((destructor)) static void say(void) {
  unsigned long granted = 0;
  syscall(SYS_arch_prctl, 0x1022, &granted);
  printf("tiles: %s\\n", (granted >> 18 & 1) != 0 ? "granted" : "not granted");
}
"""
REFUSE = SAY + """#include <signal.h>
__attribute__((constructor)) static void refuse(void) {
  static char memory[4096];
  const stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
  sigaltstack(&stack, NULL);
}
"""


@pytest.fixture(autouse=True)
def needs_amx():
    if "amx_bf16" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("no AMX")


def run(folder, cpu, text, around, code=0):
    """What the test program of a library says, and then whether its process may use tiles."""
    model = folder / ("model.ir" if text.startswith("graph") else "model.pbtxt")
    model.write_text(text)
    report = tektite("aot", model, "--out", folder, "--name", "model", "--cpu", cpu, "--test")
    (folder / "around.c").write_text(around)
    subprocess.run([os.environ.get("CC", "cc"), "-O1", folder / "around.c", folder / "model_test.c", folder / "libmodel.a", "-lm", "-o",
                    folder / "test"], check=True)
    done = subprocess.run([folder / "test"], text=True, capture_output=True)
    assert done.returncode == code, (done.returncode, done.stdout)
    *answers, tiles = done.stdout.splitlines()
    return report, set(answers), tiles


@pytest.mark.parametrize("cpu", ["native", "amx", "amx,x86-64-v4"])
def test_the_jits_bits_with_tiles(cpu, tmp_path):
    report, answers, tiles = run(tmp_path, cpu, PRODUCT, SAY)
    assert answers == {"result_0: the same bits"} and tiles == "tiles: granted"
    assert report.count("code for") == len(cpu.split(","))


def test_other_code_where_the_system_refuses(tmp_path):
    _, answers, tiles = run(tmp_path, "amx,x86-64-v4", PRODUCT, REFUSE)
    assert answers <= {"result_0: the same bits", "result_0: close"} and tiles == "tiles: not granted"


def test_an_error_where_there_is_no_other_code(tmp_path):
    _, [answer], _ = run(tmp_path, "amx", PRODUCT, REFUSE, code=1)
    assert "lacks instructions" in answer and "the system does not let the process use them" in answer


def test_a_library_without_tiles_does_not_ask(tmp_path):
    _, answers, tiles = run(tmp_path, "native", mlp(4), SAY)
    assert answers == {"r: the same bits"} and tiles == "tiles: not granted"


def test_code_for_amx_that_has_no_tiles_is_left_out(tmp_path):
    report, answers, _ = run(tmp_path, "amx,x86-64-v4", mlp(4), SAY)
    assert "left out amx: its code is that for x86-64-v4" in report and answers <= {"r: the same bits", "r: close"}
