"""A server that takes requests and never answers: the page says what it waits for, and after ten seconds why."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from .rater import Rater
from .silent import SilentServer
from .watch import LINE_TROUBLE

pytestmark = pytest.mark.browser

EXPLAINED_AFTER_S = 10
# Where it falls silent, what the page says at once, and what it adds after ten seconds.
CASES = (
    ("/task_config.json", "Loading the task…", "The page is still waiting for the server to describe the task."),
    (
        "/request_agent",
        "Asking for a conversation…",
        "The server has not answered yet. It may be busy, or still starting.",
    ),
    ("/ws", "Connecting…", "There is no live connection to the server yet. The page keeps trying."),
)


def test_loading_says_why_after_ten_seconds(visit: Callable[..., Rater]) -> None:
    """Not before nine seconds, and not after twelve; with a button that tries again."""
    with ExitStack() as stack:
        waiting = []
        for path, at_once, later in CASES:
            rater = visit(stack.enter_context(SilentServer(path)).url)
            rater.watch.excuse(LINE_TROUBLE)
            waiting.append((rater, time.monotonic(), later))
            rater.arrive("patient")
            expect(rater.page.get_by_role("status").get_by_text(at_once)).to_be_visible()
        for rater, since, _ in waiting:
            rater.page.wait_for_timeout(max(0.0, since + EXPLAINED_AFTER_S - 1 - time.monotonic()) * 1000)
            assert rater.page.get_by_text("This takes longer than usual.").count() == 0
        for rater, since, later in waiting:
            explained = rater.page.get_by_role("status").get_by_text(f"This takes longer than usual. {later}")
            left = max(1.0, since + EXPLAINED_AFTER_S + 2 - time.monotonic())
            expect(explained).to_be_visible(timeout=left * 1000)
            rater.press("Try again")
            expect(explained).to_have_count(0)
