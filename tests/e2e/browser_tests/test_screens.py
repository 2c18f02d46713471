"""Every screen, wide and on a phone: usable with a screen reader, no sideways scrolling, readable in dark colours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from .axe import SOURCE, violations
from .conftest import open_context
from .rater import Rater
from .study import Study
from .tour import SCREENS, Tour
from .watch import Watch

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", params=["wide", "phone"])
def tour(chromium: Browser, embedded_study: Study, request: pytest.FixtureRequest) -> Iterator[Tour]:
    assert SOURCE.is_file(), f"axe-core is not installed: run npm ci in {SOURCE.parents[2]}"
    phone = request.param == "phone"
    context = open_context(chromium, phone=phone)
    watch = Watch(context)
    tour = Tour(request.param)
    tour.walk(Rater(context.new_page(), embedded_study.url, watch, "finger" if phone else "mouse"))
    yield tour
    context.close()
    assert watch.problems() == []


@pytest.mark.parametrize("screen", SCREENS)
def test_no_grave_violation(tour: Tour, screen: str) -> None:
    """axe-core finds nothing serious or critical."""
    assert {how: found for how, found in tour.looks[screen].violations.items() if found} == {}


@pytest.mark.parametrize("screen", SCREENS)
def test_no_sideways_scrolling(tour: Tour, screen: str) -> None:
    """Nothing is wider than the window, on a phone down to 320 pixels."""
    assert {width: pixels for width, pixels in tour.looks[screen].sideways.items() if pixels > 0} == {}


def test_axe_sees_a_violation(chromium: Browser) -> None:
    """The instrument works: a field without a name is found, so that its silence means something."""
    context = open_context(chromium)
    page = context.new_page()
    page.set_content("<html lang='en'><title>t</title><main><h1>t</h1><input></main></html>")
    assert [violation.rule for violation in violations(page) if violation.grave] == ["label"]
    context.close()
