"""Replies on a rater's page: all look the same, offensive ones never come, and none is faster than another."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import scripted_models
from click.testing import CliRunner
from hands import Hands, always, by_model, cards, heard_by
from live import Launch, Rater, eventually, records, threads_of_launches

from mephisto_tasks.cli.launch import launch
from mephisto_tasks.session.study import STOPPED, UnitWords, filled
from parlai_humaneval.schema.steps import EndStep

FOUR = ["alpha", "beta", "gamma", "delta"]
LATE = 30
"""Seconds that no test waits for."""


@pytest.fixture
def words_file(tmp_path: Path) -> str:
    file = tmp_path / "words.txt"
    file.write_text("pineapple\n", encoding="utf-8")
    return str(file)


def threads_of_dialogues() -> list[str]:
    return [name for name in threads_of_launches() if name.startswith(("Unit-thread", "models-of"))]


async def test_markdown_emoji_and_talk_of_programs_do_not_reach_the_page(start: Launch) -> None:
    """What the page gets is what the models hear next, and the record holds what the model itself said."""
    said = {"alpha": "**As an AI**, I like 😀 lists:\n\n- one\n- two", "beta": "I like <b>cats</b>, says ChatGPT."}
    always(said)
    async with start(turns=2, replies={"appearance": "plain", "emoji": "strip"}) as run:
        async with Rater(run) as rater:
            shown = {"alpha": "I like lists:\none\ntwo", "beta": "I like cats, says [name]."}
            assert sorted(cards(await rater.state())) == sorted(shown.values())
            state = await rater.choose(0)
            went_on = state.transcript[-1].text
            await rater.write("And then?")
            assert heard_by("beta", 3)[1] == ("bot", went_on)
            await rater.finish()
        await eventually(run.is_done)
        (record,) = records(run)
    assert {model: one.raw_text for model, one in by_model(record.turns[0]).items()} == said
    assert {model: one.text for model, one in by_model(record.turns[0]).items()} == shown
    assert by_model(record.turns[0])["alpha"].changes == ["markdown", "emoji"]
    assert record.settings["replies"]["appearance"] == "plain"


async def test_where_nothing_is_set_a_reply_stays_as_said(start: Launch) -> None:
    """Guards the papers' protocols; only characters that nobody sees, and could turn the page around, are gone."""
    always({"alpha": "**Hi** 😀\n\n- I", "beta": "\u202eHello\u202c"})
    async with start(turns=1) as run, Rater(run) as rater:
        assert sorted(cards(await rater.state())) == ["**Hi** 😀\n\n- I", "Hello"]


async def test_in_a_study_of_humanness_talk_of_programs_stays(start: Launch) -> None:
    """There it is what raters judge by; names are hidden all the same."""
    always({"alpha": "I'm an AI.", "beta": "I'm ChatGPT."})
    async with start(turns=1, metric="humanness") as run, Rater(run) as rater:
        assert sorted(cards(await rater.state())) == ["I'm [name].", "I'm an AI."]


async def test_an_offensive_reply_is_masked_and_recorded(start: Launch, words_file: str) -> None:
    """Raters see the mark; the record has the word and its place."""
    always({"alpha": "I like pineapple.", "beta": "I like tea."})
    async with start(turns=1, replies={"filter": "mask", "filter_words_file": words_file}) as run:
        async with Rater(run) as rater:
            assert sorted(cards(await rater.state())) == ["I like […].", "I like tea."]
            await rater.finish()
        await eventually(run.is_done)
        (mask,) = by_model(records(run)[0].turns[0])["alpha"].masks
    assert (mask.kind, mask.original) == ("offensive", "pineapple")


async def test_a_blocked_reply_is_never_on_the_page(start: Launch, words_file: str) -> None:
    """Of four models one is refused: three cards, the refusal on record, and the word in nothing that was sent."""
    always({"gamma": "Pineapple for you."})
    replies = {"filter": "block", "filter_words_file": words_file}
    async with start(task="sata", models=FOUR, group_size=4, turns=1, model_retries=1, replies=replies) as run:
        async with Hands(run) as rater:
            state = await rater.say()
            assert len(cards(state)) == 3
            assert "pineapple" not in state.model_dump_json().lower()
            await rater.pick(0)
            await rater.do("end")
            await rater.hand_in()
        await eventually(run.is_done)
        (record,) = records(run)
    refused = by_model(record.turns[0])["gamma"]
    assert (refused.failed, refused.text, refused.raw_text) == (True, "", "Pineapple for you.")
    assert refused.blocked == "offensive: Pineapple"
    assert record.status == "complete"


async def test_with_too_few_fit_replies_the_rater_is_told_about_pay(start: Launch, words_file: str) -> None:
    """Of two models one is refused to the end: the dialogue stops politely, is kept as failed, and is given out again."""
    always({"beta": "Pineapple for you."})
    replies = {"filter": "block", "filter_words_file": words_file}
    async with start(model_retries=0, replies=replies) as run:
        async with Rater(run) as rater:
            state = await rater.state()
            assert isinstance(state.step, EndStep)
            assert (state.step.title, state.step.text) == (STOPPED[0], filled(STOPPED[1], UnitWords()))
            await rater.client.submit_task()
        await eventually(lambda: not run.live_run.task_runner.running_units)
        (record,) = records(run)
    assert record.status == "failed"
    assert "may be shown" in (record.failure or "")


async def test_replies_come_not_before_their_time(start: Launch) -> None:
    """A second for all, counted from the message; it is no part of the rater's own time."""
    async with start(turns=2, replies={"typing": "fixed", "typing_seconds": 1}) as run:
        async with Rater(run) as rater:
            await rater.finish()
        await eventually(run.is_done)
        (record,) = records(run)
    for turn in record.turns:
        assert turn.shown_at is not None
        assert turn.answered_at is not None
        assert turn.seconds is not None
        assert turn.shown_at - turn.human_at >= 0.99
        assert turn.seconds <= turn.answered_at - turn.shown_at + 0.01


async def test_a_wait_ends_with_the_launch(start: Launch) -> None:
    """Nobody waits for a partner who only pretends to type."""
    async with start(replies={"typing": "fixed", "typing_seconds": LATE}) as run:
        async with Rater(run) as rater:
            await rater.client.next_state()
            await eventually(lambda: len(scripted_models.HEARD) == 2)
        del run
    await eventually(lambda: not threads_of_dialogues(), timeout=LATE / 2)


async def test_a_wait_ends_when_the_rater_has_left(start: Launch) -> None:
    """No thread waits for somebody who has gone."""
    async with start(disconnect_after_s=1, replies={"typing": "fixed", "typing_seconds": LATE}) as run:
        async with Rater(run) as rater:
            await rater.client.next_state()
            await eventually(lambda: len(scripted_models.HEARD) == 2)
        await asyncio.sleep(0.1)
        await eventually(lambda: not run.live_run.task_runner.running_units, timeout=LATE / 2)
        (record,) = records(run)
    assert record.turns[0].candidates == []


@pytest.mark.parametrize(
    ("task", "setting", "said"),
    [
        (
            "pw_turn",
            "replies.appearance=bold",
            "replies.appearance: cannot be 'bold' in: launch try: choose one of: auto, as_said, plain, markdown",
        ),
        ("pw_turn", "replies.apearance=plain", "Did you mean replies.appearance"),
        ("pw_turn", "replies.filter_classifier=a:b", "do nothing with filter=none"),
        (
            "pw_turn",
            "replies.disclosure_threshold=nan",
            "replies.disclosure_threshold: must be a finite number",
        ),
        ("pw_dialog", "replies.typing=natural", "pw_dialog has no setting 'replies.typing'"),
        ("pw_dialog", "replies.filter=block dialogues=[x]", "use replies.filter=mask"),
    ],
)
def test_wrong_settings_of_replies(tmp_path: Path, task: str, setting: str, said: str) -> None:
    """Guards the launch: a setting that cannot be is named before anything is deployed."""
    overrides = [f"mephisto.blueprint.{one}" for one in setting.split()]
    done = CliRunner().invoke(launch, [task, *overrides, "port=0", "--data-dir", str(tmp_path / "data")])
    assert done.exit_code in (1, 2)
    assert said in " ".join(done.output.split())
    assert "Traceback" not in done.output


def test_a_words_file_that_is_not_there(tmp_path: Path) -> None:
    """Guards the launch: the file is read before anything is deployed."""
    settings = ["replies.filter=mask", f"replies.filter_words_file={tmp_path}/absent.txt"]
    overrides = [f"mephisto.blueprint.{setting}" for setting in settings]
    done = CliRunner().invoke(launch, ["pw_turn", *overrides, "port=0", "--data-dir", str(tmp_path / "data")])
    assert done.exit_code in (1, 2)
    assert f"{tmp_path}/absent.txt" in done.output.replace("\n", " ")
