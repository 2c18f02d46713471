"""A person plays one of the models in a second browser: a whole PW-Turn dialogue, human against ELIZA."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .conftest import launched
from .leaks import named_models
from .looks import SHAPES, Looks
from .rater import Hand, Rater
from .study import Study

pytestmark = pytest.mark.browser

TURNS = 2
PATIENCE_S = 20
PERSONA = ["I keep bees on the roof of a theatre.", "My sister plays the tuba, and I hear it every morning."]
REPLIES = ["Hello there! I have just come down from my bees.", "Only when the tuba is quiet, to be honest."]
OFFENSIVE = "What a stupid fucking question."


def _launch(folder: Path) -> Study:
    contexts = folder / "contexts.jsonl"
    folder.mkdir(parents=True)
    contexts.write_text(f'{{"context_id": "bees", "bot_persona": ["{PERSONA[0]}", "{PERSONA[1]}"]}}\n')
    settings = [
        "models=[eliza,human]",
        f"turns={TURNS}",
        "dialogues_per_group=9",
        "onboarding_qualification=null",
        "bot_persona=true",
        f"context_file={contexts}",
        "seed=3",
    ]
    return Study(folder, "e2e-human", [f"mephisto.blueprint.{setting}" for setting in settings])


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    yield from launched(_launch, tmp_path_factory.mktemp("human") / "study")


def _partners_link(study: Study) -> str:
    """As whoever launched reads it in the terminal."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := re.search(r"http://\S+/partner/\S+/\s", study.log)) is None:
        assert time.monotonic() < deadline, study.log  # the page is served a moment before the link is printed
        time.sleep(0.1)
    return found[0].strip()


@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_human_against_eliza(visit: Callable[..., Rater], study: Study, hand: Hand) -> None:
    """The partner's page: instructions, waiting, persona, a draft that survives a reload, a refusal, replies that arrive;
    the rater's page shows neither who wrote what nor the way to the partners."""
    looks = Looks(SHAPES[hand])
    link = _partners_link(study)
    partner, rater = visit(link, hand), visit(study.url, hand)
    partner.page.goto(link)
    expect(partner.page.get_by_role("dialog", name="Instructions")).to_be_visible()
    looks.look(partner.page, "partner-instructions")
    partner.press("Got it")
    expect(partner.page.get_by_text("Nobody needs a reply right now.")).to_be_visible()
    looks.look(partner.page, "partner-idle")

    rater.watch.keep_bodies()
    rater.arrive(f"rater-{hand}")
    rater.sees_task()
    field = partner.page.get_by_label("Write your reply")
    expect(field).to_be_visible()
    partner.within("Conversation 1", "Turn 1")
    assert partner.transcript() == [("partner", "Hi!")]
    assert partner.persona() == PERSONA
    looks.look(partner.page, "partner-reply")

    partner.write(OFFENSIVE)
    partner.send("Send")
    expect(partner.page.get_by_role("alert")).to_contain_text("Please put that another way")
    looks.look(partner.page, "partner-refused")
    partner.page.reload()
    expect(field).to_have_value(OFFENSIVE)

    shown = []
    for turn, reply in enumerate(REPLIES, start=1):
        if turn > 1:
            rater.say("Do you like music?")
            expect(partner.page.get_by_role("log")).to_contain_text("Do you like music?")
            looks.look(partner.page, "partner-second-turn")
        field.fill(reply)
        partner.send("Send")
        expect(partner.page.get_by_text("Your reply was sent.")).to_be_visible()
        if turn == 1:
            looks.look(partner.page, "partner-sent")
        cards = rater.cards()
        shown.append(cards)
        texts = [card.text for card in cards]
        assert reply in texts
        # ELIZA's reply first: the partner then finds a line that is not theirs.
        wanted = texts.index(reply) if turn == TURNS else 1 - texts.index(reply)
        rater.rate(wanted + 1, "It is the better answer of the two.")
    rater.finish()
    expect(partner.page.get_by_text("Nobody needs a reply right now.")).to_be_visible()

    record = study.finished_record_of(f"rater-{hand}")
    assert record.status == "complete"
    written = [c for turn in record.turns for c in turn.candidates if c.model == "human"]
    assert [c.text for c in written] == REPLIES
    assert [written[1].candidate_id] == record.turns[1].selected
    assert named_models(rater.watch.received, ["eliza", "human"]) == []
    assert not any("/partner" in text for text in rater.watch.received + rater.watch.urls)
    problems = {name: look for name, look in looks.looks.items() if any(look.violations.values())}
    assert problems == {}
    assert {name: look.sideways for name, look in looks.looks.items() if any(look.sideways.values())} == {}


def test_a_wrong_link_is_a_plain_page(visit: Callable[..., Rater], study: Study) -> None:
    """Who has no token reads a sentence, and loads nothing of the page."""
    stranger = visit(f"{study.url}partner/not-the-token/")
    stranger.watch.excuse("status of 403")
    answer = stranger.page.goto(stranger.url)
    assert answer is not None
    assert answer.status == 403
    expect(stranger.page.get_by_role("heading", name="Wrong link")).to_be_visible()
    assert not any("assets" in url for url in stranger.watch.urls)
