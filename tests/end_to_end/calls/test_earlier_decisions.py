"""A later process takes up an earlier one's decisions on clusters' speed from the disk cache."""
import json
import subprocess
from pathlib import Path

import pytest

COMMAND = Path(__file__).resolve().parents[3] / "build/bin/tektite"

# Its code is far ahead of TensorFlow's kernels, one pass over 4 MB instead of 64, so that no other program on this
# machine makes a comparison close.  All products are exact: either side's numbers are the same to the last bit.
PROGRAM = """
x = tf.constant(normal(1 << 20))
def chain(x):
    for k in range(16):
        x = tf.maximum(x * 0.5 + float(k), -x)
    return x
f = tf.function(chain)
for i in range(CALLS):
    if i == CALLS // 2:
        tektite.wait_until_compiled()  # and until TensorFlow's kernels are there to be compared with
    y = f(x)
tektite.wait_until_compiled()
report(y=[float(v) for v in y[:8]])
"""


@pytest.fixture
def run(run_program, tmp_path):
    def calls(count, **environment):
        return run_program(PROGRAM.replace("CALLS", str(count)), tektite="1",
                           TEKTITE_FLAGS=f"--compare=true --cache_dir={tmp_path}/cache", **environment)
    return calls


def measured(result):
    return result.host["fallbacks"].get("MEASURING_HOST", 0)


def entries(tmp_path):
    done = subprocess.run([COMMAND, "cache", "ls", "--json"], capture_output=True, text=True, check=True,
                          env={"TEKTITE_FLAGS": f"--cache_dir={tmp_path}/cache", "PATH": ""})
    return [e for e in json.loads(done.stdout) if e.get("kind") == "decision"]


def test_a_later_process_does_not_ask_again(run, tmp_path):
    first = run(80)
    assert measured(first) >= 3 and first.stats["comparison"]["compiled"] == 1
    second = run(20)
    assert measured(second) == 0 and second.stats["comparison"]["compiled"] == 1
    assert second.stats["compiles"] == 0 and second.values["y"] == first.values["y"]
    # Other thread counts are other races.
    assert measured(run(20, OMP_NUM_THREADS="1", TF_NUM_INTRAOP_THREADS="3")) >= 3


def test_a_later_process_calls_directly_from_the_second_call_on(run):
    first = run(80)
    assert first.stats["comparison"]["compiled"] == 1
    second = run(20)
    assert second.host["direct_runs"] == 19, second.host
    assert second.values["y"] == first.values["y"]


def test_people_can_read_them(run, tmp_path):
    run(80)
    found, = entries(tmp_path)
    assert "code won 1 of 1 class of shapes against TensorFlow" in found["name"]
    shown = subprocess.run([COMMAND, "cache", "show", found["key"]], capture_output=True, text=True, check=True,
                           env={"TEKTITE_FLAGS": f"--cache_dir={tmp_path}/cache", "PATH": ""}).stdout
    assert " compiled 0." in shown and "against TensorFlow" in shown


def test_a_damaged_one_is_as_good_as_none(run, tmp_path):
    first = run(80)
    for path in (tmp_path / "cache").glob("*.entry"):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    second = run(20)
    assert measured(second) >= 3 and second.values["y"] == first.values["y"]
    assert second.stats["disk"]["damaged"] >= 2
    assert len([line for line in second.lines() if "is damaged" in line]) == 1, second.lines()


CHECKED = PROGRAM.replace("tektite.wait_until_compiled()\nreport(", """
before = tektite.stats()["host"]
tektite.wait_until_compiled()
for _ in range(CALLS):
    z = f(x)
report(before=[before["prepared_fallbacks"], before["fallbacks"].get("MEASURING_HOST", 0)], z=[float(v) for v in z[:8]],
       """)


def test_no_request_waits_for_kernels_that_only_a_check_needs(run, run_program, tmp_path):
    run(80)
    later = run_program(CHECKED.replace("CALLS", "1000"), tektite="1",
                        TEKTITE_FLAGS=f"--compare=true --cache_dir={tmp_path}/cache")
    # The thousandth call only has them made; a later one is the check.
    assert later.values["before"] == [1, 0]
    assert later.host["prepared_fallbacks"] == 1 and measured(later) >= 1
    assert later.values["z"] == later.values["y"]


@pytest.mark.parametrize("elements, runs", [(1 << 20, 1), (5 << 20, 0)])
def test_only_light_calls_run_in_advance(run_program, tmp_path, elements, runs):
    """A heavy one would take TensorFlow's memory beside a request, and a thread that deletes the model would wait for
    it."""
    flags = f"--compare=true --cache_dir={tmp_path}/cache"
    sized = PROGRAM.replace("1 << 20", str(elements))
    run_program(sized.replace("CALLS", "80"), tektite="1", TEKTITE_FLAGS=flags)
    later = run_program(CHECKED.replace("1 << 20", str(elements)).replace("CALLS", "1000"), tektite="1",
                        TEKTITE_FLAGS=flags)
    assert later.host["prepared_fallbacks"] == 1 and later.host["runs_in_advance"] == runs
