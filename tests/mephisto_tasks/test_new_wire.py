"""What the page of ``new`` takes from the command, in ``src/new/wire.ts``, is there under these names and types."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from mephisto_tasks.launch import new_study

SOURCE = (Path(__file__).parents[2] / "mephisto_tasks/webapp/src/new/wire.ts").read_text(encoding="utf-8")
INTERFACES = dict(re.findall(r"export interface (\w+) \{\n(.*?)\n\}", SOURCE, re.DOTALL))
OF_THE_PAGE = {
    "Draft": {"bars", "fee", "question", "amount", "fields", "others"},  # which the command adds
}
TYPES = {
    str: "string",
    int: "number",
    float: "number",
    int | None: "number | null",
    list[str]: "readonly string[]",
}


@pytest.mark.parametrize(
    ("interface", "model"),
    [
        ("Choices", new_study.Choices),
        ("Estimate", new_study.Estimate),
        ("Bar", new_study.Bar),
        ("Draft", new_study.Draft),
        ("Reply", new_study.FirstReply),
    ],
)
def test_the_page_asks_for_fields_that_are_sent(interface: str, model: type[BaseModel]) -> None:
    """Guards types that are written by hand: a field that is renamed here would be undefined there."""
    asked = dict(re.findall(r"^  (\w+): (.+);$", INTERFACES[interface], re.MULTILINE))
    assert asked
    for name in asked.keys() - OF_THE_PAGE.get(interface, set()):
        assert name in model.model_fields, f"{interface}.{name} is not sent"
        annotation: Any = model.model_fields[name].annotation
        assert asked[name] == TYPES.get(annotation, asked[name]), f"{interface}.{name}: {annotation}"
