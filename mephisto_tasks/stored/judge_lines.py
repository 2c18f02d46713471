"""What judges answered, in a file of the study's own: Mephisto's database holds what people did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter

from mephisto_tasks.stored.lines_file import append_line, drop_lines, read_lines
from mephisto_tasks.stored.only_one import only_one
from mephisto_tasks.stored.study_folder import FOLDER, study_folder
from parlai_humaneval.protocol.records.judge_answer import AnyLine, JudgeLine

FILE = "judges.jsonl"
LOCK = "judges.lock"
_LINE: TypeAdapter[AnyLine] = TypeAdapter(JudgeLine)


class JudgingElsewhere(RuntimeError):
    """Another process asks a judge about the same task."""


def judge_lines(data_dir: Path, task_name: str) -> list[AnyLine]:
    """All that judges answered in a task, oldest first; nothing where none was asked."""
    return read_lines(study_folder(data_dir, task_name) / FILE, _LINE)


def keep_line(data_dir: Path, task_name: str, line: AnyLine) -> None:
    """Write a line down; it is on the disk afterwards."""
    append_line(study_folder(data_dir, task_name) / FILE, line)


@contextmanager
def only_judging(data_dir: Path, task_name: str) -> Iterator[None]:
    """Nobody else asks a judge about the task meanwhile, which would be paid twice.

    Raises:
        JudgingElsewhere: somebody does.
    """

    def refusal(holder: str) -> JudgingElsewhere:
        return JudgingElsewhere(
            f"a judge is being asked about task {task_name!r} already (process {holder}). Wait until that has ended; the "
            "same command then asks what is missing"
        )

    with only_one(study_folder(data_dir, task_name) / LOCK, refusal):
        yield


def drop_judged(data_dir: Path, dialogues: Sequence[str]) -> int:
    """Take out what judges read and said of these dialogues, in every task: their words stand there.

    Returns how many lines went.
    """
    # Of two partners side by side, the dialogue with each has the id, a colon, and more; so has each thing that is judged.
    names = [f'"{dialogue}{end}'.encode() for dialogue in dialogues for end in ('"', ":")]
    files = sorted((data_dir / FOLDER).glob(f"*/{FILE}")) if names else []
    return sum(drop_lines(path, lambda line: any(name in line for name in names)) for path in files)
