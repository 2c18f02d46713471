"""What a report document holds."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny

from parlai_humaneval.analysis.reports.types import AttentionChecks, DialogueCount, Excluded, PracticeCount
from parlai_humaneval.report.section import Section


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Question(Part):
    """A question exactly as raters saw it."""

    technique: str
    metric: str
    text: str


class Statement(Part):
    """What was rated on a scale, or ticked, as it was worded; ends of the scale where they are known."""

    criterion: str
    text: str
    scale: str
    minimum: float | None = None
    maximum: float | None = None


class Design(Part):
    """What one technique, setting and metric collected. ``tables``: table → rows of it."""

    technique: str
    setting: str
    metric: str
    models: list[str]
    workers: int
    tables: dict[str, int]


class ModelFact(Part):
    """A model as it took part; all but the name is empty where the tables do not say."""

    name: str
    description: str = ""
    source: str = ""
    options: dict[str, Any] = Field(default_factory=dict)


class SettingFact(Part):
    """The full setting of a technique, as it was launched; ``units``: dialogues or judgements under it."""

    technique: str
    setting: str
    values: dict[str, Any]
    units: int


class Flagged(Part):
    """A quality check that failed on what counts in this document nevertheless."""

    check: str
    units: int
    workers: int


class Raters(Part):
    """Who rated, and how much; None where the tables do not say. Times in seconds.

    ``units_per_worker_median``, ``units_per_worker_most``: of dialogues or judgements. ``turns``: answered ones.
    """

    workers: int
    dialogues: DialogueCount | None = None
    turns: int | None = None
    judgements: DialogueCount | None = None
    attention_checks: AttentionChecks | None = None
    practice: PracticeCount | None = None
    units_per_worker_median: float | None = None
    units_per_worker_most: int | None = None
    median_dialogue_seconds: float | None = None
    median_judgement_seconds: float | None = None
    first_day: str = ""
    last_day: str = ""


class SectionLeftOut(Part):
    """Workers whom a section leaves out by a check of its own, although their answers are in the tables.

    ``section``: its title; ``why``: what they did, after “who”; ``of``: as many workers were checked.
    """

    section: str
    why: str
    workers: list[str]
    of: int


class Facts(Part):
    """All that stands in a document beside its sections.

    ``title``: names the tasks, or the folder of tables. ``made``: ISO 8601, UTC. ``excluded``: who was left out, by which
    check and why; None: nobody was asked to be. ``left_out``: whom single sections leave out.
    ``flagged``: what failed a check and counts all the same. ``seed``,
    ``draws``, ``level``: of bootstraps and intervals. ``versions``: name of the package → version.
    """

    title: str
    made: str
    techniques: list[str]
    models: list[ModelFact]
    questions: list[Question]
    statements: list[Statement]
    designs: list[Design]
    settings: list[SettingFact]
    raters: Raters
    excluded: Excluded | None = None
    left_out: list[SectionLeftOut] = Field(default_factory=list)
    flagged: list[Flagged] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    seed: int
    draws: int
    level: float
    versions: dict[str, str]


Mark = Literal["", "chosen", "continued", "written", "failed"]


class Bubble(Part):
    """One thing that was said, or a candidate for it. ``side``: of a person or of a model."""

    who: str
    side: Literal["person", "model"]
    text: str
    mark: Mark = ""
    note: str = ""


class ExampleTurn(Part):
    """Lines that belong together; ``remark``: what the rater said of them."""

    bubbles: list[Bubble]
    remark: str = ""


class Example(Part):
    """A dialogue as it was shown, and how it was rated. ``left_out``: turns that are not shown here."""

    title: str
    dialogue_id: str
    worker_id: str
    about: list[str] = Field(default_factory=list)
    turns: list[ExampleTurn]
    answer: str = ""
    left_out: int = 0


class Document(BaseModel):
    """``sections``: key → section, in the order of the report. ``report``: the technique's own as JSON, if there is one."""

    model_config = ConfigDict(extra="forbid")

    facts: Facts
    sections: dict[str, SerializeAsAny[Section]]
    examples: list[Example] = Field(default_factory=list)
    report: dict[str, Any] = Field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """What ``report --json`` prints: the keys of the technique's report, ``facts``, ``examples``, and each section."""
        whole = self.model_dump(mode="json")
        return {**whole["report"], "facts": whole["facts"], **whole["sections"], "examples": whole["examples"]}
