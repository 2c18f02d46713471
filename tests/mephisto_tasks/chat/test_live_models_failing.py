"""Models that fail, hang or are late: the rater is told, paid and thanked; the answers are kept; the work goes on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any

import pytest
import scripted_models
from live import Launch, Rater, eventually, records, rows, whole_dialogue

from mephisto_tasks.admission.admission import PAUSED
from mephisto_tasks.admission.visits import only_closing
from mephisto_tasks.chat.turn import PARTNER_SLOW
from mephisto_tasks.launch.running import StudyBroken
from mephisto_tasks.session.study import STOPPED
from parlai_humaneval.models.agent.dialogue_agent import Line
from parlai_humaneval.models.zoo.entries import ZooError
from parlai_humaneval.schema.steps import ChooseStep, EndStep, WaitStep


def fails(times: int) -> scripted_models.Script:
    left = [times]

    def answer(dialogue: Sequence[Line]) -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise RuntimeError("out of memory")
        return "here again"

    return answer


async def test_one_failure_is_a_delay_and_no_more(start: Launch) -> None:
    """The page says that it takes longer; the retry answers; the dialogue completes and the log tells of it."""
    scripted_models.SCRIPTS["beta"] = fails(1)
    shown: list[str] = []
    async with start() as run:
        show = run.live_run.client_io.send_live_update

        def spy(agent_id: str, update: dict[str, Any]) -> None:
            shown.append(update["state"]["step"].get("text", ""))
            show(agent_id, update)

        run.live_run.client_io.send_live_update = spy
        async with Rater(run) as rater:
            await rater.finish()
        await eventually(run.is_done)
        (record,) = records(run)
    assert record.status == "complete"
    assert PARTNER_SLOW in shown
    assert any(candidate.text == "here again" for candidate in record.turns[0].candidates)
    log = next(run.data_dir.glob("data/runs/NO_PROJECT/*/*/*/state.json")).read_text()
    assert '"event": "delayed"' in log


async def test_a_model_that_stays_broken_stops_the_dialogue_fairly(start: Launch) -> None:
    """Stopped in turn 2: pay words, a failed record with turn 1 in it, a new unit, and the next rater completes."""
    broken = True

    def breaks(dialogue: Sequence[Line]) -> str:
        if broken and len(dialogue) > 1:
            raise RuntimeError("out of memory")
        return "fine"

    scripted_models.SCRIPTS["alpha"] = breaks
    async with start() as run:
        async with Rater(run, "unlucky") as rater:
            await rater.talk_until("message", turn=2)
            state = await rater.write("and now?")
            assert isinstance(state.step, EndStep)
            assert (state.step.title, state.step.next) == (STOPPED[0], "submit")
            assert "you are paid" in state.step.text
            assert "out of memory" not in state.model_dump_json()
            await rater.client.submit_task()
        await eventually(lambda: not run.live_run.task_runner.running_units)
        assert not run.is_done()
        broken = False
        await whole_dialogue(run, "next")
        await eventually(run.is_done)
        failed, complete = records(run)
    assert (failed.status, complete.status) == ("failed", "complete")
    assert failed.failure is not None
    assert "alpha" in failed.failure
    assert len(failed.complete_turns) == 1
    assert failed.turns[1].human_text == "and now?"
    assert rows(run.data_dir, "SELECT status FROM units") == [("completed",), ("completed",)]


async def test_two_failures_at_once_open_two_new_units(start: Launch) -> None:
    """Replacements of several raters do not launch each other's."""
    scripted_models.SCRIPTS["alpha"] = fails(10**6)
    async with start(dialogues_per_group=4) as run:
        raters = [Rater(run, f"w{number}") for number in range(4)]
        for rater in raters:
            await rater.__aenter__()
        for rater in raters:
            state = await rater.state()
            assert isinstance(state.step, EndStep)
            await rater.client.submit_task()
            await rater.__aexit__(None, None, None)
        await eventually(lambda: not run.live_run.task_runner.running_units)
        scripted_models.SCRIPTS.clear()
        statuses = [status for (status,) in rows(run.data_dir, "SELECT status FROM units")]
        assert sorted(statuses) == ["completed"] * 4 + ["launched"] * 4
        for number in range(4):
            await whole_dialogue(run, f"again-{number}")
        await eventually(run.is_done)


async def test_a_hanging_model_is_waited_for_then_the_dialogue_stops(start: Launch) -> None:
    hang = threading.Event()
    scripted_models.SCRIPTS["beta"] = lambda dialogue: str(hang.wait(30))
    async with start(model_timeout_s=0.3, model_retries=1) as run:
        async with Rater(run) as rater:
            state = await rater.state()
            assert isinstance(state.step, EndStep)
            assert state.step.title == STOPPED[0]
            await rater.client.submit_task()
        await eventually(lambda: not run.live_run.task_runner.running_units)
        (record,) = records(run)
        assert record.status == "failed"
        assert record.failure is not None
        assert "silent" in record.failure
        hang.set()


async def test_the_end_of_a_launch_does_not_wait_for_a_hanging_model(start: Launch) -> None:
    """60 s of patience with a model must not be 60 s of Ctrl-C; the rater gets the last words at once."""
    hang, returned = threading.Event(), threading.Event()

    def hangs(dialogue: Sequence[Line]) -> str:
        hang.wait(60)
        returned.set()
        return "late"

    scripted_models.SCRIPTS["beta"] = hangs
    async with start(model_timeout_s=60) as run, Rater(run) as rater:
        await eventually(lambda: isinstance(rater.client.state and rater.newest.step, WaitStep))
        run.study.closing.set()
        await eventually(lambda: isinstance(rater.newest.step, EndStep))
        last = rater.newest.step
        assert isinstance(last, EndStep)
        assert (last.title, last.resumes) == ("The study was paused", True)
    assert not returned.is_set(), "the model still hangs, and the launch is over"
    hang.set()
    (record,) = records(run)
    assert (record.status, record.failure) == ("partial", None)


async def test_the_picked_reply_is_both_models_history(start: Launch) -> None:
    """Whoever was picked, both models continue from the same words, as their own."""
    async with start(turns=3) as run:
        async with Rater(run) as rater:
            await rater.choose(1)
            await rater.write("second message")
            await rater.choose(0)
            await rater.finish()
        (record,) = records(run)
    picked = [next(c.text for c in t.candidates if c.candidate_id == t.continued) for t in record.turns]
    for turn in (1, 2, 3):
        said: list[Line] = [("human", "Hi!")]
        for earlier in range(turn - 1):
            said += [("bot", picked[earlier]), ("human", record.turns[earlier + 1].human_text)]
        heard = {model: dialogue for model, dialogue in scripted_models.HEARD if len(dialogue) == 2 * turn - 1}
        assert heard == {"alpha": said, "beta": said}


async def two_unlucky_raters_and_a_third(start: Launch) -> None:
    """The third is turned away: two dialogues have failed before."""
    async with start(stop_after_failures=2, dialogues_per_group=5) as run:
        for worker in ("first", "second"):
            async with Rater(run, worker) as rater:
                assert isinstance((await rater.state()).step, EndStep)
                await rater.client.submit_task()
        await eventually(run.is_done)
        async with Rater(run, "third") as late:
            assert late.client.refused == only_closing(PAUSED)


async def test_models_that_fail_one_rater_after_another_end_the_launch(start: Launch) -> None:
    """Each failed dialogue is paid for: after the set number in a row no other is given out, and the launch says why."""

    def breaks(dialogue: Sequence[Line]) -> str:
        raise RuntimeError("out of memory")

    scripted_models.SCRIPTS["alpha"] = breaks
    with pytest.raises(StudyBroken, match=r"2 failed dialogues in a row.*alpha"):
        await two_unlucky_raters_and_a_third(start)


async def test_a_complete_dialogue_between_failures_keeps_the_launch_alive(start: Launch) -> None:
    """Only failures in a row count."""
    failing = [True]

    def sometimes(dialogue: Sequence[Line]) -> str:
        if failing[0]:
            raise RuntimeError("out of memory")
        return "fine"

    scripted_models.SCRIPTS["alpha"] = sometimes
    async with start(stop_after_failures=2, dialogues_per_group=5) as run:
        for number, fails_now in enumerate((True, False, True)):
            failing[0] = fails_now
            async with Rater(run, f"w{number}") as rater:
                if fails_now:
                    assert isinstance((await rater.state()).step, EndStep)
                    await rater.client.submit_task()
                else:
                    await rater.finish()
        assert run.study.broken is None


@pytest.mark.parametrize("where", ["clone", "self_observe"])
async def test_a_model_that_ends_the_program_fails_as_any_other(
    start: Launch, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it does: its rater's thread lives, tells them, and the record says what the model did."""
    async with start() as run:
        # When the models are loaded: one that is none of ours does such things at its first message.
        monkeypatch.setattr(scripted_models.ScriptedAgent, where, lambda *_: sys.exit(3))
        async with Rater(run, "unlucky") as rater:
            state = await rater.state()
            if isinstance(state.step, ChooseStep):
                await rater.choose()
                state = await rater.write("and now?")
            assert isinstance(state.step, EndStep)
            assert (state.step.title, state.step.next) == (STOPPED[0], "submit")
            await rater.client.submit_task()
        await eventually(lambda: not run.live_run.task_runner.running_units)
        (failed,) = records(run)
    assert failed.failure is not None
    assert "it called sys.exit(3)" in failed.failure


async def test_a_model_that_ends_the_program_when_it_is_loaded_is_named(
    start: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards the launch that would end without a word."""
    monkeypatch.setattr(scripted_models.ScriptedAgent, "__init__", lambda *_: sys.exit(3))
    with pytest.raises(ZooError, match=r"cannot be loaded: RuntimeError: it called sys\.exit\(3\)"):
        async with start():
            pass
