"""What leaves with ``export``: no worker's own name, whatever a worker wrote; several tasks in one folder."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result

from parlai_humaneval.tables.files import read_tables

WORKER = "A1RATERNUMBER77"


def stored_study() -> ModuleType:
    """The helper of the tests of stored studies; it stands in another folder of tests."""
    path = Path(__file__).resolve().parents[2] / "mephisto_tasks" / "stored_study.py"
    spec = importlib.util.spec_from_file_location("stored_study_of_export", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks of one worker and another; the one writes their own id into a message."""
    from mephisto_tasks._util.compat import prepare

    prepare()
    helper = stored_study()
    study = helper.StoredStudy(tmp_path_factory.mktemp("names") / "data")
    helper.MESSAGE = f"My id is {WORKER}, pay me"
    study.add("first", f"{WORKER}_sandbox", [*helper.choices("d1", [[1], [2]])])
    helper.MESSAGE = "Hello"
    study.add("first", "w2", [*helper.choices("d2", [[1], [1]])])
    study.add("second", f"{WORKER}_sandbox", [*helper.choices("d3", [[2], [2]], setting="soba")])
    folder: Path = study.data_dir
    return folder


def run(data_dir: Path, out: Path, *arguments: str) -> Result:
    from mephisto_tasks.cli.report import export

    given: list[Any] = [*arguments, "--data-dir", str(data_dir), "--out", str(out), "--json"]
    return CliRunner().invoke(export, given)


def test_several_tasks_go_into_one_folder(data_dir: Path, tmp_path: Path):
    """A worker of both has one pseudonym, and the tables say which row is of which task."""
    done = run(data_dir, tmp_path / "out", "--task-name", "first", "--task-name", "second")
    assert done.exit_code == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["tasks"], facts["dialogues"], facts["workers"]) == (["first", "second"], 3, 2)
    dialogues = read_tables(tmp_path / "out").dialogues.set_index("dialogue_id")
    assert dialogues["task_name"].to_dict() == {"d1": "first", "d2": "first", "d3": "second"}
    assert dialogues["worker_id"]["d1"] == dialogues["worker_id"]["d3"] != dialogues["worker_id"]["d2"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_no_file_holds_a_workers_name(data_dir: Path, tmp_path: Path, form: str):
    """Neither as an id nor in what they typed, with or without the ending of the sandbox; no Mephisto id of theirs."""
    done = run(data_dir, tmp_path / "out", "--task-name", "first", "--format", form)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["texts_with_names"] > 0
    for path in (tmp_path / "out").iterdir():
        assert WORKER not in path.read_text(encoding="utf-8"), path.name
    tables = read_tables(tmp_path / "out")
    worker = tables.dialogues.set_index("dialogue_id")["worker_id"]["d1"]
    assert tables.turns["human_text"].iloc[0].startswith(f"My id is {worker}, pay me")
    for frame in (tables.turns, tables.dialogues, tables.comparisons):
        assert not {"agent_id", "worker_name", "mephisto_worker_id"} & set(frame.columns)
        assert frame["worker_id"].str.fullmatch("w[0-9a-f]{12}").all()


def test_the_key_does_not_leave(data_dir: Path, tmp_path: Path):
    """With it anybody could test names."""
    run(data_dir, tmp_path / "out", "--task-name", "first")
    assert (data_dir / "pseudonym.key").is_file()
    assert not [path for path in (tmp_path / "out").rglob("*") if "key" in path.name]


def test_texts_without_names_stay_as_they_are(data_dir: Path, tmp_path: Path):
    """“w2” is too short to be looked for: it may mean anything."""
    done = run(data_dir, tmp_path / "out", "--task-name", "second")
    assert json.loads(done.stdout)["texts_with_names"] == 0
