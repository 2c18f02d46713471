"""Forgetting a worker: nothing of theirs is left in the bytes of the data directory; what remains is said, and why."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import scripted_models
from click.testing import CliRunner, Result
from judging_hands import Judge, launch_study
from live import Rater, good_replies, launch, rows
from stored_study import StoredStudy, choices, rated

from mephisto_tasks.admission.admission import BLOCKED
from mephisto_tasks.admission.visits import Arrival
from mephisto_tasks.crowds.invitations.store import InvitationStore
from mephisto_tasks.crowds.link.datastore import LinkDatastore
from mephisto_tasks.crowds.mturk.provider import HitStore
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.privacy import erase as erasing
from mephisto_tasks.privacy import erase_traces as traces
from mephisto_tasks.privacy.erase_traces import all_going
from mephisto_tasks.storage import results
from mephisto_tasks.storage.database import close_connections
from mephisto_tasks.storage.locks import study_folder, task_lock
from mephisto_tasks.storage.logs import CONSENTS
from mephisto_tasks.storage.results import ResultsError, read_records, stored_agents
from mephisto_tasks.workers.roster import known_workers
from parlai_humaneval._util.data_files import packaged
from parlai_humaneval.cli import main

TALK, JUDGED = "talking-study", "judging-study"
WORKER, OTHER, JUDGE = "A1FORGETME77", "A2REMEMBERME8", "A3JUDGESALL99"
SAID = "My dog is called Zebulon Quince"
WHY = "Zebulon would like this one better"
SETTINGS = {
    "dialogues_per_group": 2,
    "onboarding_qualification": "talk-practice",
    "consent_file": str(packaged("consent_example.yaml")),
}
NOTED = "wrote us a mail about Zebulon"


class Talker(Rater):
    """Somebody who tells of themselves."""

    async def whole(self, good: frozenset[str]) -> None:
        mine = self.worker == WORKER
        await self.practise(["good"] * 4, good)
        await self.client.submit_onboarding()
        state = await self.state()
        while state.step.kind in ("message", "choose"):
            if state.step.kind == "message":
                state = await self.write(SAID if mine else "Something else entirely")
            else:
                state = await self.choose(reason=WHY if mine else "It is the nicer of the two")
        await self.finish(feedback=SAID if mine else "")


async def _talked(run: RunningStudy) -> None:
    for name in (WORKER, OTHER):
        async with Talker(run, name) as rater:
            await rater.whole(good_replies(run))


async def _judged(run: RunningStudy) -> None:
    async with Judge(run, JUDGE) as judge:
        await judge.whole_unit()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two people have practised and talked; a third has judged what they said."""
    data_dir = tmp_path_factory.mktemp("forget") / "data"
    with launch(data_dir, task_name=TALK, **SETTINGS) as run:
        asyncio.run(_talked(run))
    settings = {"dialogues": [{"task": TALK}], "items_per_unit": 2, "task_name": JUDGED}
    with launch_study(data_dir, "third_party", **settings) as run:
        asyncio.run(_judged(run))
    scripted_models.SCRIPTS.clear()
    return data_dir


@pytest.fixture
def data_dir(original: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "data"
    shutil.copytree(original, copy)
    return copy


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(one) for one in arguments], catch_exceptions=False)


def done(*arguments: object) -> Result:
    result = command(*arguments)
    assert result.exit_code == 0, result.stderr + result.stdout
    return result


def pseudonym(data_dir: Path, name: str = WORKER) -> str:
    return next(known.pseudonym for known in known_workers(data_dir).values() if known.name.startswith(name))


def holding(folder: Path, *marks: str) -> dict[str, list[str]]:
    """Mark → files in whose bytes it stands."""
    contents = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    held = {mark: [str(path) for path, content in contents.items() if mark.encode() in content] for mark in marks}
    return {mark: paths for mark, paths in held.items() if paths}


def test_nothing_of_a_worker_is_left_in_any_byte(data_dir: Path, tmp_path: Path) -> None:
    """Name, pseudonym and every word, in the database, files, journals and tables written of them; others' work stays."""
    mine, others = pseudonym(data_dir), pseudonym(data_dir, OTHER)
    done("workers", "note", mine, NOTED, "--data-dir", data_dir)
    done("export", "--task-name", TALK, "--task-name", JUDGED, "--out", tmp_path / "tables", "--data-dir", data_dir)
    done("export", "--task-name", TALK, "--out", tmp_path / "lines", "--format", "jsonl", "--data-dir", data_dir)
    done("report", "--task-name", TALK, "--out", tmp_path / "report.html", "--draws", 100, "--data-dir", data_dir)
    assert [line.worker for line in CONSENTS.read(data_dir, TALK)] == [mine, others]
    marks = [WORKER, mine, SAID, "Zebulon", NOTED]
    assert holding(tmp_path, *marks).keys() == set(marks), "the test would see what it looks for"
    judgements = len(read_records(data_dir, JUDGED))

    told = json.loads(done("forget", WORKER, "--yes", "--json", "--data-dir", data_dir).stdout)

    assert holding(tmp_path, *marks) == {}
    (forgotten,) = told["forgotten"]
    assert forgotten["left_over"] == []
    assert "payments" in told["remains"]
    assert [record.worker for record in read_records(data_dir, TALK)] == [others]
    assert len(read_records(data_dir, JUDGED)) == judgements, "what others judged stays, without the words"
    table = (tmp_path / "tables" / "turns.csv").read_text()
    assert others in table
    assert "Something else entirely" in table
    assert not (tmp_path / "report.html").exists()
    assert rows(data_dir, "PRAGMA foreign_key_check") == []
    assert rows(data_dir, "PRAGMA integrity_check") == [("ok",)]
    assert "no rater with this pseudonym or ID" in command("forget", WORKER, "--yes", "--data-dir", data_dir).stderr


def test_the_next_launch_gives_the_work_out_again(data_dir: Path) -> None:
    """The study lacks what was deleted, and a new launch of the same task asks for just that."""
    done("forget", WORKER, "--yes", "--data-dir", data_dir)
    with launch(data_dir, task_name=TALK, **SETTINGS) as run:
        assert run.study.remaining == 1


def test_a_dry_run_says_all_and_changes_nothing(data_dir: Path) -> None:
    before = {path: path.read_bytes() for path in data_dir.rglob("*") if path.is_file()}
    said = done("forget", pseudonym(data_dir), "--dry-run", "--data-dir", data_dir).stdout
    assert "1 assignment, 1 practice visit in talking-study" in said
    assert "1 assignment will lose texts" in said
    assert "collects new ones" in said
    assert {path: path.read_bytes() for path in data_dir.rglob("*") if path.is_file()} == before


def test_nobody_is_forgotten_without_a_word_of_agreement(data_dir: Path) -> None:
    result = command("forget", WORKER, "--data-dir", data_dir)
    assert result.exit_code == 1
    assert "Nothing was deleted" in result.stderr
    assert holding(data_dir, WORKER)


@pytest.mark.parametrize("task", [TALK, JUDGED])
def test_not_while_a_launch_of_the_task_is_alive(data_dir: Path, task: str) -> None:
    """Its memory would bring back what was deleted; so would that of a launch in which others judge their dialogues."""
    with task_lock(data_dir, task):
        result = command("forget", WORKER, "--yes", "--data-dir", data_dir)
    assert result.exit_code == 1
    assert f"a launch of task '{task}' is running" in result.stderr
    assert holding(data_dir, SAID)


def _comes_again(data_dir: Path) -> None:
    """The worker finds a study with more to do, and does a whole unit."""
    settings = {**SETTINGS, "dialogues_per_group": 3, "onboarding_qualification": None}
    with launch(data_dir, task_name="third-study", **settings) as run:
        asyncio.run(_alone(run))


async def _alone(run: RunningStudy) -> None:
    async with Rater(run, WORKER) as rater:
        while (await rater.state()).step.kind != "feedback":
            await (rater.write(SAID) if rater.newest.step.kind == "message" else rater.choose(reason=WHY))
        await rater.finish(feedback=SAID)


def test_whoever_comes_back_before_it_is_done_to_its_end_is_forgotten_whole(data_dir: Path) -> None:
    """Cut off, and a launch before it was finished: what they did there must not stay behind with nobody's name."""
    (person,) = all_going(data_dir, [known_workers(data_dir)[pseudonym(data_dir)]], None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traces, "database", _killed)
        with pytest.raises(KeyboardInterrupt):
            erasing.forget(data_dir, [person])
    _comes_again(data_dir)
    done("forget", "--finish", "--yes", "--data-dir", data_dir)
    assert holding(data_dir, WORKER, person.pseudonym, SAID, "Zebulon") == {}
    assert rows(data_dir, "PRAGMA foreign_key_check") == []


def test_who_takes_part_while_it_is_being_agreed_is_asked_about_once_more(data_dir: Path) -> None:
    """Between the plan and the yes may lie an hour, and a launch."""
    (person,) = all_going(data_dir, [known_workers(data_dir)[pseudonym(data_dir)]], None)
    _comes_again(data_dir)
    before = holding(data_dir, SAID)
    with pytest.raises(ResultsError, match="took part in the meantime, so nothing was deleted"):
        erasing.forget(data_dir, [person])
    assert holding(data_dir, SAID) == before
    done("forget", WORKER, "--yes", "--data-dir", data_dir)
    assert holding(data_dir, WORKER, person.pseudonym, SAID) == {}


def test_a_file_that_somebody_reads_is_not_called_clean(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was deleted stands in its log as long as it is read: that is said, and done to its end afterwards."""
    monkeypatch.setattr(results, "PATIENCE_S", 0.1)
    with closing(sqlite3.connect(data_dir / "browsers.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT COUNT(*) FROM held").fetchone()
        result = command("forget", WORKER, "--yes", "--data-dir", data_dir)
    assert result.exit_code == 1
    assert "browsers.db: another program has locked it" in " ".join(result.stderr.split())
    done("forget", "--finish", "--yes", "--data-dir", data_dir)
    assert holding(data_dir, WORKER, SAID, "Zebulon") == {}


STEPS = ("payments", "judged_by_others", "providers", "database", "left_over")


@pytest.mark.parametrize("step", STEPS)
def test_what_was_cut_off_is_done_to_its_end(data_dir: Path, step: str) -> None:
    """Killed before any step: the next call, whoever it names, finds who was being forgotten."""
    (person,) = all_going(data_dir, [known_workers(data_dir)[pseudonym(data_dir)]], None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traces, step, _killed)
        with pytest.raises(KeyboardInterrupt):
            erasing.forget(data_dir, [person])
    done("forget", "--finish", "--yes", "--data-dir", data_dir)
    assert holding(data_dir, WORKER, person.pseudonym, SAID, "Zebulon") == {}
    assert "nobody to forget" in done("forget", "--finish", "--yes", "--data-dir", data_dir).stdout


def _killed(*_: Any) -> None:
    raise KeyboardInterrupt


def test_who_was_blocked_stays_out_by_a_pseudonym_alone(data_dir: Path) -> None:
    """The block is what remains of them, is said to, and can be lifted."""
    mine = pseudonym(data_dir)
    done("workers", "block", mine, "--reason", "Copies Zebulon.", "--all-tasks", "--data-dir", data_dir)
    said = done("forget", WORKER, "--yes", "--data-dir", data_dir).stdout
    assert "a block" in said
    assert holding(data_dir, WORKER, mine, "Zebulon") == {mine: ["kept_out.jsonl"]}
    with launch(data_dir, task_name=TALK, dialogues_per_group=2) as run:
        assert asyncio.run(_refusal(run, WORKER)) == BLOCKED
    # Whoever tried to come in again is known again.
    done("forget", WORKER, "--yes", "--data-dir", data_dir)
    assert "May come back" in done("forget", mine, "--lift-blocks", "--yes", "--data-dir", data_dir).stdout
    assert holding(data_dir, WORKER, mine) == {}


async def _refusal(run: Any, worker: str) -> str | None:
    async with Rater(run, worker, "again") as rater:
        return rater.client.refused


def test_a_file_that_somebody_changed_is_left_alone_and_told_of(data_dir: Path, tmp_path: Path) -> None:
    done("export", "--task-name", TALK, "--out", tmp_path / "tables", "--data-dir", data_dir)
    changed = tmp_path / "tables" / "turns.csv"
    changed.write_text(changed.read_text() + "\n")
    (tmp_path / "tables" / "ratings.csv").unlink()
    said = done("forget", WORKER, "--yes", "--data-dir", data_dir).stdout
    assert f"{changed}: has changed since it was written: PLEASE CHECK" in said
    assert f"{tmp_path / 'tables' / 'ratings.csv'}: no longer exists" in said
    assert "Zebulon" in changed.read_text()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Work of 2023, of workers of several tasks."""
    study = StoredStudy(tmp_path / "data")
    study.add("first", "longago-one", list(choices("d1", [[0], [1]])))
    study.add("first", "longago-two", list(choices("d2", [[0], [1]])))
    study.add("second", "longago-two", list(rated("d3", "alpha", {"fluent": 50.0})))
    return study.data_dir


def test_in_one_task_only(old: Path) -> None:
    """Who did other tasks keeps their name and those; who did not is forgotten altogether."""
    done("forget", "longago-two", "--task-name", "first", "--yes", "--data-dir", old)
    assert [len(read_records(old, task)) for task in ("first", "second")] == [1, 1]
    assert holding(old, "longago-two")
    done("forget", "longago-two", "--task-name", "second", "--yes", "--data-dir", old)
    assert holding(old, "longago-two") == {}


def test_retention_goes_by_the_last_answer(old: Path) -> None:
    """Not by the day on which files or rows were written."""
    keeps = json.loads(done("forget", "--older-than", "90y", "--dry-run", "--json", "--data-dir", old).stdout or "{}")
    assert keeps["planned"] == []
    goes = json.loads(done("forget", "--older-than", "2y", "--yes", "--json", "--data-dir", old).stdout)
    assert len(goes["forgotten"]) == 2
    assert holding(old, "longago") == {}
    assert command("forget", "--older-than", "soon", "--data-dir", old).exit_code == 2


def test_what_was_paid_stays_by_no_name(tmp_path: Path) -> None:
    """The ledger keeps sums and days; the file by which was paid names nobody any more; what is unpaid is told before."""
    study = StoredStudy(tmp_path / "data", reward=1.0)
    study.add("paid", "paidworker-one", list(choices("d1", [[0], [1]])))
    study.add("paid", "paidworker-two", list(choices("d2", [[0], [1]])))
    where = ("--task-name", "paid", "--data-dir", study.data_dir)
    assert "according to the ledger, up to $1.00 of their work is unpaid" in " ".join(
        done("forget", "paidworker-one", "--dry-run", "--data-dir", study.data_dir).stdout.split()
    )
    done("pay", *where, "--send", "--yes")
    done("pay", *where, "--csv", tmp_path / "owed.csv")
    mine = pseudonym(study.data_dir, "paidworker-one")
    assert "owed.csv" in holding(tmp_path, mine)[mine]
    done("forget", "paidworker-one", "--yes", "--data-dir", study.data_dir)
    assert holding(tmp_path, "paidworker-one", mine) == {}
    (listed,) = (study_folder(study.data_dir, "paid") / "payments").glob("*.csv")
    assert "forgotten-" in listed.read_text()
    assert "paidworker-two" in listed.read_text()
    assert json.loads(done("pay", *where, "--json").stdout)["to_send"] == []
    assert "1.00" in listed.read_text()


PANEL_ID = "5f3a9c0b1d2e4f5a6b7c8d9e"


def test_by_link_and_by_invitation(tmp_path: Path) -> None:
    """Visits, invitations, the links that were written for people, and the files by which panels pay."""
    study = StoredStudy(tmp_path / "data", provider="link", requester="link", reward=1.0)
    data_dir = study.data_dir
    names = tmp_path / "people.csv"
    names.write_text("name,email\nEve Example,eve@example.org\nBob Other,bob@example.org\n")
    (data_dir / "link").mkdir()
    visits = LinkDatastore(data_dir / "link")
    for worker, session, dialogue in ((f"prolific:{PANEL_ID}", "s-1", "d1"), ("prolific:other-one", "s-2", "d2")):
        study.add("linked", worker, list(choices(dialogue, [[0], [1]])))
        visit = visits.add("linked", Arrival(worker, "prolific", "S1", session))
        visits.give_agent(visit.visit_id, stored_agents(data_dir, "linked")[-1].agent_id)
    where = ("--task-name", "linked", "--data-dir", data_dir)
    written = ("--out", tmp_path / "links.csv", "--qr", tmp_path / "codes")
    done("invite", *where, "--names", names, "--url", "https://study.example.org", *written)
    eve = next(one for one in InvitationStore(study_folder(data_dir, "linked")).all() if one.name == "Eve Example")
    assert eve.worker is not None
    InvitationStore(study_folder(data_dir, "linked")).come(eve.invitation_id, eve.worker)
    study.add("linked", eve.worker, list(choices("d3", [[0], [1]])))
    done("pay", *where, "--send", "--yes")
    close_connections(visits)
    names.unlink()  # the researcher's own
    for who, marks in (
        (PANEL_ID, [PANEL_ID]),
        (pseudonym(data_dir, eve.worker), ["Eve Example", "eve@example.org", eve.worker, "eve-example"]),
    ):
        assert holding(tmp_path, marks[0])
        done("forget", who, "--yes", "--data-dir", data_dir)
        assert holding(tmp_path, *marks) == {}
    assert [path.name for path in (tmp_path / "codes").iterdir() if "eve" in path.name.lower()] == []
    assert holding(tmp_path, "Bob Other", "prolific:other-one").keys() == {"Bob Other", "prolific:other-one"}


def test_what_is_kept_of_work_on_mturk(tmp_path: Path) -> None:
    """Which assignment was whose goes; that there was a HIT stays, for the accounts of MTurk."""
    study = StoredStudy(tmp_path / "data", provider="mturk")
    study.add("turked", "A1FORGETME77", list(choices("d1", [[0], [1]])))
    (agent,) = stored_agents(study.data_dir, "turked")
    folder = study.data_dir / "mturk"
    folder.mkdir()
    store = HitStore(str(folder))
    store.new_hit("HIT1", "https://example.org", 600, "1")
    store.note_assignment(agent.agent_id, "HIT1", "ASSIGNMENT_OF_THEIRS")
    close_connections(store)
    done("forget", "A1FORGETME77", "--yes", "--data-dir", study.data_dir)
    assert holding(study.data_dir, "ASSIGNMENT_OF_THEIRS", "A1FORGETME77") == {}
    assert holding(study.data_dir, "HIT1") == {"HIT1": ["mturk/mturk.db"]}


def test_begins_without_what_launches_need() -> None:
    """It starts in a moment, also where no model could be loaded."""
    program = "import sys; import mephisto_tasks.privacy.erase; print({'torch', 'mephisto', 'parlai'} & {*sys.modules})"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == "set()\n"
