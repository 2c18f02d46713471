"""The measures of any technique in one form: observations whose mean is a gap between two models.

With paired answers an observation is the difference of one turn; with ratings of one model at a time it is how far a
rating pulls the difference of the two means. How alike such observations are is what another study is planned with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval._util.arrays import Codes, Flags, Floats, Objects
from parlai_humaneval.statistics.core.clustered import effective_clusters
from parlai_humaneval.statistics.core.clustering_effects import (
    Clustered,
    observations_per_cluster,
    pooled_intraclass_correlation,
)
from parlai_humaneval.statistics.core.multiplicity import rescaled
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.two_way import numbered
from parlai_humaneval.statistics.preference.pairs import GROUP, counted_comparisons, orient_pairs
from parlai_humaneval.statistics.ratings.likert import ModelRatings, likert_groups
from parlai_humaneval.statistics.ratings.sliders import assessed, overall_parts
from parlai_humaneval.statistics.survival.spotting import bot_contests, spot_the_bot_segments
from parlai_humaneval.tables.choices import choice_groups
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.filters import finished
from parlai_humaneval.tables.schema import HUMAN

Source = Literal["turns", "comparisons", "ratings", "segments"]
Unit = Literal["share", "points", "z"]
"""Unit of gaps: a share of 0 to 1, points of a rating scale, or standard deviations of a worker's ratings."""
LEAST_ICC = 0.001
"""To plan with where the one seen is negative: the test stays the clustered one, and no gain is counted on."""


@dataclass(frozen=True)
class GapData:
    """Model A against B: observations whose mean is the gap A − B, and who gave them in which dialogue.

    ``second``: of models judged one at a time, which are of B; ``dialogues_b``: of two dialogues that were compared,
    that of B. ``weight``: how much the answers count where pairs are pooled, below 1 if they belong to other pairs too.
    """

    model_a: str
    model_b: str
    values: Floats
    workers: Objects
    dialogues: Objects
    second: Flags | None = None
    dialogues_b: Objects | None = None
    weight: float = 1

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
        """(Σn)²/Σn²: the equivalent number of workers with equally many observations."""
        return effective_clusters(np.unique(pd.factorize(self.workers)[0], return_counts=True)[1])

    @property
    def samples(self) -> npt.NDArray[np.int_]:
        """Numbers of the workers; of models judged one at a time, of each worker and model."""
        codes = pd.factorize(self.workers)[0]
        return np.asarray(codes if self.second is None else 2 * codes + self.second, dtype=int)

    @property
    def sides(self) -> list[Objects]:
        """The dialogues that were judged, one array, or two where two were compared."""
        return [self.dialogues] if self.dialogues_b is None else [self.dialogues, self.dialogues_b]

    @property
    def judged_both(self) -> float:
        """Share of the workers who judged both models."""
        if self.second is None:
            return 1.0
        a, b = set(self.workers[~self.second]), set(self.workers[self.second])
        return len(a & b) / max(1, len(a | b))


@dataclass(frozen=True)
class AnswerClustering:
    """Observations for estimating how alike a worker's answers are, with the means of models taken out, within each of
    the ``strata``, as one answer may belong to several pairs. ``n``: how many answers; ``levels``: on one model each?
    """

    values: Floats
    workers: Objects
    dialogues: Objects
    strata: npt.NDArray[np.int_]
    n: int
    levels: bool = False


@dataclass(frozen=True)
class Measure:
    """One question of a study: the better model by it, over pairs of models, and facts about its answers. ``planned``:
    the pairs as a plan counts them, where that is otherwise: ties are judgements too. Empty where no study is planned
    for it.
    """

    source: Source
    technique: str
    setting: str
    metric: str
    noun: str
    unit: Unit
    alike: AnswerClustering
    gaps: list[GapData] = field(default_factory=list)
    planned: list[GapData] | None = None

    @property
    def of_plan(self) -> list[GapData]:
        """The pairs as a plan counts them."""
        return self.gaps if self.planned is None else self.planned


def paired_gaps(
    models: Sequence[str], chosen: Floats, workers: npt.ArrayLike, dialogues: npt.ArrayLike
) -> tuple[list[GapData], AnswerClustering]:
    """Every two columns of ``chosen`` (answers × models, nan where a model was not shown): differences of each answer."""
    worker, dialogue = np.asarray(workers, dtype=object), np.asarray(dialogues, dtype=object)
    gaps = []
    for i, j in combinations(range(len(models)), 2):
        lead = chosen[:, i] - chosen[:, j]
        known = ~np.isnan(lead)
        if known.any():
            gaps.append(GapData(models[i], models[j], lead[known], worker[known], dialogue[known]))
    return gaps, answer_clustering(gaps, len(worker))


def separate_gaps(answers: Sequence[ModelRatings]) -> tuple[list[GapData], AnswerClustering]:
    """Every two models that were judged one at a time: differences of their means."""
    known = []
    for one in answers:
        there = ~np.isnan(one.values)
        if there.any():
            known.append(ModelRatings(one.model, one.values[there], one.workers[there], one.dialogues[there]))
    gaps = [_difference(a, b) for a, b in combinations(known, 2)]
    together = answer_clustering(known, sum(one.values.size for one in known))
    return gaps, replace(together, strata=np.zeros(together.n, dtype=int), levels=True)


def _difference(a: ModelRatings, b: ModelRatings) -> GapData:
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


def answer_clustering(parts: Sequence[GapData | ModelRatings], n: int) -> AnswerClustering:
    """The observations of all pairs or models, each less the mean of its own; of ``n`` answers in all."""
    return AnswerClustering(
        values=np.concatenate([np.zeros(0), *(part.values - part.values.mean() for part in parts)]),
        workers=np.concatenate([np.zeros(0, dtype=object), *(part.workers for part in parts)]),
        dialogues=np.concatenate([np.zeros(0, dtype=object), *(part.dialogues for part in parts)]),
        strata=np.repeat(np.arange(len(parts)), [part.values.size for part in parts]),
        n=n,
    )


def measures_of(tables: Tables) -> list[Measure]:
    """All measures in the tables, in the order of the report's sections."""
    return [*_turns(tables), *_comparisons(tables), *_sliders(tables), *_likert(tables), *_segments(tables)]


def _turns(tables: Tables) -> Iterator[Measure]:
    for group in choice_groups(tables):
        turns = group.turns
        if group.kind == "single":
            columns = zip(turns.models, turns.chosen.T, strict=True)
            gaps, alike = separate_gaps([ModelRatings(m, of, turns.workers, turns.dialogues) for m, of in columns])
        else:
            gaps, alike = paired_gaps(turns.models, turns.chosen, turns.workers, turns.dialogues)
        yield Measure("turns", group.technique, group.setting, group.metric, "turn", "share", alike, gaps)


def _comparisons(tables: Tables) -> Iterator[Measure]:
    """Decided ones: a win of A counts 1, of B −1, so that the mean is the gap of their win rates."""
    if tables.comparisons.empty:
        return
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
    """For rows of two models each: 1 in the column ``lead`` if A won, −1 if B did, 0 for a tie."""
    decided = rows[(rows[lead] != 0).to_numpy(dtype=bool)]
    gaps = _leads(decided, lead)
    alike = answer_clustering(gaps, len(decided))
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
        of_models = data.counted.groupby("model", sort=True)
        gaps, alike = separate_gaps([ModelRatings(str(m), *overall_parts(own, column)) for m, own in of_models])
        yield Measure("ratings", technique, "", name, "rated dialogue", unit, alike, gaps)


def _likert(tables: Tables) -> Iterator[Measure]:
    for of in likert_groups(tables):
        gaps, alike = separate_gaps(of.models)
        yield Measure("ratings", of.technique, of.setting, of.criterion, "rating", "points", alike, gaps)


def _segments(tables: Tables) -> Iterator[Measure]:
    """How often a bot was taken for a person; and which of two bots got the better label, which is what is planned
    for."""
    rows = tables.segments[finished(tables.segments)]
    rows = rows.assign(technique=rows["technique"].fillna(""), setting=rows["setting"].fillna(""))
    for (technique, setting), own in rows.groupby(["technique", "setting"], sort=True):
        bots = own[(own["model"] != HUMAN).to_numpy(dtype=bool)]
        if bots.empty:
            continue
        by_model = bots.assign(human=bots["label"].eq(HUMAN).astype(float)).groupby("model", sort=True)
        columns = ["human", "worker_id", "dialogue_id"]
        gaps, alike = separate_gaps(
            [ModelRatings(str(m), *(rows[name].to_numpy() for name in columns)) for m, rows in by_model]
        )
        name, variant = str(technique), str(setting)
        yield Measure("segments", name, variant, "taken for human", "label", "share", alike, gaps, planned=[])
        contests = bot_contests(spot_the_bot_segments(own))
        measure = _of_leads("segments", name, variant, "better label", "decided annotation", contests, "lead_a")
        if measure.gaps:
            yield measure


def pooled_gaps(measures: Sequence[Measure]) -> list[GapData]:
    """All pairs of models as a plan counts them; where pairs share answers, an answer counts once in all."""
    return [
        replace(gap, weight=1 if answers >= in_pairs else answers / in_pairs)
        for measure in measures
        for answers, in_pairs in [(measure.alike.n, sum(gap.values.size for gap in measure.gaps))]
        for gap in measure.of_plan
    ]


def planning_icc(gaps: Sequence[GapData], *, level: float = 0.95) -> Result:
    """How alike a worker's observations of gaps are, as a plan counts it: its design effect is 1 + (m − 1)·ICC. Of several
    pairs together, each with a gap of its own: their sums of squares are added up.

    The F interval covers .92 to .98 at .95 for 0/1 answers of 15 to 100 workers. Of models that are judged one at a
    time, workers who judge both carry their level into both: their likeness over both samples, (M − 1)·ICC for M
    answers to both, is spread over the m answers to one of them, as a plan counts those. It is below 0 where a
    comparison gains from such workers.
    """
    everyone = numbered([gap.workers for gap in gaps]) if gaps else []
    samples = [Clustered(gap.values, of, gap.weight) for gap, of in zip(gaps, everyone, strict=True)]
    found = pooled_intraclass_correlation(samples, name="ICC for plan", level=level)
    m = observations_per_cluster(
        _apart([of if gap.second is None else 2 * of + gap.second for gap, of in zip(gaps, everyone, strict=True)])
    )
    both = observations_per_cluster(_apart(everyone))
    effective = effective_clusters(np.bincount(np.concatenate(everyone)) if gaps else ())
    found = found.but(details={**found.details, "per_worker": m, "effective_workers": effective})
    if m is None or both is None or m <= 1 + 1e-9:
        return found.but(estimate=None, ci_low=None, ci_high=None, notes=("one answer per rater and sample",))
    factor = (both - 1) / (m - 1)
    return rescaled(found, lambda end: end * factor)


def _apart(parts: Sequence[Codes]) -> Codes:
    """Number the values in the parts consecutively; the same number in two parts becomes two numbers."""
    starts = np.cumsum([0, *(int(part.max(initial=-1)) + 1 for part in parts)])
    apart = (part + start for part, start in zip(parts, starts, strict=False))
    return np.concatenate([np.zeros(0, dtype=np.intp), *apart])


def planning_dialogue_icc(gaps: Sequence[GapData], *, level: float = 0.95) -> Result | None:
    """The ICC by dialogue that planning uses; None if no dialogue is shared. If two are compared, it is the mean of
    the ICC by the dialogue of A and by that of B; half of it, where each is compared with one and the same other only, as
    then both together are what observations share."""

    def is_shared(dialogues: Objects, workers: Objects) -> bool:
        (seen, names), (who, raters) = (pd.factorize(of, use_na_sentinel=False) for of in (dialogues, workers))
        return len(pd.unique(seen * max(1, len(raters)) + who)) > len(names)

    shared = [gap for gap in gaps if all(is_shared(side, gap.workers) for side in gap.sides)]
    found = [
        pooled_intraclass_correlation(
            [Clustered(gap.values, gap.sides[side], gap.weight) for gap in shared if side < len(gap.sides)],
            name="dialogue ICC for plan",
            cluster="dialogue",
            level=level,
        )
        for side in range(max((len(gap.sides) for gap in shared), default=0))
    ]
    if not found or any(one.estimate is None for one in found):
        return None
    codes = [[pd.factorize(side)[0] for side in gap.sides] for gap in shared]
    shares = [0.5 if len(of) == 2 and bool((of[0] == of[1]).all()) else 1.0 for of in codes]
    share = float(np.average(shares, weights=np.array([gap.weight * gap.values.size for gap in shared])))
    fewest = min(found, key=lambda one: float(one.details["n_dialogues"] or 0))
    ends = {
        name: None if any(value is None for value in values) else share * float(np.mean(values))
        for name in ("estimate", "ci_low", "ci_high")
        for values in [[getattr(one, name) for one in found]]
    }
    return fewest.but(**ends)
