"""Makes ``study_0_2.tar.gz`` with version 0.2.0: run it among the tests of that version, never of a later one.

    git worktree add ../release-0.2.0 1952cedc && cd ../release-0.2.0  # "Release 0.2.0"
    cp THIS_FILE tests/mephisto_tasks/ && python -m pytest tests/mephisto_tasks/make_study_0_2.py --basetemp FOLDER

The archive is ``FOLDER/study_0_2.tar.gz``. FOLDER and the folder of Python are in it, so choose names that tell nothing.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from judging_hands import LONG, SHORT, TERSE, WORDY, Judge, Watched, chats, judgements, says, study_beside
from live import browser_of
from panel_hands import LINK, address, local_url

from parlai_humaneval.cli import main

TASK = "before-dialogs"


class Participant(Judge):
    """Somebody who comes from the panel to judge dialogues."""

    def __init__(self, run: Any, person: str) -> None:
        super().__init__(local_url(run), person)
        self.client = Watched(self.url, parameters=address(person), heartbeat_s=0.5, browser=browser_of(person))


def run(command: str, data_dir: Path, *options: str) -> str:
    done = CliRunner().invoke(main, [command, "--task-name", TASK, "--data-dir", str(data_dir), *options])
    assert done.exit_code == 0, done.output
    return str(done.stdout)


async def test_make(tmp_path_factory: Any) -> None:
    root = tmp_path_factory.getbasetemp()
    folder = root / "study"
    data_dir = folder / "data"
    dialogues = [chats(folder / "chats", WORDY, says(LONG)), chats(folder / "chats", TERSE, says(SHORT))]
    settings = {"dialogues": dialogues, "judgements_per_group": 6, "items_per_unit": 2, "task_name": TASK}
    async with study_beside(
        data_dir, "pw_dialog", overrides=[*LINK, "mephisto.task.task_reward=1.5"], **settings
    ) as launch:
        async with Participant(launch, "ann") as ann:
            await ann.whole_unit()
        bob = await Participant(launch, "bob").__aenter__()
        await bob.fill("It asks me about myself.")
    assert [one.status for one in judgements(launch)] == ["complete"] * 3 + ["partial"]
    run("pay", data_dir, "--send", "--yes")
    (folder / "report.json").write_text(run("report", data_dir, "--json", "--draws", "200"), encoding="utf-8")
    with tarfile.open(root / "study_0_2.tar.gz", "w:gz", compresslevel=9) as archive:
        for part in ("data", "chats", "report.json"):
            archive.add(folder / part, part, filter=nobody)


def nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the names of who made it and when."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member
