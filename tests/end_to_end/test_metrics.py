"""--metrics_file: what Prometheus' collectors read while the program runs."""

import os
import re

PROGRAM = """
import time
f = tf.function(lambda x: tf.nn.softmax(x * 2.0 + 1.0))
path = os.environ["METRICS"].replace("%p", str(os.getpid()))

def runs():
    for line in open(path):
        if line.startswith("tektite_runs_total"):
            return int(line.split()[-1])
    return 0

seen = []
for count in (3, 5):
    for _ in range(count):
        f(tf.constant(normal(8, 8)))
    end = time.time() + 30
    while time.time() < end and (not os.path.exists(path) or runs() != sum((3, 5)[:len(seen) + 1])):
        time.sleep(0.05)
    seen.append(runs())
report(seen=seen, text=open(path).read(), files=sorted(os.listdir(os.path.dirname(path))), pid=os.getpid())
"""

SAMPLE = re.compile(r'(tektite_[a-z0-9_]+)\{pid="(\d+)"\} (\d+)')


def test_counters_are_written_while_the_program_runs(run_program, tmp_path):
    path = f"{tmp_path}/tektite_%p.prom"
    result = run_program(PROGRAM, tektite="1", METRICS=path, TEKTITE_FLAGS=f"--metrics_file={path}")
    assert result.values["seen"] == [3, 8]
    assert result.values["files"] == [f"tektite_{result.values['pid']}.prom"]  # nothing half-written is left
    lines = result.values["text"].splitlines()
    assert lines and len(lines) % 3 == 0
    for help_line, type_line, sample in zip(lines[::3], lines[1::3], lines[2::3]):
        metric, pid, _ = SAMPLE.fullmatch(sample).groups()
        assert help_line.startswith(f"# HELP {metric} ")
        assert type_line == f"# TYPE {metric} {'counter' if metric.endswith('_total') else 'gauge'}"
        assert int(pid) == result.values["pid"]


def test_the_last_values_are_those_of_the_end(run_program, tmp_path):
    # Shorter than a period: only the exit handler can have written the seven calls.
    path = tmp_path / "tektite.prom"
    run_program("""
f = tf.function(lambda x: tf.nn.softmax(x * 2.0 + 1.0))
for _ in range(7):
    f(tf.ones([4, 4]))
report()
""", tektite="1", TEKTITE_FLAGS=f"--metrics_file={path}")
    runs = [line for line in path.read_text().splitlines() if line.startswith("tektite_runs_total")]
    assert int(runs[0].split()[-1]) == 7
    assert os.listdir(tmp_path) == [path.name]


def test_a_file_that_cannot_be_written_is_named_once(run_program, tmp_path):
    path = f"{tmp_path}/nowhere/tektite.prom"
    result = run_program("f = tf.function(lambda x: tf.nn.softmax(x * 2.0))\nreport(y=f(tf.ones([4, 4])))",
                         tektite="1", TEKTITE_FLAGS=f"--metrics_file={path}")
    assert result.stats["runs"] == 1
    assert len([line for line in result.lines() if path in line]) == 1
