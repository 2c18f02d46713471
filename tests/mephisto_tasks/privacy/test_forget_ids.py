"""Forgetting somebody who came by each crowd: no id by which anybody finds them is left in any file of the data directory.

Real launches, real pages, and what was paid afterwards. Whole files are searched: databases with their free pages and logs,
and what is packed.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from click.testing import CliRunner
from live import TASK, Launch, Rater, eventually, rows
from mturk_hands import Turker, mturk_at_home, on_mturk_beside
from panel_hands import LINK, Participant

from mephisto_tasks.crowds.invitations.store import InvitationStore
from mephisto_tasks.payments.ledger import Ledger
from mephisto_tasks.simulation.page_client import PageClient
from mephisto_tasks.storage.locks import study_folder
from mephisto_tasks.storage.results import read_records
from mephisto_tasks.workers.roster import known_workers
from parlai_humaneval.cli import main

PERSON, SESSION = "5f3a9c0b1d2e4f5a6b7c8d9e", "66f0aa11bb22cc33dd44ee55"
OTHER, OTHERS_SESSION = "5f00000000000000000000aa", "66f0000000000000000000bb"


def said(*arguments: object) -> str:
    result = CliRunner().invoke(main, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr + result.stdout
    return str(result.stdout)


def holding(folder: Path, *marks: str) -> dict[str, list[str]]:
    """Mark → files in whose bytes it stands; what is packed with gzip is unpacked first."""
    held: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            named = f"{path.relative_to(folder)}".encode()
            for mark in marks:
                if mark.encode() in content or mark.encode() in named:
                    held.setdefault(mark, []).append(str(path.relative_to(folder)))
    return held


def forgotten(data_dir: Path, worker: str, *marks: str) -> None:
    """The worker goes; what identified them was there, and is not any more."""
    known = next(one for one in known_workers(data_dir).values() if worker in one.name)
    units = {record.session for record in read_records(data_dir, TASK) if record.worker == known.pseudonym} - {""}
    assert units, "they have done something"
    all_marks = [*marks, known.pseudonym, known.name]
    as_written = [form for unit in units for form in (f'"{unit}"', f",{unit},")]
    assert holding(data_dir, *all_marks).keys() == set(all_marks), "the test would see what it looks for"
    assert holding(data_dir, *as_written)
    assert {payment.session for payment in Ledger(data_dir, TASK).payments()} >= units
    told = json.loads(said("forget", known.pseudonym, "--yes", "--json", "--data-dir", data_dir))
    assert holding(data_dir, *all_marks, *as_written) == {}
    assert units.isdisjoint(payment.session for payment in Ledger(data_dir, TASK).payments())
    assert [one["left_over"] for one in told["forgotten"]] == [[]]


def pay(data_dir: Path, *more: object) -> None:
    said("pay", "--task-name", TASK, "--data-dir", data_dir, *more)


async def test_by_a_panels_link(start: Launch, data_dir: Path, tmp_path: Path) -> None:
    """Participant and submission id, in the store of visits, the ledger, the approvals and the bonuses."""
    async with start(overrides=[*LINK, "mephisto.task.task_reward=0.50"], dialogues_per_group=2) as run:
        for person, session in ((PERSON, SESSION), (OTHER, OTHERS_SESSION)):
            async with Participant(run, person, session) as participant:
                await participant.finish()
        await eventually(lambda: rows(data_dir, "SELECT status FROM agents") == [("completed",), ("completed",)])
    export = tmp_path / "export.csv"
    export.write_text(f"Submission id,Status\n{SESSION},AWAITING REVIEW\n{OTHERS_SESSION},AWAITING REVIEW\n")
    pay(data_dir, "--submissions", export, "--send", "--yes")
    (approvals,) = (study_folder(data_dir, TASK) / "payments").glob("*-approvals-*.txt")
    assert approvals.read_text() == f"{SESSION}\n{OTHERS_SESSION}\n"
    forgotten(data_dir, PERSON, PERSON, SESSION)
    first, second = approvals.read_text().splitlines()
    assert (first.startswith("forgotten-"), second) == (True, OTHERS_SESSION)
    pay(data_dir, "--audit")
    owed = json.loads(said("pay", "--task-name", TASK, "--data-dir", data_dir, "--json"))
    assert (len(owed["workers"]), owed["to_send"], owed["remaining"]) == (1, [], []), (
        "whoever is forgotten is owed nothing"
    )


async def test_by_an_invitation(start: Launch, data_dir: Path, tmp_path: Path) -> None:
    """Name, address, and the id in their link."""
    people = tmp_path / "people.csv"
    people.write_text("name,email\nEve Exemplary,eve@example.org\n")
    overrides = ["place=link", "mephisto.task.task_reward=0.50"]
    async with start(overrides=overrides, dialogues_per_group=1):
        where = ("--task-name", TASK, "--data-dir", data_dir)
        invited = json.loads(said("invite", *where, "--names", people, "--out", tmp_path / "links.csv", "--json"))
        parts = urlsplit(invited["invitations"][0]["link"])
        guest = Rater(f"{parts.scheme}://{parts.netloc}", "guest")
        guest.client = PageClient(guest.url, parameters=parse_qsl(parts.query), heartbeat_s=0.5)
        async with guest:
            await guest.finish()
        await eventually(lambda: rows(data_dir, "SELECT status FROM agents") == [("completed",)])
    (invitation,) = InvitationStore(study_folder(data_dir, TASK)).all()
    assert invitation.worker is not None
    pay(data_dir, "--send", "--yes")
    forgotten(data_dir, invitation.worker, "Eve Exemplary", invitation.invitation_id)
    assert holding(tmp_path, "Eve Exemplary", invitation.invitation_id).keys() <= {"Eve Exemplary"}
    assert list(holding(tmp_path, "Eve Exemplary").values()) == [["people.csv"]], "the researcher's own list"


async def test_on_this_machine(start: Launch, data_dir: Path) -> None:
    """The name that is signed by the server, and that of their visit."""
    async with start(overrides=["mephisto.task.task_reward=0.50"], dialogues_per_group=1) as run:
        async with Rater(run, "rater-of-this-machine", "try-4f5a6b7c8d9e") as rater:
            await rater.finish()
        await eventually(lambda: rows(data_dir, "SELECT status FROM agents") == [("completed",)])
    pay(data_dir, "--send", "--yes")
    forgotten(data_dir, "rater-of-this-machine")
    assert holding(data_dir, "try-4f5a6b7c8d9e") == {}


@pytest.mark.parametrize("place", ["mturk", "mturk_sandbox"])
async def test_on_mturk(place: str, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker and assignment, in the store of HITs, the ledger, and what the ledger was told by the site."""
    agree: Callable[[object], None] = [].append
    with mturk_at_home(monkeypatch, tmp_path, sandbox=place.endswith("sandbox"), deposited="10.00") as mturk:
        async with on_mturk_beside(data_dir, place=place, dialogues=1, agree=agree) as run:
            async with Turker(run, mturk, "A1FORGETME77") as worker:
                await worker.do_all()
            await eventually(lambda: rows(data_dir, "SELECT status FROM agents") == [("completed",)])
        pay(data_dir, "--send", "--yes")
        forgotten(data_dir, "A1FORGETME77", "A1FORGETME77", worker.assignment.id)
        assert "agree" in said("pay", "--task-name", TASK, "--data-dir", data_dir, "--audit")
