"""Direct assessment (Ji et al. 2022): several blind conversations in one unit, each about a topic, each rated on sliders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hands import Hands, actions, texts
from live import Launch, launch, records

from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.simulation.page_client import PageError
from parlai_humaneval.materials.contexts import load_contexts
from parlai_humaneval.schema.steps import RateStep, TopicStep

SCALES = ["robotic", "interesting", "fun", "consistent", "fluent", "repetitive", "topic"]
SETTINGS: dict[str, Any] = {
    "task": "direct_assessment",
    "models": ["alpha", "beta"],
    "turns": 2,
    "dialogues_per_group": 50,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudy]:
    """Two scripted models and the degraded one: three conversations a unit, two turns each at least."""
    with launch(tmp_path_factory.mktemp("assessment"), **SETTINGS) as run:
        yield run


async def conversation(rater: Hands, value: float = 50) -> None:
    """A whole one, from its topic to its sliders."""
    await rater.answer(kind="topic", text="gardens", opinion="liked")
    for _ in range(2):
        await rater.say()
    await rater.do("end")
    await rater.rate(value)


async def test_a_unit_holds_every_model_and_the_degraded_one(run: RunningStudy) -> None:
    """Three conversations, three records of one session; a comment once, at the end; progress counts conversations."""
    async with Hands(run, "whole") as rater:
        for number in (1, 2, 3):
            state = await rater.state()
            assert state.progress is not None
            assert (state.progress.unit, state.progress.current, state.progress.total) == ("conversation", number, 3)
            assert texts(state) == [], "nothing of the last conversation stays in sight"
            assert (state.notice is not None) == (number > 1)
            await conversation(rater, 10.5 * number)
        assert (await rater.state()).step.kind == "feedback"
        await rater.hand_in("a comment")
    found = [rater.record(run, number) for number in (1, 2, 3)]
    assert sorted(record.models[0].name for record in found) == ["alpha", "beta", "degraded"]
    assert len({record.session for record in found}) == 1
    for number, record in enumerate(found, start=1):
        assert (record.status, record.conversation, record.conversations) == ("complete", number, 3)
        assert record.quality_control_model == "degraded"
        assert record.final_ratings == dict.fromkeys(SCALES, 10.5 * number)
        assert (record.context.topic, record.context.topic_source) == ("gardens", "free")
        assert (record.context.opinion, record.ended_by_rater) == ("liked", True)
    assert [criterion.name for criterion in found[0].criteria if criterion.reversed] == ["robotic", "repetitive"]
    assert [record.feedback for record in found] == [None, None, "a comment"]


async def test_the_degraded_model_may_stand_anywhere_and_no_page_tells(run: RunningStudy) -> None:
    """Planned for twelve workers: every place occurs. What a page is shown and told names none of the models."""
    places = set()
    for number in range(12):
        async with Hands(run, f"blind-{number}") as rater:
            shown = (await rater.state()).model_dump_json() + str(rater.client.details)
            assert not [name for name in ("alpha", "beta", "degraded", "quality_control") if name in shown]
            planned = run.live_run.worker_pool.agents[str(rater.client.agent_id)].state.init_data["plans"]
            places.add([plan["models"] for plan in planned].index(["degraded"]))
    assert places == {0, 1, 2}


async def test_topic_and_opinion_are_needed(run: RunningStudy) -> None:
    """Neither blank nor endless, and what the rater thinks of it must be said; the topic then stays in sight."""
    async with Hands(run, "topical") as rater:
        step = (await rater.state()).step
        assert isinstance(step, TopicStep)
        assert [option.option_id for option in step.opinions] == ["liked", "ambivalent", "disliked"]
        for text, opinion, said in (
            ("", "liked", "in words"),
            (" ... ", "liked", "in words"),
            ("x" * 201, "liked", "200 characters"),
            ("gardens", "", "what you think of this topic"),
            ("gardens", "hated", "what you think of this topic"),
        ):
            assert said in await rater.refused(text=text, opinion=opinion)
        state = await rater.answer(kind="topic", text=" my garden ", opinion="disliked")
        assert state.topic == "my garden"
    context = rater.record(run).context
    assert (context.topic, context.opinion) == ("my garden", "disliked")


async def test_changes_of_the_topic_are_noted_with_their_turn(run: RunningStudy) -> None:
    """Before the first message and before the second, twice; each with words; the conversation goes on where it was."""
    async with Hands(run, "changes") as rater:
        await rater.answer(kind="topic", text="gardens", opinion="ambivalent")
        assert actions(await rater.state()) == {"topic": True, "end": False}
        assert "in words" in await rater.refused(kind="action", action_id="topic", text=" ")
        assert "200 characters" in await rater.refused(kind="action", action_id="topic", text="y" * 201)
        assert (await rater.do("topic", "bees")).topic == "bees"
        await rater.say()
        await rater.do("topic", "honey")
        state = await rater.do("topic", " sugar ")
        assert state.topic == "sugar"
        assert len(texts(state)) == 2
        await rater.say()
    record = rater.record(run)
    changes = [(change.turn, change.text) for change in record.context.topic_changes]
    assert changes == [(1, "bees"), (2, "honey"), (2, "sugar")]
    assert record.context.topic == "gardens", "what was named first stays on record"


async def test_at_least_the_fewest_inputs(run: RunningStudy) -> None:
    """Ji et al.: ten. The page warns and keeps the rater there."""
    async with Hands(run, "hurried") as rater:
        await rater.answer(kind="topic", text="gardens", opinion="liked")
        for missing in ("2 more messages", "one more message"):
            assert missing in await rater.refused(kind="action", action_id="end")
            await rater.say()
        assert (await rater.do("end")).step.kind == "rate"


async def test_sliders_take_what_lies_on_them_and_nothing_else(run: RunningStudy) -> None:
    """Untouched, out of range, not a number, text, unknown: a sentence each; the ends and fractions are right."""
    async with Hands(run, "slides") as rater:
        await rater.answer(kind="topic", text="gardens", opinion="liked")
        await rater.say()
        await rater.say()
        step = (await rater.do("end")).step
        assert isinstance(step, RateStep)
        assert [scale.scale_id for scale in step.scales] == SCALES
        assert {(s.style, s.minimum, s.maximum, s.left, s.right) for s in step.scales} == {
            ("slider", 0, 100, "strongly disagree", "strongly agree")
        }
        all_of_them = dict.fromkeys(SCALES, 40.5)
        for wrong, said in (
            ({k: 40 for k in SCALES if k != "fun"}, "one still has no answer"),
            ({"fun": 40}, "6 still have no answer"),
            ({**all_of_them, "fun": 100.01}, "between 0 and 100"),
            ({**all_of_them, "fun": -0.5}, "between 0 and 100"),
            ({**all_of_them, "fun": "40"}, "a number on its scale"),
            ({**all_of_them, "fun": None}, "a number on its scale"),
            ({**all_of_them, "fun": True}, "a number on its scale"),
            ({**all_of_them, "beauty": 40}, "You were not shown that statement"),
        ):
            assert said in await rater.refused(values=wrong), wrong
        await rater.rate(0, 100, 33.3, 0.01, 99.99, 50, 12)
    assert list(rater.record(run).final_ratings.values()) == [0, 100, 33.3, 0.01, 99.99, 50, 12]


async def test_a_reload_and_a_second_tab_find_the_same_conversation(run: RunningStudy) -> None:
    """In the second of three: place, progress and topic are there again; a second tab takes over and nothing is lost."""
    async with Hands(run, "reloads") as rater:
        await conversation(rater)
        await rater.answer(kind="topic", text="second topic", opinion="liked")
        before = await rater.say("in the second")
    async with Hands(run, "reloads") as again:
        assert await again.state() == before
        assert before.progress is not None
        assert before.within is not None
        assert (before.progress.current, before.within.current, before.topic) == (2, 2, "second topic")
        async with Hands(run, "reloads") as tab:
            assert await tab.state() == before
            with pytest.raises(PageError):
                await again.client.next_state(after_version=before.version, timeout=5)
            await tab.say("in the other tab")
            await tab.do("end")
            await tab.rate(5)
            await conversation(tab)
            await tab.hand_in()
    record = tab.record(run, 2)
    assert [turn.human_text for turn in record.turns] == ["in the second", "in the other tab"]
    assert [tab.record(run, number).status for number in (1, 2, 3)] == ["complete"] * 3


async def test_an_ice_breaker_is_a_sentence_of_the_bots_persona(start: Launch) -> None:
    """Prescribed, in sight, on record; and nothing is asked about it. The model is given no persona by it."""
    async with start(**SETTINGS, topic="icebreaker", ask_opinion=False) as run, Hands(run) as rater:
        state = await rater.state()
        assert state.step.kind == "message"
    (record,) = records(run)
    personas = {context.context_id: context.bot_persona for context in load_contexts("jsonl")}
    assert record.context.topic in personas[record.context.context_id]
    assert state.topic == record.context.topic
    assert (record.context.topic_source, record.context.opinion) == ("icebreaker", None)
    assert record.context.bot_personas == {}
