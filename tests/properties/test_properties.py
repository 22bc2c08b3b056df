"""A few draws of every op row; `python -m tests.properties` makes any number of them."""

import numpy as np
import pytest

from tests.properties.compare import Report, check, check_without_onednn, compare_rows, differences, rows_of_contents, rows_of_importer
from tests.properties.known import NOT_ALONE, NUMBERS
from tests.properties.result import Result


MISFITS = """AddN BiasAdd ClipByValue FusedBatchNormV3 If MaxPoolGradGradV2 OneHot ReluGrad Select SigmoidGrad
SparseSoftmaxCrossEntropyWithLogits TensorScatterMin""".split()

CUT = ("ArgMax", "Mean", "Reshape", "SegmentSum", "SplitV", "TopKV2")


def test_a_difference_is_seen():
    one, none, any_ = np.float32([1.0]), np.zeros(1), np.full(1, np.nan)
    assert not differences([one], [one], [none], signs=True)
    assert differences([one + np.float32(1e-6)], [one], [none], signs=False)
    assert not differences([one + np.float32(1e-6)], [one], [any_], signs=False)
    assert differences([one, one], [one], [none], signs=False)
    assert differences("error A", [one], None, signs=False) and differences([one], "error A", None, signs=False)
    assert not differences("error A", "error B", None, signs=False)
    zero = np.float32([0.0])
    assert differences([-zero], [zero], [none], signs=True) and not differences([-zero], [zero], [none], signs=False)


def test_results_one_pixel_wide_are_compared_without_onednn():
    """Every difference of such a convolution of unknown sizes was forgiven, own mistakes among them."""
    def result(number):
        calls = [[np.full([2, 3, 1, 4], number, np.float32)]]
        return Result("Conv2D", calls, [[np.zeros([2, 3, 1, 4])]], signs=False, runs=1)

    report = Report("Conv2D")
    check(report, 5, result(2.0), result(1.0))
    assert report.doubtful == [5] and not report.differences
    check_without_onednn(report, result(1.0), result(1.0))
    assert not report.differences
    check_without_onednn(report, result(2.0), result(1.0))
    assert len(report.differences) == 1 and "without oneDNN" in report.differences[0]


@pytest.mark.slow
def test_every_row_computes_what_tensorflow_computes(run_pair):
    reports = {r.op: r for r in compare_rows([(op, NUMBERS.get(op, 0)) for op in rows_of_importer()])}
    wrong = [line for r in reports.values() for line in r.differences]
    assert not wrong, "\n".join([f"{len(wrong)} draws differ", *wrong[:40]])
    idle = {op for op, r in reports.items() if r.compiled == 0 or r.errors == r.calls}
    assert sorted(idle) == NOT_ALONE


@pytest.mark.slow
def test_known_operands_are_folded_as_tensorflow_computes(run_pair):
    """Sums of ranges along two axes had one of them in code for exact sizes; an operand of one element lost its rank."""
    reports = list(compare_rows([(op, number) for op in rows_of_contents() for number in range(3)], "known"))
    wrong = [line for r in reports for line in r.differences]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_operands_of_other_sizes_have_tensorflows_errors(run_pair):
    """Gradients of activations, AddN, Select, biases and others broadcast where TensorFlow raises an error."""
    reports = list(compare_rows([(op, number) for op in MISFITS for number in range(5)], "misfit"))
    wrong = [line for r in reports for line in r.differences]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_operands_whose_sizes_become_0(run_pair):
    """A mean of no integers was -1, arg max had a place among none, a reshape's unknown size was 0 beside another 0."""
    reports = list(compare_rows([(op, number) for op in CUT for number in range(8)], "cut"))
    wrong = [line for r in reports for line in r.differences]
    assert not wrong, "\n".join(wrong)
