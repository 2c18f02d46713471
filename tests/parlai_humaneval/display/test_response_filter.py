"""What no person should read in a reply: found by words, by a file of words, by a function; masked or refused."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import ValidationError

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.display import ReplyDisplay
from parlai_humaneval.display.filtering import ResponseFilter, load_classifier, read_words
from parlai_humaneval.display.presenter import Presenter, presenter_of


def shouting(text: str) -> float:
    """Scores by capital letters."""
    return sum(character.isupper() for character in text) / max(1, len(text))


def breaking(text: str) -> float:
    """A classifier whose model is not there."""
    raise RuntimeError("no model loaded")


@pytest.fixture
def scorers(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an importable module of scoring functions."""
    module: Any = ModuleType("scorers_of_a_test")
    module.shouting, module.breaking, module.nothing = shouting, breaking, lambda _: float("nan")
    module.number = 3
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return str(module.__name__)


def test_masks_hide_the_words_and_keep_the_rest() -> None:
    """Words of both lists, phrases and endings are hidden, and so are names; nothing is refused."""
    presenter = Presenter(response_filter=ResponseFilter(["pineapple", "odd phrase", "foul*"]))
    shown = presenter.present("Shit, an odd  phrase: Pineapples, pineapple and foulness of ChatGPT.", [])
    assert shown.text == "[…], an […]: Pineapples, […] and […] of [name]."
    assert [mask.kind for mask in shown.masks] == ["offensive"] * 4 + ["name"]
    assert presenter.refuse("Shit") is None, "masking shows the rest"


def test_blocking_refuses_with_the_words() -> None:
    """The record says which words; innocent words that hold them pass."""
    presenter = Presenter(response_filter=ResponseFilter(), block=True)
    assert presenter.refuse("What a sh1t day, shit") == "offensive: sh1t, shit"
    assert presenter.refuse("I read Moby Dick on my balcony.") is None


def test_words_that_are_hidden_by_looks_are_found() -> None:
    """Guards against bold letters and unseen characters between them."""
    presenter = Presenter(appearance="plain", response_filter=ResponseFilter(["pineapple"]), block=True)
    assert presenter.refuse("pine**apple**") == "offensive: pineapple"
    assert presenter.refuse("pine\u200bapple") == "offensive: pineapple"


@pytest.mark.parametrize(
    ("text", "changes"),
    [("😀", "emoji"), ("---", "markdown"), ("\u3164", "control_characters"), ("<think>x</think>", "reasoning")],
)
def test_a_reply_of_which_nothing_is_left_is_refused(text: str, changes: str) -> None:
    """Guards raters against an empty card."""
    reason = Presenter(appearance="plain", emoji="strip").refuse(text)
    assert reason is not None
    assert changes in reason


def test_a_function_of_ones_own_scores_replies(scorers: str) -> None:
    """Guards the classifier of a study's conf, and its threshold."""
    looks = ReplyDisplay(filter="block", filter_classifier=f"{scorers}:shouting", filter_threshold=0.8)
    presenter = presenter_of(looks, [], compared=False)
    assert presenter.refuse("Good day") is None
    assert presenter.refuse("GOOD") == "the classifier gave 1"


@pytest.mark.parametrize("name", ["breaking", "nothing"])
def test_a_classifier_that_breaks_lets_nothing_through(scorers: str, name: str) -> None:
    """Guards raters: what nobody could check is not shown."""
    looks = ReplyDisplay(filter="block", filter_classifier=f"{scorers}:{name}")
    reason = presenter_of(looks, [], compared=False).refuse("Good day")
    assert reason is not None
    assert reason.startswith("the classifier failed")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_colon", "expected module:function"),
        ("no_such_module:f", "cannot be imported"),
        ("{}:absent", "cannot be imported"),
        ("{}:number", "is not a function"),
    ],
)
def test_a_classifier_that_is_not_there(scorers: str, name: str, said: str) -> None:
    """Guards the start of a launch: what is wrong with the name is said before a rater comes."""
    with pytest.raises(DataError, match=said):
        load_classifier(name.format(scorers))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        (b"# only this\n\n", "holds no words"),
        (b"good\n***\n", "is not a word"),
        (b"\xff\xfe", "is not text in UTF-8"),
    ],
)
def test_a_words_file_that_cannot_be_used(tmp_path: Path, content: bytes | None, said: str) -> None:
    """Guards a study against a filter that filters nothing."""
    file = tmp_path / "words.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_words(file)


def test_words_of_a_file_are_used(tmp_path: Path) -> None:
    """Comments are no words."""
    file = tmp_path / "words.txt"
    file.write_text("# of this study\npineapple\n", encoding="utf-8")
    presenter = presenter_of(ReplyDisplay(filter="mask", filter_words_file=str(file)), [], compared=False)
    assert presenter.present("No pineapple!", []).text == "No […]!"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"filter_words_file": "w.txt"}, "do nothing with filter=none"),
        ({"filter": "mask", "filter_classifier": "a:b"}, "say filter=block"),
        ({"max_chars": 5}, "greater than or equal to 20"),
        ({"appearence": "plain"}, "Extra inputs"),
    ],
)
def test_settings_that_do_not_go_together(settings: dict[str, Any], said: str) -> None:
    """Guards settings that would do nothing, or not what they say."""
    with pytest.raises(ValidationError, match=said):
        ReplyDisplay.model_validate(settings)


@pytest.mark.parametrize(
    ("asked", "compared", "hidden"),
    [(None, True, True), (None, False, False), (True, False, True), (False, True, False)],
)
def test_when_talk_of_being_a_program_is_hidden(asked: bool | None, compared: bool, hidden: bool) -> None:
    """Hidden where models are compared; a study's own word goes before that."""
    presenter = presenter_of(ReplyDisplay(hide_ai_talk=asked), [], compared=compared)
    assert ("[…]" in presenter.present("I'm an AI.", []).text) is hidden


def test_instructions_of_the_models_in_play_are_not_repeated() -> None:
    """Guards blindness: a model's system prompt is known from its options, and hidden in any reply."""
    options = [{"model": "x"}, {"system_prompt": "You are a very polite waiter in an old hotel by the sea."}]
    presenter = presenter_of(ReplyDisplay(), options, compared=False)
    assert presenter.present("You are a very polite waiter in an old hotel!", []).text == "[…]!"
