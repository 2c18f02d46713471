"""What every report says of the data it rests on; and which rows of the tables count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.reports.types import DialogueCount, TurnCount
from parlai_humaneval.statistics.clustered import MIN_CLUSTERS
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.tables.counting import Mask, is_set, median, that_count, unique
from parlai_humaneval.tables.from_records import Tables

LEVEL = 0.95

CLUSTERED = (
    "Intervals and clustered p: CR1 variance of the sums of each worker, Student's t with workers − 1 degrees of "
    f"freedom; cut where more is not possible, and none from fewer than {MIN_CLUSTERS} workers."
)


def common_facts(tables: Tables, *, include_partial: bool, seed: int) -> dict[str, Any]:
    """The fields of :class:`~parlai_humaneval.analysis.reports.types.LiveReport` that any technique fills alike."""
    dialogues = tables.dialogues
    begun = dialogues["n_turns_started"].fillna(dialogues["n_turns"])
    answered = int(dialogues["n_turns"].sum())
    complete = dialogues[(dialogues["complete"] == 1).to_numpy(dtype=bool)]
    techniques = unique(dialogues["technique"])
    workers = [frame["worker_id"] for frame in (dialogues, tables.turns, tables.comparisons, tables.ratings)]
    return {
        "technique": techniques[0] if techniques else "",
        "tasks": unique(dialogues["task_name"]),
        "techniques": techniques,
        "questions": {str(m): unique(rows["question"]) for m, rows in dialogues.groupby("metric", sort=True)},
        "dialogue_count": _dialogue_count(dialogues),
        "turn_count": TurnCount(complete=answered, incomplete=max(0, int(begun.sum()) - answered)),
        "workers": int(pd.concat(workers).nunique()),
        "median_turn_seconds": _median_turn(tables.turns, include_partial),
        "median_dialogue_seconds": median(complete["seconds"]),
        "include_partial": include_partial,
        "level": LEVEL,
        "seed": seed,
    }


def methods_of(methods: Sequence[str], holm: str, tested: Iterable[Result]) -> list[str]:
    """``methods``, and that on Holm's correction only where a p-value of ``tested`` was corrected."""
    return [*methods, *([holm] if any(result.p_holm is not None for result in tested) else [])]


def _median_turn(turns: pd.DataFrame, include_partial: bool) -> float | None:
    """Over turns in which something was asked: others are answered at once by the program, in 0 s."""
    counted = turns[that_count(turns, include_partial) & _asked(turns)]
    return median(counted.drop_duplicates(["dialogue_id", "turn"])["seconds"])


def _asked(turns: pd.DataFrame) -> Mask:
    """Rows of turns with something to tick, or with several replies to choose from."""
    several = turns.duplicated(["dialogue_id", "turn"], keep=False).to_numpy(dtype=bool)
    choice = several & ~is_set(turns, "continued_each") & ~is_set(turns, "automatic")
    return np.asarray(choice | turns["tick_choices"].notna().to_numpy(dtype=bool), dtype=bool)


def _dialogue_count(dialogues: pd.DataFrame) -> DialogueCount:
    complete = dialogues["complete"].map({1: "complete", 0: "partial"})
    return status_count(dialogues["status"].fillna(complete))


def status_count(status: pd.Series[Any]) -> DialogueCount:
    """How many there are of each status."""
    counts = status.value_counts()
    return DialogueCount(**{name: int(counts.get(name, 0)) for name in DialogueCount.model_fields})
