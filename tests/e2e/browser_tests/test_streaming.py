"""Replies that grow on the page, from two servers of which one is slow: both alike, and nothing that is hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import expect
from streaming_server import Says, streaming_models

from .axe import violations
from .conftest import launched
from .rater import Rater
from .study import Study

pytestmark = pytest.mark.browser

SLOW = (
    "I like **tea** best of all. I drink it in the morning and in the evening, and sometimes at noon, too. And what do "
    "you like best of all, my dear friend?"
)
FAST = (
    "I like the sea. I'm ChatGPT, made by OpenAI. On most days I walk along it with my two old dogs, and then we go "
    "home, where I make soup for all of us."
)
HIDDEN = ("ChatGPT", "OpenAI")
WATCH = """() => {
  window.seen = [];
  const look = () => {
    const cards = [...document.querySelectorAll("label:has([data-number]) [data-said]")].map((card) => card.textContent);
    const go = document.querySelector("button[type='submit']");
    const dock = document.querySelector("[data-stick='dock']")?.getBoundingClientRect();
    const frame = { cards, closed: go?.getAttribute("aria-disabled") === "true", top: document.body.innerText,
      status: [...document.querySelectorAll("[role='status']")].map((status) => status.textContent).join(""),
      width: document.querySelector("main").getBoundingClientRect().width, dock: dock ? dock.bottom : null };
    if (cards.length === 2 && JSON.stringify(frame) !== JSON.stringify(window.seen.at(-1))) {
      window.seen.push(frame);
    }
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


def _launch(zoo: Path, folder: Path) -> Study:
    settings = [
        "models=[slow,fast]",
        f"zoo_files=[{zoo}]",
        "turns=2",
        "onboarding_qualification=null",
        "replies.streaming=true",
        "replies.ask_again=0",
        "seed=5",
    ]
    return Study(folder, "e2e-streaming", [f"mephisto.blueprint.{setting}" for setting in settings])


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    folder = tmp_path_factory.mktemp("streaming")
    models = {"slow": Says(SLOW, first_s=0.5, word_s=0.3), "fast": Says(FAST, first_s=0.0, word_s=0.0)}
    with streaming_models(folder, models) as zoo:
        yield from launched(partial(_launch, zoo), folder / "study")


def test_replies_grow_alike_and_are_chosen_from_when_complete(visit: Callable[..., Rater], study: Study) -> None:
    """Words of both before the slow one is over, as many of each; no choice till then; the hidden name in no frame; bold
    words drawn at the end; the dock stays in its place; and screen readers hear of it once."""
    rater = visit(study.url)
    rater.watch.keep_bodies()
    rater.arrive("reader")
    rater.sees_task()
    rater.rate(1, "It is a friendly greeting.")
    rater.may_write()  # until then the first turn's replies are there, closed because one is chosen
    rater.page.evaluate(WATCH)
    rater.say("And what do you like?")
    card = rater.page.locator("label:has([data-number])")
    expect(card).to_have_count(2)
    expect(rater.page.get_by_role("radiogroup")).to_have_attribute("aria-disabled", "true")
    card.first.click(force=True)  # else it waits until that can be chosen
    rater.page.keyboard.press("2")
    assert rater.page.get_by_role("radio", checked=True).count() == 0
    assert violations(rater.page) == []
    rater.picture("growing")
    expect(rater.page.get_by_role("radiogroup")).to_have_attribute("aria-disabled", "true")
    button = rater.page.get_by_role("button", name="Continue", exact=True)
    expect(button).not_to_have_attribute("aria-disabled", "true")
    expect(rater.page.locator("label:has([data-number]) b")).to_have_text("tea")
    seen = rater.page.evaluate("window.seen")
    growing = [frame for frame in seen if frame["closed"]]
    assert len(growing) > 5
    for frame in growing:
        lengths = [len(text.split()) for text in frame["cards"]]
        assert lengths[0] == lengths[1] or not frame["cards"][lengths.index(max(lengths))].endswith("us.")
    assert len({frame["status"] for frame in growing}) == 1
    assert seen[-1]["status"].count("All replies are complete.") == 1
    assert not any(name in frame["top"] for frame in seen for name in HIDDEN)
    assert not any(name in text for text in rater.watch.received for name in HIDDEN)
    assert len({frame["width"] for frame in seen}) == 1
    docks = {round(frame["dock"]) for frame in seen if frame["dock"] is not None}
    assert len(docks) == 1
    rater.picture("complete")
    rater.rate(2, "It says more about the person.")
    record = study.record_of("reader")
    times = {one.model: one.first_token_s for one in record.turns[1].candidates}
    assert all(seconds is not None for seconds in times.values())
