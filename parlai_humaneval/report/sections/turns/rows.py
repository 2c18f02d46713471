"""Groups of turns → the rows of the section: models, turns, places and pairs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.turns.types import EffectiveRow, ModelRow, PairRow, PositionRow, TurnRow
from parlai_humaneval.statistics.clustered import ClusterSums, cluster_bootstrap, cluster_sums, clustered_share
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.shares import wald_interval, wilson_interval
from parlai_humaneval.statistics.win_rates import effective_win_test, lin, sm_wta_scores, sqr_scores, wta_scores
from parlai_humaneval.tables.choices import ChoiceGroup

Floats = npt.NDArray[np.float64]
Objects = npt.NDArray[np.object_]


def of_group(group: ChoiceGroup) -> dict[str, Any]:
    """The fields that say where a row belongs."""
    return {
        "technique": group.technique,
        "setting": group.setting,
        "metric": group.metric,
        "group": " – ".join(group.models),
        "kind": group.kind,
    }


def share(values: Floats, workers: Objects, level: float, counts: Floats | None = None) -> Result:
    """Sum of ``values`` of the sum of ``counts`` (one each), clustered by worker; nan does not count."""
    whole = np.ones_like(values) if counts is None else counts
    return clustered_share(cluster_sums(values, whole, workers), level=level)


def model_rows(group: ChoiceGroup, options: Options) -> Iterator[ModelRow]:
    """A row a model: selected / turns in which it was shown (Liu et al. 2023), with the intervals of :class:`ModelRow`."""
    turns, level = group.turns, options.level
    later = turns.turns >= 2
    for model, chosen in zip(group.models, turns.chosen.T, strict=True):
        seen = ~np.isnan(chosen)
        n, selected = int(seen.sum()), int(np.nansum(chosen))
        rate = share(chosen, turns.workers, level)
        boot = _bootstrapped(chosen, turns.workers, options)
        wald, wilson = (interval(selected, n, level) or (None, None) for interval in (wald_interval, wilson_interval))
        single = group.kind == "single"
        yield ModelRow(
            **of_group(group),
            model=model,
            n=n,
            selected=selected,
            win_rate=rate.estimate,
            ci_low=rate.ci_low,
            ci_high=rate.ci_high,
            boot_low=boot[0],
            boot_high=boot[1],
            wald_low=wald[0],
            wald_high=wald[1],
            wilson_low=wilson[0],
            wilson_high=wilson[1],
            win_rate_from_2=_mean(chosen[later]),
            dialogues_won=_mean(_dialogue_scores(group, model, 1)[1]) if single else None,
            dialogues_won_from_3=_mean(_dialogue_scores(group, model, 3)[1]) if single else None,
            n_dialogues=len(set(turns.dialogues[seen])),
            n_workers=len(set(turns.workers[seen])),
        )


def _bootstrapped(chosen: Floats, workers: Objects, options: Options) -> tuple[float | None, float | None]:
    """Interval over resampled workers, which are sorted by what they chose: rows and names may come in any order."""
    sums = cluster_sums(chosen, np.ones_like(chosen), workers)
    order = np.lexsort((sums.numerators, sums.denominators))
    ordered = ClusterSums(sums.numerators[order], sums.denominators[order])
    return cluster_bootstrap(ordered, seed=options.seed, draws=options.draws, level=options.level) or (None, None)


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _dialogue_scores(group: ChoiceGroup, model: str, first: int) -> tuple[Floats, Floats, Objects]:
    """Of each dialogue of a single model: its share of good turns, whether at least half are, and its worker."""
    turns = group.turns
    chosen = turns.chosen[:, group.models.index(model)]
    rows = ~np.isnan(chosen) & (turns.turns >= first)
    codes, names = pd.factorize(turns.dialogues[rows])
    n = np.bincount(codes, minlength=len(names)).astype(float)
    good = np.bincount(codes, weights=chosen[rows], minlength=len(names)).astype(float)
    workers = np.full(len(names), "", dtype=object)
    workers[codes] = turns.workers[rows]
    return good / n, sm_wta_scores(good, n), workers


def effective_rows(group: ChoiceGroup, level: float) -> Iterator[EffectiveRow]:
    """Of single models: by dialogues' shares of good turns, and by winner-takes-all; from turns 1 and 3 on."""
    if group.kind != "single":
        return
    for first in (1, 3):
        scores = {model: _dialogue_scores(group, model, first) for model in group.models}
        for a, b in combinations(group.models, 2):
            for place, name in enumerate(("share", "wta")):
                of_a, of_b = scores[a], scores[b]
                rate = effective_win_test(of_a[place], of_a[2], of_b[place], of_b[2], level=level)
                yield EffectiveRow(
                    **of_group(group),
                    first_turn=first,
                    score=name,
                    model_a=a,
                    model_b=b,
                    n_a=len(of_a[0]),
                    n_b=len(of_b[0]),
                    win_rate=rate.estimate,
                    ci_low=rate.ci_low,
                    ci_high=rate.ci_high,
                    p_clustered=rate.p_value,
                )


def by_turn(group: ChoiceGroup, level: float) -> Iterator[TurnRow]:
    """A row a turn and model, clustered by worker; models that were not shown in a turn have none there."""
    numbers = group.turns.turns
    for number in np.unique(numbers):
        part = group.only(numbers == number)
        for column, model in enumerate(part.models):
            n, selected, rate, lin_of_turn = _cell(part, column, np.ones(len(part.turns.turns), dtype=bool), level)
            if n:
                yield TurnRow(
                    **of_group(group),
                    turn=int(number),
                    model=model,
                    n=n,
                    selected=selected,
                    win_rate=rate.estimate,
                    ci_low=rate.ci_low,
                    ci_high=rate.ci_high,
                    lin=lin_of_turn,
                )


def _cell(
    group: ChoiceGroup, column: int, rows: npt.NDArray[np.bool_], level: float
) -> tuple[int, int, Result, float | None]:
    """n, selected, rate and (of two models) Lin of one model in some turns."""
    chosen, workers = group.turns.chosen[rows], group.turns.workers[rows]
    own = chosen[:, column]
    pair_lin = None
    if len(group.models) == 2 and group.kind != "single":
        gaps = own - chosen[:, 1 - column]
        pair_lin = lin(float((gaps > 0).sum()), float((gaps < 0).sum()))
    return int((~np.isnan(own)).sum()), int(np.nansum(own)), share(own, workers, level), pair_lin


def by_position(group: ChoiceGroup, level: float) -> Iterator[PositionRow]:
    """Each place for any model, then each model at each place."""
    places = group.turns.by_position
    for place, chosen in enumerate(places.T, start=1):
        rate = share(chosen, group.turns.workers, level)
        n, selected = int((~np.isnan(chosen)).sum()), int(np.nansum(chosen))
        yield _position(group, place, None, n, selected, rate, None)
    for column, model in enumerate(group.models if places.shape[1] else ()):
        for place in range(1, places.shape[1] + 1):
            n, selected, rate, pair_lin = _cell(group, column, group.positions[:, column] == place, level)
            yield _position(group, place, model, n, selected, rate, pair_lin)


def _position(
    group: ChoiceGroup, place: int, model: str | None, n: int, selected: int, rate: Result, pair_lin: float | None
) -> PositionRow:
    return PositionRow(
        **of_group(group),
        position=place,
        model=model,
        n=n,
        selected=selected,
        win_rate=rate.estimate,
        ci_low=rate.ci_low,
        ci_high=rate.ci_high,
        lin=pair_lin,
    )


def pair_rows(group: ChoiceGroup, first: int, level: float) -> Iterator[PairRow]:
    """Each two models that stood side by side, from turn ``first`` on; none where there is no such turn."""
    if group.kind == "single":
        return
    part = group.at_turns(first)
    dialogues, names = pd.factorize(part.turns.dialogues)
    workers = np.full(len(names), "", dtype=object)
    workers[dialogues] = part.turns.workers
    for a, b in combinations(range(len(part.models)), 2):
        x, y = part.turns.chosen[:, a], part.turns.chosen[:, b]
        both_shown = ~np.isnan(x) & ~np.isnan(y)
        if both_shown.any():
            rates = _pair_rates(x, y, dialogues, workers, level)
            counts = _pair_counts(x[both_shown], y[both_shown])
            yield PairRow(
                **of_group(group), first_turn=first, model_a=part.models[a], model_b=part.models[b], **counts, **rates
            )


def _pair_counts(x: Floats, y: Floats) -> dict[str, Any]:
    n = len(x)
    both, neither = int(((x == 1) & (y == 1)).sum()), int(((x == 0) & (y == 0)).sum())
    return {
        "n": n,
        "only_a": int((x > y).sum()),
        "only_b": int((x < y).sum()),
        "both": both,
        "neither": neither,
        "win_rate_a": float(x.mean()),
        "win_rate_b": float(y.mean()),
        "tie_win": both / n,
        "tie_loss": neither / n,
    }


def _pair_rates(
    x: Floats, y: Floats, dialogues: npt.NDArray[np.int64], workers: Objects, level: float
) -> dict[str, float | None]:
    """Lin, Sqr and WTA of A, from the turns that each won alone in each dialogue."""
    size = len(workers)
    wins = np.bincount(dialogues, weights=x > y, minlength=size).astype(float)
    losses = np.bincount(dialogues, weights=x < y, minlength=size).astype(float)
    results = {
        "lin": share(wins, workers, level, wins + losses),
        "sqr": share(sqr_scores(wins, losses), workers, level),
        "wta": share(wta_scores(wins, losses), workers, level),
    }
    return {
        name + end: value
        for name, result in results.items()
        for end, value in (("", result.estimate), ("_low", result.ci_low), ("_high", result.ci_high))
    }
