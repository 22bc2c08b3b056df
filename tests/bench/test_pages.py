"""A tool that wrote over another's section would lose its figures."""
import pytest

from bench.harness.pages import command_line, write_section


def test_a_section_replaces_the_one_of_its_name_and_no_other(tmp_path):
    page = tmp_path / "RESULTS.md"
    write_section(page, "## One\n\nfirst\n")
    assert page.read_text() == "## One\n\nfirst\n"
    page.write_text("# Results\n\nTo aim by.\n\n## One\n\nfirst\n\n### detail\n\n## Two\n\nsecond\n")
    write_section(page, "## One\n\nnew")
    assert page.read_text() == "# Results\n\nTo aim by.\n\n## One\n\nnew\n\n## Two\n\nsecond\n"
    write_section(page, "## Three\n")
    assert page.read_text().endswith("## Two\n\nsecond\n\n## Three\n")
    with pytest.raises(ValueError, match="begins with"):
        write_section(page, "### Four")


def test_a_command_is_repeated_without_the_files_it_wrote():
    assert command_line("bench/compare", ["--json", "/tmp/x.json", "--threads", "1,2", "--markdown=a.md"]) == (
        "bench/compare --threads 1,2")
