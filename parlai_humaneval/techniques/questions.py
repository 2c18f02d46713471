"""Raters' questions about finished dialogues: the questions about speakers, and the words of the answers.

Questions of whole techniques are in `parlai_humaneval.techniques.registry`, those of scales in
`parlai_humaneval.techniques.questions`.

Source: Deriu et al. 2020, §3.1, describe what they ask, and print no questions; the sentences here keep their words: whether
each entity is a human or a bot, or whether one is unsure; “grammatically correct and fluent”; “specific to the
conversation's given context” and “answering sensibly and not with illogical statements”, these two after Adiwardana et al.
2020.

Questions after a conversation besides the criteria: the verdict on two partners, and the ends of sliders.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, Field, StringConstraints

from parlai_humaneval._util.data_files import packaged, read_yaml
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.i18n.translate import phrase
from parlai_humaneval.techniques.registry import PW_DIALOG, THIRD_PARTY, techniques

Place = Literal["tick", "likert", "slider"]
C = TypeVar("C", "Criterion", "Dimension")
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class Criterion(BaseModel, extra="forbid", frozen=True):
    """``text``: what the rater reads. ``reversed``: agreeing is bad."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")]
    text: Words
    reversed: bool = False

    def ends(self, minimum: float, maximum: float) -> tuple[str, str]:
        """What its scale's ends are called: as the text says in brackets, “(1: Very boring, 5: …)”; else their numbers."""
        low, high = f"{minimum:g}", f"{maximum:g}"
        told = re.search(rf"\({low}: (.+), {high}: (.+)\)", self.text)
        return (told[1], told[2]) if told else (low, high)


_PUBLISHED: Mapping[str, Any] = read_yaml(packaged("criteria.yaml"))
CRITERIA: Mapping[Place, Mapping[str, Criterion]] = {
    place: {name: Criterion(name=name, **told) for name, told in _PUBLISHED[place].items()} for place in get_args(Place)
}
"""Where it is rated → name → criterion. A study names those it asks for, or writes its own out."""

READ_AGAIN: Mapping[str, str] = read_yaml(packaged("read_again.yaml"))
"""Question or criterion → the same for somebody who reads a chat that another person had."""

RANGES: Mapping[Place, tuple[float, float]] = {"tick": (0, 1), "likert": (1, 5), "slider": (0, 100)}


def criteria_for(place: Place, wanted: Sequence[str | Mapping[str, Any]]) -> list[Criterion]:
    """The criteria of a configuration: names of :data:`CRITERIA`, or your own ``{name, text, reversed}``. Raises
    ValueError: an unknown name (the message lists the known ones), a malformed criterion, or one named twice."""
    form = "{name: …, text: …, reversed: false}"
    return _chosen(Criterion, CRITERIA[place], wanted, ("criterion", "criteria"), form, "{name: …, text: …}")


def _chosen(
    kind: type[C],
    known: Mapping[str, C],
    wanted: Sequence[str | Mapping[str, Any]],
    words: tuple[str, str],
    form: str,
    short_form: str,
) -> list[C]:
    """``words``: what to call one, and several; ``form``: the form of a custom one, with its required fields."""
    one, several = words
    found: list[C] = []
    for entry in wanted:
        if isinstance(entry, str):
            if entry not in known:
                choice = f"choose one of: {', '.join(known)}; or write your own: {short_form}"
                raise InvalidValue(f"unknown {one} {entry!r}", try_=choice)
            found.append(known[entry])
            continue
        try:
            found.append(kind.model_validate(dict(entry)))
        except ValueError as error:
            raise InvalidValue(f"{entry!r} is not a {one}", try_=f"write your own as {form}") from error
    repeated = [name for name, count in sorted(Counter(each.name for each in found).items()) if count > 1]
    if repeated:
        raise InvalidValue(f"these {several} are listed twice: {', '.join(repeated)}", try_="list each once")
    return found


class Dimension(BaseModel, extra="forbid", frozen=True):
    """``text``: what the rater reads above the points. ``hints``: what each point means, from 1; the last is the best."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")]
    text: Words
    hints: Annotated[tuple[Words, ...], Field(min_length=2, max_length=11)]

    @property
    def maximum(self) -> int:
        """The highest point; the lowest is 1."""
        return len(self.hints)


DIMENSIONS: Mapping[str, Dimension] = {
    text.lower(): Dimension(name=text.lower(), text=text, hints=hints)
    for text, hints in _PUBLISHED["dimensions"].items()
}
"""Name → dimension, in the order of the paper's table."""


def dimensions_for(wanted: Sequence[str | Mapping[str, Any]]) -> list[Dimension]:
    """The dimensions of a configuration: names of :data:`DIMENSIONS`, or your own ``{name, text, hints}``. Raises
    ValueError: as :func:`criteria_for`."""
    short_form = "{name: …, text: …, hints: […, …]}"
    form = f"{short_form} with a sentence for each point, from 1 (2 to 11 of them)"
    return _chosen(Dimension, DIMENSIONS, wanted, ("scale", "scales"), form, short_form)


VERDICTS = {
    "a": phrase("A is better"),
    "b": phrase("B is better"),
    "tie": phrase("Tie: both are good"),
    "both_bad": phrase("Both are bad"),
}
SLIDER_ENDS = (phrase("strongly disagree"), phrase("strongly agree"))
FINAL_QUESTION = phrase("The conversation is over. How was your partner?")
"""Above the scales at the end of a conversation whose turns were rated by another question."""


PW_DIALOG_QUESTIONS = PW_DIALOG.questions
RANK_QUESTION, DIMENSIONS_QUESTION = (THIRD_PARTY.questions[metric] for metric in ("rank", "dimensions"))

PAIR_SPEAKERS = (phrase("Speaker 1"), phrase("Speaker 2"))
"""What the judged speakers of two dialogues are called, on the left and on the right."""
PAIR_OPTIONS: dict[str, str] = dict(zip(("first", "second"), PAIR_SPEAKERS, strict=True))

SPOT_SPEAKERS = (phrase("Speaker A"), phrase("Speaker B"))
"""What the two speakers of one dialogue are called; A speaks first."""
LABEL_QUESTION = "Is {speaker} a human or a bot?"
LABEL_OPTIONS: dict[str, str] = {"human": phrase("Human"), "unsure": phrase("Unsure"), "bot": phrase("Bot")}
FEATURE_QUESTIONS: dict[str, str] = {
    "fluent": phrase("Whose lines are more fluent and grammatically correct?"),
    "specific": phrase("Whose lines are more specific to the given context of the conversation?"),
    "sensible": phrase("Who answers more sensibly, and not with illogical statements?"),
}
FEATURE_OPTIONS: dict[str, str] = {"first": SPOT_SPEAKERS[0], "same": phrase("The same"), "second": SPOT_SPEAKERS[1]}


def pair_question(metric: str, technique: str = PW_DIALOG.name) -> str:
    """What a technique asks about two dialogues side by side: its own questions, and those of PW-Dialog. Raises
    ValueError."""
    entry = techniques().get(technique)
    own = {} if entry is None else entry.questions
    return _named({**PW_DIALOG_QUESTIONS, **own}, metric, "metric of two dialogues")


def label_questions() -> dict[str, str]:
    """Question id → question, one of each speaker: ``label_0`` is about who speaks first."""
    return {f"label_{index}": LABEL_QUESTION.format(speaker=name) for index, name in enumerate(SPOT_SPEAKERS)}


def feature_question(name: str) -> str:
    """What is asked to compare the two speakers of a dialogue. Raises ValueError."""
    return _named(FEATURE_QUESTIONS, name, "feature")


def _named(questions: Mapping[str, str], name: str, what: str) -> str:
    if name not in questions:
        raise InvalidValue(f"there is no {what} {name!r}", try_=f"choose one of: {', '.join(questions)}")
    return questions[name]
