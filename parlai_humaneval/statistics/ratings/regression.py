"""Least squares with the paper's intervals and with ones clustered by worker; which turns weigh most in final ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtr, stdtrit

from parlai_humaneval._util.arrays import Flags, Floats, Objects
from parlai_humaneval.statistics.core.clustered import CR1_SOURCE, MIN_CLUSTERS, small_sample_notes, too_few_clusters
from parlai_humaneval.statistics.core.result import Detail, Result
from parlai_humaneval.statistics.ratings.likert import RatedCriterion, final_scores
from parlai_humaneval.tables.choices import ComparisonGroup, choice_groups
from parlai_humaneval.tables.columns import Tables

INTERCEPT = "intercept"
_SOURCE = "Smith et al. 2022, App. C.4 (Figure 7)"
_LINEAR = "the dependent variable is a linear function of the others, with errors of equal variance"
_UNKNOWN = "cannot be told apart from the other terms (constant, or a combination of them)"
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
    _check(matrix, target, terms)
    design = np.column_stack([np.ones(len(target)), matrix])
    identified = _identified(design)
    if clusters is None:
        estimates, errors, df, notes = _classical(design, target)
        method, assumptions = "least squares, classical t", (_LINEAR, "all observations are independent of each other")
        details: dict[str, Detail] = {"df": df}
    else:
        estimates, errors, df, notes, groups = _clustered(design, target, np.asarray(clusters, dtype=object), cluster)
        method = f"least squares, CR1 t, clustered by {cluster}"
        assumptions = (_LINEAR, f"{cluster}s are independent of each other")
        details = {"df": df, f"n_{cluster}s": groups}
    base = Result(
        name="",
        level=level,
        n=len(target),
        method=method,
        assumptions=assumptions,
        source=_SOURCE if clusters is None else f"{_SOURCE}; {CR1_SOURCE}",
        notes=notes,
        details=details,
    )
    return [
        _term(base.but(name=term), float(estimates[i]), float(errors[i]), df)
        if identified[i]
        else base.but(name=term, notes=(f"{term} {_UNKNOWN}",))
        for i, term in enumerate(terms)
    ]


def _term(base: Result, estimate: float, error: float, df: int) -> Result:
    if not np.isfinite(error) or df < 1:
        return base.but(estimate=estimate)
    if error < 1e-9:
        note = "the fit is perfect: no error is left to estimate an interval from"
        return base.but(estimate=estimate, notes=(*base.notes, note))
    half, t = float(stdtrit(df, 0.5 + base.level / 2)) * error, estimate / error
    return base.but(
        estimate=estimate,
        ci_low=estimate - half,
        ci_high=estimate + half,
        statistic=t,
        p_value=float(2 * stdtr(df, -abs(t))),
        details={**base.details, "standard_error": error},
    )


@dataclass(frozen=True)
class _Fit:
    """Least squares; ``inverse``: of the design's cross products, ``df``: observations − terms that can be told apart."""

    estimates: Floats
    inverse: Floats
    residuals: Floats
    df: int


def _fit(design: Floats, target: Floats) -> _Fit:
    """With the pseudo-inverse: terms that cannot be told apart are found, and said so, term by term."""
    solver = np.linalg.pinv(design)
    estimates = solver @ target
    df = len(target) - int(np.linalg.matrix_rank(design))
    return _Fit(estimates, solver @ solver.T, target - design @ estimates, df)


def _classical(design: Floats, target: Floats) -> tuple[Floats, Floats, int, tuple[str, ...]]:
    fit = _fit(design, target)
    if fit.df < 1:
        return fit.estimates, np.full(design.shape[1], np.nan), 0, (_TOO_SHORT,)
    return fit.estimates, np.sqrt(np.diag(fit.inverse) * (fit.residuals**2).sum() / fit.df), fit.df, ()


def _clustered(
    design: Floats, target: Floats, clusters: Objects, cluster: str
) -> tuple[Floats, Floats, int, tuple[str, ...], int]:
    if len(clusters) != len(target) or pd.isna(clusters).any():
        raise ValueError(f"each observation needs its {cluster}")
    codes, names = pd.factorize(clusters)
    groups, nothing = len(names), np.full(design.shape[1], np.nan)
    fit = _fit(design, target)
    if groups < MIN_CLUSTERS:
        return fit.estimates, nothing, 0, (too_few_clusters(cluster),), groups
    if fit.df < 1:
        return fit.estimates, nothing, 0, (_TOO_SHORT,), groups
    if groups <= design.shape[1]:
        note = f"no more {cluster}s than terms: a clustered interval cannot be estimated"
        return fit.estimates, nothing, 0, (note,), groups
    scores = np.zeros((groups, design.shape[1]))
    np.add.at(scores, codes, design * fit.residuals[:, None])
    correction = groups / (groups - 1) * (len(target) - 1) / (len(target) - design.shape[1])
    variances = correction * ((scores @ fit.inverse) ** 2).sum(axis=0)
    return fit.estimates, np.sqrt(variances), groups - 1, small_sample_notes(groups, cluster), groups


def _identified(design: Floats) -> Flags:
    projection = np.linalg.pinv(design, rcond=1e-10) @ design
    unit = np.eye(design.shape[1])
    return np.asarray(np.abs(projection - unit).max(axis=1) < 1e-6, dtype=bool)


def _check(matrix: Floats, target: Floats, terms: Sequence[str]) -> None:
    if matrix.ndim != 2 or target.ndim != 1 or len(matrix) != len(target):
        raise ValueError(f"x must have a row for each of y: their shapes are {matrix.shape} and {target.shape}")
    if len(terms) != matrix.shape[1] + 1:
        raise ValueError(f"{len(terms) - 1} names for {matrix.shape[1]} columns")
    if not len(target):
        raise ValueError("no observations: nothing can be estimated")
    if not (np.isfinite(matrix).all() and np.isfinite(target).all()):
        raise ValueError("x and y must have no missing or infinite values: leave such rows out")


@dataclass(frozen=True)
class TurnWeights:
    """Least squares of final scores on the rates of each turn, over the dialogues of ``model`` ("" for all together).

    ``terms``: intercept and a coefficient a turn, clustered by worker; ``paper``: the same with classical intervals.
    ``left_out``: dialogues with fewer or more turns than ``n_turns``, or without final ratings.
    """

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
    """Regress the mean final rating of a dialogue on the share of criteria found good at each turn.

    As in the paper both are means over the criteria. ``turns``: groups of single replies; ``ratings``: final ratings of
    the same dialogues. All models together come first, then each. Only dialogues of the most frequent number of turns
    count. Empty where no dialogue has both.

    Assumes what least squares does; final ratings are on a few points, so that intervals are approximate.

    A turn with a large coefficient weighs much in how the whole dialogue is rated.

    Source: Smith et al. 2022, App. C.4 (Figure 7).

    >>> from parlai_humaneval.tables.example import example_tables
    >>> from parlai_humaneval.statistics.ratings.likert import likert_groups
    >>> tables = example_tables()
    >>> weights = turn_weights(single_groups(tables), likert_groups(tables))[0]
    >>> weights.n_dialogues, [term.name for term in weights.terms]
    (24, ['intercept', 'turn 1', 'turn 2', 'turn 3', 'turn 4'])
    """
    rates, scores = turn_rates(turns), final_scores(ratings)
    rates = rates.join(scores.set_index(["dialogue_id", "worker_id"])["score"], how="left")
    if rates["score"].notna().sum() == 0:
        return []
    of_model = rates.index.get_level_values("dialogue_id").map(_models(scores)).to_numpy(dtype=object)
    models = sorted({str(model) for model in of_model if isinstance(model, str)})
    together = _regressed(rates, "", level)
    each = [_regressed(rates[of_model == model], model, level) for model in models if len(models) > 1]
    return [one for one in (together, *each) if one is not None]


def turn_rates(groups: Sequence[ComparisonGroup]) -> pd.DataFrame:
    """Share of criteria found good: a row per dialogue and worker (the index), a column per turn; nan where none.

    Assumes that all criteria weigh the same.

    Source: Smith et al. 2022, App. C.4.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> turn_rates(single_groups(example_tables())).iloc[0].tolist()
    [1.0, 0.0, 1.0, 0.0]
    """
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
        nothing: pd.DataFrame = pd.DataFrame(index=index)
        return nothing
    means = pd.concat(parts).groupby(["dialogue_id", "worker_id", "turn"])["good"].mean()
    rates: pd.DataFrame = means.unstack("turn")
    return rates


def _models(scores: pd.DataFrame) -> dict[str, str]:
    return dict(zip(scores["dialogue_id"], scores["model"], strict=True))


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
