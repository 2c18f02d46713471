"""The sentences of the section on free-for-alls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parlai_humaneval.report.section import ALPHA, disagreement
from parlai_humaneval.report.sections.free_for_all.rows import GroupRow, ModelRow
from parlai_humaneval.report.views import Method
from parlai_humaneval.statistics.rank_stability import MEMORY, SOURCE, ScoreRange, StabilityPoint
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.strengths.tables import Strengths
from parlai_humaneval.statistics.wording import counted, p_words, percent, signed, signed_range
from parlai_humaneval.tables.free_for_all import Dialogues

METHODS = [
    Method(
        name="Points and TrueSkill",
        text="A reply that was chosen is a point; an unanswered turn is nobody's. The points of a dialogue rank its "
        "models, equal points tie. TrueSkill (μ 25, σ 25/3, β 25/6, τ 25/300, draw chance .10) goes through the "
        "dialogues in the order in which they began; the score is μ − 3σ.",
        source="Ma et al. 2023, §2; Herbrich et al. 2006",
    ),
    Method(
        name="Order sensitivity",
        text="The central range of the scores over random orders of the same dialogues. It is no sampling interval: it "
        "does not shrink with more dialogues, and says nothing of what other raters would have chosen.",
        source="Ma et al. 2023, §4.2",
    ),
    Method(
        name="Bootstrap of TrueSkill",
        text="The central range of scores and ranks over resamples of workers with all their dialogues, each in a random "
        f"order. TrueSkill forgets, so that replicates play at most some {MEMORY} dialogues and this range stops shrinking "
        "there; the strengths below do not.",
        source="Cameron, Gelbach & Miller 2008",
    ),
    Method(
        name="Strengths",
        text="A conditional logit: each reply shown is chosen in proportion to exp(strength + pull of its position). "
        "Strengths and pulls are log-odds against their mean and do not depend on the order of dialogues. Intervals and "
        "p: CR1 covariance clustered by worker, Student's t; Holm over the pairs of a setting and metric. Where several "
        "replies were chosen in a turn, the likelihood is conditional on how many.",
        source="Luce 1959; Plackett 1975; McFadden 1974; Chamberlain 1980; Cameron & Miller 2015",
    ),
    Method(
        name="Stability",
        text="TrueSkill of random samples of n dialogues, or of only their first turns: how often the ranking is that of "
        "all dialogues in their order, and how near it is (Kendall's τ-b).",
        source=SOURCE,
    ),
]


def headline(found: GroupRow, models: Sequence[ModelRow], strengths: Strengths) -> str:
    """Who leads by TrueSkill, and by how much the strongest differs from the next, with its interval."""
    basis = f"{counted(found.n_dialogues, 'dialogue')} ({counted(found.n_turns, 'turn')})"
    title = f"{found.where}: over" if found.where else "Over"
    first = models[0]
    leads = (
        f"{title} {basis} by {counted(found.n_workers, 'worker')}, {first.model} has the highest TrueSkill score "
        f"({signed(first.score)}; {signed_range(first.order_low, first.order_high)} over random orders)"
    )
    return f"{leads}; {_strongest(models, strengths)}."


def _strongest(models: Sequence[ModelRow], strengths: Strengths) -> str:
    ranked = sorted((row for row in models if row.strength is not None), key=lambda row: -(row.strength or 0.0))
    if len(ranked) < 2:
        return "strengths that do not depend on the order cannot be estimated"
    one, two = ranked[0].model, ranked[1].model
    pair, flip = _pair(strengths, one, two)
    low, high = (pair.ci_low, pair.ci_high) if not flip else (_minus(pair.ci_high), _minus(pair.ci_low))
    ahead = signed(abs(pair.estimate or 0.0))
    interval = "no interval" if low is None else f"{pair.level:.0%} interval {signed_range(low, high)}"
    p = pair.p_holm if pair.p_holm is not None else pair.p_value
    told = "" if p is None else f", Holm {p_words(p)}{'' if p < ALPHA else ': not told apart'}"
    return f"free of the order, {one} is ahead of {two} by {ahead} log-odds ({interval}{told})"


def _pair(strengths: Strengths, one: str, two: str) -> tuple[Result, bool]:
    """The pair of the two, and whether it is given the other way round."""
    named = {result.name: result for result in strengths.pairs}
    name = f"{one} over {two}"
    return (named[name], False) if name in named else (named[f"{two} over {one}"], True)


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def remarks(
    group: Dialogues,
    found: GroupRow,
    strengths: Strengths,
    first: ScoreRange,
    curves: Sequence[StabilityPoint],
) -> list[str]:
    """What a reader must know before using the numbers."""
    texts = [*_left_out(group), *strengths.notes]
    for pair in strengths.pairs:
        independent = pair.details.get("p_independent")
        p = None if independent is None else float(independent)
        texts.append(disagreement(pair.name, p, pair.p_value) or "")
    if found.p_no_position_effect is not None and found.p_no_position_effect < ALPHA:
        texts.append(
            f"Where a reply stood mattered ({p_words(found.p_no_position_effect)}); the strengths are free of it, points "
            "and TrueSkill are not."
        )
    texts.extend(f"Bootstrap of TrueSkill: {note}." for note in first.notes)
    texts.extend(
        dict.fromkeys(
            f"Strengths: {note}." for result in strengths.pairs for note in result.notes[:1] if "rough" in note
        )
    )
    whole = [point for point in curves if point.turns is None]
    if whole and whole[-1].same < 0.95:
        texts.append(
            f"Of random samples of {counted(whole[-1].dialogues, 'dialogue')} in random order, "
            f"{percent(whole[-1].same)} give the same ranking as all dialogues in their order."
        )
    prefix = f"{found.where}: " if found.where else ""
    return [f"{prefix}{text}" for text in texts if text]


def _left_out(group: Dialogues) -> Iterator[str]:
    if group.automatic_turns:
        yield f"{counted(group.automatic_turns, 'turn')} with equal replies only were not asked and do not count."
    if group.failed_replies:
        yield f"{counted(group.failed_replies, 'reply')} failed and could not be chosen.".replace("replys", "replies")
    if group.unfinished_dialogues:
        yield f"{counted(group.unfinished_dialogues, 'unfinished dialogue')} do not count."
    if not group.started_known:
        yield "It is not known when each dialogue began; TrueSkill takes them in the order of the table."
