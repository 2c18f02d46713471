"""Raters who come from a panel by link: who they are, what they come back to, and where they are sent in the end."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import stat
from contextlib import AsyncExitStack, closing
from pathlib import Path

import aiohttp
import pytest
from click.testing import CliRunner
from live import Launch, eventually, good_replies, records, rows
from panel_hands import COMPLETE, LINK, Participant, address, local_url

from mephisto_tasks.admission import admission as explain
from mephisto_tasks.admission.admission import DONE_ALL
from mephisto_tasks.admission.visits import RETURN_THE_TASK
from mephisto_tasks.crowds.link import crowd as reception
from mephisto_tasks.crowds.link.datastore import sessions
from mephisto_tasks.launch.launch import RunningStudy
from parlai_humaneval.cli import main
from parlai_humaneval.schema.steps import EndStep, PageState


def statuses(run: RunningStudy) -> list[tuple[str, str, str]]:
    return [(visit.participant, visit.session, visit.status) for visit in sessions(run.data_dir, run.task_name)]


def texts_of(state: PageState) -> str:
    return state.model_dump_json()


async def test_a_participant_comes_works_and_is_sent_back_with_the_code(start: Launch) -> None:
    async with start(overrides=LINK) as run:
        async with aiohttp.ClientSession() as http, http.get(f"{local_url(run)}/task_config.json") as answer:
            public = await answer.text()
        assert json.loads(public)["panel"] == {"title": "Prolific", "may_decline": True}
        assert not re.search("C1DONE|S2OUT|N3NO|T4LATE", public)
        async with Participant(run, "ann") as ann:
            told = json.dumps(ann.client.details)
            state = await ann.talk_until("feedback")
            assert "C1DONE" not in told + texts_of(state)  # not before the work is done
            await ann.finish()
            assert ann.redirect == COMPLETE + "C1DONE"
        await eventually(lambda: rows(run.data_dir, "SELECT status FROM agents") == [("completed",)])
        assert statuses(run) == [("ann", "session-of-ann", "complete")]
        workers = rows(run.data_dir, "SELECT worker_name, provider_type FROM workers")
        assert workers == [("prolific:ann", "link")]  # no suffix of a sandbox
        async with Participant(run, "ann") as again:  # loaded again after the end
            assert again.client.refused == reception.DONE_ALREADY[1]
            assert again.redirect == COMPLETE + "C1DONE"
        assert run.panel_link == (
            "https://study.example.org/?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
        )
        assert [record.status for record in records(run)] == ["complete"]
        stored = "".join(path.read_text() for path in run.data_dir.rglob("state.json"))
        assert "C1DONE" not in stored


async def test_looking_stores_nothing_and_who_does_not_consent_is_sent_back(start: Launch) -> None:
    async with start(overrides=LINK) as run:
        client = Participant(run, "bob").client
        async with client:
            looked = await client.register("look")
            assert (looked["preview"], looked["agent_id"], looked["failure_reason"]) == (True, None, None)
            declined = await client.register("decline")
            assert declined["failure_reason"] == reception.DECLINED[1]
            assert declined["redirect"] == {"site": "Prolific", "url": COMPLETE + "N3NO", "code": None}
        assert statuses(run) == []
        assert rows(run.data_dir, "SELECT * FROM workers") == []


async def test_who_comes_back_goes_on_after_a_reload_and_with_another_session(start: Launch) -> None:
    async with start(overrides=LINK) as run:
        async with Participant(run, "ann", "s1") as ann:
            await ann.begin_work()
            first = ann.client.agent_id
            async with Participant(run, "ann", "s1") as reloaded:
                assert reloaded.client.agent_id == first
                assert "hello to both" in texts_of(await reloaded.state())
        client = Participant(run, "ann", "s2").client
        async with client:
            assert (await client.register("look"))["agent_id"] == first  # no preview for who is at work
        assert statuses(run) == [("ann", "s1", "moved"), ("ann", "s2", "here")]
        async with Participant(run, "ann", "s2") as ann:
            await ann.finish()
            assert ann.redirect == COMPLETE + "C1DONE"
        assert statuses(run) == [("ann", "s1", "moved"), ("ann", "s2", "complete")]
        assert len(rows(run.data_dir, "SELECT agent_id FROM agents")) == 1


async def test_two_pages_of_one_person_at_once_are_one_unit(start: Launch) -> None:
    async with start(overrides=LINK) as run, Participant(run, "ann") as older:
        await older.state()
        async with Participant(run, "ann") as newer:
            await newer.state()
            assert "opened in another window" in await older.client.next_error()
            assert newer.client.agent_id == older.client.agent_id


async def test_a_session_belongs_to_one_person(start: Launch) -> None:
    async with start(overrides=LINK) as run, Participant(run, "ann", "s1") as ann:
        await ann.state()
        async with Participant(run, "eve", "s1") as eve:
            assert eve.client.refused == reception.PHRASES["other_person"]
        assert rows(run.data_dir, "SELECT worker_name FROM workers") == [("prolific:ann",)]


async def test_a_bad_link_leaves_nothing_behind(start: Launch) -> None:
    bad: list[tuple[list[tuple[str, str]], str]] = [
        ([], "does not identify you"),
        (address("{{%PROLIFIC_PID%}}"), "placeholder"),
        (address("a" * 1900), "not an ID from Prolific"),
        ([*address("ann"), ("PROLIFIC_PID", "bob")], "two different people"),
        ([("PROLIFIC_PID", "ann")], "does not contain your ID"),
    ]
    async with start(overrides=LINK) as run, aiohttp.ClientSession() as http:
        for parameters, says in bad:
            # The page's own word for who it is counts for nothing.
            data = {"worker_name": "prolific:boss", "agent_registration_id": "x", "parameters": parameters}
            async with http.post(f"{local_url(run)}/request_agent", json={"provider_data": data}) as answer:
                details = (await answer.json())["data"]
            assert says in details["failure_reason"]
            assert details["agent_id"] is None
        assert rows(run.data_dir, "SELECT * FROM workers") == []
        assert statuses(run) == []


async def test_a_failed_practice_is_screened_out(start: Launch) -> None:
    practice = {"onboarding_qualification": "link-practice", "onboarding_tries": 1}
    async with start(overrides=LINK, **practice) as run, Participant(run, "ann") as ann:
        items = len(run.study.practice.items) if run.study.practice else 0
        state = await ann.practise(["bad"] * items, good_replies(run))
        assert isinstance(state.step, EndStep)
        assert "S2OUT" not in texts_of(state)
        await ann.client.submit_onboarding()
        # To return the task would be to give up what the panel pays for the practice.
        assert ann.client.refused == explain.PHRASES["practice_failed"].replace(RETURN_THE_TASK, "go back to Prolific")
        assert ann.redirect == COMPLETE + "S2OUT"
        assert statuses(run) == [("ann", "session-of-ann", "screened_out")]


async def test_who_was_away_for_too_long_is_sent_back_with_the_code_for_that(start: Launch) -> None:
    async with start(overrides=LINK) as run:
        usual = run.study.config
        run.study.config = usual.model_copy(update={"answer_timeout_s": 1})  # no setting may be so short
        async with Participant(run, "ann") as ann:
            await ann.state()
            await eventually(lambda: isinstance(ann.newest.step, EndStep))
            assert ann.redirect == COMPLETE + "T4LATE"
            assert RETURN_THE_TASK not in texts_of(ann.newest)
        await eventually(lambda: statuses(run) == [("ann", "session-of-ann", "timed_out")])
        run.study.config = usual
        async with Participant(run, "bob") as bob:
            await bob.finish()
        async with Participant(
            run, "ann"
        ).client as page:  # nothing is left for them: they need not read the task again
            assert (await page.register("look"))["redirect"]["url"] == COMPLETE + "T4LATE"
        async with Participant(run, "ann") as ann:  # nor do they meet the end of their first visit, without its way out
            assert (ann.client.agent_id, ann.redirect) == (None, COMPLETE + "S2OUT")
    # Who comes back in time for another launch begins anew, in the same session.
    async with start(overrides=LINK, dialogues_per_group=2) as run, Participant(run, "ann") as ann:
        await ann.finish()
        assert statuses(run)[0] == ("ann", "session-of-ann", "complete")


async def test_who_is_at_work_when_the_launch_ends_is_paid_as_for_all_of_it(start: Launch) -> None:
    async with AsyncExitStack() as stack:
        async with start(overrides=LINK) as run:
            ann = await stack.enter_async_context(Participant(run, "ann"))
            await ann.begin_work()
        await eventually(lambda: isinstance(ann.newest.step, EndStep))
        assert ann.redirect == COMPLETE + "C1DONE"


async def test_limits_of_a_person_hold_over_sessions_and_studies_of_the_panel(start: Launch) -> None:
    async with start(overrides=LINK, dialogues_per_group=5, dialogues_per_worker=1) as run:
        async with Participant(run, "ann", "s1") as ann:
            await ann.finish()
        async with Participant(run, "ann", parameters=address("ann", "s2", "another-study")) as again:
            assert again.client.refused == DONE_ALL.replace(RETURN_THE_TASK, "go back to Prolific")
            assert again.redirect == COMPLETE + "S2OUT"
        async with Participant(run, "ann", "s3").client as page:  # before they have read what the task is
            assert (await page.register("look"))["redirect"]["url"] == COMPLETE + "S2OUT"


async def test_a_task_given_back_on_the_page_is_free_for_somebody_else(start: Launch) -> None:
    async with start(overrides=LINK) as run:
        async with Participant(run, "ann") as ann:
            await ann.begin_work()
            other = Participant(run, "bob")
            async with other:
                assert other.client.refused  # there is one dialogue only
            details = await ann.client.register("give_back")
            assert details["failure_reason"] == reception.RETURNED_NOW[1]
        await eventually(lambda: rows(run.data_dir, "SELECT status FROM units") == [("launched",)])
        assert statuses(run)[0] == ("ann", "session-of-ann", "returned")
        async with Participant(run, "ann") as ann:
            assert ann.client.refused == reception.RETURNED_ALREADY[1]
        async with Participant(run, "bob") as bob:
            await bob.finish()
        order = "SELECT status FROM agents ORDER BY agent_id"
        await eventually(lambda: rows(run.data_dir, order) == [("returned",), ("completed",)])


EXPORT = """\ufeffSubmission id,Participant id,Status,Started at
session-of-ann,ann,RETURNED,2026-01-01
session-of-bob,bob,TIMED-OUT,2026-01-01
session-of-cid,cid,APPROVED,2026-01-01
nobody,=1+1,RETURNED,2026-01-01
"""


async def test_submissions_over_at_the_panel_free_their_units_in_a_running_launch(
    start: Launch, tmp_path: Path
) -> None:
    export = tmp_path / "prolific_export.csv"
    export.write_text(EXPORT, encoding="utf-8")
    async with start(overrides=LINK, dialogues_per_group=2) as run, Participant(run, "ann") as ann:
        async with Participant(run, "bob") as bob:
            await bob.finish()
        await ann.begin_work()
        command = ["returned", "--task-name", run.task_name, "--data-dir", str(run.data_dir), "--file", str(export)]
        told = await asyncio.to_thread(CliRunner().invoke, main, [*command, "--json"])
        assert json.loads(told.output) == {
            "freed": ["session-of-ann"],
            "done": ["session-of-bob"],
            "unknown": ["nobody"],
        }
        again = await asyncio.to_thread(CliRunner().invoke, main, command)
        assert "0 places reopened." in again.output
        await eventually(lambda: ("launched",) in rows(run.data_dir, "SELECT status FROM units"))
        await eventually(lambda: isinstance(ann.newest.step, EndStep))
        assert "returned" in ann.newest.step.title


async def test_a_session_goes_on_in_the_next_launch_and_one_that_is_done_stays_done(start: Launch) -> None:
    two = {"overrides": LINK, "dialogues_per_group": 2}
    async with start(**two) as run, Participant(run, "ann") as ann:
        await ann.begin_work()
        async with Participant(run, "bob") as bob:
            await bob.finish()
    async with start(**two) as run:
        async with Participant(run, "bob") as bob:
            assert (bob.client.refused, bob.redirect) == (reception.DONE_ALREADY[1], COMPLETE + "C1DONE")
        async with Participant(run, "ann") as ann:
            await ann.finish()
        assert statuses(run) == [("ann", "session-of-ann", "complete"), ("bob", "session-of-bob", "complete")]


async def test_ids_of_people_are_readable_for_their_owner_only(start: Launch) -> None:
    async with start(overrides=LINK) as run:
        path = run.data_dir / "link" / "link.db"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert not (run.data_dir / "database.db").stat().st_mode & stat.S_IRWXO  # workers are called so there, too
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT count(*) FROM visits").fetchone() == (0,)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read"),
        ("", "has no column 'submission_id'"),
        ("Submission id,When\nx,y\n", "has no column 'status'"),
        ("Submission id,Status\nx,RETURNED\n", "nobody came to task 'some-task' from a panel"),
        ('Submission id,Status\n"x,RETURNED\n', "is not a CSV file"),
    ],
)
def test_a_wrong_export_says_what_is_wrong(tmp_path: Path, text: str | None, says: str) -> None:
    export = tmp_path / "export.csv"
    if text is not None:
        export.write_text(text, encoding="utf-8")
    command = ["returned", "--task-name", "some-task", "--data-dir", str(tmp_path), "--file", str(export)]
    told = CliRunner().invoke(main, command)
    assert told.exit_code == 1
    assert says in " ".join(told.output.split())


def test_without_a_launch_by_link_there_is_no_session(tmp_path: Path) -> None:
    assert sessions(tmp_path, "some-task") == []
    assert list(tmp_path.iterdir()) == []
