"""Replies that give their model away: it is asked again first, and masked only where that does not help."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.display import ReplyDisplay
from parlai_humaneval.display.filtering import ResponseFilter, TextJudge
from parlai_humaneval.display.presenter import Presenter, presenter_of
from parlai_humaneval.models.bot_speaker.bot_speaker import presenter_from

BLIND = Presenter(ai_talk=True, ask_again=2)
NICE = Presenter(ai_talk=True, ask_again=2, response_filter=ResponseFilter(["pineapple"]), block=True)
AWAY = "As an AI language model, I like tea."


def saying(*replies: str | Exception) -> Callable[[str], str]:
    """A model that says ``replies``, one at a time."""
    left: Iterator[str | Exception] = iter(replies)

    def reply(_: str) -> str:
        said = next(left)
        if isinstance(said, Exception):
            raise said
        return said

    return reply


def asked(pool: Any, presenter: Presenter, *, on_delay: Any = None) -> dict[str, Any]:
    """The candidate of the model ``m``, which stands beside one that says nothing of itself."""
    speaker = pool.speaker(["m", "other"], seed=0, presenter=presenter)
    speaker.observe({"id": "human", "text": "Tea?", "episode_done": False})
    return next(c for c in speaker.act(on_delay)["candidates"] if c["model"] == "m")


@pytest.fixture
def candidate(scripted_pool: Any) -> Callable[..., dict[str, Any]]:
    """``candidate(reply, reply, …, presenter=…)``: what becomes of the model's words."""

    def make(*replies: str | Exception, presenter: Presenter = BLIND, **arguments: Any) -> dict[str, Any]:
        pool = scripted_pool({"m": saying(*replies), "other": str.upper}, retries=1)
        return asked(pool, presenter, **arguments)

    return make


def test_the_second_words_are_shown_as_they_are_and_the_first_are_on_record(candidate: Any) -> None:
    """Guards the reply: nothing is cut out of it as long as the model can say it otherwise; and the record of the reason."""
    words: list[str] = []
    shown = candidate(AWAY, "I like tea.", on_delay=words.append)
    assert (shown["text"], shown["masks"], shown["raw_text"]) == ("I like tea.", [], None)
    reason = "gives itself away: talk of being a program, “As an AI language model, ”"
    assert [(said["text"], said["reason"]) for said in shown["asked_again"]] == [(AWAY, reason)]
    assert words == []  # nothing went wrong


def test_a_name_counts_as_well(candidate: Any) -> None:
    """Guards the pairs of an arena, where “I am ChatGPT” decides."""
    shown = candidate("I am ChatGPT.", "I am glad.")
    assert shown["text"] == "I am glad."
    assert "a model's name, “ChatGPT”" in shown["asked_again"][0]["reason"]


def test_what_is_said_every_time_is_masked_in_the_end(candidate: Any) -> None:
    """Guards the turn: a model that cannot but tell is neither failed nor asked for ever."""
    shown = candidate(AWAY, "I am ChatGPT, who likes tea.", "Being a chatbot, I like tea.")
    assert "chatbot" not in shown["text"]
    assert shown["masks"]
    assert len(shown["asked_again"]) == 2


def test_the_same_words_twice_are_enough(candidate: Any) -> None:
    """Guards the rater's time: a greedy model would say the same a third time."""
    shown = candidate(AWAY, AWAY)
    assert shown["text"] == "I like tea."
    assert len(shown["asked_again"]) == 1


def test_asking_again_takes_no_try_from_failures(candidate: Any) -> None:
    """One retry, two doubts and a failure: the failure is not the second time that something went wrong."""
    shown = candidate(RuntimeError("hiccup"), AWAY, "I am ChatGPT.", "Tea it is.")
    assert shown["text"] == "Tea it is."
    assert len(shown["asked_again"]) == 2


def test_one_that_breaks_when_asked_again_is_shown_with_what_it_said(candidate: Any) -> None:
    """Guards the conversation: there are words, if not the best ones."""
    shown = candidate(AWAY, RuntimeError("gone"))
    assert (shown["text"], shown["failed"]) == ("I like tea.", False)
    assert shown["raw_text"] == AWAY
    assert shown["asked_again"] == []


def test_a_refused_reply_is_on_record_as_well(candidate: Any) -> None:
    """Guards the count of what a filter took from a model."""
    shown = candidate("Pineapple!", "An apple.", presenter=NICE)
    assert [said["reason"] for said in shown["asked_again"]] == ["offensive: Pineapple"]


def test_nobody_is_asked_again_where_the_setting_says_so(candidate: Any) -> None:
    """Guards `ask_again: 0`, and ParlAI's command line, where that is the default."""
    shown = candidate(AWAY, presenter=Presenter(ai_talk=True))
    assert (shown["text"], shown["asked_again"]) == ("I like tea.", [])


def test_the_chance_is_another_one(scripted_pool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards seeded models: with the chance of before, they would say the same again, in later turns as well as in the
    first."""
    pool = scripted_pool({"m": saying(AWAY, "I like tea.", AWAY, "I do."), "other": str.upper})
    seeds: list[int] = []
    kind = type(pool.worker("m").agent)
    monkeypatch.setattr(kind, "set_seed", lambda self, seed: seeds.append(seed), raising=False)
    speaker = pool.speaker(["m", "other"], seed=0, presenter=BLIND)
    begun = list(seeds)
    for turn in ("Tea?", "Really?"):
        speaker.observe({"id": "human", "text": turn, "episode_done": False})
        speaker.act()
    assert len(seeds) == len(begun) + 2
    assert len(set(seeds)) == len(set(begun)) + 2


def robot(text: str) -> float:
    """A classifier of somebody's own."""
    return float("beep" in text)


OWN = Presenter(ai_talk=True, ask_again=1, disclosures=TextJudge(robot))


def test_a_classifier_of_ones_own_finds_what_no_list_has(candidate: Any) -> None:
    """Guards languages and manners that the lists do not know: asked again, and then without the sentence."""
    assert candidate("I beep. Tea?", "Tea?", presenter=OWN)["text"] == "Tea?"
    shown = candidate("I beep. Tea?", "We beep! Tea?", presenter=OWN)
    assert (shown["text"], [mask["kind"] for mask in shown["masks"]]) == ("Tea?", ["ai_disclosure"])


def test_what_the_classifier_finds_in_no_part_is_masked_as_a_whole(candidate: Any) -> None:
    """Guards blindness where no sentence by itself is telling, and the turn, which a mask does not end."""

    def long_robot(text: str) -> float:
        return float(text.count("beep") > 1)

    presenter = Presenter(ai_talk=True, disclosures=TextJudge(long_robot))
    shown = candidate("One beep. Two: beep.", presenter=presenter)
    assert (shown["text"], shown["raw_text"]) == ("[…]", "One beep. Two: beep.")


def broken(text: str) -> float:
    """A classifier that breaks."""
    raise ValueError(text)


def test_a_classifier_that_breaks_lets_nothing_pass() -> None:
    """Guards blindness: what nobody could check is not shown."""
    presenter = Presenter(ai_talk=True, disclosures=TextJudge(broken, of="mine"))
    assert presenter.refuse("Tea?") == "mine failed: ValueError"


def test_the_classifier_is_named_in_the_settings(scripted_pool: Any) -> None:
    """Guards confs and the command line: the same setting in both, and a clear word for a wrong one."""
    looks = ReplyDisplay(disclosure_classifier=f"{__name__}:robot")
    assert presenter_of(looks, [], compared=True).present("I beep. Tea?", []).text == "Tea?"
    assert presenter_of(looks, [], compared=False).present("I beep. Tea?", []).text == "I beep. Tea?"
    with pytest.raises(DataError, match="disclosure_classifier: nowhere:robot cannot be imported"):
        presenter_of(ReplyDisplay(disclosure_classifier="nowhere:robot"), [], compared=True)
    with pytest.raises(ValueError, match="does nothing with hide_ai_talk=false"):
        ReplyDisplay(disclosure_classifier=f"{__name__}:robot", hide_ai_talk=False)
    pool = scripted_pool({"a": str.upper})
    presenter = presenter_from({"reply_ask_again": 3, "reply_max_chars": 0}, pool)
    assert presenter.ask_again == 3
    with pytest.raises(DataError, match="disclosure_classifier"):
        presenter_from({"reply_disclosure_classifier": "robot", "reply_hide_ai_talk": True, "reply_max_chars": 0}, pool)
