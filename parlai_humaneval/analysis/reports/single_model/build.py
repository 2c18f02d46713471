"""Tables of ticks and ratings → the report of a single-model study (Smith et al. 2022, §3.1.4; Liu et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.analysis.reports.facts import CLUSTERED, LEVEL, common_facts, methods_of
from parlai_humaneval.analysis.reports.gaps import correct_gaps
from parlai_humaneval.analysis.reports.single_model import words
from parlai_humaneval.analysis.reports.single_model.types import (
    CriterionPair,
    MeanRating,
    SingleModelGroup,
    SingleModelReport,
    TickRate,
    TickSpan,
)
from parlai_humaneval.analysis.reports.words import NO_TURNS
from parlai_humaneval.statistics.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.means import Limits, clustered_difference, clustered_mean, t_test
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.shares import wald_interval
from parlai_humaneval.tables.counting import finished, is_set, that_count, unique
from parlai_humaneval.tables.from_records import Tables

Floats = npt.NDArray[np.float64]
Objects = npt.NDArray[np.object_]

OF_TICKS = [
    "Success rate: turns in which the criterion was ticked, of all (Smith et al. 2022, §4.2; Liu et al. 2023, Table "
    "6, which leaves the first turns out). Dialogues: share with at least half of the turns ticked.",
    "Wald: the interval of Liu et al. 2023, Table 6, which takes all turns as independent.",
]
OF_PAIRS = (
    "Paper's p of pairs: two-sided t test of independent turns or dialogues (Smith et al. 2022, App. C.7). Clustered p "
    "of pairs: of the difference of two models."
)
FIRST_LATER = {"quality": 3}
"""Metric → first of the later turns. Smith et al. 2022 (Table 2) give turns 3 to 6; Liu et al. 2023 leave the first out."""
HOLM = "Holm: clustered p, corrected for all pairs and criteria of the report."


def build_report(tables: Tables, *, seed: int = 0, include_partial: bool = False) -> SingleModelReport:
    """How good each model's replies and dialogues were found, by setting and metric; reads ``turns``, ``ratings``.

    Only complete dialogues count unless ``include_partial``. A reply that failed, and was not shown, does not count.
    """
    turns, ratings = tables.turns, tables.ratings
    asked = turns["tick_choices"].notna().to_numpy(dtype=bool) & ~is_set(turns, "failed")
    turns = turns[asked & is_set(turns, "complete", missing=1)]
    turns, ratings = (frame.assign(setting=frame["setting"].fillna("")) for frame in (turns, ratings))
    ratings = ratings.assign(metric=ratings["metric"].fillna(""))
    groups = [
        _group(setting, metric, _of(turns, setting, metric), _of(ratings, setting, metric), include_partial)
        for setting, metric in _keys(turns, ratings)
    ]
    correct_gaps([pair for group in groups for pair in (*group.tick_pairs, *group.rating_pairs)])
    for group in groups:
        group.headline = words.headline(group)
        group.remarks = words.remarks(group, include_partial)
    return SingleModelReport(
        **common_facts(tables, include_partial=include_partial, seed=seed),
        headline=" ".join(group.headline for group in groups) or NO_TURNS,
        groups=groups,
        methods=_methods(groups),
    )


def _keys(*frames: pd.DataFrame) -> list[tuple[str, str]]:
    return sorted(
        {(str(s), str(m)) for frame in frames for s, m in zip(frame["setting"], frame["metric"], strict=True)}
    )


def _methods(groups: Sequence[SingleModelGroup]) -> list[str]:
    """Notes on what is printed, and on nothing else."""
    ticked = any(group.all_turns.rates for group in groups)
    pairs = [pair for group in groups for pair in (*group.tick_pairs, *group.rating_pairs)]
    notes = [*(OF_TICKS if ticked else []), *([CLUSTERED] if groups else []), *([OF_PAIRS] if pairs else [])]
    return methods_of(notes, HOLM, [pair.difference for pair in pairs])


def _of(rows: pd.DataFrame, setting: str, metric: str) -> pd.DataFrame:
    wanted: pd.DataFrame = rows[((rows["setting"] == setting) & (rows["metric"] == metric)).to_numpy(dtype=bool)]
    return wanted


def _group(
    setting: str, metric: str, turns: pd.DataFrame, ratings: pd.DataFrame, include_partial: bool
) -> SingleModelGroup:
    left = turns[~finished(turns)]
    counted, rated = (rows[that_count(rows, include_partial)] for rows in (turns, ratings))
    cells, marks = list(_cells(counted)), list(_ratings(rated))
    both = pd.concat([counted[["dialogue_id", "worker_id"]], rated[["dialogue_id", "worker_id"]]])
    return SingleModelGroup(
        setting=setting,
        metric=metric,
        models=unique(pd.concat([counted["model"], rated["model"]])),
        n_dialogues=int(both["dialogue_id"].nunique()),
        n_workers=int(both["worker_id"].nunique()),
        all_turns=_span(counted, cells, 1),
        later_turns=_span(counted, cells, FIRST_LATER.get(metric, 2)),
        ratings=[_mean(cell) for cell in marks],
        tick_pairs=_pairs(cells),
        rating_pairs=_pairs(marks),
        unfinished_dialogues=int(left["dialogue_id"].nunique()),
        unfinished_turns=len(left),
    )


@dataclass(frozen=True)
class _Cell:
    """All values of one model on one criterion, with their workers, dialogues and turns."""

    model: str
    criterion: str
    values: Floats
    workers: Objects
    dialogues: Objects
    turns: Floats
    scale: tuple[float | None, float | None] = (0, 1)


def _cells(turns: pd.DataFrame) -> Iterator[_Cell]:
    """Ticks as 0 and 1, criterion by criterion in the order of the choices, and model by model."""
    offered, given = (_lists(turns[column]) for column in ("tick_choices", "ticks"))
    numbers, models = turns["turn"].to_numpy(dtype=float), unique(turns["model"])
    for criterion in dict.fromkeys(name for choices in offered for name in choices):
        was_asked = np.array([criterion in choices for choices in offered], dtype=bool)
        ticked = np.array([criterion in ticks for ticks in given], dtype=float)
        for model in models:
            rows = was_asked & (turns["model"] == model).to_numpy(dtype=bool)
            yield _cell(turns[rows], model, criterion, ticked[rows], numbers[rows])


def _lists(values: pd.Series[str]) -> list[list[str]]:
    """Cells of names joined by ; → lists."""
    return [value.split(";") if isinstance(value, str) else [] for value in values]


def _ratings(ratings: pd.DataFrame) -> Iterator[_Cell]:
    for criterion in dict.fromkeys(ratings["criterion"]):
        of_criterion = ratings[(ratings["criterion"] == criterion).to_numpy(dtype=bool)]
        for model, rows in of_criterion.groupby("model", sort=True):
            values = rows["value"].to_numpy(dtype=float)
            scale = (_number(rows["minimum"].min()), _number(rows["maximum"].max()))
            yield _cell(rows, str(model), str(criterion), values, np.ones_like(values), scale)


def _cell(
    rows: pd.DataFrame,
    model: str,
    criterion: str,
    values: Floats,
    turns: Floats,
    scale: tuple[float | None, float | None] = (0, 1),
) -> _Cell:
    workers, dialogues = (rows[name].to_numpy(dtype=object) for name in ("worker_id", "dialogue_id"))
    return _Cell(model, criterion, values, workers, dialogues, turns, scale)


def _span(turns: pd.DataFrame, cells: Sequence[_Cell], first: int) -> TickSpan:
    counted = turns[(turns["turn"] >= first).to_numpy(dtype=bool)]
    nothing = counted["ticks"].isna().to_numpy(dtype=float)
    last = turns["turn"].max()
    return TickSpan(
        first_turn=first,
        last_turn=None if pd.isna(last) else int(last),
        n_turns=len(counted),
        rates=[_rate(cell, first) for cell in cells],
        none={
            model: _share(nothing[rows], counted["worker_id"].to_numpy(dtype=object)[rows], f"nothing ticked, {model}")
            for model in unique(turns["model"])
            for rows in [(counted["model"] == model).to_numpy(dtype=bool)]
        },
    )


def _rate(cell: _Cell, first: int) -> TickRate:
    late = cell.turns >= first
    values, workers = cell.values[late], cell.workers[late]
    dialogues = pd.DataFrame({"dialogue": cell.dialogues[late], "worker": workers, "value": values})
    shares = dialogues.groupby(["dialogue", "worker"], sort=False)["value"].mean().reset_index()
    low, high = wald_interval(float(values.sum()), len(values)) or (None, None)
    name = f"{cell.criterion} of {cell.model}"
    return TickRate(
        model=cell.model,
        criterion=cell.criterion,
        turns=len(values),
        ticked=int(values.sum()),
        rate=_share(values, workers, name),
        paper_low=low,
        paper_high=high,
        dialogues_won=_share(
            (shares["value"].to_numpy(dtype=float) >= 0.5).astype(float),
            shares["worker"].to_numpy(dtype=object),
            f"{name}, dialogues",
        ),
    )


def _share(values: Floats, workers: Objects, name: str) -> Result:
    result = clustered_share(cluster_sums(values, np.ones_like(values), workers), name=name, level=LEVEL)
    return result.model_copy(update={"p_value": None, "statistic": None})


def _mean(cell: _Cell) -> MeanRating:
    return MeanRating(
        model=cell.model,
        criterion=cell.criterion,
        minimum=cell.scale[0],
        maximum=cell.scale[1],
        mean=clustered_mean(
            cell.values,
            cell.workers,
            name=f"{cell.criterion} of {cell.model}",
            limits=_limits(*cell.scale),
            level=LEVEL,
        ),
        sd=float(cell.values.std(ddof=1)) if len(cell.values) > 1 else None,
    )


def _pairs(cells: Sequence[_Cell]) -> list[CriterionPair]:
    return [
        CriterionPair(
            model_a=a.model,
            model_b=b.model,
            criterion=a.criterion,
            difference=clustered_difference(
                a.values, a.workers, b.values, b.workers, name=name, limits=_gap_limits(a, b), level=LEVEL
            ),
            paper=t_test(a.values, b.values, name=name),
        )
        for a, b in combinations(cells, 2)
        if a.criterion == b.criterion
        for name in [f"{a.criterion} of {a.model} − {b.model}"]
    ]


def _limits(low: float | None, high: float | None) -> Limits:
    return None if low is None or high is None else (low, high)


def _gap_limits(a: _Cell, b: _Cell) -> Limits:
    """The greatest possible difference of two values on the scale, either way."""
    ends = [end for end in (*a.scale, *b.scale) if end is not None]
    span = max(ends) - min(ends) if len(ends) == 4 else None
    return None if span is None else (-span, span)


def _number(value: float) -> float | None:
    return None if pd.isna(value) else float(value)
