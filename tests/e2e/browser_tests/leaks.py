"""What was sent to a browser that must not be: names of models, keys of answers, who the worker is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from parlai_humaneval.display.markdown import markup_of

CARD_KEYS = {"candidate_id", "text", "markup", "images"}
OPAQUE = re.compile(r"[0-9a-f]{16,}|[0-9a-f-]{36}")
# Field names that would tell: of the record, of practice items, and of Mephisto's worker.
TELLING = {
    *("model", "models", "good", "bad", "why", "correct", "right", "answer", "worker", "worker_name", "latency_s"),
    *("must", "must_not", "sides", "better", "same_as", "failed", "masks", "raw_text", "quality_control_model"),
}
SCALE = {"left", "right"}
"""The ends of a scale have names, too."""


def named_models(received: Sequence[str], models: Sequence[str]) -> list[str]:
    """Names of models in what was said (not in the page's own scripts and styles)."""
    talk = [text for text in received if text.lstrip().startswith("{")]
    return [name for name in models for text in talk if re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE)]


def telling_keys(received: Sequence[str]) -> set[str]:
    """Names of fields that tell."""
    return {key for found in objects(received) for key in _keys(found)} & TELLING


def _keys(found: dict[str, Any]) -> set[str]:
    return found.keys() - SCALE if "scale_id" in found else set(found)


def cards(received: Sequence[str]) -> list[dict[str, Any]]:
    """Every reply that was sent to be judged."""
    return [found for found in objects(received) if "candidate_id" in found]


def objects(received: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Every JSON object of all that came, however deep."""
    for text in received:
        try:
            value = json.loads(text)
        except ValueError:
            continue
        yield from _objects(value)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)


def check_secrecy(
    received: Sequence[str], models: Sequence[str], secrets: Sequence[str], *, least_states: int = 11
) -> None:
    """Nothing tells: no model, no telling field, none of ``secrets``, and of a reply its text and an opaque id only; how
    the text is drawn follows from the text alone, for every reply or for none."""
    states = [text for text in received if "update_id" in text]
    assert len(states) >= least_states, "the watch saw too little"
    assert named_models(received, models) == []
    assert telling_keys(received) == set()
    assert [secret for secret in secrets for text in received if secret in text] == []
    shown = cards(received)
    assert {frozenset(card) for card in shown} <= {frozenset(CARD_KEYS)}
    assert [card for card in shown if not OPAQUE.fullmatch(card["candidate_id"])] == []
    drawn = [card for card in shown if card["markup"] is not None]
    assert [card for card in drawn if card["markup"] != markup_of(card["text"])] == []
    assert not drawn or [card for card in shown if card["markup"] is None and markup_of(card["text"])] == []


PANEL_KEYS = {"title", "context", "judged_label", "lines"}
LINE_KEYS = {"line_id", "speaker", "judged", "text", "markup", "images"}
QUESTION_KEYS = {"question_id", "text", "options", "group", "reason"}
OF_RECORDS = {
    *(
        "entities",
        "entity",
        "expected",
        "gold",
        "golds",
        "item_id",
        "dialogue_id",
        "judgement_id",
        "replayed",
        "selected",
    ),
    *("swapped", "settings", "source", "setting", "continued", "final_ratings", "verdict_model"),
}
"""Names of fields that records of judgements have, and pages have not."""


def check_secrecy_of_finished(received: Sequence[str], models: Sequence[str], secrets: Sequence[str]) -> None:
    """:func:`check_secrecy`, and the lines of finished dialogues tell nothing but words, speaker and mark."""
    check_secrecy(received, models, secrets, least_states=5)
    found = list(objects(received))
    assert {key for one in found for key in one} & OF_RECORDS == set()
    lines = [one for one in found if "line_id" in one]
    assert lines, "no dialogue was shown"
    assert {frozenset(one) for one in lines} == {frozenset(LINE_KEYS)}
    assert [one for one in lines if not OPAQUE.fullmatch(one["line_id"])] == []
    assert {frozenset(one) for one in found if "judged_label" in one} == {frozenset(PANEL_KEYS)}
    assert {frozenset(one) for one in found if "question_id" in one} <= {frozenset(QUESTION_KEYS)}
