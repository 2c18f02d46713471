"""Scales whose points are told: FFAEval's as printed, and one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.steps import asked
from parlai_humaneval.techniques.questions import DIMENSIONS, dimensions_for

PAPER = Path(__file__).parents[4] / "shared" / "papers" / "ma2023_ffaeval.txt"
TASTE = {"name": "taste", "text": "How does it taste?", "hints": ["Bad.", "Good."]}


def test_ma_et_al_2023_have_six_dimensions_of_three_points_and_an_overall_one_of_five() -> None:
    points = {name: dimension.maximum for name, dimension in DIMENSIONS.items()}
    assert points == {
        "coherence": 3,
        "informativeness": 3,
        "safety": 3,
        "inspiration": 3,
        "engagingness": 3,
        "faithfulness": 3,
        "overall": 5,
    }


def test_instructions_are_those_of_their_table_3() -> None:
    """Letter by letter, beside spaces and the signs of lists; and in the order of the points."""
    if not PAPER.is_file():
        pytest.skip("the text of the paper is not here")
    printed = "".join(PAPER.read_text(encoding="utf-8").split())
    for dimension in DIMENSIONS.values():
        places = []
        for hint in dimension.hints:
            for sentence in hint.replace(". ", ".\n").split("\n"):
                assert "".join(sentence.split()) in printed, sentence
                places.append(printed.index("".join(sentence.split())))
        assert places == sorted(places), dimension.name


def test_coherence_word_for_word() -> None:
    assert DIMENSIONS["coherence"].hints == (
        "The response is irrelevant to the context of the dialogue. The response is simply a restatement of the context. "
        "There is a contradiction between the response and the context.",
        "There is a minor conflict between the response and the context. "
        "There is a slight logical conflict in the response.",
        "The responses are contextual and consistent.",
    )


def test_names_and_ones_own_stand_side_by_side_in_the_order_given() -> None:
    found = dimensions_for(["overall", TASTE, "safety"])
    assert [one.name for one in found] == ["overall", "taste", "safety"]
    assert found[1].hints == ("Bad.", "Good.")


def test_records_say_from_where_to_where_each_scale_goes() -> None:
    shown = {"technique": "third_party", "metric": "quality", "show": "whole", "dialogues": ["packaged"]}
    (question,) = asked(StaticConfig.model_validate({**shown, "scales": ["coherence", "overall", TASTE]}))
    records = question.criteria
    assert [(one.name, one.scale, one.minimum, one.maximum) for one in records] == [
        ("coherence", "points", 1, 3),
        ("overall", "points", 1, 5),
        ("taste", "points", 1, 2),
    ]
    assert [one.text for one in records] == ["Coherence", "Overall", "How does it taste?"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (["coherent"], "unknown scale 'coherent'; choose one of: coherence, informativeness"),
        ([{"name": "taste", "text": "How does it taste?"}], "with a sentence for each point"),
        ([{**TASTE, "hints": ["Only one."]}], "2 to 11"),
        ([{**TASTE, "hints": ["Bad.", " "]}], "with a sentence for each point"),
        ([{**TASTE, "points": 3}], "with a sentence for each point"),
        (["safety", "overall", "safety"], "are listed twice: safety"),
    ],
)
def test_what_cannot_be_meant_is_told(wanted: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dimensions_for(wanted)  # type: ignore[arg-type]  # wrong on purpose
