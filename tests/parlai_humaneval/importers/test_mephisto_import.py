"""A Mephisto data directory of ParlAI's own tasks → tables; it is read only, and other tasks are named."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from parlai_samples import sample

from parlai_humaneval.tables.files import read_tables

QUESTION = "Please rate how human your partner sounds. (1: Very inhuman, 5: Very human)"
BLUEPRINT = {"final_rating_question": f"{QUESTION}|Was it kind?", "annotation_question": "Tick what is true."}


class DataDirectory:
    """A data directory as Mephisto makes it: database, and files of every rater."""

    def __init__(self, folder: Path) -> None:
        from mephisto_tasks._util.compat import prepare

        prepare()
        from mephisto.abstractions.databases.local_database import LocalMephistoDB

        folder.mkdir(parents=True)
        self.folder = folder
        self._db = LocalMephistoDB(str(folder / "database.db"))
        self._requester = self._db.new_requester("researcher", "mock")
        self._runs: dict[str, tuple[str, str]] = {}
        self._workers: dict[str, str] = {}

    def add(
        self, task: str, blueprint: str, worker: str, state: Any, status: str = "completed", index: int = 0
    ) -> Path:
        """A unit that ``worker`` did, with the file that the agent state of ``blueprint`` writes; returns the file."""
        import yaml

        db = self._db
        if task not in self._runs:
            task_id = db.new_task(task, blueprint)
            # As Mephisto's operator stores it: YAML, as a JSON text.
            settings = json.dumps(yaml.safe_dump({"blueprint": BLUEPRINT}))
            self._runs[task] = task_id, db.new_task_run(task_id, self._requester, settings, "mock", blueprint)
        if worker not in self._workers:
            self._workers[worker] = db.new_worker(worker, "mock")
        task_id, run = self._runs[task]
        assignment = db.new_assignment(task_id, run, self._requester, blueprint, "mock")
        unit = db.new_unit(task_id, run, self._requester, assignment, index, 0.0, "mock", blueprint)
        agent = db.new_agent(self._workers[worker], unit, task_id, run, assignment, blueprint, "mock")
        db.update_agent(agent, status)
        name = "agent_data.json" if "acute" in blueprint else "state.json"
        path = self.folder / "data" / "runs" / "NO_PROJECT" / run / assignment / agent / name
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(state), encoding="utf-8")
        return path


@pytest.fixture
def stored(tmp_path: Path) -> DataDirectory:
    """Three of ParlAI's tasks and one of ours; one worker left, one unit is a screening, one is in two tasks."""
    study = DataDirectory(tmp_path / "mephisto")
    study.add("chats", "model_chat_blueprint", "A1PARLAIWORKER", sample("model_chat_state.json"))
    study.add("chats", "model_chat_blueprint", "LEFTWORKER", {"inputs": {}, "outputs": {"messages": []}}, "disconnect")
    study.add("chats", "model_chat_blueprint", "SCREENED", sample("model_chat_state.json"), index=-1)
    study.add("turns", "per_turn_eval_blueprint", "A2PARLAIWORKER", sample("per_turn_state.json"), "approved")
    study.add("pairs", "fast_acute", "A1PARLAIWORKER", sample("acute_agent_data.json"))
    study.add("ours", "engine", "A1PARLAIWORKER", {})
    return study


def fingerprint(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def test_all_tasks_of_parlai_are_read_and_nothing_is_changed(command, stored: DataDirectory):
    """Results of each in its table; who left is counted; ours is named; database and files stay as they are."""
    before = fingerprint(stored.folder)
    done = command("--from", "mephisto", stored.folder, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rows"] == {"turns": 9, "dialogues": 2, "comparisons": 5, "ratings": 2, "judgements": 3}
    assert found["left_out"]["Mephisto's status is disconnect"] == 1
    assert found["notes"] == ["'ours' (blueprint engine) is not one of ParlAI's own tasks, so it was left out."]
    assert found["workers"] == 2
    assert fingerprint(stored.folder) == before
    tables = read_tables(command.out)
    assert set(tables.dialogues["task_name"]) == {"chats", "turns"}
    assert tables.judgements["worker_id"].iloc[0] in set(tables.ratings["worker_id"])


def test_questions_come_from_the_settings_of_the_launch(command, stored: DataDirectory):
    """The answers do not hold them; a known wording names its criterion."""
    assert command("--from", "mephisto", stored.folder / "database.db", "--task-name", "chats").exit_code == 0
    tables = read_tables(command.out)
    assert tables.ratings["criterion"].tolist() == ["humanness", "final_rating_2"]
    assert tables.ratings["statement"].tolist() == [QUESTION, "Was it kind?"]
    assert set(tables.turns["question"]) == {"Tick what is true."}
    assert tables.comparisons.empty


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--task-name", "ours"], "task 'ours' was run by the blueprint engine"),
        (["--task-name", "nothing"], "there is no task 'nothing' in"),
    ],
)
def test_other_tasks_are_refused_by_name(command, stored: DataDirectory, arguments: list[str], words: str):
    """Our own are written by export; an unknown one lists those there are."""
    done = command("--from", "mephisto", stored.folder, *arguments)
    assert done.exit_code == 1
    assert words in done.stderr
    assert not command.out.exists()


def test_a_directory_without_tasks_of_parlai(command, tmp_path: Path):
    """It says which tasks it has."""
    study = DataDirectory(tmp_path / "mephisto")
    study.add("ours", "engine", "A1PARLAIWORKER", {})
    done = command("--from", "mephisto", study.folder)
    assert done.exit_code == 1
    assert "no task of ParlAI's own" in done.stderr
    assert "'ours' (blueprint engine)" in done.stderr


def test_no_database_and_no_mephisto_database(command, tmp_path: Path):
    """Both are sentences."""
    done = command("--from", "mephisto", tmp_path)
    assert done.exit_code == 1
    assert f"database in {tmp_path}" in " ".join(done.stderr.split())
    (tmp_path / "database.db").write_text("something else, long enough to be read as a page")
    done = command("--from", "mephisto", tmp_path)
    assert done.exit_code == 1
    assert "a Mephisto 1.x database" in done.stderr


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.unlink(), "there is no such file, though Mephisto's status is completed"),
        (lambda path: path.write_text("{"), "not JSON"),
        (lambda path: path.write_text("[]"), "holds no object"),
    ],
)
def test_a_file_that_is_gone_or_broken_is_named(command, tmp_path: Path, spoil: Any, words: str):
    """Refused; with --skip-bad the others come, and it is listed."""
    study = DataDirectory(tmp_path / "mephisto")
    study.add("turns", "per_turn_eval_blueprint", "A2PARLAIWORKER", sample("per_turn_state.json"))
    path = study.add("turns", "per_turn_eval_blueprint", "A3PARLAIWORKER", sample("per_turn_state.json"))
    spoil(path)
    done = command("--from", "mephisto", study.folder)
    assert done.exit_code == 1
    assert words in done.stderr
    assert str(path) in done.stderr
    done = command("--from", "mephisto", study.folder, "--skip-bad", "--json")
    assert json.loads(done.stdout)["units"] == 1
    assert str(path) in json.loads(done.stdout)["skipped"][0]


def test_the_key_of_the_data_directory_gives_the_pseudonyms_of_export(stored: DataDirectory, tmp_path, monkeypatch):
    """A worker who did our tasks and ParlAI's has one name in both."""
    from click.testing import CliRunner

    from mephisto_tasks.cli.import_data import import_tables
    from parlai_humaneval.schema.pseudonyms import Pseudonymizer

    monkeypatch.setenv("PARLAI_HUMANEVAL_DATA_DIR", str(tmp_path / "elsewhere"))
    key = Pseudonymizer.load_or_create(stored.folder / "pseudonym.key")
    out = tmp_path / "own"
    done = CliRunner().invoke(import_tables, ["--from", "mephisto", str(stored.folder), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert set(read_tables(out).turns["worker_id"]) == {key.worker("A1PARLAIWORKER"), key.worker("A2PARLAIWORKER")}
    assert not (tmp_path / "elsewhere").exists()


def test_mephisto_is_not_imported(stored: DataDirectory, tmp_path: Path):
    """Reading needs neither Mephisto's own code nor torch: both take many seconds."""
    import subprocess

    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from mephisto_tasks.cli.import_data import import_tables\n"
        f"done = CliRunner().invoke(import_tables, ['--from', 'mephisto', {str(stored.folder)!r},"
        f" '--out', {str(tmp_path / 'o')!r}, '--key', {str(tmp_path / 'k')!r}])\n"
        "assert done.exit_code == 0, done.output\n"
        "print([name for name in ('mephisto', 'parlai', 'torch') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
