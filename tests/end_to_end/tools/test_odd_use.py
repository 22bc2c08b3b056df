"""`tektite profile` and `bench` of programs that fail, print, end themselves or have no TensorFlow; of models that are none; and
with places where nothing can be written."""
import json
import os
import subprocess
import sys

import pytest
from tektite import _bench, _command

from test_profile import command

ENDS = {"pass": (1, "did not import TensorFlow"), "import sys; sys.exit(3)": (3, "did not import"),
        "import sys; sys.exit('enough')": (1, "enough\n"), "raise SystemExit": (1, "did not import"),
        "def f():\n    raise KeyError('lost')\nf()": (1, "line 2, in f"), "1 +": (1, "SyntaxError"),
        "raise KeyboardInterrupt": (130, "KeyboardInterrupt")}


@pytest.mark.parametrize("program", ENDS)
def test_the_exit_code_is_the_programs(program, tmp_path):
    code, text = ENDS[program]
    (tmp_path / "program.py").write_text(program)
    said = command("profile", tmp_path / "program.py", code=code).stderr
    assert text in said and "_profile.py" not in said and "runpy" not in said, said


FAILS = """
import os, sys
import helper  # beside the program
import tensorflow as tf

print("arguments", sys.argv[1:])
os.chdir("/")
f = tf.function(lambda x: tf.nn.softmax(x * 2.0))
for _ in range(5):
    f(tf.ones([32, 32]))
helper.fail()
"""


def test_what_ran_before_an_error_is_reported_where_the_command_began(tmp_path):
    """The report of hours went with the program's last line, or was written into a folder that the program had changed to."""
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs/fails.py").write_text(FAILS)
    (tmp_path / "programs/helper.py").write_text("def fail():\n    raise ValueError('at the end')\n")
    done = subprocess.run([sys.executable, "-m", "tektite", "profile", "--json", "out.json", "programs/fails.py", "--json", "x"],
                          cwd=tmp_path, text=True, capture_output=True, timeout=300,
                          env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TEKTITE_FLAGS": "--min_cluster_cost=0 --compile=sync"})
    assert done.returncode == 1 and "arguments ['--json', 'x']" in done.stdout
    trace = done.stderr[done.stderr.index("Traceback"):]
    assert trace.count("File ") == 2 and "ValueError: at the end" in trace, trace
    report = json.loads((tmp_path / "out.json").read_text())
    assert [row["calls"] for row in report["functions"]] == [5] and report["clusters"]


def test_json_is_alone_on_stdout(tmp_path):
    (tmp_path / "prints.py").write_text("import os, tensorflow\nprint('a line')\nos.system('echo another')\n")
    done = command("profile", "--json", "-", tmp_path / "prints.py")
    assert json.loads(done.stdout)["clusters"] == [] and "a line" in done.stderr and "another" in done.stderr


@pytest.mark.parametrize("name, option", [("profile", "--json"), ("profile", "--html"), ("bench", "--html")])
def test_a_file_that_cannot_be_written_is_said_before_the_work(name, option, tmp_path):
    (tmp_path / "program.py").write_text("print('ran')")
    (tmp_path / "net").mkdir()
    (tmp_path / "net/saved_model.pb").write_bytes(b"")
    what = tmp_path / ("program.py" if name == "profile" else "net")
    for place, why in ((tmp_path / "none/out", "there is no folder"), (tmp_path, "cannot write")):
        done = command(name, option, place, what, code=1)
        assert done.stdout == "" and done.stderr.count("\n") == 1 and why in done.stderr, done.stderr


def test_models_that_are_none_are_one_line(tmp_path):
    """They were TensorFlow's tracebacks."""
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged/saved_model.pb").write_bytes(b"\xff\xff\xff\xff")
    done = command("profile", tmp_path / "damaged", code=1)
    assert done.stderr.splitlines()[-1].startswith("tektite: '") and "Traceback" not in done.stderr
    for name in ("bench", "profile"):
        done = command(name, tmp_path / "none.keras", code=1)
        assert done.stdout == "" and done.stderr.count("\n") == 1, done.stderr


def test_a_page_that_is_there_already_is_no_program_to_time(tmp_path, monkeypatch):
    """The second `tektite bench net/ --html page.html` took the page for a file of IR text."""
    (tmp_path / "net").mkdir()
    (tmp_path / "net/saved_model.pb").write_bytes(b"")
    (tmp_path / "page.html").write_text("")
    monkeypatch.setattr(_bench, "main", lambda words: "Python's")
    monkeypatch.setattr(_command, "run", lambda words: "the compiler's")
    words = [str(tmp_path / "net"), "--html", str(tmp_path / "page.html")]
    assert _command._bench(words) == "Python's" and _command._bench(words[1:]) == "the compiler's"


def test_top_ends_where_nobody_reads_it(tmp_path):
    done = subprocess.run(f"{sys.executable} -m tektite top --seconds 0.05 | head -n 1", shell=True, text=True, capture_output=True,
                          timeout=60, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    assert done.stdout.startswith("process") and done.stderr == ""
