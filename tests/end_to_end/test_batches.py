"""Of a batch, only the program fails that raises an error or ends the process."""
from tests.end_to_end.batches import Batch, run_one_side

PROGRAMS = {
    "numbers": "report(y=normal(3))",
    "an error": "normal(5); report(y=0); raise ValueError('on purpose')",
    "the same numbers": "report(y=normal(3))",
    "a crash": "report(y=0); os.abort()",
    "behind a crash": "report(y=normal(3))",
    "an end": "sys.exit()",
    "behind an end": "report(y=normal(3))",
}


def test_one_program_of_a_batch_fails(run_program):
    values = {name: result.values for name, result in run_one_side(Batch("test", PROGRAMS), "0").items()}
    assert values.keys() == PROGRAMS.keys()
    assert "on purpose" in values["an error"]["error"] and "y" not in values["an error"]
    assert "exit code" in values["a crash"]["error"] and "ended the process" in values["an end"]["error"]
    for name in ("the same numbers", "behind a crash", "behind an end"):
        assert values[name] == values["numbers"], name


def test_a_crash_at_the_end_fails(run_program):
    ends = {"first": "report(y=1)", "last": "import atexit; atexit.register(os.abort); report(y=2)"}
    values = {name: result.values for name, result in run_one_side(Batch("test", ends), "0").items()}
    assert "error" not in values["first"] and "exit code" in values["last"]["error"]
