"""The sentences of a SOBA or SATA report."""

from __future__ import annotations

from parlai_humaneval.analysis.reports.sata.types import ChoicePair, SataGroup, TurnSpan
from parlai_humaneval.analysis.reports.words import (
    corrected_p,
    decisive,
    not_counted_remarks,
    note_remarks,
    position_remark,
    titled,
    unfinished_remark,
    verdict_of_pairs,
)
from parlai_humaneval.statistics.clustered import MIN_CLUSTERS
from parlai_humaneval.statistics.wording import counted, percent, points_range, points_words


def headline(group: SataGroup) -> str:
    """The models from most to least often chosen, and which of them differ."""
    span = group.all_turns
    if not span.n_turns:
        title = ", ".join(part for part in (group.setting, group.metric) if part)
        return titled(title, f"no turn that counts has compared {' and '.join(group.models)} yet.")
    ranked = sorted(span.models, key=lambda row: -(row.win_rate.estimate or 0))
    first, *others = [f"{row.model} {percent(row.win_rate.estimate)}" for row in ranked]
    title = ", ".join(
        part for part in (group.setting, group.metric, f"chosen in {counted(span.n_turns, 'turn')}") if part
    )
    return f"{title}: {', '.join([first, *others])}. {_verdict(span)}"


def _verdict(span: TurnSpan) -> str:
    if span.n_workers >= MIN_CLUSTERS and len(span.pairs) == 1:
        return _one_pair(span.pairs[0], span.n_workers)
    return verdict_of_pairs(span.pairs, span.n_workers)


def _one_pair(pair: ChoicePair, workers: int) -> str:
    gap = pair.difference
    size = f"by {points_words(gap.estimate)} points"
    interval = points_range(gap.ci_low, gap.ci_high, flip=not pair.a_leads)
    basis = f"(95 % interval {interval}, clustered by {counted(workers, 'worker')}; {corrected_p(gap)})"
    if decisive(gap):
        return f"{pair.leader} leads {size} {basis}."
    if not gap.estimate:
        return f"They cannot be told apart: both were chosen as often {basis}."
    return f"They cannot be told apart: {pair.leader} leads {size} {basis}."


def remarks(group: SataGroup, include_partial: bool) -> list[str]:
    """What a reader of the headline should know besides; often nothing."""
    found = [*disagreements(group.all_turns), position_remark(group.anchoring)]
    found += not_counted_remarks(group.automatic_turns, group.failed_replies)
    found.append(unfinished_remark(group.unfinished_turns, group.unfinished_dialogues, include_partial))
    return [text for text in found if text] + note_remarks(
        (pair.difference for pair in group.all_turns.pairs), group.headline
    )


def disagreements(span: TurnSpan) -> list[str]:
    """Pairs that differ by the paper's test only, which takes the turns of a worker as independent."""
    only_paper = [pair for pair in span.pairs if decisive(pair.difference) is False and decisive(pair.paper)]
    if not only_paper:
        return []
    names = ", ".join(
        f"{pair.leader_first} ({pair.paper.method.split(',')[0]}, {corrected_p(pair.paper)})" for pair in only_paper
    )
    return [
        f"Taken as independent, the turns would show a difference: {names}. But answers of one worker resemble each "
        "other, and with that counted they do not."
    ]
