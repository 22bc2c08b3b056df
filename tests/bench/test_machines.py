"""bench/publish: tables of several machines, where a run of one must not lose another's figures."""
import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.harness import machines
from bench.harness.pages import write_section

ROOT = Path(__file__).resolve().parents[2]
INTEL = {"cpu": "Intel(R) Xeon(R) Processor", "features": "avx2 fma avx512f amx_tile", "date": "2026-01-02"}
AMD = {"cpu": "AMD EPYC", "features": "avx2 fma", "date": "2026-01-01"}


def line(engine, ms, threads=1, **more):
    return {"model": "mlp_train", "engine": engine, "threads": threads, "ms": ms, "ratio": 10.0 / ms, "disturbed": False, "failed": 0, **more}


def entry(machine, own_ms, **more):
    return machines.entry(machines.of_turns([line("tf", 10.0), line("tektite", own_ms, **more), line("jax", 8.0), line("xla", 1.0, wrong=True)]), machine, "1a2b3c4", "x")


def test_kinds_are_told_by_vendor_and_vectors():
    assert machines.kind_of(INTEL) == "Intel with AMX" and machines.kind_of(AMD) == "AMD with AVX2"
    assert machines.kind_of({"cpu": "AMD EPYC", "features": "avx2 avx512f"}) == "AMD with AVX-512"


def test_kinds_are_columns_with_the_best_rival_whose_results_are_right():
    kinds = {"AMD with AVX2": {"training": entry(AMD, 5.0)}, "Intel with AMX": {"training": entry(INTEL, 4.0, disturbed=True)}}
    table = machines.table_of(kinds, "training")
    assert table.index("AMD with AVX2, 1 thread") < table.index("Intel with AMX, 1 thread")
    assert "2.00 (jax 1.25)" in table and "2.50~ (jax 1.25)" in table
    assert "2.00; 1.60 times the rival" in table
    sources = machines.sources(kinds, "training")
    assert "AMD EPYC, 2026-01-01, commit 1a2b3c4" in sources and "2026-01-02" in sources


def test_a_workload_that_one_kind_lacks_is_a_dash():
    kinds = {"a": {"training": entry(AMD, 5.0)}, "b": {"training": {**entry(AMD, 5.0), "figures": {"gru_train": {"1": {
        "base_ms": 1.0, "tektite": 3.0, "rival": 1.0, "rival_name": "tf"}}}}}}
    rows = [row.split("|")[1:-1] for row in machines.table_of(kinds, "training").splitlines()]
    assert [cell.strip() for cell in rows[3]] == ["gru_train", "-", "3.00"]


def test_an_engine_without_a_figure_is_left_out():
    assert machines.of_turns([line("tf", 10.0), {"model": "mlp_train", "engine": "tektite", "threads": 1, "failed": 1}]) == {}


def test_rows_of_engines_that_took_turns_have_the_best_rival():
    rows = [{"model": "gpt2", "threads": 1, "ms": {"f32": 40.0, "int8": own, "OpenVINO int8": 20.0, "LiteRT int8": 25.0}} for own in (10.0, 8.0, 8.0)]
    rows += [{"model": "bart", "threads": 1, "ms": {"f32": 40.0, "int8": 20.0}, "wrong": True}, {"model": "opt", "threads": 1, "ms": {"f32": 40.0}}]
    found = machines.of_rows(rows, "f32", "int8", {"OpenVINO int8": "openvino", "LiteRT int8": "litert"})
    assert found == {"gpt2": {"1": {"base_ms": 40.0, "tektite": 5.0, "rival": 2.0, "rival_name": "openvino"}},
                     "bart": {"1": {"base_ms": 40.0, "tektite": 2.0, "rival": 1.0, "rival_name": "tf", "wrong": True}}}


def test_a_base_that_is_not_tensorflow_is_named():
    assert "over Tektite in f32 in" in machines.how_to_read("low_precision") and "faster than stock" in machines.how_to_read("training")


def test_pages_come_from_the_kept_figures():
    """README.md and RESULTS.md are what bench/machines.json says, to the letter."""
    kinds = json.loads(machines.DATA.read_text())
    assert machines.readme(kinds).strip() in (ROOT / "README.md").read_text()
    results = (ROOT / "bench/RESULTS.md").read_text()
    assert all(section.strip() in results for section in machines.sections(kinds))


def test_nothing_measured_nothing_changed(tmp_path):
    subprocess.run([sys.executable, ROOT / "bench/publish", "--minutes", "0", "--output", tmp_path], check=True, timeout=120)
    assert json.loads((tmp_path / "bench/machines.json").read_text()) == json.loads(machines.DATA.read_text())
    write_section(tmp_path / "README.md", "## What it gains\n\nold\n")
    subprocess.run([sys.executable, ROOT / "bench/publish", "--minutes", "0", "--output", tmp_path], check=True, timeout=120)
    assert (tmp_path / "README.md").read_text().strip() == machines.readme(json.loads(machines.DATA.read_text())).strip()


@pytest.mark.parametrize("wrong, said", [(["--groups", "nothing"], "no group nothing"), (["--models", "nothing"], "no model nothing")])
def test_unknown_names_are_one_clear_line(wrong, said):
    done = subprocess.run([sys.executable, ROOT / "bench/publish", *wrong], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and said in done.stderr.splitlines()[-1]
