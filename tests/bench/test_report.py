"""The tables must not flatter: wrong results, disturbed runs and failures are told apart."""
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.harness import figures, machine, machines, report, summary
from bench.harness.engines import ENGINES, RIVALS, STOCK, TEKTITE, environment
from bench.models import WORKLOADS, functions, functions_jax

ROOT = Path(__file__).resolve().parents[2]
ENGINES_SHOWN = [ENGINES[name] for name in (STOCK, TEKTITE, "xla", "openvino")]


def row(engine, ms, model="softmax", others=0.0, difference=0.0, **more):
    return {"model": model, "engine": engine, "threads": 1, "ms": ms, "others": others, "first_s": 1.0,
            "rss_mb": 100.0, "stats": None, "difference": difference, **more}


def failed(engine, why, model="softmax"):
    return {"model": model, "engine": engine, "threads": 1, "error": why}


def test_processes_whose_cpus_were_far_apart_do_not_count():
    near, far = {"threads": 2, "transfer_ns": 30.0}, {"threads": 2, "transfer_ns": 160.0}
    lines = summary.summarise([row(STOCK, 10, **near), row(STOCK, 15, **far), row(TEKTITE, 7, **far)])
    stock, ours = lines
    assert (stock["ms"], stock["quiet"], stock["disturbed"]) == (10, 1, False)
    assert ours["disturbed"] and ours["ms"] == 7


def test_where_all_cpus_are_as_far_apart_all_processes_count():
    rows = [row(STOCK, ms, threads=2, transfer_ns=ns) for ms, ns in [(10, 160.0), (12, 170.0), (14, None)]]
    assert summary.summarise(rows)[0]["quiet"] == 3
    assert not machine.is_far(45.0, 20.0), "within the spread of one cache"


def test_a_disturbed_process_does_not_count_beside_quiet_ones():
    lines = summary.summarise([row(STOCK, 10), row(STOCK, 30, others=0.5), row(TEKTITE, 5, others=0.5)])
    stock, ours = lines
    assert (stock["ms"], stock["quiet"], stock["disturbed"]) == (10, 1, False)
    assert ours["disturbed"] and ours["ratio"] == 2
    assert report.milliseconds(ours) == "5.00~" and report.milliseconds(stock) == "10.0"


def test_the_best_rival_must_be_right():
    lines = summary.summarise([row(STOCK, 10), row(TEKTITE, 5), row("openvino", 2, difference=0.1),
                               row("xla", 4, difference=1e-5)])
    assert summary.best_rival(lines, "softmax", 1)["engine"] == "xla"
    table = report.against_rivals(lines, 1, ENGINES_SHOWN)
    assert "(5.00)" in table and "| xla |" in " ".join(table.split()) and "0.800" in table
    counts, duels = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[-2:])
    assert counts == ["over workloads", "", "1", "1", "0", "", "1"]
    assert duels == ["tektite / it, mean", "", "1.00", "0.800", "-", "", ""]


def test_single_precision_is_no_result_of_a_double_precision_program():
    lines = summary.summarise([row(STOCK, 10, "black_scholes"),
                               row("openvino", 1, "black_scholes", difference=1e-7, double=True)])
    assert lines[1]["wrong"] and summary.best_rival(lines, "black_scholes", 1)["engine"] == STOCK


def test_a_difference_that_is_not_compiled_codes_stands_in_brackets():
    lines = summary.summarise([row(STOCK, 10, compiled=None), row(TEKTITE, 10, compiled=False),
                               row(TEKTITE, 10, "layer_norm", compiled=True)])
    assert [report.difference_cell(line) for line in lines] == ["0e+00", "(0e+00)", "0e+00"]


def test_a_rival_that_fails_is_explained_and_no_failure_of_the_run():
    lines = summary.summarise([row(STOCK, 10), row(TEKTITE, 5), failed("openvino", "cannot read it")])
    assert summary.complaints(lines) == []
    assert report.failures(lines) == ["openvino: cannot read it (softmax on 1 thread)"]
    assert summary.complaints(summary.summarise([row(STOCK, 10), failed(TEKTITE, "crashed")])) == [
        "softmax/tektite/1 threads: 1 processes failed"]
    wrong = summary.summarise([row(STOCK, 10), row(TEKTITE, 5, difference=1e-3)])
    assert "allowed is 2e-05" in summary.complaints(wrong)[0]


def test_without_stock_there_are_no_ratios():
    lines = summary.summarise([failed(STOCK, "crashed"), row(TEKTITE, 5)])
    assert "ratio" not in lines[1]
    cells = report.against_rivals(lines, 1, ENGINES_SHOWN).splitlines()[2].split("|")
    assert [c.strip() for c in cells[1:-1]] == ["softmax", "failed", "-", "-", "-", "-", "-"]


def test_means_stand_with_the_workload_that_carries_them_and_without():
    lines = summary.summarise([row(STOCK, 10), row(TEKTITE, 5), row("openvino", 8),
                               row(STOCK, 100, "seed_case"), row(TEKTITE, 1, "seed_case"), row("openvino", 50, "seed_case")])
    rows = {cells[0].strip(): [c.strip() for c in cells[1:]] for line in report.against_rivals(
        lines, 1, ENGINES_SHOWN).splitlines() if (cells := line.strip("|").split("|"))}
    assert rows["geometric mean"] == ["", "14.1", "-", "1.58", "", "8.94"]
    assert rows["without seed_case"] == ["", "2.00", "-", "1.25", "", "1.60"]


def table_rows(page: Path, heading: str) -> dict[str, list[str]]:
    """Of the first table below a heading, by their first cells."""
    table = page.read_text().split(f"{heading}\n", 1)[1]
    lines = [line for line in table.split("|\n\n", 1)[0].splitlines() if line.startswith("|")]
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in cells}


def test_readme_and_results_show_one_run():
    """README.md once quoted another run than bench/RESULTS.md."""
    kinds = json.loads(machines.DATA.read_text())
    page = ROOT / "bench/RESULTS.md"
    said = re.search(r"^Machine: (.*)\.$", page.read_text(), re.MULTILINE)[1]
    kind = machines.kind_of(dict(part.split(" ", 1) for part in said.split("; ")))
    found = kinds[kind]["inference"]["figures"]
    for threads in ("1", "2"):
        results = table_rows(page, f"### {report.title(int(threads))}")
        assert found.keys() <= results.keys()
        for model in found:
            assert figures.short(found[model][threads]["tektite"]) == results[model][1].strip("~()"), model


def test_markdown_says_where_and_with_what_it_was_measured():
    lines = summary.summarise([row(STOCK, 10), row(TEKTITE, 5), failed("xla", "no")])
    text = report.markdown(lines, ENGINES_SHOWN, {"cpu": "Some CPU", "cpus": 2}, {"jax": "0.1"}, "bench/compare --x")
    for part in ("Some CPU", "jax 0.1", "`bench/compare --x`", "### 1 thread", "Peak resident memory", "- xla: no"):
        assert part in text


def test_memory_is_counted_in_weights_beyond_stock():
    lines = summary.summarise([row(STOCK, 10), row(TEKTITE, 5, weights_mb=40.0) | {"rss_mb": 130.0}])
    cells = report.memory_table(lines, 1, ENGINES_SHOWN[:2]).splitlines()[2].split("|")
    assert [c.strip() for c in cells[1:-1]] == ["softmax", "40.0", "100", "130", "0.75"]


def test_tables_can_be_written_from_an_earlier_run(tmp_path):
    rows = [row(STOCK, 10), row(TEKTITE, 5)]
    kept, out = tmp_path / "kept.json", tmp_path / "out.md"
    kept.write_text(json.dumps({"runs": rows, "engines": [STOCK, TEKTITE], "machine": {}, "versions": {},
                                "command": "bench/compare"}))
    done = subprocess.run([sys.executable, ROOT / "bench/compare", "--from", kept, "--markdown", out],
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert "geometric mean of Tektite over 1: 2.00x" in done.stdout and "2.00" in out.read_text()


def test_double_outputs_are_noticed(tmp_path):
    np.savez(tmp_path / "a.npz", np.ones(2, np.float32))
    np.savez(tmp_path / "b.npz", np.ones(2, np.float32), np.ones(2))
    assert not figures.has_double(tmp_path / "a.npz") and figures.has_double(tmp_path / "b.npz")


def test_every_function_has_its_jax_form():
    for workload in functions.WORKLOADS:
        assert callable(getattr(functions_jax, workload.function.__name__))


def test_engines_start_without_what_would_steer_them(monkeypatch):
    for name, value in {"TF_ENABLE_ONEDNN_OPTS": "0", "OMP_NUM_THREADS": "7", "TEKTITE": "1",
                        "TEKTITE_FLAGS": "--x"}.items():
        monkeypatch.setenv(name, value)
    env = environment(ENGINES["onnxruntime"], threads=2)
    assert env["OMP_NUM_THREADS"] == "2" and env["TEKTITE_FLAGS"] == "--x"
    assert "TEKTITE" not in env and "TF_ENABLE_ONEDNN_OPTS" not in env


def test_rivals_are_the_engines_that_are_asked_for():
    assert STOCK not in RIVALS and TEKTITE not in RIVALS and len(RIVALS) >= 5
    assert all(e.family in ("", "jax", "onnx", "zentf", "litert") for e in ENGINES.values())
    for e in ENGINES.values():
        assert (ROOT / "bench/harness" / f"{e.runner}.py").exists()
        assert not e.reads or "train" not in e.kinds


@pytest.mark.parametrize("options,said", [
    (["--rivals", "openvin"], "no rival 'openvin'; there are xla"),
    (["--threads", "0"], "takes positive numbers"),
])
def test_wrong_usage_is_one_clear_line(options, said):
    done = subprocess.run([sys.executable, ROOT / "bench/compare", *options], text=True, capture_output=True)
    assert done.returncode == 2 and said in done.stderr


def test_setup_rivals_names_what_it_knows():
    done = subprocess.run([ROOT / "bench/setup_rivals", "tvm"], text=True, capture_output=True)
    assert done.returncode == 1 and done.stderr == "setup_rivals: no rival 'tvm'; there are onnx export jax zentf litert\n"
    assert "Usage: bench/setup_rivals" in subprocess.run(
        [ROOT / "bench/setup_rivals", "--help"], text=True, capture_output=True, check=True).stdout
    for family in ("onnx", "export", "jax", "zentf", "litert"):
        assert (ROOT / f"bench/rivals/requirements-{family}.txt").exists()


def test_workloads_of_an_unknown_name_still_have_a_table():
    lines = summary.summarise([row(STOCK, 1, "gone"), row("xla", 1, "gone")])
    assert "gone" not in WORKLOADS and "gone" in report.terminal(lines, ENGINES_SHOWN)
