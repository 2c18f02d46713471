"""The versioned record of one rated dialogue: what was shown, answered and continued.

A record is rebuilt from the events that a live task wrote as they happened, so that a
dialogue cut off in turn 4 still holds three complete turns (``status="partial"``).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 3


class Record(BaseModel):
    """Nothing but what is declared is stored."""

    model_config = ConfigDict(extra="forbid")


MaskKind = Literal["name", "maker", "ai_disclosure", "system_prompt", "offensive"]
"""What was hidden: a model's name, its maker's, its talk of being a program, its instructions, or an offensive word."""


class Mask(Record):
    """A span that was replaced before showing, because it gave the model away or was offensive.

    Offsets are into the text before masking: ``raw_text``, unless ``changes`` say that it was made to look otherwise
    first. ``quality.identity.unmask`` gives it back in any case.
    """

    start: int
    end: int
    original: str
    replacement: str
    kind: MaskKind = "name"


class ReplyInfo(Record):
    """What a server, or a model here, said of a reply. ``served_model``: the name by which a server calls the model.
    ``cost`` in ``currency``.

    ``finish_reason``: why it stopped. ``requests``: how often it was asked for this reply,
    without the pool's tries that ended in an error. ``outage_s``: for how many of the reply's ``latency_s`` its server was
    out and the request was held; None: it was not. ``turns_left_out``: how many of the dialogue's oldest turns the model
    did not read, since there were too many for it, or for ``history_limit``; None: it read them all. ``thoughts``: what the
    model thought before the reply, where its server or its tokenizer tells that apart; what stands within the reply's text
    is kept there (``Candidate.raw_text``). Both are noted of models without a server, too, whose ``requests`` are 0.
    """

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


def in_all(first: ReplyInfo | None, second: ReplyInfo | None) -> ReplyInfo | None:
    """Both tries for one reply together: tokens, money and requests added up, names and reasons of the second."""
    if first is None or second is None:
        return second or first
    counts = {key: _added(getattr(first, key), getattr(second, key)) for key in _COUNTS}
    return second.model_copy(update={**counts, "currency": second.currency or first.currency})


_COUNTS = ("prompt_tokens", "completion_tokens", "cost", "requests", "outage_s")


def _added(first: float | None, second: float | None) -> float | None:
    return second if first is None else first if second is None else first + second


class Withdrawn(Record):
    """A reply that nobody was shown, because its model was asked again, and why. ``text`` is the model's own."""

    text: str
    reason: str


class Candidate(Record):
    """One model's reply of a turn. ``position`` counts from 1 in shown order; ``latency_s`` in seconds.

    ``raw_text`` is the model's own text where it was shown otherwise, else None: ``masks`` say what was hidden,
    ``changes`` what else was done (see ``showing.appearance``). ``same_as``: the id of the candidate that
    was shown for both, because the two texts are equal. ``failed``: nothing of it was shown, because the model gave
    only blank replies, or only such as nobody may see for the reason in ``blocked`` (the response filter refused them, or
    they were nothing but thoughts); text is then empty and
    position 0. ``asked_again``: what it said before in this turn, in order, where that gave it away or was refused.
    """

    candidate_id: str
    model: str
    text: str
    position: int
    latency_s: float
    raw_text: str | None = None
    masks: list[Mask] = Field(default_factory=list)
    changes: list[str] = Field(default_factory=list)
    same_as: str | None = None
    failed: bool = False
    blocked: str | None = None
    asked_again: list[Withdrawn] = Field(default_factory=list)
    info: ReplyInfo | None = None


class ModelRecord(Record):
    """A model as it took part: its name, ParlAI options, and where it came from."""

    name: str
    options: dict[str, Any] = Field(default_factory=dict)
    description: str = ""
    source: str = ""


class Turn(Record):
    """One exchange, ``turn`` from 1. Times are seconds since the epoch; ``seconds`` is shown → answered.

    ``selected``: ids of the chosen candidates, all of those whose equal texts were shown as one. ``ticks``: what the
    rater ticked of the reply; None where that is not asked. ``none_said``: the rater said that no candidate fits.
    ``away_s``: seconds from the rater's message to their next one in which they were away, and the page was closed.
    ``continued_each``: nothing was chosen, every model went on with its own reply. ``automatic``: nothing was
    asked, because all replies were the same.
    """

    turn: int
    human_text: str
    human_fixed: bool = False
    human_suggested: bool = False
    human_at: float
    candidates: list[Candidate] = Field(default_factory=list)
    shown_at: float | None = None
    selected: list[str] = Field(default_factory=list)
    none_said: bool = False
    ticks: list[str] | None = None
    continued: str | None = None
    continued_each: bool = False
    written: str | None = None
    reason: str | None = None
    automatic: bool = False
    answered_at: float | None = None
    seconds: float | None = None
    away_s: float = 0.0

    @property
    def complete(self) -> bool:
        """True when the rater answered this turn and something continued."""
        went_on = self.continued is not None or self.written is not None or self.continued_each
        return self.answered_at is not None and went_on


class TopicChange(Record):
    """The rater noted a new topic before their message of ``turn``."""

    turn: int
    text: str


class OpeningLine(Record):
    """A line that was said before the rater's first message, by nobody who takes part."""

    speaker: Literal["human", "bot"]
    text: str


class ContextRecord(Record):
    """What the dialogue was about, and who the speakers were to be.

    ``persona``: the Human Speaker's sentences. ``bot_personas``: model → its sentences, of those that were given any.
    ``topic`` and the rater's ``opinion`` of it (liked, ambivalent, disliked); ``topic_source``: free or icebreaker.
    """

    context_id: str = ""
    persona: list[str] = Field(default_factory=list)
    bot_personas: dict[str, list[str]] = Field(default_factory=dict)
    opening: list[OpeningLine] = Field(default_factory=list)
    topic: str | None = None
    topic_source: str = ""
    opinion: str | None = None
    topic_changes: list[TopicChange] = Field(default_factory=list)


class CriterionRecord(Record):
    """A criterion as it was put to the rater, rated in [minimum, maximum].

    ``reversed``: a high rating is a bad one. ``hints``: what each point means, where that was told.
    """

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
    """What a dialogue and a judgement have in common.

    ``settings``: all of the study's. ``session``: the unit of work, where one holds several. ``worker`` is a pseudonym.
    ``status``: running (its launch is alive), complete, partial (left or cut off), failed (a model or the server did).
    ``interrupted``: cut off by the end of its launch, not by its rater. ``away_s``: seconds between visits, where the rater
    was away and went on later where they were. ``simulated``: the rater was a program of this
    project, as the launch knew that let it in, and no person. ``language``: of the rater's page; all words of ours stand
    here in English all the same, so that answers in several languages are answers to one question.
    """

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
    """One dialogue of a live technique.

    ``session``: the unit of work, where one holds several conversations (``conversation`` of ``conversations``).
    ``quality_control_model``: the degraded model among those of the session, or empty. ``final_ratings``: criterion →
    rating at the end; their wordings are ``criteria``, those of the ticks at each turn ``turn_criteria``.
    ``verdict``: a, b, tie or both_bad, and ``verdict_model`` the better one's name. ``points`` and ``ranks`` (1: most
    points, equal points share a rank) by model, where replies were chosen from.
    """

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
