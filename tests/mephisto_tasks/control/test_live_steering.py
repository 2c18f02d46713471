"""Orders to running launches while raters are inside: nobody is lost, what is under way counts, what comes is right."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import scripted_models
from click.testing import CliRunner, Result
from hands import Hands
from judging_hands import LONG, SHORT, TERSE, WORDY, Judge, chats, one_unit, says, study_beside
from live import TASK, Launch, Rater, config_of, eventually, good_replies, launch_beside, records, rows, whole_dialogue
from scripted_models import zoo_file

from mephisto_tasks.adapter import task_launcher as launcher
from mephisto_tasks.admission.admission import ALL_DONE, PAUSED
from mephisto_tasks.admission.visits import only_closing
from mephisto_tasks.chat.study import GO_ON
from mephisto_tasks.config.names import NothingToDo
from mephisto_tasks.control.orders import (
    More,
    Order,
    Pause,
    RestoreModel,
    Resume,
    ResumeGroup,
    RetireModel,
    StopGroup,
    give,
)
from mephisto_tasks.control.snapshot import Snapshot, is_alive, read_snapshot, so_far
from mephisto_tasks.crowds.crowd import Market
from mephisto_tasks.launch import launch as launching
from mephisto_tasks.launch.config import compose_config
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.session.study import ALL_DONE as NOTHING_MORE
from mephisto_tasks.session.study import UnitWords, filled
from mephisto_tasks.simulation.raters import Behaviour, run_raters
from mephisto_tasks.storage.results import PSEUDONYM_KEY
from parlai_humaneval.cli import main
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.steps import EndStep

RIGHT = ["good"] * 4


def said(data_dir: Path) -> Snapshot:
    snapshot = read_snapshot(data_dir, TASK)
    assert snapshot is not None
    return snapshot


async def ordered(run: RunningStudy, order: Order) -> str:
    """Give an order, and wait for what the launch says of it."""
    give(run.data_dir, TASK, order)
    await eventually(lambda: any(result.order_id == order.order_id for result in said(run.data_dir).orders))
    return next(result.text for result in said(run.data_dir).orders if result.order_id == order.order_id)


async def refused(run: RunningStudy, worker: str) -> str | None:
    async with Rater(run, worker) as rater:
        return rater.client.refused


def idle(run: RunningStudy) -> bool:
    return not run.live_run.task_runner.running_units


async def test_a_pause_lets_those_inside_finish_and_nobody_new_in(start: Launch) -> None:
    """Who practises when the study is paused goes on to their conversation: their effort is not lost, either. Where orders
    leave nothing to give, they read so at once, in kind words."""
    async with start(dialogues_per_group=3, onboarding_qualification="pw-practice") as run:
        good = good_replies(run)
        async with Rater(run, "inside") as inside, Rater(run, "practising") as practising:
            await inside.practise(RIGHT, good)
            await inside.client.submit_onboarding()
            await inside.talk_until("choose", turn=1)
            await practising.practise(RIGHT[:2], good)
            answer = await ordered(run, Pause(by="page"))
            told = run.warning()
            assert answer in str(told)
            assert told == "Paused: no new raters start; active raters finish. (Ordered from the page.)"
            assert run.warning() is None, "the launch says it once"
            paused = said(run.data_dir).paused
            assert paused is not None
            assert paused.by == "page"
            assert await refused(run, "new") == only_closing(PAUSED)
            await practising.practise(RIGHT[2:], good)
            assert (await practising.client.submit_onboarding())["failure_reason"] is None
            await practising.finish()
            await inside.finish()
        async with Rater(run, "inside", assignment="another") as again:
            assert again.client.refused == only_closing(PAUSED), "a finished rater gets nothing else in a pause"
        assert not run.is_done(), "a paused study waits"
        await ordered(run, Resume())
        async with Rater(run, "new") as rater:
            await rater.practise(RIGHT, good)
            await rater.client.submit_onboarding()
            await rater.finish()
        await eventually(run.is_done)
        assert {record.status for record in records(run)} == {"complete"}
        assert len(records(run)) == 3
        await ordered(run, More(number=1))
        late = Rater(run, "late")
        await late.__aenter__()
        await late.practise(RIGHT[:2], good)
        await ordered(run, StopGroup(models=["alpha", "beta"]))
        await eventually(run.is_done)
    await eventually(lambda: isinstance(late.newest.step, EndStep))
    assert isinstance(late.newest.step, EndStep)
    assert (late.newest.step.title, late.newest.step.text) == tuple(
        only_closing(filled(text, UnitWords())) for text in NOTHING_MORE
    )
    await late.__aexit__(None, None, None)


def test_an_order_that_came_while_models_loaded_is_told_once(data_dir: Path) -> None:
    """A pause is among what is announced at the beginning, so that it is no news."""

    def pausing(what: str) -> Any:
        if what.startswith("Loading"):
            give(data_dir, TASK, Pause())
        return nullcontext()

    data_dir.mkdir(parents=True, exist_ok=True)
    with launching.run_launch("pw_turn", config_of(data_dir), data_dir, waiting_for=pausing) as run:
        assert run.study.steered.paused is not None
        assert run.warning() is None


async def test_more_dialogues_for_all_and_for_one_pair(start: Launch) -> None:
    """The last rater is in their last turn when more are asked for: units are opened at once, and the launch goes on."""
    async with start(models=["alpha", "beta", "gamma"], dialogues_per_group=1) as run:
        await whole_dialogue(run, "w1")
        await whole_dialogue(run, "w2")
        async with Rater(run, "w3") as last:
            await last.talk_until("choose", turn=2)
            text = await ordered(run, More(number=1, models=["beta", "alpha"]))
            assert text == "1 more for alpha vs beta (preference): 2 conversations are requested now."
            await ordered(run, More(number=1))
            await last.finish()
        assert [group.wanted for group in run.study.progress()] == [3, 2, 2]
        for number in range(4, 8):
            assert not run.is_done()
            await whole_dialogue(run, f"w{number}")
        await eventually(run.is_done)
        assert so_far(run.study.progress()) == (7, 7)
        assert await refused(run, "late") == only_closing(filled(ALL_DONE, UnitWords()))


async def test_a_pair_is_stopped_under_a_rater_and_taken_up_again(start: Launch) -> None:
    async with start(groups=[["alpha", "beta"], ["alpha", "gamma"]], models=["alpha", "beta", "gamma"]) as run:
        async with Rater(run, "first") as first:
            await first.talk_until("choose", turn=1)
            (held,) = [group for group in run.study.progress() if group.running]
            await ordered(run, StopGroup(models=held.models))
            (other,) = [group for group in run.study.progress() if group.label != held.label]
            await whole_dialogue(run, "second")
            assert not run.is_done(), "somebody is still inside"
            assert await refused(run, "third") is not None
            await first.finish()
        await eventually(run.is_done)
        now = {group.label: (group.completed, group.stopped) for group in run.study.progress()}
        assert now == {held.label: (1, "stopped from a terminal"), other.label: (1, None)}
        await ordered(run, More(number=1, models=other.models))
        await ordered(run, ResumeGroup(models=held.models))
        await ordered(run, More(number=1, models=held.models))
        await whole_dialogue(run, "third")
        await whole_dialogue(run, "fourth")
        await eventually(run.is_done)
        assert {group.completed for group in run.study.progress()} == {2}


async def test_a_retired_model_speaks_to_its_last_and_is_not_loaded_again(start: Launch, data_dir: Path) -> None:
    """And orders that cannot be followed say why and do nothing, now and at the next launch."""
    three: dict[str, Any] = {"models": ["alpha", "beta", "gamma"], "dialogues_per_group": 2}
    async with start(**three) as run:
        raters = [Rater(run, f"w{number}") for number in range(3)]
        for rater in raters:  # one for each pair
            await rater.__aenter__()
            await rater.talk_until("choose", turn=1)
        text = await ordered(run, RetireModel(model="gamma"))
        assert text == "gamma is retired: its 2 groups are stopped; work in progress is completed."
        assert await ordered(run, RetireModel(model="delta")) == (
            "There is no model delta; name one of alpha, beta, gamma."
        )
        for rater in raters:
            await rater.finish()
            await rater.__aexit__(None, None, None)
        assert sorted(group.completed for group in run.study.progress()) == [1, 1, 1]
        assert run.study.remaining == 1
        await eventually(lambda: idle(run))
    assert [result.done for result in said(data_dir).orders] == [True, False]
    misspelt = command("steer", "retire", "alpa", "--task-name", TASK, "--data-dir", str(data_dir))
    assert f"steer retire alpha --task-name {TASK}" in misspelt.stderr
    async with start(**three) as run:
        assert set(run.study.pool.specs) == {"alpha", "beta"}
        assert "not loaded in this launch" in await ordered(run, RestoreModel(model="gamma"))
        scripted_models.HEARD.clear()
        await whole_dialogue(run, "w9")
        await eventually(run.is_done)
        assert {name for name, _ in scripted_models.HEARD} == {"alpha", "beta"}
    async with start(**three) as run:
        assert set(run.study.pool.specs) == {"alpha", "beta", "gamma"}, "restored, as was ordered"
        assert run.study.remaining == 2


async def test_what_is_left_can_be_nothing(start: Launch, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An order for hundreds is followed bit by bit, and others come between; with every open pair stopped a study has
    ended, and its next launch says what holds it."""
    monkeypatch.setattr(launcher, "AT_ONCE", 40)

    def is_open() -> int:
        return len(rows(data_dir, "SELECT unit_id FROM units WHERE status = 'launched'"))

    async with start(dialogues_per_group=3) as run:
        await whole_dialogue(run, "w1")
        await ordered(run, More(number=100))
        assert is_open() < 100, "whoever gives an order does not wait for all of its units"
        await ordered(run, Pause())
        await ordered(run, Resume())
        await eventually(lambda: is_open() == run.study.remaining == 102)
        await ordered(run, StopGroup(models=["alpha", "beta"], by="page"))
        await eventually(run.is_done)
    with pytest.raises(NothingToDo, match=r"or are stopped: alpha vs beta \(preference\) \(stopped from the page\)"):
        async with start(dialogues_per_group=3):
            raise AssertionError("there was something to launch")
    assert not is_alive(data_dir, TASK)


async def test_units_of_several_conversations_lose_a_model(start: Launch) -> None:
    """A unit that is under way is held as it was planned, one that begins now is shorter; who left before a conversation
    with the retired model begins anew, and the model by which raters are checked stays."""
    settings: dict[str, Any] = {
        "task": "direct_assessment",
        "models": ["alpha", "beta", "gamma"],
        "conversations_per_unit": 4,
        "turns": 1,
        "dialogues_per_group": 2,
        "topic": "none",
        "ask_opinion": False,
        "disconnect_after_s": 1,
    }

    async def conversation(rater: Hands) -> None:
        await rater.say()
        await rater.do("end")
        await rater.rate(50)

    async with start(**settings) as run:
        gone = ""
        async with Hands(run, "leaves") as rater:
            await conversation(rater)
            left = records(run)[0].models[0].name
            gone = next(name for name in ("alpha", "beta", "gamma") if name != left)
        await eventually(lambda: idle(run), timeout=25)
        async with Hands(run, "stays") as rater:
            await conversation(rater)
            assert "cannot be retired" in await ordered(run, RetireModel(model=run.study.config.quality_control_model))
            await ordered(run, RetireModel(model=gone))
            assert any("set of 3 conversations" in remark for remark in said(run.data_dir).remarks)
            for _ in range(3):
                await conversation(rater)
            await rater.hand_in()
        async with Hands(run, "leaves") as rater:
            state = await rater.state()
            assert state.progress is not None
            assert (state.progress.current, state.progress.total) == (1, 3)
            assert state.notice != GO_ON
            for _ in range(3):
                await conversation(rater)
            await rater.hand_in()
        await eventually(lambda: run.study.remaining == 0)
        complete = [record for record in records(run) if record.status == "complete"]
        assert [record.models[0].name for record in complete].count(gone) == 1, "in the unit that was under way"


async def test_judgements_of_finished_dialogues_are_steered_alike(data_dir: Path) -> None:
    third = "zz-third-model"
    files = [
        chats(data_dir, name, says(text), dialogues=3)
        for name, text in ((WORDY, LONG), (TERSE, SHORT), (third, "Indeed it is."))
    ]
    settings = {"dialogues": files, "items_per_unit": 2, "judgements_per_group": 2, "pairing": "any"}
    async with study_beside(data_dir, "pw_dialog", task_name=TASK, **settings) as run:
        async with Judge(run, "w1") as judge:
            await judge.answer_somehow()
            await ordered(run, RetireModel(model=third))
            await ordered(run, More(number=2))
            assert "only 5 more are possible" in await ordered(run, More(number=6))
            await judge.to_feedback()
            await judge.hand_in()
        for number in range(2, 6):
            if not run.study.remaining:
                break
            await one_unit(run, f"w{number}")
        await eventually(run.is_done)
        (kept,) = [group for group in run.study.progress() if group.stopped is None]
        assert (set(kept.models), kept.completed, kept.wanted) == ({WORDY, TERSE}, 4, 4)
    again = {**settings, "judgements_per_group": 5}
    async with study_beside(data_dir, "pw_dialog", task_name=TASK, **again) as run:
        assert [group.wanted for group in run.study.progress() if group.stopped is None] == [5], "and not seven"


async def test_the_snapshot_tells_who_is_inside_and_how_others_ended(start: Launch, data_dir: Path) -> None:
    """Nobody by their name; simulated raters as such; a drop-out at the step that they saw."""
    async with start(dialogues_per_group=4, disconnect_after_s=1, onboarding_qualification="pw-practice") as run:
        good = good_replies(run)
        snapshot = said(data_dir)
        assert (snapshot.task_run_id, snapshot.url, snapshot.ended) == (run.task_run_id, run.url, None)
        async with Rater(run, "leaves") as rater:
            await rater.practise(RIGHT, good)
            await rater.client.submit_onboarding()
            await rater.talk_until("choose", turn=2)
            await eventually(lambda: [(one.step, one.part) for one in said(data_dir).inside] == [("choose", 2)])
            (inside,) = said(data_dir).inside
            assert (inside.phase, inside.unit, inside.part, inside.parts) == ("task", "turn", 2, 2)
            assert (inside.simulated, inside.here) == (False, True)
            pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
            ((name,),) = rows(data_dir, "SELECT worker_name FROM workers")
            assert inside.worker == pseudonyms.worker(name)
        async with Rater(run, "fails") as rater:
            await rater.practise(["bad"] * 4, good)
            await rater.practise(["bad"] * 4, good)
            await rater.client.submit_onboarding()
        assert await refused(run, "fails") is not None
        await eventually(lambda: said(data_dir).door.left != [], timeout=25)
        behaviour = Behaviour(practice=run.study.practice)
        await run_raters(
            run.url, behaviour, announce=run.study.simulated.add, raters=2, dialogues=2, seed=1, name="sim"
        )
        await eventually(lambda: idle(run))
    last = said(data_dir)
    assert last.ended is not None
    assert last.closing
    assert (last.door.came, last.door.let_in, last.door.completed, last.door.failed) == (5, 4, 2, 0)
    assert (last.door.practice_passed, last.door.practice_failed) == (3, 1)
    assert [(left.phase, left.step, left.count) for left in last.door.left] == [("task", "choose", 1)]
    assert last.door.turned_away["practice_failed"] >= 1
    assert all(kind.replace("_", "").isalpha() for kind in last.door.turned_away), "no words that workers read"
    alpha = next(model for model in last.models if model.model == "alpha")
    assert alpha.replies >= 4
    assert alpha.median_s is not None
    assert alpha.p95_s is not None
    assert 0 < alpha.median_s <= alpha.p95_s
    assert (alpha.errors, alpha.outage_since) == (0, None)
    text = last.model_dump_json()
    assert "leaves" not in text
    assert "sim-" not in text


async def test_orders_come_while_everybody_is_busy(data_dir: Path) -> None:
    """Eight simulated raters at work, and an order every few hundredths of a second: all is complete in the end, and every
    order was answered."""
    async with launch_beside(data_dir, models=["alpha", "beta", "gamma"], dialogues_per_group=4) as run:
        behaviour = Behaviour()
        announce = run.study.simulated.add
        work = asyncio.create_task(
            run_raters(run.url, behaviour, announce=announce, raters=8, dialogues=20, seed=1, name="sim")
        )
        given: list[Order] = []
        for _ in range(6):
            given += [Pause(), More(number=1, models=["alpha", "beta"]), StopGroup(models=["beta", "gamma"]), Resume()]
            given += [RetireModel(model="gamma"), RestoreModel(model="gamma"), ResumeGroup(models=["gamma", "beta"])]
            for order in given[-7:]:
                give(data_dir, TASK, order)
                await asyncio.sleep(0.02)
        await eventually(lambda: len(said(data_dir).orders) == len(given))
        await work
        rounds = 0
        while run.study.remaining:
            rounds += 1
            assert rounds < 10
            await run_raters(run.url, behaviour, announce=announce, raters=4, dialogues=6, seed=2, name=f"more{rounds}")
        await eventually(run.is_done)
        assert so_far(run.study.progress()) == (18, 18)
        assert all(result.done for result in said(data_dir).orders)
        assert {record.status for record in records(run)} == {"complete"}


def command(*args: str) -> Result:
    """A command of another terminal, where nobody sits."""
    return CliRunner().invoke(main, list(args))


async def test_a_second_launch_changes_the_first_and_says_so(data_dir: Path) -> None:
    """More and fewer with --yes; the same settings, or what cannot be changed, are errors that change nothing."""
    data_dir.mkdir()
    own = [f"mephisto.task.task_name={TASK}", "mephisto.architect.port=0", "--data-dir", str(data_dir)]
    own += [f"mephisto.blueprint.{setting}" for setting in ("turns=2", "onboarding_qualification=null")]
    own += [f"mephisto.blueprint.zoo_files=[{zoo_file(data_dir, ['alpha', 'beta', 'gamma'])}]"]

    async def launch_again(models: str = "alpha,beta,gamma", dialogues: int = 1, *more: str) -> Result:
        asked = [f"mephisto.blueprint.models=[{models}]", f"mephisto.blueprint.dialogues_per_group={dialogues}"]
        return await asyncio.to_thread(command, "launch", "pw_turn", *asked, *own, *more)

    overrides = [setting for setting in own if "=" in setting]
    overrides += ["mephisto.blueprint.models=[alpha,beta,gamma]", "mephisto.blueprint.dialogues_per_group=1"]
    config = compose_config("pw_turn", "local", overrides)
    manager = launching.run_launch("pw_turn", config, data_dir)
    run = await asyncio.to_thread(manager.__enter__)
    try:
        async with Rater(run, "inside") as inside:
            await inside.talk_until("choose", turn=1)
            same = await launch_again()
            assert same.exit_code == 1
            assert run.url in same.output
            assert f"parlai-humaneval watch --task-name {TASK}" in same.output
            unasked = await launch_again("alpha,beta", 3)
            assert unasked.exit_code == 1
            assert "retire gamma" in unasked.output
            assert "add --yes to agree. Nothing was changed.\n" in unasked.output
            assert said(data_dir).orders == []
            other = await launch_again("alpha,beta,gamma", 3, "mephisto.blueprint.min_reason_words=2", "--yes")
            assert other.exit_code == 1
            assert "min_reason_words is 3 in the running launch" in other.output
            assert said(data_dir).orders == []
            changed = await launch_again("alpha,beta", 3, "--yes")
            assert changed.exit_code == 0, changed.output
            assert "gamma is retired" in changed.output
            assert "2 more for alpha vs beta (preference): 3 conversations are requested now." in changed.output
            wrong = await asyncio.to_thread(
                command, "steer", "retire", "delta", "--task-name", TASK, "--data-dir", str(data_dir)
            )
            assert (wrong.exit_code, len(said(data_dir).orders)) == (1, 2), "a slip of the pen is no order"
            await inside.finish()
        now = {group.label: (group.wanted, group.stopped) for group in run.study.progress()}
        assert now["alpha vs beta (preference)"] == (3, None)
        assert now["alpha vs gamma (preference)"][1] == "gamma retired by a second launch"
    finally:
        await asyncio.to_thread(manager.__exit__, None, None, None)


async def test_a_site_that_shows_open_units_is_told_of_a_pause(start: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on MTurk, whose workers take a HIT before they see our page: none is open in a pause but for those who practise,
    a stopped pair takes its own away, and all that are needed are there again afterwards."""
    monkeypatch.setattr(launcher.StudyLauncher, "_market", Market(lists_units=True))

    def is_open() -> int:
        return len(rows(run.data_dir, "SELECT unit_id FROM units WHERE status = 'launched'"))

    three = ["alpha", "beta", "gamma"]
    async with start(models=three, dialogues_per_group=2, onboarding_qualification="pw-practice") as run:
        good = good_replies(run)
        async with Rater(run, "inside") as inside, Rater(run, "practising") as practising:
            await inside.practise(RIGHT, good)
            await inside.client.submit_onboarding()
            await practising.practise(RIGHT[:2], good)
            assert is_open() == 5
            await ordered(run, Pause())
            assert is_open() == 1
            await practising.practise(RIGHT[2:], good)
            assert (await practising.client.submit_onboarding())["failure_reason"] is None
            await practising.talk_until("feedback")
            await ordered(run, Resume())
            assert is_open() == 4, "who is at the comment box has done the work"
            await practising.finish()
            await ordered(run, RetireModel(model="gamma"))
            assert is_open() == run.study.remaining - 1, "the rater inside has one"
            await inside.finish()
        await eventually(lambda: is_open() == run.study.remaining)
        for number in range(run.study.remaining):
            async with Rater(run, f"w{number}") as rater:
                await rater.practise(RIGHT, good)
                await rater.client.submit_onboarding()
                await rater.finish()
        await eventually(run.is_done)
