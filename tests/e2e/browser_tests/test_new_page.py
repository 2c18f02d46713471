"""The page of ``parlai-humaneval new``: from a model to a written study, by keyboard, on a screen and on a phone."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
import yaml
from forked import Forked
from killable_server import free_port
from playwright.sync_api import Browser, Page, expect

from .conftest import PHONE, WIDE
from .looks import Looks
from .study import environment

pytestmark = pytest.mark.browser

LINK = re.compile(r"http://127\.0\.0\.1:\d+/[\w-]+/")
SERVED = re.compile(r"http://127\.0\.0\.1:\d+")
START_S = 60
OF_AXE = "Failed to execute 'postMessage'"
"""What Chromium writes when axe looks for itself in the frame of the preview."""
QUESTION = "Which reply would you rather read twice?"


class Setup:
    """A ``new`` of its own process, in a folder with a model."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._log, temporary = folder, folder / "new.log", folder / "temporary"
        temporary.mkdir()
        self.temporary = temporary
        (folder / "my_bot.py").write_text("def reply(history):\n    return 'Why do you ask?'\n", encoding="utf-8")
        command = f"import os; os.chdir({str(folder)!r}); from parlai_humaneval.cli import main; main()"
        with self._log.open("wb") as log:
            self._process = Forked(
                [sys.executable, "-c", command, "new"],
                env={**environment(folder / "home"), "TMPDIR": str(temporary)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + START_S
        while not LINK.search(self.said):
            assert time.monotonic() < deadline, self.said
            assert self._process.poll() is None, self.said
            time.sleep(0.1)
        self.link = LINK.findall(self.said)[0]

    @property
    def said(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def stop(self) -> int:
        """Ctrl-C; the exit status."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(START_S)

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(START_S)


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    made = Setup(tmp_path)
    yield made
    assert made.stop() == 0
    assert list(made.temporary.glob("parlai-humaneval-preview-*")) == [], "the try-out has left something"


@pytest.fixture
def opened(chromium: Browser, setup: Setup) -> Iterator[Page]:
    context = chromium.new_context(viewport=WIDE, reduced_motion="reduce")
    problems: list[str] = []
    context.on("console", lambda message: problems.append(message.text) if OF_AXE not in message.text else None)
    context.on("weberror", lambda error: problems.append(str(error.error)))
    page = context.new_page()
    page.goto(setup.link)
    yield page
    context.close()
    assert [text for text in problems if "409" not in text] == []


def _typed(page: Page, label: str, text: str) -> None:
    """Reached, filled and confirmed by keys."""
    page.get_by_label(label, exact=True).focus()
    page.keyboard.press("Control+A")
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def test_from_nothing_to_a_study_by_keyboard(setup: Setup, opened: Page) -> None:
    """Guards the whole walk: a model of one's own answers, costs follow the gap, a wrong language is named, raters see the
    question, and the file is the one that was shown; axe finds nothing, and nothing is wider than its window."""
    looks = Looks("wide")
    expect(opened.get_by_text("Raters", exact=True)).to_be_visible()
    _typed(opened, "Model 2", "my_bot.py")
    opened.get_by_role("button", name="Try each model").press("Enter")
    expect(opened.get_by_text("“Why do you ask?”")).to_be_visible()
    cost = opened.get_by_role("radio", name="PW-Turn $").locator("..")
    expect(cost).to_contain_text("$597")
    _typed(opened, "Gap", "20")
    expect(cost).to_contain_text("$158")
    _typed(opened, "Your own question", QUESTION)
    _typed(opened, "Turns", "2")
    _typed(opened, "Language", "xx")
    expect(opened.get_by_role("alert")).to_contain_text("there is no language 'xx'")
    expect(opened.get_by_role("button", name="Write study.yaml")).to_be_disabled()
    _typed(opened, "Language", "en")
    frame = opened.frame_locator("iframe")
    frame.get_by_role("button", name="Start").click(timeout=120_000)  # a launch of its own starts behind it
    expect(frame.get_by_text(QUESTION).first).to_be_visible()
    shown = _words(str(opened.locator("iframe").get_attribute("src")))
    looks.look(opened, "new")
    opened.get_by_role("button", name="Write study.yaml").press("Enter")
    expect(opened.get_by_text("parlai-humaneval launch study.yaml", exact=True)).to_be_visible()
    assert shown == _launched_words(setup.folder)
    text = (setup.folder / "study.yaml").read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    assert {key: content[key] for key in ("technique", "models", "question", "turns", "zoo_files")} == {
        "technique": "pw_turn",
        "models": ["eliza", "my_bot"],
        "question": QUESTION,
        "turns": 2,
        "zoo_files": ["study_models.yaml"],
    }
    opened.get_by_text("The file", exact=True).click()
    assert opened.locator("pre").last.text_content() == text
    opened.set_viewport_size(PHONE)
    narrow = Looks("phone")
    narrow.look(opened, "new")
    found = {name: look.violations for each in (looks, narrow) for name, look in each.looks.items()}
    assert all(not violations for each in found.values() for violations in each.values()), found
    assert {
        pixels for each in (looks, narrow) for look in each.looks.values() for pixels in look.sideways.values()
    } == {0}


def _words(address: str) -> dict[str, object]:
    """What raters read before they start, minutes and pay included."""
    with urllib.request.urlopen(urljoin(address, "/task_config.json")) as answer:
        words = json.load(answer)
    return {name: words[name] for name in ("title", "tagline", "minutes", "pay", "preview", "instructions")}


def _launched_words(folder: Path) -> dict[str, object]:
    """Those of the written study, once it is launched."""
    log = folder / "launch.log"
    command = f"import os; os.chdir({str(folder)!r}); from parlai_humaneval.cli import main; main()"
    with log.open("wb") as said:
        launch = Forked(
            [sys.executable, "-c", command, "launch", "study.yaml", f"port={free_port()}", "--yes"],
            env=environment(folder / "home"),
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + START_S
        while not (link := SERVED.search(log.read_text(encoding="utf-8"))):
            assert time.monotonic() < deadline, log.read_text(encoding="utf-8")
            assert launch.poll() is None, log.read_text(encoding="utf-8")
            time.sleep(0.1)
        return _words(link.group())
    finally:
        launch.send_signal(signal.SIGINT)
        launch.wait(START_S)


def test_a_file_that_is_there_is_replaced_on_demand(setup: Setup, opened: Page) -> None:
    """Guards somebody's own study of the same name."""
    (setup.folder / "study.yaml").write_text("mine", encoding="utf-8")
    opened.get_by_role("button", name="Write study.yaml").click()
    expect(opened.get_by_role("alert")).to_contain_text("already exists")
    assert (setup.folder / "study.yaml").read_text(encoding="utf-8") == "mine"
    opened.get_by_role("button", name="Replace study.yaml").click()
    expect(opened.get_by_text("Written.")).to_be_visible()


def test_a_stranger_gets_nothing(setup: Setup) -> None:
    """Guards the page from other sites and whoever lacks the link: they can read, ask and write nothing."""
    body = json.dumps({"choices": {}, "replace": True}).encode()
    home = re.sub(r"[^/]+/$", "", setup.link)
    for url, headers in (
        (f"{home}wrong/write", {"X-Parlai-Humaneval": "order", "Content-Type": "application/json"}),
        (f"{setup.link}write", {"Content-Type": "application/json"}),
        (
            f"{setup.link}write",
            {"X-Parlai-Humaneval": "order", "Content-Type": "application/json", "Host": "evil.example"},
        ),
    ):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(url, data=body, headers=headers, method="POST"))
        assert refused.value.code in (403, 405)
    assert not (setup.folder / "study.yaml").exists()
    assert tempfile.gettempdir() != str(setup.temporary)
    assert os.listdir(setup.temporary) == []


def test_a_kill_leaves_no_try_out_behind(chromium: Browser, tmp_path: Path) -> None:
    """Guards the machine against rater's pages that nobody can end: the try-out and its folder go when ``new`` is killed."""
    made = Setup(tmp_path)
    try:
        page = chromium.new_page()
        page.goto(made.link)
        expect(page.frame_locator("iframe").get_by_role("button", name="Start")).to_be_visible(timeout=1000 * START_S)
        shown = str(page.locator("iframe").get_attribute("src"))
        page.close()
    finally:
        made.kill()
    deadline = time.monotonic() + START_S
    while _is_served(shown):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert list(made.temporary.glob("parlai-humaneval-preview-*")) == []


def _is_served(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=START_S)
    except OSError:  # refused, or reset as it ended
        return False
    return True
