"""What this machine does at most, for rooflines: measured in this process, with TensorFlow's threads.

    peaks = measure()      # about a second
    peaks.gflops           # float32 products, by the largest of TensorFlow's that was tried
    peaks.memory_gbs       # from and to memory: y = x + 1 on 128 MB
    peaks.cache_gbs        # the same on 1 MB for each thread

Each is the best of several tries. Kernels that beat one were measured on a quieter machine.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

from tektite._models import tensorflow

_SECONDS = 0.3  # of tries; a machine that others use needs several for one that they leave alone


@dataclasses.dataclass(frozen=True)
class Peaks:
    gflops: float
    memory_gbs: float
    cache_gbs: float
    threads: int


def _least(call: Callable[[], Any], repeat: int = 1) -> float:
    call()
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    while not times or time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(repeat):
            call()
        times.append((time.perf_counter() - begin) / repeat)
    return min(times)


def measure() -> Peaks:
    tf = tensorflow()
    threads = tf.config.threading.get_intra_op_parallelism_threads() or len_of_affinity()
    size = 1024
    a = tf.random.stateless_uniform([size, size], [1, 2])
    product = _least(lambda: tf.linalg.matmul(a, a))

    def rate(elements: int, repeat: int) -> float:
        x = tf.zeros([elements])
        return 8 * elements / _least(lambda: x + 1.0, repeat) / 1e9

    memory = rate(16 << 20, 1)
    return Peaks(2 * size**3 / product / 1e9, memory, max(memory, rate((128 << 10) * threads, 20)), threads)


def len_of_affinity() -> int:
    import os

    return len(os.sched_getaffinity(0))
