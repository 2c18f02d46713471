"""Whether turns depend on earlier turns, or on positions: cascading and anchoring; and oddities of a readable table of
turns: missing replies, changing models, nothing to choose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel
from scipy.special import stdtr

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.statistics.core.clustered import DIFFERENCE_LIMITS, cluster_sums, clustered_share
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import Column, Estimate, Row, interval_keys
from parlai_humaneval.tables.choices import ChosenTurns, of_own_rater
from parlai_humaneval.tables.filters import is_set
from parlai_humaneval.tables.validate import picks_one

CASCADING = "Liu et al. 2023, “Examining turn-level sample independence”"
ANCHORING = "Liu et al. 2023, “Examining anchoring effects”"
Scope = Literal["model", "all models", "tie"]
FIRST_CHOICE = "Ma et al. 2023, §4 (t test of cascading bias)"


class Reselection(Row):
    """A question was asked ``n_pairs`` times in two consecutive turns. This is the share of pairs in which ``what`` was
    chosen in ``both``.

    ``scope``: the meaning of ``what``, whatever the models' names. ``again``: of those in which it was chosen in the
    first; ``expected``: if each dialogue's choices had come in any order; ``independent``: if dialogues were alike,
    too. ``excess``: ``both`` − ``expected``, which is not raised by raters or topics that suit one model.
    """

    what: Annotated[str, Column("Chosen")]
    scope: Scope = "model"
    n_pairs: Annotated[int, Column("Turns", name="n")]
    both: Annotated[float | None, Column("Twice running", "share")]
    expected: Annotated[float | None, Column("in any order", "share")]
    independent: Annotated[float | None, Column("if independent", "share")]
    again: Annotated[
        Result | None, Column("Again, if chosen before", "share", path="estimate"), interval_keys("again", "again")[1:]
    ]
    second_rate: Annotated[float | None, Column("At any rate", "share")]
    excess: Annotated[Result, Estimate("Above chance"), Column("Clustered p", "p", name="p_clustered", path="p_value")]


class FirstChoice(BaseModel, extra="forbid", frozen=True):
    """Whether the model chosen in the first turn of a dialogue is chosen more often than others in later turns.

    ``paper``: t test over dialogues; ``clustered``: by worker; ``adjusted``: less the rate of the same model in the
    later turns of all other dialogues, as a good model is chosen first and later. Raters who like one model all along
    raise all three.
    """

    paper: Result
    clustered: Result
    adjusted: Result


def reselection(turns: ChosenTurns, *, one_pick: bool, level: float = 0.95) -> list[Reselection]:
    """Being chosen in two consecutive turns: each model, all together, and ties; ``excess`` above 0: more than by
    chance."""
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
    order = np.lexsort((turns.turns, codes))
    here, after = order[:-1], order[1:]
    follows = (codes[here] == codes[after]) & (turns.turns[after] == turns.turns[here] + 1)
    first, second = here[follows], after[follows]
    joint = marks[first] * marks[second]
    # Dialogues × columns: chance that two turns of a dialogue, in any order, are both marked; nan below two.
    size = int(codes.max()) + 1 if codes.size else 0
    table = np.full((size, marks.shape[1]), np.nan)
    for at, column in enumerate(marks.T):
        seen = ~np.isnan(column)
        times = np.bincount(codes[seen], minlength=size).astype(float)
        s = np.bincount(codes[seen], weights=column[seen], minlength=size)
        np.divide(s * (s - 1), times * (times - 1), out=table[:, at], where=times > 1)
    expected = np.where(np.isnan(joint), np.nan, table[codes[first]])
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
    again = None
    if marks.shape[1] == 1:
        asked = np.where(np.isnan(joint[:, 0]), 0.0, marks[first][:, 0])
        share = clustered_share(cluster_sums(joint[:, 0], asked, workers), name=f"{what}: chosen again", level=level)
        again = share.but(statistic=None, p_value=None, source=CASCADING)
    rates = [(_mean(marks[first][:, i]), _mean(marks[second][:, i])) for i in range(marks.shape[1])]
    return Reselection(
        what=what,
        scope=scope,
        n_pairs=n,
        both=_mean(_row_sums(joint) * scale),
        again=again,
        second_rate=rates[0][1] if len(rates) == 1 else None,
        expected=_mean(_row_sums(expected) * scale),
        independent=scale * sum((a or 0.0) * (b or 0.0) for a, b in rates) if n else None,
        excess=excess,
    )


def _row_sums(values: Floats) -> Floats:
    """Sum of each row's known values; nan where it has none."""
    known = ~np.isnan(values)
    return np.where(known.any(axis=1), np.where(known, values, 0.0).sum(axis=1), np.nan)


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def first_choice(turns: ChosenTurns, *, level: float = 0.95) -> FirstChoice:
    """Cascading bias as Ma et al. 2023 test it, and freed of how good the models are."""
    codes, names = pd.factorize(turns.dialogues)
    # Dialogues × models: selected rate after the first turn; that of all other dialogues; what was chosen first.
    size = len(names)
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
    workers = np.full(size, "", dtype=object)
    workers[codes] = turns.workers
    plain, adjusted = _first_minus_others(rates, first), _first_minus_others(rates - others, first)
    name = "chosen first − others, in later turns"
    of_quality = f"{name}, given how good the models are"
    # Adjusted rates may differ by up to 2 either way, in theory.
    clustered, given_quality = (
        clustered_mean(values, workers, name=of, null=0, limits=(-2, 2), level=level).but(source=FIRST_CHOICE)
        for values, of in ((plain, name), (adjusted, of_quality))
    )
    paper = _one_sample_t(plain[~np.isnan(plain)], name)
    return FirstChoice(paper=paper, clustered=clustered, adjusted=given_quality)


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
    assumed = "all dialogues are independent of each other, also those of one rater"
    how, mean = "two-sided t test, one difference per dialogue", float(values.mean()) if values.size else None
    base = Result.by(how, FIRST_CHOICE, assumed, name=name, n=values.size, estimate=mean)
    if not values.size:
        return base.but(p_value=1.0, notes=("no dialogue can tell: nothing can be tested",))
    if values.size < 2 or float(np.ptp(values)) < 1e-12:
        return base.but(notes=("the variance cannot be estimated",))
    df = values.size - 1
    t = float(values.mean() / (values.std(ddof=1) / np.sqrt(values.size)))
    return base.but(statistic=t, p_value=float(2 * stdtr(df, -abs(t))), details={"df": df})


def first_place(turns: ChosenTurns, *, level: float = 0.95) -> Result:
    """Anchoring: rate at which the reply shown first is chosen, minus that of the others; clustered, tested against 0."""
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
    """Dialogues with a fixed pattern: the same places were chosen in every one of at least ``least`` turns."""
    codes, names = pd.factorize(turns.dialogues)
    places = np.nan_to_num(turns.by_position)
    size = len(names)
    first = np.zeros(size, dtype=int)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    others = np.bincount(codes, weights=(places != places[first[codes]]).any(axis=1), minlength=size)
    n = np.bincount(codes, minlength=size)
    fixed = (others == 0) & (n >= least) & (places.shape[1] > 1)
    return {str(name): int(count) for name, count in zip(names[fixed], n[fixed], strict=True)}


SHOWN = 3  # As many turns of a kind are named; the others are counted

_STUDY = ["technique", "setting", "metric"]
_RATED = ["dialogue_id", "worker_id"]
_NEEDED = [*_STUDY, *_RATED, "turn", "model", "selected", "written", "seconds", "complete", "none_said", "automatic"]
_NEEDED += ["continued_each", "tick_choices"]


def data_warnings(turns: pd.DataFrame) -> list[str]:
    """Warnings about possible mistakes in a checked table, or in the study. The table can be read all the same."""
    rows = turns[_NEEDED][of_own_rater(turns) & ~is_set(turns, "continued_each")]
    if rows.empty:
        return []
    rows = rows.assign(setting=rows["setting"].fillna(""))
    found: list[str] = []
    for names, part in rows.groupby(_STUDY, sort=True):
        title = ", ".join(str(name) for name in names if name)
        found += [f"{title}: {text}" for text in _of_study(part)]
    return found


def _of_study(rows: pd.DataFrame) -> Iterator[str]:
    dialogue = np.asarray(rows.groupby(_RATED, sort=False).ngroup(), dtype=np.int64)
    turn = np.asarray(rows.groupby([*_RATED, "turn"], sort=False).ngroup(), dtype=np.int64)
    one = pd.Series(rows["model"].to_numpy()).groupby(dialogue).transform("nunique").to_numpy() == 1
    several = np.bincount(turn)[turn] > 1
    one_model = one & (np.bincount(dialogue, weights=several)[dialogue] == 0)
    alone = (picks_one(rows) & rows["tick_choices"].isna().to_numpy(dtype=bool)) & one_model
    if alone.any():
        n, turns = (len(np.unique(codes[alone])) for codes in (dialogue, turn))
        yield (
            f"{counted(n, 'dialogue')} {'has' if n == 1 else 'have'} only one model, although raters choose one of "
            f"several replies, so {counted(turns, 'turn')} in {'it' if n == 1 else 'them'} cannot be counted."
        )
    yield from _nothing_chosen(rows[~alone], turn[~alone])
    yield from _changing_turns(rows, dialogue, turn)


def _nothing_chosen(rows: pd.DataFrame, turn: Ints) -> Iterator[str]:
    """As far as the table tells, these turns were answered: our own say so, others have a time where any turn has one."""
    asked = picks_one(rows) & is_set(rows, "complete", missing=1)
    asked &= ~is_set(rows, "automatic") & ~is_set(rows, "none_said")
    timed = rows["seconds"].notna().to_numpy(dtype=bool)
    if timed.any():
        asked &= timed | rows["complete"].notna().to_numpy(dtype=bool)
    if not asked.any():
        return
    acted = np.bincount(turn, weights=is_set(rows, "selected") | is_set(rows, "written"))
    all_asked = np.unique(turn[asked])
    none = int((acted[all_asked] == 0).sum())
    if none:
        yield (
            f"raters must choose a reply, but did not choose any in {none:,} of {counted(len(all_asked), 'turn')}, so "
            f"{'this turn is' if none == 1 else 'these turns are'} not counted. Check the column selected."
        )


def _changing_turns(rows: pd.DataFrame, dialogue: Ints, turn: Ints) -> Iterator[str]:
    model = pd.factorize(rows["model"])[0]
    distinct = pd.DataFrame({"turn": turn, "model": model}).drop_duplicates()
    in_turn = np.bincount(distinct["turn"])[turn]
    in_dialogue = pd.Series(model).groupby(dialogue).transform("nunique").to_numpy()
    uneven = np.bincount(dialogue, weights=in_turn < in_dialogue)[dialogue] > 0
    lacking, other = [], []
    # Without pandas' groups, as a table may lack a reply in every dialogue.
    shown_in: dict[int, dict[int, set[str]]] = {}
    for code, number, name in zip(dialogue[uneven], rows["turn"][uneven], rows["model"][uneven], strict=True):
        shown_in.setdefault(code, {}).setdefault(number, set()).add(name)
    first = rows["dialogue_id"].iloc[np.unique(dialogue, return_index=True)[1]].tolist()
    for code, by_turn in shown_in.items():
        counts = Counter(frozenset(models) for models in by_turn.values())
        usual = max(counts, key=lambda models: (counts[models], len(models), sorted(models)))
        for number, shown in by_turn.items():
            if shown - usual:
                elsewhere = f"elsewhere {_joined(usual)}"
                other.append(f"dialogue {first[code]} has {_joined(shown)} in turn {number}, {elsewhere}")
            elif shown != usual:
                lacking.append(f"dialogue {first[code]} has no reply of {_joined(usual - shown)} in turn {number}")
    if other:
        yield (
            f"in {counted(len(other), 'turn')}, the models differ from the dialogue's other turns ({_first(other)}). Is a "
            "name misspelt? A dialogue whose models change is analysed separately, as a dialogue of all its models."
        )
    if lacking:
        yield f"in {counted(len(lacking), 'turn')}, some models have no reply ({_first(lacking)})."


def _joined(models: AbstractSet[str]) -> str:
    return ", ".join(sorted(models))


def _first(texts: list[str]) -> str:
    more = len(texts) - SHOWN
    return "; ".join(texts[:SHOWN]) + (f"; and {more:,} more" if more > 0 else "")
