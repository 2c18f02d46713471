"""Strengths from comparisons of two with ties: Bradley–Terry in the form of Rao and Kupper (1967).

With d the difference of the strengths and log ν = t ≥ 0 the width of a tie, the first wins with logit⁻¹(d − t), the
second with logit⁻¹(−d − t), and else they tie. Without ties t is 0 and the model is that of Bradley and Terry (1952).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit, log_expit

from parlai_humaneval._util.arrays import Codes, Flags, Floats, Ints, Objects
from parlai_humaneval.statistics.core.two_way import are_reused, numbered
from parlai_humaneval.statistics.ranking import fit as fitting

SOURCE = "Bradley & Terry 1952; ties: Rao & Kupper 1967; order effect: Davidson & Beaver 1977"
ONLY_TIES = "the comparisons that link it with other models are all ties"
ASSUMPTIONS = ("one number per model describes its strength against any other", "ties are as likely in every pair")


def bradley_terry(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    slots: bool = True,
    models: Sequence[str] | None = None,
    level: float = 0.95,
    cluster: str = "worker",
    dialogues: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
) -> fitting.Strengths:
    """Strengths of models from pairwise comparisons, with ties and a position effect; see :class:`Strengths`.

    Args:
        first, second: per comparison, the names of the two models; ``first`` stood at the first place (left or top).
        outcome: 1 the first won, 0 a tie, −1 the second won.
        clusters: per comparison, who judged.
        slots: model the pull of the place; False where it is not known which stood first.
        models: all names, in the order of the results; None: those that occur, sorted.
        level: coverage of the intervals.
        cluster: what ``clusters`` are called.
        dialogues: per comparison, that of the first and that of the second model; a missing one is a dialogue of its own.
            Where several workers judged the same one, intervals and tests are by rater and dialogue. None: the answers
            are about these dialogues.

    Returns:
        ``positions`` are the first and the second place. Where all comparisons tie, or a model never won, lost or tied
        so that its strength would be finite, there is no estimate, and a note says why; ``order`` orders them all the same.
        Models that are linked with each other and not with the rest have strengths against their own mean.

    Raises:
        ValueError: lists of unequal length, a model against itself, an unknown model or outcome, a missing value, one
            model only.

    Assumes that comparisons depend on each other only within clusters, and through the dialogues that are given.
    Sources: ``SOURCE``; tests: Canay, Romano & Shaikh 2017; by rater and dialogue Cameron, Gelbach & Miller 2011.

    >>> first, second = list('abacbc' * 4), list('bacacb' * 4)
    >>> outcome = [1, -1, 1, -1, 1, -1] * 3 + [-1, 1, 0, 1, -1, 0]
    >>> found = bradley_terry(first, second, outcome, [i // 3 for i in range(24)])
    >>> [(model.name, round(model.estimate, 2)) for model in found.models]
    [('strength of a', 0.91), ('strength of b', 0.06), ('strength of c', -0.97)]
    """
    comparisons = Comparisons.of(first, second, outcome, clusters, models, dialogues)
    return fitted_pairs(comparisons, slots=slots, level=level, cluster=cluster).strengths


@dataclass(frozen=True)
class FittedPairs:
    """Strengths, and how each of the ``kept`` comparisons, of models that are ``known``, moves the parameters
    (``influence``); ``rows``: the combinations of the parameters that are the strengths."""

    strengths: fitting.Strengths
    kept: Flags
    known: tuple[str, ...] = ()
    rows: Floats | None = None
    influence: Floats | None = None
    fit: fitting.Fitted | None = None

    def moved_by(self, first: npt.ArrayLike, second: npt.ArrayLike, outcome: npt.ArrayLike) -> Floats:
        """Parameters × comparisons: how each of these, of ``known`` models, would move them, wherever the two stood."""
        assert self.fit is not None
        names = pd.Index(self.known)
        ones, twos = (names.get_indexer(pd.Index(np.asarray(side, dtype=object))) for side in (first, second))
        basis, size, ties = fitting.contrasts(len(self.known)), len(self.fit.parameters), "tie" in self.fit.blocks
        places = np.zeros((len(ones), size - ties - basis.shape[1]))
        likelihood = _RaoKupper(np.hstack([basis[ones] - basis[twos], places]), np.asarray(outcome, dtype=int), ties)
        return np.asarray(np.linalg.solve(self.fit.information, likelihood.scores(self.fit.parameters).T))


@dataclass(frozen=True)
class Comparisons:
    """Comparisons of two of the ``names``, an entry each: indices of the models, who ``won`` (1, 0 or −1), who judged,
    and numbers of the dialogues that were ``shown`` (None: the answers are about these dialogues)."""

    ones: Ints
    twos: Ints
    won: Ints
    owners: Objects
    names: list[str]
    shown: tuple[Codes, Codes] | None

    @classmethod
    def of(
        cls,
        first: npt.ArrayLike,
        second: npt.ArrayLike,
        outcome: npt.ArrayLike,
        clusters: npt.ArrayLike,
        models: Sequence[str] | None = None,
        dialogues: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    ) -> Comparisons:
        """Checked; see :func:`bradley_terry`."""
        ones, twos, owners = (np.asarray(values, dtype=object) for values in (first, second, clusters))
        won = np.asarray(outcome, dtype=float)
        if not ones.shape == twos.shape == won.shape == owners.shape == (len(won),):
            raise ValueError(
                "first, second, outcome and clusters must be lists of the same length, one entry per comparison."
            )
        if any(pd.isna(values).any() for values in (ones, twos, owners)):
            raise ValueError("The name of a model or cluster is missing. Leave out comparisons with missing names.")
        if not np.isin(won, (-1, 0, 1)).all():
            raise ValueError("outcome must be 1 (the first won), 0 (a tie) or -1 (the second won).")
        names = sorted({str(name) for name in [*ones, *twos]}) if models is None else [str(name) for name in models]
        if len(set(names)) < max(2, len(names)):
            raise ValueError("Strengths need at least two models, each named once.")
        codes = [pd.Index(names).get_indexer(pd.Index([str(name) for name in side])) for side in (ones, twos)]
        if (np.concatenate(codes) < 0).any():
            raise ValueError("A comparison names a model that is not in the list of models.")
        if (codes[0] == codes[1]).any():
            raise ValueError("A model cannot be compared with itself. Leave out such comparisons.")
        shown = None
        if dialogues is not None:
            sides = [np.asarray(side, dtype=object) for side in dialogues]
            if any(side.shape != won.shape for side in sides):
                raise ValueError("dialogues must have two entries per comparison: one for each model's dialogue.")
            shown = _numbered(sides)
        ends = [side.astype(np.int64) for side in codes]
        return cls(ends[0], ends[1], won.astype(np.int64), owners, names, shown)

    def among(self, group: Sequence[int]) -> tuple[Flags, Comparisons]:
        """Which comparisons are of two models of the ``group``, and these."""
        place = np.full(len(self.names), -1)
        place[list(group)] = np.arange(len(group))
        keep = (place[self.ones] >= 0) & (place[self.twos] >= 0)
        shown = None if self.shown is None else _numbered([side[keep] for side in self.shown])
        ends = place[self.ones[keep]], place[self.twos[keep]]
        return keep, Comparisons(*ends, self.won[keep], self.owners[keep], [self.names[i] for i in group], shown)


def _numbered(sides: Sequence[npt.ArrayLike]) -> tuple[Codes, Codes]:
    """Numbers of dialogues, alike on both sides; one that is missing is a dialogue of its own."""
    codes = np.concatenate(numbered(sides))
    missing = codes < 0
    codes[missing] = codes.max(initial=-1) + 1 + np.arange(missing.sum())
    return codes[: len(codes) // 2], codes[len(codes) // 2 :]


def fitted_pairs(
    comparisons: Comparisons, *, slots: bool = True, level: float = 0.95, cluster: str = "worker"
) -> FittedPairs:
    """As :func:`bradley_terry`, with how each comparison moves the strengths."""
    won, names = comparisons.won, comparisons.names
    # A tie bounds the difference from both sides, as if each had won over the other.
    over, ones, twos = np.zeros((len(names), len(names))), comparisons.ones, comparisons.twos
    np.add.at(over, (ones[won >= 0], twos[won >= 0]), 1)
    np.add.at(over, (twos[won <= 0], ones[won <= 0]), 1)
    asked = fitting.Asked(names, over, "Bradley–Terry with ties (Rao–Kupper)", ASSUMPTIONS, SOURCE, level, cluster)
    unknown = {i: fitting.why_unknown(over, i) for i in range(len(names))}
    linked, said, why = fitting.other_groups(over, ()), "", ""
    if not len(won) or not (won != 0).any():
        unknown, linked, why = {}, [], "every comparison is a tie" if len(won) else "there are no comparisons"
    for known in linked:
        keep, own = comparisons.among(known)
        if not own.won.any():
            unknown.update(dict.fromkeys(known, ONLY_TIES))
            continue
        said = ""
        if slots and ((own.won >= 0).all() or (own.won <= 0).all()):
            said = (
                "The position bias cannot be estimated, because one position never won. "
                "The strengths are estimated without position bias."
            )
        maximum_of = maximised(own, known, slots=slots and not said)
        if maximum_of is None and slots and not said:
            said = "The position bias cannot be separated from the strengths, so it is left out of the model."
            maximum_of = maximised(own, known, slots=False)
        if maximum_of is not None:
            break
        unknown.update(dict.fromkeys(known, "the comparisons separate the models"))
    else:
        why = why or ("no linked models differ by finite amounts" if linked else "no two models each won or tied")
        strengths = fitting.nothing_known(asked, len(won), len(pd.unique(comparisons.owners)), unknown, why)
        return FittedPairs(strengths, np.zeros(len(won), dtype=bool))
    fit, influence = maximum_of
    others = {
        group: fitted_pairs(comparisons.among(group)[1], slots=slots, level=level, cluster=cluster).strengths
        for group in linked[linked.index(known) + 1 :]
    }
    unknown = {i: reason for i, reason in unknown.items() if i not in known}
    found = fitting.strengths_of(fit, asked, ("1", "2"), unknown, others)
    strengths = found.model_copy(update={"notes": (*found.notes, *([said] if said else []))})
    return FittedPairs(strengths, keep, tuple(names[i] for i in known), fit.blocks["models"], influence, fit)


def maximised(
    own: Comparisons, known: tuple[int, ...], *, slots: bool, covariates: Floats | None = None
) -> tuple[fitting.Fitted, Floats] | None:
    """The fit, and parameters × comparisons what each adds to the error of the parameters; None: there is no maximum.

    ``covariates``: comparisons × k, what else speaks for the first; the block of this name has their effects.
    """
    ones, twos, won, shown = own.ones, own.twos, own.won, own.shown
    basis, of_places = fitting.contrasts(len(known)), fitting.contrasts(2 if slots else 0)
    places = of_places[:1] - of_places[1:] if slots else np.zeros((1, 0))
    others = np.zeros((len(ones), 0)) if covariates is None else covariates
    design = np.hstack([basis[ones] - basis[twos], np.repeat(places, len(ones), axis=0), others])
    ties = bool((won == 0).any())
    first = pattern = np.arange(len(won))  # with covariates hardly two comparisons are alike
    if covariates is None:
        alike = (ones * len(own.names) + twos) * 3 + won
        _, first, pattern = np.unique(alike, return_index=True, return_inverse=True)
    counts = np.bincount(pattern).astype(float)
    likelihood = _RaoKupper(design[first], won[first], ties)

    def evaluate(at: Floats) -> tuple[float, Floats, Floats]:
        values, scores = likelihood.values(at), likelihood.scores(at)
        return float(counts @ values), counts @ scores, likelihood.information(at, counts)

    width = design.shape[1]
    start = np.zeros(width + ties)
    if ties:
        start[-1] = 2 * np.arctanh(min(0.95, float((won == 0).mean())))
    if np.linalg.matrix_rank(evaluate(start)[2], hermitian=True) < len(start):
        return None
    at = fitting.maximum(evaluate, start, possible=(lambda tried: bool(tried[-1] > 1e-9)) if ties else (lambda _: True))
    if at is None:
        return None
    scores = likelihood.scores(at)[pattern]
    codes, _ = pd.factorize(own.owners)
    sums = np.stack([np.bincount(codes, weights=column) for column in scores.T], axis=1).astype(float)
    size = len(at)
    blocks = {"models": _wide(basis, 0, size)}
    if slots:
        blocks["positions"] = _wide(of_places, basis.shape[1], size)
    if covariates is not None:
        blocks["covariates"] = _wide(np.eye(others.shape[1]), width - others.shape[1], size)
    if ties:
        blocks["tie"] = _wide(np.ones((1, 1)), width, size)
    met = np.zeros((len(sums), len(known)))
    for side in (ones, twos):
        np.add.at(met, (codes, side), 1)
    information = evaluate(at)[2]
    reused = shown is not None and are_reused(shown, codes)
    influence = np.asarray(np.linalg.solve(information, scores.T), dtype=float)
    judged = fitting.Judged(influence, codes, shown, (ones, twos)) if shown and reused else None
    return fitting.Fitted(at, information, sums, blocks, known, len(won), met, judged), influence


def _wide(block: Floats, start: int, size: int) -> Floats:
    """``block`` at columns from ``start`` of ``size``, zeros elsewhere."""
    wide = np.zeros((len(block), size))
    wide[:, start : start + block.shape[1]] = block
    return wide


class _RaoKupper:
    """Log-likelihood of each kind of comparison, an ordinal logit with thresholds ∓t; the last parameter is t."""

    def __init__(self, design: Floats, won: Ints, ties: bool) -> None:
        self.design, self.ties, self.tie = design, ties, won == 0
        self.up, self.down = won >= 0, won <= 0  # a tie has a factor of both

    def _parts(self, at: Floats) -> tuple[Floats, float]:
        return (self.design @ at[:-1], float(at[-1])) if self.ties else (self.design @ at, 0.0)

    def values(self, at: Floats) -> Floats:
        lead, t = self._parts(at)
        value = self.up * log_expit(lead - t) + self.down * log_expit(-lead - t)
        return np.asarray(value + (self.tie * np.log(np.expm1(2 * t)) if self.ties else 0.0))

    def scores(self, at: Floats) -> Floats:
        """Comparisons × parameters."""
        lead, t = self._parts(at)
        up, down = self.up * expit(t - lead), self.down * expit(lead + t)
        scores = self.design * (up - down)[:, None]
        if not self.ties:
            return np.asarray(scores)
        return np.column_stack([scores, self.tie * 2 / -np.expm1(-2 * t) - up - down])

    def information(self, at: Floats, counts: Floats) -> Floats:
        lead, t = self._parts(at)
        up = counts * self.up * expit(lead - t) * expit(t - lead)
        down = counts * self.down * expit(-lead - t) * expit(lead + t)
        inner = (self.design * (up + down)[:, None]).T @ self.design
        if not self.ties:
            return np.asarray(inner)
        cross = (down - up) @ self.design
        width = float((up + down).sum() + (counts * self.tie).sum() / np.sinh(t) ** 2)
        return np.block([[inner, cross[:, None]], [cross[None, :], np.full((1, 1), width)]])
