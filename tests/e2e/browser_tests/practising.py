"""A person in the practice of any technique, who knows what is right, and gets it wrong where asked to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from playwright.sync_api import expect

from parlai_humaneval.materials.instructions import (
    ChooseItem,
    PairItem,
    Practice,
    PracticeItem,
    RateItem,
    SegmentItem,
    TickItem,
    VerdictItem,
)
from parlai_humaneval.techniques.questions import (
    CRITERIA,
    DIMENSIONS,
    LABEL_OPTIONS,
    PAIR_SPEAKERS,
    PW_DIALOG_QUESTIONS,
    label_questions,
)

from .judging import Judging
from .rater import Rater
from .reading import check_reading
from .scales import Scales

NOT_RIGHT = "not what we were looking for."
VERDICTS = ("a", "b", "tie", "both_bad")
"""In shown order."""
SIDES = {"low": 10, "high": 90}
OTHER_SIDE = {"low": "high", "high": "low"}


def practise(
    rater: Rater,
    practice: Practice,
    *,
    wrong: Collection[int] = (),
    on_item: Callable[[int], None] = lambda number: None,
) -> None:
    """Once through; the items with the numbers ``wrong`` are answered wrong. ``on_item``: called when one is shown."""
    total = len(practice.items)
    for number, item in enumerate(practice.items, start=1):
        rater.progress(f"Practice {number} of {total}")
        if number == 1 and rater.page.get_by_role("alert").count() == 0:  # a second try has been told about the first
            check_reading(rater, item)
        on_item(number)
        _answer(rater, item, number not in wrong, practice.metric)
        rater.send("Continue")


def practise_twice(rater: Rater, practice: Practice, on_item: Callable[[int], None] = lambda number: None) -> None:
    """The first item wrong in the first try, which is told; then all right, and the conversation begins."""
    practise(rater, practice, wrong=[1], on_item=on_item)
    told = rater.page.get_by_role("alert")
    expect(told).to_contain_text(f"One answer was {NOT_RIGHT} You have one more try.")
    expect(told).to_contain_text(practice.items[0].why)
    practise(rater, practice)
    expect(rater.page.get_by_role("banner").get_by_text("Practice")).to_have_count(0)


def practise_as(rater: Rater, practice: Practice, on_item: Callable[[int], None] = lambda number: None) -> None:
    """In two tries with a mouse, and at once otherwise: what is said after the first try is the same for every hand."""
    (practise_twice if rater.hand == "mouse" else _practise_once)(rater, practice, on_item)


def _practise_once(rater: Rater, practice: Practice, on_item: Callable[[int], None]) -> None:
    practise(rater, practice, on_item=on_item)


def _answer(rater: Rater, item: PracticeItem, right: bool, metric: str) -> None:
    match item:
        case PairItem():
            number = item.better if right else 3 - item.better
            Judging(rater).pick(PW_DIALOG_QUESTIONS[metric], PAIR_SPEAKERS[number - 1])
        case SegmentItem():
            for question, good in zip(label_questions().values(), item.right, strict=True):
                chosen = next(name for name in LABEL_OPTIONS if (name in good) == right)
                Judging(rater).pick(question, LABEL_OPTIONS[chosen])
        case ChooseItem():
            _choose(rater, item, right)
        case TickItem():
            numbers = [place for place, name in enumerate(_options(rater), start=1) if name in item.must]
            _select(rater, numbers if right else [] if numbers else [1])
        case VerdictItem():
            number = 1 + VERDICTS.index(item.better)
            rater.choose(number if right else number % len(VERDICTS) + 1)
        case RateItem():
            sides = item.sides if right else {name: OTHER_SIDE[side] for name, side in item.sides.items()}
            _rate(rater, sides)


def _rate(rater: Rater, sides: Mapping[str, str]) -> None:
    """The far end of each scale: a slider's, or the first or last point."""
    scales = Scales(rater)
    if rater.page.get_by_role("slider").count():
        scales.slide_all(SIDES[side] for side in sides.values())
        return
    for name, side in sides.items():
        dimension = DIMENSIONS[name]
        scales.point(dimension.text, 1 if side == "low" else dimension.maximum)


def _rank(rater: Rater, item: ChooseItem, right: bool) -> None:
    """The right replies before the others, or behind them; each has a place of its own."""
    texts = Judging(rater).replies(len(item.replies))
    good = [(item.replies.index(text) + 1 in item.right) == right for text in texts]
    order = sorted(range(len(texts)), key=lambda shown: not good[shown])
    Judging(rater).rank([order.index(shown) + 1 for shown in range(len(texts))])


def _choose(rater: Rater, item: ChooseItem, right: bool) -> None:
    if rater.page.get_by_role("radiogroup", name="Rank of reply A").count():
        _rank(rater, item, right)
        return
    places = [item.replies.index(card.text) + 1 for card in rater.cards(len(item.replies))]
    good = [shown for shown, number in enumerate(places, start=1) if number in item.right]
    several = rater.page.get_by_role("checkbox").count() > 0
    if right:
        _select(rater, good)
    else:
        _select(rater, [] if good and several else [next(n for n in range(1, len(places) + 1) if n not in good)])


def _select(rater: Rater, numbers: list[int]) -> None:
    if numbers:
        rater.choose(*numbers)
    else:
        rater.choose_none()


def _options(rater: Rater) -> list[str]:
    """Names of the criteria to tick, in shown order; the page knows them by their words."""
    names = {criterion.text: name for name, criterion in CRITERIA["tick"].items()}
    return [names[text] for text in rater.options()]
