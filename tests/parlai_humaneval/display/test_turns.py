"""Marks of a model's format, labels of speakers and further turns are no part of a reply."""

from __future__ import annotations

import pytest

from parlai_humaneval.display.presenter import AS_SAID, Presenter


@pytest.mark.parametrize(
    ("text", "shown", "change"),
    [
        ("Hello!<|im_end|>", "Hello!", "model_tokens"),
        ("Hello!<|endoftext|>", "Hello!", "model_tokens"),
        ("<|im_start|>assistant\nHi<|im_end|>\n<|im_start|>user\nWhat?<|im_end|>", "Hi", "model_tokens"),
        ("<|start_header_id|>assistant<|end_header_id|>\n\nHi<|eot_id|>", "Hi", "model_tokens"),
        ("Hi<end_of_turn>\n<start_of_turn>user\nYou?", "Hi", "model_tokens"),
        ("<|assistant|>\nHello\n<|user|>\nhi", "Hello", "model_tokens"),
        ("[INST] Say hi [/INST] Hello", "Hello", "model_tokens"),
        ("Hello [INST] And now? [/INST] No", "Hello", "model_tokens"),
        ("<s>Hi</s>", "Hi", "model_tokens"),
        ("Hi </s>", "Hi", "model_tokens"),
        ("__start__ i like it __unk__ very much __end__", "i like it very much", "model_tokens"),
        ("Assistant: hello", "hello", "speaker_labels"),
        ("bot: hello", "hello", "speaker_labels"),
        ("**Assistant:** hello", "hello", "speaker_labels"),
        ("### Response:\nHi", "Hi", "speaker_labels"),
        ("Human: hello", "hello", "speaker_labels"),
        ("Nutzer: hallo", "hallo", "speaker_labels"),
        ("Utilisateur : bonjour", "bonjour", "speaker_labels"),
        ("助手：你好！\n用户：再见", "你好！", "speaker_labels"),
        ("I like tea.\nUser: me too\nAssistant: nice", "I like tea.", "speaker_labels"),
        ("I like tea.\n\n### Human: me too", "I like tea.", "speaker_labels"),
        ("Ich mag Tee.\nBenutzer: ich auch", "Ich mag Tee.", "speaker_labels"),
    ],
)
def test_what_is_no_part_of_the_reply_goes(text: str, shown: str, change: str) -> None:
    """Guards blindness whatever the looks: such marks tell that a program speaks, and which; the record names them."""
    for presenter in (AS_SAID, Presenter(appearance="plain")):
        presented = presenter.present(text, ())
        assert presented.text == shown
        assert change in presented.changes


@pytest.mark.parametrize(
    "text",
    [
        "My first job was Assistant: the job I had for years.",
        "I <3 you",
        "use <s>old</s> new",
        "a <b>bold</b> word",
        "the method __init__ is called first",
        "my name is snake__case",
        "I love bots: they are funny",
        "Roles:\nAssistant: two years\nDriver: one year",
        "See user://settings, or https://bot.example",
        "Humans: a short history",
        "I wrote [INSTALL] on it",
        "10:30 is fine",
    ],
)
def test_what_only_looks_like_it_stays(text: str) -> None:
    """Guards replies against holes."""
    presented = AS_SAID.present(text, ())
    assert (presented.text, presented.changes) == (text, [])


@pytest.mark.parametrize("text", ["<|endoftext|>", "__end__", "Assistant:", "<s></s>"])
def test_a_reply_of_nothing_else_is_refused(text: str) -> None:
    """Guards raters against an empty card: the model is asked again, and the reason recorded."""
    assert "nothing is left to show" in (AS_SAID.refuse(text) or "")


def test_a_name_that_a_mark_had_split_is_found() -> None:
    """Marks go before names are looked for."""
    assert AS_SAID.present("I am ChatGPT__end__", ()).text == "I am [name]"
