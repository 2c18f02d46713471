"""The versioned record of one judgement of finished dialogues: what was shown, what was asked, what was answered.

The counterpart of :class:`~parlai_humaneval.protocol.records.dialogue.DialogueRecord` for techniques in which nobody talks:
a rater reads one or two dialogues, or their beginnings, and answers a set of questions.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import Field

from parlai_humaneval.protocol.records.dialogue import CriterionRecord, DialogueRecord, Mask, RatedRecord, Record, Turn

__all__ = [
    "AnyRated",
    "AskedQuestion",
    "GivenAnswer",
    "JudgementRecord",
    "Rated",
    "ReplayedRating",
    "ShownDialogue",
    "ShownLine",
]

HUMAN = "human"
"""Stands for a person among the names of models."""

Kind = Literal["human_bot", "self_chat", "bot_bot", "human_human"]


class ShownLine(Record):
    """``speaker`` is the index into :attr:`ShownDialogue.entities`.

    ``raw_text``: what was said, where it is shown otherwise: ``masks`` say what was hidden, ``changes`` what else was
    done, as in :class:`~parlai_humaneval.protocol.records.dialogue.Candidate`.
    """

    speaker: int
    text: str
    raw_text: str | None = None
    masks: list[Mask] = Field(default_factory=list)
    changes: list[str] = Field(default_factory=list)


class ReplayedRating(Record):
    """What the dialogue's own rater was asked and answered, where a dialogue is rated once more by somebody else.

    ``worker`` is their pseudonym; ``turns`` hold the candidates and what was selected.
    """

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
    """A dialogue as it was shown. ``position``: 1 (alone, or on the left) or 2.

    ``entities``: who the speakers are (a model's name, or ``human``), the one who speaks first first. ``judged``: index of
    the speaker who is asked about; None: both, or the dialogue as a whole. ``k``: exchanges shown, None: all.
    ``source``: the file or task that the dialogue came from, ``settings`` what is known of how it was made.
    """

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
    """A question exactly as the rater saw it; in English where their page spoke another language.

    ``about``: index of the speaker that it is about (None: both, or the whole). ``options``: id → label, where one is
    chosen. ``criteria``: what was rated, where it is scales.
    """

    question_id: str
    text: str
    kind: Literal["form", "choose", "tick", "rank", "rate"] = "form"
    about: int | None = None
    options: dict[str, str] = Field(default_factory=dict)
    criteria: list[CriterionRecord] = Field(default_factory=list)


class GivenAnswer(Record):
    """An answer; which fields are filled follows from the question's kind.

    form: ``option``. choose and tick: ``selected`` (ids of candidates, all of those whose equal texts were shown as one;
    names of criteria; or verdicts) and ``none_said``. rank: ``ranks`` (candidate id → place from 1). rate: ``ratings``
    (criterion → value). ``turn``: of a replayed dialogue. ``seconds``: shown → answered; answers of one form share it.
    """

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


class JudgementRecord(RatedRecord):
    """One rater's judgement of one item.

    ``judgement_id`` is unique; ``item_id`` is the same for everybody who judges the same. ``session``: the unit of work,
    in which this is item ``number`` of ``numbers``. ``group``: the models that the item is about, in the order of the
    configuration. ``expected``: of an attention check, question id → the right option; None: an ordinary item.
    """

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
