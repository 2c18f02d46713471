"""A person with a real Chromium among the raters of a storm, who judges pairs; the browser may be killed.

Runs in a thread of its own. Killed, it is opened again with the same profile at the same address, as people do.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Error, Page, sync_playwright

from storm.facts import Fact
from storm.notebook import Notebook, Sent
from storm.study import StormStudy

LOOK_S = 0.3
QUESTION = "preference"
ELSEWHERE = "This task is open in another browser"
"""What the page says to a browser that does not know any more that it had the task: killed soon after its first visit, it
had not written its cookies yet (they are written within thirty seconds)."""
DONE = "Your work has been sent. You can close this page."
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
_PLACE = re.compile(r"\d+ of \d+")


class BrowserRater:
    """One person after another, all with one browser each. ``books``: what each knows."""

    def __init__(self, study: StormStudy, folder: Path, chromium: str, seed: int) -> None:
        self.study = study
        self.books: list[Notebook] = []
        self._folder = folder
        self._chromium = chromium
        self._random = random.Random(f"browser:{seed}")
        self._late = threading.Event()
        self._now = threading.Event()
        self._thread = threading.Thread(target=self._people, name="browser-rater", daemon=True)
        self._numbers = 0
        self._profile: Path | None = None
        self._killed = False
        self._sent_here = ""

    def start(self) -> None:
        self._thread.start()

    def come_to_an_end(self) -> None:
        """Nobody comes any more; who is here finishes."""
        self._late.set()

    def give_up(self, patience_s: float) -> None:
        """Wait for who is here; who does not finish then hangs."""
        self._thread.join(patience_s)
        self._now.set()
        self._thread.join(30)
        for book in self.books:
            if book.ended is None:
                book.finish("hangs", "")

    def end(self) -> None:
        """Whatever it is doing: for a storm that itself went wrong, too."""
        self._now.set()
        self.kill()

    def kill(self) -> bool:
        """kill -9 of the browser, whatever it is doing; False where none runs."""
        pids = [] if self._profile is None else processes_with(str(self._profile))
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if pids and self.books:
            self._killed = True
            self.books[-1].note("the browser is killed")
        return bool(pids)

    def _people(self) -> None:
        while not (self._late.is_set() or self._now.is_set() or self.study.over):
            book = Notebook(f"browser{len(self.books) + 1}", self.study.task_name)
            self.books.append(book)
            self._killed = False
            self._profile = self._folder / book.worker
            while book.ended is None and not self._now.is_set() and not self.study.over:
                with contextlib.suppress(Error), self._page() as page:
                    self._visit(page, book)
            if book.ended is None and self.study.over:
                book.finish("found it closed", "")

    @contextmanager
    def _page(self) -> Iterator[Page]:
        with sync_playwright() as playwright:
            context = playwright.chromium.launch_persistent_context(
                str(self._profile), executable_path=self._chromium, headless=True, args=FLAGS
            )
            try:
                yield context.pages[0] if context.pages else context.new_page()
            finally:
                with contextlib.suppress(Error):
                    context.close()

    def _visit(self, page: Page, book: Notebook) -> None:
        """One opening of the browser; raises playwright's Error when that is killed."""
        address = urlencode({"worker_id": book.worker, "assignment_id": "a1"})
        book.note("opens the browser")
        self._sent_here = ""
        while not self._now.is_set() and not self.study.over:
            try:
                page.goto(f"http://127.0.0.1:{self.study.port}/?{address}")
                break
            except Error as error:
                if "ERR_CONNECTION" not in str(error):
                    raise
                time.sleep(1)
        while book.ended is None and not self._now.is_set() and not self.study.over:
            self._look(page, book)
            time.sleep(LOOK_S + self._random.random() * LOOK_S)

    def _look(self, page: Page, book: Notebook) -> None:
        """Do the next thing that the screen asks for, if it asks for any."""
        if page.get_by_text(DONE).count():
            self._confirm(book)
            book.finish("handed in", "Thank you!")
            return
        if self._killed and page.get_by_text(ELSEWHERE).count():
            book.finish("left", "")
            return
        for name in ("Got it", "Finish", "Try again"):
            button = page.get_by_role("button", name=name, exact=True)
            if button.count() and button.first.is_enabled():
                if name == "Finish":
                    self._confirm(book)
                button.first.click(timeout=5000)
                return
        if page.locator("main form input[type=radio]").count():
            self._judge(page, book)

    def _judge(self, page: Page, book: Notebook) -> None:
        place = _PLACE.search(page.get_by_role("banner").inner_text())
        item = "" if place is None else place.group()
        if item in ("", self._sent_here):
            return  # it is being sent, again and again, by the page
        if book.answers and book.answers[-1].step_id != item:
            self._confirm(book)
        self._numbers += 1
        reason = f"It sounds more natural to me [{book.worker}.{self._numbers}]"
        radio = page.locator("main form input[type=radio]").nth(self._random.randrange(2))
        value = radio.get_attribute("value")
        radio.locator("xpath=ancestor::label").click(timeout=5000)
        page.locator("main form textarea").first.fill(reason, timeout=5000)
        book.answers.append(Sent([Fact("form", f"{QUESTION}: {reason}", str(value))], item))
        book.note(f"answers {item!r}")
        page.get_by_role("button", name="Continue", exact=True).click(timeout=5000)
        self._sent_here = item

    def _confirm(self, book: Notebook) -> None:
        """The screen went on: the answer before was taken, if it was sent from this page."""
        if book.answers:
            book.answers[-1].confirmed = True


def processes_with(text: str) -> list[int]:
    """Processes whose command line holds a text."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if text in (folder / "cmdline").read_bytes().decode(errors="replace") and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found
