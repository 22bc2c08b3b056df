"""bench/reports: the pages, from figures that are made up, and runs that go on."""
import json
import subprocess
import sys
from pathlib import Path

from bench.harness import report_pages, report_turns


def row(engine, batch=1, **values):
    return {"engine": engine, "model": "net", "kind": "infer", "input": "real", "batch": batch, "first_s": 2.0, "ms": 10.0,
            "p90_ms": 11.0, "per_second": 100.0 * batch, "input_share": 0.25, "rss_mb": 500.0, "others": 0.0, "disturbed": False, "steps": 3, "commit": "aaa", **values}


def test_a_page_holds_both_sides_the_machine_and_the_picture(tmp_path):
    rows = [row("tf"), row("tektite", per_second=150.0, commit="bbb"), row("tf", 8), row("tektite", 8, disturbed=True), row("tf", 32),
            {"engine": "tektite", "model": "net", "kind": "infer", "input": "real", "batch": 32, "error": "no memory"}]
    report_pages.write(tmp_path, "net", rows, {"cpu": "a processor", "cpus": 2}, threads=2)
    page, svg = (tmp_path / "net.md").read_text(), (tmp_path / "net.svg").read_text()
    assert "at commit aaa, bbb, 2 threads" in page and "cpu a processor, cpus 2" in page and "![throughput](net.svg)" in page
    assert "1.50" in page and "25%" in page and "1.00 ?" in page and "no memory" in page
    assert svg.startswith("<svg") and svg.count("<rect") == 6 and "150.0/s" in svg


def test_a_side_that_is_not_measured_yet_is_said(tmp_path):
    """It ended the run."""
    report_pages.write(tmp_path, "net", [row("tf"), row("tf", 8), row("tektite", 8)], {"cpu": "a processor"}, threads=2)
    lines = (tmp_path / "net.md").read_text().splitlines()
    assert any("not measured yet" in line for line in lines) and any("1.00" in line for line in lines)


REPORTS = Path(__file__).resolve().parents[2] / "bench/reports"


def test_a_run_goes_on_where_the_last_one_ended(tmp_path):
    """The figures of the file stand on the page, and nothing is measured twice; here nothing is left."""
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps([row("tf") | {"model": "alexnet"}, row("tektite", per_second=300.0) | {"model": "alexnet"}]))
    command = [sys.executable, REPORTS, "--models", "alexnet", "--kinds", "infer", "--inputs", "real", "--rows", rows, "--output",
               tmp_path]
    done = subprocess.run([*command, "--batches", "1"], text=True, capture_output=True, timeout=120, check=True)
    assert "2 figures, 0 to go" in done.stderr and "3.00" in (tmp_path / "alexnet.md").read_text()
    done = subprocess.run([*command, "--batches", "1,8", "--most", "0"], text=True, capture_output=True, timeout=120, check=True)
    assert "2 figures, 2 to go" in done.stderr


def test_a_place_that_would_take_too_long_is_left_out(tmp_path, monkeypatch):
    """Batch 8 took 7 s a step, so 64 takes 56 s: hours were spent on steps like that."""
    side = report_turns.Side("net", "tf", report_turns.Options(threads=2, seconds=1.0, longest=60.0, images=tmp_path))
    monkeypatch.setattr(side, "ask", lambda place: {"ms": 7000.0, "per_second": 8 / 7, "others": 0.0})
    assert side.measure(report_turns.Place("train", "real", 8))["ms"] == 7000.0
    assert side.measure(report_turns.Place("train", "real", 64))["error"] == "not run: 3 steps take 168 s"
    assert "error" not in side.measure(report_turns.Place("infer", "real", 64))  # steps of another kind


def test_a_process_that_ends_is_started_again(tmp_path, monkeypatch):
    side = report_turns.Side("no such net", "tf", report_turns.Options(threads=2, seconds=1.0, longest=60.0, images=tmp_path))
    for _ in range(2):
        assert "process ended with 2" in side.measure(report_turns.Place("infer", "real", 1))["error"]
        assert side.worker is None


def test_a_figure_that_takes_too_long_is_a_row(tmp_path):
    """The run ended with a traceback."""
    done = subprocess.run([sys.executable, REPORTS, "--models", "alexnet", "--kinds", "infer", "--inputs", "synthetic", "--batches",
                           "1", "--most", "1", "--longest", "0.01", "--output", tmp_path], text=True, capture_output=True, timeout=120)
    assert done.returncode == 0 and "not run: takes more than 0 s" in (tmp_path / "alexnet.md").read_text(), done.stderr
