"""The viewer in a real browser, from its files: ten thousand dialogues, texts that look like scripts, a report's links."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, Page, expect

from benchmarks.simulated_dialogues import many
from mephisto_tasks.cli.report import report, view
from parlai_humaneval.cli.import_data import import_tables
from parlai_humaneval.viewer.entries import entries
from parlai_humaneval.viewer.write import viewer_files, write_viewer

from .axe import violations
from .conftest import PHONE, WIDE

pytestmark = pytest.mark.browser

DIALOGUES = 10_000
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A viewer of ten thousand simulated dialogues."""
    folder = tmp_path_factory.mktemp("large") / "viewer"
    return write_viewer(viewer_files(entries(many(DIALOGUES)), title="Simulated"), folder)[0]


def with_zeppelin() -> str:
    """How many of them say so, counted in the table."""
    turns = many(DIALOGUES).turns
    says = turns["text"].str.contains("zeppelin") | turns["human_text"].str.contains("zeppelin")
    return f"{turns['dialogue_id'][says].nunique()} of 10,000 entries"


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Open]:
    """``open_page(path, hash, "phone dark")``: nothing but files beside the page may be read, and nothing may go wrong."""
    problems: list[str] = []
    contexts = []

    def opened(path: Path, behind: str = "", how: str = "wide light") -> Page:
        scheme = "dark" if "dark" in how else "light"
        context = chromium.new_context(viewport=PHONE if "phone" in how else WIDE, color_scheme=scheme)
        contexts.append(context)
        context.on("request", lambda sent: None if sent.url.startswith("file:") else problems.append(sent.url))
        context.on("console", lambda message: problems.append(message.text))
        context.on("weberror", lambda error: problems.append(str(error.error)))
        context.on("dialog", lambda dialog: problems.append(dialog.message))
        page = context.new_page()
        page.goto(path.as_uri() + behind)
        return page

    yield opened
    for context in contexts:
        context.close()
    # axe reads style sheets by a request that the page does not allow.
    assert [words for words in problems if "viewer.css" not in words and "preload assets" not in words] == []


def accessible(page: Page) -> None:
    """axe finds nothing, and nothing is wider than the window."""
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def milliseconds(page: Page, act: Callable[[], object], words: str) -> int:
    """Until the count of entries says so."""
    began = time.monotonic()
    act()
    expect(page.get_by_role("status")).to_have_text(words)
    return round(1000 * (time.monotonic() - began))


@pytest.mark.parametrize("how", ["wide light", "phone dark"])
def test_ten_thousand_dialogues_are_listed_filtered_and_searched(large: Path, open_page: Open, how: str) -> None:
    """Guards large studies: only what is in sight is in the page; times are printed, as machines differ."""
    page = open_page(large, how=how)
    expect(page.get_by_role("status")).to_have_text("10,000 entries")
    assert page.locator("li:has(> button)").count() < 40
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)[0]")
    page.get_by_role("button", name="Filter", exact=True).click()
    language = page.get_by_role("combobox", name="Language")
    filtered = milliseconds(page, lambda: language.select_option("zh"), "1,000 of 10,000 entries")
    check = page.get_by_role("combobox", name="Failed check")
    again = milliseconds(page, lambda: check.select_option("too_fast"), "200 of 10,000 entries")
    inside = page.evaluate(
        """() => new Promise((done) => {
          const began = performance.now();
          window.location.hash = "#?language=en";
          requestAnimationFrame(() => setTimeout(() => done(Math.round(performance.now() - began))));
        })"""
    )
    expect(page.get_by_role("status")).to_have_text("9,000 of 10,000 entries")
    page.goto(f"{large.as_uri()}#?q=zeppelin")
    expect(page.get_by_role("status")).to_have_text(with_zeppelin(), timeout=60_000)
    print(
        f"{how}: first paint {paint:.0f} ms; filters {filtered}, {again} ms with the test's own way; drawn in {inside} ms"
    )
    accessible(page)


@pytest.mark.parametrize("how", ["wide dark", "phone light"])
def test_a_link_leads_to_a_turn(large: Path, open_page: Open, how: str) -> None:
    """The dialogue is open, its turn in sight, and keys go on from there."""
    page = open_page(large, "#d04321/3", how)
    turn = page.get_by_role("region", name="Turn 3")
    expect(turn).to_be_in_viewport()
    expect(turn).to_contain_text("w0321 chose")
    accessible(page)
    page.keyboard.press("j")
    expect(page.get_by_role("heading", level=2)).to_have_text("d04322")
    page.keyboard.press("/")
    if "wide" in how:
        page.keyboard.type("d00007")
        expect(page.get_by_role("status")).to_have_text("1 of 10,000 entries", timeout=60_000)


SCRIPTS = [
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "<svg onload='window.hacked = 1'>",
    "<body onload='window.hacked = 1'>",
    "<iframe src='javascript:parent.hacked = 1'></iframe>",
    "<iframe srcdoc='<script>parent.hacked = 1</script>'></iframe>",
    "<a href='javascript:window.hacked = 1'>press</a>",
    "[press](javascript:window.hacked=1)",
    "![x](x 'onerror=window.hacked=1')",
    "<details open ontoggle='window.hacked = 1'>",
    "<video><source onerror='window.hacked = 1'></video>",
    "<style>@import 'https://example.org/x.css'; * { display: none }</style>",
    "<link rel=stylesheet href='https://example.org/x.css'>",
    "<meta http-equiv=refresh content='0;url=https://example.org'>",
    "<base href='https://example.org/'>",
    "<form action='https://example.org'><button>press</button></form>",
    "<object data='data:text/html,<script>parent.hacked=1</script>'></object>",
    "<math><mi xlink:href='javascript:window.hacked=1'>x</mi></math>",
    "<template><script>window.hacked = 1</script></template>",
    "<!-- <script> --> <script>window.hacked = 1</script> <!--",
    "<![CDATA[<script>window.hacked = 1</script>]]>",
    "<noscript><p title='</noscript><img src=x onerror=window.hacked=1>'>",
    "<textarea><img title='</textarea><img src=x onerror=window.hacked=1>'>",
    "\u2028window.hacked = 1\u2029window.hacked = 1",
    '"); window.hacked = 1; ("',
    "'); window.hacked = 1; ('",
    "`${window.hacked = 1}`",
    "${window.hacked = 1} #{window.hacked = 1} {{ constructor.constructor('window.hacked = 1')() }}",
    "\\u003cscript\\u003ewindow.hacked = 1\\u003c/script\\u003e",
    "&lt;script&gt;window.hacked = 1&lt;/script&gt;",
    "&#60;script&#62;window.hacked = 1&#60;/script&#62;",
    "%3Cscript%3Ewindow.hacked%20=%201%3C/script%3E",
    "\ufeff<script>window.hacked = 1</script>",
    "＜script＞window.hacked = 1＜/script＞",
    "\u202e<script>window.hacked = 1</script>\u202c",
    "__proto__",
    "constructor",
    "<scr<script>ipt>window.hacked = 1</scr</script>ipt>",
    "{% raw %}<script>window.hacked = 1</script>{% endraw %}",
]
"""Forty texts that would run, load or hide something where they were read as anything but text."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """They are ids, models' names, replies, messages and reasons of a table that is imported: the viewer, and a report."""
    folder = tmp_path_factory.mktemp("hostile")
    row = {"technique": "sata", "setting": "", "metric": "m", "turn": 1, "selected": 1, "written": 0}
    rows = [
        {**row, "dialogue_id": f"{number} {text}", "worker_id": f"w{number % 8}", "model": model, "position": place}
        | {
            "continued": int(place == 1),
            "seconds": 9.0,
            "text": text,
            "human_text": text,
            "reason": text,
            "question": text,
        }
        for number, text in enumerate(SCRIPTS)
        for place, model in ((1, "plain"), (2, SCRIPTS[0]))
    ]
    # Names that JavaScript's objects have already, as ids.
    rows += [{**one, "dialogue_id": one["text"]} for one in rows if one["text"] in ("__proto__", "constructor")]
    (folder / "turns.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    tables, viewer, page = folder / "tables", folder / "viewer", folder / "report.html"
    commands = [
        (import_tables, ["--from", "tables", folder / "turns.jsonl", "--out", tables, "--yes"]),
        (view, [tables, "--out", viewer, "--title", SCRIPTS[1], "--data-dir", folder]),
        (report, ["--tables", tables, "--out", page, "--draws", "100"]),
    ]
    for command, arguments in commands:
        done = CliRunner().invoke(command, list(map(str, arguments)))
        assert done.exit_code == 0, done.output
    return viewer / "index.html", page


def test_texts_of_anybody_are_texts(hostile: tuple[Path, Path], open_page: Open) -> None:
    """No script of them runs, nothing is loaded, and each is shown letter for letter."""
    page = open_page(hostile[0])
    expect(page.get_by_role("heading", level=1)).to_have_text(SCRIPTS[1])
    page.keyboard.press("j")
    shown = set()
    for _ in range(len(SCRIPTS) + 2):
        turn = page.get_by_role("region", name="Turn 1")
        expect(turn.locator("[data-said]")).to_have_count(3)
        shown.add(turn.locator("[data-said]").first.evaluate("(element) => element.textContent"))
        page.keyboard.press("j")
    assert shown == set(SCRIPTS)
    assert page.locator("main :is(script, img, svg, iframe, style, form, object, video, math)").count() == 0
    assert page.evaluate("window.hacked") is None
    policy = page.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content")
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'self' file:")


@pytest.mark.parametrize("how", ["wide light", "phone dark"])
def test_an_imported_conversation_is_shown_in_turns(tmp_path: Path, open_page: Open, how: str) -> None:
    """Of pairs of a release, one from right to left: each turn on its side, and a long filter leaves all in sight."""
    prompt, topic = "\n\nHuman: Hi!\n\nAssistant: Hello.\n\nHuman: Rain?\n\nAssistant:", "a topic of many words, " * 9
    texts = {"prompt": prompt, "chosen": "ماء", "rejected": "```\nUser: no label\n```", "topic": topic}
    pairs = [{**texts, "chosen_model": "heron", "rejected_model": "otter", "id": n} for n in range(3)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)), encoding="utf-8")
    tables, viewer = tmp_path / "tables", tmp_path / "viewer"
    for command, arguments in (
        (import_tables, [tmp_path / "pairs.jsonl", "--out", tables, "--yes"]),
        (view, [tables, "--out", viewer, "--data-dir", tmp_path]),
    ):
        assert CliRunner().invoke(command, list(map(str, arguments))).exit_code == 0
    page = open_page(viewer / "index.html", f"#1?topic={topic}", how)
    heron, otter = (page.get_by_role("region", name=f"Dialogue {n}") for n in (1, 2))
    expect(heron.locator("[data-said]")).to_have_text(["Hi!", "Hello.", "Rain?", "ماء"])
    expect(otter.locator("[data-said]").last).to_have_text("```\nUser: no label\n```")
    right = "(element) => Math.round(element.getBoundingClientRect().right)"
    assert len({heron.locator("[data-said]").nth(n).evaluate(right) for n in (1, 3)}) == 1
    accessible(page)
    if "phone" in how:
        page.get_by_role("button", name="All dialogues").click()
    assert page.get_by_role("button", name="Filter", exact=True).evaluate(right) < page.evaluate("innerWidth")
    accessible(page)


def test_a_number_of_the_report_opens_its_dialogues(hostile: tuple[Path, Path], open_page: Open) -> None:
    """By a link of the summary; the report runs no text either."""
    page = open_page(hostile[1])
    assert page.locator("main script, main img").count() == 0
    link = page.locator("a[href*='viewer/index.html#?'][href*='model=plain']").first
    page.goto(f"{hostile[1].parent.as_uri()}/{link.get_attribute('href')}")
    expect(page.get_by_role("button", name="Model: plain")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("42 entries")
    assert page.evaluate("window.hacked") is None
