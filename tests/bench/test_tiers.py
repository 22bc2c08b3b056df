"""The functions that bench/tiers has TensorFlow trace for every batch size."""
from dataclasses import replace

import numpy as np

from bench.harness.tensorflow_runner import signature
from bench.models.workload import Workload

FIXED = Workload("w", inputs=lambda: [np.zeros((4, 3), np.float32), np.zeros(4, np.int32)])


def test_the_first_dimension_alone_is_unknown():
    assert [spec.shape.as_list() for spec in signature(replace(FIXED, any_batch=True))] == [[None, 3], [None]]


def test_without_that_all_are_known_and_for_a_dynamic_one_none():
    assert [spec.shape.as_list() for spec in signature(FIXED)] == [[4, 3], [4]]
    assert [spec.shape.as_list() for spec in signature(replace(FIXED, kind="dynamic"))] == [[None, None], [None]]
