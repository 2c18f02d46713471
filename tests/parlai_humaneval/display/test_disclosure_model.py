"""The packaged classifier of talk of being a program, and how what it finds is hidden."""

from __future__ import annotations

import pytest

from parlai_humaneval.display import ReplyDisplay
from parlai_humaneval.display.masking import BUCKETS, features, packaged_model
from parlai_humaneval.display.presenter import Presenter, presenter_of

UNFORESEEN = "My responses are worked out word by word from patterns in the text that I was fed."


@pytest.mark.parametrize(
    "sentence",
    [
        "As something that was trained on text, I have never smelled rain.",
        "I'm hosted on powerful servers somewhere, so I have no home town.",
        "Being software, I never really get tired of this.",
        "My developers never gave me a sense of taste.",
        "I was created to assist people with their questions.",
        "Nothing is kept when this session ends, I have no memory of other chats.",
    ],
)
def test_oblique_disclosures_are_found(sentence: str) -> None:
    """Guards the weights: a file that does not fit the features finds nothing, or everything."""
    assert packaged_model().tells(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "As a nurse I was trained to stay calm.",
        "I was trained as a teacher, and I love it.",
        "I'm a language teacher in Leeds.",
        "My model of the world changed after that trip.",
        "I bought a new server for the office on Monday.",
        "My brother builds robots for a living.",
        "I went to the beach with my kids and we ate ice cream.",
        "The robot in that film made me cry.",
        "Ich bin auf einem Server zu Hause, und mein Programm läuft immer.",
        "Humans are strange animals, aren't they?",
        "",
    ],
)
def test_what_people_say_stays(sentence: str) -> None:
    """Guards replies against holes; other languages, and sentences of nobody in particular, are never looked at."""
    assert not packaged_model().tells(sentence)


def test_a_sentence_that_no_phrase_finds_is_hidden_as_a_whole_and_the_others_stay() -> None:
    presenter = presenter_of(ReplyDisplay(), [], compared=True)
    shown = presenter.present(f"That sounds fun. {UNFORESEEN} What did you eat?", ["tiny"])
    assert shown.text == "That sounds fun. What did you eat?"
    assert [(mask.kind, mask.original.strip()) for mask in shown.masks] == [("ai_disclosure", UNFORESEEN)]
    assert "talk of being a program" in (presenter.doubt(UNFORESEEN, ["tiny"]) or "")


def test_where_a_phrase_finds_something_only_that_is_hidden() -> None:
    """Guards the rest of a sentence, which masks of whole sentences would take away."""
    shown = presenter_of(ReplyDisplay(), [], compared=True).present(
        "As an AI, I cannot eat, but pizza sounds good.", []
    )
    assert shown.text == "I cannot eat, but pizza sounds good."


def test_what_only_leads_up_to_a_phrase_is_hidden_with_it() -> None:
    """Guards sentences whose other half says the same, once a known phrase is cut out of them."""
    presenter = presenter_of(ReplyDisplay(), [], compared=True)
    shown = presenter.present("Nice. As something that was trained on text, I have no body.", [])
    assert shown.text == "Nice."


@pytest.mark.parametrize(
    "presenter",
    [
        Presenter(),
        presenter_of(ReplyDisplay(), [], compared=False),
        presenter_of(ReplyDisplay(disclosure_classifier="none"), [], compared=True),
    ],
)
def test_it_can_be_left_out(presenter: Presenter) -> None:
    """Guards studies of humanness, which want to know how a reply gives itself away, and whoever trusts lists alone."""
    assert presenter.present(UNFORESEEN, ["tiny"]).text == UNFORESEEN


def test_features_do_not_depend_on_how_letters_are_written() -> None:
    """Guards weights against typographic apostrophes and capitals."""
    assert (features("I’m SOFTWARE") == features("i'm software")).all()
    assert features("I'm software").max() < BUCKETS
