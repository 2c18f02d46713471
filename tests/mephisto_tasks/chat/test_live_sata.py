"""SATA (Liu et al. 2023): none, some or all of the replies are picked, and the dialogue goes on with one or a better one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest
import scripted_models
from hands import NOT_BOTH, NOT_SHOWN, Hands, actions, by_model, cards, heard_by, picked_models, place_of, texts
from live import eventually, launch

from mephisto_tasks.launch.launch import RunningStudy
from parlai_humaneval.schema.steps import ChooseStep, MessageStep, WriteStep

THREE = ["alpha", "beta", "gamma"]


@pytest.fixture(scope="module")
def random_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudy]:
    """sata_random over three models; three turns at least and five at most."""
    with launch(
        tmp_path_factory.mktemp("random"),
        task="sata",
        models=THREE,
        group_size=3,
        turns=3,
        max_turns=5,
        dialogues_per_group=50,
    ) as run:
        yield run


@pytest.fixture(scope="module")
def user_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudy]:
    with launch(
        tmp_path_factory.mktemp("user"), task="sata", setting="sata_user", models=THREE, group_size=3, turns=2,
        dialogues_per_group=50,
    ) as run:  # fmt: skip
        yield run


async def test_none_some_and_all_are_stored_as_picked(random_run: RunningStudy) -> None:
    """Nothing is lost of a choice; what goes on is one of the picked, or any where none was, and stands on the page."""
    async with Hands(random_run, "chooser") as rater:
        for positions in ((), (1,), (0, 2), (0, 1, 2)):
            shown = await rater.say()
            assert len(cards(shown)) == 3
            after = await rater.pick(*positions)
            record = rater.record(random_run)
            turn = record.complete_turns[-1]
            assert isinstance(shown.step, ChooseStep)
            assert turn.selected == [shown.step.cards[position].candidate_id for position in positions]
            assert turn.none_said == (not positions)
            assert turn.continued in (turn.selected or [card.candidate_id for card in shown.step.cards])
            assert texts(after)[-1] == next(c.text for c in turn.candidates if c.candidate_id == turn.continued)
        await rater.do("end")
        await rater.hand_in()
    record = rater.record(random_run)
    assert (record.status, record.setting, record.ended_by_rater) == ("complete", "sata_random", True)
    assert sum(record.points.values()) == 0 + 1 + 2 + 3


async def test_none_is_an_explicit_act(random_run: RunningStudy) -> None:
    """An empty choice is not a “none”, and a “none” with a choice is neither."""
    async with Hands(random_run, "vague") as rater:
        state = await rater.say()
        assert isinstance(state.step, ChooseStep)
        assert state.step.none_label
        assert state.step.none_label in await rater.refused(selected=[])
        one = state.step.cards[0].candidate_id
        assert NOT_BOTH in await rater.refused(selected=[one], none=True)
        assert "twice" in await rater.refused(selected=[one, one])
        await rater.pick()
    record = rater.record(random_run)
    assert (record.refused_answers, len(record.complete_turns), record.turns[0].none_said) == (3, 1, True)


async def test_a_pick_of_another_turns_candidate_is_refused(random_run: RunningStudy) -> None:
    """Ids of an earlier turn, and of another rater's, are not among the shown ones."""
    async with Hands(random_run, "mixer") as rater, Hands(random_run, "neighbour") as other:
        first = (await rater.say()).step
        theirs = (await other.say()).step
        assert isinstance(first, ChooseStep)
        assert isinstance(theirs, ChooseStep)
        await rater.pick(0)
        now = (await rater.say()).step
        assert isinstance(now, ChooseStep)
        for foreign in (first.cards[0].candidate_id, theirs.cards[0].candidate_id):
            said = await rater.refused(selected=[now.cards[0].candidate_id, foreign])
            assert NOT_SHOWN in said
        await rater.pick(0)
    assert len(rater.record(random_run).complete_turns) == 2


async def test_what_continues_is_drawn_from_the_picked_by_the_dialogues_seed(random_run: RunningStudy) -> None:
    """Twelve raters pick the first two of three at every turn: either goes on about as often, the third never."""
    went_on: Counter[int] = Counter()
    for number in range(12):
        async with Hands(random_run, f"both-{number}") as rater:
            for _ in range(5):
                await rater.say()
                await rater.pick(0, 1)
        for turn in rater.record(random_run).turns:
            went_on[next(c.position for c in turn.candidates if c.candidate_id == turn.continued)] += 1
    assert set(went_on) == {1, 2}
    assert sum(went_on.values()) == 60
    assert 17 <= went_on[1] <= 43  # 60 throws of a fair coin leave this once in a thousand times; the seed is fixed


async def test_the_rater_ends_from_the_fewest_turns_on_and_the_most_end_it(random_run: RunningStudy) -> None:
    """Before, the button says how many messages are missing; after the most, nobody need press it."""
    async with Hands(random_run, "long") as rater:
        state = await rater.state()
        assert state.progress is not None
        assert (state.progress.total, state.progress.minimum) == (None, 3)
        for missing in ("3 more messages", "2 more messages", "one more message"):
            assert actions(await rater.state()) == {"end": False}
            assert missing in await rater.refused(kind="action", action_id="end")
            await rater.say()
            await rater.pick(0)
        for _ in range(2):
            assert actions(await rater.state()) == {"end": True}
            await rater.say()
            state = await rater.pick(0)
        assert state.step.kind == "feedback"
        await rater.hand_in()
    record = rater.record(random_run)
    assert (record.status, len(record.complete_turns), record.ended_by_rater) == ("complete", 5, False)


async def test_unknown_actions_do_nothing(random_run: RunningStudy) -> None:
    async with Hands(random_run, "curious") as rater:
        for action in ("a", "topic", "delete"):
            assert "cannot be done here" in await rater.refused(kind="action", action_id=action)


async def test_the_written_reply_is_every_models_own(user_run: RunningStudy) -> None:
    """No reply fits: the rater's own line stands on the page and in each model's ears, as the partner's."""
    better = "I have two dogs and a very old cat."
    async with Hands(user_run, "writer") as rater:
        await rater.say("Do you have pets?")
        state = await rater.pick()
        assert isinstance(state.step, WriteStep)
        assert len(state.step.cards) == 3, "the replies that did not fit stay in sight"
        await asyncio.sleep(0.4)
        state = await rater.answer(kind="write", text=f"  {better} \n")
        assert texts(state) == ["Do you have pets?", better]
        await rater.say("  What are they called?\n")
        for model in THREE:
            assert heard_by(model, 3) == [
                ("human", "Do you have pets?"), ("bot", better), ("human", "What are they called?"),
            ]  # fmt: skip
        await rater.pick(0, 1)
        await rater.do("end")
        await rater.hand_in()
    record = rater.record(user_run)
    first, second = record.turns
    assert (first.selected, first.none_said, first.continued, first.written) == ([], True, None, better)
    assert first.seconds is not None
    assert first.seconds >= 0.4, "the time of writing is part of the turn's"
    assert (second.none_said, second.written, len(second.selected)) == (False, None, 2)
    assert sum(record.points.values()) == 2


async def test_written_replies_that_say_nothing_are_refused_and_the_step_stays(user_run: RunningStudy) -> None:
    """Too short, a copy, empty words, no end: a sentence each; what was said before is not touched."""
    scripted_models.SCRIPTS["alpha"] = lambda dialogue: "I like big dogs, you know!"
    async with Hands(user_run, "sloppy") as rater:
        await rater.say("Do you like dogs?")
        await rater.pick()
        before = rater.record(user_run)
        refusals = {
            "": "in words",
            "?!": "in words",
            "too short": "at least 3 words",
            "i like BIG dogs - you know": "you did not choose",
            "ok ok ok": "as a full reply",
            "I do not know": "as a full reply",
            "many words " * 9_500: "too long to send: the limit is 2,000 characters",
            "many more words " * 200: "shorten your text to 2000 characters",
        }
        for text, said in refusals.items():
            assert said in await rater.refused(text=text), text[:30]
        after = rater.record(user_run)
        assert after.turns == before.turns
        assert after.refused_answers == len(refusals)
        state = await rater.answer(kind="write", text="Yes, above all the big ones.")
        assert isinstance(state.step, MessageStep)


async def test_who_leaves_before_writing_has_said_none(user_run: RunningStudy) -> None:
    """The “none” is written down at once, and the turn is not complete: it is nobody's point."""
    async with Hands(user_run, "leaver") as rater:
        await rater.say()
        await rater.pick()
    async with Hands(user_run, "leaver") as rater:
        assert isinstance((await rater.state()).step, WriteStep), "a reload finds its place"
    record = rater.record(user_run)
    assert record.turns[0].none_said
    assert record.complete_turns == []
    assert set(record.points.values()) == {0}


async def test_the_picked_models_are_those_of_the_cards(random_run: RunningStudy) -> None:
    """The record's points go to the models whose words the rater picked, wherever they stood."""
    async with Hands(random_run, "fan") as rater:
        for _ in range(3):
            state = await rater.say()
            await rater.pick(place_of(random_run, state, "beta"), place_of(random_run, state, "gamma"))
        await rater.do("end")
        await rater.hand_in()
    await eventually(lambda: rater.record(random_run).status == "complete")
    record = rater.record(random_run)
    assert [picked_models(turn) for turn in record.turns] == [["beta", "gamma"]] * 3
    assert (record.points, record.ranks) == (
        {"alpha": 0, "beta": 3, "gamma": 3},
        {"alpha": 3, "beta": 1, "gamma": 1},
    )
    assert [by_model(turn)["beta"].text for turn in record.turns] == [f"beta at turn {number}" for number in (1, 2, 3)]
