"""Raters are those of the tests of live tasks."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "mephisto_tasks"))
