"""The wordings of what raters are asked about finished dialogues; those of scales stand in :mod:`.dimensions`.

Sources: Smith et al. 2022, §3.1.3 (PW-Dialog), taken there from Li et al. 2019 (Acute-Eval), word for word. Deriu et al.
2020, §3.1, describe what they ask, and print no questions; the sentences here keep their words: whether each entity is a
human or a bot, or whether one is unsure; “grammatically correct and fluent”; “specific to the conversation's given context”
and “answering sensibly and not with illogical statements”, these two after Adiwardana et al. 2020. Ma et al. 2023, §3.2,
rank responses on one context, by their question of a turn (§2.1: most appropriate to continue the conversation).
"""

from __future__ import annotations

from collections.abc import Mapping

PW_DIALOG_QUESTIONS: dict[str, str] = {
    "preference": "Who would you prefer to talk to for a long conversation?",
    "humanness": "Which speaker sounds more human?",
    "interestingness": (
        "If you had to say one of these speakers is interesting and one is boring, who would you say is more interesting?"
    ),
}
PAIR_SPEAKERS = ("Speaker 1", "Speaker 2")
"""What the judged speakers of two dialogues are called, on the left and on the right."""
PAIR_OPTIONS: dict[str, str] = dict(zip(("first", "second"), PAIR_SPEAKERS, strict=True))

SPOT_SPEAKERS = ("Speaker A", "Speaker B")
"""What the two speakers of one dialogue are called; A speaks first."""
LABEL_QUESTION = "Is {speaker} a human or a bot?"
LABEL_OPTIONS: dict[str, str] = {"human": "Human", "unsure": "Unsure", "bot": "Bot"}
FEATURE_QUESTIONS: dict[str, str] = {
    "fluent": "Whose lines are more fluent and grammatically correct?",
    "specific": "Whose lines are more specific to the given context of the conversation?",
    "sensible": "Who answers more sensibly, and not with illogical statements?",
}
FEATURE_OPTIONS: dict[str, str] = {"first": SPOT_SPEAKERS[0], "same": "The same", "second": SPOT_SPEAKERS[1]}

RANK_QUESTION = (
    "Rank the responses by how appropriate they are to continue the conversation: 1 is the most appropriate."
)
DIMENSIONS_QUESTION = "How do you rate the responses of the marked speaker in this conversation?"


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
        raise ValueError(f"there is no {what} {name!r}; choose one of: {', '.join(questions)}")
    return questions[name]
