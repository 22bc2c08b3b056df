"""bench/reports: the pages, from figures that are made up."""
from bench.harness import report_pages


def row(engine, batch=1, **values):
    return {"engine": engine, "model": "net", "kind": "infer", "input": "real", "batch": batch, "first_s": 2.0, "ms": 10.0,
            "p90_ms": 11.0, "per_second": 100.0 * batch, "input_share": 0.25, "rss_mb": 500.0, "others": 0.0, "disturbed": False, **values}


def test_a_page_holds_both_sides_the_machine_and_the_picture(tmp_path):
    rows = [row("tf"), row("tektite", per_second=150.0), row("tf", 8), row("tektite", 8, disturbed=True), row("tf", 32),
            {"engine": "tektite", "model": "net", "kind": "infer", "input": "real", "batch": 32, "error": "no memory"}]
    report_pages.write(tmp_path, "net", rows, {"cpu": "a processor", "cpus": 2}, threads=2)
    page, svg = (tmp_path / "net.md").read_text(), (tmp_path / "net.svg").read_text()
    assert "cpu a processor, cpus 2" in page and "![throughput](net.svg)" in page
    assert "1.50" in page and "25%" in page and "1.00 ?" in page and "no memory" in page
    assert svg.startswith("<svg") and svg.count("<rect") == 6 and "150.0/s" in svg
