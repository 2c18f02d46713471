"""The consent text on a real page: read and agreed to, declined, and asked anew where its version is another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from parlai_humaneval._util.data_files import packaged

from .conftest import launched
from .looks import Looks
from .rater import Rater
from .study import ODD_MODELS, Study, odd_zoo

pytestmark = pytest.mark.browser

AGREE = "I am 18 or older, and I agree"
EXAMPLE = packaged("consent_example.yaml").read_text()
BEFORE = "Before you begin"


@pytest.fixture(scope="module")
def consenting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    folder = tmp_path_factory.mktemp("consent") / "study"

    def launch(folder: Path) -> Study:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "consent.yaml").write_text(EXAMPLE)
        settings = [
            f"models=[{','.join(ODD_MODELS)}]",
            f"zoo_files=[{odd_zoo(folder)}]",
            "dialogues_per_group=20",
            "turns=1",
            "onboarding_qualification=null",
            f"consent_file={folder / 'consent.yaml'}",
        ]
        return Study(folder, "e2e-consent", [f"mephisto.blueprint.{setting}" for setting in settings])

    yield from launched(launch, folder)


@pytest.mark.parametrize("hand", ["keyboard", "finger"])
def test_who_says_no_is_thanked_and_nowhere(visit: Callable[..., Rater], consenting: Study, hand: str) -> None:
    """The text fits the window, and a screen reader; no byte of the data directory holds the name that said no."""
    looks = Looks("phone" if hand == "finger" else "wide")
    rater = visit(consenting.url, hand)
    name = rater.start_from_preview()
    expect(rater.page.get_by_role("heading", name=BEFORE)).to_be_visible()
    looks.look(rater.page, "consent")
    rater.press("I do not want to take part")
    expect(rater.page.get_by_role("heading", name="You are not taking part")).to_be_visible()
    looks.look(rater.page, "declined")
    for look in looks.looks.values():
        assert {how: found for how, found in look.violations.items() if found} == {}
        assert {width: pixels for width, pixels in look.sideways.items() if pixels > 0} == {}
    files = [path for path in consenting.data_dir.rglob("*") if path.is_file()]
    assert [path for path in files if name.encode() in path.read_bytes()] == []


def test_who_agrees_is_asked_once_and_again_when_the_text_is_another(
    visit: Callable[..., Rater], consenting: Study
) -> None:
    """A reload asks nothing; the next launch with a new version does, and says what is new."""
    rater = visit(consenting.url, "mouse")
    rater.start_from_preview()
    address = rater.page.url
    expect(rater.page.get_by_role("heading", name=BEFORE)).to_be_visible()
    rater.press(AGREE)
    rater.sees_task()
    cards = rater.cards()
    rater.page.reload()
    assert rater.cards() == cards
    rater.page.goto("about:blank")
    consenting.stop()
    newer = EXAMPLE.replace('version: "1.0"', 'version: "1.1"').replace('changes: ""', "changes: Answers stay a year.")
    (consenting.data_dir.parent / "consent.yaml").write_text(newer)
    consenting.start_again()
    rater.page.goto(address)
    expect(rater.page.get_by_text("earlier version of this text (1.0). Answers stay a year.")).to_be_visible()
    Looks("wide").look(rater.page, "consent-again")
    rater.press(AGREE)
    assert rater.cards()
