"""``python -m tektite``; the console script ``tektite`` is the same."""

import sys

from tektite._command import main

if __name__ == "__main__":
    sys.exit(main())
