"""Threads that share TensorFlow's pool: each makes progress, whatever another thread loops.

A thread that looped a compiled function kept the pool's threads, and another's ops waited for seconds. bench/fairness
measures how long they wait; this test compares counts only, generously, since machines are busy.
tests/runtime/thread_team_test.cc has the exact cases, on a pool of its own.
"""
import pytest

PROGRAM = """
import time
threads = int(os.environ["THREADS"])
tf.config.threading.set_intra_op_parallelism_threads(threads)
model = tf.function(lambda x: tf.nn.softmax(tf.tanh(x * x + x) * 2.0 - x), autograph=False)
other = tf.function(lambda x: tf.reduce_sum(tf.exp(x), axis=1), autograph=False)
x, y, big = tf.ones([64, 1000]), tf.ones([300, 500]), tf.ones([2_000_000])
model(x), other(y), tf.reduce_sum(big)

def rates(works, seconds):
    counts, end = [0] * len(works), time.time() + seconds
    def loop(i):
        while time.time() < end:
            works[i]()
            counts[i] += 1
    loops = [threading.Thread(target=loop, args=(i,)) for i in range(len(works))]
    [t.start() for t in loops], [t.join() for t in loops]
    return [c / seconds for c in counts]

works = [lambda: model(x), lambda: other(y), lambda: tf.reduce_sum(big).numpy()]
alone = [rates([work], 0.3)[0] for work in works]
report(alone=alone, together=rates(works, 1.0), wide=rates([works[0]] * 6 + [works[2]], 1.0))
"""


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_everyone_makes_progress(run_program, threads):
    result = run_program(PROGRAM, tektite="1", THREADS=str(threads))
    assert result.stats["runs"] > 100
    # A third of the machine is fair; a tenth of that is not starvation yet.
    for alone, together in zip(result.values["alone"], result.values["together"]):
        assert together > alone / 30
    assert result.values["wide"][-1] > result.values["alone"][2] / 70
