"""What a worker could find out with the browser's own tools: nothing about models, answers or people."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from .leaks import cards, check_secrecy
from .rater import Rater, is_bad, is_good
from .study import Study, practice_explanations

pytestmark = pytest.mark.browser

MODELS = ("eliza", "retrieval")
WORKER = "Zebulon-Q-Worker"


def test_nothing_tells_what_is_hidden(visit: Callable[..., Rater], embedded_study: Study) -> None:
    """Every frame and body of a whole dialogue, practice included: no model, no key of an answer, no worker."""
    rater = visit(embedded_study.url)
    rater.watch.keep_bodies()
    rater.arrive(WORKER)
    rater.sees_task()
    rater.progress("Practice 1 of 4")
    rater.practise(is_bad, items=4)
    before_feedback = _until_feedback(rater)
    assert [why for why in practice_explanations() for text in before_feedback if why in text] == []
    rater.practise(is_good)
    for turn in range(1, 7):
        rater.progress(f"Turn {turn} of 6")
        if turn > 1:
            rater.say("I like quiet evenings. What about you?")
        rater.rate(1, "It fits what I said.")
    rater.finish("Nothing to add.")

    received = rater.watch.received
    bodies = ("task_config.json", "wrap_crowd_source.js", "request_agent", "submit_onboarding", "submit_task", ".css")
    assert [
        end for end in bodies if not any(url.partition("?")[0].endswith(end) for url in rater.watch.bodies_of)
    ] == []
    assert len(received) > 40
    record = embedded_study.record_of(WORKER)
    check_secrecy(received, MODELS, [WORKER, str(record.seed), record.worker])
    assert len(cards(received)) >= 2 * (8 + 6)


def _until_feedback(rater: Rater) -> list[str]:
    """What had come before the first state that tells how the practice went."""
    expect(rater.page.get_by_role("alert")).to_be_visible()
    received = rater.watch.received
    told = next(place for place, text in enumerate(received) if "not what we were looking for" in text)
    return received[:told]
