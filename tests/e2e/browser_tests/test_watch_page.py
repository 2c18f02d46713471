"""The page of ``parlai-humaneval watch`` over a running study: what it shows, what its buttons do, and to whom."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forked import Forked
from playwright.sync_api import Browser, Page, expect

from .conftest import PHONE, WIDE, launched
from .looks import Looks
from .rater import Rater
from .study import Study, environment

pytestmark = pytest.mark.browser

EVIL = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"
LINK = re.compile(r"http://127\.0\.0\.1:\d+/[\w-]+/")
START_S = 60
REFUSED = "net::ERR_CONNECTION_REFUSED"
"""What Chromium itself writes when a server has gone."""

ZOO = f"""
models:
  heron_12B:
    options: {{model: "browser_tests.agents:PeculiarAgent", own_name: heron_12B, flavour: mild}}
  {json.dumps(EVIL)}:
    options: {{model: "browser_tests.agents:PeculiarAgent", own_name: osprey_3B, flavour: brisk}}
"""
CONF = """
#@package _global_
defaults: [local, _self_]
mephisto:
  blueprint:
    models: [heron_12B, {evil}]
    zoo_files: [{zoo}]
    turns: 2
    onboarding_qualification: null
    dialogues_per_group: 30
    seed: 5
"""


def _launch(folder: Path) -> Study:
    """Two models, one of whose names is markup; two turns, no practice."""
    folder.mkdir(parents=True)
    (folder / "zoo.yaml").write_text(ZOO, encoding="utf-8")
    (folder / "study.yaml").write_text(CONF.format(evil=json.dumps(EVIL), zoo=folder / "zoo.yaml"), encoding="utf-8")
    return Study(folder, "e2e-watched", [f"conf={folder / 'study.yaml'}"])


class Watching:
    """A ``watch --page`` of its own process."""

    def __init__(self, study: Study, folder: Path) -> None:
        self._log = folder / "watch.log"
        command = "from parlai_humaneval.cli import main; main()"
        where = ["--task-name", study.task_name, "--data-dir", str(study.data_dir)]
        with self._log.open("wb") as log:
            self._process = Forked(
                [sys.executable, "-c", command, "watch", *where, "--page"],
                env=environment(folder / "home"),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.link = self._read_link()

    def _read_link(self) -> str:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            if link := LINK.search(self.said):
                return link.group()
            time.sleep(0.1)
        raise AssertionError(f"watch printed no link:\n{self.said}")

    @property
    def said(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def stop(self) -> int:
        """Ctrl-C; the exit status."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        return self._process.wait(START_S)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    yield from launched(_launch, tmp_path_factory.mktemp("watched") / "study")


@pytest.fixture(scope="module")
def watching(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watching]:
    looking = Watching(study, tmp_path_factory.mktemp("watching"))
    yield looking
    looking.stop()


@pytest.fixture
def opened(chromium: Browser, watching: Watching) -> Iterator[Page]:
    """The page; it asks this machine alone, and complains of nothing."""
    context = chromium.new_context(viewport=WIDE)
    problems: list[str] = []
    context.on("console", lambda message: problems.append(message.text) if REFUSED not in message.text else None)
    context.on("weberror", lambda error: problems.append(str(error.error)))
    context.on("request", lambda sent: None if sent.url.startswith(watching.link) else problems.append(sent.url))
    page = context.new_page()
    page.goto(watching.link)
    yield page
    context.close()
    assert problems == []


def _one_dialogue(rater: Rater, worker: str) -> None:
    rater.arrive(worker)
    rater.sees_task()
    rater.rate(1, "It is a friendly greeting.")
    rater.say("I like the sea, and you?")
    rater.rate(1, "It answers what I asked.")
    rater.finish()


def test_the_page_shows_the_study_as_it_goes(
    visit: Callable[..., Rater], study: Study, watching: Watching, opened: Page
) -> None:
    """Guards what a researcher sees without loading again: who is inside and where, what is complete, and the answer; wide
    and narrow, light and dark; what is open stays open; a model's name is text; what a stranger may have is nothing."""
    expect(opened.locator("#part-state")).to_contain_text("0 of 30 conversations are complete")
    opened.get_by_text("Retire a model").click()
    _one_dialogue(visit(study.url), "first")
    inside = visit(study.url)
    inside.arrive("second")
    inside.sees_task()
    expect(opened.locator("#part-state")).to_contain_text("1 of 30 conversations are complete", timeout=60_000)
    expect(opened.locator("#part-inside")).to_contain_text("turn 1 of 2")
    expect(opened.locator("#part-inside")).to_contain_text("chooses a reply")
    expect(opened.locator("#part-answer")).to_contain_text("heron_12B")
    expect(opened.locator("#part-models")).to_contain_text("0 s")
    assert opened.get_by_role("button", name="Retire heron_12B").is_visible(), "what was opened has folded"
    assert opened.locator("main img, main script").count() == 0
    assert opened.title() == "e2e-watched: watching"
    expect(opened.get_by_text(EVIL).first).to_be_visible()
    for shape, viewport in (("wide", WIDE), ("phone", PHONE)):
        opened.set_viewport_size(viewport)
        looks = Looks(shape)
        looks.look(opened, "watch")
        assert looks.problems() == []
        looks.picture(opened, "watch-whole", whole=True)
    opened.get_by_role("link", name="All dialogues so far").click()
    expect(opened.get_by_role("status")).to_have_text("2 entries")
    opened.keyboard.press("j")
    expect(opened.get_by_role("region", name="Turn 2")).to_contain_text("I like the sea, and you?")
    for wrong in (watching.link.rstrip("/")[:-1] + "x/", watching.link.rsplit("/", 2)[0] + "/"):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(wrong, timeout=10)
    rebound = urllib.request.Request(watching.link, headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(rebound, timeout=10)


def test_pausing_from_the_page(visit: Callable[..., Rater], study: Study, opened: Page) -> None:
    """Guards the buttons: each asks once and can be declined; who is inside finishes, nobody new comes in until it is
    resumed, and the keyboard is enough."""
    inside = visit(study.url)
    inside.arrive("third")
    inside.sees_task()
    pause = opened.get_by_role("button", name="Pause", exact=True)
    pause.focus()
    opened.keyboard.press("Enter")
    expect(opened.get_by_role("dialog")).to_contain_text("Raters inside can finish")
    opened.keyboard.press("Escape")
    expect(pause).to_be_focused()
    expect(opened.locator("#part-state")).to_contain_text("Running")
    pause.click()
    opened.get_by_role("button", name="Do it").click()
    expect(opened.locator("#told")).to_contain_text("no new raters start")
    expect(opened.locator("#part-state")).to_contain_text("Paused")
    expect(opened.locator("#part-more")).to_contain_text("active raters finish")
    outside = visit(study.url)
    outside.arrive("fourth")
    expect(outside.page.get_by_text("paused", exact=False).first).to_be_visible()
    inside.rate(1, "It is a friendly greeting.")
    opened.get_by_role("button", name="Resume").click()
    opened.get_by_role("button", name="Do it").click()
    expect(opened.locator("#part-state")).to_contain_text("Running")
    assert opened.get_by_role("button", name="Pause", exact=True).is_visible()


def test_more_and_fewer_from_the_page(visit: Callable[..., Rater], study: Study, opened: Page) -> None:
    """Guards every other button over a launch that goes on, for somebody is inside: more, one pair stopped and taken up
    again, a model retired and brought back; each says what it did, and who is inside goes on."""
    inside = visit(study.url)
    inside.arrive("fifth")
    inside.sees_task()

    def order(button: str, told: str) -> None:
        opened.get_by_role("button", name=button).click()
        opened.get_by_role("button", name="Do it").click()
        expect(opened.locator("#told")).to_contain_text(told)

    opened.get_by_role("button", name="More conversations").click()
    opened.get_by_label("How many more of each").fill("3")
    opened.get_by_role("button", name="Do it").click()
    expect(opened.locator("#told")).to_contain_text("33 conversations are requested now")
    expect(opened.locator("#part-groups")).to_contain_text("of 33")
    order("Stop heron_12B vs", "No groups are left")
    expect(opened.locator("#part-state")).to_contain_text("in progress")
    order("Continue with heron_12B vs", "is resumed")
    opened.get_by_text("Retire a model").click()
    order("Retire heron_12B", "heron_12B is retired")
    order("Bring back heron_12B", "takes part again")
    inside.rate(1, "It is a friendly greeting.")


def test_a_page_without_its_program_says_since_when(opened: Page, watching: Watching) -> None:
    """Guards against numbers that look fresh and are not; what stood there stays to be read. The program's own output is a
    plain line where there is no terminal. The last test: it ends the program."""
    before = opened.locator("#part-answer").inner_text()
    assert watching.stop() == 0
    expect(opened.locator("#stale")).to_contain_text("No news since", timeout=20_000)
    assert opened.locator("#part-answer").inner_text() == before
    assert "0 of 30 conversations complete, " in watching.said
    assert "\x1b" not in watching.said
