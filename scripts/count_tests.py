"""Adds up JUnit files into the one line that ends scripts/test.

    count_tests.py ctest.xml pytest.xml   ->   214 passed, 0 failed, 2 skipped

Exit code 1 when a test failed, or when there is no test at all (a run that tested nothing must
not look like a success).  A file that cannot be read counts as one failure.
"""
import sys
import xml.etree.ElementTree as ET
from typing import NamedTuple


class Count(NamedTuple):
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other):
        return Count(*(a + b for a, b in zip(self, other)))


def count_case(case: ET.Element) -> Count:
    """One <testcase>: ctest marks tests that did not run by status, pytest by a child element.  A test
    program that was not built is "skipped" to ctest; here it has failed."""
    tags = {child.tag for child in case}
    skipped = case.find("skipped")
    not_built = skipped is not None and "Unable to find executable" in skipped.get("message", "")
    if tags & {"failure", "error"} or case.get("status") == "fail" or not_built:
        return Count(failed=1)
    if "skipped" in tags or case.get("status") in ("notrun", "disabled"):
        return Count(skipped=1)
    return Count(passed=1)


def count_file(path: str) -> Count:
    try:
        root = ET.parse(path).getroot()
    except (OSError, ET.ParseError) as error:
        print(f"count_tests: {path}: {error}", file=sys.stderr)
        return Count(failed=1)
    return sum((count_case(case) for case in root.iter("testcase")), Count())


def main(paths: list[str]) -> int:
    total = sum((count_file(path) for path in paths), Count())
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed or not (total.passed or total.skipped) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
