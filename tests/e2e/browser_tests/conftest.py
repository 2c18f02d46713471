from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Playwright, ViewportSize, expect, sync_playwright

from .chromium import FLAGS, NAMES, WHOLE, find_chromium
from .rater import Hand, Rater
from .study import Study, launch_embedded, launch_odd
from .watch import Watch

WIDE: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
PATIENCE_MS = 20_000


def launched(launch: Callable[[Path], Study], folder: Path) -> Iterator[Study]:
    """For fixtures: the study of a module, up; its end must be clean."""
    study = launch(folder)
    try:
        study.wait_until_up()
        yield study
    finally:
        status = study.stop()
    assert status == 0, f"the launch ended with status {status}:\n{study.log[-3000:]}"


@pytest.fixture(scope="package")
def embedded_study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """Packaged models, six turns, practice."""
    yield from launched(launch_embedded, tmp_path_factory.mktemp("embedded") / "study")


@pytest.fixture(scope="package")
def odd_study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """Models that obey, two turns, no practice."""
    yield from launched(launch_odd, tmp_path_factory.mktemp("odd") / "study")


# Not the plugin's session-wide browser: its event loop would be in the way of the asyncio tests of other folders.
@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="package")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        pytest.fail(f"no Chromium: install one ({', '.join(NAMES)}), or name it in $CHROMIUM")
    expect.set_options(timeout=PATIENCE_MS)
    with playwright.chromium.launch(executable_path=path, args=FLAGS) as browser:
        yield browser


@pytest.fixture
def whole_chromium(chromium: Browser, playwright: Playwright) -> Iterator[Browser]:
    """With the settings that people have, such as what a third party may store; not the headless shell."""
    path = find_chromium(WHOLE)
    if path is None:
        pytest.skip(f"no whole Chromium ({', '.join(WHOLE)})")
    with playwright.chromium.launch(executable_path=path, args=FLAGS) as browser:
        yield browser


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Callable[..., Rater]]:
    """``visit(url, hand="finger", locale="zh-CN")``: a person in a browser of their own, which says what they read.

    Whatever a test does, no request may leave this machine and the console must stay clean.
    """
    watches: list[Watch] = []
    with ExitStack() as stack:

        def make(url: str, hand: Hand = "mouse", locale: str = "en-US") -> Rater:
            context = open_context(chromium, phone=hand == "finger", locale=locale)
            stack.callback(context.close)
            watch = Watch(context)
            watches.append(watch)
            return Rater(context.new_page(), url, watch, hand)

        yield make
    problems = [problem for watch in watches for problem in watch.problems()]
    assert problems == []


def open_context(browser: Browser, *, phone: bool = False, locale: str = "en-US") -> BrowserContext:
    """A fresh browser profile, wide or a phone."""
    context = browser.new_context(
        viewport=PHONE if phone else WIDE,
        has_touch=phone,
        is_mobile=phone,
        locale=locale,
        reduced_motion="reduce",
        ignore_https_errors=True,  # a proxy of the tests signs its certificate itself
    )
    context.set_default_timeout(PATIENCE_MS)
    return context
