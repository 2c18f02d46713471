"""Estimates from a pilot's tables for the plan of another study, so that nobody has to retype numbers."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel

from parlai_humaneval.planning.designs import MIN_WORKERS
from parlai_humaneval.planning.inputs import ICC, PlanError, PlanInputs, paragraphs, plannable
from parlai_humaneval.planning.plan import Plan, plan_study
from parlai_humaneval.statistics.core.clustering_effects import ABOUT_EQUAL, variance_components
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.shares import wilson_interval
from parlai_humaneval.statistics.ratings import correlations
from parlai_humaneval.stopping.replay import rated_shares
from parlai_humaneval.tables.choices import choice_groups
from parlai_humaneval.tables.columns import Repeats, TableError, Tables
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.filters import nobody_won, simulated_raters
from parlai_humaneval.techniques.registry import PlanningDefaults, recorded_as, technique

_SOURCES: dict[str, tuple[str, ...]] = {
    "choice": ("turns", "comparisons", "segments"),
    "share": ("turns",),
    "score": ("ratings",),
}
"""What a technique's judgements say → which measures are of them."""
_MOST_ICC = 0.99
_FEWEST_TIMES = 6  # Workers with whom 95 % lies between their shortest and longest time
_FEWEST_ALIKE = 6  # Workers below whom the interval of an ICC says nothing: two or three are alike by luck
_FEWEST_RATERS = 4  # Raters below whom nothing is planned with how far ratings vary
_COMPARED = ("n_judgements", "n_judgements_collected", "n_dialogues", "n_workers", "hours", "cost", "best_reuse")


class Pilot(BaseModel, extra="forbid", frozen=True):
    """One technique of a pilot; None where its tables do not say. Of several pairs of models numbers are medians.
    ``technique``, ``setting``, ``metric``, ``models``, ``n_workers``: what the pilot was. ``n_sets``,
    ``models_together``: sets of models that were judged together, and how many models those hold. ``n_simulated``: of
    the workers, how many are programs. Their times do not indicate a cost, and do not count. ``n_judgements``: of one
    pair. ``icc``, ``icc_low``, ``icc_high``: how alike judgements of one worker are, on the scale of the plan; can be
    negative. Pooled over all sets of models. ``dialogue_icc``, ``dialogue_icc_low``, ``dialogue_icc_high``: the same of
    judgements that share a finished dialogue. ``judgements_per_dialogue``: that share one, Σn²/Σn.
    ``effective_workers``: (Σn)²/Σn², of the judgements of all pairs. ``worker_inequality``: coefficient of variation of
    a worker's number of judgements. ``discordance``: share of judgements that tell two models apart, where ties are
    possible. ``baseline``: share of good turns, of models that are rated one at a time. ``turns``: of a dialogue, that
    count. ``dialogues_per_worker``: held; of finished ones, judgements. ``minutes``: the median of a dialogue (of
    finished dialogues, of a judgement), which tabs that are left open do not move. ``left``: share of workers who left
    something unfinished. ``rating_sd``, ``rater_sd``: standard deviations of ratings, as parts of their scale: of one
    rater's ratings, and of how high raters rate; where each rated one model, the first holds both. ``…_low``,
    ``…_high``: intervals of 95 %, in which a worker's answers count as alike as they are; None where workers are too
    few."""

    technique: str
    setting: str
    metric: str
    models: tuple[str, ...]
    n_workers: int
    n_sets: int = 1
    models_together: int
    n_simulated: int = 0
    n_judgements: float
    icc: float | None = None
    icc_low: float | None = None
    icc_high: float | None = None
    dialogue_icc: float | None = None
    dialogue_icc_low: float | None = None
    dialogue_icc_high: float | None = None
    judgements_per_dialogue: float | None = None
    effective_workers: float
    worker_inequality: float
    discordance: float | None = None
    discordance_low: float | None = None
    discordance_high: float | None = None
    baseline: float | None = None
    turns: int | None = None
    dialogues_per_worker: float
    minutes: float | None = None
    minutes_low: float | None = None
    minutes_high: float | None = None
    left: float | None = None
    left_low: float | None = None
    left_high: float | None = None
    rating_sd: float | None = None
    rating_sd_low: float | None = None
    rating_sd_high: float | None = None
    rater_sd: float | None = None
    rater_sd_low: float | None = None
    rater_sd_high: float | None = None

    @property
    def tells_icc(self) -> bool:
        """Whether its ICC can be planned with; else the default is, which a lucky 0 of few workers must not replace."""
        if self.icc is None or self.icc_low is None or self.icc_high is None or self.n_workers < _FEWEST_ALIKE:
            return False
        is_default_possible = self.icc_low <= ICC <= self.icc_high
        return not (is_default_possible and (self.icc < ICC or self.icc_low <= 0))

    def question(self) -> dict[str, Any]:
        """The plan's arguments: :func:`~parlai_humaneval.planning.inputs.ask`; no ICC is below 0."""
        taken = ("discordance", "baseline", "turns", "dialogues_per_worker", "worker_inequality", "minutes")
        values = {
            "technique": self.technique,
            "setting": self.setting or None,
            "models": self.models_together if plannable()[self.technique].at_once else None,
            **{name: getattr(self, name) for name in taken},
            "icc": _counted_on(self.icc) if self.tells_icc else None,
            "dialogue_icc": _counted_on(self.dialogue_icc),
        }
        if self.rating_sd is not None and self.rater_sd is not None and self.n_workers >= _FEWEST_RATERS:
            values |= {"rating_sd": min(self.rating_sd, 0.5), "rater_sd": min(self.rater_sd, 0.5)}
        return {name: value for name, value in values.items() if value is not None}


def read_pilot(
    path: Path, technique: str | None = None, setting: str | None = None, repeats: Repeats | None = None
) -> Pilot:
    """The pilot in a folder of tidy tables, or in one of them; see :func:`pilot_of`. ``repeats``: which of the answers
    count that a worker gave again; None: they are refused. Raises PlanError."""
    try:
        tables = read_tables(path, repeats=repeats)
    except (TableError, OSError) as error:
        raise PlanError(error, where=f"--pilot {path}") from error
    return pilot_of(tables, technique, setting)


def pilot_of(tables: Tables, name: str | None = None, setting: str | None = None) -> Pilot:
    """The pilot of technique ``name`` in ``tables``; without a name, the only one that can be planned.

    All sets of models that were judged by one question count together. Of several questions (or settings) the one whose
    workers are most alike, of those with ``MIN_WORKERS`` workers or more where there are any. Tables that name no
    technique are taken to be of the one that is asked for. Raises PlanError: nothing of it is there; or, without
    ``name``, several techniques are, or none is named.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> pilot = pilot_of(example_tables(), "sata")
    >>> pilot.n_workers, pilot.turns, pilot.discordance
    (8, 4, 0.5)
    """
    measures, comparisons = correlations.measures_of(tables), tables.comparisons
    if not measures and len(comparisons) and nobody_won(comparisons).all():
        raise PlanError.of("pilot_ties")
    there = sorted({one.technique for one in measures if _planned(one, one.technique)})
    if name is None and len(there) != 1:
        if there:
            raise PlanError.of("pilot_several", there=", ".join(there))
        unnamed = [one for one in measures if not one.technique]
        fits = [
            name
            for name in plannable()
            if any(one.source in technique(name).tables and _planned(one, name) for one in unnamed)
        ]
        facts = {"could_be": ", ".join(fits), "plannable": ", ".join(plannable())}
        raise PlanError.of("pilot_fits" if fits else "pilot_nothing", **facts)
    wanted = name or there[0]
    recorded = recorded_as(wanted)
    own = [
        one
        for one in measures
        if one.technique in (recorded, "") and _planned(one, wanted) and setting in (None, one.setting or setting)
    ]
    if not own:
        named, held = f"{wanted} {setting or ''}".strip(), ", ".join(there) or "nothing that names its technique"
        raise PlanError.of("pilot_others", named=named, held=held)
    questions: dict[tuple[str, ...], list[correlations.Measure]] = {}
    for one in own:
        questions.setdefault((one.source, one.technique, one.setting, one.metric), []).append(one)
    pilots = [_pilot(tables, sets, wanted) for sets in questions.values()]
    return max(pilots, key=lambda pilot: (pilot.n_workers >= MIN_WORKERS, -1.0 if pilot.icc is None else pilot.icc))


def _planned(measure: correlations.Measure, name: str) -> bool:
    habits = plannable().get(name)
    if habits is None or measure.source not in _SOURCES[habits.measures] or not measure.of_plan:
        return False
    return habits.measures != "score" or measure.unit == "z"


def _pilot(tables: Tables, sets: Sequence[correlations.Measure], name: str) -> Pilot:
    """``sets``: one question, of each set of models that was judged together."""
    habits, measure, gaps = plannable()[name], sets[0], correlations.pooled_gaps(sets)
    by_worker = correlations.planning_icc(gaps)
    by_dialogue = None if habits.held else correlations.planning_dialogue_icc(gaps)
    # The sets of models that were judged together: all of a measure where each worker meets all, else each two.
    together: list[set[str]] = []
    for one in sets:
        two = [{gap.model_a, gap.model_b} for gap in one.of_plan]
        together += [set().union(*two)] if habits.of_turns or habits.measures == "score" else two
    models = tuple(sorted(set().union(*together)))
    workers, programs = {worker for gap in gaps for worker in gap.workers}, simulated_raters(tables)
    in_dialogues = _median([len(gap.dialogues) / len(set(gap.dialogues)) for gap in gaps])
    turns = max(1, round(in_dialogues or 1)) if habits.of_turns else None
    samples = [gap.worker_sizes for gap in gaps]
    if not habits.held:  # of all pairs together, as one session has them
        everybody = np.concatenate([gap.workers for gap in gaps]).astype(str)
        samples = [np.unique(everybody, return_counts=True)[1].astype(float)]
    each = _median([float(sizes.mean()) for sizes in samples]) or 1.0
    # For turns with single models: the share of good ones, as a mean over models; None if all or none are good.
    baseline = _median(
        [
            float(np.nanmean(group.turns.chosen, axis=0).mean())
            for group in (choice_groups(tables) if habits.measures == "share" else ())
            if group.kind == "single" and group.family == (measure.technique, measure.setting, measure.metric)
        ]
    )
    baseline = baseline if baseline is not None and 0 < baseline < 1 else None
    ties = habits.discordance < 1 and not (habits.chooses_among_all and technique(name).picks_one(measure.setting))
    return Pilot(
        technique=name,
        setting=measure.setting if measure.setting in habits.settings else "",
        metric=measure.metric,
        models=models,
        n_workers=len(workers),
        n_sets=len(together),
        models_together=round(_median([len(one) for one in together]) or 2),
        n_simulated=len(workers & programs),
        n_judgements=_median([gap.values.size for gap in gaps]) or 0.0,
        **_ends("icc", by_worker),
        **_ends("dialogue_icc", by_dialogue),
        judgements_per_dialogue=None if by_dialogue is None else _number(by_dialogue.details.get("per_dialogue")),
        effective_workers=_number(by_worker.details["effective_workers"]) or 0.0,
        worker_inequality=_median([float(sizes.std() / sizes.mean()) for sizes in samples]) or 0.0,
        **(_shares_of_untied(gaps, _counted_on(by_worker.estimate) or ICC, len(workers)) if ties else {}),
        baseline=baseline,
        turns=turns,
        dialogues_per_worker=each * (len(models) + 1) if habits.degraded_model else max(1.0, each / (turns or 1)),
        **_minutes(tables, measure, habits, programs),
        **_left(tables, measure),
        **({} if habits.measures == "choice" else _spread_of_ratings(tables, measure)),
    )


def _spread_of_ratings(tables: Tables, measure: correlations.Measure) -> dict[str, float | None]:
    """Spread of the ratings that decide between models, of the first kind in the data: sliders, scales, ticks."""
    studies = ((measure.technique, measure.setting), ("", ""))
    for names, shares in rated_shares(tables):
        if (names["technique"], names["setting"]) in studies:
            codes = (pd.factorize(shares[name])[0] for name in ("worker_id", "model"))
            found = variance_components(shares["rating"].to_numpy(dtype=float), *codes)
            few = shares["worker_id"].nunique() < _FEWEST_RATERS
            return {name: value for name, value in found.items() if not (few and name.endswith(("low", "high")))}
    return {}


def _shares_of_untied(gaps: Sequence[correlations.GapData], icc: float, workers: int) -> dict[str, Any]:
    """How often judgements tell two models apart; the interval is of as many independent ones as all are worth."""
    untied, total = sum(int((gap.values != 0).sum()) for gap in gaps), sum(gap.values.size for gap in gaps)
    worth = total / (1 + (total / workers - 1) * icc)
    low, high = wilson_interval(untied / total * worth, worth) or (None, None)
    median = _median([float((gap.values != 0).mean()) for gap in gaps])
    return {"discordance": median, "discordance_low": low, "discordance_high": high}


def _left(tables: Tables, measure: correlations.Measure) -> dict[str, Any]:
    """Counts of workers who began something and who left something unfinished; empty if the tables do not say."""
    both = (frame[["worker_id", "technique", "status"]] for frame in (tables.dialogues, tables.judgements))
    rows = pd.concat(both)
    rows = rows[rows["technique"].fillna("").isin([measure.technique, ""]).to_numpy(dtype=bool)]
    rows = rows[rows["status"].isin(["complete", "partial"]).to_numpy(dtype=bool)]
    if rows.empty:
        return {}
    has_left = rows["status"].eq("partial").groupby(rows["worker_id"]).any()
    low, high = wilson_interval(int(has_left.sum()), len(has_left)) or (None, None)
    return {"left": float(has_left.mean()), "left_low": low, "left_high": high}


def _ends(name: str, found: Result | None) -> dict[str, Any]:
    if found is None:
        return {}
    # With two or three workers, both ends can be the smallest possible value, which is not an interval.
    is_interval = found.ci_low is not None and found.ci_high is not None and found.ci_low < found.ci_high
    low, high = (found.ci_low, found.ci_high) if is_interval else (None, None)
    return {name: found.estimate, f"{name}_low": low, f"{name}_high": high}


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _counted_on(icc: float | None) -> float | None:
    return None if icc is None else min(max(icc, correlations.LEAST_ICC), _MOST_ICC)


def _minutes(
    tables: Tables, measure: correlations.Measure, habits: PlanningDefaults, programs: Collection[str]
) -> dict[str, float | None]:
    """For finished dialogues, the time of all questions about an item; otherwise of the only timed question.
    ``programs``: workers whose times say nothing of what people take."""
    if habits.held:
        rows = tables.dialogues[(tables.dialogues["complete"] == 1).to_numpy(dtype=bool)]
    else:
        rows = tables.judgements[tables.judgements["status"].eq("complete").to_numpy(dtype=bool)]
        rows = rows[rows["gold"].fillna(0).eq(0).to_numpy(dtype=bool)]
        if not rows["seconds"].notna().any():
            rows = getattr(tables, measure.source).drop_duplicates(["item_id", "worker_id"])
    rows = rows[rows["technique"].fillna("").isin([measure.technique, ""]).to_numpy(dtype=bool)]
    rows = rows[~rows["worker_id"].isin(list(programs)).to_numpy(dtype=bool) & rows["seconds"].notna()]
    if rows.empty or not rows["seconds"].median() > 0:
        return {}
    found: dict[str, float | None] = {"minutes": float(rows["seconds"].median()) / 60}
    # Between which two of the workers' medians that of all workers is: each is as often above it as below.
    each = np.sort(rows.groupby("worker_id")["seconds"].median().to_numpy(dtype=float)) / 60
    n, ends = len(each), wilson_interval(len(each) / 2, len(each))
    if ends is not None and n >= _FEWEST_TIMES:
        low, high = math.floor(n * ends[0]), math.ceil(n * ends[1]) - 1
        found |= {"minutes_low": float(each[low]), "minutes_high": float(each[high])}
    return found


_WORDS = {
    "icc": "ICC of raters",
    "dialogue_icc": "ICC of dialogues",
    "discordance": "discordance",
    "baseline": "baseline",
    "turns": "turns per dialogue",
    "dialogues_per_worker": "dialogues per rater",
    "worker_inequality": "inequality of raters",
    "minutes": "minutes",
    "rating_sd": "standard deviation of a rater's ratings as a share of the scale",
    "rater_sd": "standard deviation between raters",
    "models": "models",
}


def with_pilot(plan: Plan, inputs: PlanInputs, pilot: Pilot, typed: Mapping[str, Any]) -> Plan:
    """The plan, with what it has from the pilot, what was typed instead, and what it takes at the upper end of the ICC.
    ``inputs``: those of ``plan``; ``typed``: what was asked for in addition to the pilot."""
    planned = inputs.filled()
    upper = {
        name: counted
        for name, high in (("icc", pilot.icc_high), ("dialogue_icc", pilot.dialogue_icc_high))
        if (counted := _counted_on(high)) is not None
        and name not in typed
        and not (name == "dialogue_icc" and "dialogue_sd" in typed)
        and not (name == "icc" and pilot.n_workers < _FEWEST_ALIKE)
        and counted > (getattr(planned, name) or 0.0)
    }
    dearer = plan_study(inputs.model_copy(update=upper)) if upper else None
    compared = None if dearer is None else {**upper, **{name: getattr(dearer, name) for name in _COMPARED}}
    taken = pilot.question()
    if "dialogue_sd" in typed:
        taken.pop("dialogue_icc", None)
    if pilot.icc is not None and "icc" in typed:
        taken["icc"] = _counted_on(pilot.icc)
    values = {}
    for name in taken.keys() & _WORDS.keys():
        low, high = getattr(pilot, f"{name}_low", None), getattr(pilot, f"{name}_high", None)
        interval = f" ({low:.3f} to {high:.3f})" if low is not None and high is not None else ""
        values[name] = f"{taken[name]:.3g}{interval}"
    ours = [f"{words} {values[name]}" for name, words in _WORDS.items() if name in values and name not in typed]
    theirs = [
        f"{words} {typed[name]:g} (the pilot has {values[name]})"
        for name, words in _WORDS.items()
        if name in values and name in typed
    ]
    notes = paragraphs(
        "pilot",
        plan=plan,
        pilot=pilot,
        taken=", ".join(ours),
        instead=", ".join(theirs),
        icc_typed="icc" in typed,
        counted_icc=taken.get("icc"),
        planned_icc=planned.icc,
        upper=compared,
        upper_at=" and ".join(f"{_WORDS[name]} {value:.3g}" for name, value in upper.items()),
        about_equal=ABOUT_EQUAL,
        min_workers=MIN_WORKERS,
        fewest_raters=_FEWEST_RATERS,
    )
    update = {"pilot": pilot.model_dump(mode="json"), "at_upper_icc": compared, "notes": (*notes, *plan.notes)}
    return plan.model_copy(update=update)
