"""Ratings at the end of a dialogue on scales of a few points (Smith et al. 2022, §3.1.4 and App. C.7), and combos: win
rates of two techniques put together, and scores of conversations from turns and final ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Floats, Objects
from parlai_humaneval.statistics.core import clustered, sign_flip
from parlai_humaneval.statistics.core.means import clustered_difference, clustered_mean, t_test
from parlai_humaneval.statistics.core.multiplicity import Family, corrected_fields, with_once_each
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference import win_rates
from parlai_humaneval.statistics.ratings.sliders import is_reversed
from parlai_humaneval.tables.choices import ComparisonGroup
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.filters import finished, is_set, of_unfinished, on_sliders
from parlai_humaneval.tables.validate import check_criteria

RATED_GROUP = ("technique", "setting", "metric", "criterion")


@dataclass(frozen=True)
class ModelRatings:
    """All ratings of one model on one criterion, or scores of its conversations, an entry each."""

    model: str
    values: Floats
    workers: Objects
    dialogues: Objects


@dataclass(frozen=True)
class RatedCriterion:
    """Ratings that can be compared, with the ends of the scale (None: not known). ``reversed``: a high rating is a bad
    one."""

    technique: str
    setting: str
    metric: str
    criterion: str
    minimum: float | None
    maximum: float | None
    reversed: bool
    models: tuple[ModelRatings, ...]

    @property
    def family(self) -> Family:
        """What is corrected for together."""
        return Family(self.technique, self.setting, self.metric, self.criterion)

    @property
    def limits(self) -> clustered.Limits:
        """What a mean cannot be beyond."""
        return None if self.minimum is None or self.maximum is None else (self.minimum, self.maximum)

    def better(self, values: Floats) -> Floats:
        """``values`` so that more is better."""
        return -values if self.reversed else values


def likert_rows(tables: Tables) -> pd.DataFrame:
    """Ratings on scales of up to ten points, of finished dialogues; of degraded models and second raters none."""
    rows = tables.ratings
    rows = rows.assign(**{name: rows[name].fillna("") for name in ("technique", "setting", "metric")})
    whole = finished(rows) & ~of_unfinished(rows["dialogue_id"], rows["worker_id"], tables.dialogues)
    own = rows["own_worker"].isna().to_numpy(dtype=bool) & ~is_set(rows, "degraded")
    return rows[~on_sliders(rows) & whole & own]


@lru_cache(maxsize=2)
def likert_groups(tables: Tables) -> tuple[RatedCriterion, ...]:
    """The groups of :func:`likert_rows`, sorted; their models by name. Kept, as several parts of a report ask for them.

    Assumes nothing of the ratings: they are only sorted into groups.

    Source: Smith et al. 2022, §3.1.4.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> group = likert_groups(example_tables())[0]
    >>> group.criterion, [(model.model, float(model.values.mean())) for model in group.models]
    ('engaging', [('ada', 3.875), ('bob', 3.375), ('cyd', 1.875)])
    """
    if tables.ratings.empty:
        return ()
    rows = likert_rows(tables)
    check_criteria(rows, on_sliders(rows))
    return tuple(_group(own, *(str(part) for part in key)) for key, own in rows.groupby(list(RATED_GROUP), sort=True))


def _group(rows: pd.DataFrame, technique: str, setting: str, metric: str, criterion: str) -> RatedCriterion:
    ends = [rows["minimum"].min(), rows["maximum"].max()]
    low, high = (None if pd.isna(end) else float(end) for end in ends)
    models = tuple(
        ModelRatings(
            model=str(model),
            values=own["value"].to_numpy(dtype=float),
            workers=own["worker_id"].to_numpy(dtype=object),
            dialogues=own["dialogue_id"].to_numpy(dtype=object),
        )
        for model, own in rows.groupby("model", sort=True)
    )
    turned = bool(is_reversed(rows).any())
    return RatedCriterion(technique, setting, metric, criterion, low, high, turned, models)


def mean_rating(group: RatedCriterion, model: ModelRatings, *, level: float = 0.95) -> Result:
    """The mean as it was rated, not reversed, clustered by rater, and by dialogue where several workers rated the
    same."""
    name = f"{group.criterion} of {model.model}"
    shown = model.dialogues
    return clustered_mean(model.values, model.workers, dialogues=shown, name=name, limits=group.limits, level=level)


@dataclass(frozen=True)
class RatedPair:
    """Two models on one criterion: A minus B, the t test, and the chance that A's rating is the better one."""

    model_a: ModelRatings
    model_b: ModelRatings
    difference: Result
    paper: Result
    effective: Result


def rated_pairs(group: RatedCriterion, *, level: float = 0.95) -> list[RatedPair]:
    """Every two models of ``group``, which are one family of tests.

    ``difference`` is in points of the scale, clustered by rater, and by dialogue where several workers rated the same;
    ``paper`` takes all ratings as independent; ``effective`` is the chance that a rating of A is the higher one.

    Assumes equal steps of the scale for ``difference`` and ``paper``, only their order for ``effective``; and for the
    clustered tests that ratings without a common worker or dialogue are independent.

    Source: Smith et al. 2022, §4.3 and App. C.7.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> group = likert_groups(example_tables())[0]
    >>> pair = rated_pairs(group)[0]
    >>> print(pair.difference)
    engaging of ada − bob: 0.500, 95% interval −1.000 to 2.500, statistic 0.764, p = .58, Holm p = .58, n = 16
    [sign-flip test, clustered by rater]
    """
    pairs = [_pair(group, a, b, level) for a, b in combinations(group.models, 2)]
    return corrected_fields(pairs, group.family, "difference", "paper", "effective")


def _pair(group: RatedCriterion, a: ModelRatings, b: ModelRatings, level: float) -> RatedPair:
    name = f"{group.criterion} of {a.model} − {b.model}"
    span = None if group.limits is None else group.limits[1] - group.limits[0]
    limits = None if span is None else (-span, span)
    sides, shown = (a.values, a.workers, b.values, b.workers), (a.dialogues, b.dialogues)
    return RatedPair(
        model_a=a,
        model_b=b,
        difference=clustered.with_dispersion(
            with_once_each(clustered_difference, *sides, dialogues=shown, name=name, limits=limits, level=level), *sides
        ),
        paper=t_test(a.values, b.values, name=name),
        effective=win_rates.effective_win_test(
            *(group.better(a.values), a.workers, group.better(b.values), b.workers),
            name=f"effective win rate of {a.model} over {b.model}, {group.criterion}",
            level=level,
            dialogues=shown,
        ),
    )


def final_scores(groups: Sequence[RatedCriterion]) -> pd.DataFrame:
    """One score a dialogue: the mean of its criteria, with more as better; a row per dialogue and worker."""
    parts = []
    for group in groups:
        if group.reversed and group.limits is None:
            continue
        for one in group.models:
            values = sum(group.limits) - one.values if group.reversed and group.limits else one.values
            named = {"dialogue_id": one.dialogues, "worker_id": one.workers, "model": one.model}
            parts.append(pd.DataFrame({**named, "score": values}))
    if not parts:
        return pd.DataFrame(columns=["dialogue_id", "worker_id", "model", "score"])
    means = pd.concat(parts).groupby(["dialogue_id", "worker_id", "model"], sort=True)["score"].mean()
    return means.reset_index()


PAIR_TURNS = (2, 6)  # Turns of PW-Turn in the PW combo (Smith et al. 2022, Table 3).
SINGLE_TURNS = (3, 6)  # Turns of SM-Turn in its combos (App. C.8).
SINGLE_WEIGHTS = ((1.0, 5.0), (1.0, 10.0))
"""Turns : final rating. Those that the paper finds to tell models apart fastest (App. C.8)."""
PAIR_SOURCE = "Smith et al. 2022, §5 and Table 3"
_PAPERS_SCALE = (1.0, 5.0)


def pair_combo(
    won_turns: npt.ArrayLike,
    turn_workers: npt.ArrayLike,
    won_dialogs: npt.ArrayLike,
    dialog_workers: npt.ArrayLike,
    *,
    w_turn: float = 1,
    w_dialog: float = 5,
    name: str = "PW combo",
    level: float = 0.95,
) -> Result:
    """The win rate of ratings drawn from turns and from dialogues at ``w_turn`` : ``w_dialog``, clustered by rater."""
    parts = [
        (np.asarray(won, dtype=float), np.asarray(workers, dtype=object))
        for won, workers in ((won_turns, turn_workers), (won_dialogs, dialog_workers))
    ]
    method = f"weighted {w_turn:g} : {w_dialog:g}, {clustered.FLIPPED}, clustered by rater"
    how = method, f"{PAIR_SOURCE}; {sign_flip.SOURCE}", clustered.independent()
    n, details = sum(len(won) for won, _ in parts), {"w_turn": w_turn, "w_dialog": w_dialog, "null": 0.5}
    base = Result.by(*how, name=name, n=n, level=level, details=details)
    if not all(len(won) for won, _ in parts):
        return base.but(p_value=1.0, notes=("nothing was decided: nothing can be estimated",))
    turn, dialog = (float(won.mean()) for won, _ in parts)
    share = win_rates.pw_combo_score(turn, dialog, w_turn, w_dialog)
    base = base.but(estimate=share)
    fewest = min(len(pd.unique(workers)) for _, workers in parts)
    if fewest < clustered.MIN_CLUSTERS:
        return base.but(notes=(clustered.too_few_clusters(),))
    weights = (w_turn / (w_turn + w_dialog), w_dialog / (w_turn + w_dialog))
    deviations = np.concatenate([w * (won - won.mean()) / len(won) for w, (won, _) in zip(weights, parts, strict=True)])
    rests_on = np.concatenate([np.full(len(won), w / len(won)) for w, (won, _) in zip(weights, parts, strict=True)])
    owners = np.concatenate([workers for _, workers in parts])
    observed = clustered.Clusters.of(share, deviations, rests_on, owners)
    return clustered.with_sign_flips(base, observed, 0.5, "worker", clustered.SHARE_LIMITS)


def single_combos(
    turns: ComparisonGroup, rated: RatedCriterion, w_turn: float = 1, w_dialog: float = 5
) -> list[ModelRatings]:
    """Of conversations that have both: whether at least half of turns 3–6 were good, and the rating brought to 0–1
    (Smith et al. 2022, App. C.8). Where the scale is not known it is the paper's, 1 to 5; none where ratings lie beyond
    it.
    """
    scale = rated.limits or _PAPERS_SCALE
    chosen = turns.at_turns(*SINGLE_TURNS)
    part = chosen.turns
    if not len(part.turns):
        return []
    codes, conversations = pd.factorize(pd.MultiIndex.from_arrays([part.dialogues, part.workers]))
    good = np.bincount(codes, weights=np.nansum(chosen.good, axis=1), minlength=len(conversations)).astype(float)
    asked = np.bincount(codes, minlength=len(conversations)).astype(float)
    scores = win_rates.sm_wta_scores(good, asked)
    found = []
    for one in rated.models:
        at = conversations.get_indexer(pd.MultiIndex.from_arrays([one.dialogues, one.workers]))
        both = at >= 0
        ratings = one.values[both]
        if not both.any() or (ratings < scale[0]).any() or (ratings > scale[1]).any():
            continue
        ratings = sum(scale) - ratings if rated.reversed else ratings
        values = win_rates.sm_combo_score(scores[at[both]], ratings, w_turn, w_dialog, scale=scale)
        found.append(ModelRatings(one.model, values, one.workers[both], one.dialogues[both]))
    return found
