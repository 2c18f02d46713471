"""A second browser engine: three techniques from the preview to the record in Debian's Firefox."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .conftest import launched
from .firefox import NAMES, Firefox, find_firefox, firefox
from .study import Study
from .techniques import launch_unpractised

pytestmark = pytest.mark.browser

SIZES = [(1280, 800), (390, 664)]
REASON = "It takes up what I said."
CHOICES = "[...document.querySelectorAll('main form label:has(input)')]"
NONE_CHOSEN = "!document.querySelector('main form input:checked')"
SENT = "document.body.innerText.includes('Your work has been sent.')"
WORKER = "new URLSearchParams(location.search).get('worker_id')"
HEADER = "document.querySelector('header')?.innerText ?? ''"


@pytest.fixture(scope="module")
def fox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    path = find_firefox()
    if path is None:
        pytest.skip(f"no Firefox: install one ({', '.join(NAMES)})")
    with firefox(path, tmp_path_factory.mktemp("firefox")) as started:
        yield started


def _begin(browser: Firefox, study: Study, size: tuple[int, int]) -> str:
    """From the preview to the first step; the worker."""
    browser.errors.clear()
    browser.size(*size)
    browser.open(study.url)
    browser.press("Start")
    return str(browser.until(WORKER))


def _choose(browser: Firefox, number: int) -> None:
    browser.click(f"{CHOICES}[{number - 1}]")
    browser.until(f"{CHOICES}[{number - 1}].querySelector('input').checked")


def _finish(browser: Firefox) -> None:
    browser.until("document.body.innerText.includes('One last thing')")
    browser.press("Finish")
    browser.until(SENT)


def _pw_turn(browser: Firefox) -> None:
    for number in (1, 2):
        browser.until(f"{HEADER}.includes('Turn {number} of 2')")
        if number == 2:
            browser.until("!document.querySelector('main form input[type=radio]')")
            browser.write("And then?")
            browser.press("Send")
        browser.until(f"{CHOICES}.length === 2 && {NONE_CHOSEN}")
        _choose(browser, number)
        browser.write(REASON)
        browser.press("Continue")


def _arena(browser: Firefox) -> None:
    browser.write("Hello, both of you!")
    browser.press("Send")
    browser.press("B is better")
    browser.until("document.querySelector('[role=dialog]') !== null")
    browser.press("B is better")


def _single_model(browser: Firefox) -> None:
    for number in (1, 2):
        browser.until(f"{HEADER}.includes('Turn {number} of 2')")
        if number == 2:
            browser.until("!document.querySelector('main form input[type=checkbox]')")
            browser.write("And then?")
            browser.press("Send")
        browser.until(f"{CHOICES}.length > 2 && {NONE_CHOSEN}")
        _choose(browser, 1)
        browser.press("Continue")
    browser.until("document.querySelectorAll('[role=radiogroup]').length > 1")
    for scale in range(browser.evaluate("document.querySelectorAll('[role=radiogroup]').length")):
        browser.click(f"document.querySelectorAll('[role=radiogroup]')[{scale}].querySelector('label')")
    browser.press("Continue")


WALKS: dict[str, Callable[[Firefox], None]] = {"pw_turn": _pw_turn, "arena": _arena, "single_model": _single_model}


@pytest.mark.parametrize("task", WALKS)
def test_a_technique_from_the_preview_to_the_record(fox: Firefox, task: str, tmp_path: Path) -> None:
    """Guards raters who do not use Chromium, at a desktop and at a phone's size: nothing is in their way, and the console
    stays clean."""
    for study in launched(lambda folder: launch_unpractised(folder, task), tmp_path / "study"):
        for size in SIZES:
            worker = _begin(fox, study, size)
            WALKS[task](fox)
            _finish(fox)
            record = study.finished_record_of(worker)
            assert (record.technique, record.status, record.refused_answers) == (task, "complete", 0)
            assert fox.errors == []
