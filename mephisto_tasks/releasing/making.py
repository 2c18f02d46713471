"""Stored answers → a folder that may be published, and a list of what was found in texts, which may not."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mephisto_tasks.crowds.link.invitations.book import Book
from mephisto_tasks.releasing.anonymous import Anonymizer, Coarse, Review
from mephisto_tasks.releasing.card import JSON_FILE, PAGE, SUMS, Card, card_of, write_card
from mephisto_tasks.releasing.covered import Agreed, agreed, check_covered, people_of
from mephisto_tasks.releasing.private_texts import Cleaner
from mephisto_tasks.stored.deciding_lines import is_deciding
from mephisto_tasks.stored.results import check_task, read_records
from mephisto_tasks.stored.study_folder import study_folder
from mephisto_tasks.workers.known_workers import known_workers, names_of
from parlai_humaneval.private_files import write_private
from parlai_humaneval.protocol.records.judgement import Rated
from parlai_humaneval.statistics.wording import counted
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import check_free, write_tables
from parlai_humaneval.tables.formulas import write_rows
from parlai_humaneval.tables.from_records import tables

LOG_LEFT_OUT = (
    "The log of decisions of a study that ended when it was decided: who came when, and in which order, stands in it. "
    "Estimates of these data are biased a little by the stopping, and intervals of a study of fixed size too sure."
)


@dataclass(frozen=True)
class Wanted:
    """``only_who_agreed``: whoever did not agree to a release is left out. ``without_text``: why no consent text is here.

    ``regions``: countries whose telephone numbers are found without +, by ISO codes.
    """

    tasks: Sequence[str]
    folder: Path
    review: Path
    file_format: Literal["csv", "jsonl"] = "csv"
    coarse: Coarse = "day"
    only_who_agreed: bool = False
    without_text: str = ""
    regions: Sequence[str] = ("US", "GB")
    licence: str = ""
    force: bool = False


@dataclass(frozen=True)
class Released:
    """What was written. ``review``: the list of what was found; None: nothing was."""

    card: Card
    files: list[Path]
    review: Path | None


def release(data_dir: Path, wanted: Wanted) -> Released:
    """Write a release; all of it, or nothing.

    Raises:
        ReleaseError: somebody did not agree to it.
        ResultsError: no such task, or answers that cannot be read.
        TableError: the folder is not free.
    """
    _check_free(wanted)
    for task in wanted.tasks:
        check_task(data_dir, task)
    records = [record for task in wanted.tasks for record in read_records(data_dir, task)]
    people = people_of(records)
    found = agreed(data_dir, wanted.tasks, people)
    left_out: list[str] = []
    if wanted.only_who_agreed:
        records, left_out = _only_covered(records, found)
        people -= set(found.uncovered)
        found = agreed(data_dir, wanted.tasks, people)
    if any(is_deciding(data_dir, task) for task in wanted.tasks):
        left_out.append(LOG_LEFT_OUT)
    check_covered(found, people, wanted.without_text)
    anonymizer = Anonymizer(_cleaner(data_dir, wanted), wanted.coarse)
    clean = anonymizer.tables(tables(records))
    card = card_of(
        clean,
        tasks=wanted.tasks,
        people=len(people),
        coarse=wanted.coarse,
        marks=anonymizer.counts(),
        left_out=left_out,
        consent=found.texts,
        consent_elsewhere="" if found.texts else wanted.without_text.strip(),
        licence=wanted.licence,
    )
    wanted.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wanted.folder.parent, prefix=".writing-") as draft:
        written = [*write_tables(clean, Path(draft), wanted.file_format), *write_card(card, Path(draft), clean)]
        wanted.folder.mkdir(exist_ok=True)
        for path in _ours(wanted.folder):
            path.unlink()
        for path in written:
            os.replace(path, wanted.folder / path.name)
    if anonymizer.reviews:
        write_private(wanted.review, _listed(anonymizer.reviews).encode())
    files = [wanted.folder / path.name for path in written]
    return Released(card, files, wanted.review if anonymizer.reviews else None)


def _check_free(wanted: Wanted) -> None:
    check_free(wanted.folder, force=wanted.force)
    if wanted.folder in wanted.review.resolve().parents:
        raise TableError(
            f"{wanted.review} would be part of the release: it holds what must not be published. Name another"
        )
    if wanted.review.exists() and not wanted.force:
        raise TableError(f"{wanted.review} is there already; --force replaces it, --review names another file")


def _ours(folder: Path) -> list[Path]:
    """What an earlier export or release left in the folder."""
    names = {JSON_FILE, PAGE, SUMS, "README.md"}
    return [
        path
        for path in folder.iterdir()
        if path.is_file() and (path.name in names or path.suffix in (".csv", ".jsonl"))
    ]


def _only_covered(records: Sequence[Rated], found: Agreed) -> tuple[list[Rated], list[str]]:
    """The records of people who agreed, in which nobody else's dialogue was judged; and what was left out, in words."""
    kept = [record for record in records if record.simulated or not people_of([record]) & set(found.uncovered)]
    gone = len(records) - len(kept)
    words = f"{counted(gone, 'record')} with words or answers of people who did not agree to a release."
    return kept, [words] if gone else []


def _cleaner(data_dir: Path, wanted: Wanted) -> Cleaner:
    """Knows everybody who was ever here, or invited."""
    workers = {form for known in known_workers(data_dir).values() for form in (*names_of(known.name), known.pseudonym)}
    folders = (study_folder(data_dir, task) for task in wanted.tasks)
    people = [invitation for folder in folders for invitation in Book(folder).all() if invitation.seats is None]
    invited = {name for person in people for name in (person.name, person.email)}
    return Cleaner(invited, workers, wanted.regions)


def _listed(reviews: Sequence[Review]) -> str:
    """What was found, for whoever reads it once more; each time it stands in the release."""
    text = io.StringIO(newline="")
    rows = (
        (found.mark, found.text, review.table, review.column, review.row, found.before, found.after)
        for review in reviews
        for found in [review.found]
    )
    write_rows(text, ("mark", "found", "table", "column", "row", "before", "after"), rows)
    return text.getvalue()
