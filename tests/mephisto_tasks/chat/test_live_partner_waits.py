"""Partners who are not there and raters who have gone, in real runs; and what raters of such studies are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from live import Launch, Rater, eventually, records
from partner_hands import Partner, choose_reply, say, settings

from mephisto_tasks.chat import turn as waiting
from mephisto_tasks.chat import wizard as room
from mephisto_tasks.chat import wizard as words
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.session.study import STOPPED, conversations, filled
from parlai_humaneval.models.backends.human import NobodyThere
from parlai_humaneval.schema.steps import ChooseStep, EndStep, MessageStep, WaitStep


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "TICK_S", 0.05)
    monkeypatch.setattr(room, "AWAY_S", 0.3)


def wait_words(rater: Rater) -> str:
    """What the page of somebody who waits says; empty at other times."""
    step = rater.client.state.step if rater.client.state is not None else None
    return step.text if isinstance(step, WaitStep) else ""


def watched(run: RunningStudy) -> list[str]:
    """The words of every wait that is sent to a rater from now on."""
    shown: list[str] = []
    send = run.live_run.client_io.send_live_update

    def spy(agent_id: str, update: dict[str, Any]) -> None:
        step = update["state"]["step"]
        if step["kind"] == "wait":
            shown.append(step["text"])
        send(agent_id, update)

    run.live_run.client_io.send_live_update = spy
    return shown


async def test_nobody_is_said_to_be_typing_who_is_not_there(start: Launch, data_dir: Path) -> None:
    """The words change when the partner comes, and when they go again; never a word of typing before."""
    async with start(**settings(data_dir)) as run:
        shown = watched(run)
        async with Rater(run, "w1") as rater:
            await eventually(lambda: wait_words(rater) == waiting.PARTNER_AWAY)
            assert set(shown) == {waiting.PARTNER_AWAY}
            step = rater.newest.step
            assert isinstance(step, WaitStep)
            assert (step.idle, step.slow) == (True, False)
            async with Partner(run) as partner:
                await partner.asked()
                await eventually(lambda: wait_words(rater) == waiting.PARTNER_TYPING)
            await eventually(lambda: wait_words(rater) == waiting.PARTNER_AWAY)
            async with Partner(run, "p2") as partner:
                await partner.reply("hello")
                await choose_reply(rater, "hello")
                await say(rater, "and you?")
                await partner.asked("and you?")
                assert wait_words(rater) == waiting.PARTNER_TYPING
    (state,) = run.data_dir.glob("data/runs/NO_PROJECT/*/*/*/state.json")
    assert '"event": "delayed"' not in state.read_text()


async def test_without_a_partner_the_rater_is_soon_told_of_pay(start: Launch, data_dir: Path) -> None:
    """After ``unattended_s`` of the zoo entry, however long its time-out and however many its tries."""
    chosen = settings(data_dir, timeout_s=600, patience_s=600, retries=50, unattended_s=0.8)
    async with start(**chosen) as run:
        async with Rater(run, "w1") as rater:
            await eventually(lambda: wait_words(rater) == waiting.PARTNER_AWAY)
            state = await rater.state()
            assert isinstance(state.step, EndStep)
            assert (state.step.title, state.step.text) == (STOPPED[0], filled(STOPPED[1], conversations(1)))
            await rater.client.submit_task()
        (record,) = records(run)
    assert record.status == "failed"
    assert str(NobodyThere(0.8)) in str(record.failure)


async def test_raters_who_are_there_come_before_one_whose_page_is_gone(start: Launch, data_dir: Path) -> None:
    """The first to write has lost the connection: the partner gets the second one's message first, and theirs after it."""
    chosen = settings(data_dir, dialogues_per_group=2, disconnect_after_s=60)
    async with start(**chosen) as run:
        desk = run.room._desk if run.room is not None else None
        assert desk is not None
        first = Rater(run, "w1")
        async with first:
            await eventually(lambda: desk.waiting() == 1)
            (gone,) = (errand.conversation for errand in desk._errands.values())
        await eventually(lambda: desk._held == {gone})
        async with Rater(run, "w2") as second:
            await eventually(lambda: desk.waiting() == 2)
            async with Partner(run) as partner:
                await partner.reply("to who is there")
                await choose_reply(second, "to who is there")
                await eventually(lambda: isinstance(partner.newest.step, MessageStep))
                assert partner.newest.notice is not None
                assert partner.newest.notice.text == words.ANOTHER
                async with Rater(run, "w1") as back:
                    await eventually(lambda: not desk._held)
                    await partner.reply("to who came back")
                    assert isinstance((await back.state()).step, ChooseStep)


async def test_every_rater_is_told_that_a_person_may_write(start: Launch, data_dir: Path) -> None:
    """On the page, before consent, and where the crowd's site announces the task; a wording of one's own stays."""
    async with start(**settings(data_dir)) as run, aiohttp.ClientSession() as session:
        page = await (await session.get(f"{run.url}/task_config.json")).text()
        assert "from a computer program or from a person" in page
        assert "chatbot" not in page
        assert "chatbot" not in run.live_run.task_run.args.task.task_description
    own = data_dir / "own.yaml"
    shown = run.study.instructions.model_dump(mode="json") | {"tagline": "Our own words."}
    own.write_text(json.dumps(shown))
    async with start(**settings(data_dir, task_name="another", instructions_file=str(own))) as run:
        assert run.study.instructions.tagline == "Our own words."


async def test_among_models_only_the_words_are_those_of_before(start: Launch) -> None:
    """No person is spoken of where there is none."""
    async with start() as run, aiohttp.ClientSession() as session:
        page = await (await session.get(f"{run.url}/task_config.json")).text()
        assert "chatbot" in page
        assert "from a person" not in page


def test_how_long_messages_have_waited() -> None:
    """In minutes, for one and for several."""
    assert words.label(1) == "Write your reply"
    assert words.label(0, 1, 59) == "Write the first message (1 more message has been waiting for less than a minute)"
    assert words.label(1, 2, 61) == "Write your reply (2 more messages are waiting, the oldest for 1 minute)"
    assert words.label(1, 3, 200) == "Write your reply (3 more messages are waiting, the oldest for 3 minutes)"
