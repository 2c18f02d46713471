"""In every step of every technique what is judged can be read, what is asked can be seen, and nothing moves while one types.

Each step is shown on a phone above its keyboard, where the least of it can be seen and nothing sticks, and in one of the
four other windows. These take turns along the scenes, which lie by what they ask, so that none of the windows is without
long replies, short ones, messages and finished dialogues.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from parlai_humaneval.schema.steps import ChooseStep, WaitStep

from .stage import Stage, stage_of
from .stage_scenes import CARDS, Scene, scenes, talk, words_of

pytestmark = pytest.mark.browser

SIZES = {
    "desktop": (1280, 800),
    "laptop": (1366, 657),
    "phone": (390, 664),
    "phone above its keyboard": (390, 480),
    "zoomed to 200 %": (640, 400),
}
TOUCH = {"phone", "phone above its keyboard"}
READABLE_PX = 72
"""Three lines of what is judged, or all of it where it is shorter."""
MOST = 0.45
"""Of the window's height, for all that sticks but the header; in one lower than this many pixels nothing sticks:"""
LOW_PX = 500
PATIENCE_S = 3
TYPED = "No 2"
"""Short, as every key is looked at; a digit in it must be text."""
REASON = "It has more to say."
SCENES = {scene.name: scene for scene in scenes()}
LOWEST = "phone above its keyboard"
OTHERS = [size for size in SIZES if size != LOWEST]
STEPS = [(LOWEST, name) for name in SCENES]
STEPS += [(OTHERS[number % len(OTHERS)], name) for number, name in enumerate(SCENES)]
LOADED_AGAIN = [(("desktop", LOWEST)[number % 2], name) for number, name in enumerate(SCENES) if SCENES[name].before]
"""An arena whose two replies are of one length is on the one, an arena of long ones on the other."""
UNANSWERED = [
    *("pw_turn", "sata-eight", "free_for_all-many", "single_model", "single_model-likert", "arena-practice-1"),
    *("direct_assessment-sliders", "pw_dialog", "spot_the_bot", "spot_the_bot-practice", "third_party-choose"),
    *("third_party-rank", "third_party-whole"),
]
READ_TO_THE_END = [
    *("pw_turn", "sata-sata_user", "sata-eight", "free_for_all-many", "single_model", "arena-practice-1"),
    *("third_party-choose", "third_party-rank", "pw_dialog", "third_party-verdict"),
]
NOT_SEEN = "you have not seen the end yet."
SAME_PRESS_MS = 600  # presses closer together are one
LOOSE = "label[for=message], [role=group] h2, [data-question]"
"""What asks where one has read: in a low window it follows what is judged, and is out of sight until then."""

_SEEN = """
element => {
  const box = element.getBoundingClientRect();
  // The radio of a card lies over its words, and lets them be seen.
  const covers = (at) => at.matches("label input") && at.closest("label").contains(element);
  const inside = (x, y) => {
    const at = document.elementFromPoint(x, y);
    return at !== null && (element.contains(at) || covers(at));
  };
  const xs = [box.left + Math.min(24, box.width / 2), box.left + box.width / 2];
  let rows = 0;
  for (let y = Math.ceil(Math.max(0, box.top)); y < Math.min(innerHeight, box.bottom); y += 2) {
    rows += xs.some((x) => inside(x, y)) ? 2 : 0;
  }
  return {seen: rows, height: box.height};
}
"""
_POINT = """
input => {
  const label = input.closest("label");
  const seen = () => {
    const box = label.getBoundingClientRect();
    for (let y = Math.max(0, box.top) + 6; y < Math.min(innerHeight, box.bottom); y += 4) {
      const at = document.elementFromPoint(box.left + 30, y);
      if (at !== null && label.contains(at)) { return [box.left + 30, y]; }
    }
    return null;
  };
  if (seen() === null) { label.scrollIntoView({block: "nearest"}); }
  return seen();
}
"""
_PLACES = """
() => [...document.querySelectorAll("header > :first-child, main, [data-stick=dock]")].map((part) => {
  const {left, right} = part.getBoundingClientRect();
  const {paddingLeft, paddingRight} = getComputedStyle(part);
  return part.dataset.stick ? [left, right] : [left + parseFloat(paddingLeft), right - parseFloat(paddingRight)];
})
"""
_LINES = """
header => new Set([...header.querySelectorAll("p span")].flatMap((part) => [...part.getClientRects()])
  .filter((line) => line.width > 1).map((line) => line.top)).size
"""
_STICKING = """
() => {
  const heights = {};
  for (const element of document.querySelectorAll("#root *")) {
    const within = element.parentElement.closest("[data-docked]") !== null;
    if (["sticky", "fixed"].includes(getComputedStyle(element).position) && element.tagName !== "HEADER" && !within) {
      const name = element.dataset.stick ?? element.className;
      heights[name] = Math.max(heights[name] ?? 0, element.offsetHeight);
    }
  }
  return heights;
}
"""
_ENDS_SEEN = """
() => {
  const seen = new Set();
  const look = () => document.querySelectorAll("[data-end]").forEach((end) => {
    const {left, width, bottom} = end.firstElementChild.getBoundingClientRect();
    const at = document.elementFromPoint(left + width / 2, bottom - 4);
    const folded = end.querySelector("[aria-expanded=false]") !== null;
    if (at !== null && !folded && (end.closest("label") ?? end).contains(at)) { seen.add(end.dataset.end); }
  });
  look();
  addEventListener("scroll", look);
  window.endsSeen = () => { look(); return [...seen]; };
}
"""
"""Keeps the names of what is judged, once its last line was on the screen with nothing over it."""
_CUT_LINKS = """
() => [...document.querySelectorAll("nav[data-jump]")].flatMap((bar) => {
  const around = bar.getBoundingClientRect();
  return [...bar.querySelectorAll("a")].filter((link) => {
    const {left, right} = link.getBoundingClientRect();
    const hidden = link.ariaCurrent && (left < around.left - 1 || right > around.right + 1);
    return around.width > 0 && (link.scrollWidth > link.clientWidth || hidden);
  });
}).map((link) => link.textContent)
"""
"""Links of a bar whose names lie over the next, and the current one where it is scrolled out of sight."""


@pytest.fixture(scope="module")
def stages(chromium: Browser) -> Iterator[Callable[[str], Stage]]:
    """The stage in a window of a size, which stays open: in a new browser each test would load and compile the page anew."""
    with ExitStack() as stack:

        @cache
        def stage_in(size: str) -> Stage:
            width, height = SIZES[size]
            touch = size in TOUCH
            context = chromium.new_context(
                viewport={"width": width, "height": height}, has_touch=touch, is_mobile=touch, reduced_motion="reduce"
            )
            stack.callback(context.close)
            return stack.enter_context(stage_of(context.new_page()))

        yield stage_in


@pytest.fixture(params=SIZES)
def stage(request: pytest.FixtureRequest, stages: Callable[[str], Stage]) -> tuple[str, Stage]:
    return request.param, stages(request.param)


def _open(stage: Stage, scene: Scene) -> Page:
    stage.open(words_of(scene.task), *scene.before, scene.state)
    _rest(stage.page)
    return stage.page


def _rest(page: Page) -> None:
    """Until the page has come to rest."""
    page.evaluate(
        """() => new Promise((done) => {
          let last = -1, still = 0;
          const look = () => {
            still = scrollY === last ? still + 1 : 0;
            last = scrollY;
            still > 5 ? done() : requestAnimationFrame(look);
          };
          look();
        })"""
    )


def _scroll(page: Page) -> float:
    return float(page.evaluate("scrollY"))


def _seen(place: Locator) -> dict[str, float]:
    found: dict[str, float] = place.evaluate(_SEEN)
    return found


def _readable(place: Locator, least: float = READABLE_PX) -> bool:
    found = _seen(place)
    return found["seen"] >= min(least, found["height"] - 10)


def _problems(page: Page, scene: Scene) -> list[str]:
    """What is wrong once the step has come: on a busy machine the page needs a moment to get there."""
    late = time.monotonic() + PATIENCE_S
    while (problems := _problems_now(page, scene)) and time.monotonic() < late:
        page.wait_for_timeout(100)
    return problems


def _problems_now(page: Page, scene: Scene) -> list[str]:
    height = page.viewport_size["height"] if page.viewport_size else 0
    sticking: dict[str, float] = page.evaluate(_STICKING)
    found = []
    if sum(sticking.values()) > (MOST * height if height >= LOW_PX else 0):
        found.append(f"{sticking} stick in {height} px")
    judged = page.locator(scene.judged)
    for place in judged.all()[: 2 if scene.both else 1]:
        if not _readable(place):
            found.append(f"{_seen(place)} of the judged part can be seen")
    asks = page.locator(scene.asks).first
    ahead = page.locator("[data-ahead]")
    if ahead.count() and ahead.is_visible() and _readable(ahead, 1000):
        return found
    if scene.asks in LOOSE and page.locator("[data-docked]").count() == 0:
        asks.evaluate("element => element.scrollIntoView({block: 'end'})")
    if not _readable(asks, 1000):
        found.append(f"of the question {_seen(asks)} can be seen")
    return found


@pytest.mark.parametrize(("stage", "name"), STEPS, indirect=["stage"])
def test_step(stage: tuple[str, Stage], name: str) -> None:
    """It comes with three lines of what is judged and the whole question in sight; docked parts take at most 45 %.

    Every reply can be scrolled to under its question. Who then writes changes no answer and moves nothing.
    """
    size, on_stage = stage
    scene = SCENES[name]
    page = _open(on_stage, scene)
    assert _problems(page, scene) == []
    _check_frame(page, scene, size)
    if scene.explains:
        _explain(page, scene, size in TOUCH)
    elif page.locator("#message").count():
        _write(page, size in TOUCH)
    _read_to_the_last(page)
    height = SIZES[size][1]
    assert sum(page.evaluate(_STICKING).values()) <= (MOST * height if height >= LOW_PX else 0)


@pytest.mark.parametrize(("stage", "name"), LOADED_AGAIN, indirect=["stage"])
def test_a_page_that_is_loaded_again(stage: tuple[str, Stage], name: str) -> None:
    """Guards replies that are there when the page opens: an arena showed the end of one and nothing of the other."""
    scene = replace(SCENES[name], before=[])
    assert _problems(_open(stage[1], scene), scene) == []


@pytest.mark.parametrize("stage", ["phone"], indirect=True)
@pytest.mark.parametrize("name", ["third_party-rank", "free_for_all-many", "sata-eight"])
def test_a_bar_of_many_replies(stage: tuple[str, Stage], name: str) -> None:
    """On a phone no link to a reply lies over the next, and the reply that one has come to is shown in the bar."""
    page = _open(stage[1], SCENES[name])
    assert page.evaluate(_CUT_LINKS) == []
    _read_to_the_last(page)
    assert page.evaluate(_CUT_LINKS) == []


@pytest.mark.parametrize("stage", ["phone"], indirect=True)
@pytest.mark.parametrize("name", ["pw_turn-short", "pw_turn-first-short", "pw_turn", "pw_turn-first"])
def test_the_other_reply_stays_readable_above_the_reason(stage: tuple[str, Stage], name: str) -> None:
    """Guards the comparison: what asks for a reason covers neither of two short replies; long ones can be read."""
    page = _open(stage[1], SCENES[name])
    _choose(page, page.locator("form input[type=radio]"), touch=True)
    expect(page.get_by_role("textbox")).to_be_visible()
    _rest(page)
    replies = page.locator(CARDS)
    if name.endswith("short"):
        assert all(_readable(reply, 1000) for reply in replies.all())
    for number in (2, 1):
        replies.nth(number - 1).evaluate("reply => reply.closest('label').scrollIntoView({block: 'nearest'})")
        _rest(page)
        assert _readable(replies.nth(number - 1))
    assert page.locator("[data-docked]").evaluate("dock => dock.offsetHeight") <= MOST * SIZES["phone"][1]


@pytest.mark.parametrize("stage", ["phone"], indirect=True)
@pytest.mark.parametrize("scrolls", [False, True])
def test_replies_that_grow_are_followed(stage: tuple[str, Stage], scrolls: bool) -> None:
    """They end where replies that come whole would stand; one who scrolls meanwhile stays where they scrolled to."""
    scene = SCENES["pw_turn-medium"]
    whole = scene.state.step
    assert isinstance(whole, ChooseStep)
    page = _open(stage[1], scene)
    usual = _scroll(page)
    stage[1].open(words_of(scene.task), *scene.before)
    words = max(len(card.text.split()) for card in whole.cards)
    for count in range(1, words, 6):
        shown = [card.model_copy(update={"text": " ".join(card.text.split()[:count])}) for card in whole.cards]
        coming = WaitStep(text="Writing…", coming=whole.model_copy(update={"cards": shown}))
        stage[1].show(scene.state.model_copy(update={"step": coming}))
        _rest(page)
        if scrolls and count == 1:
            page.mouse.wheel(0, -60)
            _rest(page)
            chosen = _scroll(page)
    stage[1].show(scene.state)
    _rest(page)
    assert _scroll(page) == pytest.approx(chosen if scrolls else usual, abs=1)


def _check_frame(page: Page, scene: Scene, size: str) -> None:
    """Header, column and dock are where they are in every other step of any technique; the header is one line."""
    width, height = SIZES[size]
    column = min(
        width - 2 * page.evaluate("parseFloat(getComputedStyle(document.querySelector('main')).paddingLeft)"), 1024
    )
    docked = page.locator("[data-docked]")
    for left, right in page.evaluate(_PLACES):
        assert (left + right) / 2 == pytest.approx(page.evaluate("document.documentElement.clientWidth") / 2, abs=1)
        assert right - left == pytest.approx(column, abs=1) or (
            width < 720 and docked.count() and right - left == width
        )
    assert page.get_by_role("banner").evaluate("header => header.offsetHeight") == 48
    assert page.get_by_role("banner").evaluate(_LINES) <= 1
    if docked.count():
        assert docked.evaluate("dock => dock.offsetHeight") <= MOST * height
    tabs = page.get_by_role("navigation", name="What to compare")
    if width < 720 and height >= LOW_PX and (scene.both or page.get_by_test_id("panel").count() == 2):
        expect(tabs.get_by_role("link")).to_have_count(2)
    else:
        expect(tabs).to_be_hidden()


def _read_to_the_last(page: Page) -> None:
    """Scrolled to the last reply one reads three lines of it, and where there is room the question stays."""
    replies = page.locator(
        f"{CARDS}, li[data-card] [data-said], [data-testid=judged-reply] [data-said], [data-scale] > p"
    )
    if replies.count() == 0:
        return
    replies.last.evaluate("""
        element => {
          const card = element.closest("label, li[data-card], figure") ?? element;
          const high = card.offsetHeight > innerHeight; // a short reply beside a long one
          (high ? element : card).scrollIntoView({block: high ? "center" : "nearest"});
        }
    """)
    _rest(page)
    assert _readable(replies.last), _seen(replies.last)
    if page.locator("[data-stick=question][data-stuck]").count():
        assert _readable(page.locator("#question"), 1000)


def _explain(page: Page, scene: Scene, touch: bool) -> None:
    """The chosen reply, in a low window its beginning, is in sight above the reason; digits are text; nothing moves."""
    options = page.locator("form input:is([type=radio], [type=checkbox])")
    field = page.get_by_role("textbox")
    if touch:
        _choose(page, options, touch)
        expect(field).to_be_visible()
        expect(field).not_to_be_focused()  # a keyboard on the screen comes when it is called
        _rest(page)
        _tap(page, field)
    else:
        page.keyboard.press("1")
        expect(field).to_be_visible()
        _rest(page)
    assert field.get_attribute("aria-invalid") == "false"
    docked = page.locator("[data-docked]").count() == 1
    places = _typed(page, docked)
    assert len(set(places)) == 1, f"typing scrolls the page: {places}"
    expect(field).to_be_focused()
    expect(field).to_have_value(TYPED)
    expect(options.first).to_be_checked()
    assert options.evaluate_all("all => all.filter((one) => one.checked).length") == 1
    label = page.locator(f"label[for={field.get_attribute('id')}]")
    assert _readable(label, 1000), _seen(label)
    if docked:
        assert _readable(page.locator(scene.judged).first), _seen(page.locator(scene.judged).first)
    elif scene.judged == CARDS:
        assert _readable(page.locator("[data-quote]"), 48)


def _write(page: Page, touch: bool) -> None:
    """Whatever a message begins with: a number at its beginning gives no verdict."""
    field = page.locator("#message")
    if touch:
        _tap(page, field)
    places = _typed(page, page.locator("[data-docked]").count() == 1, "2 of")
    assert len(set(places)) == 1, f"typing scrolls the page: {places}"
    expect(field).to_have_value("2 of")
    expect(page.get_by_role("dialog")).to_have_count(0)


def _choose(page: Page, options: Locator, touch: bool) -> None:
    """Press the first option where one sees it."""
    x, y = options.first.evaluate(_POINT)
    page.touchscreen.tap(x, y) if touch else page.mouse.click(x, y)
    expect(options.first).to_be_checked()


def _tap(page: Page, field: Locator) -> None:
    """As a finger does, which scrolls nothing that it can reach."""
    if page.locator("[data-docked]").count() == 0:
        field.tap()
        return
    box = field.bounding_box()
    assert box is not None
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def _typed(page: Page, docked: bool, text: str = TYPED) -> list[float]:
    """Where the page is scrolled to after each key, and before the first; undocked, the first may lead to the field."""
    places = [_scroll(page)] if docked else []
    for key in text:
        page.keyboard.type(key)
        places.append(_scroll(page))
    return places


def _sent(stage: Stage) -> list[dict[str, Any]]:
    stage.page.wait_for_timeout(100)
    return stage.answers


@pytest.mark.parametrize("name", READ_TO_THE_END)
def test_nobody_answers_before_each_end_was_on_the_screen(stage: tuple[str, Stage], name: str) -> None:
    """An answer waits for each end that was never on the screen, and says so there. Each press leads to one."""
    size, on_stage = stage
    page = _open(on_stage, SCENES[name])
    names = page.locator("[data-end]").evaluate_all("ends => ends.map((end) => end.dataset.end)")
    page.evaluate(_ENDS_SEEN)
    if name == "third_party-rank":
        page.keyboard.type("123")
    else:
        _choose(page, page.locator("form input:is([type=radio], [type=checkbox])"), size in TOUCH)
    if SCENES[name].explains:
        page.get_by_role("textbox").fill(REASON)
    press = page.get_by_role("button", name="Continue")
    note = page.get_by_text(NOT_SEEN)
    for _ in [*names, "sent"]:
        press.scroll_into_view_if_needed()
        _rest(page)
        before = _ends_seen(page)
        press.click()
        if _sent(on_stage):
            break
        expect(note).to_be_in_viewport()
        _rest(page)
        assert _readable(note)
        assert _ends_seen(page) > before
        page.wait_for_timeout(SAME_PRESS_MS)
    assert len(on_stage.answers) == 1
    assert _ends_seen(page) == set(names)
    expect(note).to_have_count(0)


@pytest.mark.parametrize("name", ["pw_turn-short", "pw_turn-first-short"])
def test_replies_that_fit_wait_for_nothing(stages: Callable[[str], Stage], name: str) -> None:
    on_stage = stages("laptop")
    page = _open(on_stage, SCENES[name])
    page.keyboard.press("1")
    page.keyboard.type(REASON)
    page.keyboard.press("Enter")
    assert len(_sent(on_stage)) == 1


@pytest.mark.parametrize("size", ["desktop", "zoomed to 200 %", LOWEST])
def test_a_key_that_chooses_an_unseen_reply_shows_it(stages: Callable[[str], Stage], size: str) -> None:
    """Its end is on the screen, which a screen reader hears; what is typed then is the reason, and Enter goes on."""
    on_stage = stages(size)
    page = _open(on_stage, SCENES["pw_turn"])
    page.evaluate(_ENDS_SEEN)
    page.keyboard.press("2")
    expect(page.locator("form input[type=radio]").nth(1)).to_be_focused()
    note = page.get_by_role("alert").filter(has_text=f"Reply 2: {NOT_SEEN}")
    expect(note).to_be_in_viewport()
    _rest(page)
    assert _ends_seen(page) == {"Reply 2"}
    page.keyboard.type(REASON)
    expect(page.get_by_role("textbox")).to_have_value(REASON)
    page.keyboard.press("Enter")
    assert _sent(on_stage) == []
    expect(page.get_by_role("alert").filter(has_text=f"Reply 1: {NOT_SEEN}")).to_be_in_viewport()
    page.wait_for_timeout(SAME_PRESS_MS)
    page.keyboard.press("Enter")
    assert [answer["selected"] for answer in _sent(on_stage)] == [[page.locator("label input").nth(1).input_value()]]


@pytest.mark.parametrize("name", ["pw_turn", "sata-eight"])
@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_who_is_led_to_an_unseen_end_changes_no_choice(stages: Callable[[str], Stage], size: str, name: str) -> None:
    """Neither by going on with the reason, nor by an arrow, nor by a press on the words there, nor by a double press."""
    on_stage = stages(size)
    page = _open(on_stage, SCENES[name])
    page.keyboard.press("1")
    chosen = page.locator("form input:checked").evaluate_all("inputs => inputs.map((input) => input.value)")
    note = page.get_by_text(NOT_SEEN)
    page.wait_for_timeout(SAME_PRESS_MS)
    if SCENES[name].explains:
        page.get_by_role("textbox").fill("It is kind.")
    page.get_by_role("button", name="Continue").dblclick()
    expect(note).to_be_in_viewport()
    assert _sent(on_stage) == []
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    note.click()
    assert page.locator("form input:checked").evaluate_all("inputs => inputs.map((input) => input.value)") == chosen


def _ends_seen(page: Page) -> set[str]:
    return set(page.evaluate("endsSeen()"))


def test_the_tab_that_is_chosen_is_marked_where_the_page_cannot_scroll(stages: Callable[[str], Stage]) -> None:
    """Guards a press on a tab against leaving no trace where both replies are in sight already."""
    on_stage, arena = stages("phone"), SCENES["arena"]
    short = arena.state.model_copy(update={"transcript": talk(["Hi!", "Hello!"], columns=True)})
    on_stage.open(words_of("arena"), *arena.before, short)
    _rest(on_stage.page)
    tabs = on_stage.page.get_by_role("navigation", name="What to compare").get_by_role("link")
    for number in (1, 0, 1):
        tabs.nth(number).tap()
        _rest(on_stage.page)
        expect(tabs.nth(number)).to_have_attribute("aria-current", "location")
        expect(tabs.nth(1 - number)).not_to_have_attribute("aria-current", "location")


def test_who_has_scrolled_through_both_is_not_asked_to(stage: tuple[str, Stage]) -> None:
    size, on_stage = stage
    page = _open(on_stage, SCENES["pw_dialog"])
    for number in (0, 1):
        page.locator("[data-end]").nth(number).evaluate("element => element.scrollIntoView({block: 'center'})")
        page.wait_for_timeout(50)
    options = page.locator("form input[type=radio]")
    _choose(page, options, size in TOUCH)
    page.get_by_role("textbox").fill(REASON)
    page.get_by_role("button", name="Continue").click()
    assert [answer["values"] for answer in _sent(on_stage)] == [{"preference": "first"}]


@pytest.mark.parametrize("stage", ["phone", LOWEST, "zoomed to 200 %"], indirect=True)
@pytest.mark.parametrize("name", UNANSWERED)
def test_what_is_missing_is_said_where_one_is_led_to(stage: tuple[str, Stage], name: str) -> None:
    """Guards words at the end of a page that led away from them, an option beneath the dock, which grows by them, and a
    button that such a dock scrolls out of sight."""
    page = _open(stage[1], SCENES[name])
    button = page.get_by_role("button", name="Continue")
    button.scroll_into_view_if_needed()
    button.click(force=True)  # it says that it is not ready
    expect(page.get_by_role("alert").first).to_be_attached()
    page.wait_for_timeout(100)
    _rest(page)
    said = [words for words in page.locator(".wrong").all() if words.is_visible() and _readable(words)]
    assert said, page.locator(".wrong").all_text_contents()
    led = page.locator("label:has(:focus), :has(> input[type=range]:focus)").first
    assert _readable(led, 24), _seen(led)
    if page.locator("[data-docked]").count():
        assert _readable(button, 24), _seen(button)


@pytest.mark.parametrize("stage", ["phone", "desktop"], indirect=True)
def test_three_long_replies_are_ticked_where_one_has_read_them(stage: tuple[str, Stage]) -> None:
    """No tick moves the page, though the dock grows by a reason; the choice and the button that sends it are on one line."""
    size, on_stage = stage
    page = _open(on_stage, SCENES["sata-reason"])
    foot = page.locator("[data-stick=dock] [data-foot]").first
    for box in page.locator("form input[type=checkbox]").all()[:3]:
        box.evaluate(
            """box => {
              const dock = document.querySelector("[data-docked]").getBoundingClientRect().top;
              scrollBy(0, box.closest("label").getBoundingClientRect().bottom - dock);
            }"""
        )
        before = _scroll(page)
        x, y = box.evaluate(_POINT)
        page.touchscreen.tap(x, y) if size in TOUCH else page.mouse.click(x, y)
        expect(box).to_be_checked()
        page.wait_for_timeout(50)
        _rest(page)
        assert _scroll(page) == before
        assert foot.evaluate("foot => foot.offsetHeight") <= 48
    page.get_by_role("textbox").fill(REASON)
    page.get_by_role("button", name="Continue").click()
    assert [len(answer["selected"]) for answer in _sent(on_stage)] == [3]


@pytest.mark.parametrize("stage", ["phone"], indirect=True)
def test_a_page_that_is_loaded_again_shows_the_reply_that_it_asks_about(stage: tuple[str, Stage]) -> None:
    """Guards a reason that was asked for one reply while another was in sight."""
    page = _open(stage[1], SCENES["pw_turn"])
    page.locator("[data-stick=dock] [data-foot]").get_by_text("2", exact=True).tap()
    expect(page.locator("form input[type=radio]").nth(1)).to_be_checked()
    page.reload()
    expect(page.get_by_role("textbox")).to_be_visible()
    page.wait_for_timeout(100)
    _rest(page)
    chosen = page.locator(CARDS).nth(1)
    assert _readable(chosen), _seen(chosen)


@pytest.mark.parametrize("stage", [LOWEST, "zoomed to 200 %"], indirect=True)
@pytest.mark.parametrize("name", ["direct_assessment-message", "pw_turn", "pw_dialog"])
def test_what_does_not_stick_scrolls_beneath_the_header(stage: tuple[str, Stage], name: str) -> None:
    """Guards the topic, which lay over the header in a low window."""
    page = _open(stage[1], SCENES[name])
    for place in (20, 45, 70):
        page.evaluate("place => scrollTo(0, place)", place)
        assert _readable(page.get_by_role("button", name="Instructions"), 1000)
        assert _readable(page.get_by_role("banner").get_by_role("paragraph"), 1000)


@pytest.mark.parametrize("stage", ["phone"], indirect=True)
@pytest.mark.parametrize("name", ["spot_the_bot-practice", "pw_dialog-practice", "pw_turn-practice"])
def test_a_word_beside_the_button_is_no_column_of_syllables(stage: tuple[str, Stage], name: str) -> None:
    page = _open(stage[1], SCENES[name])
    groups = page.locator("form [role=radiogroup]").all()
    for group in groups:
        group.locator("label").first.tap()
    guide = page.locator("[data-guide=send]")
    expect(guide).to_be_visible()
    _rest(page)
    assert guide.evaluate("guide => guide.offsetHeight") <= 80
    covered = [_seen(label) for label in page.locator("[data-docked] label").all() if not _readable(label, 40)]
    assert covered == []
    button = page.get_by_role("button", name="Continue")
    assert _readable(button, 44), _seen(button)
