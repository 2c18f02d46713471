"""Printed table cells of the five papers come out of our functions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import REFERENCE
from paper_figures import recompute

PATH = REFERENCE / "paper_figures.json"
FIGURES: list[dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8")) if PATH.is_file() else []


def _name(figure: dict[str, Any]) -> str:
    return f"{figure['paper']}-{figure['table']}-{figure['cell']}"


@pytest.mark.skipif(not FIGURES, reason="the papers' figures are not beside this checkout")
@pytest.mark.parametrize("figure", FIGURES, ids=map(_name, FIGURES))
def test_a_printed_figure_is_recomputed(figure: dict[str, Any]) -> None:
    """From the inputs that the paper gives, within the rounding of what it prints."""
    got = recompute(figure)
    if got is None:
        # How many ratings a model got is no formula: test_section_direct_assessment counts those of the released run.
        assert figure["expected"] % 7 == 0, "seven ratings a dialogue"
        return
    assert got == pytest.approx(figure["expected"], abs=figure["tolerance"] + 1e-9)
