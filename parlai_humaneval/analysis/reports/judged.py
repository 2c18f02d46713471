"""What every report on judgements of finished dialogues says of the data it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.reports.facts import LEVEL, status_count
from parlai_humaneval.analysis.reports.types import AttentionChecks
from parlai_humaneval.tables.counting import is_set, median, unique
from parlai_humaneval.tables.from_records import Tables

NOTHING = "No item has been judged yet, so nothing can be said about the models."

REUSED = (
    "Intervals are over workers: they say how sure the judgement of these dialogues is. The more often the same "
    "dialogues are shown, the less they say of others of the models."
)


def judged_facts(tables: Tables, rows: pd.DataFrame, *, seed: int) -> dict[str, Any]:
    """The fields of :class:`~parlai_humaneval.analysis.reports.types.JudgedReport` that any technique fills alike.

    ``rows``: those of the table that the technique reads, which are all there is in tables from elsewhere.
    """
    gold = is_set(tables.judgements, "gold")
    results, checks = tables.judgements[~gold], tables.judgements[gold]
    shown = results["dialogues"].str.split(";").explode()
    complete = results["status"].eq("complete").to_numpy(dtype=bool)
    techniques = unique(pd.concat([tables.judgements["technique"], rows["technique"]]))
    return {
        "technique": techniques[0] if techniques else "",
        "tasks": unique(tables.judgements["task_name"]),
        "techniques": techniques,
        "questions": _questions(results),
        "judgements": status_count(results["status"]),
        "attention_checks": _attention(checks),
        "items": int(results["item_id"].nunique()),
        "dialogues_shown": int(shown.nunique()),
        "workers": int(pd.concat([tables.judgements["worker_id"], rows["worker_id"]]).nunique()),
        "median_seconds": median(results[complete]["seconds"]),
        "include_partial": False,
        "level": LEVEL,
        "seed": seed,
    }


def _questions(judgements: pd.DataFrame) -> Mapping[str, list[str]]:
    """Metric → its questions, in the order in which they were asked."""
    found: dict[str, dict[str, None]] = {}
    for metric, text in zip(judgements["metric"], judgements["question"].fillna(""), strict=True):
        found.setdefault(str(metric), {}).update(dict.fromkeys(line for line in str(text).split("\n") if line))
    return {metric: list(lines) for metric, lines in sorted(found.items())}


def _attention(checks: pd.DataFrame) -> AttentionChecks:
    passed = is_set(checks, "gold_passed")
    failed = is_set(checks, "gold_passed", missing=1) ^ np.ones(len(checks), dtype=bool)
    return AttentionChecks(
        passed=int(passed.sum()),
        failed=int(failed.sum()),
        not_answered=int(checks["gold_passed"].isna().sum()),
        workers_failing=int(checks[failed]["worker_id"].nunique()),
    )
