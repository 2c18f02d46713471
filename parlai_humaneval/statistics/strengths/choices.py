"""Strengths from choices among several replies: Luce's choice model and the conditional logit.

One pick of the replies shown follows Luce (1959) and Plackett (1975): each is chosen in proportion to exp(strength +
pull of its position), McFadden's (1974) conditional logit. Where several may be picked, each is picked on its own with a
logit of strength, position and how easily pleased the rater is at that turn; conditioning on how many were picked
takes out that last part (Chamberlain 1980). With one pick this is the same model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.statistics.strengths.results import (
    Fitted,
    Floats,
    Strengths,
    Words,
    contrasts,
    linked_models,
    maximum,
    nothing_known,
    strengths_of,
    why_unknown,
)

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
SOURCE = "Luce 1959; Plackett 1975; McFadden 1974; several picks: Chamberlain 1980"
ASSUMPTIONS = ("how much better one reply is does not depend on which others are shown",)
_SUBSETS, _CELLS = 5_000, 4_000_000


def plackett_luce(
    chosen: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    positions: npt.ArrayLike | None = None,
    models: Sequence[str] | None = None,
    level: float = 0.95,
    cluster: str = "worker",
) -> Strengths:
    """Strengths of models from what was chosen of those shown, with position effects; see :class:`Strengths`.

    Args:
        chosen: turns × models; 1 chosen, 0 not chosen, nan not shown. Any number may be chosen; turns in which all or
            none of the shown were chosen tell nothing of the strengths and are left out.
        clusters: per turn, who chose.
        positions: turns × models, the place at which each was shown; None: positions are not modelled. A turn in which
            the place of a shown reply is missing is left out.
        models: names of the columns.
        level: coverage of the intervals.
        cluster: what ``clusters`` are called.

    Raises:
        ValueError: shapes that do not fit, values other than 0, 1 and nan, a missing cluster, one model only, so many
            models with several picks that their subsets cannot be listed.

    Assumes Luce's axiom (above) and independent clusters. A model that was never chosen over another, or always, has no
    finite strength: it says so, and the others are estimated without it. Sources: ``SOURCE``; covariance: Cameron &
    Miller 2015.

    >>> chosen = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1], [1, 1, 0]] * 2
    >>> found = plackett_luce(chosen, list('aabbccddeeff'))
    >>> [(model.name, round(model.estimate, 2)) for model in found.models]
    [('strength of model 1', 0.67), ('strength of model 2', -0.34), ('strength of model 3', -0.34)]
    """
    table, owners, places, names = _checked(chosen, clusters, positions, models)
    words = Words("conditional logit (Plackett–Luce)", ASSUMPTIONS, SOURCE, level, cluster)
    usable = ~np.isnan(table)
    telling = _telling(table, usable)
    complete = np.ones(len(table), dtype=bool) if places is None else (~usable | ~np.isnan(places)).all(axis=1)
    notes = [
        f"{count:,} turns are left out: a position is missing." for count in [int((telling & ~complete).sum())] if count
    ]
    keep = telling & complete
    table, owners, places = table[keep], owners[keep], None if places is None else places[keep]
    over = _wins(table)
    known = linked_models(over)
    unknown = {i: why_unknown(over, i) for i in range(len(names)) if i not in known}
    if not known:
        why = (
            "no turn has a choice to learn from" if not len(table) else "no two models were each chosen over the other"
        )
        groups = len(pd.unique(owners))
        return nothing_known(names, len(table), unknown if len(table) else {}, why, words, clusters=groups)
    # A model without finite strength leaves the choice sets: the likelihood of the others in the limit.
    table, places = table[:, known], None if places is None else places[:, known]
    rest = _telling(table, ~np.isnan(table))
    sets = _Sets.of(table[rest], None if places is None else places[rest])
    fit, said = _fit(sets, owners[rest], known)
    if fit is None:
        return nothing_known(names, int(rest.sum()), {}, said, words, clusters=len(pd.unique(owners)))
    labels = [f"{value:g}" for value in sets.place_values] if "positions" in fit.blocks else []
    found = strengths_of(fit, names, labels, unknown, words)
    return found.model_copy(update={"notes": (*found.notes, *notes, *([said] if said else []))})


def _checked(
    chosen: npt.ArrayLike, clusters: npt.ArrayLike, positions: npt.ArrayLike | None, models: Sequence[str] | None
) -> tuple[Floats, npt.NDArray[np.object_], Floats | None, list[str]]:
    table, owners = np.asarray(chosen, dtype=float), np.asarray(clusters, dtype=object)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError("chosen must be a table of turns × models, with two models or more.")
    if not (np.isnan(table) | (table == 0) | (table == 1)).all():
        raise ValueError("chosen holds 1 (chosen), 0 (not chosen) or nan (not shown).")
    if owners.shape != (len(table),) or pd.isna(owners).any():
        raise ValueError("clusters must name who chose in each turn, with none missing.")
    places = None if positions is None else np.asarray(positions, dtype=float)
    if places is not None and places.shape != table.shape:
        raise ValueError("positions must have the shape of chosen: turns × models.")
    names = [f"model {i + 1}" for i in range(table.shape[1])] if models is None else [str(name) for name in models]
    if len(names) != table.shape[1] or len(set(names)) < len(names):
        raise ValueError("models must name each column of chosen once.")
    most = comb(table.shape[1], int(np.nansum(table, axis=1).max(initial=0)))
    if most > _SUBSETS:
        raise ValueError("So many models with several picks cannot be fitted: analyse fewer models at a time.")
    return table, owners, places, names


def _telling(table: Floats, shown: Bools) -> Bools:
    picks = np.nansum(table, axis=1)
    return np.asarray((picks > 0) & (picks < shown.sum(axis=1)), dtype=bool)


def _wins(table: Floats) -> Floats:
    """How often the row's model was chosen while the column's was shown and not chosen."""
    return np.asarray((table == 1).astype(float).T @ (table == 0).astype(float))


@dataclass(frozen=True)
class _Sets:
    """Choice sets by pattern: what was shown where and how many were picked, which many turns share.

    ``shown`` and ``places`` (index into ``place_values``) are patterns × models, ``picks`` and ``counts`` per pattern;
    ``pattern`` and ``picked`` (turns × models) belong to the turns.
    """

    shown: Bools
    places: Ints
    picks: Ints
    counts: Floats
    pattern: Ints
    picked: Floats
    own_places: Ints
    place_values: Floats

    @classmethod
    def of(cls, table: Floats, positions: Floats | None) -> _Sets:
        shown = ~np.isnan(table)
        places = np.zeros(table.shape, dtype=np.int64)
        values: Floats = np.zeros(1)
        if positions is not None:
            values, codes = np.unique(positions[shown], return_inverse=True)
            places[shown] = codes
        picks = np.nansum(table, axis=1).astype(np.int64)
        # A place number per model and 0 where it was not shown, then the picks, as one number a turn.
        code = np.zeros(len(table), dtype=np.int64)
        for column in (np.where(shown, places + 1, 0)).T:
            code = pd.factorize(code * (len(values) + 1) + column)[0].astype(np.int64)
        code = pd.factorize(code * (table.shape[1] + 1) + picks)[0].astype(np.int64)
        first = np.unique(code, return_index=True)[1]
        return cls(
            shown=shown[first],
            places=places[first],
            picks=picks[first],
            counts=np.bincount(code).astype(float),
            pattern=code,
            picked=np.nan_to_num(table),
            own_places=places,
            place_values=values,
        )


def _fit(sets: _Sets, owners: npt.NDArray[np.object_], known: tuple[int, ...]) -> tuple[Fitted | None, str]:
    """The fit with positions where they can be told apart, else without, and why."""
    said = ""
    if len(sets.place_values) > 1:
        said = _positions_unknown(sets)
        fit = None if said else _maximised(sets, owners, known, len(sets.place_values))
        if fit is not None:
            return fit, ""
        said = said or "Position effects cannot be estimated: with them the choices have no finite strengths."
        said += " The strengths are estimated without them."
    fit = _maximised(sets, owners, known, 0)
    return fit, said if fit is not None else "the choices separate the models"


def _positions_unknown(sets: _Sets) -> str:
    """Why position effects have no finite estimate; empty where they have one."""
    size = len(sets.place_values)
    chosen, left = np.zeros((len(sets.picked), size)), np.zeros((len(sets.picked), size))
    rows = np.arange(len(sets.picked))
    shown = sets.shown[sets.pattern]
    for column, places in enumerate(sets.own_places.T):
        picked = sets.picked[:, column] == 1
        chosen[rows[picked], places[picked]] = 1
        other = shown[:, column] & ~picked
        left[rows[other], places[other]] = 1
    over = np.asarray(chosen.T @ left)
    np.fill_diagonal(over, 0)
    if len(linked_models(over)) == size:
        return ""
    return "Position effects cannot be estimated: not every position was chosen over the others and left for them."


def _maximised(sets: _Sets, owners: npt.NDArray[np.object_], known: tuple[int, ...], places: int) -> Fitted | None:
    of_models, of_places = contrasts(len(known)), contrasts(places)
    width = of_models.shape[1]
    size = width + of_places.shape[1]
    design = _features(of_models, of_places, sets.places)
    own = _features(of_models, of_places, sets.own_places)
    reached = np.einsum("sk,skq->sq", sets.picked, own)
    total = reached.sum(axis=0)

    def evaluate(at: Floats) -> tuple[float, Floats, Floats]:
        value, gradient, information = float(total @ at), total.copy(), np.zeros((size, size))
        for part, log_sum, mean, spread in _parts(sets, design, at):
            value -= float(sets.counts[part] @ log_sum)
            gradient -= sets.counts[part] @ mean
            information += spread
        return value, gradient, information

    start = np.zeros(size)
    if np.linalg.matrix_rank(evaluate(start)[2], hermitian=True) < size:
        return None
    at = maximum(evaluate, start)
    if at is None:
        return None
    expected = np.zeros((len(sets.shown), size))
    for part, _, mean, _ in _parts(sets, design, at):
        expected[part] = mean
    scores = reached - expected[sets.pattern]
    codes, _ = pd.factorize(owners)
    sums = np.stack([np.bincount(codes, weights=column) for column in scores.T], axis=1).astype(float)
    blocks = {"models": np.hstack([of_models, np.zeros((len(known), size - width))])}
    if places:
        blocks["positions"] = np.hstack([np.zeros((places, width)), of_places])
    return Fitted(at, evaluate(at)[2], sums, blocks, known, len(sets.picked))


def _features(of_models: Floats, of_places: Floats, places: Ints) -> Floats:
    """Rows × models × parameters."""
    model_part = np.broadcast_to(of_models, (*places.shape, of_models.shape[1]))
    if not of_places.shape[1]:
        return np.asarray(model_part)
    return np.concatenate([model_part, of_places[places]], axis=2)


def _parts(sets: _Sets, design: Floats, at: Floats) -> Iterator[tuple[Ints, Floats, Floats, Floats]]:
    """Patterns with equally many picks: their indices, log normaliser, expected features, information."""
    eta = np.where(sets.shown, design @ at, -np.inf)
    k = design.shape[1]
    for picks in np.unique(sets.picks):
        members = np.array(list(combinations(range(k), int(picks))), dtype=np.int64)
        inside = np.zeros((len(members), k))
        inside[np.arange(len(members))[:, None], members] = 1
        together = (inside[:, :, None] * inside[:, None, :]).reshape(len(members), k * k)
        of_picks = np.flatnonzero(sets.picks == picks)
        for part in np.array_split(of_picks, 1 + len(of_picks) * len(members) // _CELLS):
            sums = eta[part][:, members].sum(axis=2)
            top = sums.max(axis=1, keepdims=True)
            weights = np.exp(sums - top)
            whole = weights.sum(axis=1, keepdims=True)
            shares = weights / whole
            mean = np.einsum("uk,ukq->uq", shares @ inside, design[part])
            both = (shares @ together).reshape(-1, k, k)
            heavy = sets.counts[part]
            spread = np.einsum("ukq,ukr->qr", design[part] * heavy[:, None, None], both @ design[part], optimize=True)
            spread -= (mean * heavy[:, None]).T @ mean
            yield part, (top + np.log(whole))[:, 0], mean, spread
