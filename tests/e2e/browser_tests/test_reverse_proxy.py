"""A rater comes by https, to a study below a path of a host that others share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect
from reverse_proxy import ReverseProxy

from .rater import Rater
from .study import Study

pytestmark = pytest.mark.browser


def test_a_whole_dialogue_through_tls_and_a_path(visit: Callable[..., Rater], odd_study: Study, tmp_path: Path) -> None:
    """Guards a study behind nginx: the page, its files, its websocket and the hand-in, after a link without the slash."""
    with ReverseProxy(tmp_path / "nginx", odd_study.port) as proxy:
        rater = visit(proxy.url)
        rater.arrive("through-nginx")
        rater.sees_task()
        rater.rate(1, "It is a friendly greeting.")
        rater.say("I came by https.")
        rater.rate(2, "It answers my message.")
        rater.write("All went well.")
        rater.send("Finish")
        expect(rater.page.get_by_text("Your work has been sent. You can close this page.")).to_be_visible()
    record = odd_study.finished_record_of("through-nginx")
    assert record.status == "complete"
    assert [turn.human_text for turn in record.turns] == ["Hi!", "I came by https."]
