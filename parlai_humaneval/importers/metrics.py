"""Questions as they were put → the metrics that they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from parlai_humaneval.techniques.criteria import CRITERIA
from parlai_humaneval.techniques.registry import PW_DIALOG, PW_TURN

UNNAMED = "unnamed"
"""Metric where neither the data nor the user says what was asked."""

_PARLAI = {
    "Which next response from your partner would be more interesting?": "interestingness",
    "How well does the speaker play their role in the conversation?": "roleplay",
    "Who talks about the image better?": "image",
    "If you had to say that one speaker is more knowledgeable and one is more ignorant, who is more knowledgeable?": (
        "knowledge"
    ),
}
"""Wordings of ParlAI's own task files that Smith et al. 2022 do not use."""


def _plain(question: str) -> str:
    return "".join(letter for letter in question.lower() if letter.isalnum())


def _by_words(questions: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    return {_plain(question): metric for question, metric in questions}


_CHOICES = _by_words(
    [
        *((question, metric) for metric, question in (*PW_TURN.questions.items(), *PW_DIALOG.questions.items())),
        *_PARLAI.items(),
    ]
)
_RATINGS = _by_words((criterion.text, name) for name, criterion in CRITERIA["likert"].items())


def metric_of(question: str | None) -> str:
    """The metric of a known wording; else the question itself, or :data:`UNNAMED` where there is none."""
    if question is None or not question.strip():
        return UNNAMED
    return _CHOICES.get(_plain(question), " ".join(question.split()))


def criterion_of(question: str) -> str | None:
    """The criterion of a known wording of a rating at the end."""
    return _RATINGS.get(_plain(question))
