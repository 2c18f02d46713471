"""Small judgements of finished dialogues for the tests of the checks, and any judgement at all for hypothesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from parlai_humaneval.schema.records import GivenAnswer, JudgementRecord, ShownDialogue, ShownLine

WORDS = "this line holds exactly ten words as anybody can count"
SPEED = 600.0
"""Words a minute: a line of ten words takes one second."""


def dialogue(dialogue_id: str, entities: Sequence[str] = ("m", "m"), *, lines: int = 4, **fields: Any) -> ShownDialogue:
    """Of ``lines`` lines of ten words."""
    said = [ShownLine(speaker=number % 2, text=WORDS) for number in range(lines)]
    return ShownDialogue(dialogue_id=dialogue_id, kind="bot_bot", entities=list(entities), lines=said, **fields)


def judgement(
    number: int, options: Mapping[str, str | None], *, seconds: float = 60.0, **fields: Any
) -> JudgementRecord:
    """Item ``number`` of a worker, a form answered after ``seconds``; two dialogues of four lines unless told."""
    answers = [
        GivenAnswer(question_id=name, option=option, seconds=seconds, at=1000.0 + number)
        for name, option in options.items()
    ]
    values: dict[str, Any] = {
        "judgement_id": f"j{number}",
        "item_id": f"i{number}",
        "worker": "w1",
        "technique": "pw_dialog",
        "metric": "preference",
        "group": ["a", "b"],
        "dialogues": [dialogue(f"a{number}", position=1), dialogue(f"b{number}", position=2)],
        "questions": [],
        "answers": answers,
        "seed": 1,
        "status": "complete",
        "started_at": 1000.0,
        **fields,
    }
    return JudgementRecord(**values)


def gold(number: int, given: str, **fields: Any) -> JudgementRecord:
    """An attention check whose right answer is “first”."""
    return judgement(number, {"preference": given}, expected={"preference": "first"}, **fields)


def segment(number: int, labels: Sequence[str], entities: Sequence[str] = ("a", "b"), **fields: Any) -> JudgementRecord:
    """A segment of two exchanges with both labels."""
    options = {f"label_{entity}": label for entity, label in enumerate(labels)}
    values: dict[str, Any] = {
        "technique": "spot_the_bot",
        "dialogues": [dialogue(f"d{number}", entities, k=2)],
        **fields,
    }
    return judgement(number, options, **values)


# -- anything that is a valid record -----------------------------------------------------------------------------

_TEXT = st.text(max_size=20) | st.sampled_from(["", "human", "a", "😀", "你好吗"])
_SHOWN = st.builds(
    ShownDialogue,
    dialogue_id=_TEXT,
    position=st.integers(-1, 3),
    kind=st.sampled_from(["human_bot", "self_chat", "bot_bot", "human_human"]),
    entities=st.lists(_TEXT, max_size=3),
    lines=st.lists(st.builds(ShownLine, speaker=st.integers(-1, 3), text=_TEXT), max_size=3),
)
_ANSWERS = st.builds(
    GivenAnswer,
    question_id=st.sampled_from(["preference", "label_0", "label_1", "fluent", "turn", "rate"]),
    turn=st.none() | st.integers(-1, 3),
    option=st.none() | st.sampled_from(["first", "second", "same", "human", "bot", "unsure", ""]),
    seconds=st.floats(0, 1e9),
    at=st.floats(0, 1e9),
)


def judgements() -> st.SearchStrategy[JudgementRecord]:
    """Any judgement, of any technique, finished or not."""
    return st.builds(
        JudgementRecord,
        judgement_id=st.uuids().map(str),
        item_id=_TEXT,
        worker=st.sampled_from(["w1", "w2"]),
        technique=st.sampled_from(["pw_dialog", "spot_the_bot", "third_party", "other"]),
        settings=st.dictionaries(st.just("reading_speed_wpm"), st.sampled_from([0, -1, "fast", 300, True, None])),
        metric=_TEXT,
        group=st.lists(_TEXT, max_size=2),
        dialogues=st.lists(_SHOWN, max_size=3),
        questions=st.just([]),
        answers=st.lists(_ANSWERS, max_size=5),
        expected=st.none() | st.dictionaries(st.just("preference"), st.just("first")),
        seed=st.integers(),
        status=st.sampled_from(["running", "complete", "partial", "failed"]),
        started_at=st.floats(0, 1e9),
    )
