"""Candidates that tie or break: equal replies are one card for all who gave them, blank ones are shown to nobody."""

from __future__ import annotations

from collections.abc import Sequence

import scripted_models
from hands import Hands, always, by_model, cards, heard_by, picked_models, texts
from live import Launch, Rater, eventually, records

from mephisto_tasks.session.study import STOPPED, UnitWords, filled
from parlai_humaneval.models.agent.dialogue_agent import Line
from parlai_humaneval.schema.steps import ChooseStep, EndStep, MessageStep
from parlai_humaneval.tables.build import tables

FOUR = ["alpha", "beta", "gamma", "delta"]


def blank_for(tries: int, then: str = "here I am") -> scripted_models.Script:
    left = [tries]

    def answer(dialogue: Sequence[Line]) -> str:
        left[0] -= 1
        return " \u200b\n" if left[0] >= 0 else then

    return answer


async def test_two_equal_replies_are_a_tie_without_a_question(start: Launch) -> None:
    """PW-Turn: nothing is asked that has no answer; both are credited, the dialogue goes on, and tables count a tie."""
    always({"alpha": "How are you?", "beta": "How are  you? "})
    async with start(turns=2) as run:
        async with Rater(run) as rater:
            state = await rater.state()
            assert isinstance(state.step, MessageStep)
            assert [text.split() for text in texts(state)] == [["Hi!"], ["How", "are", "you?"]]
            scripted_models.SCRIPTS.clear()
            assert isinstance((await rater.write("Fine, and you?")).step, ChooseStep)
            await rater.finish()
        await eventually(run.is_done)
        (record,) = records(run)
    first, second = record.turns
    assert (first.automatic, second.automatic) == (True, False)
    assert picked_models(first) == ["alpha", "beta"]
    assert (first.reason, first.seconds) == (None, 0)
    assert first.continued in first.selected
    assert sum(candidate.same_as is not None for candidate in first.candidates) == 1
    assert record.status == "complete"
    assert len(tables([record]).comparisons) == 2


async def test_all_dialogue_long_the_same_reply(start: Launch) -> None:
    """Two models that never differ: the dialogue completes without a single choice."""
    always({"alpha": "Yes.", "beta": "Yes."})
    async with start(turns=3) as run:
        async with Rater(run) as rater:
            await rater.finish()
        await eventually(run.is_done)
        (record,) = records(run)
    assert [turn.automatic for turn in record.turns] == [True] * 3
    assert record.ranks == {"alpha": 1, "beta": 1}


async def test_equal_replies_may_still_be_none_of_them_in_sata(start: Launch) -> None:
    """One card for both models, but “none” is still an answer: it is asked, and both get the pick or neither does."""
    always({"alpha": "Yes.", "beta": "Yes."})
    async with start(task="sata", turns=2) as run:
        async with Hands(run) as rater:
            state = await rater.say()
            assert cards(state) == ["Yes."]
            assert isinstance(state.step, ChooseStep)
            assert (state.step.min_choices, state.step.max_choices) == (0, 1)
            await rater.pick()
            await rater.say()
            await rater.pick(0)
            await rater.do("end")
            await rater.hand_in()
        await eventually(run.is_done)
        (record,) = records(run)
    assert [picked_models(turn) for turn in record.turns] == [[], ["alpha", "beta"]]
    assert record.turns[0].none_said
    assert not record.turns[0].automatic


async def test_a_blank_reply_is_asked_for_again(start: Launch) -> None:
    """Once blank, then words: the rater sees the words only."""
    scripted_models.SCRIPTS["beta"] = blank_for(1)
    async with start(model_retries=2) as run, Rater(run) as rater:
        assert "here I am" in cards(await rater.state())
        (record,) = records(run)
        assert not by_model(record.turns[0])["beta"].failed


async def test_blank_to_the_end_leaves_nothing_to_compare(start: Launch) -> None:
    """Of two models one says nothing in all tries: the dialogue stops politely and is paid; no blank card is shown."""
    scripted_models.SCRIPTS["beta"] = blank_for(10**6)
    async with start(model_retries=1) as run:
        async with Rater(run) as rater:
            state = await rater.state()
            assert isinstance(state.step, EndStep)
            told = filled(STOPPED[1], UnitWords())
            assert (state.step.title, state.step.text, state.step.next) == (STOPPED[0], told, "submit")
            await rater.client.submit_task()
        await eventually(lambda: not run.live_run.task_runner.running_units)
        (record,) = records(run)
        assert record.status == "failed"
        assert record.failure is not None
        assert "beta" in record.failure
        assert run.study.allocator.remaining == 1, "the work is given out again"


async def test_of_four_models_three_go_on_without_the_silent_one(start: Launch) -> None:
    """SATA with four: three cards without a hole, the fourth on record as failed; it hears on, and may answer later."""
    scripted_models.SCRIPTS["gamma"] = blank_for(2)
    async with start(task="sata", models=FOUR, group_size=4, turns=2, model_retries=1) as run:
        async with Hands(run) as rater:
            state = await rater.say("first words")
            assert sorted(cards(state)) == ["alpha at turn 1", "beta at turn 1", "delta at turn 1"]
            state = await rater.pick(0, 1, 2)
            went_on = texts(state)[-1]
            state = await rater.say("second words")
            assert len(cards(state)) == 4
            assert heard_by("gamma", 3) == [("human", "first words"), ("bot", went_on), ("human", "second words")]
            await rater.pick(0)
            await rater.do("end")
            await rater.hand_in()
        await eventually(run.is_done)
        (record,) = records(run)
    first, second = record.turns
    silent = by_model(first)["gamma"]
    assert (silent.failed, silent.text, silent.position) == (True, "", 0)
    assert sorted(c.position for c in first.candidates) == [0, 1, 2, 3]
    assert picked_models(first) == ["alpha", "beta", "delta"]
    assert not by_model(second)["gamma"].failed
    assert record.status == "complete"
    assert tables([record]).turns["failed"].sum() == 1


async def test_a_silent_single_model_stops_the_dialogue(start: Launch) -> None:
    scripted_models.SCRIPTS["alpha"] = blank_for(10**6)
    async with start(task="single_model", models=["alpha"], model_retries=0) as run, Rater(run) as rater:
        state = await rater.state()
        assert isinstance(state.step, EndStep)
        assert state.step.title == STOPPED[0]
        await rater.client.submit_task()


async def test_side_by_side_a_silent_model_is_not_an_empty_column(start: Launch) -> None:
    """Two partners: when one says nothing the conversation stops, it is not shown as a partner with no words."""
    async with start(task="arena", model_retries=0) as run, Hands(run) as rater:
        await rater.say("hello both of you")
        scripted_models.SCRIPTS["beta"] = blank_for(10**6)
        state = await rater.say("still there?")
        assert isinstance(state.step, EndStep)
        await rater.client.submit_task()
        await eventually(lambda: rater.record(run).status == "failed")
        assert len(rater.record(run).complete_turns) == 1


async def test_half_of_a_surrogate_pair_neither_stops_a_dialogue_nor_spoils_its_file(start: Launch) -> None:
    """Some tokenizers cut an emoji in two; such a text can be neither stored nor sent as it is."""
    always({"alpha": "\ud83d so nice", "beta": "Quite nice"})
    async with start(turns=1) as run:
        async with Rater(run) as rater:
            state = await rater.state()
            assert sorted(cards(state)) == ["? so nice", "Quite nice"]
            await rater.finish()
        await eventually(run.is_done)
        assert records(run)[0].status == "complete"
