"""The page's types and checks are those of the models here: a change of a model is written anew for the page."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / ".ci/wire_types.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_the_page_has_the_types_of_these_models(script: dict[str, Any]) -> None:
    file = script["FILE"]
    stale = f"{file.name} is stale: run npm run wire in mephisto_tasks/webapp"
    assert file.read_text(encoding="utf-8") == script["written"](), stale


def test_a_kind_of_field_without_a_check_is_refused_and_not_let_through(script: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="cannot write a check for"):
        script["_expression"]({"allOf": [{"type": "string"}]})
