"""The wordings are the published ones, letter by letter."""

from __future__ import annotations

import pytest

from parlai_humaneval.techniques.registry import PW_TURN, technique


@pytest.mark.parametrize(
    ("metric", "question"),
    [
        ("preference", "Which next response from your partner would you prefer in a long conversation?"),
        (
            "interestingness",
            "If you had to say one of these responses is interesting and one is boring, "
            "which would you say is more interesting?",
        ),
        ("humanness", "Which next response from your partner sounds more human?"),
    ],
)
def test_pw_turn_asks_as_smith_et_al_2022_section_3_1_2(metric: str, question: str) -> None:
    assert technique("pw_turn").question(metric) == question


def test_pw_turn_has_the_three_metrics_of_the_paper() -> None:
    assert set(PW_TURN.questions) == {"preference", "humanness", "interestingness"}


def test_unknown_metrics_and_techniques_name_those_there_are() -> None:
    with pytest.raises(ValueError, match="preference, humanness, interestingness"):
        technique("pw_turn").question("engagingness")
    with pytest.raises(
        ValueError, match=r"no technique 'pw_trun'\. Did you mean pw_turn\? Choose one of:\n  pw_turn +PW-Turn \(Smith"
    ):
        technique("pw_trun").question("preference")
