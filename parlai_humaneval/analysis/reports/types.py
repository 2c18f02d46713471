"""What every report holds, whatever its technique: the shape of ``report --json``."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from parlai_humaneval.quality.exclusion import Exclusions
from parlai_humaneval.statistics.result import Result

Finding = tuple[str, list[str]]
"""A sentence, and remarks on it."""


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Share(Part):
    """A share (0–1) with its worker-clustered interval; None where it cannot be estimated."""

    estimate: float | None
    ci_low: float | None
    ci_high: float | None

    def mirrored(self) -> Share:
        """The same of the other model."""
        return Share(estimate=rest(self.estimate), ci_low=rest(self.ci_high), ci_high=rest(self.ci_low))


class DialogueCount(Part):
    """Dialogues, or judgements of finished ones, by how they ended."""

    complete: int
    partial: int
    failed: int
    running: int


class TurnCount(Part):
    """Turns answered, and turns begun in which no answer was given, in all dialogues."""

    complete: int
    incomplete: int


class PracticeCount(Part):
    """Workers by how their practice ended."""

    passed: int
    failed: int
    not_ended: int


class PlaceRow(Part):
    """Anchoring: how often the reply at ``position`` was chosen, of ``shown`` turns."""

    position: int
    shown: int
    chosen: int
    share: Result


class Group(Part):
    """What is reported together; ``headline``: its finding in a sentence."""

    headline: str = ""
    remarks: list[str] = Field(default_factory=list)


class ChosenGroup(Group):
    """One setting, metric and set of models whose replies were chosen from.

    ``anchoring``: are all positions chosen as often (turns independent)? ``automatic_turns``: in which nothing was
    asked; ``failed_replies``: blank ones, which were not shown.
    """

    setting: str
    metric: str
    models: list[str]
    by_position: list[PlaceRow]
    anchoring: Result
    automatic_turns: int
    failed_replies: int
    unfinished_dialogues: int
    unfinished_turns: int


class Left(Part):
    """What is left out of the numbers of this report."""

    dialogues: int
    workers: int
    turns: int
    judgements: int = 0


class Excluded(Exclusions):
    """Who was left out, by which check and why; nothing is deleted.

    ``tasks``: those whose dialogues were judged, where more than the report's own (a worker who failed in any of them
    is left out here too); then all counts but ``here`` are over all of them.
    """

    tasks: list[str] = Field(default_factory=list)
    here: Left


class Report(Part):
    """All that ``report`` prints. Shares are 0–1, times in seconds; None: cannot be estimated.

    ``workers``: who rated anything. ``excluded``: None where nobody asked to leave anything out.
    """

    technique: str = ""
    tasks: list[str]
    techniques: list[str]
    questions: dict[str, list[str]]
    workers: int
    practice: PracticeCount | None = None
    excluded: Excluded | None = None
    include_partial: bool
    headline: str
    methods: list[str]
    level: float
    seed: int

    def findings(self) -> list[Finding]:
        """What was found, group by group; the print begins with it."""
        return []

    def footnotes(self) -> list[str]:
        """What stands below the methods."""
        return []


class LiveReport(Report):
    """Of dialogues that were rated by those who held them.

    ``median_turn_seconds``: shown → answered, ``median_dialogue_seconds``: start → end of complete dialogues.
    """

    dialogue_count: DialogueCount
    turn_count: TurnCount
    median_turn_seconds: float | None
    median_dialogue_seconds: float | None


class GroupedReport(LiveReport):
    """A report whose findings are those of its groups."""

    groups: Sequence[Group]

    def findings(self) -> list[Finding]:
        return [(group.headline, group.remarks) for group in self.groups]


class AttentionChecks(Part):
    """Items whose right answer is known, by how they were answered; ``workers_failing``: who failed any."""

    passed: int
    failed: int
    not_answered: int
    workers_failing: int


class JudgedReport(Report):
    """Of finished dialogues that somebody else judged.

    ``judgements``, ``items`` (different things judged) and ``dialogues_shown`` (different dialogues) leave attention
    checks out. ``median_seconds``: shown → answered, all steps of a complete judgement. Unfinished ones never count.
    """

    judgements: DialogueCount
    attention_checks: AttentionChecks
    items: int
    dialogues_shown: int
    median_seconds: float | None
    groups: Sequence[Group]

    def findings(self) -> list[Finding]:
        return [(group.headline, group.remarks) for group in self.groups]


def rest(share: float | None) -> float | None:
    """1 − ``share``."""
    return None if share is None else 1 - share
