"""Printed table cells of the five papers come out of our functions."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pandas as pd
import pytest
from paper_figures import recompute
from reference import REFERENCE

from parlai_humaneval.analysis import worker_checks
from parlai_humaneval.tables.columns import typed

PATH = REFERENCE / "paper_figures.json"
FIGURES: list[dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8")) if PATH.is_file() else []


@cache
def ratings_of_run_one() -> dict[str, int]:
    """Model → ratings by workers who passed the check, of the released run."""
    path = REFERENCE.parent / "data" / "dialogue_eval_run1" / "ratings.csv"
    wide: pd.DataFrame = pd.read_csv(path).rename(columns={"worker": "worker_id"})
    wide = wide.assign(
        dialogue_id=[f"d{row}" for row in range(len(wide))], degraded=(wide["model"] == "qc").astype(int)
    )
    criteria = ["interesting", "fun", "consistent", "fluent", "topic", "robotic", "repetitive"]
    columns = ["dialogue_id", "worker_id", "model", "degraded"]
    long = wide.melt(columns, criteria, var_name="criterion", value_name="value")
    passed = set(worker_checks(typed("ratings", long)).query("passed")["worker_id"])
    kept = long[long["worker_id"].isin(passed) & (long["degraded"] == 0)]
    return {str(model): len(rows) for model, rows in kept.groupby("model")}


def _name(figure: dict[str, Any]) -> str:
    return f"{figure['paper']}-{figure['table']}-{figure['cell']}"


@pytest.mark.skipif(not FIGURES, reason="the papers' figures are not beside this checkout")
@pytest.mark.parametrize("figure", FIGURES, ids=map(_name, FIGURES))
def test_a_printed_figure_is_recomputed(figure: dict[str, Any]) -> None:
    """From the inputs that the paper gives, within the rounding of what it prints."""
    got = recompute(figure)
    if got is None:
        # How many ratings a model got is no formula; only those of one run are released.
        if "run1" not in figure["table"]:
            pytest.skip("the ratings of this run are not released")
        got = ratings_of_run_one()[figure["cell"].split()[0].replace("p", "_p")]
    assert got == pytest.approx(figure["expected"], abs=figure["tolerance"] + 1e-9)
