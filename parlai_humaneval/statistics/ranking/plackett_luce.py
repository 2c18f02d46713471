"""Strengths from choices among several replies, Luce's choice model and the conditional logit; and strengths from
tables.

One pick of the replies shown follows Luce (1959) and Plackett (1975): each is chosen in proportion to exp(strength +
pull of its position), McFadden's (1974) conditional logit. Where several may be picked, conditioning on how many were
takes out how easily pleased the rater is at that turn (Chamberlain 1980). Strengths do not depend on the order of
dialogues.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Flags, Floats, Ints, Objects
from parlai_humaneval.statistics.core.multiplicity import Family, corrected
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.pairs import orient_pairs
from parlai_humaneval.statistics.ranking import fit as fitting
from parlai_humaneval.statistics.ranking.bradley_terry import Comparisons, FittedPairs, fitted_pairs
from parlai_humaneval.tables.choices import ComparisonGroup, merged

SOURCE = "Luce 1959; Plackett 1975; McFadden 1974; several picks: Chamberlain 1980"
ASSUMPTIONS = ("how much better one reply is does not depend on which others are shown",)
_CELLS = 4_000_000  # As many numbers are held at once for patterns that are alike


def plackett_luce(
    chosen: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    positions: npt.ArrayLike | None = None,
    models: Sequence[str] | None = None,
    level: float = 0.95,
    cluster: str = "worker",
) -> fitting.Strengths:
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
        ValueError: shapes that do not fit, values other than 0, 1 and nan, a missing cluster, one model only.

    Assumes Luce's axiom (above) and independent clusters. A model that was never chosen over another, or always, has no
    finite strength: it says so, and the others are estimated without it. Sources: ``SOURCE``;
    tests: Canay, Romano & Shaikh 2017.

    >>> chosen = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1], [1, 1, 0]] * 2
    >>> found = plackett_luce(chosen, list('aabbccddeeff'))
    >>> [(model.name, round(model.estimate, 2)) for model in found.models]
    [('strength of model 1', 0.67), ('strength of model 2', -0.34), ('strength of model 3', -0.34)]
    """
    table, owners = np.asarray(chosen, dtype=float), np.asarray(clusters, dtype=object)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError("chosen must be a table of turns × models, with at least two models.")
    if not (np.isnan(table) | (table == 0) | (table == 1)).all():
        raise ValueError("chosen must be 1 (chosen), 0 (not chosen) or nan (not shown).")
    if owners.shape != (len(table),) or pd.isna(owners).any():
        raise ValueError("clusters must name who chose in each turn, with none missing.")
    places = None if positions is None else np.asarray(positions, dtype=float)
    if places is not None and places.shape != table.shape:
        raise ValueError("positions must have the same shape as chosen: turns × models.")
    names = [f"model {i + 1}" for i in range(table.shape[1])] if models is None else [str(name) for name in models]
    if len(names) != table.shape[1] or len(set(names)) < len(names):
        raise ValueError("models must have a different name for each column of chosen.")
    usable = ~np.isnan(table)
    telling = _telling(table, usable)
    complete = np.ones(len(table), dtype=bool) if places is None else (~usable | ~np.isnan(places)).all(axis=1)
    lacking = int((telling & ~complete).sum())
    notes = [f"{lacking:,} turns are left out: a position is missing."] if lacking else []
    keep = telling & complete
    table, owners, places = table[keep], owners[keep], None if places is None else places[keep]
    over = np.asarray((table == 1).astype(float).T @ (table == 0).astype(float))
    # Clusters × pairs of models: how much more often the first was chosen in turns that showed both.
    codes, clusters_of = pd.factorize(owners)
    gaps = (np.nan_to_num(table[:, a] - table[:, b]) for a, b in combinations(range(table.shape[1]), 2))
    of_pairs = [np.bincount(codes, weights=gap, minlength=len(clusters_of)) for gap in gaps]
    leads = np.stack(of_pairs, axis=1).astype(float)
    asked = fitting.Asked(names, over, "conditional logit (Plackett–Luce)", ASSUMPTIONS, SOURCE, level, cluster, leads)
    known = fitting.linked_models(over)
    unknown = {i: fitting.why_unknown(over, i) for i in range(len(names)) if i not in known}
    if not known:
        why = (
            "no turn has a choice to learn from" if not len(table) else "no two models were each chosen over the other"
        )
        return fitting.nothing_known(asked, len(table), len(clusters_of), unknown if len(table) else {}, why)
    others = {
        group: plackett_luce(
            table[:, group],
            owners,
            positions=None if places is None else places[:, group],
            models=[names[i] for i in group],
            level=level,
            cluster=cluster,
        )
        for group in fitting.other_groups(over, known)
    }
    # A model without finite strength leaves the choice sets: the likelihood of the others in the limit.
    table, places = table[:, known], None if places is None else places[:, known]
    rest = _telling(table, ~np.isnan(table))
    sets = _Sets.of(table[rest], None if places is None else places[rest])
    fit, said = _fit(sets, owners[rest], known)
    if fit is None:
        return fitting.nothing_known(asked, int(rest.sum()), len(clusters_of), {}, said)
    labels = [f"{value:g}" for value in sets.place_values] if "positions" in fit.blocks else []
    found = fitting.strengths_of(fit, asked, labels, unknown, others)
    return found.model_copy(update={"notes": (*found.notes, *notes, *([said] if said else []))})


def _telling(table: Floats, shown: Flags) -> Flags:
    picks = np.nansum(table, axis=1)
    return np.asarray((picks > 0) & (picks < shown.sum(axis=1)), dtype=bool)


@dataclass(frozen=True)
class _Alike:
    """Patterns (``rows``) that show equally many replies, of which equally many were picked; arrays are patterns ×
    replies."""

    rows: Ints
    models: Ints
    places: Ints
    picks: int


@dataclass(frozen=True)
class _Sets:
    """Choice sets by pattern: what was shown where and how many were picked, which many turns share (``counts``);
    ``picked``, ``shown`` and ``places`` (index into ``place_values``) are turns × models."""

    alike: tuple[_Alike, ...]
    counts: Floats
    pattern: Ints
    picked: Floats
    shown: Flags
    places: Ints
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
            alike=tuple(_alike(shown[first], places[first], picks[first])),
            counts=np.bincount(code).astype(float),
            pattern=code,
            picked=np.nan_to_num(table),
            shown=shown,
            places=places,
            place_values=values,
        )


def _alike(shown: Flags, places: Ints, picks: Ints) -> Iterator[_Alike]:
    sizes = shown.sum(axis=1)
    for size, picked in sorted({*zip(sizes.tolist(), picks.tolist(), strict=True)}):
        all_rows = np.flatnonzero((sizes == size) & (picks == picked))
        for rows in np.array_split(all_rows, 1 + len(all_rows) * size * size // _CELLS):
            models = np.nonzero(shown[rows])[1].reshape(len(rows), size)
            yield _Alike(rows, models, np.take_along_axis(places[rows], models, axis=1), picked)


def _fit(sets: _Sets, owners: Objects, known: tuple[int, ...]) -> tuple[fitting.Fitted | None, str]:
    """The fit with positions if these can be estimated, otherwise without them, and the reason."""
    said, size = "", len(sets.place_values)
    if size > 1:
        chosen, left = np.zeros((len(sets.picked), size)), np.zeros((len(sets.picked), size))
        rows = np.arange(len(sets.picked))
        for column, places in enumerate(sets.places.T):
            picked = sets.picked[:, column] == 1
            chosen[rows[picked], places[picked]] = 1
            other = sets.shown[:, column] & ~picked
            left[rows[other], places[other]] = 1
        over = np.asarray(chosen.T @ left)
        np.fill_diagonal(over, 0)
        why = "not every position was both chosen over others and passed over for others"
        if len(fitting.linked_models(over)) == size:
            fit = _maximised(sets, owners, known, size)
            if fit is not None:
                return fit, ""
            why = "with them the choices have no finite strengths"
        said = f"Position effects cannot be estimated: {why}. The strengths are estimated without position effects."
    fit = _maximised(sets, owners, known, 0)
    return fit, said if fit is not None else "the choices separate the models"


def _maximised(sets: _Sets, owners: Objects, known: tuple[int, ...], places: int) -> fitting.Fitted | None:
    """The maximum, found in the effects of models and places; ``places``: how many, 0 where they are not modelled."""
    of_models, of_places = fitting.contrasts(len(known)), fitting.contrasts(places)
    width, size = of_models.shape[1], of_models.shape[1] + of_places.shape[1]
    basis: Floats = np.zeros((len(known) + places, size))
    basis[: len(known), :width], basis[len(known) :, width:] = of_models, of_places
    by_place = [(sets.picked * (sets.places == place)).sum(axis=1) for place in range(places)]
    picked = np.column_stack([sets.picked, *by_place])
    total = picked.sum(axis=0)

    def evaluate(at: Floats) -> tuple[float, Floats, Floats]:
        effects = basis @ at
        log_sums, expected, spread = _moments(sets, len(known), places, effects)
        value = float(total @ effects) - float(sets.counts @ log_sums)
        return value, (total - sets.counts @ expected) @ basis, basis.T @ spread @ basis

    start = np.zeros(size)
    if np.linalg.matrix_rank(evaluate(start)[2], hermitian=True) < size:
        return None
    at = fitting.maximum(evaluate, start)
    if at is None:
        return None
    _, expected, spread = _moments(sets, len(known), places, basis @ at)
    codes, _ = pd.factorize(owners)
    scores = picked - expected[sets.pattern]
    sums: Floats = np.stack([np.bincount(codes, weights=column) for column in scores.T], axis=1) @ basis
    blocks = {"models": np.hstack([of_models, np.zeros((len(known), size - width))])}
    if places:
        blocks["positions"] = np.hstack([np.zeros((places, width)), of_places])
    met = np.stack([np.bincount(codes, weights=column) for column in sets.shown.T], axis=1).astype(float)
    return fitting.Fitted(at, basis.T @ spread @ basis, sums, blocks, known, len(sets.picked), met)


def _moments(sets: _Sets, models: int, places: int, effects: Floats) -> tuple[Floats, Floats, Floats]:
    """What is expected of each pattern at given effects of models and places, given how many replies are picked: the log
    normaliser, how often each model and place is picked, and the covariance of these over all turns.

    The chance of a set of picks is the product of its odds over the sum of such products, an elementary symmetric
    function of the odds: all that is needed follows from those of the odds without one reply, and without two, which a
    recursion gives in as many steps as replies (Chen & Liu 1997; Gail, Lubin & Rubinstein 1981).
    """
    size = models + places
    log_sums = np.zeros(len(sets.counts))
    expected, spread = np.zeros((len(log_sums), size)), np.zeros(size * size)
    for alike in sets.alike:
        columns = [alike.models, models + alike.places] if places else [alike.models]
        odds = sum(effects[column] for column in columns)
        log_sums[alike.rows], chance, covariance = _inclusion(np.asarray(odds), alike.picks)
        covariance *= sets.counts[alike.rows][:, None, None]
        for column in columns:  # a place may hold several replies that are equal
            np.add.at(expected, (alike.rows[:, None], column), chance)
        for one, other in product(columns, columns):
            flat = one[:, :, None] * size + other[:, None, :]
            spread += np.bincount(flat.ravel(), weights=covariance.ravel(), minlength=size * size)
    return log_sums, expected, spread.reshape(size, size)


def _inclusion(odds: Floats, picks: int) -> tuple[Floats, Floats, Floats]:
    """For ``odds`` (rows × replies, logarithms): log normaliser, chance of each pick, covariance of the picks."""
    size = odds.shape[1]
    if 2 * picks > size:
        log_sum, chance, covariance = _inclusion(-odds, size - picks)
        return log_sum + odds.sum(axis=1), 1 - chance, covariance
    # The largest product becomes 1: nothing underflows.
    shift = np.sort(odds, axis=1)[:, size - picks :].mean(axis=1, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore"):  # too long a step of Newton's, which will be halved
        weights = np.exp(odds - shift).T
        chance = weights * _without_each(weights, picks - 1)
        whole = chance.sum(axis=0) / picks
        chance /= whole
        covariance = -chance[:, None] * chance[None, :]
        covariance[range(size), range(size)] += chance
        for i in range(size) if picks > 1 else ():
            others = [j for j in range(size) if j != i]
            covariance[i, others] += weights[i] * weights[others] * _without_each(weights[others], picks - 2) / whole
        return picks * shift[:, 0] + np.log(whole), chance.T, np.moveaxis(covariance, 2, 0)


def _without_each(weights: Floats, degree: int) -> Floats:
    """Elementary symmetric function of ``degree`` of all ``weights`` (replies × rows) but one, for each."""
    size, rows = weights.shape
    before, after = np.zeros((2, size, degree + 1, rows))
    before[0, 0] = after[-1, 0] = 1
    for k in range(1, size):
        before[k] = before[k - 1]
        before[k, 1:] += weights[k - 1] * before[k - 1, :-1]
        after[-k - 1] = after[-k]
        after[-k - 1, 1:] += weights[-k] * after[-k, :-1]
    return np.asarray(np.einsum("kdr,kdr->kr", before, after[:, ::-1]))


def turn_strengths(group: ComparisonGroup, *, level: float = 0.95) -> fitting.Strengths | None:
    """Plackett–Luce strengths of the models of ``group``, clustered by rater; None where single replies were rated.

    Where positions are known they are modelled; equal replies, shown once, are picked together at the same position.
    See :func:`plackett_luce` for one pick a turn, several picks, and what cannot be estimated.

    Strengths are log-odds: see :class:`Strengths`.

    Assumes that a choice between two replies does not depend on the others shown, and that workers are independent.

    Source: Luce 1959; Plackett 1975.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> from parlai_humaneval.tables.choices import choice_groups
    >>> group = choice_groups(example_tables())[0]
    >>> found = turn_strengths(group)
    >>> [(model.name, round(model.estimate, 2)) for model in found.models]
    [('strength of ada', 1.65), ('strength of bob', -0.47), ('strength of cyd', -1.18)]
    """
    if group.kind == "single" or len(group.models) < 2:
        return None
    positions = None if np.isnan(group.positions).all() else group.positions
    turns = group.turns
    return plackett_luce(turns.chosen, turns.workers, positions=positions, models=turns.models, level=level)


def comparison_strengths(comparisons: pd.DataFrame, *, level: float = 0.95) -> fitting.Strengths | None:
    """Bradley–Terry strengths, ties counted, of the rows of one metric of a ``comparisons`` table.

    Clustered by worker, and by dialogue where several workers judged the same, on whichever side it stood.
    Which model stood first (left or top) is read from ``side``, else, of two replies, from ``position_a``; where that is
    not known of every row the effect of the place is not modelled. Empty ``n_models`` means two. None for a table of no
    rows.

    Raises:
        TableError: a winner is neither of the two models nor ``tie``, or a model stands against itself.

    Strengths are log-odds: see :class:`Strengths`. Assumes what :func:`bradley_terry` does.

    Source: Bradley & Terry 1952; Rao & Kupper 1967; Davidson & Beaver 1977.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> found = comparison_strengths(example_tables().comparisons)
    >>> [(model.name, round(model.estimate, 2)) for model in found.models]
    [('strength of ada', 0.39), ('strength of bob', -0.39)]
    """
    return None if comparisons.empty else oriented_strengths(orient_pairs(comparisons), level=level)


def oriented_strengths(
    rows: pd.DataFrame, *, models: Sequence[str] | None = None, level: float = 0.95
) -> fitting.Strengths:
    """Strengths from rows as :func:`~parlai_humaneval.analysis.orient_pairs` gives them; ``models`` in this order."""
    return fitted_strengths(rows, models=models, level=level).strengths


def fitted_strengths(rows: pd.DataFrame, *, models: Sequence[str] | None = None, level: float = 0.95) -> FittedPairs:
    """The same, with how each of the ``rows`` moves the strengths."""
    first_a = rows["first_a"].to_numpy(dtype=float)
    a, b, of_a, of_b = (
        rows[name].to_numpy(dtype=object) for name in ("model_a", "model_b", "dialogue_a", "dialogue_b")
    )
    outcome, swap = rows["outcome"].to_numpy(dtype=int), first_a == 0
    comparisons = Comparisons.of(
        np.where(swap, b, a),
        np.where(swap, a, b),
        np.where(swap, -outcome, outcome),
        rows["worker_id"].to_numpy(dtype=object),
        models,
        (np.where(swap, of_b, of_a), np.where(swap, of_a, of_b)),
    )
    return fitted_pairs(comparisons, slots=not np.isnan(first_a).any(), level=level)


ALWAYS = 0.9  # Models that are shown in at least this share of the turns of their group count as always shown


def pooled_strengths(groups: Sequence[ComparisonGroup], *, level: float = 0.95) -> fitting.Strengths | None:
    """The strengths of all models of a question's ``groups``; None if all models were always side by side, so their
    shares rank them, or where single replies were rated."""
    shown = [~np.isnan(group.turns.chosen) for group in groups]
    incomplete = len(groups) > 1 or any(table.mean(axis=0).min(initial=1) < ALWAYS for table in shown if len(table))
    if groups[0].kind == "single" or not incomplete:
        return None
    return turn_strengths(merged(groups), level=level)


def one_ranking(groups: Sequence[ComparisonGroup]) -> tuple[ComparisonGroup, fitting.Strengths] | None:
    """A question's ``groups`` as one, and its strengths; None where there are none, or where a model may be the best
    whose strength is not finite."""
    strengths = pooled_strengths(groups)
    return None if strengths is None or strengths.best is None else (merged(groups), strengths)


def strength_tests(strengths: fitting.Strengths, family: Family) -> list[tuple[Result, Result]]:
    """For every two models, in the order of ``combinations``: the test by worker, and the one for independent turns; each
    with Holm's correction over all pairs."""
    families = [family] * len(strengths.pairs)
    of_independent = corrected([fitting.if_independent(pair) for pair in strengths.pairs], families)
    return list(zip(corrected(strengths.pairs, families), of_independent, strict=True))
