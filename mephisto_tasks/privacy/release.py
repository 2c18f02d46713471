"""Stored answers → a folder that may be published, and a list of what was found in texts, which may not.

Whether everybody whose answers are released agreed to that, by the consent texts of the studies.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mephisto_tasks.crowds.registry import crowds
from mephisto_tasks.privacy.anonymize import Anonymizer, Coarse, Review
from mephisto_tasks.privacy.data_card import JSON_FILE, PAGE, SUMS, Card, card_of, write_card
from mephisto_tasks.privacy.pii import Cleaner
from mephisto_tasks.storage.logs import CONSENTS, DECISIONS, text_of
from mephisto_tasks.storage.results import ResultsError, check_task, read_records, task_names
from mephisto_tasks.workers.roster import known_workers, names_of
from parlai_humaneval._util.csv_cells import write_rows
from parlai_humaneval._util.files import write_private
from parlai_humaneval.materials.consent import Consent
from parlai_humaneval.schema.records import JudgementRecord, Rated
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import check_free, write_tables


class ReleaseError(ResultsError):
    """Answers that may not be released so; the message says why, and what to do."""


@dataclass(frozen=True)
class Agreed:
    """``texts``: those that people agreed to, and how many did. ``uncovered``: pseudonyms of who agreed to no release."""

    texts: list[tuple[Consent, int]]
    uncovered: list[str]


def people_of(records: Sequence[Rated]) -> set[str]:
    """Pseudonyms of the people in whose words or answers ``records`` consist: raters, and whose dialogues were judged."""
    judged = {
        shown.replayed.worker
        for record in records
        if isinstance(record, JudgementRecord)
        for shown in record.dialogues
        if shown.replayed is not None and shown.replayed.worker
    }
    return {record.worker for record in records if not record.simulated} | judged


def agreed(data_dir: Path, tasks: Collection[str], people: Collection[str]) -> Agreed:
    """What each of these people agreed to: in one of the tasks, or, whose dialogues were judged there, in another."""
    agreed_to: dict[str, set[str]] = defaultdict(set)
    texts: dict[str, Consent] = {}
    covered: set[str] = set()
    for task in dict.fromkeys([*tasks, *task_names(data_dir)]):
        of_task = {(line.worker, line.digest) for line in CONSENTS.read(data_dir, task) if line.worker in people}
        for worker, digest in of_task:
            text = text_of(data_dir, task, digest)
            if text is None:
                continue
            if task in tasks or worker not in covered:
                agreed_to[digest].add(worker)
                texts[digest] = text
            if text.covers_release:
                covered.add(worker)
    return Agreed([(text, len(agreed_to[digest])) for digest, text in texts.items()], sorted(set(people) - covered))


def check_covered(found: Agreed, people: Collection[str], without_text: str) -> None:
    """Nothing is released that somebody did not agree to.

    Args:
        found: what they agreed to.
        people: all of them.
        without_text: why it may be released although no text is stored here; empty: nobody says so.

    Raises:
        ReleaseError: the message says what to do.
    """
    if not found.uncovered or (not found.texts and without_text.strip()):
        return
    if not found.texts:
        raise ReleaseError(
            "no consent text is stored with these answers, so that nothing here says that they may be published",
            try_=(
                "if people agreed elsewhere (on paper, at the panel), say how, for the data card: "
                '--without-consent-text "Signed forms, ethics board 12/26"',
                "for a next study: consent_file=…",
            ),
        )
    raise ReleaseError(
        f"{len(found.uncovered)} of {len(people)} people never agreed to a text that says that answers "
        "may be published (covers_release), so nothing was written: "
        f"{', '.join(found.uncovered[:5])}{' …' if len(found.uncovered) > 5 else ''}",
        try_="leave them out (--only-who-agreed), or ask them: a new version of the text with covers_release: "
        "true asks everybody who comes again",
    )


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
    if any(DECISIONS.exists(data_dir, task) for task in wanted.tasks):
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
            f"{wanted.review} would be part of the release: it holds what must not be published", try_="name another"
        )
    if wanted.review.exists() and not wanted.force:
        raise TableError(f"{wanted.review} is there already", try_="--force replaces it, --review names another file")


def _ours(folder: Path) -> list[Path]:
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
    workers = {form for known in known_workers(data_dir).values() for form in (*names_of(known.name), known.pseudonym)}
    invited = {name for crowd in crowds() for name in crowd.people(data_dir, wanted.tasks)}
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
