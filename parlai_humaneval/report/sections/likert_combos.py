"""Turns and final ratings of the same conversations together, for the section ``likert`` (Smith et al. 2022, App. C.8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from parlai_humaneval.report.rows import Columns
from parlai_humaneval.report.section import Part
from parlai_humaneval.report.views import Method
from parlai_humaneval.statistics.combos import SINGLE_WEIGHTS, single_combos
from parlai_humaneval.statistics.likert import RatedCriterion
from parlai_humaneval.statistics.means import clustered_difference, t_test
from parlai_humaneval.statistics.win_rates import effective_win_test
from parlai_humaneval.tables.choices import ChoiceGroup


class LikertCombo(Part):
    """Two models by weighted means of a conversation's turns and its rating, ``w_turn`` : ``w_dialog``.

    ``metric``: of turns; ``criterion``: of ratings. ``difference``: mean of A minus mean of B, from 0 to 1 each, with
    the interval clustered by worker; ``p_value``: the paper's t test. ``effective_win_rate``: chance that A's score is
    the higher one, equal ones counting half.
    """

    technique: str
    setting: str
    metric: str
    criterion: str
    w_turn: float
    w_dialog: float
    model_a: str
    model_b: str
    n_a: int
    n_b: int
    mean_a: float
    mean_b: float
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float | None
    p_clustered: float | None
    effective_win_rate: float | None
    effective_low: float | None
    effective_high: float | None


COLUMNS: Columns = (
    ("technique", "Technique", "text"),
    ("setting", "Setting", "text"),
    ("metric", "Turns", "text"),
    ("criterion", "Rating", "text"),
    ("w_turn", "Weight of turns", "number"),
    ("w_dialog", "of rating", "number"),
    ("model_a", "Model A", "text"),
    ("model_b", "Model B", "text"),
    ("mean_a", "Mean of A", "number"),
    ("mean_b", "Mean of B", "number"),
    ("difference", "A − B", "number"),
    ("ci_low", "From", "number"),
    ("ci_high", "To", "number"),
    ("p_clustered", "p, clustered", "p"),
    ("p_value", "p, t test (paper)", "p"),
    ("effective_win_rate", "Effective win rate of A", "share"),
    ("effective_low", "From, effective", "share"),
    ("effective_high", "To, effective", "share"),
)
METHOD = Method(
    name="Turns and rating together",
    text="Of each conversation that has both: whether at least half of turns 3–6 were good, and the rating brought to 0–1 "
    "(turned round where more is worse), weighted 1 : 5 and 1 : 10, with which the paper tells models apart fastest. "
    "Turns and ratings of one name belong together; where no names are the same, every two.",
    source="Smith et al. 2022, App. C.8",
)


def combo_rows(turns: Sequence[ChoiceGroup], rated: Sequence[RatedCriterion], level: float) -> Iterator[LikertCombo]:
    """A row per question of turns, criterion, weights and pair of models; none without conversations that have both."""
    for group in turns:
        # Tables from elsewhere say no setting of ratings: dialogues are matched by their names.
        fitting = [one for one in rated if one.setting in ("", group.setting)]
        same = [one for one in fitting if one.criterion == group.metric]
        for one in same or fitting:
            if same or not _has_namesake(one, turns):
                for weights in SINGLE_WEIGHTS:
                    yield from _pairs(group, one, weights, level)


def _has_namesake(one: RatedCriterion, turns: Sequence[ChoiceGroup]) -> bool:
    return any(group.metric == one.criterion for group in turns)


def _pairs(
    group: ChoiceGroup, rated: RatedCriterion, weights: tuple[float, float], level: float
) -> Iterator[LikertCombo]:
    for a, b in combinations(single_combos(group, rated, *weights), 2):
        gap = clustered_difference(a.values, a.workers, b.values, b.workers, limits=(-1.0, 1.0), level=level)
        effective = effective_win_test(a.values, a.workers, b.values, b.workers, level=level)
        yield LikertCombo(
            technique=group.technique,
            setting=group.setting,
            metric=group.metric,
            criterion=rated.criterion,
            w_turn=weights[0],
            w_dialog=weights[1],
            model_a=a.model,
            model_b=b.model,
            n_a=len(a.values),
            n_b=len(b.values),
            mean_a=float(a.values.mean()),
            mean_b=float(b.values.mean()),
            difference=gap.estimate,
            ci_low=gap.ci_low,
            ci_high=gap.ci_high,
            p_value=t_test(a.values, b.values).p_value,
            p_clustered=gap.p_value,
            effective_win_rate=effective.estimate,
            effective_low=effective.ci_low,
            effective_high=effective.ci_high,
        )
