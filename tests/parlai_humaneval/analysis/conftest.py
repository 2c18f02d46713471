"""Where the reference figures stand when the tests run beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

REFERENCE = Path(__file__).resolve().parents[4] / "shared" / "reference"


@pytest.fixture(scope="session")
def gold_cases() -> list[dict[str, Any]]:
    """The reference cases: function, args, kwargs, expected, tolerance."""
    path = REFERENCE / "gold_cases.json"
    if not path.is_file():
        pytest.skip("the reference cases are not beside this checkout")
    cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return cases
