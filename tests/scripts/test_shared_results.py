"""Results that several tests ask for are computed once, and so are failures."""
import pytest

from tests.shared_results import once_in


def test_the_first_that_asks_computes(tmp_path):
    assert once_in(tmp_path, "numbers", lambda: [1, 2]) == [1, 2]
    assert once_in(tmp_path, "numbers", lambda: [3]) == [1, 2]
    assert once_in(tmp_path, "others", lambda: [3]) == [3]


def test_a_failure_is_everyones(tmp_path):
    for divisor in (0, 1):
        with pytest.raises(AssertionError, match="ZeroDivisionError"):
            once_in(tmp_path, "quotient", lambda: 1 / divisor)
