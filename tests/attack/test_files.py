"""Files that the process writes while other users and programs change them."""
import os

PROGRAM = """
f = tf.function(lambda x: tf.nn.softmax(x * 2.0 + 1.0))
f(tf.ones([4, 4]))
path = os.environ["STATS"]
before = os.path.getsize(path)
for size in (0, 1, 100):
    os.truncate(path, size)
    for n in range(10):
        f(tf.ones([4 + n, 4]))
os.unlink(path)
f(tf.ones([4, 4]))
report(before=before, pid=os.getpid())
"""


def test_a_counter_file_that_is_cut_short(run_program, tmp_path):
    """The file was mapped: the next call after it was cut short ended the process with SIGBUS."""
    stats = tmp_path / "x.stats"
    result = run_program(PROGRAM, tektite="1", STATS=str(stats), TEKTITE_FLAGS=f"--stats_file={stats}")
    assert result.values["before"] > 0 and result.stats["runs"] == 32
    assert os.listdir(tmp_path) == []
