"""What is asked about finished dialogues: the published wordings, and words of the papers where they print no question."""

from __future__ import annotations

import pytest

from parlai_humaneval.techniques.questions import (
    FEATURE_OPTIONS,
    FEATURE_QUESTIONS,
    LABEL_OPTIONS,
    PAIR_OPTIONS,
    PW_DIALOG_QUESTIONS,
    feature_question,
    label_questions,
    pair_question,
)
from parlai_humaneval.techniques.registry import technique


@pytest.mark.parametrize(
    ("metric", "question"),
    [
        ("preference", "Who would you prefer to talk to for a long conversation?"),
        ("humanness", "Which speaker sounds more human?"),
        (
            "interestingness",
            "If you had to say one of these speakers is interesting and one is boring, "
            "who would you say is more interesting?",
        ),
    ],
)
def test_pw_dialog_asks_as_smith_et_al_2022_section_3_1_3(metric: str, question: str) -> None:
    assert pair_question(metric) == technique("pw_dialog").question(metric) == question


def test_pw_dialog_has_the_three_metrics_of_the_paper_and_two_answers() -> None:
    assert set(PW_DIALOG_QUESTIONS) == {"preference", "humanness", "interestingness"}
    assert PAIR_OPTIONS == {"first": "Speaker 1", "second": "Speaker 2"}


def test_each_speaker_is_labelled_human_or_bot_or_unsure() -> None:
    """Deriu et al. 2020, §3.1; whoever speaks first is A, and is asked about first."""
    assert label_questions() == {
        "label_0": "Is Speaker A a human or a bot?",
        "label_1": "Is Speaker B a human or a bot?",
    }
    assert list(LABEL_OPTIONS) == ["human", "unsure", "bot"]


@pytest.mark.parametrize(
    ("feature", "words"),
    [
        ("fluent", ["fluent", "grammatically correct"]),
        ("specific", ["specific", "given context"]),
        ("sensible", ["answers", "sensibly", "not with illogical statements"]),
    ],
)
def test_features_are_asked_in_the_words_of_deriu_et_al_2020_section_3_1(feature: str, words: list[str]) -> None:
    assert [word for word in words if word not in feature_question(feature)] == []


def test_features_are_the_three_of_the_paper_and_compare_the_two_speakers() -> None:
    assert list(FEATURE_QUESTIONS) == ["fluent", "specific", "sensible"]
    assert FEATURE_OPTIONS == {"first": "Speaker A", "same": "The same", "second": "Speaker B"}


def test_unknown_names_are_told_with_those_there_are() -> None:
    with pytest.raises(
        ValueError, match=r"no metric of two dialogues 'fun'; .*: preference, humanness, interestingness"
    ):
        pair_question("fun")
    with pytest.raises(ValueError, match="no feature 'fluency'; choose one of: fluent, specific, sensible"):
        feature_question("fluency")
    with pytest.raises(ValueError, match="rank, dimensions"):
        technique("third_party").question("order")
