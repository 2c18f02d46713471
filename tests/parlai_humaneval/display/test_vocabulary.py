"""The data file of names and phrases, and a file of one's own besides."""

from __future__ import annotations

from pathlib import Path

import pytest
from masked import mask_identity

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.display import ReplyDisplay
from parlai_humaneval.display.presenter import presenter_of
from parlai_humaneval.display.text import foreign_script
from parlai_humaneval.display.vocabulary import (
    packaged,
    unprotected,
    vocabulary_with,
)

EXAMPLE = Path(__file__).parents[3] / "examples" / "disclosures.yaml"


def own(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "disclosures.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_names_and_phrases_of_ones_own_come_on_top(tmp_path: Path) -> None:
    """Guards who rates in a language that is not packaged, or knows of a name that is not."""
    path = own(
        tmp_path,
        """
names: [SuperBot]
languages:
  nl:
    lists: {kind: [taalmodel, ai]}
    talk: ["als {kind} <heb ik|,>"]
    innocent: ["als ai, zegt mijn *"]
  de:
    lists: {program: [plaudertasche]}
""",
    )
    vocabulary = vocabulary_with(path)
    for text, shown in (
        ("Als taalmodel heb ik geen gevoelens.", "[…] heb ik geen gevoelens."),
        ("I am SuperBot 2.", "I am [name]."),
        ("Ich bin eine Plaudertasche, mehr nicht.", "[…], mehr nicht."),
        ("Ich bin ein Chatbot, mehr nicht.", "[…], mehr nicht."),
    ):
        assert mask_identity(text, (), ai_talk=True, vocabulary=vocabulary)[0] == shown
    assert mask_identity("Als taalmodel heb ik geen gevoelens.", (), ai_talk=True)[1] == []
    for text, hidden in (("Als AI, zegt mijn baas, werk ik nog trager.", False), ("Als AI, dus niet moe.", True)):
        assert bool(mask_identity(text, (), ai_talk=True, vocabulary=vocabulary)[1]) == hidden


def test_the_setting_names_the_file(tmp_path: Path) -> None:
    looks = ReplyDisplay(disclosures_file=str(own(tmp_path, "languages: {nl: {labels: [Hulpje]}}")))
    presented = presenter_of(looks, [], compared=True).present("Hulpje: hallo", ())
    assert (presented.text, presented.changes) == ("hallo", ["speaker_labels"])


def test_the_example_can_be_used() -> None:
    presented = presenter_of(ReplyDisplay(disclosures_file=str(EXAMPLE)), [], compared=True)
    assert "taalmodel" not in presented.present("Als taalmodel heb ik geen mening. Jij wel?", ()).text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("names: ChatGPT", "names: must be a list"),
        ("names: ['']", "names.0: must not be blank"),
        ("languages: {nl: {labels: [' ']}}", "languages.nl.labels.0: must not be blank"),
        ("nam: [x]", "nam: is not a known name here; check the spelling"),
        ("languages: {nl: {talk: ['als (een']}}", "languages.nl.talk: “als (een”: “)” is missing"),
        ("languages: {nl: {talk: ['als {kind}']}}", "there is no list {kind}; there are: {name}, {maker}"),
        ("languages: {nl: {introductions: ['<ik ben>']}}", "<…> must be closed"),
        ("languages: {nl: {tlk: []}}", "languages.nl.tlk: is not a known name here"),
        ("a: [", "not YAML"),
        ("", "holds no words; expected some of names, ordinary_names"),
        ("[a]", "at the top: must be an object of names and values"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, text: str, problem: str) -> None:
    path = own(tmp_path, text)
    with pytest.raises(DataError) as raised:
        vocabulary_with(path)
    assert str(raised.value).startswith(str(path))
    assert problem in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.yaml"):
        vocabulary_with(tmp_path / "none.yaml")


def test_languages_without_a_list_are_named_in_one_sentence(tmp_path: Path) -> None:
    """Guards studies in such a language from being taken for blind; a file of one's own makes up for it."""
    sentence = unprotected(["en", "pt-BR", "zh_Hant", "nl", "nl"], packaged(), ["Arabic"])
    assert sentence is not None
    assert "Blinding does not support nl, Arabic letters:" in sentence
    assert unprotected(["en", "de"], packaged()) is None
    dutch = vocabulary_with(own(tmp_path, "languages: {nl: {talk: ['als taalmodel']}}"))
    assert unprotected(["nl"], dutch) is None


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("أنا نموذج لغوي ولا أملك جسدا", "Arabic"),
        ("मैं एक भाषा मॉडल हूँ", "Devanagari"),
        ("Είμαι γλωσσικό μοντέλο", "Greek"),
        ("Je suis là, c'est très bien.", None),
        ("Я люблю чай. 私は猫です。 저는 좋아요. 我很好", None),
        ("I said شكرا to him, and he smiled.", None),
        ("…!", None),
    ],
)
def test_the_script_of_a_reply_tells_where_no_list_is_written_in_it(text: str, script: str | None) -> None:
    assert foreign_script(text) == script
