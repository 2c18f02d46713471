"""Are turns independent of what came before, and of where a reply stood? Cascading and anchoring."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict
from scipy.special import stdtr

from parlai_humaneval._util.arrays import Floats, Ints, Objects
from parlai_humaneval.statistics.core.clustered import DIFFERENCE_LIMITS, cluster_sums, clustered_share
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.tables.choices import ChosenTurns

CASCADING = "Liu et al. 2023, “Examining turn-level sample independence”"
ANCHORING = "Liu et al. 2023, “Examining anchoring effects”"
Scope = Literal["model", "all models", "tie"]
FIRST_CHOICE = "Ma et al. 2023, §4 (t test of cascading bias)"


class Reselection(BaseModel):
    """Of ``n_pairs`` times that something was asked in two consecutive turns of a dialogue.

    ``scope``: ``what`` is a model's name; or stands for all models together, or for a tie, whatever models are called.
    ``both``: share in which ``what`` was chosen in both. ``again``: of those in which it was chosen in the first, share in
    which it was chosen in the second too; ``second_rate``: share in which it was chosen in the second at all.
    ``expected``: of ``both``, if each dialogue's choices had come in any order; ``independent``: if turns were
    independent and all dialogues alike. ``excess``: ``both`` − ``expected``, clustered by worker, tested against 0: it is
    not raised by raters or topics that suit one model, as ``both`` − ``independent`` is.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: str
    scope: Scope = "model"
    n_pairs: int
    both: float | None
    again: Result | None
    second_rate: float | None
    expected: float | None
    independent: float | None
    excess: Result


class FirstChoice(BaseModel):
    """Is what was chosen in the first turn of a dialogue chosen more often in its later turns than the others?

    All are differences of the selected rate in later turns, models chosen first minus the others, tested against 0.
    ``paper``: t test over dialogues. ``clustered``: by worker. ``adjusted``: clustered, after taking from each rate that of
    the same model in the later turns of all other dialogues. A good model is chosen first and later: only ``adjusted``
    is free of that. Raters who like one model all along raise all three; :class:`Reselection` is free of them too.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    paper: Result
    clustered: Result
    adjusted: Result


def reselection(turns: ChosenTurns, *, one_pick: bool, level: float = 0.95) -> list[Reselection]:
    """Being chosen in two consecutive turns: each model, all together, and ties, against what chance would give.

    All together: with ``one_pick`` the share in which any model was chosen twice running, else the mean over models.
    Where any number may be picked also ties, all chosen ("tie-win") and none ("tie-loss"), which Liu et al. found to
    come in series.

    ``excess`` above 0: more series than chance would give.

    Assumes independent workers; chance is that the turns of a dialogue could have come in any order.

    Source: Liu et al. 2023, “Examining turn-level sample independence”.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> from parlai_humaneval.tables.choices import choice_groups
    >>> group = choice_groups(example_tables())[0]
    >>> [(series.what, series.n_pairs, round(series.both, 3)) for series in reselection(group.turns, one_pick=False)][:3]
    [('ada', 24, 0.792), ('bob', 24, 0.167), ('cyd', 24, 0.167)]
    """
    chosen = turns.chosen
    columns = {model: chosen[:, [i]] for i, model in enumerate(turns.models)}
    found = [_repeats(name, column, turns, 1.0, level) for name, column in columns.items()]
    if len(turns.models) > 1:
        scale = 1.0 if one_pick else 1 / len(turns.models)
        found.append(_repeats("any model" if one_pick else "mean of models", chosen, turns, scale, level, "all models"))
        if not one_pick:
            several = np.where((~np.isnan(chosen)).sum(axis=1) > 1, 0.0, np.nan)
            all_chosen = (np.where(np.isnan(chosen), 1.0, chosen) == 1).all(axis=1) + several
            none_chosen = (np.nansum(chosen, axis=1) == 0) + several
            found.append(_repeats("tie-win", all_chosen[:, None], turns, 1.0, level, "tie"))
            found.append(_repeats("tie-loss", none_chosen[:, None], turns, 1.0, level, "tie"))
    return found


def _repeats(
    what: str, marks: Floats, turns: ChosenTurns, scale: float, level: float, scope: Scope = "model"
) -> Reselection:
    codes = pd.factorize(turns.dialogues)[0]
    first, second = _consecutive(codes, turns.turns)
    joint, before = marks[first] * marks[second], marks[first]
    expected = np.where(np.isnan(joint), np.nan, _any_order(marks, codes)[codes[first]])
    n = int((~np.isnan(joint)).any(axis=1).sum()) if joint.size else 0
    workers = turns.workers[first]
    excess = clustered_mean(
        _row_sums(joint - expected) * scale,
        workers,
        name=f"{what}: chosen twice running, above chance",
        null=0,
        limits=DIFFERENCE_LIMITS,
        level=level,
    ).but(source=CASCADING)
    rates = [(_mean(marks[first][:, i]), _mean(marks[second][:, i])) for i in range(marks.shape[1])]
    return Reselection(
        what=what,
        scope=scope,
        n_pairs=n,
        both=_mean(_row_sums(joint) * scale),
        again=_again(what, joint, before, workers, level) if marks.shape[1] == 1 else None,
        second_rate=rates[0][1] if len(rates) == 1 else None,
        expected=_mean(_row_sums(expected) * scale),
        independent=scale * sum((a or 0.0) * (b or 0.0) for a, b in rates) if n else None,
        excess=excess,
    )


def _again(what: str, joint: Floats, before: Floats, workers: Objects, level: float) -> Result:
    asked = np.where(np.isnan(joint[:, 0]), 0.0, before[:, 0])
    share = clustered_share(cluster_sums(joint[:, 0], asked, workers), name=f"{what}: chosen again", level=level)
    return share.but(statistic=None, p_value=None, source=CASCADING)


def _consecutive(codes: Ints, numbers: Floats) -> tuple[Ints, Ints]:
    order = np.lexsort((numbers, codes))
    here, after = order[:-1], order[1:]
    follows = (codes[here] == codes[after]) & (numbers[after] == numbers[here] + 1)
    return here[follows], after[follows]


def _any_order(marks: Floats, codes: Ints) -> Floats:
    """Dialogues × columns: chance that two turns of the dialogue are both marked, drawn without order; nan below two."""
    size = int(codes.max()) + 1 if codes.size else 0
    table = np.full((size, marks.shape[1]), np.nan)
    for i, column in enumerate(marks.T):
        seen = ~np.isnan(column)
        n = np.bincount(codes[seen], minlength=size).astype(float)
        s = np.bincount(codes[seen], weights=column[seen], minlength=size)
        np.divide(s * (s - 1), n * (n - 1), out=table[:, i], where=n > 1)
    return table


def _row_sums(values: Floats) -> Floats:
    """Sum of each row's known values; nan where it has none."""
    known = ~np.isnan(values)
    return np.where(known.any(axis=1), np.where(known, values, 0.0).sum(axis=1), np.nan)


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def first_choice(turns: ChosenTurns, *, level: float = 0.95) -> FirstChoice:
    """Cascading bias as Ma et al. 2023 test it, and freed of how good the models are.

    Dialogues count that have later turns, and in whose first turn some models were chosen and some were not. The
    paper does not say which t test it makes; this is that of one difference a dialogue, two-sided.

    Above 0: who is chosen in the first turn is chosen more often later, too. ``adjusted`` takes out that good models
    are chosen first and later.

    Assumes, in ``paper``, independent dialogues; in ``clustered`` and ``adjusted``, independent workers.

    Source: Ma et al. 2023, §4 (t test of cascading bias).

    >>> from parlai_humaneval.tables.example import example_tables
    >>> from parlai_humaneval.tables.choices import choice_groups
    >>> group = choice_groups(example_tables())[0]
    >>> print(first_choice(group.turns).adjusted)
    chosen first − others, in later turns, given how good the models are: −0.105, 95% interval −0.190 to 0.000,
    statistic −2.791, p = .094, n = 7 [sign-flip test, clustered by worker]
    """
    codes, names = pd.factorize(turns.dialogues)
    rates, other_rates, chosen_first = _later_rates(turns, codes, len(names))
    workers = np.full(len(names), "", dtype=object)
    workers[codes] = turns.workers
    plain = _first_minus_others(rates, chosen_first)
    adjusted = _first_minus_others(rates - other_rates, chosen_first)
    name = "chosen first − others, in later turns"
    return FirstChoice(
        paper=_one_sample_t(plain[~np.isnan(plain)], name),
        clustered=_gap(plain, workers, name, level),
        adjusted=_gap(adjusted, workers, f"{name}, given how good the models are", level),
    )


def _gap(values: Floats, workers: Objects, name: str, level: float) -> Result:
    # Adjusted rates may differ by up to 2 either way, in theory.
    result = clustered_mean(values, workers, name=name, null=0, limits=(-2, 2), level=level)
    return result.but(source=FIRST_CHOICE)


def _later_rates(turns: ChosenTurns, codes: Ints, size: int) -> tuple[Floats, Floats, Floats]:
    """Dialogues × models: selected rate after the first turn; that of all other dialogues; what was chosen first."""
    start = np.full(size, np.inf)
    np.minimum.at(start, codes, turns.turns)
    later = turns.turns > start[codes]
    shape = (size, len(turns.models))
    rates, others, first = (np.full(shape, np.nan) for _ in range(3))
    first[codes[~later]] = turns.chosen[~later]
    for i, column in enumerate(turns.chosen.T):
        seen = later & ~np.isnan(column)
        n = np.bincount(codes[seen], minlength=size).astype(float)
        s = np.bincount(codes[seen], weights=column[seen], minlength=size)
        np.divide(s, n, out=rates[:, i], where=n > 0)
        known = ~np.isnan(rates[:, i])
        total, count = rates[known, i].sum(), int(known.sum())
        if count > 1:
            others[known, i] = (total - rates[known, i]) / (count - 1)
    return rates, others, first


def _first_minus_others(rates: Floats, first: Floats) -> Floats:
    """A value a dialogue; nan where either side is empty."""
    sides = []
    for mark in (1, 0):
        side = (first == mark) & ~np.isnan(rates)
        count = side.sum(axis=1)
        mean = np.full(len(rates), np.nan)
        np.divide(np.where(side, rates, 0.0).sum(axis=1), count, out=mean, where=count > 0)
        sides.append(mean)
    return np.asarray(sides[0] - sides[1], dtype=float)


def _one_sample_t(values: Floats, name: str) -> Result:
    base = Result(
        name=name,
        estimate=float(values.mean()) if values.size else None,
        n=values.size,
        method="two-sided t test, one difference a dialogue",
        assumptions=("all dialogues are independent of each other, also those of one worker",),
        source=FIRST_CHOICE,
    )
    if not values.size:
        return base.but(p_value=1.0, notes=("no dialogue can tell: nothing can be tested",))
    if values.size < 2 or float(np.ptp(values)) < 1e-12:
        return base.but(notes=("the variance cannot be estimated",))
    df = values.size - 1
    t = float(values.mean() / (values.std(ddof=1) / np.sqrt(values.size)))
    return base.but(statistic=t, p_value=float(2 * stdtr(df, -abs(t))), details={"df": df})


def first_place(turns: ChosenTurns, *, level: float = 0.95) -> Result:
    """Anchoring: rate at which the reply shown first is chosen, minus that of the others; clustered, tested against 0.

    Turns count that showed a reply at the first place and at another. Assumes that places were drawn at random.

    Above 0: raters favour what they read first.

    Source: Liu et al. 2023, “Examining anchoring effects”.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> from parlai_humaneval.tables.choices import choice_groups
    >>> group = choice_groups(example_tables())[0]
    >>> print(first_place(group.turns))
    selected rate of the first place − of the others: −0.016, 95% interval −0.312 to 0.292, statistic −0.122, p =
    1, n = 32 [sign-flip test, clustered by worker]
    """
    places = turns.by_position
    others = places[:, 1:]
    seen = ~np.isnan(others)
    rest = np.full(len(places), np.nan)
    np.divide(np.where(seen, others, 0.0).sum(axis=1), seen.sum(axis=1), out=rest, where=seen.any(axis=1))
    gaps = places[:, 0] - rest if places.shape[1] else rest
    name = "selected rate of the first place − of the others"
    result = clustered_mean(gaps, turns.workers, name=name, null=0, limits=DIFFERENCE_LIMITS, level=level)
    return result.but(source=ANCHORING)


def fixed_places(turns: ChosenTurns, *, least: int = 3) -> dict[str, int]:
    """Dialogues with a fixed pattern: the same places were chosen in every one of at least ``least`` turns.

    Returns their dialogue → number of turns. Liu et al. 2023 ("Data Cleaning") leave such dialogues out, as a rater who
    always takes the first reply does not read. A dialogue in which nothing was ever chosen counts too. Short dialogues
    have such a pattern by chance: two places and three turns in one of four.
    """
    codes, names = pd.factorize(turns.dialogues)
    places = np.nan_to_num(turns.by_position)
    size = len(names)
    first = np.zeros(size, dtype=int)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    others = np.bincount(codes, weights=(places != places[first[codes]]).any(axis=1), minlength=size)
    n = np.bincount(codes, minlength=size)
    fixed = (others == 0) & (n >= least) & (places.shape[1] > 1)
    return {str(name): int(count) for name, count in zip(names[fixed], n[fixed], strict=True)}
