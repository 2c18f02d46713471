"""What is shown of an unfinished reply is how the whole one begins: no mask comes too late."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.display import ReplySettings
from parlai_humaneval.display.masking import packaged_model
from parlai_humaneval.display.presenter import HELD_BACK, CommonClock, Presenter, presenter_of, settled_end, word_ends

DATA = Path(__file__).parent / "data"
LONG = (
    "Long winter evenings in the village where grandmother grew up were spent around the stove in the kitchen, with old "
    "stories about the river, the mill and the teacher, until somebody came in from the cold yard and sent us all to bed."
)
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
def test_an_innocent_reply_is_settled_but_for_its_last_words(presenter: Presenter) -> None:
    """Guards the waiting: what nothing is to be hidden of is not held back longer than a few words, however long its
    sentence is."""
    text = f"{SAID[0]}It is a long way from here to there, and nobody has walked it since the war"
    assert presenter.settled(text, NAMES) == f"{SAID[0]}It is a long"


def corpus(name: str) -> list[dict[str, Any]]:
    lines = (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [one for one in map(json.loads, lines) if "discloses" in one]


def masked_texts(language: str) -> list[str]:
    """Every third disclosure of the samples, behind, before or within what people say, in one sentence or in several."""
    samples = [*corpus(f"heldout_{language}"), *corpus(f"seen_{language}"), *corpus(f"harder_{language}")]
    innocent = [one["text"] for one in samples if not one["discloses"]]
    texts = []
    for number, sample in enumerate([one["text"] for one in samples if one["discloses"]][::3]):
        before, behind = (innocent[(number + more) % len(innocent)] for more in (0, 7))
        texts.append(
            (
                f"{before} {sample} {behind}",
                f"{before.rstrip('.!?。！？')}, {sample} {behind}",
                f"{sample} {behind}",
                f"{before.rstrip('.!?。！？')}, {behind.rstrip('.!?。！？')}, {sample}",
            )[number % 4]
        )
    return texts


@pytest.mark.parametrize("language", ["de", "en", "es", "fr", "it", "ja", "ko", "pt", "ru", "tr", "zh"])
def test_no_word_of_a_disclosure_is_shown_before_it_is_hidden(language: str) -> None:
    """Guards the blinding, with what the masks are measured by: at each word, whatever has been shown stays."""
    presenter = PRESENTERS["compared"]
    early = []
    for text in masked_texts(language):
        whole = presenter.present(text, NAMES).text
        for end in word_ends(text):
            if settled_end(text[:end]) and not whole.startswith(presenter.settled(text[:end], NAMES)):
                early.append(text[:end])
    assert early == []


@pytest.mark.parametrize("words_per_s", [4.0, 10.0, 40.0])
def test_the_first_words_of_a_long_sentence_come_with_the_first_token_and_the_words_held_back(
    words_per_s: float,
) -> None:
    """Guards raters against silence: the bound is 1.2 times the slower model's first token, and the words that a mask
    needs. Before, they waited for the whole sentence."""
    first_s, speed = {0: 0.3, 1: 2.0}, {0: 80.0, 1: words_per_s}
    clock = CommonClock(2)
    words = LONG.split()
    for tick in range(400):
        now = tick / 20
        for place in (0, 1):
            come = max(0, int((now - first_s[place]) * speed[place]))
            text = " ".join(words[:come])
            clock.heard(place, PRESENTERS["compared"].settled(text, NAMES), complete=come >= len(words))
        if all(clock.shown(now)):
            break
    assert now <= 1.2 * first_s[1] + (HELD_BACK + 1) / words_per_s + 0.1


def test_a_long_sentence_is_judged_in_pieces_and_only_a_telling_piece_is_hidden() -> None:
    """Guards what was shown of it, and what a long innocent beginning hid from the classifier before."""
    text = f"{LONG.rstrip('.')}, and my responses are worked out word by word from patterns in the text that I was fed."
    shown = PRESENTERS["compared"].present(text, NAMES).text
    assert shown.startswith(LONG[:40])
    assert "patterns in the text" not in shown


def test_a_maker_waits_for_the_end_of_its_sentence() -> None:
    """Guards the blinding: “Google” alone is said by people, too; next to the model's name it is hidden."""
    text = "Google and the other big firms of this valley pay their people so much money that nobody else can, they say"
    assert PRESENTERS["names"].settled(text, NAMES) == ""
    assert PRESENTERS["names"].settled(text.replace("Google", "Shops"), NAMES) != ""


def test_an_address_waits_for_the_words_that_are_drawn_in_its_place() -> None:
    """Guards the blinding where markdown is drawn: of a link the page shows the words, and never the address."""
    presenter = PRESENTERS["markdown"]
    text = f"{SAID[0]}See [this page](https://chat.openai.com/share), please. {SAID[1] * 3}"
    assert presenter.settled(text, NAMES) in ("", SAID[0].strip())


def test_feelings_wait_for_what_may_come() -> None:
    """“I don't have feelings” alone is said by people, too; after it a program may say what it is, and both are hidden."""
    presenter, text = PRESENTERS["compared"], f"I like it. I don't have feelings. {LONG}"
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
