"""The contents of a report document, and labels for studies that stopped once they reached a decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field, PrivateAttr, SerializeAsAny

from parlai_humaneval.quality.registry import Exclusions
from parlai_humaneval.report.conclusions import DECIDED, told_leader
from parlai_humaneval.report.section import Section, SectionLeftOut, Summary, sentence
from parlai_humaneval.report.summary import SUPERIORITY_METHOD, leading, sentence_of, verdict_of
from parlai_humaneval.report.views import DataTable, Method
from parlai_humaneval.report.views import View as Part
from parlai_humaneval.tables.columns import Repeated
from parlai_humaneval.tables.filters import RaterKinds

TESTED_TOO = ("crowd_time",)
"""Sections that answer no question, and test models all the same."""


def labels_in(sections: Mapping[str, Section]) -> Mapping[tuple[str, str, str], str]:
    """Technique, setting, metric → the label for studies that stopped once they reached a decision."""
    if DECIDED not in sections:
        return {}
    labels = sections[DECIDED].labels()
    decided = {one.design[:2]: labels[one.design] for one in sections[DECIDED].summary() if one.decides_all}
    tested = (design for section in sections.values() for design in (section.tested() if decided else ()))
    return {**labels, **{design: decided[design[:2]] for design in tested if design[:2] in decided}}


def with_labels(sections: Mapping[str, Section]) -> dict[str, Section]:
    """The sections, with a label on each that estimates or tests something of such a study."""
    labels, told = labels_in(sections), dict(sections)
    for key, section in sections.items() if labels else ():
        designs = section.tested()
        found = dict.fromkeys(labels[design] for design in designs if design in labels)
        if key in TESTED_TOO:
            found = dict.fromkeys(labels.values())
        if key != DECIDED and found:
            ending = "all" if all(design in labels for design in designs) else "some"
            told[key] = section.model_copy(update={"remarks": [*found, *section.remarks], "of_decided": ending})
    return told


SCHEMA = "parlai-humaneval/report"
"""Name of the JSON of a report; :data:`SCHEMA_VERSION` grows when a key goes or changes its meaning."""
SCHEMA_VERSION = 3


class DialogueCount(Part):
    """Dialogues, or judgements of finished ones, by how they ended."""

    complete: int
    partial: int
    failed: int
    running: int

    @property
    def unfinished(self) -> int:
        return self.partial + self.failed + self.running


class TurnCount(Part):
    """Turns answered, and turns begun in which no answer was given, in all dialogues."""

    complete: int
    incomplete: int


class PracticeCount(Part):
    """Workers by how their practice ended."""

    passed: int
    failed: int
    not_ended: int


class AttentionChecks(Part):
    """Items with a known answer, by how raters answered them; ``workers_failing``: raters who failed any."""

    passed: int
    failed: int
    not_answered: int
    workers_failing: int


class Left(Part):
    """Data left out of a report's numbers; ``simulated``: the number of workers that are programs."""

    dialogues: int
    workers: int
    turns: int
    judgements: int = 0
    simulated: int = 0


class Excluded(Exclusions):
    """The workers who were left out, by which check and why; nothing is deleted.

    ``tasks``: those whose dialogues were judged, where more than the report's own (a worker who failed in any of them
    is left out here too); then all counts but ``here`` are over all of them.
    """

    tasks: list[str] = Field(default_factory=list)
    here: Left


class TaskFacts(Part):
    """Facts from the database of tasks; ``technique``: of a task without any ratings."""

    tasks: list[str]
    technique: str = ""
    practice: PracticeCount | None = None
    excluded: Excluded | None = None


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

    @property
    def whole_scale(self) -> str:
        """The scale with its ends, if these are known."""
        known = self.minimum is not None and self.maximum is not None
        return f"{self.scale}{f' {self.minimum:g} to {self.maximum:g}' if known else ''}".strip()


class Design(Part):
    """The data of one technique, setting and metric. ``tables``: table → rows of it."""

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


class Registration(Part):
    """The registration of a study before it began. ``digest``: SHA-256 of the facts; ``deviations``: differences
    between the study and the facts; ``words``: both, in a sentence."""

    digest: str
    technique: str
    deviations: list[str]
    words: str


class Flagged(Part):
    """A quality check that raters failed in data that still count in this document.

    ``units``: dialogues and judgements that count, attention checks are not among them; ``of_units`` and
    ``of_workers``: all that count, and all who rated them.
    """

    check: str
    units: int
    workers: int
    of_units: int
    of_workers: int


class Raters(Part):
    """The raters and their amount of work; None where the tables do not say. Times in seconds.

    ``units_…``: dialogues or judgements. ``turns_not_answered``: begun and left. ``simulated``, ``people``: numbers of
    workers who are programs, and who are not; unknown workers count in neither. ``items``, ``dialogues_shown``: of
    judgements, without attention checks. ``median_turn_seconds``: of turns in which something was asked.
    ``workers_finished``: workers who completed a dialogue or judgement, or whose tables do not say how it ended.
    """

    workers: int
    workers_finished: int | None = None
    simulated: int = 0
    people: int = 0
    dialogues: DialogueCount | None = None
    turns: int | None = None
    turns_not_answered: int | None = None
    judgements: DialogueCount | None = None
    items: int | None = None
    dialogues_shown: int | None = None
    attention_checks: AttentionChecks | None = None
    practice: PracticeCount | None = None
    units_per_worker_median: float | None = None
    units_per_worker_most: int | None = None
    median_turn_seconds: float | None = None
    median_dialogue_seconds: float | None = None
    median_judgement_seconds: float | None = None
    first_day: str = ""
    last_day: str = ""

    @property
    def counts(self) -> list[tuple[DialogueCount, str]]:
        """Dialogues and judgements by how they ended, as far as there are some, each with its noun."""
        both = ((self.dialogues, "dialogue"), (self.judgements, "judgement"))
        return [(count, noun) for count, noun in both if count is not None]


class Facts(Part):
    """Everything in a document besides its sections.

    ``title``: names the tasks, or the models. ``made``: ISO 8601, UTC. ``include_partial``: answered turns of unfinished
    dialogues count. ``registered``: what was registered of studies among them. ``excluded``: the workers left out, by
    which check and why; None: no exclusion was requested; ``left_out``: workers that single sections leave out;
    ``flagged``: workers who failed a check and still count. ``from_task``: the database of the tasks was read.
    ``repeats``: what was done about answers that were given again. ``failures``: what ended dialogues and judgements
    that failed, the most frequent first. ``versions``: of packages.
    """

    title: str
    made: str
    tasks: list[str] = Field(default_factory=list)
    from_task: bool = False
    techniques: list[str]
    include_partial: bool = False
    models: list[ModelFact]
    questions: list[Question]
    statements: list[Statement]
    designs: list[Design]
    settings: list[SettingFact]
    registered: list[Registration] = Field(default_factory=list)
    raters: Raters
    excluded: Excluded | None = None
    left_out: list[SectionLeftOut] = Field(default_factory=list)
    flagged: list[Flagged] = Field(default_factory=list)
    repeats: list[Repeated] = Field(default_factory=list)
    failures: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    seed: int
    draws: int
    level: float
    versions: dict[str, str]

    @property
    def rater_kinds(self) -> RaterKinds:
        """How many raters are programs, and how many people; where the checks leave nobody, of those left out."""
        raters, here = self.raters, None if self.excluded is None else self.excluded.here
        if here is None or raters.workers:
            return RaterKinds(raters.workers, raters.simulated, raters.people)
        return RaterKinds(here.workers, here.simulated, here.workers - here.simulated)

    @property
    def note(self) -> str:
        """The first line of every form of a report if raters are programs; otherwise empty."""
        return self.rater_kinds.note

    @property
    def nothing(self) -> str:
        """The reason why there is no answer: nothing was rated or finished, or the checks left everything out."""
        return sentence("facts", "nothing", facts=self)

    @property
    def nothing_finished(self) -> str:
        """The unfinished work if nothing is finished; otherwise empty, as when nothing was begun."""
        return sentence("facts", "nothing_finished", facts=self)


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


class Document(BaseModel, extra="forbid", defer_build=True):
    """The whole report. ``sections``: key → section, in the order of the report."""

    _answers: list[Summary] | None = PrivateAttr(default=None)
    _tables: dict[str, list[DataTable]] = PrivateAttr(default_factory=dict)
    facts: Facts
    sections: dict[str, SerializeAsAny[Section]]
    examples: list[Example] = Field(default_factory=list)

    def data_tables(self, key: str) -> list[DataTable]:
        """The tables of a section, made once: titles, page and files need them."""
        if key not in self._tables:
            self._tables[key] = self.sections[key].data_tables()
        return self._tables[key]

    def summaries(self) -> list[Summary]:
        """The answers of all sections, each with the leading model, and a note if the study stopped once decided."""
        if self._answers is None:
            self._answers = list(self._told())
        return self._answers

    def _told(self) -> Iterator[Summary]:
        labels = labels_in(self.sections)
        titles = {table.key: table.title for key in self.sections for table in self.data_tables(key)}
        for summary in (summary for section in self.sections.values() for summary in section.summary()):
            label = None if summary.section == DECIDED else labels.get(summary.design)
            if label is not None:
                summary = summary.model_copy(update={"remarks": [label, *summary.remarks], "of_decided": True})
            answer, section = told_leader(summary), self.sections.get(summary.section)
            title = titles.get(answer.pair_table)
            if section is not None and title is not None and any(pair.p_decides is not None for pair in answer.pairs):
                answer = answer.model_copy(update={"cite": f"“{title}” of “{section.heading()}”"})
            yield answer

    def headline(self) -> str:
        """The answer in one sentence, or why there is none because nothing was rated, or nothing remains."""
        answers = leading(self.summaries())
        if answers:
            return verdict_of(answers)
        if self.facts.nothing_finished:
            return self.facts.nothing_finished
        answering = [section for section in self.sections.values() if type(section).summary is not Section.summary]
        # Third parties' judgements alone answer how far they agree with those who talked.
        answering += [section for name, section in self.sections.items() if name == "agreement"]
        return next((section.headline for section in answering if section.headline), self.facts.nothing)

    def sentence(self) -> str:
        """The verdict in the words of a paper."""
        facts, answers = self.facts, leading(self.summaries())
        made_by = f"parlai-humaneval {facts.versions['parlai-humaneval']}"
        registered = [one.words for one in facts.registered]
        return sentence_of(self.headline(), answers, facts.rater_kinds, made_by, registered)

    def in_short(self) -> list[str]:
        """Lines for the summary from sections that answer no question."""
        return [line for section in self.sections.values() for line in section.in_short()]

    def methods(self) -> list[Method]:
        """The methods of all sections, each once."""
        found = {method.name: method for section in self.sections.values() for method in section.methods()}
        pairs = (pair for summary in self.summaries() for pair in summary.pairs)
        effect = [SUPERIORITY_METHOD] if any(pair.superiority is not None for pair in pairs) else []
        return [*found.values(), *effect]

    def to_json(self) -> dict[str, Any]:
        """What ``report --json`` prints: what people read first, then ``facts``, each section by its key, ``examples``."""
        whole = self.model_dump(mode="json")
        facts, raters = self.facts, self.facts.raters
        # Facts under the names by which a task's report has always had them; the whole of them is in ``facts``.
        found: dict[str, Any] = {
            "raters": facts.note or None,
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "headline": self.headline(),
            "sentence": self.sentence(),
            "summaries": [summary.model_dump(mode="json") for summary in self.summaries()],
            "technique": facts.techniques[0] if len(facts.techniques) == 1 else "",
            "techniques": facts.techniques,
            "tasks": facts.tasks,
            "questions": {
                metric: [question.text for question in facts.questions if question.metric == metric]
                for metric in dict.fromkeys(question.metric for question in facts.questions)
            },
            "workers": raters.workers,
            "simulated_workers": raters.simulated,
            "practice": raters.practice,
            "excluded": facts.excluded,
            "include_partial": facts.include_partial,
            "methods": [f"{method.name}: {method.text}" for method in self.methods()],
            "level": facts.level,
            "seed": facts.seed,
            "median_turn_seconds": raters.median_turn_seconds,
            "median_dialogue_seconds": raters.median_dialogue_seconds,
        }
        if raters.dialogues is not None:
            turns = TurnCount(complete=raters.turns or 0, incomplete=raters.turns_not_answered or 0)
            found |= {"dialogue_count": raters.dialogues, "turn_count": turns}
        if raters.judgements is not None:
            found |= {
                "judgements": raters.judgements,
                "attention_checks": raters.attention_checks,
                "items": raters.items,
                "dialogues_shown": raters.dialogues_shown,
                "median_seconds": raters.median_judgement_seconds,
            }
        short = {
            name: value.model_dump(mode="json") if isinstance(value, BaseModel) else value
            for name, value in found.items()
        }
        return {**short, "facts": whole["facts"], **whole["sections"], "examples": whole["examples"]}
