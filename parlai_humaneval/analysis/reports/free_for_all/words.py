"""The sentences of a free-for-all report."""

from __future__ import annotations

from parlai_humaneval.analysis.reports.free_for_all.types import FreeForAllGroup
from parlai_humaneval.analysis.reports.words import (
    not_counted_remarks,
    note_remarks,
    position_remark,
    titled,
    unfinished_remark,
    verdict_of_pairs,
)
from parlai_humaneval.statistics.wording import counted, percent, signed


def headline(group: FreeForAllGroup) -> str:
    """The models from the highest score to the lowest, and which of them differ in turns won."""
    title = ", ".join(part for part in (group.setting, group.metric) if part)
    if not group.n_turns:
        return titled(title, f"no turn that counts has compared {', '.join(group.models)} yet.")
    ranked = ", ".join(
        f"{row.model} {signed(row.score)} ({percent(row.point_share.estimate)} of turns)" for row in group.standings
    )
    basis = f"{counted(group.n_dialogues, 'dialogue')}, {counted(group.n_turns, 'turn')}"
    title = f"{title}, " if title else ""
    return f"{title}μ − 3σ over {basis}: {ranked}. Turns won: {verdict_of_pairs(group.gaps, group.n_workers)}"


def remarks(group: FreeForAllGroup, include_partial: bool) -> list[str]:
    """What a reader of the headline should know besides; often nothing."""
    found = [
        position_remark(group.anchoring),
        *not_counted_remarks(group.automatic_turns, group.failed_replies),
        unfinished_remark(group.unfinished_turns, group.unfinished_dialogues, include_partial),
    ]
    if group.tied_dialogues:
        found.append(f"Several models share the first rank in {counted(group.tied_dialogues, 'dialogue')}.")
    return [text for text in found if text] + note_remarks((gap.difference for gap in group.gaps), group.headline)
