"""What a worker could find out with the browser's own tools: nothing about models, answers or people."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from .rater import Rater, is_bad, is_good
from .study import Study, practice_explanations

pytestmark = pytest.mark.browser

MODELS = ("eliza", "retrieval")
WORKER = "Zebulon-Q-Worker"
CARD_KEYS = {"candidate_id", "text"}
OPAQUE = re.compile(r"[0-9a-f]{16,}|[0-9a-f-]{36}")
# Field names that would tell: of the record, of practice items, and of Mephisto's worker.
TELLING = {"model", "models", "good", "bad", "why", "correct", "right", "answer", "worker", "worker_name", "latency_s"}


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)


def _json(texts: list[str]) -> list[Any]:
    found = []
    for text in texts:
        try:
            found.append(json.loads(text))
        except ValueError:
            continue
    return found


def test_nothing_tells_what_is_hidden(visit: Callable[..., Rater], embedded_study: Study) -> None:
    """Every frame and body of a whole dialogue, practice included: no model, no key of an answer, no worker."""
    rater = visit(embedded_study.url)
    rater.watch.keep_bodies()
    rater.arrive(WORKER)
    rater.close_instructions()
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
    assert [end for end in bodies if not any(url.endswith(end) for url in rater.watch.bodies_of)] == []
    assert len(received) > 40
    talk = [text for text in received if text.lstrip().startswith("{")]
    assert [name for name in MODELS for text in talk if re.search(rf"\b{name}\b", text, re.IGNORECASE)] == []
    assert [text for text in received if WORKER in text] == []
    objects = [found for value in _json(received) for found in _objects(value)]
    assert {key for found in objects for key in found} & TELLING == set()
    cards = [found for found in objects if "candidate_id" in found]
    assert len(cards) >= 2 * (8 + 6)
    assert {frozenset(card) for card in cards} == {frozenset(CARD_KEYS)}
    assert [card for card in cards if not OPAQUE.fullmatch(card["candidate_id"])] == []
    seeds = [str(embedded_study.record_of(WORKER).seed), embedded_study.record_of(WORKER).worker]
    assert [secret for secret in seeds for text in received if secret in text] == []


def _until_feedback(rater: Rater) -> list[str]:
    """What had come before the first state that tells how the practice went."""
    expect(rater.page.get_by_role("alert")).to_be_visible()
    received = rater.watch.received
    told = next(place for place, text in enumerate(received) if "not what we look for" in text)
    return received[:told]
