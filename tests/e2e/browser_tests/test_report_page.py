"""The page of ``parlai-humaneval report`` in a real browser, from its file: alone, readable, and nothing in it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.render.files import write_document
from parlai_humaneval.report.section import Options
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.columns import from_rows

from .axe import violations
from .conftest import PHONE, WIDE

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"
LONG = "a_model_with_a_name_that_is_longer_than_a_phone_is_wide_" * 2


def turns() -> Iterator[dict[str, object]]:
    """Ten workers, three replies a turn, every text and one name hostile, one name without a place to break."""
    models = ("plain", f"evil {HOSTILE}", LONG)
    for worker in range(10):
        for turn in range(1, 5):
            chosen = (worker * 7 + turn) % 4 % 3
            for place, model in enumerate(models):
                yield {
                    "dialogue_id": f"d{worker}",
                    "worker_id": f"w{worker}",
                    "technique": "sata",
                    "setting": "soba",
                    "metric": "preference",
                    "turn": turn,
                    "model": model,
                    "position": (place + turn) % 3 + 1,
                    "selected": int(place == chosen),
                    "continued": int(place == chosen),
                    "written": 0,
                    "seconds": 10.0,
                    "text": f"{HOSTILE} says {model}",
                    "human_text": "x" * 300,
                    "reason": HOSTILE,
                    "question": f"Which? {HOSTILE}",
                }


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    empty = {name: from_rows(name, []) for name in ("dialogues", "comparisons")}
    tables = Tables(turns=from_rows("turns", list(turns())), **empty)
    page = tmp_path_factory.mktemp("written") / "report.html"
    write_document(build_report(tables, Options(draws=100), title=f"Study {HOSTILE}"), page)
    return page


@pytest.fixture(scope="module")
def pages(chromium: Browser, written: Path) -> Iterator[Callable[[str], Page]]:
    """The page on a “phone dark”, all that is folded open; it may ask for nothing and complain of nothing. Loaded once for
    all tests, which only read it."""
    asked: list[str] = []
    problems: list[str] = []
    with ExitStack() as stack:

        @cache
        def page_on(how: str) -> Page:
            scheme = "dark" if "dark" in how else "light"
            context = chromium.new_context(viewport=PHONE if "phone" in how else WIDE, color_scheme=scheme)
            stack.callback(context.close)
            context.on("request", lambda sent: asked.append(sent.url))
            context.on("console", lambda message: problems.append(message.text))
            context.on("weberror", lambda error: problems.append(str(error.error)))
            page = context.new_page()
            page.goto(written.as_uri())
            page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            return page

        yield page_on
        assert asked == [written.as_uri()] * page_on.cache_info().currsize
        assert problems == []


@pytest.fixture
def opened(pages: Callable[[str], Page], request: pytest.FixtureRequest) -> Page:
    return pages(getattr(request, "param", "wide light"))


EVERY = ["wide light", "wide dark", "phone light", "phone dark"]


@pytest.mark.parametrize("opened", EVERY, indirect=True)
def test_nothing_is_wider_than_the_page(opened: Page) -> None:
    """Tables and figures scroll inside; the page does not, on a phone neither."""
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert opened.evaluate(wide) <= 0
    assert opened.locator(".scroll table").count() > 2


@pytest.mark.parametrize("opened", ["wide light", "phone dark"], indirect=True)
def test_everybody_can_read_it(opened: Page) -> None:
    """axe finds nothing: contrast in light and dark, order of headings, names of figures and scrolling regions."""
    # The page lets no script run; axe is the test's own, put there by the browser's tools.
    assert violations(opened) == []


def test_markup_in_texts_is_text(opened: Page) -> None:
    """No element comes of it, and no title is changed by a script."""
    assert opened.locator("main img, main script").count() == 0
    assert opened.title().startswith("Study <img")
    assert opened.get_by_text(f"Which? {HOSTILE}").count() >= 1
    assert (
        opened.locator("svg text").filter(has_text="<img").count()
        + opened.locator("svg desc").filter(has_text="<img").count()
    )


def test_scripts_would_be_refused(opened: Page) -> None:
    """Even if markup slipped through: the page itself forbids all but its own styles."""
    policy = opened.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content")
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_headings_and_figures_are_named(opened: Page) -> None:
    """One h1, no level skipped; every figure has words of its own."""
    levels = [
        int(tag[1]) for tag in opened.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map((h) => h.tagName)")
    ]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    figures = opened.get_by_role("img")
    assert figures.count() >= 2
    for number in range(figures.count()):
        assert figures.nth(number).locator("title").first.text_content()


def test_the_keyboard_reaches_what_scrolls(opened: Page) -> None:
    """The answer comes first and needs no way past anything; wide tables can be focused and so scrolled."""
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.closest('section').id") == "answer"
    assert opened.evaluate("[...document.querySelectorAll('.scroll')].every((one) => one.tabIndex === 0)")


def test_colours_follow_the_reader(chromium: Browser, written: Path) -> None:
    """Light, dark, and light on paper, whatever the screen."""
    grounds = []
    for scheme, media in (("light", "screen"), ("dark", "screen"), ("dark", "print")):
        page = chromium.new_page(color_scheme=scheme)
        page.goto(written.as_uri())
        page.emulate_media(media=media)
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.close()
    assert grounds[0] == grounds[2] == "rgb(255, 255, 255)"
    assert grounds[1] != grounds[0]
