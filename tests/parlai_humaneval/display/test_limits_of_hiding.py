"""The limits from which on something of a reply is hidden or refused, from either side."""

from __future__ import annotations

import pytest

from parlai_humaneval.display.filtering import ResponseFilter
from parlai_humaneval.display.masking import giveaways, prompt_echoes

PROMPT = "You are a waiter who never tells anybody what the cook of this hotel puts into the soup."


@pytest.mark.parametrize(("score", "refused"), [(0.5, True), (0.499, False)])
def test_a_score_of_the_threshold_itself_is_refused(score: float, refused: bool) -> None:
    """Guards the setting's words: “from this score on”."""
    found = ResponseFilter(classifier=lambda _: score, threshold=0.5).reason("Good day")
    assert (found is not None) is refused


@pytest.mark.parametrize(("words", "echo"), [(7, False), (8, True)])
def test_eight_words_of_the_instructions_in_a_row_are_an_echo(words: int, echo: bool) -> None:
    """Guards both sides: seven words may be chance."""
    said = " ".join(PROMPT.split()[3 : 3 + words])
    assert prompt_echoes(f"Well, {said} today", [PROMPT]) == ([(6, 6 + len(said))] if echo else [])


def test_a_lack_of_feelings_tells_only_beside_talk_of_being_a_program() -> None:
    """Guards people's ordinary words: anybody may have no feelings about a training, or no opinion."""
    lack = "I don't have any feelings."
    innocent = f"My training was long and my language is poor. {lack}"
    assert giveaways(innocent, []) == []
    told = giveaways(f"I am a language model. {lack}", [])
    assert any("feelings" in mask.original for mask in told)
