"""The languages of raters: complete, in step with the sources, and a file is all that one more costs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po

from mephisto_tasks.adapter.client_io import GENERIC_REASONS
from mephisto_tasks.admission.visits import RETURN_THE_TASK, instead_of_returning, only_closing
from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.config.task import APART, ConfigError, read_config
from mephisto_tasks.session.study import AWAY, UnitWords, filled
from parlai_humaneval._util.data_files import DataError, read_yaml
from parlai_humaneval.cli.translations import ROOT, collected, refresh
from parlai_humaneval.i18n.translate import (
    PACKAGED,
    joined,
    language,
    offered,
    page_words,
    speaking,
    t,
    tags,
    tn,
)
from parlai_humaneval.materials.instructions import Practice, in_language
from parlai_humaneval.schema.wire import Option

TRANSLATED = sorted(path.stem for path in PACKAGED.glob("*.po"))
SETTINGS = {"technique": "free_for_all", "metric": "appropriate", "models": ["a", "b"]}


@pytest.mark.parametrize("tag", TRANSLATED)
def test_a_catalogue_is_complete_and_in_step_with_the_sources(tag: str, tmp_path: Path) -> None:
    """Guards against drift: who changes a text runs ``python -m parlai_humaneval.cli.translations``."""
    shutil.copy(PACKAGED / f"{tag}.po", tmp_path)
    assert refresh(tmp_path) == {tag: 0}
    assert (tmp_path / f"{tag}.po").read_bytes() == (PACKAGED / f"{tag}.po").read_bytes()


def test_every_call_of_the_page_is_collected() -> None:
    """Guards the extraction, which reads TypeScript as JavaScript: a sign that it misread would swallow what follows."""
    texts = {text if isinstance(text, str) else text[0] for text in collected()}
    call = re.compile(r"\bt[n]?\(\s*\"((?:[^\"\\]|\\.)*)\"")
    for path in (ROOT / "mephisto_tasks/webapp/src").rglob("*.ts*"):
        if ".test." not in path.name and path.name != "language.ts":
            said = {json.loads(f'"{found}"') for found in call.findall(path.read_text(encoding="utf-8"))}
            assert said - texts == set(), path


def test_every_longer_phrase_is_said() -> None:
    """Guards against texts that are translated for nobody: each name in a ``phrases.yaml`` is used in its folder (numbers
    in words are taken by their numbers)."""
    package = ROOT / "mephisto_tasks"
    files = sorted([*package.glob("*/phrases.yaml"), *package.glob("crowds/*/phrases.yaml")])
    assert files
    for file in files:
        below = [
            other.parent for other in files if file.parent in other.parent.parents
        ]  # folders with phrases of their own
        mine = [path for path in file.parent.rglob("*.py") if not set(below) & set(path.parents)]
        used = re.findall(r'PHRASES\["(\w+)"\]', "".join(path.read_text("utf-8") for path in mine))
        assert set(used) == {name for name in read_yaml(file) if not isinstance(name, int)}, file


def test_every_problem_is_worded_and_every_wording_is_for_one() -> None:
    """Guards against an error that ends in a KeyError, and words that nobody reads: of each ``problems.yaml``."""
    files = sorted(
        file for room in ("parlai_humaneval", "mephisto_tasks") for file in (ROOT / room).glob("*/problems.yaml")
    )
    assert files
    for file in files:
        code = "".join(path.read_text("utf-8") for path in file.parent.rglob("*.py"))
        known = set(read_yaml(file))
        assert set(re.findall(r'\bworded\(\s*__file__,\s*"(\w+)"', code)) <= known, file
        assert known <= set(re.findall(r'"(\w+)"', code)), file


@pytest.mark.parametrize("tag", TRANSLATED)
def test_nobody_is_asked_in_their_language_to_return_what_others_are_not(tag: str) -> None:
    """Guards the exchange of “return the task”: each text that says so says it in the words that are looked for."""
    with speaking(language(tag)):
        asked = [text for text in collected() if isinstance(text, str) and RETURN_THE_TASK in text]
        assert len(asked) > 10
        for text in asked:
            assert t(RETURN_THE_TASK) in t(text), text
        said = instead_of_returning(filled(AWAY[1], UnitWords()), t("close this page"))
        assert t(RETURN_THE_TASK) not in said
        assert t("close this page") in said


@pytest.mark.parametrize("tag", tags())
def test_who_was_away_and_has_nothing_to_return_is_only_asked_to_reload(tag: str) -> None:
    """Guards the way to continue, which is not to close the page."""
    with speaking(language(tag)):
        said = only_closing(filled(AWAY[1], UnitWords()))
        assert re.search("reload this page[.]$|重新加载本页面。$", said)
        assert t("close this page") not in said


@pytest.mark.parametrize("tag", TRANSLATED)
@pytest.mark.parametrize(
    "path", sorted((ROOT / "mephisto_tasks/presets").glob("*/task_config/*.json")), ids=lambda p: p.name
)
def test_practice_and_attention_checks_can_be_answered_in_every_language(tag: str, path: Path) -> None:
    """Guards the right answers: two replies must not become one, and all that is read is translated."""
    items = Practice.model_validate(json.loads(path.read_text(encoding="utf-8"))).items
    with speaking(language(tag)):
        said = [in_language(item) for item in items]
    for before, after in zip(items, said, strict=True):
        english, other = before.model_dump(), after.model_dump()
        assert {name for name in english if english[name] != other[name]} >= {"why"}
        assert all(
            english[name] == other[name] for name in ("right", "better", "must", "must_not", "sides") if name in english
        )


def test_sentences_plurals_and_numbers_are_those_of_the_language() -> None:
    with speaking(language("zh")):
        assert t("Continue") == "继续"
        assert tn("Please choose one reply.", "Please choose {n} replies.", 1) == "请选择 1 条回复。"
        assert joined(["一。", "二。"]) == "一。二。"
        assert Option(option_id="human", label="Human").model_dump() == {"option_id": "human", "label": "人"}
        assert t("") == ""
        assert t("You wrote {x}", x="{y}", y="z") == "You wrote {y}"
    assert Option(option_id="human", label="Human").model_dump()["label"] == "Human"


def test_refusals_of_mephisto_are_translated() -> None:
    """Guards sentences that are Mephisto's own: they stand here word for word, or nobody would find their translation."""
    from mephisto.operations.datatypes import WorkerFailureReasons

    theirs = {text for name, text in vars(WorkerFailureReasons).items() if name.isupper()}
    assert theirs == GENERIC_REASONS
    with speaking(language("zh")):
        assert all(t(text) != text for text in theirs)


def test_one_file_is_a_language_and_goes_before_ours(tmp_path: Path) -> None:
    """Guards a study's own folder: a new language, and sentences of a study's own in one that there is."""
    _write(tmp_path, "de", {"Continue": "Weiter"})
    _write(tmp_path, "zh", {"Which tea do you prefer?": "您更喜欢哪种茶？", "Continue": "下一步"})
    assert tags(tmp_path) == ["en", "de", "zh"]
    ours = offered("auto", tmp_path)
    assert [ours.by_browser(read).tag for read in ("de-AT,en;q=0.5", "fr,zh-TW;q=0.2", "fr", "")] == [
        "de",
        "zh",
        "en",
        "en",
    ]
    with speaking(ours.languages["zh"]):
        assert (t("Which tea do you prefer?"), t("Continue"), t("Cancel")) == ("您更喜欢哪种茶？", "下一步", "取消")
    assert page_words("zh", tmp_path)["Continue"] == ["下一步"]
    assert ours.for_page()["de"]["direction"] == "ltr"
    assert offered("zh").by_browser("en").tag == "zh", "a study of one language asks no browser"


def test_a_rater_keeps_a_language_that_is_offered() -> None:
    ours = offered("auto")
    ours.note("w1", "zh")
    ours.note("w2", "xx; drop")
    assert [ours.of(worker).tag for worker in ("w1", "w2", "w3")] == ["zh", "en", "en"]
    assert offered("en").that_began("zh").tag == "zh", "a unit goes on in the language in which it began"


def test_a_language_that_there_is_not_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no language 'xx'; choose one of: en, zh, or auto"):
        read_config(InteractiveConfig, {**SETTINGS, "language": "xx"})
    with pytest.raises(ConfigError, match="there is no folder"):
        read_config(InteractiveConfig, {**SETTINGS, "languages_dir": str(tmp_path / "none")})
    _write(tmp_path, "de", {"Turn {current} of {total}": "Runde {currant}"})
    with pytest.raises(DataError, match=r"Runde \{currant\}"):
        language("de", tmp_path)
    (tmp_path / "de.po").write_text("msgid nothing", encoding="utf-8")
    with pytest.raises(DataError, match=r"de\.po"):
        language("de", tmp_path)
    assert {"language", "languages_dir"} <= APART, "neither shapes what has begun"


def _write(folder: Path, tag: str, words: dict[str, str]) -> None:
    made = Catalog(locale=tag, charset="utf-8", fuzzy=False)
    for english, other in words.items():
        made.add(english, other)
    with (folder / f"{tag}.po").open("wb") as file:
        write_po(file, made)


def test_a_language_that_there_is_not_is_told_how_to_add_it() -> None:
    with pytest.raises(DataError, match=r"put a file xx\.po in the folder of languages_dir"):
        language("xx")
