"""The sentences of the section on direct assessment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from parlai_humaneval.analysis.reports.words import corrected_p, decisive, note_remarks
from parlai_humaneval.report.section import disagreement
from parlai_humaneval.report.sections.direct_assessment.rows import Assessed
from parlai_humaneval.statistics.standardised_scores import OVERALL, ScoreGap, SystemScore
from parlai_humaneval.statistics.wording import ABSENT, counted, p_words, percent, signed, signed_range

if TYPE_CHECKING:
    from parlai_humaneval.report.sections.direct_assessment.section import DirectAssessment
    from parlai_humaneval.report.sections.direct_assessment.types import ModelRow

NAMED = 6
"""As many disagreements, and pairs that differ, as are told one by one."""


def headline(section: DirectAssessment, gaps: Sequence[ScoreGap], level: float) -> str:
    """The best model with its interval, the others, and which of them differ."""
    if not section.models:
        return "Only the degraded model has been rated, so nothing can be said about the others."
    if section.basis.who == "nobody_passed":
        return (
            f"None of {counted(section.workers.total, 'worker')} told the degraded model, which is bad on purpose, from "
            "the others. Who answers at random would not either, so no score can be trusted."
        )
    scored = [model for model in section.models if model.overall is not None]
    who = (
        f"{counted(section.workers.counted, 'worker')} {'who passed the check' if _checked(section) else '(unchecked)'}"
    )
    if not scored:
        return f"No rating of {who} varies, so that no score can be standardised."
    best, *others = scored
    interval = signed_range(best.overall_low, best.overall_high)
    sure = "no interval" if interval == ABSENT else f"{100 * level:.0f} % interval {interval}"
    named = (
        f"{best.model} {'is rated best' if others else 'is rated'} by {who}: overall z {signed(best.overall)} ({sure})"
    )
    then = f", then {', '.join(map(_named, others))}" if others else ""
    verdict = _verdict(gaps, section.workers.counted)
    return f"{named}{then}{f'; {verdict}' if verdict else ''}."


def _named(model: ModelRow) -> str:
    return f"{model.model} {signed(model.overall)}"


def _checked(section: DirectAssessment) -> bool:
    return section.workers.passed is not None


def _verdict(gaps: Sequence[ScoreGap], workers: int) -> str:
    """How many pairs differ; of one pair, whether it does."""
    tested = [gap.difference for gap in gaps if decisive(gap.difference) is not None]
    if not gaps:
        return ""
    if not tested:
        return f"whether they differ cannot be tested with {counted(workers, 'worker')}"
    apart = [gap for gap in gaps if decisive(gap.difference)]
    if len(tested) == 1:
        return f"they {'differ' if apart else 'cannot be told apart'} (clustered by worker; {corrected_p(tested[0])})"
    if not apart:
        return f"no pair of {len(tested)} can be told apart (clustered by worker, Holm's correction)"
    verb = "differs" if len(apart) == 1 else "differ"
    named = ", ".join(f"{_apart(gap)} ({p_words(_p(gap))})" for gap in apart[:NAMED])
    more = f" and {len(apart) - NAMED} more" if len(apart) > NAMED else ""
    return f"{len(apart)} of {len(tested)} pairs {verb} (clustered by worker, Holm's correction): {named}{more}"


def _apart(gap: ScoreGap) -> str:
    """“better from worse”."""
    names = (gap.model_a, gap.model_b)
    return " from ".join(names if (gap.difference.estimate or 0.0) >= 0 else names[::-1])


def _p(gap: ScoreGap) -> float | None:
    return gap.difference.p_value if gap.difference.p_holm is None else gap.difference.p_holm


def remarks(section: DirectAssessment, scores: Sequence[SystemScore], data: Assessed) -> list[str]:
    """What a reader must know before using the scores."""
    results = [result for score in scores for result in (score.z[OVERALL], score.raw[OVERALL])]
    return [
        *_about_workers(section),
        *_about_models(section, data),
        *_disagreements(section),
        *note_remarks(results, ""),
    ]


def _about_workers(section: DirectAssessment) -> Iterator[str]:
    workers = section.workers
    if workers.passed is None:
        yield "There was no degraded model, so that no worker could be checked: everybody counts."
    else:
        share = percent(workers.passed / workers.total)
        yield f"{workers.passed:,} of {counted(workers.total, 'worker')} ({share}) passed the check."
    if section.basis.who == "nobody_passed":
        yield "The scores shown are those of everyone."
    if workers.constant:
        n = counted(workers.constant, "worker")
        yield f"{n} gave one and the same rating throughout: that has no z, and does not pass a check."


def _about_models(section: DirectAssessment, data: Assessed) -> Iterator[str]:
    if len(section.models) == 1:
        yield "There is one model: z says how it stands against the mean of all that a worker rated, not how good it is."
    lacking = [m.model for m in section.models if any(m.raw[name] is None for name in section.basis.criteria)]
    if lacking:
        yield f"Not rated on every criterion: {', '.join(lacking)}. Their overall score is the mean of the others."
    settings = sorted(set(data.ratings["setting"].dropna()))
    if len(settings) > 1:
        yield f"Settings are taken together: {', '.join(settings)}."
    if section.opinions:
        yield "Opinions of the topic are the raters' own; what they chose to talk about may differ in more than that."


def _disagreements(section: DirectAssessment) -> Iterator[str]:
    found = [
        text
        for pair in section.pairs
        if (text := disagreement(f"{pair.model_a} against {pair.model_b}", pair.p_value, pair.p_clustered))
    ]
    yield from found[:NAMED]
    if len(found) > NAMED:
        more = counted(len(found) - NAMED, "other pair")
        yield f"The tests that take answers for independent, and the clustered ones, disagree on {more} too."
