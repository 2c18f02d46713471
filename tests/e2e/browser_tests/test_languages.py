"""One study in three languages: Chinese from the first page to the last, one that runs from right to left, and English."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po
from playwright.sync_api import Page, expect

from mephisto_tasks.storage.results import read_dialogues
from parlai_humaneval.cli.translations import collected
from parlai_humaneval.i18n.translate import PLACE, language, speaking, t
from parlai_humaneval.materials.instructions import ChooseItem, in_language

from .conftest import launched
from .looks import SHAPES, Looks
from .rater import Hand, Rater
from .study import Study
from .techniques import launch_in_languages, practice_of

pytestmark = pytest.mark.browser

OF_NO_LANGUAGE = {"Alt", "Shift"}
"""Names of keys."""
READ = """
() => {
  const named = [...document.querySelectorAll("[aria-label], [title], [placeholder]")];
  const hidden = [...document.querySelectorAll(".visually-hidden, [hidden]")];
  return [document.title, document.body.innerText, ...hidden.map((one) => one.textContent),
    ...named.flatMap((one) => ["aria-label", "title", "placeholder"].map((name) => one.getAttribute(name) ?? ""))];
}
"""
"""All that is read on a page, or read out."""
LETTERS = dict(zip("abcdefghijklmnopqrstuvwxyz", "ابثدعفغهيجكلمنوپقرستوڤوخيز", strict=True))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    folder = tmp_path_factory.mktemp("languages")
    (folder / "own").mkdir()
    _made_up(folder / "own" / "ar.po")
    yield from launched(lambda where: launch_in_languages(where, folder / "own"), folder / "study")


def _made_up(path: Path) -> None:
    """A language of Arabic letters in which every text is as long as it is in English."""
    catalogue = Catalog(locale="ar", charset="utf-8", fuzzy=False)
    for text in collected():
        if isinstance(text, str):
            catalogue.add(text, _written_to_the_left(text))
        else:
            catalogue.add(text, (_written_to_the_left(text[1]),) * catalogue.num_plurals)
    with path.open("wb") as file:
        write_po(file, catalogue)


def _written_to_the_left(text: str) -> str:
    parts = PLACE.split(text)
    return "".join(
        f"{{{part}}}" if number % 2 else "".join(LETTERS.get(letter, letter) for letter in part.lower())
        for number, part in enumerate(parts)
    )


@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_a_chinese_rater_reads_chinese_alone(visit: Callable[..., Rater], study: Study, hand: Hand) -> None:
    """Guards page, server, practice and materials: from the first page to the last no English word is left."""
    rater, looks = visit(study.url, hand, "zh-CN"), Looks(SHAPES[hand])
    page = rater.page
    with speaking(language("zh")):
        page.goto(study.url)
        _look(looks, page, "chinese-start")
        rater.press(t("Start"))
        page.wait_for_url("**worker_id=**")
        _practise(rater, looks)
        for turn in (1, 2):
            _write(rater, ["你好！我最近在学做菜。", "我做了番茄炒蛋，味道还不错。"][turn - 1])
            expect(page.locator("main form input[type=radio]")).to_have_count(2)
            _look(looks, page, f"chinese-choose-{turn}")
            rater.choose(1)
            rater.press(t("Continue"))
        expect(page.get_by_role("textbox")).to_be_visible()
        _look(looks, page, "chinese-message")
        rater.ask_and_confirm(t("End the conversation"))
        page.get_by_role("textbox").wait_for()
        _look(looks, page, "chinese-comment")
    assert page.evaluate("[document.documentElement.lang, document.documentElement.dir]") == ["zh", "ltr"]
    assert looks.problems() == []
    assert any(record.language == "zh" for record in read_dialogues(study.data_dir, study.task_name))


def test_a_language_of_a_file_runs_from_right_to_left(visit: Callable[..., Rater], study: Study) -> None:
    """Guards what a third language costs: one file, and a page that is mirrored."""
    looks = Looks("phone")
    rater = visit(study.url, "finger", "ar-EG")
    page = rater.page
    with speaking(language("ar", study.data_dir.parents[1] / "own")):
        page.goto(study.url)
        looks.look(page, "to-the-left-start")
        rater.press(t("Start"))
        page.wait_for_url("**worker_id=**")
        _practise(rater, looks)
        _write(rater, "hello")
        expect(page.locator("main form input[type=radio]")).to_have_count(2)
        looks.look(page, "to-the-left-choose")
    assert page.evaluate("[document.documentElement.lang, document.documentElement.dir]") == ["ar", "rtl"]
    assert page.locator("main form label").first.evaluate("one => getComputedStyle(one).direction") == "rtl"
    assert looks.problems() == []


def test_who_reads_none_of_them_is_spoken_to_in_english(visit: Callable[..., Rater], study: Study) -> None:
    rater = visit(study.url, "mouse", "de-DE")
    rater.page.goto(study.url)
    expect(rater.page.get_by_role("button", name="Start")).to_be_visible()
    assert rater.page.evaluate("document.documentElement.lang") == "en"


def _look(looks: Looks, page: Page, name: str) -> None:
    page.wait_for_timeout(150)
    words = {word for text in page.evaluate(READ) for word in re.findall(r"[A-Za-z]{2,}", text or "")}

    assert words <= OF_NO_LANGUAGE, f"{name}: {words - OF_NO_LANGUAGE}"
    looks.look(page, name)


def _practise(rater: Rater, looks: Looks) -> None:
    """Once through, all right."""
    page = rater.page
    for number, item in enumerate(practice_of("free_for_all", "appropriate", "appropriate").items, start=1):
        assert isinstance(item, ChooseItem)
        said = in_language(item)
        assert isinstance(said, ChooseItem)
        expect(page.get_by_text(said.human, exact=True).first).to_be_attached()
        _close_dialog(rater)
        cards = rater.cards(len(said.replies))
        rater.choose(1 + [card.text for card in cards].index(said.replies[said.right[0] - 1]))
        if number == 1:
            looks.look(page, f"practice-{page.evaluate('document.documentElement.lang')}")
        rater.press(t("Continue"))


def _close_dialog(rater: Rater) -> None:
    dialog = rater.page.get_by_role("dialog")
    if dialog.count():
        dialog.get_by_role("button").last.click()
        expect(dialog).to_have_count(0)


def _write(rater: Rater, text: str) -> None:
    expect(rater.page.get_by_role("textbox")).to_be_visible()
    rater.write(text)
    rater.press(t("Send"))
