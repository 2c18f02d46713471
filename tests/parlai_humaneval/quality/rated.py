"""Small rated dialogues for the tests of the checks, and any record at all for hypothesis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from parlai_humaneval.schema.records import Candidate, CriterionRecord, DialogueRecord, ModelRecord, Turn

POSITIVE = ("interesting", "fun", "consistent", "fluent", "topic")
REVERSED = ("robotic", "repetitive")
SECONDS = 20.0


def shown(turn: int, texts: Sequence[str]) -> list[Candidate]:
    """Candidates ``c<turn>-<position>`` of models m1, m2 …"""
    return [
        Candidate(candidate_id=f"c{turn}-{place}", model=f"m{place}", text=text, position=place, latency_s=0.1)
        for place, text in enumerate(texts, start=1)
    ]


def answered(
    number: int,
    human_text: str,
    positions: Sequence[int] = (1,),
    *,
    replies: Sequence[str] = ("I like the sea a lot", "What do you like to do"),
    seconds: float = SECONDS,
    **fields: Any,
) -> Turn:
    """A complete turn; the candidates at ``positions`` were chosen, none where it is empty."""
    at = 1000.0 + 100 * number
    candidates = shown(number, replies)
    chosen = [candidates[position - 1].candidate_id for position in positions]
    values: dict[str, Any] = {
        "candidates": candidates,
        "shown_at": at + 1,
        "selected": chosen,
        "none_said": not chosen,
        "continued": (chosen or [candidates[0].candidate_id])[0],
        "answered_at": at + 1 + seconds,
        "seconds": seconds,
        **fields,
    }
    return Turn(turn=number, human_text=human_text, human_at=at, **values)


def of_turns(turns: Sequence[Turn], **fields: Any) -> DialogueRecord:
    """A complete PW-Turn dialogue unless ``fields`` say otherwise."""
    values: dict[str, Any] = {
        "dialogue_id": "d1",
        "worker": "w1",
        "technique": "pw_turn",
        "metric": "preference",
        "question": "Which?",
        "models": [ModelRecord(name="m1"), ModelRecord(name="m2")],
        "seed": 1,
        "turns": list(turns),
        "status": "complete",
        "started_at": 1000.0,
        **fields,
    }
    return DialogueRecord(**values)


def said(*messages: str, fixed: str | None = None, **fields: Any) -> DialogueRecord:
    """A dialogue of these typed messages, after the ``fixed`` first one; positions alternate."""
    texts = [*([] if fixed is None else [fixed]), *messages]
    turns = [
        answered(number, text, (1 + number % 2,), human_fixed=fixed is not None and number == 1)
        for number, text in enumerate(texts, start=1)
    ]
    return of_turns(turns, **fields)


def criteria(names: Iterable[str], *, reversed_: bool = False) -> list[CriterionRecord]:
    return [
        CriterionRecord(name=name, text=name, reversed=reversed_, scale="slider", minimum=0, maximum=100)
        for name in names
    ]


def assessed(model: str, ratings: Mapping[str, float], *, worker: str = "w1", degraded: str = "bad") -> DialogueRecord:
    """A direct assessment of one conversation."""
    return of_turns(
        [],
        dialogue_id=f"{worker}-{model}",
        worker=worker,
        technique="direct_assessment",
        metric="quality",
        models=[ModelRecord(name=model)],
        quality_control_model=degraded,
        criteria=[*criteria(POSITIVE), *criteria(REVERSED, reversed_=True)],
        final_ratings=dict(ratings),
    )


def rated_alike(model: str, positive: float, negative: float, **fields: Any) -> DialogueRecord:
    """Every positive criterion gets one rating, every reversed one another."""
    return assessed(model, {**dict.fromkeys(POSITIVE, positive), **dict.fromkeys(REVERSED, negative)}, **fields)


# -- anything that is a valid record -----------------------------------------------------------------------------

_TEXT = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["", " ", "Hi!", "😀😀", "ÀÉÎ ÖÜ ẞ", "你好吗", "\u202eabc", "f\u0336u\u0336", "A" * 300, "?!.", "İ ı ß ﬁ"]
    ),
)
_IDS = st.sampled_from(["c1", "c2", "c3", "c4"])
_NUMBER = st.floats(allow_nan=True, allow_infinity=True)
_RATING = st.floats(-1e9, 1e9) | st.sampled_from([float("nan"), float("inf"), 0.0, 50.0, 100.0])
_SECONDS = st.none() | st.floats(0, 1e9)

_CANDIDATES = st.builds(
    Candidate,
    candidate_id=_IDS,
    model=_TEXT,
    text=_TEXT,
    position=st.integers(0, 9),
    latency_s=st.floats(0, 100),
    same_as=st.none() | _IDS,
    failed=st.booleans(),
)
_TURNS = st.builds(
    Turn,
    turn=st.integers(-1, 5),
    human_text=_TEXT,
    human_fixed=st.booleans(),
    human_suggested=st.booleans(),
    human_at=st.floats(0, 1e9),
    candidates=st.lists(_CANDIDATES, max_size=4),
    shown_at=_SECONDS,
    selected=st.lists(_IDS, max_size=3),
    none_said=st.booleans(),
    ticks=st.none() | st.lists(_TEXT, max_size=2),
    continued=st.none() | _IDS,
    continued_each=st.booleans(),
    written=st.none() | _TEXT,
    automatic=st.booleans(),
    answered_at=_SECONDS,
    seconds=st.none() | _NUMBER,
)
_CRITERIA = st.builds(
    CriterionRecord,
    name=st.sampled_from(POSITIVE + REVERSED),
    text=_TEXT,
    reversed=st.booleans(),
    scale=st.sampled_from(["tick", "likert", "slider"]),
)


def records() -> st.SearchStrategy[DialogueRecord]:
    """Any record that the schema allows: no turns, odd texts, unanswered and contradictory turns, ratings of any size."""
    return st.builds(
        DialogueRecord,
        dialogue_id=st.text(max_size=5),
        worker=st.sampled_from(["w1", "w2", ""]),
        technique=st.sampled_from(
            ["pw_turn", "sata", "single_model", "free_for_all", "arena", "direct_assessment", "new"]
        ),
        setting=st.sampled_from(["", "soba", "appropriate"]),
        settings=st.fixed_dictionaries({}, optional={"reading_speed_wpm": st.none() | _NUMBER | st.text(max_size=2)}),
        metric=st.just("quality"),
        question=st.just(""),
        models=st.lists(st.builds(ModelRecord, name=st.sampled_from(["bad", "good"])), max_size=2),
        seed=st.just(1),
        turns=st.lists(_TURNS, max_size=8),
        quality_control_model=st.sampled_from(["", "bad"]),
        criteria=st.lists(_CRITERIA, max_size=7),
        final_ratings=st.dictionaries(st.sampled_from(POSITIVE + REVERSED), _RATING, max_size=7),
        status=st.sampled_from(["running", "complete", "partial", "failed"]),
        started_at=st.just(0.0),
    )
