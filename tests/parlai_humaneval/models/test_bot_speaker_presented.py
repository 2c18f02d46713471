"""Replies as they are shown: what is recorded of them, what all models hear, and which are asked for again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from parlai.core.params import ParlaiParser

from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.display.filtering import ResponseFilter
from parlai_humaneval.display.presenter import Presenter
from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent, UnknownCandidate, presenter_from
from parlai_humaneval.models.model_pool import ModelFailed

PLAIN = Presenter(appearance="plain", emoji="strip", max_chars=40, ai_talk=True)
BLOCKING = Presenter(response_filter=ResponseFilter(["pineapple"]), block=True)
RICH = "**Hello** 😀 there!\n\n- I'm ChatGPT, as an AI I like lists\n- and tables"


def human(text: str) -> dict[str, Any]:
    return {"id": "human", "text": text, "episode_done": False}


def by_model(message: Any) -> dict[str, Any]:
    return {candidate["model"]: candidate for candidate in message["candidates"]}


@pytest.mark.parametrize("history", ["shared", "independent"])
def test_what_is_shown_is_what_goes_on(scripted_pool: Any, history: Any) -> None:
    """Guards the dialogue: raters answer what they saw, and so must the models; the model's own text is on record."""
    speaker = scripted_pool({"rich": lambda _: RICH, "plain": str.upper}).speaker(
        ["rich", "plain"], seed=0, history=history, presenter=PLAIN
    )
    speaker.observe(human("Hi"))
    candidate = by_model(speaker.act())["rich"]
    assert candidate["text"] == "Hello there!\nI'm [name], I…"
    assert candidate["raw_text"] == RICH
    assert candidate["changes"] == ["markdown", "emoji", "length"]
    assert [mask["kind"] for mask in candidate["masks"]] == ["name", "ai_disclosure"]
    assert speaker.accept(candidate["candidate_id"]) == candidate["text"]
    assert speaker.dialogue_of("rich")[-1] == ("bot", candidate["text"])
    assert speaker.dialogue_of("plain")[-1] == ("bot", candidate["text"] if history == "shared" else "HI")


def test_replies_that_look_alike_in_the_end_share_a_card(scripted_pool: Any) -> None:
    """Guards a choice between two things that are the same to the eye."""
    pool = scripted_pool({"a": lambda _: "**Yes.**", "b": lambda _: "Yes. 😀"})
    speaker = pool.speaker(["a", "b"], seed=0, presenter=PLAIN)
    speaker.observe(human("Hi"))
    assert speaker.act()["text_candidates"] == ["Yes."]


def test_a_blocked_reply_is_asked_for_again(scripted_pool: Any) -> None:
    """Once offensive, then not: the person sees the second only, and it counts."""
    tries = iter(["pineapple!", "apple"])
    pool = scripted_pool({"a": lambda _: next(tries), "b": str.upper}, retries=1)
    speaker = pool.speaker(["a", "b"], seed=0, presenter=BLOCKING)
    speaker.observe(human("Hi"))
    candidate = by_model(speaker.act())["a"]
    assert (candidate["text"], candidate["failed"], candidate["blocked"]) == ("apple", False, None)


def test_what_stays_blocked_is_recorded_and_never_shown(scripted_pool: Any) -> None:
    """Guards the person: no card, no place, nothing that can be accepted; and the record, which says why."""
    pool = scripted_pool({"bad": lambda _: "Pineapple!", "b": str.upper, "c": str.lower}, retries=1)
    speaker = pool.speaker(["bad", "b", "c"], seed=0, presenter=BLOCKING)
    speaker.observe(human("Hi"))
    message = speaker.act()
    bad = by_model(message)["bad"]
    assert (bad["text"], bad["failed"], bad["position"]) == ("", True, 0)
    assert (bad["blocked"], bad["raw_text"]) == ("offensive: Pineapple", "Pineapple!")
    assert sorted(message["text_candidates"]) == ["HI", "hi"]
    with pytest.raises(UnknownCandidate):
        speaker.accept(bad["candidate_id"])


def test_with_nothing_left_to_compare_the_turn_fails(scripted_pool: Any) -> None:
    """Guards against a comparison with one card."""
    pool = scripted_pool({"bad": lambda _: "Pineapple!", "b": str.upper}, retries=0)
    speaker = pool.speaker(["bad", "b"], seed=0, presenter=BLOCKING)
    speaker.observe(human("Hi"))
    with pytest.raises(ModelFailed, match="no reply that may be shown"):
        speaker.act()


def options(*words: str) -> Any:
    parser = ParlaiParser(False, False)
    BotSpeakerAgent.add_cmdline_args(parser)
    return parser.parse_args(["--models", "eliza", *words])


def test_the_command_line_has_the_same_settings(scripted_pool: Any, tmp_path: Path) -> None:
    """Guards `parlai interactive`: every setting of a conf has its option."""
    file = tmp_path / "words.txt"
    file.write_text("pineapple\n", encoding="utf-8")
    opt = options(
        *(
            "--reply-appearance",
            "plain",
            "--reply-emoji",
            "strip",
            "--reply-max-chars",
            "40",
            "--reply-hide-ai-talk",
            "true",
        ),
        *("--reply-filter", "block", "--reply-filter-words-file", str(file)),
    )
    presenter = presenter_from(opt, scripted_pool({"a": str.upper}))
    assert presenter.present(RICH, []) == PLAIN.present(RICH, [])
    assert presenter.refuse("Pineapple!") == "offensive: Pineapple"


def test_the_command_line_changes_nothing_unasked(scripted_pool: Any) -> None:
    """Guards replies as ParlAI's users know them: without options they stay as said."""
    presenter = presenter_from(options(), scripted_pool({"a": str.upper}))
    text = "**As an AI** 😀 " + "word " * 5000
    assert presenter.present(text, []).text == text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--reply-filter-classifier", "a:b"], "set filter=mask or block"),
        (["--reply-filter", "block", "--reply-filter-classifier", "no_such_module:f"], "cannot be imported"),
        (["--reply-max-chars", "3"], "--reply-max-chars: must be 20 or more, not 3"),
    ],
)
def test_wrong_options_are_refused_with_what_to_do(scripted_pool: Any, words: list[str], said: str) -> None:
    """Guards the start: an option that cannot be used is named."""
    with pytest.raises(HumanevalError, match=said):
        presenter_from(options(*words), scripted_pool({"a": str.upper}))


def test_the_agent_itself_shows_by_its_options() -> None:
    """`parlai interactive -m parlai_humaneval/bot_speaker --reply-…`, and every clone of it."""
    agent = BotSpeakerAgent(options("--reply-filter", "mask"))
    try:
        for one in (agent, agent.clone()):
            assert isinstance(one._presenter, Presenter)
            assert one._presenter.response_filter is not None
    finally:
        agent.shutdown()
