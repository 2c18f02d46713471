"""The sentences of a direct assessment's report."""

from __future__ import annotations

from parlai_humaneval.analysis.reports.direct_assessment.types import AssessmentGroup, Scores
from parlai_humaneval.analysis.reports.words import note_remarks, titled, verdict_of_pairs
from parlai_humaneval.statistics.wording import counted, signed


def headline(group: AssessmentGroup) -> str:
    """The models from best to worst by overall z, and which of them differ."""
    scores = basis(group)
    if not scores.models:
        return titled(group.setting, "only the degraded model has been rated, so nothing can be said about the others.")
    if group.checked and not group.passed.models:
        workers = counted(len(group.workers), "worker")
        return titled(
            group.setting,
            f"none of {workers} told the degraded model, which is bad on purpose, from the others. Who answers at "
            "random would not either, so no score can be trusted.",
        )
    who = f"{counted(scores.workers, 'worker')} who passed the check" if group.checked else "all workers, unchecked"
    verdict = verdict_of_pairs(scores.pairs, scores.workers) if scores.pairs else ""
    ranked = ", ".join(f"{row.model} {signed(row.overall.z.estimate)}" for row in scores.models)
    return titled(group.setting, f"overall z by {who}: {ranked}. {verdict}".strip())


def basis(group: AssessmentGroup) -> Scores:
    """The scores to show: of the workers who passed; of everyone where nobody did, or could be checked."""
    return group.passed if group.passed.models else group.everyone


def remarks(group: AssessmentGroup) -> list[str]:
    """Who passed, and what a reader should know besides."""
    found = []
    if not basis(group).models:
        return []
    if group.checked:
        found.append(f"{group.workers_passed:,} of {counted(len(group.workers), 'worker')} passed the check.")
    else:
        found.append("There was no degraded model, so that no worker could be checked.")
    if group.workers_constant:
        n = counted(group.workers_constant, "worker")
        found.append(f"{n} gave one and the same rating throughout: that has no z and does not pass.")
    return found + note_remarks((pair.difference for pair in basis(group).pairs), group.headline)
