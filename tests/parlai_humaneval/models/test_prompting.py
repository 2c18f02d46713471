"""What a model of Hugging Face reads, and what of its words becomes the reply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_hugging_face import CHAT_TEMPLATE, POSITIONS, SPECIAL, agent_of, heard, texts, tokenizer_of

from parlai_humaneval.models.agent.dialogue_agent import Line
from parlai_humaneval.models.backends.prompting import (
    BEGIN,
    GO_ON,
    ChatFormat,
    JoinedFormat,
    PlainFormat,
    Played,
    PromptFormat,
    finish,
    fit,
    own_template,
    system_text,
)
from parlai_humaneval.models.zoo.entries import ZooError

ALTERNATING = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}"
    "{% if message['role'] == 'user' %}[INST] {{ message['content'] }} [/INST]"
    "{% else %}{{ message['content'] }}</s>{% endif %}{% endfor %}"
)
"""As Mistral's: no system role, the person first, no opening of the reply."""
FORGETFUL = (
    "{% for message in messages %}{% if message['role'] != 'system' %}"
    "<|{{ message['role'] }}|>\n{{ message['content'] }}</s>\n{% endif %}{% endfor %}"
)
"""Leaves the system message out without a word, and writes no opening of the reply."""
TURNS: list[Line] = [("human", "Hi!"), ("bot", "Hello."), ("human", "Who are you?")]
SKIER = Played(("I ski.", "I bake."))


def chat(template: str = CHAT_TEMPLATE, system: str = "") -> ChatFormat:
    return ChatFormat(tokenizer_of(), system, template=template)


def test_a_chat_template_gets_roles_persona_and_the_opening_of_the_reply() -> None:
    """Guards the roles of a shared history, and that a persona is part of the system prompt."""
    assert chat(system="Be kind.").render(SKIER, TURNS) == (
        "<|turn|>system\nBe kind.\nYour persona: I ski. I bake.<|done|>\n<|turn|>user\nHi!<|done|>\n"
        "<|turn|>assistant\nHello.<|done|>\n<|turn|>user\nWho are you?<|done|>\n<|turn|>assistant\n"
    )
    assert "system" not in chat().render(Played(), TURNS)


def test_templates_with_no_place_for_a_system_prompt_get_it_with_the_first_words() -> None:
    """Guards personas in templates that raise at a system role, and in those that leave it out in silence."""
    told = "Your persona: I ski. I bake.\n\nHi!"
    assert chat(ALTERNATING).render(SKIER, TURNS) == f"<s>[INST] {told} [/INST]Hello.</s>[INST] Who are you? [/INST]"
    assert chat(FORGETFUL).render(SKIER, TURNS[:1]) == f"<|user|>\n{told}</s>\n<|assistant|>\n"


def test_dialogues_that_alternating_templates_refuse_are_made_to_alternate() -> None:
    """Guards a bot that begins, one that goes on, two messages in a row, and a dialogue that has not begun."""
    form = chat(ALTERNATING)
    assert form.render(Played(), []) == f"<s>[INST] {BEGIN} [/INST]"
    assert form.render(Played(), [("bot", "Hello."), ("human", "Hi!")]).startswith(
        f"<s>[INST] {BEGIN} [/INST]Hello.</s>"
    )
    assert form.render(Played(), TURNS[:2]).endswith(f"[INST] {GO_ON} [/INST]")
    assert form.render(Played(), [("human", "One"), ("human", "two")]) == "<s>[INST] One\ntwo [/INST]"
    assert BEGIN not in chat().render(Played(), [("bot", "Hello."), ("human", "Hi!")])


def test_plain_and_joined_formats() -> None:
    """Guards the formats of models without a template, as their documentation states them."""
    tokenizer = tokenizer_of()
    assert PlainFormat(tokenizer, "Be kind.").render(SKIER, TURNS) == (
        "Be kind.\nYour persona: I ski. I bake.\n\nHuman: Hi!\nBot: Hello.\nHuman: Who are you?\nBot:"
    )
    dialogpt = JoinedFormat(tokenizer, separator="</s>", trailing=True)
    assert dialogpt.render(Played(), TURNS) == "Hi!</s>Hello.</s>Who are you?</s>"
    blenderbot = JoinedFormat(tokenizer, separator="  ", indent=" ")
    assert blenderbot.render(SKIER, TURNS) == " your persona: I ski.\nyour persona: I bake.\nHi!  Hello.  Who are you?"
    assert dialogpt.encode(dialogpt.render(Played(), [])) == [1], "generation needs a token to begin with"


def test_a_system_prompt_says_where_the_persona_goes() -> None:
    """Guards ``{persona}``, and that the partner's persona is told too."""
    assert system_text("You are: {persona} Be brief.", SKIER) == "You are: I ski. I bake. Be brief."
    assert system_text("", Played(("I ski.",), ("I have a dog.",))) == (
        "Your persona: I ski.\nThe persona of the person you talk to: I have a dog."
    )


TEXT = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from([*SPECIAL, "<s", ">", "</", "s>", "<|tu", "rn|>", "Bot:", "\n", "\x00"]), max_size=8).map(
        "".join
    ),
)


@settings(deadline=None)
@given(TEXT)
def test_nobody_can_write_control_tokens(said: str) -> None:
    """Guards against a person who ends the model's turn or speaks as the system, by tokens put together of parts too."""
    for form in FORMS:
        ids = form.encode(form.render(Played(), [("human", said), ("bot", "Well."), ("human", said)]))
        plain = form.encode(form.render(Played(), [("human", "a"), ("bot", "Well."), ("human", "a")]))
        specials = [[token for token in tokens if token < len(SPECIAL)] for tokens in (ids, plain)]
        if said.strip() and form.clean(said):
            assert specials[0] == specials[1]
    assert "\nBot:" not in PlainFormat(tokenizer_of()).render(Played(), [("human", said)]).removesuffix("\nBot:")


FORMS: list[PromptFormat] = [
    chat(),
    PlainFormat(tokenizer_of()),
    JoinedFormat(tokenizer_of(), separator="</s>", trailing=True),
]


@settings(deadline=None, max_examples=25)
@given(st.lists(st.text("abc de", min_size=1, max_size=60), min_size=1, max_size=12), st.integers(60, 150))
def test_old_turns_go_first_and_whole(lines: list[str], room: int) -> None:
    """Guards long dialogues: the prompt fits, no more is left out than need be, and the persona stays."""
    dialogue: list[Line] = [
        ("bot" if (len(lines) - place) % 2 == 0 else "human", line) for place, line in enumerate(lines)
    ]
    form, played = chat(), Played(("I ski.",))

    def size(count: int) -> int:
        return len(form.encode(form.render(played, dialogue[-count:])))

    ids = fit(form, played, dialogue, room)
    assert len(ids) <= room
    whole_turns = [count for count in range(1, len(lines) + 1) if count % 2 or count == len(lines)]
    fitting = [count for count in whole_turns if size(count) <= room]
    if fitting:
        assert ids == form.encode(form.render(played, dialogue[-max(fitting) :]))
        assert ids.turns_left_out == len(lines) // 2 - max(fitting) // 2
    assert "I ski." in form.tokenizer.decode(ids)


def test_ten_thousand_tokens_of_history_and_of_one_message() -> None:
    """Guards the model's limit: a long dialogue keeps its end, and so does a message that is too long alone."""
    agent = agent_of("gpt2", prompt_format="plain")
    history = [f"This is line {number}, and it goes on and on." for number in range(801)]
    kept = agent.pretrained.tokenizer.decode(agent._prompt(heard(agent, *history)))
    assert kept.startswith(("Human: This is line", "Bot: This is line"))
    assert kept.endswith("line 800, and it goes on and on.\nBot:")
    (reply,) = texts(agent, [heard(agent, "word " * 10_000 + "the end")])
    assert reply
    ids = agent._prompt(heard(agent, "word " * 10_000 + "the end"))
    assert POSITIONS - 12 - 3 < len(ids) <= POSITIONS - 12
    assert agent.pretrained.tokenizer.decode(ids).endswith("word the end\nBot:")


def test_a_persona_that_leaves_no_room_is_an_error() -> None:
    """Guards against replies that were written without the persona that the study gave."""
    with pytest.raises(ValueError, match=r"persona take \d+ tokens, but the model reads only 20; shorten them"):
        fit(chat(), Played(("I like skiing and baking. " * 9,)), TURNS, 20)
    with pytest.raises(ZooError, match="system prompt and persona take"):
        agent_of("gpt2", system_prompt="Be kind to all of them. " * 40)


ENDINGS = {
    "Hello there.\nHuman: And you?": "Hello there.",
    "Bot: Hello.": "Hello.",
    "  Assistant: Hello.\n\nUser: Hi": "Hello.",
    "Hello.<|done|>\n<|turn|>user\nHi": "Hello.",
    "Hello.\n### Human: Hi": "Hello.",
    "Human: Hi": "",
    "": "",
    "\x00\x1b": "",
    "<think>Human: who?</think>Hello.": "Hello.",
    "One line.\nAnd another: yes.": "One line.\nAnd another: yes.",
    "The user: an enigma.": "The user: an enigma.",
    "Half an emoji \ufffd": "Half an emoji",
}


@pytest.mark.parametrize("written", ENDINGS)
def test_a_reply_ends_where_the_next_turn_begins(written: str) -> None:
    """Guards what the person reads: no labels, no words that the model puts into the person's mouth."""
    assert finish(written, chat().end) == ENDINGS[written]


def test_plain_turns_are_one_line() -> None:
    """Guards plain models, which know no end: without this they write both sides until the limit."""
    assert finish("\n Hello.\nHow nice", PlainFormat(tokenizer_of()).end) == "Hello."


def test_markers_and_ends_come_from_the_template() -> None:
    """Guards templates whose control words are no special tokens of the tokenizer."""
    assert chat().markers == ("<|done|>", "<|turn|>", "user")[:2]
    assert chat().turn_ends == [5, 4]
    assert chat(ALTERNATING).markers == ("</s>", "[INST]")
    assert finish("Hello. [INST] Hi", chat(ALTERNATING).end) == "Hello."


def test_special_tokens_alone_are_no_reply() -> None:
    """Guards the pool, which asks again for what is blank, and against turns glued together."""
    agent = agent_of("gpt2")
    assert agent._spoken([0, 1, 4, 5]) == ""
    word = agent.pretrained.tokenizer("Hello")["input_ids"]
    assert agent._spoken([4, *word, 5, *word]) == "Hello"


def test_a_template_is_found_where_any_version_of_transformers_keeps_it(tmp_path: Path) -> None:
    """Guards models saved by newer versions: a list of templates by name, or a file beside the tokenizer."""
    assert own_template(tokenizer_of()) is None
    named: Any = [{"name": "tools", "template": "no"}, {"name": "default", "template": "yes"}]
    assert own_template(tokenizer_of(chat_template=named)) == "yes"
    (tmp_path / "chat_template.jinja").write_text("beside", encoding="utf-8")
    assert own_template(tokenizer_of(name_or_path=str(tmp_path))) == "beside"


@pytest.mark.parametrize(
    ("template", "said"), [("{% if %}", "TemplateSyntaxError"), ("Hello", "leaves out the text of the user")]
)
def test_a_template_that_cannot_be_used_is_an_error(template: str, said: str) -> None:
    """Guards the start of a study rather than its first message."""
    with pytest.raises(ZooError, match=f"the chat template cannot be used: .*{said}"):
        chat(template)
