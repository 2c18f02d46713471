"""The start screen of every task: what it is, how long it takes, what it pays and the button, without scrolling."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, ViewportSize, expect

from mephisto_tasks.config.files import task_dir
from parlai_humaneval._util.data_files import packaged
from parlai_humaneval.materials.consent import load_consent
from parlai_humaneval.materials.instructions import load_instructions
from parlai_humaneval.techniques.registry import techniques

from .conftest import open_context
from .looks import sideways
from .silent import CROWD, SilentServer

pytestmark = pytest.mark.browser

SIZES: list[ViewportSize] = [{"width": 390, "height": 664}, {"width": 1280, "height": 800}]
VALUES = {
    "practice_pay": "$0.20",
    "question": "Which next response from your partner would you prefer in a long conversation?",
    "pay": "$2.50 for one complete set of four conversations, practice included",
    "tries": "two tries",
    **dict.fromkeys(("turns", "max_turns", "items", "conversations", "min_reason_words", "min_written_words"), "10"),
    **dict.fromkeys(("judgements", "units", "settings"), "3"),
    "models": "three",
}
FLAGS = {"practice", "told_at_once", "rater_ends", "persona", "reasons", "several_conversations", "several_items"}
LOOK = {
    "packet_type": "agent_details",
    "data": {"request_id": "r", "worker_id": "1", "agent_id": None, "failure_reason": None, "preview": True},
}
FILES = [path for name in techniques() for path in sorted((task_dir(name) / "task_config").glob("instructions*.yaml"))]
"""Of all ten techniques: self_chat has the words of pw_dialog."""


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    with SilentServer("/nothing") as server:
        context = open_context(chromium)
        page = context.new_page()
        page.route(
            "**/wrap_crowd_source.js", lambda route: route.fulfill(body=_crowd(), content_type="text/javascript")
        )
        page.route("**/request_agent", lambda route: route.fulfill(json=LOOK))
        page.goto(server.url)
        yield page
        context.close()


def _crowd() -> str:
    """A visitor who has not begun."""
    return CROWD.replace("return 'w'", "return null").replace("return 'a'", "return null")


def _shown(page: Page, config: dict[str, Any]) -> None:
    def answer(route: Route) -> None:
        route.fulfill(body=json.dumps(config), content_type="application/json")

    page.route("**/task_config.json", answer)
    page.reload()


def _sees_all(page: Page, config: dict[str, Any]) -> None:
    """Title, minutes, pay and button lie within the window; what follows below is there, too."""
    button = page.get_by_role("button", name=config["start_label"])
    expect(button).to_be_visible()
    for size in SIZES:
        page.set_viewport_size(size)
        for part in (
            page.get_by_role("heading", name=config["title"]),
            page.get_by_text(f"About {config['minutes']} minutes", exact=True),
            page.get_by_text(config["pay"], exact=True),
            page.get_by_text(config["consent"], exact=True),
            button,
        ):
            box = part.bounding_box()
            assert box is not None
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= size["height"], (config["title"], size, box)
        assert sideways(page) == 0
    for section in config["preview"]["sections"]:
        expect(page.get_by_role("heading", name=section["heading"], exact=True)).to_be_visible()


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_start_is_above_the_fold(page: Page, path: Path) -> None:
    """By the link of a panel, with a consent text of one's own, and in MTurk's preview, without."""
    of_panel = load_instructions(path, VALUES, {*FLAGS, "own_consent"}).model_dump(mode="json")
    form = load_consent(packaged("consent_example.yaml")).for_page()
    config = {**of_panel, "minutes": 15, "consent_form": form}
    _shown(page, {**config, "entry": "address", "panel": {"title": "Prolific", "may_decline": True}})
    _sees_all(page, config)
    expect(page.get_by_role("button", name="I do not want to take part")).to_be_visible()
    config = {**load_instructions(path, VALUES, FLAGS).model_dump(mode="json"), "minutes": 15}
    _shown(page, {**config, "entry": "site", "unit": "HIT"})
    _sees_all(page, config)
    expect(page.get_by_text("You must accept the HIT before you can start")).to_be_visible()
