"""A server that takes requests and never answers: the page says what it waits for, and after ten seconds why."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .rater import Rater
from .silent import SilentServer
from .watch import LINE_TROUBLE

pytestmark = pytest.mark.browser


# Where it falls silent, what the page says at once, and what it adds after ten seconds.
@pytest.mark.parametrize(
    ("path", "at_once", "later"),
    [
        ("/task_config.json", "Loading the task…", "The page is still waiting for the server to describe the task."),
        ("/request_agent", "Asking for a conversation…", "The server has not answered yet."),
        ("/ws", "Connecting…", "There is no live connection to the server yet. The page keeps trying."),
    ],
)
def test_loading_says_why_after_ten_seconds(visit: Callable[..., Rater], path: str, at_once: str, later: str) -> None:
    """Not before, not later, with a button that tries again; by the browser's clock, which the test turns."""
    with SilentServer(path) as server:
        rater = visit(server.url)
        rater.watch.excuse(LINE_TROUBLE)  # “Try again” and the end of the test break off what was never answered
        rater.page.clock.install()
        rater.arrive("patient")
        expect(rater.page.get_by_role("status").get_by_text(at_once)).to_be_visible()
        rater.page.clock.pause_at(rater.page.evaluate("Date.now() / 1000") + 2)
        rater.page.clock.run_for(5_000)
        assert rater.page.get_by_text("This is taking longer than usual.").count() == 0
        rater.page.clock.run_for(5_000)
        explained = rater.page.get_by_role("status").get_by_text(f"This is taking longer than usual. {later}")
        expect(explained).to_be_visible()
        rater.picture(f"silent-{path.strip('/')}")
        rater.press("Try again")
        expect(explained).to_have_count(0)
        expect(rater.page.get_by_role("status").get_by_text(at_once)).to_be_visible()
