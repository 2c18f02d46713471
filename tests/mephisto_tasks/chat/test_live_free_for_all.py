"""Free-for-all (Ma et al. 2023): several models in one chat, a pick is a point, and who leaves gives none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hands import NOT_SHOWN, Hands, actions, always, by_model, cards, heard_by, picked_models, place_of, texts
from live import Launch, eventually, launch, records

from mephisto_tasks.launch.launch import RunningStudy
from parlai_humaneval.materials.contexts import load_topics
from parlai_humaneval.schema.steps import ChooseStep, MessageStep

THREE = ["alpha", "beta", "gamma"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudy]:
    folder = tmp_path_factory.mktemp("ffa")
    with launch(folder, task="free_for_all", models=THREE, turns=3, dialogues_per_group=30) as run:
        yield run


async def exchange(run: RunningStudy, rater: Hands, model: str, text: str = "And what else?") -> None:
    """A message, and the reply of ``model`` picked."""
    state = await rater.say(text)
    await rater.pick(place_of(run, state, model))


async def test_points_and_ranks_are_in_the_record(run: RunningStudy) -> None:
    """Two points, one, none; ended by the rater, who may not before the third turn; all models hear what was picked."""
    async with Hands(run, "judge") as rater:
        for turn, model in enumerate(("beta", "beta", "alpha")):
            assert actions(await rater.state()) == {"end": turn >= 3}
            await exchange(run, rater, model)
        assert actions(await rater.state()) == {"end": True}
        for model in THREE:
            heard = [text for speaker, text in heard_by(model, 5) if speaker == "bot"]
            assert heard == ["beta at turn 1", "beta at turn 2"]
        await rater.do("end")
        await rater.hand_in()
    record = rater.record(run)
    assert (record.points, record.ranks) == ({"alpha": 1, "beta": 2, "gamma": 0}, {"alpha": 2, "beta": 1, "gamma": 3})
    assert record.ended_by_rater
    assert [picked_models(turn) for turn in record.turns] == [["beta"], ["beta"], ["alpha"]]


async def test_exactly_one_is_picked(run: RunningStudy) -> None:
    async with Hands(run, "many") as rater:
        step = (await rater.say()).step
        assert isinstance(step, ChooseStep)
        ids = [card.candidate_id for card in step.cards]
        assert "choose one reply" in await rater.refused(selected=ids[:2])
        assert "choose one reply" in await rater.refused(selected=[])
        assert "choose one reply" in await rater.refused(selected=[], none=True)


async def test_equal_replies_share_a_card_and_the_point(run: RunningStudy) -> None:
    """Two cards for three models: who picks the shared one gives a point to both, and the record says whose card it was."""
    always({"alpha": "Me too!", "beta": "Me  too!\n", "gamma": "Not me."})
    async with Hands(run, "twins") as rater:
        state = await rater.say("I like tea.")
        assert sorted(" ".join(text.split()) for text in cards(state)) == ["Me too!", "Not me."]
        shared = next(n for n, text in enumerate(cards(state)) if "too" in text)
        state = await rater.pick(shared)
        assert texts(state)[-1].split() == ["Me", "too!"]
    turn = rater.record(run).turns[0]
    each = by_model(turn)
    pair = {each["alpha"].candidate_id: each["beta"], each["beta"].candidate_id: each["alpha"]}
    (first,) = [c for c in (each["alpha"], each["beta"]) if c.same_as is None]
    assert pair[first.candidate_id].same_as == first.candidate_id
    assert each["alpha"].position == each["beta"].position
    assert sorted(c.position for c in turn.candidates if c.same_as is None) == [1, 2]
    assert picked_models(turn) == ["alpha", "beta"]
    assert (turn.continued, turn.automatic) == (first.candidate_id, False)
    record = rater.record(run)
    assert (record.points, record.ranks) == ({"alpha": 1, "beta": 1, "gamma": 0}, {"alpha": 1, "beta": 1, "gamma": 3})


async def test_the_card_of_a_twin_cannot_be_picked_by_the_hidden_id(run: RunningStudy) -> None:
    """Only ids of shown cards count, even those of the same turn."""
    always({"alpha": "Same.", "beta": "Same.", "gamma": "Other."})
    async with Hands(run, "hidden") as rater:
        await rater.say()
        turn = rater.record(run).turns[0]
        hidden = next(c for c in turn.candidates if c.same_as is not None)
        assert NOT_SHOWN in await rater.refused(selected=[hidden.candidate_id])


async def test_topics_are_offered_and_those_used_are_marked(run: RunningStudy) -> None:
    """The button's topics come from the file; the record tells the messages that are one from those that are typed."""
    async with Hands(run, "stuck") as rater:
        step = (await rater.state()).step
        assert isinstance(step, MessageStep)
        assert len(set(step.suggestions)) == 12
        assert set(step.suggestions) <= set(load_topics())
        topic = step.suggestions[4]
        await exchange(run, rater, "gamma", f" {topic} ")
        await exchange(run, rater, "gamma", "my own words")
        await exchange(run, rater, "gamma", step.suggestions[0])
    async with Hands(run, "other") as other:
        theirs = (await other.state()).step
        assert isinstance(theirs, MessageStep)
        assert theirs.suggestions != step.suggestions, "each dialogue has its own draw"
    assert [turn.human_suggested for turn in rater.record(run).turns] == [True, False, True]


async def test_an_unanswered_turn_is_nobodys_point(start: Launch) -> None:
    """The rater leaves in front of the second turn's replies: one point, one complete turn, and the work goes to others."""
    async with start(task="free_for_all", models=THREE, turns=3, disconnect_after_s=1) as run:
        async with Hands(run, "leaver") as rater:
            await exchange(run, rater, "alpha")
            step = (await rater.say()).step
            assert step.kind == "choose"
        await eventually(lambda: not run.live_run.task_runner.running_units, timeout=25)
        (record,) = records(run)
        assert (record.status, len(record.turns), len(record.complete_turns)) == ("partial", 2, 1)
        assert len(record.turns[1].candidates) == 3
        assert record.points == {"alpha": 1, "beta": 0, "gamma": 0}
        assert run.study.allocator.remaining == 1


async def test_many_picks_a_turn(start: Launch) -> None:
    """Their ablation: several may be picked, each is a point, none is not possible."""
    async with start(task="free_for_all", setting="many", models=THREE, turns=1) as run:
        async with Hands(run) as rater:
            await rater.say()
            assert "between 1 and 3" in await rater.refused(selected=[])
            await rater.pick(0, 1, 2)
            await rater.do("end")
            await rater.hand_in()
        await eventually(run.is_done)
        (record,) = records(run)
    assert (record.setting, record.points) == ("many", dict.fromkeys(THREE, 1))
    assert record.turns[0].continued in record.turns[0].selected


async def test_independent_histories(start: Launch) -> None:
    """Their ablation: the page shows what was picked, but each model goes on from its own words."""
    async with start(task="free_for_all", history="independent", models=THREE, turns=3) as run:
        async with Hands(run) as rater:
            for model in ("gamma", "gamma", "alpha"):
                await exchange(run, rater, model)
            assert texts(await rater.state())[1::2] == ["gamma at turn 1", "gamma at turn 2", "alpha at turn 3"]
            for model in THREE:
                heard = [text for speaker, text in heard_by(model, 5) if speaker == "bot"]
                assert heard == [f"{model} at turn 1", f"{model} at turn 2"]
            await rater.do("end")
            await rater.hand_in()
        await eventually(run.is_done)
        (record,) = records(run)
    assert record.settings["history"] == "independent"
    assert record.points == {"alpha": 1, "beta": 0, "gamma": 2}
