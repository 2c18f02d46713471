"""A person among the models: partners and raters at their pages, over real HTTP and websockets, in real runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from live import Launch, Rater, eventually, records
from partner_hands import Partner, choose_reply, say, settings

from mephisto_tasks.chat import wizard as room
from mephisto_tasks.chat import wizard as words
from parlai_humaneval.schema.steps import ChooseStep, EndStep, MessageStep, PageState, WaitStep

PERSONA = ["i live on a lighthouse .", "my cat is called Ahab ."]


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "TICK_S", 0.05)
    monkeypatch.setattr(room, "AWAY_S", 0.6)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def said(state: PageState) -> list[tuple[str, str]]:
    return [(entry.speaker, entry.text) for entry in state.transcript]


async def test_a_person_writes_one_of_the_two_replies(start: Launch, data_dir: Path) -> None:
    """The partner sees the dialogue from the bot's side; what they write is a card as any other, and is recorded."""
    async with start(**settings(data_dir)) as run, Partner(run) as partner:
        assert isinstance((await partner.until("wait")).step, WaitStep)
        async with Rater(run, "w1") as rater:
            state = await partner.asked()
            assert said(state) == [("partner", "Hi!")]
            await partner.reply("Hello from a person")
            await choose_reply(rater, "Hello from a person")
            await say(rater, "How are you?")
            assert said(await partner.asked("How are you?"))[1:] == [
                ("you", "Hello from a person"),
                ("partner", "How are you?"),
            ]
            await partner.reply("  Fine, and you? ")
            await choose_reply(rater, "alpha at turn 2")
            await rater.finish()
        await eventually(run.is_done)
        (record,) = records(run)
    assert record.status == "complete"
    written = [c for turn in record.turns for c in turn.candidates if c.model == "person"]
    assert [c.text for c in written] == ["Hello from a person", "Fine, and you?"]
    assert all(c.info is None and c.latency_s > 0 for c in written)
    assert record.turns[0].selected == [written[0].candidate_id]


async def test_lines_of_other_models_are_marked_and_the_persona_is_shown(start: Launch, data_dir: Path) -> None:
    """The rater chose the other reply: it stands on the partner's side, marked; the model's persona is theirs."""
    contexts = _made(data_dir) / "contexts.jsonl"
    contexts.write_text(json.dumps({"context_id": "c1", "bot_persona": PERSONA}) + "\n")
    chosen = settings(data_dir, bot_persona=True, context_file=str(contexts))
    async with start(**chosen) as run, Partner(run) as partner, Rater(run, "w1") as rater:
        state = await partner.asked()
        assert state.context is not None
        assert (state.context.title, state.context.lines) == (words.CHARACTER, PERSONA)
        await partner.reply("mine")
        await choose_reply(rater, "alpha at turn 1")
        await say(rater, "go on")
        state = await partner.asked("go on")
        assert [entry.note for entry in state.transcript] == [None, words.NOT_YOURS, None]


async def test_bad_replies_are_refused_as_a_raters_are(start: Launch, data_dir: Path) -> None:
    """Blank, too long and offensive ones come back with a sentence, and nothing reaches the rater."""
    async with start(**settings(data_dir)) as run, Partner(run) as partner, Rater(run, "w1") as rater:
        asked = await partner.asked()
        for text, sentence in [
            ("  ", "write a message first"),
            ("x" * 2001, "2000"),
            ("You fucking idiot", "another way"),
        ]:
            state = await partner.reply(text)
            assert state.notice is not None
            assert state.notice.level == "error"
            assert sentence in state.notice.text
            assert state.step == asked.step
        assert isinstance(rater.newest.step, WaitStep)
        assert (await partner.reply("Sorry. Hello!")).notice is None
        await choose_reply(rater, "Sorry. Hello!")


async def test_who_wrote_what_may_not_be_shown_is_asked_for_other_words(start: Launch, data_dir: Path) -> None:
    """The study's filter blocks the reply: the same message comes back as another request, and the partner is told why."""
    listed = _made(data_dir) / "words.txt"
    listed.write_text("gadzooks\n")
    chosen = settings(data_dir, turns=1, replies={"filter": "block", "filter_words_file": str(listed)})
    async with start(**chosen) as run, Partner(run) as partner, Rater(run, "w1") as rater:
        first = (await partner.reply("Gadzooks, what a day!")).step
        await eventually(lambda: partner.newest.notice is not None)
        assert partner.newest.notice is not None
        assert partner.newest.notice.text == words.NOT_SHOWN
        assert partner.newest.step != first
        await partner.reply("What a day!")
        await choose_reply(rater, "What a day!")


async def test_a_reload_and_a_repeated_answer_change_nothing(start: Launch, data_dir: Path) -> None:
    """The same step is there again, so the page finds its draft; an answer that is sent twice counts once."""
    async with start(**settings(data_dir)) as run, Rater(run, "w1") as rater:
        async with Partner(run) as partner:
            before = await partner.asked()
        async with Partner(run) as again:
            after = await again.asked()
            assert (after.step, after.transcript) == (before.step, before.transcript)
            assert isinstance(after.step, MessageStep)
            answer = {"kind": "message", "step_id": after.step.step_id, "text": "once", "update_id": "u1"}
            await again.client.answer(answer)
            await again.client.answer(answer)
            await choose_reply(rater, "once")
            await say(rater, "next")
            assert said(await again.asked("next"))[-1] == ("partner", "next")


async def test_two_partners_share_the_queue_and_keep_their_conversations(start: Launch, data_dir: Path) -> None:
    """Two raters: each partner gets one, and gets it again in the next turn, whoever is free."""
    chosen = settings(data_dir, dialogues_per_group=2)
    async with start(**chosen) as run, Partner(run, "p1") as one, Partner(run, "p2") as two:
        await eventually(lambda: one.client.status is not None and two.client.status is not None)
        async with Rater(run, "w1") as first, Rater(run, "w2") as second:
            await one.asked()
            await two.asked()
            await one.reply("from one")
            await two.reply("from two")
            for rater in (first, second):
                step = (await rater.state()).step
                assert isinstance(step, ChooseStep)
                (mine,) = [card.text for card in step.cards if card.text.startswith("from")]
                await choose_reply(rater, mine)
                await say(rater, f"to {mine}")
            assert said(await one.asked("to"))[-1] == ("partner", "to from one")
            assert said(await two.asked("to"))[-1] == ("partner", "to from two")


async def test_one_partner_serves_two_raters_in_turn(start: Launch, data_dir: Path) -> None:
    """One message at a time; how many wait is said; the next conversation is announced as another one."""
    chosen = settings(data_dir, dialogues_per_group=2)
    async with start(**chosen) as run, Rater(run, "w1"), Rater(run, "w2"):
        await eventually(lambda: run.room is not None and run.room._desk.waiting() == 2)
        async with Partner(run) as partner:
            state = await partner.asked()
            assert isinstance(state.step, MessageStep)
            assert "(1 more message has been waiting for less than a minute)" in state.step.label
            assert state.progress is not None
            assert state.progress.current == 1
            await partner.reply("to the first")
            await eventually(lambda: partner.newest.progress is not None and partner.newest.progress.current == 2)
            assert partner.newest.notice is not None
            assert partner.newest.notice.text == words.ANOTHER


async def test_a_partner_who_leaves_in_mid_reply_is_replaced(start: Launch, data_dir: Path) -> None:
    """The message goes to the other partner a moment after the page has gone."""
    async with start(**settings(data_dir)) as run, Rater(run, "w1") as rater, Partner(run, "p1") as one:
        await one.asked()
        async with Partner(run, "p2") as two:
            await two.until("wait")
            await one.client._hang_up()
            await two.reply("I took over")
            await choose_reply(rater, "I took over")


async def test_a_rater_who_leaves_in_mid_wait_frees_the_partner(start: Launch, data_dir: Path) -> None:
    """The message disappears from the partner's page with a word; a reply sent after that harms nobody."""
    chosen = settings(data_dir, disconnect_after_s=0.8)
    async with start(**chosen) as run, Partner(run) as partner:
        async with Rater(run, "w1"):
            step = (await partner.asked()).step
            assert isinstance(step, MessageStep)
        state = await partner.until("wait")
        assert state.notice is not None
        assert state.notice.text == words.NO_LONGER
        late = await partner.client.answer({"kind": "message", "step_id": step.step_id, "text": "too late"})
        assert isinstance(late.step, WaitStep)
        assert run.room is not None
        assert run.room._desk.waiting() == 0


async def test_a_message_that_nobody_answers_is_a_delay_and_then_somebody_elses(start: Launch, data_dir: Path) -> None:
    """After the time-out the rater is told of a delay, and the message goes to a partner who is free."""
    chosen = settings(data_dir, timeout_s=1.0, retries=20)
    async with start(**chosen) as run, Partner(run, "p1") as sleepy, Rater(run, "w1") as rater:
        await sleepy.asked()
        async with Partner(run, "p2") as awake:
            await awake.reply("I am awake")
            state = await sleepy.until("wait")
            assert state.notice is not None
            assert state.notice.text == words.NO_LONGER
            await choose_reply(rater, "I am awake")
    (record,) = records(run)
    log = next(run.data_dir.glob("data/runs/NO_PROJECT/*/*/*/state.json")).read_text()
    assert '"event": "delayed"' in log
    assert record.turns[0].candidates


async def test_nobody_at_the_desk_is_told_once_and_ends_the_dialogue_fairly(start: Launch, data_dir: Path) -> None:
    """The launch has a warning with the link; after all tries the rater is told and paid, as with any broken model."""
    chosen = settings(data_dir, timeout_s=0.4, patience_s=0.6, retries=1)
    async with start(**chosen) as run:
        assert run.warning() is None
        async with Rater(run, "w1") as rater:
            warnings: list[str] = []

            def warned() -> bool:
                warnings.extend(filter(None, [run.warning()]))
                return bool(warnings)

            await eventually(warned)
            assert run.partner_url is not None
            assert run.partner_url in warnings[0]
            assert run.warning() is None
            state = await rater.state()
            assert isinstance(state.step, EndStep)
            await rater.client.submit_task()
        (record,) = records(run)
    assert record.status == "failed"
    assert record.failure is not None
    assert "person" in record.failure
