"""Which replies of a turn get a card, where it stands, and whom it stands for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parlai_humaneval.display.text import is_blank
from parlai_humaneval.models.bot_speaker.bot_speaker import (
    UnknownCandidate,
    card_of,
    lay_out,
    shown_cards,
    standing_for,
    to_candidate,
)
from parlai_humaneval.models.model_pool import ModelFailed
from parlai_humaneval.models.pool.asking import Answer
from parlai_humaneval.schema.records import Candidate

TEXTS = st.sampled_from(["Yes.", " Yes. ", "No.", "I  do.", "I\ndo.", "yes.", "Well", "", " ", "\u200b"]) | st.text()
REPLIES = st.lists(TEXTS, min_size=1, max_size=8)

SIDE_BY_SIDE: dict[str, Any] = {"history": "independent", "order": "fixed"}


def placed(*texts: str, merge: bool = True) -> list[Candidate]:
    """Texts of models m0, m1, … as a turn shows them, in that order; an empty text is a failed one."""
    each = [to_candidate(f"m{i}", Answer(text, 0.1, failed=not text), []) for i, text in enumerate(texts)]
    return lay_out(each, range(len(each)), merge=merge)


def test_equal_texts_share_a_card() -> None:
    """Guards the choice between two things that are the same; white space does not tell them apart, case does."""
    turn = placed("Yes.", "No.", " Yes. ", "yes.", "No.")
    assert [candidate.position for candidate in turn] == [1, 2, 1, 3, 2]
    first, second = turn[0].candidate_id, turn[1].candidate_id
    assert [candidate.same_as for candidate in turn] == [None, None, first, None, second]
    assert [candidate.model for candidate in shown_cards(turn)] == ["m0", "m1", "m3"]
    assert standing_for(turn, first) == [first, turn[2].candidate_id]
    assert standing_for(turn, turn[2].candidate_id) == [first, turn[2].candidate_id]
    assert standing_for(turn, turn[3].candidate_id) == [turn[3].candidate_id]
    assert turn[2].text == " Yes. ", "each keeps its own words in the record"
    assert card_of(turn, turn[2].candidate_id).text == "Yes."


def test_texts_that_masking_makes_equal_share_a_card() -> None:
    """Guards what the rater sees: “I am Claude.” and “I am Llama.” are both shown as “I am [name].”"""
    turn = placed("I am Claude.", "I am Llama.")
    assert [candidate.text for candidate in shown_cards(turn)] == ["I am [name]."]
    assert [candidate.raw_text for candidate in turn] == ["I am Claude.", "I am Llama."]


def test_without_merging_everybody_has_a_card() -> None:
    """Guards side-by-side partners, who both stand there whatever they say."""
    turn = placed("Yes.", "Yes.", merge=False)
    assert [(candidate.position, candidate.same_as) for candidate in turn] == [(1, None), (2, None)]


def test_a_failed_candidate_has_no_card_and_stands_last() -> None:
    """Guards positions without holes, and credit for a reply that nobody saw."""
    turn = placed("", "Yes.", "Yes.", "No.")
    assert [(c.model, c.position, c.failed) for c in turn] == [
        ("m1", 1, False), ("m2", 1, False), ("m3", 2, False), ("m0", 0, True),
    ]  # fmt: skip
    with pytest.raises(UnknownCandidate, match="blank"):
        standing_for(turn, turn[-1].candidate_id)
    with pytest.raises(UnknownCandidate, match="0123"):
        standing_for(turn, "0123")


@pytest.mark.parametrize(
    ("text", "blank"),
    [
        ("", True),
        (" \t\n", True),
        ("\u200b\ufeff", True),
        ("\u00a0\u2028", True),
        (".", False),
        ("👍", False),
        ("\u200bHi", False),
    ],
)
def test_blank_is_what_nobody_can_see(text: str, blank: bool) -> None:
    """Guards a card that looks empty: zero-width characters are no text, a full stop is."""
    assert is_blank(text) is blank


@pytest.fixture
def reading_pool(scripted_pool: Any) -> Any:
    """Eight models; a message is a list in JSON, of which each reads its own reply."""

    def reader(place: int) -> Any:
        return lambda text: json.loads(text)[place]

    return scripted_pool({f"m{place}": reader(place) for place in range(8)}, retries=0)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=REPLIES, seed=st.integers(0, 99), side_by_side=st.booleans())
def test_any_replies_of_any_number_of_models(
    reading_pool: Any, texts: list[str], seed: int, side_by_side: bool
) -> None:
    """Guards the whole of a turn: nobody is lost, nobody stands twice, cards are numbered without holes."""
    models = [f"m{place}" for place in range(len(texts))]
    speaker = reading_pool.speaker(models, seed=seed, **(SIDE_BY_SIDE if side_by_side else {}))
    speaker.observe({"text": json.dumps(texts), "episode_done": False})
    spoke = {model for model, text in zip(models, texts, strict=True) if not is_blank(text)}
    if len(spoke) < min(2, len(models)):
        with pytest.raises(ModelFailed, match="no text") as failure:
            speaker.act()
        assert set(failure.value.models) == set(models) - spoke
        return

    message = speaker.act()
    turn = [Candidate(**candidate) for candidate in message["candidates"]]
    model_of = {candidate.candidate_id: candidate.model for candidate in turn}
    cards = shown_cards(turn)
    assert sorted(candidate.model for candidate in turn) == models
    assert [card.position for card in cards] == list(range(1, len(cards) + 1))
    assert message["text_candidates"] == [card.text for card in cards]
    assert message["text"] == cards[0].text
    assert not any(is_blank(text) for text in message["text_candidates"])
    shown_for = [model_of[each] for card in cards for each in standing_for(turn, card.candidate_id)]
    assert len(shown_for) == len(set(shown_for)), "no model stands behind two cards"
    assert set(shown_for) == spoke
    assert {candidate.model for candidate in turn if candidate.failed} == set(models) - spoke
    distinct = {" ".join(card.text.split()) for card in cards}
    assert len(cards) == (len(spoke) if side_by_side else len(distinct))
    at = {candidate.candidate_id: candidate.position for candidate in cards}
    assert all(candidate.position == at[candidate.same_as] for candidate in turn if candidate.same_as)
