"""What a pilot's tables say for the plan of another study, so that nobody types numbers from one screen into another."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from parlai_humaneval._util.arrays import Floats, Objects
from parlai_humaneval.planning.designs import MIN_WORKERS
from parlai_humaneval.planning.inputs import PlanError, PlanInputs, plannable
from parlai_humaneval.planning.plan import Plan, plan_study
from parlai_humaneval.planning.summary import times
from parlai_humaneval.statistics.core.clustering_effects import ABOUT_EQUAL
from parlai_humaneval.techniques.registry import PlanningDefaults, recorded_as, technique

if TYPE_CHECKING:
    from parlai_humaneval.statistics.core.result import Result
    from parlai_humaneval.statistics.ratings.correlations import GapData, Measure
    from parlai_humaneval.tables.columns import Repeats, Tables

_SOURCES: dict[str, tuple[str, ...]] = {
    "choice": ("turns", "comparisons", "segments"),
    "share": ("turns",),
    "score": ("ratings",),
}
"""What a technique's judgements say → which measures are of them."""
_MOST_ICC = 0.99
_COMPARED = ("n_judgements", "n_judgements_collected", "n_dialogues", "n_workers", "hours", "cost", "best_reuse")


class Pilot(BaseModel):
    """One technique of a pilot; None where its tables do not say. Of several pairs of models numbers are medians.

    Attributes:
        technique, setting, metric, models, n_workers: what the pilot was.
        n_sets, models_together: sets of models that were judged together, and how many models those hold.
        n_simulated: of the workers, how many are programs. Their times are no prices, and do not count.
        n_judgements: of one pair.
        icc, icc_low, icc_high: how alike judgements of one worker are, on the scale of the plan; can be negative. Pooled
            over all sets of models.
        dialogue_icc, dialogue_icc_low, dialogue_icc_high: the same of judgements that share a finished dialogue.
        judgements_per_dialogue: that share one, Σn²/Σn.
        effective_workers: (Σn)²/Σn², of the judgements of all pairs.
        worker_inequality: coefficient of variation of a worker's number of judgements.
        discordance: share of judgements that tell two models apart, where ties are possible.
        baseline: share of good turns, of models that are rated one at a time.
        turns: of a dialogue, that count.
        dialogues_per_worker: held; of finished ones, judgements.
        minutes: the median of a dialogue (of finished dialogues, of a judgement), which tabs that are left open do not move.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

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
    baseline: float | None = None
    turns: int | None = None
    dialogues_per_worker: float
    minutes: float | None = None

    def question(self) -> dict[str, Any]:
        """What a plan takes from it: arguments of :func:`~parlai_humaneval.planning.inputs.ask`; no ICC is below 0."""
        taken = ("discordance", "baseline", "turns", "dialogues_per_worker", "worker_inequality", "minutes")
        values = {
            "technique": self.technique,
            "setting": self.setting or None,
            "models": self.models_together if plannable()[self.technique].at_once else None,
            **{name: getattr(self, name) for name in taken},
            "icc": _counted_on(self.icc),
            "dialogue_icc": _counted_on(self.dialogue_icc),
        }
        return {name: value for name, value in values.items() if value is not None}


def read_pilot(
    path: Path, technique: str | None = None, setting: str | None = None, repeats: Repeats | None = None
) -> Pilot:
    """The pilot in a folder of tidy tables, or in one of them; see :func:`pilot_of`.

    ``repeats``: which of the answers count that a worker gave again; None: they are refused.

    Raises:
        PlanError: the tables cannot be read, or hold nothing to plan with.
    """
    from parlai_humaneval.tables.columns import TableError
    from parlai_humaneval.tables.files import read_tables

    if not path.exists():
        raise PlanError(f"--pilot {path}: there is no such folder or table", try_="export --out writes one")
    try:
        tables = read_tables(path, repeats=repeats)
    except (TableError, OSError) as error:
        raise PlanError(f"--pilot {path}: {error}") from error
    return pilot_of(tables, technique, setting)


def pilot_of(tables: Tables, name: str | None = None, setting: str | None = None) -> Pilot:
    """What ``tables`` say of ``name``; without it, of the only one that is there and can be planned.

    All sets of models that were judged by one question count together. Of several questions (or settings) the one whose
    workers are most alike, of those with ``MIN_WORKERS`` workers or more where there are any. Tables that name no technique
    are taken to be of the one that is asked for.

    Raises:
        PlanError: nothing of it is there; or, without ``name``, several techniques are, or none is named.
    """
    from parlai_humaneval.statistics.ratings.correlations import measures_of

    measures = measures_of(tables)
    if not measures and _has_only_ties(tables):
        raise PlanError(
            "the pilot holds only ties, from which nothing can be planned",
            try_="leave --pilot out, and give --technique and (where a technique has ties) --discordance",
        )
    there = sorted({one.technique for one in measures if _planned(one, one.technique)})
    if name is None and len(there) != 1:
        raise _no_technique(measures, there)
    wanted = name or there[0]
    recorded = recorded_as(wanted)
    own = [
        one
        for one in measures
        if one.technique in (recorded, "") and _planned(one, wanted) and setting in (None, one.setting or setting)
    ]
    if not own:
        named = f"{wanted} {setting or ''}".strip()
        held = ", ".join(there) or "nothing that names its technique"
        raise PlanError(
            f"the pilot holds no judgements of two models by {named} ({held} is there)",
            try_="name what it holds with --technique and --setting, or leave --pilot out",
        )
    questions: dict[tuple[str, ...], list[Measure]] = {}
    for one in own:
        questions.setdefault((one.source, one.technique, one.setting, one.metric), []).append(one)
    pilots = [_pilot(tables, sets, wanted) for sets in questions.values()]
    return max(pilots, key=lambda pilot: (pilot.n_workers >= MIN_WORKERS, -1.0 if pilot.icc is None else pilot.icc))


def _no_technique(measures: Sequence[Measure], there: Sequence[str]) -> PlanError:
    """What to say where several techniques are ``there``, or none is named."""
    if there:
        return PlanError(
            f"the pilot holds {', '.join(there)}", try_=f"say what to plan with --technique ({', '.join(there)})"
        )
    could_be = [
        name
        for name in plannable()
        if any(not one.technique and one.source in technique(name).tables and _planned(one, name) for one in measures)
    ]
    if could_be:
        return PlanError(
            "the pilot names no technique", try_=f"give --technique ({', '.join(could_be)}: its tables can be of these)"
        )
    return PlanError(
        "the pilot names no technique that can be planned, and holds nothing that a plan counts (choices "
        "between two models or more, ticks of replies, slider scores)",
        try_=f"give tables of a pilot of {', '.join(plannable())}, or leave --pilot out and give --technique",
    )


def _has_only_ties(tables: Tables) -> bool:
    from parlai_humaneval.tables.filters import nobody_won

    return len(tables.comparisons) > 0 and bool(nobody_won(tables.comparisons).all())


def _planned(measure: Measure, name: str) -> bool:
    habits = plannable().get(name)
    if habits is None or measure.source not in _SOURCES[habits.measures] or not measure.of_plan:
        return False
    return habits.measures != "score" or measure.unit == "z"


def _pilot(tables: Tables, sets: Sequence[Measure], name: str) -> Pilot:
    """``sets``: one question, of each set of models that was judged together."""
    from parlai_humaneval.statistics.ratings.correlations import (
        pooled_gaps,
        pooled_planning_dialogue_icc,
        pooled_planning_icc,
    )
    from parlai_humaneval.tables.filters import simulated_raters

    habits, measure, pairs = plannable()[name], sets[0], pooled_gaps(sets)
    gaps = [one.gap for one in pairs]
    by_worker = pooled_planning_icc(pairs)
    by_dialogue = None if habits.held else pooled_planning_dialogue_icc(pairs)
    together = [models for one in sets for models in _together(one, habits)]
    models = tuple(sorted(set().union(*together)))
    workers, programs = {worker for gap in gaps for worker in gap.workers}, simulated_raters(tables)
    turns = max(1, round(_median([_mean_size(gap.dialogues) for gap in gaps]) or 1)) if habits.of_turns else None
    samples = _samples(gaps, habits)
    each = _median([float(sizes.mean()) for sizes in samples]) or 1.0
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
        **({} if by_dialogue is None else _ends("dialogue_icc", by_dialogue)),
        judgements_per_dialogue=None if by_dialogue is None else _number(by_dialogue.details.get("per_dialogue")),
        effective_workers=_number(by_worker.details["effective_workers"]) or 0.0,
        worker_inequality=_median([float(sizes.std() / sizes.mean()) for sizes in samples]) or 0.0,
        discordance=_median([float((gap.values != 0).mean()) for gap in gaps]) if ties else None,
        baseline=_share_of_good(tables, measure) if habits.measures == "share" else None,
        turns=turns,
        dialogues_per_worker=each * (len(models) + 1) if habits.degraded_model else max(1.0, each / (turns or 1)),
        minutes=_minutes(tables, measure, habits, programs),
    )


def _together(measure: Measure, habits: PlanningDefaults) -> list[set[str]]:
    """The sets of models that were judged together: all of a measure where each worker meets all, else each two."""
    two = [{gap.model_a, gap.model_b} for gap in measure.of_plan]
    return [set().union(*two)] if habits.of_turns or habits.measures == "score" else two


def _samples(gaps: Sequence[GapData], habits: PlanningDefaults) -> list[Floats]:
    """Judgements of each worker in each sample; of finished dialogues, of all pairs together, as one session has them."""
    if habits.held:
        return [gap.worker_sizes for gap in gaps]
    workers = np.concatenate([gap.workers for gap in gaps])
    return [np.unique(workers.astype(str), return_counts=True)[1].astype(float)]


def _mean_size(groups: Objects) -> float:
    return len(groups) / len(set(groups))


def _ends(name: str, found: Result) -> dict[str, Any]:
    return {name: found.estimate, f"{name}_low": found.ci_low, f"{name}_high": found.ci_high}


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _counted_on(icc: float | None) -> float | None:
    from parlai_humaneval.statistics.ratings.correlations import LEAST_ICC

    return None if icc is None else min(max(icc, LEAST_ICC), _MOST_ICC)


def _share_of_good(tables: Tables, measure: Measure) -> float | None:
    """Of turns with single models, as a mean over models; None where all or none are good."""
    from parlai_humaneval.tables.choices import choice_groups

    own = (measure.technique, measure.setting, measure.metric)
    shares = [
        float(np.nanmean(group.turns.chosen, axis=0).mean())
        for group in choice_groups(tables)
        if group.kind == "single" and group.family == own
    ]
    share = _median(shares)
    return share if share is not None and 0 < share < 1 else None


def _minutes(tables: Tables, measure: Measure, habits: PlanningDefaults, programs: Collection[str]) -> float | None:
    """Of finished dialogues the time of all that is asked of an item, else of the one question that is timed.

    ``programs``: workers whose times say nothing of what people take.
    """
    if habits.held:
        rows = tables.dialogues[(tables.dialogues["complete"] == 1).to_numpy(dtype=bool)]
    else:
        rows = tables.judgements[tables.judgements["status"].eq("complete").to_numpy(dtype=bool)]
        rows = rows[rows["gold"].fillna(0).eq(0).to_numpy(dtype=bool)]
        if not rows["seconds"].notna().any():
            rows = getattr(tables, measure.source).drop_duplicates(["item_id", "worker_id"])
    rows = rows[rows["technique"].fillna("").isin([measure.technique, ""]).to_numpy(dtype=bool)]
    seconds = rows.loc[~rows["worker_id"].isin(list(programs)), "seconds"].dropna()
    return float(seconds.median()) / 60 if len(seconds) and seconds.median() > 0 else None


def with_pilot(plan: Plan, inputs: PlanInputs, pilot: Pilot, typed: Mapping[str, Any]) -> Plan:
    """The plan, with what it has from the pilot, what was typed instead, and what it takes at the upper end of the ICC.

    ``inputs``: those of ``plan``; ``typed``: what was asked for beside the pilot.
    """
    upper = {
        name: _counted_on(high)
        for name, high in (("icc", pilot.icc_high), ("dialogue_icc", pilot.dialogue_icc_high))
        if high is not None and name not in typed and not (name == "dialogue_icc" and "dialogue_sd" in typed)
    }
    dearer = plan_study(inputs.model_copy(update=upper)) if upper else None
    compared = None if dearer is None else {**upper, **{name: getattr(dearer, name) for name in _COMPARED}}
    notes = (*_pilot_notes(plan, pilot, typed), *_upper_notes(plan, compared), *plan.notes)
    return plan.model_copy(update={"pilot": pilot.model_dump(mode="json"), "at_upper_icc": compared, "notes": notes})


_WORDS = {
    "icc": "ICC of workers",
    "dialogue_icc": "ICC of dialogues",
    "discordance": "discordance",
    "baseline": "baseline",
    "turns": "turns a dialogue",
    "dialogues_per_worker": "dialogues a worker",
    "worker_inequality": "inequality of workers",
    "minutes": "minutes",
    "models": "models",
}


def _pilot_notes(plan: Plan, pilot: Pilot, typed: Mapping[str, Any]) -> list[str]:
    taken = pilot.question()
    if "dialogue_sd" in typed:
        taken.pop("dialogue_icc", None)
    parts = [f"{words} {_value(pilot, name)}" for name, words in _WORDS.items() if name in taken and name not in typed]
    judgements = f"{pilot.n_judgements:.0f} judgement{'' if pilot.n_judgements == 1 else 's'}"
    told = [pilot.metric, f"{judgements} of a pair", _who(pilot)]
    told += [f"the ICC pooled over {pilot.n_sets} sets of models"] if pilot.n_sets > 1 else []
    notes = [f"From the pilot ({', '.join(told)}): {', '.join(parts)}.", *_caution_notes(plan, pilot)]
    over = [
        f"{_WORDS[name]} {typed[name]:g} (the pilot has {_value(pilot, name)})"
        for name in _WORDS
        if name in taken and name in typed
    ]
    if over:
        notes.append(f"Typed, and taken instead of the pilot's: {', '.join(over)}.")
    if pilot.icc is None and plan.per_worker > 1 and "icc" not in typed:
        notes.append("The pilot does not say how alike answers of one worker are: the ICC is an assumption.")
    if pilot.icc is not None and pilot.icc < 0 and "icc" not in typed:
        notes.append(
            f"The pilot's ICC, {pilot.icc:.3f}, is negative: {taken['icc']:g} is taken, no gain is counted on."
        )
    return notes


def _who(pilot: Pilot) -> str:
    """How many workers, and like how many equal ones they weigh where that is fewer."""
    workers = f"{pilot.n_workers} worker{'s' if pilot.n_workers > 1 else ''}"
    if pilot.effective_workers >= ABOUT_EQUAL * pilot.n_workers:
        return workers
    return f"{workers}, as good as {pilot.effective_workers:.0f} equal ones"


def _caution_notes(plan: Plan, pilot: Pilot) -> list[str]:
    notes = []
    if pilot.n_simulated:
        who = (
            "All raters of the pilot are"
            if pilot.n_simulated == pilot.n_workers
            else f"{pilot.n_simulated:,} of {pilot.n_workers:,} raters of the pilot are"
        )
        notes.append(
            f"{who} simulated: how alike they are, and how often they tie, says nothing of people; their times are not "
            f"counted ({plan.inputs['minutes']:.3g} minutes are planned with), for they are no prices."
        )
    if pilot.n_workers < MIN_WORKERS:
        notes.append(
            f"The pilot has fewer than {MIN_WORKERS} workers: take what it says of them as a rough guide, or pilot with "
            "more."
        )
    return notes


def _value(pilot: Pilot, name: str) -> str:
    value = pilot.question()[name]
    low, high = getattr(pilot, f"{name}_low", None), getattr(pilot, f"{name}_high", None)
    interval = f" ({low:.3f} to {high:.3f})" if low is not None and high is not None else ""
    return f"{value:.3g}{interval}"


def _upper_notes(plan: Plan, upper: Mapping[str, Any] | None) -> list[str]:
    if upper is None:
        return []
    at = " and ".join(f"{_WORDS[name]} {upper[name]:.3g}" for name in ("icc", "dialogue_icc") if name in upper)
    best = upper["best_reuse"]
    reuse = f" Then it is best to judge a dialogue {times(best['reuse'])}." if best is not None else ""
    return [
        f"At the upper end of the pilot's interval ({at}) it takes {upper['n_judgements']:,} {plan.judgement}s, "
        f"{upper['n_dialogues']:,} dialogues, {upper['n_workers']:,} workers, {upper['hours']:,.1f} hours and "
        f"${upper['cost']:,.0f}: have that much in hand, or pilot with more workers.{reuse}"
    ]
