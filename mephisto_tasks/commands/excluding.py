"""Leaving dialogues and judgements out of a report by quality checks; nothing is deleted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mephisto_tasks.stored.results import read_records, task_names
from parlai_humaneval.protocol.records.judgement import JudgementRecord, Rated
from parlai_humaneval.quality import exclude, exclude_everywhere, known_checks
from parlai_humaneval.quality.verdicts import CheckError, Scope
from parlai_humaneval.report.document import Excluded, Left


def wanted_checks(text: str, of_paper: str) -> tuple[str, ...] | None:
    """“greeting, capitals” → names; ``of_paper`` → None, which means those of each technique's paper.

    Raises:
        CheckError: no name, or an unknown one; the message lists the known ones.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise CheckError(f"--exclude names no check: give names with commas between, or {of_paper!r}")
    return None if names == [of_paper] else known_checks(names)


def leave_out(
    data_dir: Path,
    tasks: Sequence[str],
    records: Sequence[Rated],
    checks: Sequence[str] | None,
    scope: Scope,
    everywhere: bool,
) -> tuple[list[Rated], Excluded]:
    """Those of ``records``, all that was rated in ``tasks``, that are kept; and who was left out, by which check and why.

    With ``everywhere`` all tasks of the data directory are judged, live ones and those on finished dialogues, and who
    fails in any is left out.
    """
    judged: list[str] = []
    if everywhere:
        others = [name for name in task_names(data_dir) if name not in tasks]
        judged = [*tasks, *others]
        everything: dict[str, Sequence[Rated]] = {"": records}
        everything |= {name: read_records(data_dir, name) for name in others}
        kept_by_task, exclusions = exclude_everywhere(everything, checks)
        kept = kept_by_task[""]
    else:
        kept, exclusions = exclude(records, checks, scope)
    return kept, Excluded(**exclusions.model_dump(), tasks=judged, here=_left(records, kept))


def _left(records: Sequence[Rated], kept: Sequence[Rated]) -> Left:
    """What is in ``records`` and not among those ``kept``; a worker counts when nothing of theirs is kept."""
    ids = {_id(record) for record in kept}
    gone = [record for record in records if _id(record) not in ids]
    dialogues = [record for record in gone if not isinstance(record, JudgementRecord)]
    staying = {record.worker for record in kept}
    workers = {record.worker for record in gone} - staying
    return Left(
        dialogues=len(dialogues),
        workers=len(workers),
        simulated=len({record.worker for record in gone if record.simulated} & workers),
        turns=sum(len(record.complete_turns) for record in dialogues),
        judgements=len(gone) - len(dialogues),
    )


def _id(record: Rated) -> tuple[str, str]:
    """Of a dialogue or of a judgement; the two do not meet."""
    if isinstance(record, JudgementRecord):
        return "judgement", record.judgement_id
    return "dialogue", record.dialogue_id
