"""Texts of one direction on a page of the other: what is asked, said and answered has its full stops at its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from mephisto_tasks.annotation import steps as judging
from mephisto_tasks.session.steps import choose_step
from parlai_humaneval.schema.steps import Context, Notice, PageState, Progress
from parlai_humaneval.techniques.questions import PAIR_SPEAKERS, SPOT_SPEAKERS

from .stage import Stage, stage_of
from .stage_scenes import card, dialogue, live, state, static, talk, words_of

pytestmark = pytest.mark.browser

ENGLISH = "I like (old) boats, and you?"
ARABIC = "أحب القوارب (القديمة)، وأنت؟"
BOTH = f"{ENGLISH}\n{ARABIC}"
MARKED = """{0}

1. {0}
   - {0}

> {0}

| {0} | 40 |
|---|---|

{0} `f(x, y);` {0}
"""
_TURNED = """
() => {
  const side = (text, at, which) => {
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    return range.getClientRects()[0]?.[which];
  };
  const turned = [];
  const all = document.createTreeWalker(document.querySelector("#root"), NodeFilter.SHOW_TEXT);
  while (all.nextNode()) {
    const text = all.currentNode;
    for (const line of text.data.matchAll(/(\\p{L})[)]?([.?!؟])$/gmu)) {
      const last = side(text, line.index, "left"), stop = side(text, line.index + line[0].length - 1, "left");
      const leftward = /[\\u0590-\\u08ff]/.test(line[1]);
      if (last !== undefined && (leftward ? stop > last : stop < last)) { turned.push(text.data); }
    }
  }
  return turned;
}
"""
"""Texts that end with a mark on the wrong side of their last letter."""
_SIDES = """
(elements) => elements.map((element) => {
  const range = document.createRange();
  range.selectNode(document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode());
  const around = element.closest("[data-said]").getBoundingClientRect(), {left, right} = range.getBoundingClientRect();
  return left - around.left <= around.right - right ? "left" : "right";
})
"""
"""On which side of what was said the first text of a part stands."""


@pytest.fixture(scope="module")
def stage(chromium: Browser) -> Iterator[Stage]:
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    with stage_of(context.new_page()) as opened:
        yield opened
    context.close()


def _open(stage: Stage, task: str, direction: str, shown: PageState) -> Page:
    words = words_of(task)
    languages = {"he" if direction == "rtl" else "en": {"direction": direction, "catalogue": {}, "words": words}}
    stage.open({**words, "languages": languages}, shown)
    expect(stage.page.locator("[data-step]")).to_be_attached()
    expect(stage.page.locator("html")).to_have_attribute("dir", direction)
    return stage.page


@pytest.mark.parametrize(("direction", "other"), [("rtl", ENGLISH), ("ltr", ARABIC)])
def test_a_text_of_the_other_direction(stage: Stage, direction: str, other: str) -> None:
    """Guards each text, the parts of markup that begin on the side of their language, and code, which no text turns."""
    counted = Progress(unit="pair", current=2, total=6)
    persona = Context(title=other, lines=[other, other])
    marked = MARKED.format(other)
    pw, spot = live("pw_turn"), static("spot_the_bot")
    page = _open(
        stage,
        "pw_turn",
        direction,
        state(
            choose_step(pw, "choose-3", [card(marked), card(BOTH, 1)]),
            transcript=talk([BOTH, other, other]),
            context=persona,
            notice=Notice(level="info", text=other, points=[other, BOTH]),
        ),
    )
    page.keyboard.press("1")
    page.get_by_role("textbox").fill(BOTH)
    assert page.evaluate(_TURNED) == []
    reply = page.locator("#card-0 [data-said]")
    side = "left" if other == ENGLISH else "right"
    assert reply.locator("> p, li, blockquote, th").evaluate_all(_SIDES)[:4] == [side] * 4
    assert (
        reply.locator("ol, ul, blockquote, table").evaluate_all(
            "all => all.map((one) => getComputedStyle(one).direction)"
        )
        == [{"left": "ltr", "right": "rtl"}[side]] * 4
    )
    assert page.locator("#card-0 code").evaluate("code => getComputedStyle(code).direction") == "ltr"
    for task, form in (("pw_dialog", static("pw_dialog", "local", "dialogues=[x]")), ("spot_the_bot", spot)):
        lines: list[str] = [other, BOTH, other]
        speaker: Any = PAIR_SPEAKERS[0] if task == "pw_dialog" else None
        panel = dialogue("Conversation", lines, speaker, SPOT_SPEAKERS[0]).model_copy(update={"context": [other]})
        panels = [panel, panel] if task == "pw_dialog" else [panel]
        page = _open(
            stage,
            task,
            direction,
            state(judging.form_step(form, "pair-2", judging.asked(form)), panels=panels, progress=counted),
        )
        assert page.evaluate(_TURNED) == []
