"""What units hold is decided by the study's seed, evenly, and comes back from the database as it was."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as run_with
from hypothesis import strategies as st

from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.chat.plans import Deck, DialoguePlan, Planner, UnitPlan
from parlai_humaneval.allocation.groups import Cell
from parlai_humaneval.materials.contexts import Persona, SpeakerContext
from parlai_humaneval.schema.records import ContextRecord, OpeningLine, TopicChange

words = st.text(min_size=1, max_size=8)
cells = st.builds(
    Cell, models=st.lists(words, min_size=1, max_size=3, unique=True).map(tuple), metric=words, setting=words
)
contexts = st.builds(
    ContextRecord,
    context_id=words,
    persona=st.lists(words, max_size=2),
    bot_personas=st.dictionaries(words, st.lists(words, max_size=2), max_size=2),
    opening=st.lists(st.builds(OpeningLine, speaker=st.sampled_from(["human", "bot"]), text=words), max_size=2),
    topic=st.none() | words,
    topic_source=st.sampled_from(["", "icebreaker", "context"]),
    opinion=st.none(),
    topic_changes=st.lists(st.builds(TopicChange, turn=st.integers(1, 9), text=words), max_size=1),
)


@st.composite
def units(draw: st.DrawFn) -> UnitPlan:
    count = draw(st.integers(1, 5))
    plans = tuple(
        DialoguePlan(
            dialogue_id=f"u-{number}",
            **asdict(draw(cells)),
            context=draw(contexts),
            seed=draw(st.integers(0, 2**31 - 1)),
            conversation=number,
        )
        for number in range(1, count + 1)
    )
    return UnitPlan(session=draw(words), conversations=count, plans=plans)


@run_with(deadline=None, max_examples=60)
@given(st.lists(st.integers(), min_size=1, max_size=12, unique=True), st.text(max_size=4), st.integers(1, 4))
def test_a_deck_draws_every_item_once_before_any_comes_again(items: list[int], seed: str, rounds: int) -> None:
    """In each round every item; and the same seed draws the same."""
    deck, same = Deck(items, seed), Deck(items, seed)
    for _ in range(rounds):
        drawn = [deck.draw() for _ in items]
        assert sorted(drawn) == sorted(items)
        assert [same.draw() for _ in items] == drawn


def test_a_decks_rounds_have_orders_of_their_own() -> None:
    """Guards against the same persona in every tenth dialogue for ever."""
    deck = Deck(list(range(10)), "seed")
    rounds = [[deck.draw() for _ in range(10)] for _ in range(3)]
    assert len({tuple(drawn) for drawn in rounds}) == 3
    assert [Deck(list(range(10)), "other").draw() for _ in range(3)] != rounds[0][:3]


@run_with(deadline=None, max_examples=60)
@given(units())
def test_units_come_back_from_json_as_they_were(unit: UnitPlan) -> None:
    """Through real JSON, as Mephisto stores it: a restarted launch goes on with the same dialogues."""
    assert UnitPlan.model_validate(json.loads(json.dumps(unit.stored()))) == unit


def settings(**changes: Any) -> InteractiveConfig:
    assessment = {
        "technique": "direct_assessment",
        "metric": "quality",
        "models": ["a", "b", "c"],
        "group_size": 1,
        "conversations_per_unit": 4,
        "quality_control_model": "bad",
        "turn_question": "none",
        "final_criteria": ["fun"],
        "persona": False,
    }
    return InteractiveConfig.model_validate({**assessment, **changes})


CELLS = [Cell((name,), "quality") for name in "abc"]


def order(planner: Planner, unit: str) -> list[str]:
    return [plan.cell.models[0] for plan in planner.plan(unit, CELLS).plans]


def test_units_are_shuffled_by_the_seed_and_the_degraded_model_stands_anywhere() -> None:
    """Each place about a quarter of 400 units; the same unit has the same order in another launch, others have others."""
    planner = Planner(settings(), seed=5)
    orders = {f"1-{number}": order(planner, f"1-{number}") for number in range(400)}
    assert all(sorted(names) == ["a", "b", "bad", "c"] for names in orders.values())
    places = Counter(names.index("bad") for names in orders.values())
    assert set(places) == {0, 1, 2, 3}
    assert all(65 <= count <= 135 for count in places.values())  # four standard deviations
    again = Planner(settings(), seed=5)
    assert all(order(again, unit) == names for unit, names in list(orders.items())[:20])
    assert any(order(Planner(settings(), seed=6), unit) != names for unit, names in list(orders.items())[:20])


def test_names_of_dialogues_and_of_their_unit() -> None:
    """Several: numbered behind the unit's name; one: the unit's name itself. Seeds differ."""
    unit = Planner(settings(), seed=5).plan("7-3", CELLS)
    assert [plan.dialogue_id for plan in unit.plans] == ["7-3-1", "7-3-2", "7-3-3", "7-3-4"]
    assert [plan.conversation for plan in unit.plans] == [1, 2, 3, 4]
    assert (unit.session, unit.conversations) == ("7-3", 4)
    assert len({plan.seed for plan in unit.plans}) == 4
    alone = Planner(settings(conversations_per_unit=1, quality_control_model=""), seed=5).plan("7-4", CELLS[:1])
    assert [plan.dialogue_id for plan in alone.plans] == ["7-4"]


BOTH = SpeakerContext(context_id="c", human_persona=["H."], bot_persona=["B1.", "B2."], topic="rain")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"persona": True, "bot_persona": True}, {"persona": ["H."], "bot_personas": {"a": ["B1.", "B2."]}}),
        ({"persona": True, "bot_persona": ["b"]}, {"persona": ["H."], "bot_personas": {}}),
        ({"persona": False}, {"persona": [], "bot_personas": {}, "topic": "rain", "topic_source": "context"}),
    ],
)
def test_a_context_is_used_as_far_as_the_settings_say(changes: dict[str, Any], expected: dict[str, Any]) -> None:
    planner = Planner(settings(**changes), seed=1, contexts=[BOTH])
    (plan,) = [plan for plan in planner.plan("u", CELLS).plans if plan.cell.models == ("a",)]
    found = plan.context.model_dump()
    assert {key: found[key] for key in expected} == expected


def test_an_ice_breaker_is_drawn_from_the_bots_persona() -> None:
    """Both sentences occur, and the context's own topic stands back."""
    planner = Planner(settings(topic="icebreaker"), seed=1, contexts=[BOTH])
    contexts = [plan.context for number in range(10) for plan in planner.plan(str(number), CELLS).plans]
    assert {context.topic for context in contexts} == {"B1.", "B2."}
    assert {context.topic_source for context in contexts} == {"icebreaker"}
    assert all(context.bot_personas == {} for context in contexts), "a topic is not yet a part to play"


def test_an_ice_breaker_of_a_model_that_plays_its_persona() -> None:
    """The topic is a sentence of what the model is told to be."""
    planner = Planner(settings(topic="icebreaker", bot_persona=True), seed=1, contexts=[BOTH])
    for plan in planner.plan("u", CELLS).plans:
        (model,) = plan.cell.models
        assert plan.context.bot_personas == {model: ["B1.", "B2."]}
        assert plan.context.topic in plan.context.bot_personas[model]


def test_a_persona_of_the_set_stands_in_where_the_context_has_none() -> None:
    bare = SpeakerContext(context_id="bare", bot_persona=["B."])
    own = Persona(persona_id="p1", sentences=["I cook."])
    planner = Planner(settings(persona=True), seed=1, contexts=[bare], personas=[own])
    context = planner.plan("u", CELLS).plans[0].context
    assert (context.context_id, context.persona) == ("bare", ["I cook."])
    alone = Planner(settings(persona=True), seed=1, personas=[own]).plan("u", CELLS).plans[0].context
    assert (alone.context_id, alone.persona) == ("p1", ["I cook."])


def test_openers_stand_behind_a_contexts_own_opening() -> None:
    said = SpeakerContext(context_id="said", opening=[("bot", "Welcome.")])
    planner = Planner(settings(), seed=1, contexts=[said], openers=["Hello!"])
    assert planner.plan("u", CELLS).plans[0].context.opening == [OpeningLine(speaker="bot", text="Welcome.")]
    planner = Planner(settings(opener_speaker="bot"), seed=1, openers=["Hello!"])
    assert planner.plan("u", CELLS).plans[0].context.opening == [OpeningLine(speaker="bot", text="Hello!")]
