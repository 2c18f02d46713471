"""Makes ``benchmarks``, which no distribution contains, importable for the tests of this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
