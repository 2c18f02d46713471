"""Counts and tests of the section ``turns``: groups of turns → its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Flags, Floats, Ints, Objects
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections import turn_rows
from parlai_humaneval.statistics.core.clustered import (
    SHARE_LIMITS,
    ClusterSums,
    cluster_bootstrap,
    cluster_sums,
    clustered_share,
    keep_shares,
)
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.ranks import ranks_of
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.shares import binomial_test, wald_interval, wilson_interval
from parlai_humaneval.statistics.leads import family_tests, leave_one_out, place_effect, places_alike
from parlai_humaneval.statistics.preference import pairs, win_rates
from parlai_humaneval.statistics.preference.tests import compare_choices, equality_tests
from parlai_humaneval.statistics.preference.turn_dependence import first_choice, first_place, reselection
from parlai_humaneval.statistics.ranking.fit import strength_note
from parlai_humaneval.statistics.ranking.order import ModelOrder
from parlai_humaneval.statistics.ranking.plackett_luce import turn_strengths
from parlai_humaneval.statistics.ratings.likert import PAIR_TURNS, pair_combo, turn_rates
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.choices import ComparisonGroup, choice_groups, merged
from parlai_humaneval.tables.filters import taken_as_finished
from parlai_humaneval.techniques.registry import with_trait

LATER = 2
"""First turns are left out by Liu et al. 2023: nothing was said before them."""
LATER_SINGLE = 3
"""First of the turns that Smith et al. 2022 (Table 2) count of single models."""
SELF_CHATS = ("self_chat", "")
"""Settings of comparisons that count for a PW combo; "" where a table from elsewhere does not say what was compared."""
NOT_SAID = "the table does not say whether the dialogues that were compared are self-chats, as in the paper"
NOTHING = "nothing ticked"
NO_INTERVAL = (None, None)
ALL_PLACES = "all places"
"""What was chosen twice running, of all models of a group together."""


def _of_group(group: ComparisonGroup) -> dict[str, Any]:
    names = ("technique", "setting", "metric", "kind", "problem")
    return {name: getattr(group, name) for name in names} | {"group": " – ".join(group.models)}


def _share(values: Floats, workers: Objects, level: float) -> Result:
    """Mean of ``values``, clustered by rater; nan does not count."""
    return clustered_share(cluster_sums(values, np.ones_like(values), workers), level=level)


def _bootstrapped(sums: ClusterSums, options: Options) -> tuple[float | None, float | None]:
    return cluster_bootstrap(sums, **options.bootstrap) or NO_INTERVAL


# Models: win rates, ranks, dialogues won.


def model_rows(
    group: ComparisonGroup, options: Options, unfinished: Mapping[Any, tuple[int, float]]
) -> Iterator[turn_rows.TurnModel]:
    """A row a model: selected / turns in which it was shown (Liu et al. 2023), with the intervals of :class:`TurnModel`."""
    turns, level, single = group.turns, options.level, group.kind == "single"
    later, third = turns.turns >= LATER, turns.turns >= LATER_SINGLE
    _keep_cells(group, [np.ones((len(later), 1), dtype=bool), later[:, None]], level)
    rates = [_share(chosen, turns.workers, level) for chosen in turns.chosen.T]
    adjusted = _rates_by_place(group, rates, level)
    told = [alike or rate for alike, rate in zip(adjusted, rates, strict=True)]
    columns = zip(group.models, turns.chosen.T, rates, adjusted, _ranks(told, group.problem), strict=True)
    for model, chosen, rate, alike, rank in columns:
        seen = ~np.isnan(chosen)
        n, selected = int(seen.sum()), int(np.nansum(chosen))
        n_with, rate_with = unfinished.get((*group.family, *group.models, model), (None, None))
        yield turn_rows.TurnModel(
            **_of_group(group),
            model=model,
            rank=rank,
            n=n,
            selected=selected,
            rate=rate,
            adjusted=alike,
            boot=_bootstrapped(cluster_sums(chosen, np.ones_like(chosen), turns.workers), options),
            wald=wald_interval(selected, n, level) or NO_INTERVAL,
            wilson=wilson_interval(selected, n, level) or NO_INTERVAL,
            from_2=_share(chosen[later], turns.workers[later], level),
            from_3=_share(chosen[third], turns.workers[third], level) if single else None,
            dialogues=_share(*_dialogue_scores(group, model, 1)[1:], level) if single else None,
            dialogues_3=_share(*_dialogue_scores(group, model, LATER_SINGLE)[1:], level) if single else None,
            n_dialogues=len(set(turns.dialogues[seen])),
            n_workers=len(set(turns.workers[seen])),
            n_with_unfinished=n_with,
            win_rate_with_unfinished=rate_with,
        )


def _rates_by_place(group: ComparisonGroup, rates: Sequence[Result], level: float) -> Sequence[Result | None]:
    """The win rates with all positions weighted equally, where their effect outweighs a difference of two models."""
    nothing = [None] * len(rates)
    estimates = [rate.estimate for rate in rates if rate.estimate is not None]
    gaps = [abs(a - b) for a, b in combinations(estimates, 2)]
    effect = place_effect(group, level)
    columns = zip(group.turns.chosen.T, group.positions.T, strict=True)
    if effect is None or not gaps or not pairs.place_outweighs(effect, effect.estimate, min(gaps)):
        return nothing
    balanced = [values for column in columns if (values := pairs.position_balanced(*column)) is not None]
    if len(balanced) < len(rates):
        return nothing
    return [
        places_alike(clustered_mean(values, group.turns.workers, name=rate.name, limits=SHARE_LIMITS, level=level))
        for values, rate in zip(balanced, rates, strict=True)
    ]


def _ranks(rates: Sequence[Result], fewest_first: bool = False) -> list[int]:
    sign = -1 if fewest_first else 1
    estimates = [-2.0 if rate.estimate is None else sign * rate.estimate for rate in rates]
    return [int(rank) for rank in ranks_of([estimates])[0]]


def with_unfinished(groups: Sequence[ComparisonGroup], tables: Tables) -> dict[Any, tuple[int, float]]:
    """Group and model → turns and win rate with the answered turns of dialogues that did not end; where there are some."""
    left = {(*group.family, *group.models) for group in groups if group.unfinished_turns}
    return {
        (*group.family, *group.models, model): (int((~np.isnan(chosen)).sum()), float(np.nanmean(chosen)))
        for group in (choice_groups(taken_as_finished(tables)) if left else ())
        if (*group.family, *group.models) in left
        for model, chosen in zip(group.models, group.turns.chosen.T, strict=True)
        if not np.isnan(chosen).all()
    }


def ranking(family: Sequence[ComparisonGroup], level: float, order: ModelOrder | None) -> list[turn_rows.RankRow]:
    """The models of several groups, best first, over all turns in which each was shown; ``order``: None: by their rates."""
    rows = []
    for model in sorted({model for group in family for model in group.models}):
        own = [group for group in family if model in group.models]
        chosen = np.concatenate([group.turns.chosen[:, group.models.index(model)] for group in own])
        rate = _share(chosen, np.concatenate([group.turns.workers for group in own]), level)
        of_model = {"rank": 0, "n": rate.n, "selected": int(np.nansum(chosen)), "problem": False}
        rows.append(turn_rows.RankRow.of(family[0], of_model, model=model, rate=rate))
    ranks = _ranks([row.rate for row in rows]) if order is None else [order.rank(row.model) for row in rows]
    for row, rank in zip(rows, ranks, strict=True):
        row.rank = rank
    return sorted(rows, key=lambda row: (row.rank, order.names.index(row.model) if order is not None else 0))


def _dialogue_scores(group: ComparisonGroup, model: str, first: int) -> tuple[Floats, Floats, Objects]:
    """For each dialogue of a single model: its share of good turns, whether at least half are good, and its worker."""
    turns, good = group.turns, group.good[:, group.models.index(model)]
    rows = ~np.isnan(good) & (turns.turns >= first)
    codes, names = pd.factorize(turns.dialogues[rows])
    n = np.bincount(codes, minlength=len(names)).astype(float)
    won = np.bincount(codes, weights=good[rows], minlength=len(names)).astype(float)
    return won / n, win_rates.sm_wta_scores(won, n), _workers_of(codes, turns.workers[rows], len(names))


def _workers_of(codes: Ints, workers: Objects, size: int) -> Objects:
    of_dialogue = np.full(size, "", dtype=object)
    of_dialogue[codes] = workers
    return of_dialogue


def effective_rows(group: ComparisonGroup, level: float) -> Iterator[turn_rows.EffectiveRow]:
    """Every two single models by their dialogues; nothing of others."""
    for first in (1, LATER_SINGLE) if group.kind == "single" else ():
        scores = {model: _dialogue_scores(group, model, first) for model in group.models}
        for a, b in combinations(group.models, 2):
            for place, score in enumerate(("share", "wta")):
                of_a, of_b = scores[a][place], scores[b][place]
                rate = win_rates.effective_win_test(of_a, scores[a][2], of_b, scores[b][2], level=level)
                named = {"first_turn": first, "score": score, "model_a": a, "model_b": b}
                yield turn_rows.EffectiveRow(**_of_group(group), **named, n_a=len(of_a), n_b=len(of_b), rate=rate)


def nothing_ticked(groups: Sequence[ComparisonGroup], level: float) -> Iterator[turn_rows.NothingRow]:
    """In how many turns none of several criteria was ticked, of each single model."""
    singles = [group for group in groups if group.kind == "single"]
    for (technique, setting), found in groupby(singles, key=lambda group: group.family[:2]):
        criteria = list(found)
        if len(criteria) < 2:
            continue
        good = turn_rates(criteria)
        models = {
            dialogue: group.models[column]
            for group in criteria
            for columns in [np.nanargmax(~np.isnan(group.turns.chosen), axis=1)]
            for dialogue, column in zip(group.turns.dialogues, columns, strict=True)
        }
        of_model = good.index.get_level_values("dialogue_id").map(models).to_numpy(dtype=object)
        workers = good.index.get_level_values("worker_id").to_numpy(dtype=object)
        names = sorted(set(models.values()))
        asked = {"technique": technique, "setting": setting, "metric": NOTHING, "kind": "single"}
        asked["group"] = " – ".join(names)
        for first in (1, LATER_SINGLE):
            later = [turn for turn in good.columns if int(turn) >= first]
            for model in names:
                shares = good.loc[of_model == model, later].to_numpy(dtype=float)
                nothing = np.where(np.isnan(shares), np.nan, shares == 0)
                rate = _share(nothing.ravel(), np.repeat(workers[of_model == model], len(later)), level)
                if rate.n:
                    yield turn_rows.NothingRow(**asked, first_turn=first, model=model, rate=rate)


# Turns, places and ranges of turns.


def _cell(group: ComparisonGroup, column: int, rows: Flags, level: float) -> dict[str, Any]:
    chosen, workers = group.turns.chosen[rows], group.turns.workers[rows]
    own, pair_lin = chosen[:, column], None
    if len(group.models) == 2 and group.kind != "single":
        gaps = own - chosen[:, 1 - column]
        pair_lin = win_rates.linear_win_rate(float((gaps > 0).sum()), float((gaps < 0).sum()))
    return _counted(own, workers, level) | {"lin": pair_lin}


def _counted(chosen: Floats, workers: Objects, level: float) -> dict[str, Any]:
    counts = {"n": int((~np.isnan(chosen)).sum()), "selected": int(np.nansum(chosen))}
    return {**counts, "rate": _share(chosen, workers, level)}


def _keep_cells(group: ComparisonGroup, cells: Iterable[Flags], level: float) -> None:
    """``cells``: turns × models, or × 1."""
    shown = (np.where(cell, group.turns.chosen, np.nan).T for cell in cells)
    ones, workers = np.ones(len(group.turns.turns)), group.turns.workers
    keep_shares((cluster_sums(chosen, ones, workers) for columns in shown for chosen in columns), level)


def by_turn(group: ComparisonGroup, level: float) -> Iterator[turn_rows.TurnRow]:
    """A row a turn and model that was shown in it."""
    numbers = group.turns.turns
    _keep_cells(group, [(numbers == number)[:, None] for number in np.unique(numbers)], level)
    for number in np.unique(numbers):
        for column, model in enumerate(group.models):
            values = _cell(group, column, numbers == number, level)
            if values["n"]:
                yield turn_rows.TurnRow(**_of_group(group), turn=int(number), model=model, **values)


def by_position(group: ComparisonGroup, level: float) -> Iterator[turn_rows.PositionRow]:
    """A row a place, of all models; then a row a model and place."""
    places = group.turns.by_position
    _keep_cells(group, [group.positions == place for place in range(1, places.shape[1] + 1)], level)
    for place, chosen in enumerate(places.T, start=1):
        counted = _counted(chosen, group.turns.workers, level)
        yield turn_rows.PositionRow(**_of_group(group), position=place, model=None, **counted, lin=None)
    for column, model in enumerate(group.models if places.shape[1] else ()):
        for place in range(1, places.shape[1] + 1):
            values = _cell(group, column, group.positions[:, column] == place, level)
            yield turn_rows.PositionRow(**_of_group(group), position=place, model=model, **values)


def range_rows(group: ComparisonGroup, first: int, level: float) -> Iterator[turn_rows.RangeRow]:
    """Ties of all models of the group from turn ``first`` on; none of single replies, or where there is no such turn."""
    turns = group.at_turns(first).turns
    if group.kind == "single" or not len(turns.turns):
        return
    shown, picks = (~np.isnan(turns.chosen)).sum(axis=1), np.nansum(turns.chosen, axis=1)
    several = np.where(shown > 1, 1.0, np.nan)
    yield turn_rows.RangeRow(
        **_of_group(group),
        first_turn=first,
        last_turn=int(turns.turns.max()),
        n=len(turns.turns),
        n_dialogues=len(set(turns.dialogues)),
        n_workers=len(set(turns.workers)),
        tie_win=_share((picks == shown) * several, turns.workers, level),
        tie_loss=_share((picks == 0) * several, turns.workers, level),
        written=_share(turns.written, turns.workers, level),
    )


# Pairs of models.


def pair_rows(group: ComparisonGroup, first: int, options: Options) -> Iterator[turn_rows.TurnPair]:
    """Every two models that were shown together in turns ``first`` on; none of single replies."""
    turns = group.at_turns(first).turns
    dialogues, names = pd.factorize(turns.dialogues)
    workers = _workers_of(dialogues, turns.workers, len(names))
    met = []
    for a, b in combinations(range(len(group.models)), 2) if group.kind != "single" else ():
        x, y = turns.chosen[:, a], turns.chosen[:, b]
        if not (~np.isnan(x) & ~np.isnan(y)).any():
            continue
        # Lin, Sqr and winner-takes-all of dialogues, each with its bootstrap.
        wins = np.bincount(dialogues, weights=x > y, minlength=len(names)).astype(float)
        losses = np.bincount(dialogues, weights=x < y, minlength=len(names)).astype(float)
        once = np.ones(len(names))
        sums = {
            "lin": cluster_sums(wins, wins + losses, workers),
            "sqr": cluster_sums(win_rates.sqr_scores(wins, losses), once, workers),
            "wta": cluster_sums(win_rates.wta_scores(wins, losses), once, workers),
        }
        met.append((a, b, x, y, sums))
    keep_shares((each for *_, sums in met for each in sums.values()), options.level)
    for a, b, x, y, sums in met:
        seen = ~np.isnan(x) & ~np.isnan(y)
        n = int(seen.sum())
        both, neither = int(((x == 1) & (y == 1)).sum()), int(((x == 0) & (y == 0)).sum())
        only_a, only_b = int((x > y).sum()), int((x < y).sum())
        rates: dict[str, Any] = {name: clustered_share(of, level=options.level) for name, of in sums.items()}
        rates |= {f"{name}_boot": _bootstrapped(of, options) for name, of in sums.items()}
        yield turn_rows.TurnPair(
            **_of_group(group),
            first_turn=first,
            last_turn=int(turns.turns[seen].max()),
            model_a=group.models[a],
            model_b=group.models[b],
            n=n,
            n_dialogues=len(set(dialogues[seen])),
            n_workers=len(set(turns.workers[seen])),
            only_a=only_a,
            only_b=only_b,
            both=both,
            neither=neither,
            win_rate_a=float(x[seen].mean()),
            win_rate_b=float(y[seen].mean()),
            tie_win=both / n,
            tie_loss=neither / n,
            paper=binomial_test(only_a, only_a + only_b),
            **rates,
        )


def combo_rows(groups: Sequence[ComparisonGroup], tables: Tables, level: float) -> Iterator[turn_rows.ComboRow]:
    """Turns of two models of which one was picked, with comparisons of self-chats of the same two."""
    picked = [g for g in groups if g.kind == "one" and len(g.models) == 2 and g.technique not in with_trait("points")]
    rows = pairs.counted_comparisons(tables)
    rows = rows[(rows["dialogue_a"] != rows["dialogue_b"]).to_numpy(dtype=bool)]
    if not picked or rows.empty:
        return
    rows = pairs.orient_pairs(rows)
    rows = rows[((rows["outcome"] != 0) & rows["setting"].isin(SELF_CHATS)).to_numpy(dtype=bool)]
    of_pair = {tuple(map(str, key)): part for key, part in rows.groupby(["metric", "model_a", "model_b", "setting"])}
    for group in picked:
        turns = group.at_turns(*PAIR_TURNS).turns
        gap = turns.chosen[:, 0] - turns.chosen[:, 1]
        decided = ~np.isnan(gap) & (gap != 0)
        for setting in SELF_CHATS:
            compared = of_pair.get((group.metric, *group.models, setting))
            if compared is None or not decided.any():
                continue
            won, dialogs = (gap[decided] > 0).astype(float), (compared["outcome"].to_numpy() > 0).astype(float)
            workers = turns.workers[decided], compared["worker_id"].to_numpy(dtype=object)
            combo = pair_combo(won, workers[0], dialogs, workers[1], level=level)
            if combo.estimate is not None:
                named = dict(zip(("model_a", "model_b"), group.models, strict=True))
                yield turn_rows.ComboRow(
                    **_of_group(group),
                    **named,
                    pair=group.models,
                    setting_dialog=setting,
                    n_turns=len(won),
                    n_dialogs=len(dialogs),
                    lin_turns_2_6=float(won.mean()),
                    win_rate_dialog=float(dialogs.mean()),
                    combo=combo,
                    notes=[*combo.notes, *([] if setting else [NOT_SAID])],
                )


# Tests.


def tested_rows(families: Sequence[Sequence[ComparisonGroup]], level: float, first: int) -> list[turn_rows.TestRow]:
    """Tests of turns ``first`` on, group by group; Holm's correction is over the pairs of all groups of a family."""
    questions = Counter(family[0].family[:2] for family in families)
    rows: list[turn_rows.TestRow] = []
    for groups in families:
        asked_alone = questions[groups[0].family[:2]] == 1
        everywhere: dict[tuple[str, str], Result] = {}
        if len(groups) > 1:
            together = merged([group.at_turns(first) for group in groups]).turns
            columns = list(zip(together.models, together.chosen.T, strict=True))
            for (a, of_a), (b, of_b) in combinations(columns, 2):
                everywhere[a, b] = win_rates.paired_superiority(of_a - of_b, together.workers, level=level)
        for found in family_tests(groups, level=level, first=first, asked_alone=asked_alone):
            row = turn_rows.TestRow.of(found, _of_group(found.group), first_turn=first)
            if found.test.of_pair:
                # For one group: the leading difference of the pair, on the scale of other techniques.
                own = win_rates.superiority_of_difference(row.told)
                row.superiority = everywhere.get(row.pair) or (win_rates.complement(own) if row.problem else own)
            rows.append(row)
    return rows


def left_out_rows(group: ComparisonGroup) -> list[turn_rows.LeftOutRow]:
    """The comparison without each of three models or more; none of single replies."""
    if group.kind == "single" or len(group.models) < 3:
        return []
    turns, one_pick = group.turns, group.kind == "one"
    tests = compare_choices(turns.chosen, turns.models, turns.workers, one_pick=one_pick)
    without = leave_one_out(turns.chosen, turns.models, turns.workers, tests, one_pick=one_pick)
    return [turn_rows.LeftOutRow.of(_of_group(group), left) for left in without]


def reselection_rows(group: ComparisonGroup, level: float) -> Iterator[turn_rows.ReselectionRow]:
    """What was chosen in two consecutive turns; of single replies of each model alone."""
    if len(np.unique(group.turns.turns)) > 1:
        repeats = reselection(group.turns, one_pick=group.kind == "one", level=level)
        for row in repeats[: len(group.models)] if group.kind == "single" else repeats:
            if row.n_pairs:
                yield turn_rows.ReselectionRow.of(_of_group(group), row)


def cascading_rows(group: ComparisonGroup, level: float) -> Iterator[turn_rows.BiasRow]:
    """Whether what was chosen first is chosen later."""
    if group.kind != "single" and len(np.unique(group.turns.turns)) > 1:
        first = first_choice(group.turns, level=level)
        for test in (first.paper, first.clustered, first.adjusted):
            yield turn_rows.BiasRow(**_of_group(group), test=test)


def anchoring_rows(group: ComparisonGroup, level: float) -> Iterator[turn_rows.BiasRow]:
    """The first place against the others; all places at once, as the papers test models, and clustered."""
    places = group.turns.by_position
    if places.shape[1] < 2:
        return
    known = ~np.isnan(places).any(axis=1)
    names = [f"place {number}" for number in range(1, places.shape[1] + 1)]
    whole = equality_tests(places[known], names, group.turns.workers[known], group.kind == "one", level)
    yield turn_rows.BiasRow(**_of_group(group), test=first_place(group.turns, level=level))
    for test in (whole.paper, whole.clustered):
        yield turn_rows.BiasRow(**_of_group(group), test=test.but(name=ALL_PLACES))


def strength_rows(
    groups: Sequence[ComparisonGroup], level: float
) -> tuple[list[turn_rows.StrengthRow], list[turn_rows.PullRow]]:
    """Strengths of each group's models, and the pull of its places; free-for-alls have theirs in their own section."""
    strengths, pulls = [], []
    for group in groups:
        fitted = None if group.technique in with_trait("points") else turn_strengths(group, level=level)
        if fitted is None:
            continue
        for model, strength in zip(group.models, fitted.models, strict=True):
            # Why a model has none is among those of the fit, with its name.
            notes = [*fitted.notes, *(() if strength.estimate is None else strength.notes)]
            found = {"model": model, "strength": strength, "equal": fitted.equal, "notes": list(dict.fromkeys(notes))}
            note = strength_note(fitted.order, model, strength)
            strengths.append(turn_rows.StrengthRow(**_of_group(group), **found, strength_note=note))
        for pull in fitted.positions:
            place = pull.name.removeprefix("pull of position ")
            no_effect = fitted.no_position_effect
            pulls.append(turn_rows.PullRow(**_of_group(group), position=place, pull=pull, no_effect=no_effect))
    return strengths, pulls
