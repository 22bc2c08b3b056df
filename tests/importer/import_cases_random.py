"""Cases of random numbers that depend on a seed or a variable alone: integers and uniform floats bit for bit."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from import_oracle import Case

raw = tf.raw_ops
SEED = np.array([7, -3], np.int64)
FLOATS = (tf.float32, tf.float64, tf.float16, tf.bfloat16)
INTEGERS = (tf.int32, tf.int64, tf.uint32, tf.uint64)
SHAPES = ([0], [1], [3], [4], [5], [], [3, 0, 2], [7, 33], [1000])
PHILOX, THREEFRY, AUTO_SELECT = 1, 2, 3


def stream_cases():
    for seed in (SEED, SEED.astype(np.int32), np.array([2**63 - 1, -(2**63)], np.int64)):
        yield Case(f"RandomKeyOf{seed.dtype}{seed[0]}", lambda s: raw.StatelessRandomGetKeyCounter(seed=s), [seed], ulps=0)
        yield Case(f"RandomKeyAlgOf{seed.dtype}{seed[0]}", lambda s: raw.StatelessRandomGetKeyCounterAlg(seed=s), [seed], ulps=0)
    yield Case("RandomAlgorithm", lambda x: raw.StatelessRandomGetAlg() + tf.shape(x)[0], [SEED])
    # The counter's low half runs over into its high half, and that into nothing.
    key, counter = np.array([5], np.uint64), np.array([2**64 - 5, 2**64 - 1], np.uint64)

    def numbers(algorithm):
        return lambda key, counter: raw.StatelessRandomUniformV2(shape=[100], key=key, counter=counter, alg=algorithm)

    for algorithm in (PHILOX, AUTO_SELECT):
        yield Case(f"RandomCarry{algorithm}", numbers(algorithm), [key, counter], ulps=0)
    yield Case("RandomThreeFry", numbers(THREEFRY), [key, counter], refused="algorithm 2")


def class_cases():
    """One thread's work in TensorFlow; tests/end_to_end has more of it."""
    rng = np.random.default_rng(9)
    for rows, classes, samples in ((1, 7, 1), (1, 50257, 1), (3, 10, 1), (9, 33, 2), (40, 20, 5), (2, 1, 3), (5, 9, 4), (0, 4, 2), (3, 4, 0)):
        for t in (np.float32, np.float64, np.float16):
            logits = (rng.standard_normal([rows, classes]) * 3).astype(t)
            for dtype in (tf.int32, tf.int64):
                yield Case(f"Classes{logits.shape}x{samples}{np.dtype(t)}{dtype.name}", lambda x, s, n=samples, d=dtype:
                           tf.random.stateless_categorical(x, n, s, dtype=d), [logits, SEED])
    wild = rng.choice(np.array([np.nan, np.inf, -np.inf, 0, 1, 2, -3e38, 3e38], np.float32), [30, 6])
    yield Case("ClassesSpecial", lambda x, s: tf.random.stateless_categorical(x, 9, s), [wild, SEED])
    yield Case("ClassesOfManyThreads", lambda x, s: tf.random.stateless_categorical(x, 1, s), [np.zeros([30, 5000], np.float32), SEED],
               refused="how many threads")


def distribution_cases():
    for shape in SHAPES:
        for t in FLOATS if shape else FLOATS[:2]:  # NumPy makes no scalar of bfloat16
            name = f"{t.name}{shape}"
            yield Case(f"RandomUniform{name}", lambda s, n=shape, t=t: tf.random.stateless_uniform(n, s, dtype=t), [SEED],
                       ulps=0)
            # TensorFlow's sine, cosine and logarithm are the C library's.
            yield Case(f"RandomNormal{name}", lambda s, n=shape, t=t: tf.random.stateless_normal(n, s, dtype=t), [SEED])
        for t in INTEGERS:
            yield Case(f"RandomFull{t.name}{shape}",
                       lambda s, n=shape, t=t: tf.random.stateless_uniform(n, s, None, None, dtype=t), [SEED])
    for t in INTEGERS[:2]:
        for low, high in ((-5, 1000003), (0, 1), (t.min, t.max), (3, 3), (4, -4)):
            yield Case(f"RandomBetween{low}And{high}{t.name}",
                       lambda s, low, high, t=t: tf.random.stateless_uniform([99], s, low, high, dtype=t),
                       [SEED, *np.array([low, high], t.as_numpy_dtype)], fails=low >= high)


def truncated_cases():
    for shape in (*SHAPES, [2], [40000]):
        for t in FLOATS if shape else FLOATS[:2]:
            yield Case(f"TruncatedNormal{t.name}{shape}",
                       lambda s, n=shape, t=t: tf.random.stateless_truncated_normal(n, s, dtype=t), [SEED])
    for number in range(5):
        seed = np.array([number, 2**40 + number], np.int64)
        yield Case(f"TruncatedNormalOf{number}", lambda s: tf.random.stateless_truncated_normal([999], s, 3.0, 0.5), [seed],
                   rel=1e-6)


def older_cases():
    """Ops that take the seed itself."""
    seed = SEED.astype(np.int32)
    yield Case("OldRandomUniform", lambda s: raw.StatelessRandomUniform(shape=[50], seed=s), [seed], ulps=0)
    yield Case("OldRandomNormal", lambda s: raw.StatelessRandomNormal(shape=[50], seed=s), [seed])
    yield Case("OldRandomInt", lambda s: raw.StatelessRandomUniformInt(shape=[50], seed=s, minval=-9, maxval=9), [seed])
    yield Case("OldTruncatedNormal", lambda s: raw.StatelessTruncatedNormal(shape=[50], seed=s), [seed])
    yield Case("OldRandomFullInt", lambda s: raw.StatelessRandomUniformFullInt(shape=[50], seed=s, dtype=tf.uint64), [seed])


def state_cases():
    """Generators whose state is a variable, which gets its value first and is read last."""
    held = tf.Variable(np.zeros(3, np.int64))
    states = ([5, 7, 9], [-5, 7, 9], [-1, -1, 2**62])

    def drawing(draw):
        def run(state):
            held.assign(state)
            first = draw(held.handle)
            return *tf.nest.flatten(first), held.read_value()
        return run

    philox = tf.constant(1, tf.int64)
    def skip(v):
        raw.RngSkip(resource=v, algorithm=philox, delta=tf.constant(4, tf.int64))
        return []

    for state in states:
        s = np.array(state, np.int64)

        def case(name, draw, ulps=0):
            return Case(f"{name}{state}", drawing(draw), [s], ulps=ulps)

        for delta in (0, 3, 2**60):
            yield case(f"RngReadAndSkip{delta}",
                       lambda v, d=delta: raw.RngReadAndSkip(resource=v, alg=1, delta=tf.constant(d, tf.uint64)))
        yield case("RngSkip", skip)
        for shape in ([], [7], [0], [3, 5]):
            options = dict(algorithm=philox, shape=shape)
            yield case(f"StatefulTruncatedNormal{shape}",
                       lambda v, o=options: raw.StatefulTruncatedNormal(resource=v, dtype=tf.float32, **o), 4)
            for t in (tf.float32, tf.float64, tf.float16) if shape else (tf.float32,):
                yield case(f"StatefulUniform{shape}{t.name}",
                           lambda v, o=options, t=t: raw.StatefulUniform(resource=v, dtype=t, **o))
                yield case(f"StatefulStandardNormalV2{shape}{t.name}",
                           lambda v, o=options, t=t: raw.StatefulStandardNormalV2(resource=v, dtype=t, **o), 4)
            yield case(f"StatefulUniformInt{shape}", lambda v, o=options: raw.StatefulUniformInt(
                resource=v, minval=tf.constant(-3, tf.int64), maxval=tf.constant(99, tf.int64), **o))
            yield case(f"StatefulUniformFullInt{shape}",
                       lambda v, o=options: raw.StatefulUniformFullInt(resource=v, dtype=tf.uint32, **o))
    yield Case("RngTwice", drawing(lambda v: [raw.RngReadAndSkip(resource=v, alg=1, delta=tf.constant(3, tf.uint64)),
                                              raw.StatefulUniform(resource=v, algorithm=philox, shape=[5])]),
               [np.array(states[0], np.int64)], ulps=0)


CASES = [*stream_cases(), *class_cases(), *distribution_cases(), *truncated_cases(), *older_cases(), *state_cases()]
