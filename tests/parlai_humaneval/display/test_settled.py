"""What is shown of an unfinished reply is how the whole one begins: no mask comes too late."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.display.masking import packaged_model
from parlai_humaneval.display.presenter import Presenter, ReplySettings, presenter_of

NAMES = ["my_bot-7b", "retrieval"]
PROMPT = "You are a friendly helper who loves to talk about dogs and cats all day long."
SAID = [
    "I love dogs. ",
    "Do you live in a house, or in a flat in the middle of the town? ",
    "I don't have feelings. ",
    "As an AI language model, I cannot eat, but soup sounds nice. ",
    "I'm ChatGPT, made by OpenAI. ",
    "My name is my_bot-7b, and I was trained by Google on a lot of texts. ",
    "Well, who loves to talk about dogs and cats all day long? ",
    "My maker is Meta.\n\n",
    "We went to the cinema yesterday,\nand it rained all the way back home. ",
    "我喜欢喝茶，尤其是绿茶。",
    "我是一个人工智能语言模型。",
    "And then\n",
    "User: what? ",
    "<think>They ask what I am. I say nothing.</think>",
]
PRESENTERS = {
    "compared": Presenter(ai_talk=True, disclosure_model=packaged_model(), prompts=(PROMPT,), ask_again=2),
    "names": Presenter(prompts=(PROMPT,)),
    "markdown": Presenter(appearance="markdown", ai_talk=True, disclosure_model=packaged_model(), max_chars=400),
    "plain": Presenter(appearance="plain", ai_talk=True, max_chars=160, emoji="strip"),
}


@pytest.mark.parametrize("presenter", PRESENTERS.values(), ids=PRESENTERS)
@given(said=st.lists(st.sampled_from(SAID), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_what_is_settled_is_the_beginning_of_what_is_shown(presenter: Presenter, said: list[str]) -> None:
    """Whatever part has come: what it lets a rater see neither changes nor is hidden later."""
    text = "".join(said)
    whole = presenter.present(text, NAMES).text
    for length in range(0, len(text), 3):
        settled = presenter.settled(text[:length], NAMES)
        assert whole.startswith(settled), text[:length]


@pytest.mark.parametrize("presenter", PRESENTERS.values(), ids=PRESENTERS)
def test_an_innocent_reply_is_settled_sentence_by_sentence(presenter: Presenter) -> None:
    """Guards the waiting: what nothing is to be hidden of is not held back longer than its sentence and a few words."""
    text = f"{SAID[0]}{SAID[1]}It is a long way from here to there, I would say"
    assert presenter.settled(text, NAMES) == f"{SAID[0]}{SAID[1]}".strip()


def test_an_address_waits_for_the_words_that_are_drawn_in_its_place() -> None:
    """Guards the blinding where markdown is drawn: of a link the page shows the words, and never the address."""
    presenter = PRESENTERS["markdown"]
    text = f"{SAID[0]}See [this page](https://chat.openai.com/share), please. {SAID[1] * 3}"
    assert presenter.settled(text, NAMES) in ("", SAID[0].strip())


def test_feelings_wait_for_what_may_come() -> None:
    """“I don't have feelings” alone is said by people, too; after it a program may say what it is, and both are hidden."""
    presenter, text = PRESENTERS["compared"], "I like it. I don't have feelings. What do you like best, if I may ask"
    assert presenter.settled(text, NAMES) == "I like it."


@pytest.mark.parametrize(
    "given_",
    [{"filter": "block"}, {"disclosure_classifier": "math:isnan"}, {"typing": "natural"}],
)
def test_settings_that_need_whole_replies_are_refused(given_: dict[str, str]) -> None:
    """Guards raters: what judges whole replies would come too late."""
    with pytest.raises(ValueError, match="streaming"):
        ReplySettings(streaming=True, **given_)  # type: ignore[arg-type]  # pydantic checks them


def test_a_presenter_that_judges_whole_replies_settles_nothing() -> None:
    """The same where no settings were checked."""
    presenter = presenter_of(ReplySettings(filter="block"), [], compared=True)
    assert presenter.settled("".join(SAID[:2]) * 3, NAMES) == ""
