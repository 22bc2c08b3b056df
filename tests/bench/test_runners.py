"""How training is compared: the same steps from the same beginning, as often as asked."""

import numpy as np

from bench.harness.runners import TRAINING_STEPS_COMPARED, kept_on_disk, training_runner


def test_training_is_compared_from_its_beginning():
    """Losses kept from the first call would say nothing about code that is compiled after it."""
    weights = [np.array([2.0, 4.0]), np.array(3, np.int64)]
    initial, rate = kept_on_disk(weights), 0.5

    def step():
        weights[0] = weights[0] * rate
        return weights[0].sum()

    def restart():
        weights[:] = initial()

    runner = training_runner(step, restart)
    first, = runner.outputs()
    assert first.tolist() == [6 * 0.5 ** i for i in range(1, TRAINING_STEPS_COMPARED + 1)]
    runner.call()
    again, = runner.outputs()
    assert again.tolist() == first.tolist()
    rate = 0.25
    other, = runner.outputs()
    assert other.tolist() != first.tolist()
    restart()
    assert weights[1].dtype == np.int64 and weights[1] == 3
