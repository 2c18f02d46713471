"""A study that version 0.1 stored: it is reported, gone on with and paid by the version of today.

``tests/data/study_0_1.tar.gz`` holds the data of a study by a panel's link, made with version 0.1: ann was done, and
sent back; bob was cut off in his first turn as the launch ended; both had been paid by file. ``report.json`` is its report.
"""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from live import launch_beside, records
from panel_hands import LINK, Participant

from mephisto_tasks.crowds.link import crowd as reception
from parlai_humaneval.cli import main

TASK = "before-live"
STORED = Path(__file__).resolve().parents[1] / "data" / "study_0_1.tar.gz"
SETTINGS: dict[str, Any] = {
    "models": ["eliza", "retrieval"],
    "dialogues_per_group": 3,
    "task_name": TASK,
    "overrides": [*LINK, "mephisto.task.task_reward=1.5"],
}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    with tarfile.open(STORED) as archive:
        archive.extractall(tmp_path)  # a file of ours: filters came with Python 3.11.4
    return tmp_path / "data"


def run(command: str, data_dir: Path, *options: str) -> str:
    done = CliRunner().invoke(main, [command, "--task-name", TASK, "--data-dir", str(data_dir), *options])
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def figures(document: Any) -> Any:
    """A document without what tells versions and machines apart. Words may get better: of remarks and methods their number
    counts, and of other sentences, and of a test's method, the numbers in them."""
    if isinstance(document, dict):
        return {
            key: len(value) if key in ("remarks", "methods") else figures(f"{value}." if key == "method" else value)
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


def paid(data_dir: Path) -> list[tuple[str, str]]:
    """Participant or submission, and amount, of every line that was written for the panel."""
    lines = [line for path in (data_dir / "studies").glob("*/payments/*") for line in path.read_text().splitlines()]
    return sorted((name.strip('"'), amount.strip('"')) for name, _, amount in (line.partition(",") for line in lines))


def test_the_report_is_the_one_of_before(study: Path) -> None:
    before = json.loads((study.parent / "report.json").read_text(encoding="utf-8"))
    draws = str(before["facts"]["draws"])  # those of that version, whatever tests draw
    now = json.loads(run("report", study, "--json", "--draws", draws))
    assert shared(figures(now), figures(before)) == figures(before)


async def test_it_goes_on_and_nobody_is_paid_twice(study: Path) -> None:
    """Guards databases, ledgers and files of studies that run while people install a new version."""
    written = paid(study)
    async with launch_beside(study, **SETTINGS) as launch:
        async with Participant(launch, "ann") as ann:
            assert ann.client.refused == reception.DONE_ALREADY[1]
        async with Participant(launch, "bob") as bob:
            assert any("hello to both" in str(entry) for entry in (await bob.state()).transcript)
            await bob.finish()
        async with Participant(launch, "carl") as carl:
            await carl.talk_until("feedback")
            await carl.finish()
        assert sorted(record.status for record in records(launch)) == ["complete"] * 3
    owed = json.loads(run("pay", study, "--json"))["to_send"]
    assert [payment["amount"] for payment in owed] == ["1.50"]  # carl's
    run("pay", study, "--send", "--yes")
    assert len(paid(study)) == len(written) + 1
    assert set(written) < set(paid(study))
    assert json.loads(run("pay", study, "--json"))["to_send"] == []
