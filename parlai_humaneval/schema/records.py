"""Versioned records of what raters did: of a live dialogue, or of a judgement of finished ones.

Records are rebuilt from the events that a task wrote as they happened (:mod:`.rebuild`), so a dialogue that was
interrupted in turn 4 still holds three complete turns (``status="partial"``). Where nobody talks, a rater reads one or
two dialogues, or their beginnings, and answers a set of questions: that is a :class:`JudgementRecord`.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 3


class Record(BaseModel, extra="forbid"):
    """Nothing but what is declared is stored."""


MaskKind = Literal["name", "maker", "ai_disclosure", "system_prompt", "offensive"]
"""What was hidden: a model's name, its maker's, its talk of being a program, its instructions, or an offensive word."""


class Mask(Record):
    """A span that was replaced before the reply was shown, because it gave the model away or was offensive. Offsets are
    into the text before masking: ``raw_text``, unless ``changes`` name an earlier change."""

    start: int
    end: int
    original: str
    replacement: str
    kind: MaskKind = "name"


class ImageRecord(Record):
    """A picture of a message or reply. ``digest``: SHA-256 of its file, and the file's name; ``alt``: its description,
    empty where a model gave none; ``width`` and ``height`` in pixels."""

    digest: str
    alt: str
    width: int
    height: int


class ReplyInfo(Record):
    """What is known of how a reply was made. ``served_model``: the server's name for the model. ``cost`` is in
    ``currency``. ``finish_reason``: why the reply ended. ``requests``: requests for this reply, without the pool's
    tries that ended in an error; 0 for a model without a server. ``outage_s``: seconds of ``latency_s`` during which
    the server was down; None: it was up. ``turns_left_out``: the oldest turns that the model did not read, as they
    exceeded its context or ``history_limit``; None: it read all. ``thoughts``: what the model thought before the reply,
    where its server or tokenizer separates that; thoughts within the reply's text stay there
    (``Candidate.raw_text``)."""

    served_model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    currency: str | None = None
    finish_reason: str | None = None
    requests: int = 1
    outage_s: float | None = None
    turns_left_out: int | None = None
    thoughts: str | None = None


class ModelHealth(BaseModel):
    """How a model has answered in one launch; a newer launch may say more than this version knows."""

    model_config = ConfigDict(extra="ignore", frozen=True, use_attribute_docstrings=True)

    model: str
    replies: int = 0
    median_s: float | None = None
    p95_s: float | None = None
    """Seconds from a question to its reply, retries included, over the last replies; None: no reply yet."""
    retries: int = 0
    errors: int = 0  # replies that never came: their dialogues ended
    outage_since: float | None = None
    retired: bool = False


def in_all(first: ReplyInfo | None, second: ReplyInfo | None) -> ReplyInfo | None:
    """Two tries for one reply as one: tokens, cost and requests are added; names and reasons are the second's."""
    if first is None or second is None:
        return second or first
    both = {key: [one for one in (getattr(first, key), getattr(second, key)) if one is not None] for key in _COUNTS}
    counts = {key: sum(known) if known else None for key, known in both.items()}
    return second.model_copy(update={**counts, "currency": second.currency or first.currency})


_COUNTS = ("prompt_tokens", "completion_tokens", "cost", "requests", "outage_s")


class Withdrawn(Record):
    """A reply that was not shown, because its model was asked again, with the reason. ``text`` is unchanged."""

    text: str
    reason: str


class Candidate(Record):
    """One model's reply in a turn. ``position`` counts from 1 in the order shown; ``latency_s`` in seconds, until it was
    complete. Of replies shown as they come: ``first_token_s`` until the model's first words (None: it was not heard
    writing), and ``replaced``: something was shown of an earlier try, which this text does not begin with.
    ``raw_text`` is the model's text where the text shown differs, else None: ``masks`` are what was hidden, ``changes``
    what else was done (see :mod:`parlai_humaneval.display.appearance`). ``same_as``: the id of the candidate that
    represents both on the page, because the texts and pictures are equal. ``failed``: nothing was shown, because all
    replies were blank, or blocked for the reason ``blocked`` (the response filter, or there were only thoughts); text
    is then empty and position 0. ``asked_again``: earlier replies of this turn, in order, that gave the model away or
    were refused."""

    candidate_id: str
    model: str
    text: str
    position: int
    latency_s: float
    first_token_s: float | None = None
    replaced: bool = False
    raw_text: str | None = None
    masks: list[Mask] = Field(default_factory=list)
    changes: list[str] = Field(default_factory=list)
    same_as: str | None = None
    failed: bool = False
    blocked: str | None = None
    asked_again: list[Withdrawn] = Field(default_factory=list)
    info: ReplyInfo | None = None
    images: list[ImageRecord] = Field(default_factory=list)
    images_left_out: list[str] = Field(default_factory=list)
    """Why pictures that the model gave are not among them."""


class ModelRecord(Record):
    """A model as it took part: its name, ParlAI options, and where it came from. ``code``: for each option that names a
    Python file of the user's, the SHA-256 of this file at the launch."""

    name: str
    options: dict[str, Any] = Field(default_factory=dict)
    description: str = ""
    source: str = ""
    code: dict[str, str] = Field(default_factory=dict)


class TurnAnswer(Record):
    """What a rater said of a turn's replies, as the page sent it, as it is stored, and as its record has it."""

    selected: list[str] = Field(default_factory=list)  # all candidates whose equal texts stood on a chosen card
    none_said: bool = False  # the rater said that no candidate fits
    ticks: list[str] | None = None  # what the rater ticked of the reply; None where that is not asked
    continued: str | None = None
    continued_each: bool = False  # nothing was chosen, every model went on with its own reply
    written: str | None = None
    reason: str | None = None
    automatic: bool = False  # nothing was asked, because all replies were the same


class _Exchange(Record):
    turn: int
    human_text: str
    human_fixed: bool = False
    human_suggested: bool = False
    human_images: list[ImageRecord] = Field(default_factory=list)
    human_at: float
    candidates: list[Candidate] = Field(default_factory=list)
    shown_at: float | None = None


class Turn(TurnAnswer, _Exchange):
    """One exchange, ``turn`` from 1. Times are seconds since the epoch; ``seconds`` is shown → answered. ``away_s``:
    seconds from the rater's message to their next one in which they were away, and the page was closed."""

    answered_at: float | None = None
    seconds: float | None = None
    away_s: float = 0.0

    @property
    def complete(self) -> bool:
        """True when the rater answered this turn and something continued."""
        went_on = self.continued is not None or self.written is not None or self.continued_each
        return self.answered_at is not None and went_on

    @property
    def offers_choice(self) -> bool:
        """Whether a reply is picked from several: it is where nothing is ticked, and not every model goes on by itself."""
        return self.ticks is None and not self.continued_each

    def picks(self, candidate: Candidate) -> bool:
        """Whether the rater chose a candidate. Points, tables, checks and stopping all go by this."""
        return candidate.candidate_id in self.selected


class TopicChange(Record):
    """The rater noted a new topic before their message of ``turn``."""

    turn: int
    text: str


class OpeningLine(Record):
    """A line that was said before the rater's first message, by nobody who takes part."""

    speaker: Literal["human", "bot"]
    text: str


class ContextRecord(Record):
    """What the dialogue was about, and who the speakers were to be. ``persona``: the Human Speaker's sentences.
    ``bot_personas``: model → its sentences, of those that were given any. ``topic`` and the rater's ``opinion`` of it
    (liked, ambivalent, disliked); ``topic_source``: free or icebreaker."""

    context_id: str = ""
    persona: list[str] = Field(default_factory=list)
    bot_personas: dict[str, list[str]] = Field(default_factory=dict)
    opening: list[OpeningLine] = Field(default_factory=list)
    topic: str | None = None
    topic_source: str = ""
    opinion: str | None = None
    topic_changes: list[TopicChange] = Field(default_factory=list)


class CriterionRecord(Record):
    """A criterion as it was put to the rater, rated in [minimum, maximum]. ``reversed``: a high rating is a bad one.
    ``hints``: what each point means, where that was told."""

    name: str
    text: str
    reversed: bool = False
    scale: Literal["tick", "likert", "slider", "points"]
    minimum: float = 0
    maximum: float = 1
    hints: list[str] = Field(default_factory=list)


class OnboardingRecord(Record):
    """How the worker did in practice: tries begun, and the choices (good or bad) of each; passed None: not ended."""

    passed: bool | None
    tries: int
    choices: list[list[str]] = Field(default_factory=list)


Status = Literal["running", "complete", "partial", "failed"]


class RatedRecord(Record):
    """What a dialogue and a judgement have in common. ``settings``: all of the study's. ``session``: the unit of work,
    where one holds several. ``worker`` is a pseudonym. ``status``: running (its launch is alive), complete, partial
    (left or cut off), failed (a model or the server did). ``interrupted``: cut off by the end of its launch, not by its
    rater. ``away_s``: seconds between visits, where the rater was away and went on later where they were.
    ``simulated``: the rater was a program of this project, as the launch knew that let it in, and no person.
    ``language``: of the rater's page; all words of ours stand here in English all the same, so that answers in several
    languages are answers to one question."""

    schema_version: int = SCHEMA_VERSION
    task_name: str = ""
    task_run_id: str = ""
    assignment_id: str = ""
    unit_id: str = ""
    worker: str = ""
    technique: str
    setting: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    metric: str
    seed: int
    session: str = ""
    feedback: str | None = None
    checks: dict[str, Any] = Field(default_factory=dict)
    status: Status
    failure: str | None = None
    started_at: float
    finished_at: float | None = None
    refused_answers: int = 0
    interrupted: bool = False
    language: str = "en"
    away_s: float = 0.0
    simulated: bool = False


class DialogueRecord(RatedRecord):
    """One dialogue of a live technique. ``session``: the unit of work, where one holds several conversations
    (``conversation`` of ``conversations``). ``quality_control_model``: the degraded model among those of the session,
    or empty. ``final_ratings``: criterion → rating at the end; their wordings are ``criteria``, those of the ticks at
    each turn ``turn_criteria``. ``verdict``: a, b, tie or both_bad, and ``verdict_model`` the better one's name.
    ``points`` and ``ranks`` (1: most points, equal points share a rank) by model, where replies were chosen from."""

    dialogue_id: str
    question: str
    models: list[ModelRecord]
    context: ContextRecord = Field(default_factory=ContextRecord)
    turns: list[Turn] = Field(default_factory=list)
    conversation: int = 1
    conversations: int = 1
    quality_control_model: str = ""
    turn_criteria: list[CriterionRecord] = Field(default_factory=list)
    criteria: list[CriterionRecord] = Field(default_factory=list)
    final_ratings: dict[str, float] = Field(default_factory=dict)
    final_seconds: float | None = None
    verdict: Literal["a", "b", "tie", "both_bad"] | None = None
    verdict_model: str | None = None
    points: dict[str, int] = Field(default_factory=dict)
    ranks: dict[str, int] = Field(default_factory=dict)
    ended_by_rater: bool = False

    @property
    def complete_turns(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.complete]


HUMAN = "human"  # represents a person among the names of models

Kind = Literal["human_bot", "self_chat", "bot_bot", "human_human"]


class ShownLine(Record):
    """``speaker`` is the index into :attr:`ShownDialogue.entities`. ``raw_text``: what was said, where it is shown
    otherwise: ``masks`` say what was hidden, ``changes`` what else was done, as in
    :class:`~parlai_humaneval.schema.records.Candidate`."""

    speaker: int
    text: str
    raw_text: str | None = None
    masks: list[Mask] = Field(default_factory=list)
    changes: list[str] = Field(default_factory=list)
    images: list[ImageRecord] = Field(default_factory=list)


class ReplayedRating(Record):
    """What the dialogue's own rater was asked and answered, where a dialogue is rated once more by somebody else.
    ``worker`` is their pseudonym; ``turns`` hold the candidates and what was selected."""

    technique: str
    setting: str = ""
    metric: str
    question: str
    worker: str = ""
    task_name: str = ""
    turns: list[Turn] = Field(default_factory=list)
    turn_criteria: list[CriterionRecord] = Field(default_factory=list)
    criteria: list[CriterionRecord] = Field(default_factory=list)
    final_ratings: dict[str, float] = Field(default_factory=dict)
    verdict: Literal["a", "b", "tie", "both_bad"] | None = None
    verdict_model: str | None = None


class ShownDialogue(Record):
    """A dialogue as it was shown. ``position``: 1 (alone, or on the left) or 2. ``entities``: the speakers (a model's
    name, or ``human``), the first speaker first. ``judged``: index of the speaker who is asked about; None: both, or
    the dialogue as a whole. ``k``: exchanges shown, None: all. ``source``: the file or task that the dialogue came
    from, ``settings`` what is known of how it was made."""

    dialogue_id: str
    position: int = 1
    kind: Kind
    entities: list[str]
    judged: int | None = None
    k: int | None = None
    lines: list[ShownLine]
    context: list[str] = Field(default_factory=list)
    source: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    replayed: ReplayedRating | None = None


class AskedQuestion(Record):
    """A question exactly as the rater saw it; in English where their page spoke another language. ``about``: index of
    the speaker that it is about (None: both, or the whole). ``options``: id → label, where one is chosen. ``criteria``:
    what was rated, where it is scales."""

    question_id: str
    text: str
    kind: Literal["form", "choose", "tick", "rank", "rate"] = "form"
    about: int | None = None
    options: dict[str, str] = Field(default_factory=dict)
    criteria: list[CriterionRecord] = Field(default_factory=list)


class GivenAnswer(Record):
    """An answer; which fields are filled follows from the question's kind. form: ``option``. choose and tick:
    ``selected`` (ids of candidates, all of those whose equal texts were shown as one; names of criteria; or verdicts)
    and ``none_said``. rank: ``ranks`` (candidate id → place from 1). rate: ``ratings`` (criterion → value). ``turn``:
    of a replayed dialogue. ``seconds``: shown → answered; answers of one form share it."""

    question_id: str
    turn: int | None = None
    option: str | None = None
    selected: list[str] = Field(default_factory=list)
    none_said: bool = False
    ranks: dict[str, int] = Field(default_factory=dict)
    ratings: dict[str, float] = Field(default_factory=dict)
    reason: str | None = None
    seconds: float
    at: float


class JudgementItem(Record):
    """An item as it goes to one rater; see :class:`JudgementRecord` for the fields."""

    judgement_id: str
    item_id: str
    setting: str = ""
    group: list[str]
    dialogues: list[ShownDialogue]
    expected: dict[str, str] | None = None
    seed: int
    session: str
    number: int = 1
    numbers: int = 1


class JudgementRecord(RatedRecord):
    """One rater's judgement of one item. ``judgement_id`` is unique; ``item_id`` is the same for everybody who judges
    the same. ``session``: the unit of work, in which this is item ``number`` of ``numbers``. ``group``: the models that
    the item is about, in the order of the configuration. ``expected``: of an attention check, question id → the right
    option; None: an ordinary item."""

    judgement_id: str
    item_id: str
    group: list[str]
    dialogues: list[ShownDialogue]
    questions: list[AskedQuestion]
    answers: list[GivenAnswer] = Field(default_factory=list)
    expected: dict[str, str] | None = None
    number: int = 1
    numbers: int = 1

    def answer(self, question_id: str, turn: int | None = None) -> GivenAnswer | None:
        """The answer to a question (of a turn), None where there is none."""
        return next((one for one in self.answers if one.question_id == question_id and one.turn == turn), None)

    @property
    def gold_passed(self) -> bool | None:
        """Whether an attention check was answered right; None: it is none, or is not answered."""
        if self.expected is None or self.status != "complete":
            return None
        return all(
            (one := self.answer(name)) is not None and one.option == right for name, right in self.expected.items()
        )


Rated: TypeAlias = DialogueRecord | JudgementRecord
"""What a rater leaves behind: a live dialogue, or a judgement of finished ones."""

AnyRated = TypeVar("AnyRated", bound=DialogueRecord | JudgementRecord)
"""Either kind, the same one going in and coming out."""
