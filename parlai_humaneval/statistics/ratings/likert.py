"""Ratings at the end of a dialogue on scales of a few points (Smith et al. 2022, §3.1.4 and App. C.7), and combos: win
rates of two techniques put together, and scores of conversations from turns and final ratings. And least squares, with the
paper's intervals and with ones clustered by worker: which turns weigh most in final ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Floats, Objects
from parlai_humaneval.statistics.core import clustered, sign_flip
from parlai_humaneval.statistics.core.means import clustered_difference, clustered_mean, t_test
from parlai_humaneval.statistics.core.multiplicity import Family, corrected_fields, with_once_each
from parlai_humaneval.statistics.core.result import Detail, Result, called
from parlai_humaneval.statistics.preference import win_rates
from parlai_humaneval.statistics.ratings.sliders import is_reversed
from parlai_humaneval.tables.choices import ComparisonGroup, choice_groups
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
        """The family for corrections."""
        return Family(self.technique, self.setting, self.metric, self.criterion)

    @property
    def limits(self) -> clustered.Limits:
        """The limits of a mean."""
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
    """For conversations that have both: whether at least half of turns 3–6 were good, and the rating brought to 0–1
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


INTERCEPT = "intercept"
_SOURCE = "Smith et al. 2022, App. C.4 (Figure 7)"
_LINEAR = "the dependent variable is a linear function of the others, with errors of equal variance"
_UNKNOWN = "cannot be separated from the other terms (constant, or a combination of them)"
_TOO_SHORT = "as many terms as observations: no error is left to estimate an interval from"


def ols(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    names: Sequence[str] | None = None,
    clusters: npt.ArrayLike | None = None,
    level: float = 0.95,
    cluster: str = "worker",
) -> list[Result]:
    """Least squares of ``y`` (n) on the columns of ``x`` (n × k) and an intercept: a result per term, intercept first.

    Without ``clusters`` intervals and p-values are the classical ones (t, n − k − 1 degrees of freedom, all
    observations independent); with them they are CR1 (t, clusters − 1 degrees of freedom). A term that the data cannot
    tell apart from the others has no estimate, and ``notes`` says so.

    Raises:
        ValueError: missing values, shapes that do not fit, or no observations.

    A coefficient is by how much ``y`` is higher where its column is higher by 1 and the others are the same.

    Assumes that the mean of ``y`` is linear in ``x``; with ``clusters``, that these are independent; without, that all
    observations are, with normal errors of equal variance.

    Source: Smith et al. 2022, App. C.4; Cameron & Miller 2015, §II.

    >>> terms = ols([1, 2, 3, 4, 5], [2.1, 3.9, 6.2, 7.8, 10.1], names=['turn'])
    >>> [(term.name, round(term.estimate, 2)) for term in terms]
    [('intercept', 0.05), ('turn', 1.99)]
    """
    matrix, target = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    terms = [INTERCEPT, *(names or [f"x{i}" for i in range(1, matrix.shape[1] + 1)])]
    if matrix.ndim != 2 or target.ndim != 1 or len(matrix) != len(target):
        raise ValueError(f"x must have a row for each of y: their shapes are {matrix.shape} and {target.shape}")
    if len(terms) != matrix.shape[1] + 1:
        raise ValueError(f"{len(terms) - 1} names for {matrix.shape[1]} columns")
    if not len(target):
        raise ValueError("no observations: nothing can be estimated")
    if not (np.isfinite(matrix).all() and np.isfinite(target).all()):
        raise ValueError("x and y must have no missing or infinite values: leave such rows out")
    design = np.column_stack([np.ones(len(target)), matrix])
    width = design.shape[1]
    # The pseudo-inverse finds terms that cannot be separated, and each of these gets a note.
    solver, projection = np.linalg.pinv(design), np.linalg.pinv(design, rcond=1e-10) @ design
    estimates, inverse = solver @ target, solver @ solver.T
    residuals, free = target - design @ estimates, len(target) - int(np.linalg.matrix_rank(design))
    base = Result.by("least squares, classical t", _SOURCE, name="", n=len(target), level=level)
    variances, df, note = None, free, _TOO_SHORT if free < 1 else ""
    details: dict[str, Detail] = {}
    notes: tuple[str, ...] = ()
    if clusters is None:
        base = base.but(assumptions=(_LINEAR, "all observations are independent of each other"))
        if not note:
            variances = np.diag(inverse) * (residuals**2).sum() / free
    else:
        owners = np.asarray(clusters, dtype=object)
        if len(owners) != len(target) or pd.isna(owners).any():
            raise ValueError(f"each observation needs its {called(cluster)}")
        codes, names_of_groups = pd.factorize(owners)
        groups = len(names_of_groups)
        base = base.but(
            method=f"least squares, CR1 t, clustered by {called(cluster)}",
            assumptions=(_LINEAR, f"{called(cluster)}s are independent of each other"),
            source=f"{_SOURCE}; {clustered.CR1_SOURCE}",
        )
        df, details = groups - 1, {f"n_{cluster}s": groups}
        if groups < clustered.MIN_CLUSTERS:
            note = clustered.too_few_clusters(cluster)
        elif not note and groups <= width:
            note = f"no more {called(cluster)}s than terms: a clustered interval cannot be estimated"
        if not note:
            scores = np.zeros((groups, width))
            np.add.at(scores, codes, design * residuals[:, None])
            correction = groups / (groups - 1) * (len(target) - 1) / (len(target) - width)
            variances = correction * ((scores @ inverse) ** 2).sum(axis=0)
            notes = clustered.small_sample_notes(groups, cluster)
    df = 0 if note else df
    base = base.but(notes=(note,) if note else notes, details={"df": df, **details})
    results = []
    for i, term in enumerate(terms):
        if np.abs(projection[i] - np.eye(width)[i]).max() >= 1e-6:
            results.append(base.but(name=term, notes=(f"{term} {_UNKNOWN}",)))
            continue
        result = base.but(name=term, estimate=float(estimates[i]))
        error = 0.0 if variances is None else float(np.sqrt(variances[i]))
        if error >= 1e-9:
            result = clustered.with_t(result, error, df).but(details={**base.details, "standard_error": error})
        elif variances is not None:
            result = result.but(
                notes=(*base.notes, "the fit is perfect: no error is left to estimate an interval from")
            )
        results.append(result)
    return results


@dataclass(frozen=True)
class TurnWeights:
    """Least squares of final scores on the rates of each turn, over the dialogues of ``model`` ("": of all). ``terms``:
    by worker, ``paper``: classical. ``left_out``: dialogues of other length, or without final ratings."""

    model: str
    n_dialogues: int
    n_turns: int
    left_out: int
    terms: list[Result]
    paper: list[Result]


def single_groups(tables: Tables) -> list[ComparisonGroup]:
    """The groups of single replies, without the work on the turns in which several were shown."""
    turns = tables.turns
    one = turns.drop_duplicates(["dialogue_id", "model"]).drop_duplicates("dialogue_id", keep=False)["dialogue_id"]
    alone = turns["dialogue_id"].isin(one).to_numpy(dtype=bool)
    if not alone.any():
        return []
    return [group for group in choice_groups(replace(tables, turns=turns[alone])) if group.kind == "single"]


def turn_weights(
    turns: Sequence[ComparisonGroup], ratings: Sequence[RatedCriterion], *, level: float = 0.95
) -> list[TurnWeights]:
    """Regress the mean final rating of a dialogue on the share of criteria found good at each turn."""
    rates, scores = turn_rates(turns), final_scores(ratings)
    rates = rates.join(scores.set_index(["dialogue_id", "worker_id"])["score"], how="left")
    if rates["score"].notna().sum() == 0:
        return []
    of_model = (
        rates.index.get_level_values("dialogue_id")
        .map(dict(zip(scores["dialogue_id"], scores["model"], strict=True)))
        .to_numpy(dtype=object)
    )
    models = sorted({str(model) for model in of_model if isinstance(model, str)})
    together = _regressed(rates, "", level)
    each = [_regressed(rates[of_model == model], model, level) for model in models if len(models) > 1]
    return [one for one in (together, *each) if one is not None]


def turn_rates(groups: Sequence[ComparisonGroup]) -> pd.DataFrame:
    """Share of criteria found good: a row per dialogue and worker (the index), a column per turn; nan where none."""
    parts = [
        pd.DataFrame(
            {
                "dialogue_id": group.turns.dialogues,
                "worker_id": group.turns.workers,
                "turn": group.turns.turns.astype(int),
                "good": np.nansum(group.good, axis=1),
            }
        )
        for group in groups
    ]
    if not parts:
        index = pd.MultiIndex.from_arrays([[], []], names=["dialogue_id", "worker_id"])
        return pd.DataFrame(index=index)
    return pd.concat(parts).groupby(["dialogue_id", "worker_id", "turn"])["good"].mean().unstack("turn")


def _regressed(rates: pd.DataFrame, model: str, level: float) -> TurnWeights | None:
    turns = [name for name in rates.columns if name != "score"]
    rated = rates[rates["score"].notna().to_numpy(dtype=bool)]
    if rated.empty:
        return None
    known = rated[turns].notna()
    n_turns = int(known.sum(axis=1).mode().max())
    first = turns[:n_turns]
    whole = (known[first].all(axis=1) & (known.sum(axis=1) == n_turns)).to_numpy(dtype=bool)
    used = rated[whole]
    if used.empty:
        return None
    x, y = used[first].to_numpy(dtype=float), used["score"].to_numpy(dtype=float)
    workers = used.index.get_level_values("worker_id").to_numpy(dtype=object)
    names = [f"turn {turn}" for turn in first]
    return TurnWeights(
        model=model,
        n_dialogues=len(used),
        n_turns=n_turns,
        left_out=len(rates) - len(used),
        terms=ols(x, y, names=names, clusters=workers, level=level),
        paper=ols(x, y, names=names, level=level),
    )
