"""What raters are asked about finished dialogues: the questions about speakers, and the words of the answers.

The questions of whole techniques stand in :mod:`parlai_humaneval.techniques.registry`, those of scales in
:mod:`parlai_humaneval.techniques.criteria`.

Source: Deriu et al. 2020, §3.1, describe what they ask, and print no questions; the sentences here keep their words: whether
each entity is a human or a bot, or whether one is unsure; “grammatically correct and fluent”; “specific to the
conversation's given context” and “answering sensibly and not with illogical statements”, these two after Adiwardana et al.
2020.

What is asked when a conversation is over, beside the criteria: the verdict on two partners, and the ends of sliders.
"""

from __future__ import annotations

from collections.abc import Mapping

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.i18n.translate import phrase
from parlai_humaneval.techniques.registry import PW_DIALOG, THIRD_PARTY

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


def pair_question(metric: str) -> str:
    """What is asked about two dialogues side by side.

    Raises:
        ValueError: naming the metrics that there are.
    """
    return _named(PW_DIALOG_QUESTIONS, metric, "metric of two dialogues")


def label_questions() -> dict[str, str]:
    """Question id → question, one of each speaker: ``label_0`` is about who speaks first."""
    return {f"label_{index}": LABEL_QUESTION.format(speaker=name) for index, name in enumerate(SPOT_SPEAKERS)}


def feature_question(name: str) -> str:
    """What is asked to compare the two speakers of a dialogue.

    Raises:
        ValueError: naming the features that there are.
    """
    return _named(FEATURE_QUESTIONS, name, "feature")


def _named(questions: Mapping[str, str], name: str, what: str) -> str:
    if name not in questions:
        raise InvalidValue(f"there is no {what} {name!r}", try_=f"choose one of: {', '.join(questions)}")
    return questions[name]
