"""Least squares with the paper's intervals and with ones clustered by rater; which turns weigh most in final ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.statistics.core import clustered
from parlai_humaneval.statistics.core.result import Detail, Result, called
from parlai_humaneval.statistics.ratings.likert import RatedCriterion, final_scores
from parlai_humaneval.tables.choices import ComparisonGroup, choice_groups
from parlai_humaneval.tables.columns import Tables

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
    # The pseudo-inverse: terms that cannot be told apart are found, and said so, term by term.
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
