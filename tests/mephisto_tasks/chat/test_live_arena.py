"""Arena: two models side by side, each with a history of its own; a verdict at any turn, or asked for at the last."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hands import NOT_SHOWN, Hands, actions, always, by_model, heard_by
from live import launch

from mephisto_tasks.launch.launch import RunningStudy
from parlai_humaneval.schema.steps import PageState, TickStep

VERDICTS = ["a", "b", "tie", "both_bad"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudy]:
    with launch(tmp_path_factory.mktemp("arena"), task="arena", turns=1, max_turns=4, dialogues_per_group=50) as run:
        yield run


def columns(state: PageState) -> list[list[str]]:
    """What stands in each of the two columns; the rater's lines stand in both."""
    assert state.columns == ["A", "B"]
    return [[entry.text for entry in state.transcript if entry.column in (None, column)] for column in (0, 1)]


@pytest.mark.parametrize("verdict", VERDICTS)
async def test_each_verdict_names_the_model_of_its_column(run: RunningStudy, verdict: str) -> None:
    """Over three turns the columns hold the same models; A is the left one's model, a tie and both bad nobody's."""
    async with Hands(run, f"judge-{verdict}") as rater:
        assert actions(await rater.state()) == {}, "there is nothing to compare before the first replies"
        for number in (1, 2, 3):
            state = await rater.say()
            assert actions(state) == dict.fromkeys(VERDICTS, True)
            left, right = (lines[-1] for lines in columns(state))
            assert {left, right} == {f"alpha at turn {number}", f"beta at turn {number}"}
        await rater.do(verdict)
        await rater.hand_in()
    record = rater.record(run)
    models = [columns(state)[column][-1].split()[0] for column in (0, 1)]
    better = {"a": models[0], "b": models[1]}.get(verdict)
    assert (record.status, record.verdict, record.verdict_model) == ("complete", verdict, better)
    assert record.ended_by_rater
    for turn in record.turns:
        assert turn.continued_each
        assert (turn.selected, turn.continued) == ([], None)
        assert [by_model(turn)[model].position for model in models] == [1, 2]
    assert (record.points, len(record.complete_turns)) == ({}, 3)


async def test_raters_read_how_long_a_chat_is_expected_to_take(run: RunningStudy) -> None:
    """Four turns of 40 seconds here, and not the only one after which they may stop."""
    assert run.study.minutes == 3


async def test_the_columns_are_drawn_anew_for_each_dialogue(run: RunningStudy) -> None:
    """Neither model is always the left one."""
    left = set()
    for number in range(8):
        async with Hands(run, f"looks-{number}") as rater:
            left.add(columns(await rater.say("hello partners"))[0][-1])
    assert left == {"alpha at turn 1", "beta at turn 1"}


async def test_each_model_hears_its_own_replies_only(run: RunningStudy) -> None:
    async with Hands(run, "listener") as rater:
        for number in (1, 2, 3):
            await rater.say(f"message number {number}")
    for model in ("alpha", "beta"):
        assert heard_by(model, 5) == [
            ("human", "message number 1"), ("bot", f"{model} at turn 1"),
            ("human", "message number 2"), ("bot", f"{model} at turn 2"),
            ("human", "message number 3"),
        ]  # fmt: skip


async def test_equal_replies_stand_in_both_columns(run: RunningStudy) -> None:
    """Side by side nothing is merged: an empty column would tell that something is odd."""
    always({"alpha": "Hello!", "beta": "Hello!"})
    async with Hands(run, "equal") as rater:
        assert columns(await rater.say("hello partners")) == [["hello partners", "Hello!"]] * 2
        await rater.do("tie")
        await rater.hand_in()
    record = rater.record(run)
    assert [candidate.same_as for candidate in record.turns[0].candidates] == [None, None]
    assert (record.verdict, record.verdict_model) == ("tie", None)


async def test_at_the_last_turn_the_verdict_is_asked_for(run: RunningStudy) -> None:
    """It cannot be left out, nor be two; the columns stay in sight."""
    async with Hands(run, "thorough") as rater:
        for _ in range(4):
            state = await rater.say()
        assert isinstance(state.step, TickStep)
        assert [option.option_id for option in state.step.options] == VERDICTS
        assert len(columns(state)[0]) == 8
        assert "choose one answer" in await rater.refused(selected=[])
        assert "choose one answer" in await rater.refused(selected=["a", "b"])
        assert NOT_SHOWN in await rater.refused(selected=["alpha"])
        assert "different kind of answer" in await rater.refused(kind="action", action_id="a")
        await rater.tick("b")
        await rater.hand_in()
    record = rater.record(run)
    assert record.verdict == "b"
    assert record.verdict_model == next(c.model for c in record.turns[0].candidates if c.position == 2)
    assert not record.ended_by_rater


async def test_no_page_state_names_a_model(run: RunningStudy) -> None:
    """Ids, columns and options of the page tell nothing of who is who."""
    always({"alpha": "Hello!", "beta": "Good day!"})
    async with Hands(run, "spy") as rater:
        state = await rater.say("hello partners")
        shown = state.model_dump_json() + str(rater.client.details)
        assert "alpha" not in shown
        assert "beta" not in shown
