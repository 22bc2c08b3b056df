"""A few of the random programs that tests/random_programs/hunt can make without end."""

import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.random_programs import loops, operations, programs

ROOT = Path(__file__).resolve().parents[2]


def test_the_same_seed_is_the_same_program():
    assert programs.make_program(11).describe() == programs.make_program(11).describe()
    assert programs.make_program(11).describe() != programs.make_program(12).describe()


def test_every_kind_of_line_can_be_evaluated():
    """A kind that never can would be left out of all programs in silence, as lines with tf.cond once were."""
    run = programs.Evaluation(1)
    known = []
    for dtype in (*operations.FLOATS[:3], "int32", "uint8", "bool"):
        for shape in ((), (3,), (4, 4), (2, 4, 4), (2, 6, 8, 4)):
            name = f"x{len(known)}_"
            run.put(name, programs.Input(dtype, shape, "argument", False, 7).value({}))
            known.append(operations.Known(name, dtype, shape, True, True))
    rng, proposed, evaluated = random.Random(5), {}, set()
    for propose in (kind for _, kind in operations.PROPOSALS for _ in range(60 if kind is loops.loop else 900)):
        rng.shuffle(known)  # the last ones are chosen most often
        try:
            line = propose(operations.Chooser(rng, known))
        except (IndexError, ValueError):
            continue
        words = re.findall(r"tf\.[a-z_.0-9]+|gradient_of|turns_of|collected|lambda|//|[-+*/%]", re.sub(r"-?\d+", "", line.text))
        kind = " ".join(words[:1] if propose is loops.loop else words)
        proposed[kind] = line.text
        if kind not in evaluated:
            try:
                run.line("v", line.text, 0)
                evaluated.add(kind)
            except Exception:  # noqa: BLE001  whatever TensorFlow says
                pass
    never = [text for kind, text in proposed.items() if kind not in evaluated]
    assert len(proposed) > 200 and not never, never
    assert evaluated >= {"tf.while_loop", "turns_of", "collected", "tf.map_fn", "tf.scan", "tf.foldl", "gradient_of"}


def test_lines_about_sizes_can_be_evaluated():
    run = programs.Evaluation(1)
    known = []
    for shape in ((3,), (4, 4), (2, 4, 3)):
        run.put(f"x{len(known)}_", programs.Input("float32", shape, "argument", False, 7).value({}))
        known.append(operations.Known(f"x{len(known)}_", "float32", shape, True, True))
    rng = random.Random(5)
    for _, propose in programs.OF_SIZES:
        evaluated = 0
        for _ in range(40):
            try:
                run.line("v", propose(operations.Chooser(rng, known)).text, 0)
                evaluated += 1
            except Exception:  # noqa: BLE001  whatever TensorFlow says
                pass
        assert evaluated > 20, (propose.__name__, evaluated)


def test_what_is_wrong_is_seen():
    one, none, any_ = np.float32([1.0]), np.zeros(1), np.full(1, np.nan)
    assert not programs.mistakes(one, one, none)
    assert programs.mistakes(one, one + np.float32(1e-6), none)
    assert not programs.mistakes(one, one + np.float32(1e-6), np.full(1, 1e-5))
    assert programs.mistakes(np.float32([np.nan]), one, np.full(1, 1e-5))
    assert not programs.mistakes(np.float32([np.nan]), one, any_)
    assert programs.mistakes(one[None], one, none) and programs.mistakes(np.int32([1]), one, none)
    assert programs.mistakes(np.int32([1]), np.int32([2]), none)


@pytest.mark.slow
@pytest.mark.parametrize("which", [["--count", "30", "--seed", "40"], ["--sizes", "--count", "10"]])
def test_random_programs_compute_what_tensorflow_computes(run_pair, which):
    """Of those of unknown sizes a third was wrong where a sum of two ranges lost an axis."""
    hunt = [sys.executable, str(ROOT / "tests/random_programs/hunt"), *which]
    done = subprocess.run(hunt, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
