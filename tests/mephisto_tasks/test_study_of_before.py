"""Studies that earlier versions stored: they are reported, gone on with and paid by the version of today.

Both are studies by a panel's link. In each, ann was done, and sent back; bob was cut off as the launch ended; both had been
paid by file. ``report.json`` is the report of that version. ``tests/data/study_0_1.tar.gz`` is a chat of version 0.1, in
which bob had begun his first turn; ``study_0_2.tar.gz`` compares dialogues by PW-Dialog, made with version 0.2.0 by
``make_study_0_2.py``: bob had judged one of his two pairs.
"""

from __future__ import annotations

import json
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from judging_hands import Judge, Watched, judgements, study_beside
from live import browser_of, launch_beside, records
from panel_hands import LINK, Participant, address, local_url

from mephisto_tasks.crowds.link import crowd as reception
from mephisto_tasks.launch.launch import RunningStudy
from parlai_humaneval.cli import main

DATA = Path(__file__).resolve().parents[1] / "data"
STORED = {"study_0_1": "before-live", "study_0_2": "before-dialogs"}
"""Archive → name of its study."""


@dataclass(frozen=True)
class Stored:
    """A study as it was left, in a folder with what it was made from."""

    folder: Path
    task: str

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    def run(self, command: str, *options: str) -> str:
        words = [command, "--task-name", self.task, "--data-dir", str(self.data_dir), *options]
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
        return str(done.stdout)

    def paid(self) -> list[tuple[str, str]]:
        """Participant or submission, and amount, of every line that was written for the panel."""
        lines = [
            line for path in (self.data_dir / "studies").glob("*/payments/*") for line in path.read_text().splitlines()
        ]
        return sorted(
            (name.strip('"'), amount.strip('"')) for name, _, amount in (line.partition(",") for line in lines)
        )

    def pay_the_new(self, *amounts: str) -> None:
        """Send what is owed now, which nobody had been paid for."""
        written = self.paid()
        owed = json.loads(self.run("pay", "--json"))["to_send"]
        assert [payment["amount"] for payment in owed] == list(amounts)
        self.run("pay", "--send", "--yes")
        assert len(self.paid()) == len(written) + len(amounts)
        assert set(written) < set(self.paid())
        assert json.loads(self.run("pay", "--json"))["to_send"] == []


def unpacked(name: str, folder: Path) -> Stored:
    with tarfile.open(DATA / f"{name}.tar.gz") as archive:
        archive.extractall(folder)  # a file of ours: filters came with Python 3.11.4
    return Stored(folder, STORED[name])


def figures(document: Any) -> Any:
    """A document without what tells versions and machines apart. Words may get better: of remarks, methods and notes
    their number counts, and of other sentences, and of a test's method, the numbers in them."""
    if isinstance(document, dict):
        return {
            key: len(value)
            if key in ("remarks", "methods", "notes")
            else figures(f"{value}." if key.startswith("method") else value)
            for key, value in document.items()
            if key not in ("versions", "made", "version")
        }
    if isinstance(document, str) and document.endswith("."):
        return re.findall(r"\d+(?:\.\d+)?", document)
    return [figures(value) for value in document] if isinstance(document, list) else document


def shared(now: Any, before: Any) -> Any:
    """What a document has under the names of an earlier one, which lacks what came since."""
    if isinstance(now, dict) and isinstance(before, dict):
        return {key: shared(value, before[key]) for key, value in now.items() if key in before}
    if isinstance(now, list) and isinstance(before, list) and len(now) == len(before):
        return [shared(one, other) for one, other in zip(now, before, strict=True)]
    return now


class JudgeOfPanel(Judge):
    """Somebody who comes from the panel to judge dialogues."""

    def __init__(self, run: RunningStudy, person: str) -> None:
        super().__init__(local_url(run), person)
        self.client = Watched(self.url, parameters=address(person), heartbeat_s=0.5, browser=browser_of(person))


@pytest.mark.parametrize("name", STORED)
def test_the_report_is_the_one_of_before(name: str, tmp_path: Path) -> None:
    study = unpacked(name, tmp_path)
    before = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    draws = str(before["facts"]["draws"])  # those of that version, whatever tests draw
    now = json.loads(study.run("report", "--json", "--draws", draws))
    assert shared(figures(now), figures(before)) == figures(before)


async def test_a_chat_goes_on_and_nobody_is_paid_twice(tmp_path: Path) -> None:
    """Guards databases, ledgers and files of studies that run while people install a new version."""
    study = unpacked("study_0_1", tmp_path)
    settings: dict[str, Any] = {"models": ["eliza", "retrieval"], "dialogues_per_group": 3, "task_name": study.task}
    overrides = [*LINK, "mephisto.task.task_reward=1.5"]
    async with launch_beside(study.data_dir, overrides=overrides, **settings) as launch:
        async with Participant(launch, "ann") as ann:
            assert ann.client.refused == reception.DONE_ALREADY[1]
        async with Participant(launch, "bob") as bob:
            assert any("hello to both" in str(entry) for entry in (await bob.state()).transcript)
            await bob.finish()
        async with Participant(launch, "carl") as carl:
            await carl.talk_until("feedback")
            await carl.finish()
        assert sorted(record.status for record in records(launch)) == ["complete"] * 3
    study.pay_the_new("1.50")  # carl's


async def test_comparisons_of_dialogues_go_on_and_nobody_is_paid_twice(tmp_path: Path) -> None:
    """Guards what the other engine stores: items, beginnings and judgements, of dialogues that stand elsewhere now."""
    study = unpacked("study_0_2", tmp_path)
    dialogues = [str(path) for path in sorted((tmp_path / "chats").glob("*.jsonl"), reverse=True)]
    settings: dict[str, Any] = {"dialogues": dialogues, "judgements_per_group": 6, "items_per_unit": 2}
    overrides = [*LINK, "mephisto.task.task_reward=1.5"]
    async with study_beside(
        study.data_dir, "pw_dialog", task_name=study.task, overrides=overrides, **settings
    ) as launch:
        before = {one.judgement_id: one.answers for one in judgements(launch) if one.status == "complete"}
        assert len(before) == 3
        async with JudgeOfPanel(launch, "ann") as ann:
            assert ann.client.refused == reception.DONE_ALREADY[1]
        async with JudgeOfPanel(launch, "bob") as bob:
            (left,) = await bob.whole_unit()
            assert left.progress is not None
            assert (left.progress.current, left.progress.total) == (2, 2)
        async with JudgeOfPanel(launch, "carl") as carl:
            assert len(await carl.whole_unit()) == 2
        done = judgements(launch)
        assert sorted(one.status for one in done) == ["complete"] * 6
        assert {one.judgement_id: one.answers for one in done if one.judgement_id in before} == before
    study.pay_the_new("1.50")  # carl's
