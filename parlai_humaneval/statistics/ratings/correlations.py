"""What a study measures, in one form: observations whose mean is a gap between two models, whatever the technique.

Turns, comparisons, ratings and labels all come down to it: with paired answers an observation is the difference of one
turn; with ratings of one model at a time it is how far a rating pulls the difference of the two means. How alike such
observations are, of one worker and of one dialogue, is what another study is planned with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Flags, Floats, Objects
from parlai_humaneval.statistics.core.clustered import effective_clusters
from parlai_humaneval.statistics.core.clustering_effects import (
    Clustered,
    observations_per_cluster,
    pooled_intraclass_correlation,
)
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.pairs import GROUP, counted_comparisons, orient_pairs
from parlai_humaneval.statistics.ratings.likert import likert_groups
from parlai_humaneval.statistics.ratings.sliders import assessed
from parlai_humaneval.statistics.ratings.standardised import overall_parts
from parlai_humaneval.statistics.survival.spotting import bot_contests, spot_the_bot_segments
from parlai_humaneval.tables.choices import choice_groups
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.filters import finished
from parlai_humaneval.tables.schema import HUMAN

Source = Literal["turns", "comparisons", "ratings", "segments"]
Unit = Literal["share", "points", "z"]
"""Of gaps: a share of 0 to 1, points of a rating scale, or standard deviations of a worker's ratings."""
LEAST_ICC = 0.001
"""To plan with where the one seen is negative: the test stays the clustered one, and no gain is counted on."""


@dataclass(frozen=True)
class GapData:
    """Model A against B: observations whose mean is the gap A − B, and who gave them in which dialogue.

    ``second``: of models judged one at a time, which observations are of B; None where each is of both. ``dialogues_b``:
    of two finished dialogues that were compared, that of B; None where both models spoke in one.
    """

    model_a: str
    model_b: str
    values: Floats
    workers: Objects
    dialogues: Objects
    second: Flags | None = None
    dialogues_b: Objects | None = None

    @property
    def per_worker(self) -> float | None:
        """Σn²/Σn, of the observations that a worker gives to a sample: to the pair, or to a model judged by itself."""
        return observations_per_cluster(self.samples)

    @property
    def worker_sizes(self) -> Floats:
        """Observations of each worker; of models judged one at a time, of each worker and model."""
        return np.unique(self.samples, return_counts=True)[1].astype(float)

    @property
    def effective_workers(self) -> float:
        """(Σn)²/Σn²: as many workers who gave equally much would say as much."""
        return effective_clusters(np.unique(pd.factorize(self.workers)[0], return_counts=True)[1])

    @property
    def samples(self) -> npt.NDArray[np.int_]:
        """Numbers of the workers; of models judged one at a time, of each worker and model."""
        codes = pd.factorize(self.workers)[0]
        return np.asarray(codes if self.second is None else 2 * codes + self.second, dtype=int)

    @property
    def judged_both(self) -> float:
        """Share of the workers who judged both models."""
        if self.second is None:
            return 1.0
        a, b = set(self.workers[~self.second]), set(self.workers[self.second])
        return len(a & b) / max(1, len(a | b))


@dataclass(frozen=True)
class Alike:
    """Observations of which one asks how alike they are within a worker: with the means of models taken out.

    ``strata``: which pair each is about; one answer may stand in several pairs, so that likeness is asked within each.
    ``n``: how many answers they come from. ``levels``: are they answers on one model each, not differences of two?
    """

    values: Floats
    workers: Objects
    dialogues: Objects
    strata: npt.NDArray[np.int_]
    n: int
    levels: bool = False


@dataclass(frozen=True)
class Measure:
    """One question of a study: who is better by it, over pairs of models; and what answers to it are like.

    ``planned``: the pairs as a plan counts them, where that is otherwise: ties are judgements too, and are 0. Empty where
    no study is planned for the question.
    """

    source: Source
    technique: str
    setting: str
    metric: str
    noun: str
    unit: Unit
    alike: Alike
    gaps: list[GapData] = field(default_factory=list)
    planned: list[GapData] | None = None

    @property
    def of_plan(self) -> list[GapData]:
        """The pairs as a plan counts them."""
        return self.gaps if self.planned is None else self.planned


@dataclass(frozen=True)
class Answers:
    """Answers on one model at a time."""

    model: str
    values: Floats
    workers: Objects
    dialogues: Objects


def paired_gaps(
    models: Sequence[str], chosen: Floats, workers: npt.ArrayLike, dialogues: npt.ArrayLike
) -> tuple[list[GapData], Alike]:
    """Every two columns of ``chosen`` (answers × models, nan where a model was not shown): differences of each answer."""
    worker, dialogue = np.asarray(workers, dtype=object), np.asarray(dialogues, dtype=object)
    gaps = []
    for i, j in combinations(range(len(models)), 2):
        lead = chosen[:, i] - chosen[:, j]
        known = ~np.isnan(lead)
        if known.any():
            gaps.append(GapData(models[i], models[j], lead[known], worker[known], dialogue[known]))
    return gaps, alike_of_gaps(gaps, len(worker))


def alike_of_gaps(gaps: Sequence[GapData], n: int) -> Alike:
    """The observations of all pairs, each less the mean of its pair; of ``n`` answers in all."""
    return _alike([(gap.values, gap.workers, gap.dialogues) for gap in gaps], n)


def separate_gaps(answers: Sequence[Answers]) -> tuple[list[GapData], Alike]:
    """Every two models that were judged one at a time: differences of their means."""
    known = [one for one in map(_known, answers) if one.values.size]
    gaps = [_difference(a, b) for a, b in combinations(known, 2)]
    together = _alike([(one.values, one.workers, one.dialogues) for one in known], sum(o.values.size for o in known))
    return gaps, replace(together, strata=np.zeros(together.n, dtype=int), levels=True)


def _known(answers: Answers) -> Answers:
    there = ~np.isnan(answers.values)
    return Answers(answers.model, answers.values[there], answers.workers[there], answers.dialogues[there])


def _difference(a: Answers, b: Answers) -> GapData:
    """Each answer by how far it moves the difference: the mean of these is the difference, and so is their error."""
    n, gap = a.values.size + b.values.size, float(a.values.mean() - b.values.mean())
    pull = [(a.values - a.values.mean()) / a.values.size, -(b.values - b.values.mean()) / b.values.size]
    return GapData(
        a.model,
        b.model,
        gap + n * np.concatenate(pull),
        np.concatenate([a.workers, b.workers]),
        np.concatenate([a.dialogues, b.dialogues]),
        np.repeat([False, True], [a.values.size, b.values.size]),
    )


def _alike(parts: Sequence[tuple[Floats, Objects, Objects]], n: int) -> Alike:
    nobody = np.zeros(0, dtype=object)
    return Alike(
        values=np.concatenate([values - values.mean() for values, _, _ in parts]) if parts else np.zeros(0),
        workers=np.concatenate([workers for _, workers, _ in parts]) if parts else nobody,
        dialogues=np.concatenate([dialogues for _, _, dialogues in parts]) if parts else nobody,
        strata=np.repeat(np.arange(len(parts)), [len(values) for values, _, _ in parts]),
        n=n,
    )


def answers_by_model(rows: pd.DataFrame, values: Floats) -> list[Answers]:
    """``values``, an entry a row, by the column ``model``, sorted."""
    workers, dialogues = (rows[name].to_numpy(dtype=object) for name in ("worker_id", "dialogue_id"))
    codes, models = pd.factorize(rows["model"], sort=True)
    return [
        Answers(str(model), values[own], workers[own], dialogues[own])
        for number, model in enumerate(models)
        for own in [codes == number]
    ]


def measures_of(tables: Tables) -> list[Measure]:
    """All that the tables measure, in the order of the report's sections."""
    return [*_turns(tables), *_comparisons(tables), *_sliders(tables), *_likert(tables), *_segments(tables)]


def _turns(tables: Tables) -> Iterator[Measure]:
    for group in choice_groups(tables):
        turns = group.turns
        if group.kind == "single":
            columns = [
                Answers(model, turns.chosen[:, number], turns.workers, turns.dialogues)
                for number, model in enumerate(turns.models)
            ]
            gaps, alike = separate_gaps(columns)
        else:
            gaps, alike = paired_gaps(turns.models, turns.chosen, turns.workers, turns.dialogues)
        yield Measure("turns", group.technique, group.setting, group.metric, "turn", "share", alike, gaps)


def _comparisons(tables: Tables) -> Iterator[Measure]:
    """Decided ones: a win of A counts 1, of B −1, so that the mean is the gap of their win rates.

    Comparisons of turns are left to the table of turns, where there is one.
    """
    rows = orient_pairs(counted_comparisons(tables))
    of_turns = rows["kind"].eq("turn").to_numpy(dtype=bool) & bool(len(tables.turns))
    rows = rows[~of_turns]
    for key, own in rows.groupby(list(GROUP), sort=True):
        technique, setting, _, metric = (str(part) for part in key)
        measure = _of_leads("comparisons", technique, setting, metric, "decided comparison", own, "outcome")
        if measure.gaps:
            yield measure


def _of_leads(
    source: Source, technique: str, setting: str, metric: str, noun: str, rows: pd.DataFrame, lead: str
) -> Measure:
    """Of rows of two models each: 1 in the column ``lead`` where A won, −1 where B did, 0 for a tie."""
    decided = rows[(rows[lead] != 0).to_numpy(dtype=bool)]
    gaps = _leads(decided, lead)
    alike = alike_of_gaps(gaps, len(decided))
    return Measure(source, technique, setting, metric, noun, "share", alike, gaps, _leads(rows, lead))


def _leads(rows: pd.DataFrame, lead: str) -> list[GapData]:
    found = []
    for (a, b), pair in rows.groupby(["model_a", "model_b"], sort=True):
        workers = pair["worker_id"].to_numpy(dtype=object)
        if "dialogue_a" in pair:
            first, second = (pair[name].to_numpy(dtype=object) for name in ("dialogue_a", "dialogue_b"))
            other = None if bool((first == second).all()) else second
        else:
            first, other = pair["dialogue_id"].to_numpy(dtype=object), None
        values = pair[lead].to_numpy(dtype=float)
        found.append(GapData(str(a), str(b), values, workers, first, dialogues_b=other))
    return found


def _sliders(tables: Tables) -> Iterator[Measure]:
    data = assessed(tables)
    if data is None or data.counted.empty:
        return
    technique = str(data.counted["technique"].fillna("").iloc[0])
    kinds: tuple[tuple[str, str, Unit], ...] = (("raw", "overall, raw", "points"), ("z", "overall z", "z"))
    for column, name, unit in kinds:
        answers = [
            Answers(str(model), *overall_parts(own, column)) for model, own in data.counted.groupby("model", sort=True)
        ]
        gaps, alike = separate_gaps(answers)
        yield Measure("ratings", technique, "", name, "rated dialogue", unit, alike, gaps)


def _likert(tables: Tables) -> Iterator[Measure]:
    for group in likert_groups(tables):
        answers = [Answers(own.model, own.values, own.workers, own.dialogues) for own in group.models]
        gaps, alike = separate_gaps(answers)
        name = group.criterion
        yield Measure("ratings", group.technique, group.setting, name, "rating", "points", alike, gaps)


def _segments(tables: Tables) -> Iterator[Measure]:
    """How often a bot was taken for a person; and which of two bots got the better label, which is what is planned for."""
    rows = tables.segments[finished(tables.segments)]
    rows = rows.assign(technique=rows["technique"].fillna(""), setting=rows["setting"].fillna(""))
    for (technique, setting), own in rows.groupby(["technique", "setting"], sort=True):
        bots = own[(own["model"] != HUMAN).to_numpy(dtype=bool)]
        if bots.empty:
            continue
        human = np.asarray(bots["label"] == HUMAN, dtype=float)
        gaps, alike = separate_gaps(answers_by_model(bots, human))
        name, variant = str(technique), str(setting)
        yield Measure("segments", name, variant, "taken for human", "label", "share", alike, gaps, planned=[])
        contests = bot_contests(spot_the_bot_segments(own))
        measure = _of_leads("segments", name, variant, "better label", "decided annotation", contests, "lead_a")
        if measure.gaps:
            yield measure


def planning_icc(gap: GapData, *, level: float = 0.95) -> Result:
    """How alike a worker's observations of a gap are, as a plan counts it: its design effect is 1 + (m − 1)·ICC.

    One-way analysis of variance by worker, with the F interval. Of paired answers that is the ICC itself. Of models that
    are judged one at a time, workers who judge both carry their level into both: their likeness over both samples
    together, (M − 1)·ICC for M answers to both, is spread over the m answers to one of them, as a plan counts those. It is
    below 0 where a comparison gains from such workers.

    Returns:
        ``details``: ``per_worker`` (m = Σn²/Σn), ``n_workers``, ``effective_workers``. No estimate where workers gave one
        answer to a sample (any ICC gives the same plan), or where the ICC cannot be estimated.

    Assumes independent workers; the interval normal values. Covers .92 to .98 at a level of .95 for 0/1 answers of 15 to
    100 workers, whose numbers of answers are equal or lognormal (σ 1.1), at an ICC of 0 to .17.

    Source: Donner & Koval 1980; Searle 1971.

    >>> words = np.array(list('aaabbbccc'), dtype=object)
    >>> print(planning_icc(GapData('x', 'y', np.array([1, 1, -1, 1, 1, 1, -1, -1, 1.0]), words, words)))
    ICC for plan: 0.143, 95% interval −0.360 to 0.951, statistic 1.500, p = .30, n = 9 [one-way ANOVA by worker,
    F interval]
    """
    return pooled_planning_icc([PooledGap(gap)], level=level)


@dataclass(frozen=True)
class PooledGap:
    """A pair of models, and how much its answers count: less where they stand in other pairs too."""

    gap: GapData
    weight: float = 1

    @property
    def by_worker(self) -> Clustered:
        """The observations, by who gave them."""
        return Clustered(self.gap.values, self.gap.workers, self.weight)


def pooled_gaps(measures: Sequence[Measure]) -> list[PooledGap]:
    """All pairs of models as a plan counts them; where pairs share answers, an answer counts once in all."""
    return [
        PooledGap(gap, 1 if answers >= in_pairs else answers / in_pairs)
        for measure in measures
        for answers, in_pairs in [(measure.alike.n, sum(gap.values.size for gap in measure.gaps))]
        for gap in measure.of_plan
    ]


def pooled_planning_icc(pairs: Sequence[PooledGap], *, level: float = 0.95) -> Result:
    """:func:`planning_icc` of several pairs together, each with a gap of its own: their sums of squares are added up.

    Assumes what :func:`planning_icc` does, and the same likeness in all pairs.

    Source: Donner & Koval 1980; Searle 1971.
    """
    found = pooled_intraclass_correlation([one.by_worker for one in pairs], name="ICC for plan", level=level)
    m = observations_per_cluster(_numbered([one.gap.samples for one in pairs]))
    both = observations_per_cluster(_numbered([one.gap.workers for one in pairs]))
    workers = np.concatenate([one.gap.workers for one in pairs]) if pairs else np.zeros(0, dtype=object)
    effective = effective_clusters(np.unique(pd.factorize(workers)[0], return_counts=True)[1])
    details = {**found.details, "per_worker": m, "effective_workers": effective}
    if m is None or both is None or m <= 1 + 1e-9:
        return found.but(
            estimate=None, ci_low=None, ci_high=None, details=details, notes=("one answer a worker and sample",)
        )
    return _scaled(found.but(details=details), (both - 1) / (m - 1))


def _numbered(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.int_]:
    """Numbers of what stands in the parts, one after another; the same thing in two parts has two."""
    codes = [pd.factorize(part)[0] for part in parts]
    starts = np.cumsum([0, *(int(part.max(initial=-1)) + 1 for part in codes)])
    numbers = [part + start for part, start in zip(codes, starts, strict=False)]
    return np.concatenate(numbers) if numbers else np.zeros(0, dtype=int)


def planning_dialogue_icc(gap: GapData, *, level: float = 0.95) -> Result | None:
    """How alike observations of a gap are that share a dialogue, as a plan counts it; None where none is shared.

    One-way analysis of variance by dialogue, with the F interval. Where two dialogues are compared, it is the mean of the
    ICC by the dialogue of A and by that of B; half of it, where each is compared with one and the same other dialogue only,
    as then both together are what observations share.

    Returns:
        ``details``: ``per_dialogue`` (Σn²/Σn), ``n_dialogues`` (of the side with the fewest).

    Assumes independent dialogues, each judged by several workers; the interval normal values.

    Source: Donner & Koval 1980; Searle 1971.
    """
    return pooled_planning_dialogue_icc([PooledGap(gap)], level=level)


def pooled_planning_dialogue_icc(pairs: Sequence[PooledGap], *, level: float = 0.95) -> Result | None:
    """:func:`planning_dialogue_icc` of several pairs together: their sums of squares are added up, side by side.

    Pairs whose dialogues are not shared do not count. Assumes the same likeness in all pairs.

    Source: Donner & Koval 1980; Searle 1971.
    """
    shared = [one for one in pairs if all(_shared(side, one.gap.workers) for side in _sides(one.gap))]
    found = [
        pooled_intraclass_correlation(
            [
                Clustered(one.gap.values, _sides(one.gap)[side], one.weight)
                for one in shared
                if side < len(_sides(one.gap))
            ],
            name="dialogue ICC for plan",
            cluster="dialogue",
            level=level,
        )
        for side in range(max((len(_sides(one.gap)) for one in shared), default=0))
    ]
    if not found or any(one.estimate is None for one in found):
        return None
    counted = np.array([one.weight * one.gap.values.size for one in shared])
    share = float(np.average([_share_of_likeness(one.gap) for one in shared], weights=counted))
    fewest = min(found, key=lambda one: float(one.details["n_dialogues"] or 0))
    ends = {
        name: None if any(value is None for value in values) else share * float(np.mean(values))
        for name in ("estimate", "ci_low", "ci_high")
        for values in [[getattr(one, name) for one in found]]
    }
    return fewest.but(**ends)


def _sides(gap: GapData) -> list[Objects]:
    return [gap.dialogues] if gap.dialogues_b is None else [gap.dialogues, gap.dialogues_b]


def _share_of_likeness(gap: GapData) -> float:
    """A half for each of two dialogues that are compared with each other only, else 1."""
    codes = [pd.factorize(side)[0] for side in _sides(gap)]
    return 0.5 if len(codes) == 2 and bool((codes[0] == codes[1]).all()) else 1.0


def _shared(dialogues: Objects, workers: Objects) -> bool:
    pairs = pd.DataFrame({"dialogue": dialogues, "worker": workers}).drop_duplicates()
    return bool(pairs["dialogue"].duplicated().any())


def _scaled(result: Result, factor: float) -> Result:
    ends = [None if end is None else end * factor for end in (result.estimate, result.ci_low, result.ci_high)]
    return result.but(estimate=ends[0], ci_low=ends[1], ci_high=ends[2])
