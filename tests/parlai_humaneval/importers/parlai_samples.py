"""Samples that ParlAI's own code saved (:mod:`parlai_saves` wrote them)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent / "samples"


def sample(name: str) -> Any:
    return json.loads((SAMPLES / name).read_text(encoding="utf-8"))
