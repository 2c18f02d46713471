"""Tables of compared dialogues → the report of PW-Dialog (Smith et al. 2022, §3.1.3 and App. C.7)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.reports.agreed import agreement_of
from parlai_humaneval.analysis.reports.duels import correct_duels, duels_of, rate, standings_of
from parlai_humaneval.analysis.reports.facts import CLUSTERED, methods_of
from parlai_humaneval.analysis.reports.judged import NOTHING, REUSED, judged_facts
from parlai_humaneval.analysis.reports.pw_dialog import words
from parlai_humaneval.analysis.reports.pw_dialog.types import DialogGroup, PairwiseDialogReport, Reuse
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.shares import binomial_test
from parlai_humaneval.statistics.win_rates import Floats
from parlai_humaneval.tables.counting import finished, median, unique
from parlai_humaneval.tables.from_records import Tables

METHODS = [
    "Win rate: judgements for the model, of those for either; ties are left out of it, and counted beside.",
    CLUSTERED + " Tested against one half. " + REUSED,
    "Binomial p: the paper's two-sided test, takes all judgements as independent.",
]
HOLM = "Holm: clustered p corrected for all pairs of the report, the paper's p for those of its group."


def build_report(tables: Tables, *, seed: int = 0, include_partial: bool = False) -> PairwiseDialogReport:
    """Who was found better, for each setting and metric; reads ``comparisons`` of two dialogues.

    Only complete judgements count; ``include_partial`` changes nothing, as an item is judged as a whole.
    """
    rows = tables.comparisons
    rows = rows[(rows["dialogue_a"] != rows["dialogue_b"]).to_numpy(dtype=bool)]
    rows = rows.assign(setting=rows["setting"].fillna(""))
    groups = [_group(own, str(s), str(m), seed) for (s, m), own in rows.groupby(["setting", "metric"], sort=True)]
    correct_duels([pair for group in groups for pair in group.pairs])
    for group in groups:
        group.headline = words.headline(group)
        group.remarks = words.remarks(group)
    tested = [result for group in groups for pair in group.pairs for result in (pair.win_rate_a, pair.paper)]
    facts = judged_facts(tables, rows, seed=seed)
    facts["questions"] = {group.metric: [group.question] for group in groups if group.question} or facts["questions"]
    return PairwiseDialogReport(
        **facts,
        headline=" ".join(group.headline for group in groups) or NOTHING,
        groups=groups,
        methods=methods_of(METHODS if groups else [], HOLM, tested),
    )


def _group(rows: pd.DataFrame, setting: str, metric: str, seed: int) -> DialogGroup:
    counted = rows[finished(rows)]
    return DialogGroup(
        setting=setting,
        metric=metric,
        question=" / ".join(unique(rows["question"])),
        n_judgements=len(counted),
        n_items=int(counted["item_id"].nunique()),
        n_workers=int(counted["worker_id"].nunique()),
        standings=standings_of(counted),
        pairs=duels_of(counted, _paper),
        left=_left(counted),
        reuse=_reuse(counted),
        agreement=agreement_of(counted["item_id"], _outcome(counted), counted["item_id"], cluster="item", seed=seed),
        median_seconds=median(counted["seconds"]),
        unfinished=len(rows) - len(counted),
    )


def _paper(wins: int, losses: int) -> Result:
    return binomial_test(wins, wins + losses, name="wins of A")


def _outcome(rows: pd.DataFrame) -> Floats:
    """1: A won, −1: B, 0: a tie; whatever the models are called."""
    winner = rows["winner"].to_numpy(dtype=object)
    return np.asarray((winner == rows["model_a"]).astype(float) - (winner == rows["model_b"]).astype(float))


def _left(rows: pd.DataFrame) -> Result:
    side = rows["side"].fillna(rows["position_a"]).to_numpy(dtype=float, na_value=np.nan)
    outcome = _outcome(rows)
    known = ~np.isnan(side) & (outcome != 0)
    left = (np.where(side[known] == 1, outcome[known], -outcome[known]) > 0).astype(float)
    return rate(left, np.ones_like(left), rows[known], "the dialogue on the left was chosen")


def _reuse(rows: pd.DataFrame) -> list[Reuse]:
    sides = [rows[[f"model_{x}", f"dialogue_{x}"]].set_axis(["model", "dialogue"], axis=1) for x in ("a", "b")]
    times = pd.concat(sides).groupby(["model", "dialogue"]).size()
    return [
        Reuse(
            model=str(model), dialogues=len(own), judgements=int(own.sum()), mean=float(own.mean()), most=int(own.max())
        )
        for model, own in times.groupby(level="model")
    ]
