"""What looks for give-aways is made when a study is set up, and not while a rater waits for the first reply."""

from __future__ import annotations

import pytest

from parlai_humaneval.display import ReplyDisplay
from parlai_humaneval.display import patterns as phrases
from parlai_humaneval.display import vocabulary as identity_names
from parlai_humaneval.display.presenter import Presenter, presenter_of
from parlai_humaneval.display.vocabulary import Vocabulary, packaged

NAMES = ["retrieval", "tiny_bot"]
REPLY = "As an AI, I was trained by my developers, and I do not have a body. What about you?"


def test_no_reply_waits_for_a_vocabulary_once_it_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the first reply of a study: it took three seconds longer, in which the words of all languages were read."""
    presenter = Presenter(ai_talk=True, vocabulary=Vocabulary(packaged().words))  # nothing is kept for it
    presenter.prepare(NAMES).join()

    def too_late(*_: object, **__: object) -> None:
        raise AssertionError("it is made while a reply waits")

    for module, name in ((phrases, "read_phrase"), (identity_names, "filled"), (identity_names, "name_part")):
        monkeypatch.setattr(module, name, too_late)
    assert presenter.present("I am tiny_bot.", list(reversed(NAMES))).text == "I am [name]."
    compiled = phrases._compiled.cache_info().misses
    assert "AI" not in presenter.present(REPLY, NAMES).text
    assert phrases._compiled.cache_info().misses - compiled <= 5


def test_a_presenter_is_prepared_for_the_models_in_play(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards that tasks and the Bot Speaker, which say who is in play, have it done at once."""
    prepared: list[list[str]] = []
    monkeypatch.setattr(Presenter, "prepare", lambda _, names: prepared.append(list(names)))
    presenter_of(ReplyDisplay(), [], compared=True)
    presenter_of(ReplyDisplay(), [], compared=True, names=iter(NAMES))
    assert prepared == [NAMES]
