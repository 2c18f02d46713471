"""One object says how a study stands: by its records, its launch's own word and what was worked, at little cost."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from stored_study import START, StoredStudy, choices

from mephisto_tasks.cli.report import report
from mephisto_tasks.control.snapshot import (
    Door,
    GroupStatus,
    Inside,
    Left,
    PausedNow,
    Presence,
    Snapshot,
    Visit,
    one_line,
    write_snapshot,
)
from mephisto_tasks.monitoring.observe import Observer
from mephisto_tasks.monitoring.view import answer_table, inside_table, line, progress_facts, rater_facts
from mephisto_tasks.payments.ledger import Due, Ledger, Owed
from mephisto_tasks.storage import results
from mephisto_tasks.storage import results as stored_state
from mephisto_tasks.storage.locks import task_lock
from mephisto_tasks.storage.results import ResultsError
from mephisto_tasks.storage.work import completed_work
from parlai_humaneval.schema.events import Event
from parlai_humaneval.schema.records import ModelHealth

TASK = "watched"
VARIED = [[1], [1, 2], [], [2], [1], [2]]
NOW = START + 2_000


def test_who_came_back_has_not_left_early() -> None:
    """Guards whoever counts drop-outs: of two who were away too long, one comes back and ends what they began."""
    presence = Presence()
    for worker in ("ann", "ben"):
        away = presence.enter(Visit(worker, "task", simulated=False, step="message"))
        presence.leave(away, "left")
    assert presence.door().left == [Left(phase="task", step="message", count=2)]
    presence.leave(presence.enter(Visit("ann", "task", simulated=False)), "done")
    assert presence.door().left == [Left(phase="task", step="message", count=1)]


def test_a_dialogue_that_ends_by_a_model_is_one_error() -> None:
    """Guards whoever reads “2 errors” and looks for a second one; the units that failed otherwise count as well."""
    model = ModelHealth(model="bad", replies=3, retries=2, errors=1)
    for failed, models, words in ((1, [model], "1 error"), (3, [model], "3 errors"), (0, [model, model], "2 errors")):
        said = one_line(0, 4, "dialogues", inside=[], door=Door(failed=failed), models=models, is_paused=False)
        assert said.endswith(f", {words}")


@pytest.fixture
def study(tmp_path: Path) -> StoredStudy:
    """Five complete dialogues of SATA, and one that was left after two of its turns."""
    stored = StoredStudy(tmp_path)
    for number in range(5):
        stored.add(TASK, f"w{number}", [*choices(f"d{number}", VARIED)])
    stored.add(TASK, "gone", [*_begun("d-gone", turns=2)])
    _set(tmp_path, "UPDATE agents SET status = 'disconnect'")
    return stored


def _set(data_dir: Path, sql: str) -> None:
    with closing(sqlite3.connect(data_dir / "database.db")) as database, database:
        database.execute(sql)


def _begun(dialogue: str, turns: int) -> Iterator[Event]:
    """The first turns of a dialogue of six."""
    return islice(choices(dialogue, VARIED), 1 + 3 * turns)


def _observer(study: StoredStudy, now: float = NOW) -> Observer:
    return Observer(study.data_dir, TASK, draws=100, clock=lambda: now)


def _snapshot(**changes: object) -> Snapshot:
    group = GroupStatus(
        label="alpha vs beta (preference, sata_random)",
        models=["alpha", "beta"],
        metric="preference",
        setting="sata_random",
        asked=20,
        wanted=25,
        completed=5,
        running=1,
    )
    whole = Snapshot(
        at=NOW,
        task_name=TASK,
        task_run_id="1",
        pid=1,
        began=NOW - 600,
        url="http://127.0.0.1:3000",
        technique="sata",
        metric="preference",
        counted="conversations",
        remaining=20,
        groups=[group],
    )
    return whole.model_copy(update=changes)


def test_the_answers_are_those_of_the_report(study: StoredStudy) -> None:
    """Guards against a second computation: what is shown is what ``report --json`` says, number by number."""
    standing = _observer(study).standing()
    done = CliRunner().invoke(
        report, ["--task-name", TASK, "--data-dir", str(study.data_dir), "--json", "--draws", "100"]
    )
    said = json.loads(done.output)
    assert standing.headline == said["headline"]
    assert [answer.summary.model_dump(mode="json") for answer in standing.answers] == [
        summary for summary in said["summaries"] if summary["section"] == standing.answers[0].summary.section
    ]
    (looked,) = standing.answers[0].looked_at
    (pair,) = [pair for pair in said["crowd_time"]["pairs"] if pair["p_anytime"] is not None]
    assert looked.p == pair["p_anytime"]
    (row,) = answer_table(standing.answers[0]).rows
    assert row["p_looks"] == looked.p


def test_what_was_left_and_where(study: StoredStudy) -> None:
    """Guards that drop-outs are counted over all launches, by how far they had come; unfinished work is no complete unit."""
    standing = _observer(study).standing()
    drop = standing.drop_outs
    assert (drop.left, drop.of) == (1, 6)
    assert [(place.done, place.count) for place in drop.after] == [(2, 1)]
    assert [(group.completed, group.wanted) for group in standing.groups] == [(5, None)]
    assert standing.state == "not_running"
    assert standing.wanted is None


@pytest.mark.parametrize(
    ("inside", "where"),
    [
        ({"phase": "practice", "unit": "practice", "part": 1, "parts": 4}, "practice 1 of 4"),
        ({"unit": "pair", "part": 2, "parts": 6}, "pair 2 of 6"),
        ({"unit": "turn", "part": 3}, "turn 3"),
        ({}, "task"),
    ],
)
def test_where_somebody_is_stands_beside_their_name(study: StoredStudy, inside: dict[str, Any], where: str) -> None:
    """Guards who looks for a rater who is stuck: the table says at which part of what they are."""
    of_page = {"worker": "w1", "simulated": False, "phase": "task", "since": NOW, "step": "choose", "last_seen": NOW}
    standing = _observer(study).standing().model_copy(update={"inside": [Inside.model_validate({**of_page, **inside})]})
    (row,) = inside_table(standing).rows
    assert (row["worker"], row["where"]) == ("w1", where)


def test_looking_again_reads_what_has_changed(study: StoredStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards that a look at a large study is cheap: a file that stands as it did is not read, and nothing is estimated
    again; a dialogue that has come is there at the next look."""
    times = iter(NOW + 100 * number for number in range(10))
    observer = Observer(study.data_dir, TASK, draws=100, clock=lambda: next(times))
    observer.standing()
    read: list[str] = []
    validate = stored_state.StateFile.model_validate_json
    monkeypatch.setattr(
        stored_state.StateFile, "model_validate_json", lambda text: read.append("file") or validate(text)
    )
    before = observer.document
    observer.standing()
    assert read == []
    assert observer.document is before
    study.add(TASK, "w9", [*choices("d9", VARIED)])
    assert observer.standing().groups[0].completed == 6
    assert len(read) == 1
    assert observer.document.facts.raters.workers == before.facts.raters.workers + 1


def test_a_large_study_is_read_less_often(study: StoredStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the machine of a running study: reading takes at most a tenth of the time, whatever its size."""
    now = [NOW]
    observer = Observer(study.data_dir, TASK, draws=100, clock=lambda: now[0])
    observer.standing()
    cpu = iter([0.0, 2.0, 2.0, 2.0])
    monkeypatch.setattr("mephisto_tasks.monitoring.observe.time.thread_time", lambda: next(cpu))
    observer.standing()
    study.add(TASK, "w9", [*choices("d9", VARIED)])
    now[0] += 19
    assert observer.standing().groups[0].completed == 5
    now[0] += 2
    assert observer.standing().groups[0].completed == 6


def test_a_launch_speaks_for_itself(study: StoredStudy) -> None:
    """Guards that a running launch's own word is shown: who is inside, targets that orders changed, where workers left."""
    inside = Inside(
        worker="w0123456789ab",
        simulated=False,
        phase="task",
        since=NOW - 90,
        step="choose",
        step_since=NOW - 30,
        part=2,
        parts=6,
        unit="turn",
        last_seen=NOW,
    )
    door = Door(
        came=9,
        let_in=7,
        waited=2,
        turned_away={"practice_failed": 2, "all_done": 1},
        left=[Left(phase="task", step="choose", count=1)],
    )
    with task_lock(study.data_dir, TASK) as lock:
        lock.name_run("1")
        write_snapshot(study.data_dir, TASK, _snapshot(inside=[inside], door=door))
        standing = _observer(study).standing()
        assert (standing.state, standing.completed, standing.wanted) == ("running", 5, 25)
        words = dict([*progress_facts(standing), *rater_facts(standing)])
        assert words["Complete"] == "5 of 25 conversations are complete."
        assert words["Came"] == "9 came, 7 began, 0 finished in this launch; 3 visits were turned away."
        assert words["Waited"] == "2 raters arrived while the study was full, and waited for a place."
        assert words["Turned away"] == "2: practice failed; 1: all done"
        assert words["Left at"] == "1 at “choose” (this launch)."
        assert "1 active" in line(standing)
        write_snapshot(study.data_dir, TASK, _snapshot(paused=PausedNow(by="page", since=NOW - 60)))
        paused = _observer(study).standing()
        assert (paused.state, paused.end.at) == ("paused", None)
        assert _observer(study, NOW + 60).standing().state == "silent"
        write_snapshot(study.data_dir, TASK, _snapshot(trouble="The disk is full."))
        assert _observer(study).standing().state_words.endswith(" The disk is full.")


def test_a_launch_that_is_gone(study: StoredStudy) -> None:
    """Guards the difference between an end and a crash; nobody is inside, and what is stored is shown."""
    write_snapshot(study.data_dir, TASK, _snapshot(ended=NOW))
    ended = _observer(study, NOW + 60).standing()
    assert (ended.state, ended.inside, ended.url, ended.wanted) == ("ended", [], None, 25)
    write_snapshot(study.data_dir, TASK, _snapshot())
    cut_off = _observer(study, NOW + 60).standing()
    assert cut_off.state == "cut_off"
    assert "was interrupted" in cut_off.state_words


def test_a_database_that_cannot_be_read_for_a_while(study: StoredStudy) -> None:
    """Guards that a locked or damaged store ends nothing: the answers stay, with the reason; and the first look says what
    to do."""
    times = iter(NOW + 100 * number for number in range(10))
    observer = Observer(study.data_dir, TASK, draws=100, clock=lambda: next(times))
    before = observer.standing()
    database = study.data_dir / "database.db"
    kept = database.read_bytes()
    database.write_bytes(b"no database " * 1000)
    after = observer.standing()
    assert after.problem is not None
    assert "database" in after.problem
    assert (after.headline, after.read_at) == (before.headline, before.read_at)
    with pytest.raises(ResultsError, match="a Mephisto"):
        _observer(study).standing()
    database.write_bytes(kept)
    assert observer.standing().problem is None


def test_a_database_that_is_being_written(study: StoredStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the look at the moment of a write: the reason is the lock, and the answers stay."""
    monkeypatch.setattr(results, "PATIENCE_S", 0.05)
    times = iter(NOW + 100 * number for number in range(10))
    observer = Observer(study.data_dir, TASK, draws=100, clock=lambda: next(times))
    before = observer.standing()
    with closing(sqlite3.connect(study.data_dir / "database.db")) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        locked = observer.standing()
        writer.rollback()
    assert locked.problem is not None
    assert "another program has locked it" in locked.problem
    assert locked.answers == before.answers
    assert observer.standing().problem is None


def test_an_unknown_task_has_a_near_name(study: StoredStudy) -> None:
    """Guards who mistypes: the error names the one that there is."""
    with pytest.raises(ResultsError, match=r"(?i)did you mean watched"):
        Observer(study.data_dir, "wacthed").standing()


def test_a_task_without_answers(tmp_path: Path) -> None:
    """Guards the first minutes of a study: nothing was rated, and that is said."""
    stored = StoredStudy(tmp_path)
    stored.add(TASK, "w", [])
    standing = Observer(tmp_path, TASK).standing()
    assert standing.headline.startswith("Nothing has been rated yet")
    assert (standing.answers, standing.looking, standing.pay) == ([], "", None)


def test_a_study_that_was_planned_for_looking(study: StoredStudy) -> None:
    """Guards that the note on looking goes by the plan: it warns, or names the p-value to go by."""
    observer = _observer(study)
    assert "stop when one looks good" in observer.standing().looking
    planned = tmp_study(study.data_dir / "planned")
    assert "was planned for looking" in Observer(planned, TASK, draws=100).standing().looking


def tmp_study(folder: Path) -> Path:
    """One dialogue whose settings say that looking was planned for."""
    stored = StoredStudy(folder)
    for number in range(3):
        first, *others = choices(f"d{number}", VARIED)
        planned = first.model_copy(update={"settings": {"planned_for_looking": True}})
        stored.add(TASK, f"w{number}", [planned, *others])
    return folder


def test_pay_is_that_of_people(tmp_path: Path) -> None:
    """Guards that an hour's pay is what workers earned by what they took, and that programs are not paid."""
    stored = StoredStudy(tmp_path)
    for number, name in enumerate(("ann", "ben", "robot")):
        first, *others = choices(f"d{number}", VARIED)
        begun = first.model_copy(update={"simulated": name == "robot"})
        stored.add(TASK, name, [begun, *others])
    _set(tmp_path, "UPDATE units SET pay_amount = 2.5")
    write_snapshot(tmp_path, TASK, _snapshot(ended=NOW))
    pay = Observer(tmp_path, TASK, draws=100).standing().pay
    assert pay is not None
    assert (pay.owed, pay.paid, pay.to_spend) == (5.0, 0.0, 50.0)
    assert pay.per_hour == 2.5 * 3600 / 1000


def test_what_is_earned_in_a_sandbox_is_told_apart(tmp_path: Path) -> None:
    """Guards against money that is added to what nobody pays; what programs read of all keeps its meaning."""
    stored = StoredStudy(tmp_path)
    for number, name in enumerate(("ann", "ben", "joe")):
        stored.add(TASK, name, list(choices(f"d{number}", VARIED)))
    _set(tmp_path, "UPDATE units SET pay_amount = 2.5, provider_type = 'mturk'")
    _set(tmp_path, "UPDATE units SET provider_type = 'mturk_sandbox' WHERE unit_id = (SELECT MIN(unit_id) FROM units)")
    works = {work.provider: work for work in completed_work(tmp_path, TASK)}
    for provider, dollars in (("mturk", Decimal(2)), ("mturk_sandbox", Decimal(1))):
        owed = Owed(Due(work=works[provider], amount=dollars, why=""), left=dollars, paid={})
        Ledger(tmp_path, TASK).intend([owed.payment(f"{provider}:lab", "bonus", "", dollars)], "sent")
    standing = Observer(tmp_path, TASK, draws=100).standing()
    assert standing.pay is not None
    assert (standing.pay.owed, standing.pay.owed_in_sandbox, standing.pay.paid_in_sandbox) == (7.5, 2.5, 1.0)
    told = dict(rater_facts(standing))
    assert told["Money"].startswith("$5.00 earned: $2.00 paid, $3.00 to be paid")
    assert told["In the sandbox"] == "$2.50: $1.00 paid, $1.50 to be paid. No real money is spent in the sandbox."


def test_the_json_is_the_same_object(study: StoredStudy) -> None:
    """Guards programs that read it: the schema is named, and numbers are numbers."""
    standing = _observer(study).standing()
    said = json.loads(standing.model_dump_json(by_alias=True))
    assert (said["schema"], said["schema_version"]) == ("parlai-humaneval/watch", 1)
    assert said["answers"][0]["summary"]["pairs"] == [
        pair.model_dump(mode="json") for pair in standing.answers[0].summary.pairs
    ]
