"""Arguments that bench/shapes refuses before it starts anything."""
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "shapes"


@pytest.mark.parametrize("arguments, said", [
    (["--count", "99"], "from 100 to 160000"), (["--count", "160001"], "from 100 to 160000"),
    (["--engines", "tf,xla"], "no engine 'xla'"),
])
def test_usage(arguments, said):
    done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and said in done.stderr
