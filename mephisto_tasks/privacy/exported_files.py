"""What commands wrote outside of the data directory, without somebody who is forgotten: each file rewritten, or deleted."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from mephisto_tasks.privacy.erasure_plan import Going
from mephisto_tasks.storage.logs import WrittenFile, note_deleted, note_written, written_files
from parlai_humaneval._util.csv_cells import unguarded, write_rows
from parlai_humaneval._util.files import write_private
from parlai_humaneval.statistics.core.formatting import counted

WORDS = ("text", "raw_text", "human_text", "written_text", "withdrawn", "thoughts", "shown", "prompt", "reply")
"""Columns that hold what was said in a dialogue, which others than its own rater, or models, may have judged."""
FORGOTTEN = "forgotten"

Done = Literal["rewritten", "deleted", "nothing of theirs", "changed since", "not there", "stays"]


class Outside(BaseModel):
    """What becomes of a file; ``rows``: so many went."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    done: Done
    rows: int = 0

    @property
    def words(self) -> str:
        """For people."""
        return {
            "rewritten": f"rewritten without {counted(self.rows, 'row')}"
            if self.rows
            else "rewritten without their words",
            "deleted": "deleted (the command that wrote it makes a new one)",
            "nothing of theirs": "holds nothing of theirs",
            "changed since": "somebody changed it since it was written: LOOK YOURSELF",
            "not there": "is not there any more: if it was moved or copied, LOOK YOURSELF",
            "stays": "stays: it names nobody, and nobody can tell which of its rows are whose",
        }[self.done]


def outside(data_dir: Path, person: Going, called: Sequence[str], *, dry: bool) -> list[Outside]:
    """Every file that was written of the worker's tasks, and what became of it; ``dry``: what would."""
    concerned = [file for file in written_files(data_dir) if set(file.tasks) & set(person.tasks)]
    return [_one(data_dir, file, person, called, dry) for file in concerned]


def _one(data_dir: Path, file: WrittenFile, person: Going, called: Sequence[str], dry: bool) -> Outside:
    path = Path(file.path)
    if file.kind in ("release", "aggregate"):
        return Outside(path=file.path, done="stays")
    if not path.is_file():
        return Outside(path=file.path, done="not there")
    if not file.is_unchanged:
        return Outside(path=file.path, done="changed since")
    if file.kind == "report":
        if not dry:
            path.unlink()
            _remove_empty(path.parent)
            note_deleted(data_dir, file)
        return Outside(path=file.path, done="deleted")
    if file.kind == "links" and path.suffix != ".csv" and any(_plain(name) in _plain(path.stem) for name in called):
        if not dry:
            path.unlink()
            note_deleted(data_dir, file)
        return Outside(path=file.path, done="deleted")
    new, rows = _without(path, person, called)
    if new is None:
        return Outside(path=file.path, done="nothing of theirs")
    if not dry:
        write_private(path, new.encode(), outlasts_power=True)
        note_written(data_dir, file.tasks, file.kind, [path])
    return Outside(path=file.path, done="rewritten", rows=rows)


def _plain(text: str) -> str:
    """As files are named after people."""
    return "".join(filter(str.isalnum, text.lower()))


def _remove_empty(folder: Path) -> None:
    if not any(folder.iterdir()):
        folder.rmdir()


def _without(path: Path, person: Going, called: Sequence[str]) -> tuple[str | None, int]:
    """The file without the worker's rows, None where it has none of them; and how many rows went."""
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    elif path.suffix == ".csv":
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline=""))
        rows = [{name: unguarded(cell) for name, cell in row.items()} for row in reader]
    else:
        return None, 0
    mine = {person.pseudonym, person.name, *called}
    staying = [row for row in rows if not any(isinstance(cell, str) and cell in mine for cell in _who(row))]
    clean = [_cleaned(row, person) for row in staying]
    if clean == rows:
        return None, 0
    text = io.StringIO(newline="")
    if path.suffix == ".jsonl":
        text.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in clean)
    else:
        write_rows(text, list(reader.fieldnames or []), (list(row.values()) for row in clean))
    return text.getvalue(), len(rows) - len(staying)


def _who(row: Mapping[str, Any]) -> list[Any]:
    return [row.get(column) for column in ("worker_id", "worker", "name", "email")]


def _cleaned(row: Mapping[str, Any], person: Going) -> dict[str, Any]:
    """Somebody else's row: the worker's pseudonym goes, and what was said in their dialogues."""
    ids = {name for name in person.dialogues if name}
    told = " ".join(str(row.get(column) or "") for column in ("dialogue_id", "dialogues", "dialogue_a", "dialogue_b"))
    judged = any(name in told for name in ids)
    return {name: "" if judged and name in WORDS else _unnamed(cell, person.pseudonym) for name, cell in row.items()}


def _unnamed(cell: Any, pseudonym: str) -> Any:
    return cell.replace(pseudonym, FORGOTTEN) if isinstance(cell, str) else cell
