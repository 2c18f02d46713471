"""The analysis stands alone."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("torch", "parlai", "mephisto", "statsmodels", "sklearn", "scipy.stats", "matplotlib")


def test_analysis_imports_nothing_heavy():
    """Reading a table must not wait for models, crowd tools or plotting to load."""
    code = f"import sys, parlai_humaneval.analysis; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
