"""The tests of a study: which design each has, how many there are, and at which level each is made."""

from __future__ import annotations

from dataclasses import dataclass, replace

from parlai_humaneval.planning.design_effect import Clustering
from parlai_humaneval.planning.designs import Contest, Design, OneShare, TwoScores, TwoShares
from parlai_humaneval.planning.inputs import PlanError, PlanInputs, normalised
from parlai_humaneval.techniques.registry import FREE_FOR_ALL


@dataclass(frozen=True)
class Layout:
    """``sets``: how often the observations of the design's sample must be collected, for all tests together."""

    design: Design
    tests: int
    alpha: float
    sets: int
    likeness: Clustering
    """Of the observations of a sample."""

    @property
    def per_worker(self) -> float:
        """Observations that a worker gives to a sample."""
        return self.likeness.per_worker


def layout(inputs: PlanInputs, *, ranking: bool = True) -> Layout:
    """Of a question that is filled up. ``ranking``: turns that show two of several models tell of all, as in reports;
    otherwise each pair is planned by itself.

    Raises:
        PlanError: the gap is more than is possible.
    """
    assert inputs.models is not None
    try:
        return _layout(inputs, inputs.models, ranking)
    except PlanError:
        raise
    except ValueError as error:
        raise PlanError(error, where=inputs.title) from error


def _layout(inputs: PlanInputs, models: int, ranking: bool) -> Layout:
    assert inputs.turns is not None
    assert inputs.dialogues_per_worker is not None
    pairs = models * (models - 1) // 2
    liu = inputs.method == "liu2023"
    each = inputs.alpha if liu else inputs.alpha / max(1, pairs)  # Liu et al. do not correct their six pair tests
    held = inputs.dialogues_per_worker
    turns = inputs.turns * held

    def of(design: Design, tests: int, alpha: float, sets: int, per_worker: float) -> Layout:
        return Layout(design, tests, alpha, sets, _likeness(inputs, per_worker))

    if inputs.habits.measures == "share":
        if liu or models == 1:
            return of(_one_share(inputs), models, inputs.alpha, models, turns)
        return of(_two_shares(inputs), pairs, each, models, turns)
    if inputs.habits.measures == "score":
        per_model = max(1.0, held / (models + 1))
        return of(TwoScores(_gap(inputs), models, per_model), pairs, each, models, per_model)
    if inputs.habits.at_once:
        if models == 2 or inputs.tests == "overall":
            return of(_superiority_plan(inputs, all_at_once(inputs, models)), 1, inputs.alpha, 1, turns)
        return of(_superiority_plan(inputs, _pair(_gap(inputs), inputs.discordance or 1.0)), pairs, each, 1, turns)
    per_worker = turns if inputs.habits.of_turns else held if inputs.habits.held else max(1.0, held / pairs)
    ranked = models if ranking and inputs.habits.of_turns and inputs.clustered and not liu else 2
    return of(_superiority_plan(inputs, all_at_once(inputs, 2), ranked), pairs, each, pairs, per_worker)


def _likeness(inputs: PlanInputs, per_worker: float) -> Clustering:
    """Of the dialogues that are reused, judgements that checks drop are not counted."""
    kept = (inputs.reuse or 1) * (1 - (inputs.exclusion or 0.0))
    return Clustering(
        per_worker=float(per_worker),
        icc=inputs.icc or 0.0,
        inequality=inputs.worker_inequality,
        per_dialogue=1.0 if inputs.habits.held else max(1.0, kept),
        dialogue_icc=inputs.dialogue_icc or 0.0,
        sides=inputs.habits.dialogue_sides,
    )


def all_at_once(inputs: PlanInputs, models: int) -> Contest:
    """How often each of so many models is chosen: the first and the last differ by the gap, others lie in the middle."""
    gap, discordance = _gap(inputs), inputs.discordance or 1.0
    if inputs.shares is not None:
        return Contest(normalised(inputs.shares, inputs.setting or ""), discordance)
    if models > 2:
        centre = discordance / 2 if abs(discordance - 2 / models) < 1e-9 else 0.5
        return Contest((centre + gap / 2, *[centre] * (models - 2), centre - gap / 2), discordance)
    if inputs.habits.without_ties:
        return _pair(gap * discordance, discordance)
    if inputs.method == "liu2023" and discordance == 1.0:
        if gap >= 0.5:
            raise PlanError(f"gap {gap:g}: Liu et al. read it as distance from .5, which is below .5")
        return _pair(2 * gap, 1.0)
    return _pair(gap, discordance)


def _superiority_plan(inputs: PlanInputs, contest: Contest, ranked: int = 2) -> Contest:
    any_number = inputs.habits.of_turns and not inputs.entry.picks_one(inputs.setting or "")
    by_segment = inputs.habits.judgements_per_dialogue is not None
    by_strength = inputs.technique == FREE_FOR_ALL.name or ranked > 2
    return replace(contest, binomial=not (any_number or by_segment), by_strength=by_strength, ranked=ranked)


def _pair(gap: float, discordance: float) -> Contest:
    return Contest(((1 + gap) / 2, (1 - gap) / 2), discordance)


def _one_share(inputs: PlanInputs) -> OneShare:
    """Better or worse than the baseline: whichever needs more turns, of those that are possible."""
    baseline, gap = inputs.baseline, _gap(inputs)
    possible = [OneShare(baseline, share) for share in (baseline + gap, baseline - gap) if 0 < share < 1]
    if not possible:
        raise PlanError(
            f"a model {gap:g} better or worse than the baseline {baseline:g} would be beyond 0 to 1",
            try_="give a smaller --gap or another --baseline",
        )
    return max(possible, key=lambda design: design.size(inputs.alpha, inputs.power))


def _two_shares(inputs: PlanInputs) -> TwoShares:
    better, worse = inputs.baseline + _gap(inputs) / 2, inputs.baseline - _gap(inputs) / 2
    if not 0 < worse < better < 1:
        raise PlanError(
            f"two models {_gap(inputs):g} apart around the baseline {inputs.baseline:g} would be at "
            f"{worse:.3g} and {better:.3g}, beyond 0 to 1",
            try_="give a smaller --gap or another --baseline",
        )
    return TwoShares(better, worse)


def _gap(inputs: PlanInputs) -> float:
    assert inputs.gap is not None
    return inputs.gap
