"""--f32_products=bf16x3 in libraries: which instructions the code has, on any machine, and the JIT's bits where there is AMX."""
import os
import subprocess
from pathlib import Path

import pytest

from tests.ahead_of_time.test_libraries import tektite

PRODUCT = """graph @f(%x: f32[64,256], %w: f32[256,96] {weight = true}) -> (f32[64,96]) {
  %p: f32[64,96] = dot_general(%x, %w) {lhs_contracting = [1], rhs_contracting = [0]}
  return %p
}
"""


def instructions(folder, cpu, flags):
    """How many products of bf16 in tiles the library's code has."""
    (folder / "product.ir").write_text(PRODUCT)
    tektite("aot", folder / "product.ir", "--out", folder, "--cpu", cpu, flags=flags)
    code = subprocess.run(["objdump", "-d", folder / "libproduct.a"], capture_output=True, text=True, check=True).stdout
    return code.count("tdpbf16ps")


def test_a_product_is_three_of_halves(tmp_path):
    whole = instructions(tmp_path, "amx", "--f32_products=bf16")
    assert whole > 0 and instructions(tmp_path, "amx", "--f32_products=bf16x3") == 3 * whole


@pytest.mark.parametrize("cpu, flags", [("amx", ""), ("x86-64-v4", "--f32_products=bf16x3"), ("x86-64-v3", "--f32_products=bf16x3")])
def test_no_halves_without_permission_or_tiles(cpu, flags, tmp_path):
    assert instructions(tmp_path, cpu, flags) == 0


@pytest.mark.skipif("amx_bf16" not in Path("/proc/cpuinfo").read_text(), reason="no AMX")
@pytest.mark.parametrize("cpu", ["native", "amx"])
def test_the_jits_bits_of_halves(cpu, tmp_path):
    (tmp_path / "product.ir").write_text(PRODUCT)
    tektite("aot", tmp_path / "product.ir", "--out", tmp_path, "--cpu", cpu, "--test", flags="--f32_products=bf16x3")
    subprocess.run([os.environ.get("CC", "cc"), "-O1", tmp_path / "product_test.c", tmp_path / "libproduct.a", "-lm", "-o", tmp_path / "test"],
                   check=True)
    done = subprocess.run([tmp_path / "test"], text=True, capture_output=True)
    assert done.returncode == 0 and done.stdout.split("\n")[0].endswith("the same bits"), done.stdout
