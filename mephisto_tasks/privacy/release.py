"""Stored answers → a folder that may be published (if everybody agreed), with its data card, and texts to review."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd
from jinja2 import Environment, FileSystemLoader
from pydantic import BaseModel, ConfigDict

from mephisto_tasks.crowds.registry import crowds
from mephisto_tasks.privacy.anonymize import Anonymizer, Cleaner, Coarse
from mephisto_tasks.storage.locks import image_store
from mephisto_tasks.storage.logs import CONSENTS, DECISIONS, text_of
from mephisto_tasks.storage.results import ResultsError, check_task, read_records, task_names
from mephisto_tasks.workers.roster import known_workers, names_of
from parlai_humaneval._util import __version__
from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval._util.files import write_private
from parlai_humaneval._util.text import csv_text
from parlai_humaneval.display.images import SUFFIX
from parlai_humaneval.materials.consent import Consent
from parlai_humaneval.schema.records import JudgementRecord, Rated
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.columns import TableError, Tables
from parlai_humaneval.tables.files import check_free, write_tables
from parlai_humaneval.tables.filters import rater_kinds
from parlai_humaneval.tables.schema import TABLE_DESCRIPTIONS, TABLES, TableName
from parlai_humaneval.techniques.registry import techniques
from parlai_humaneval.viewer.entries import entries
from parlai_humaneval.viewer.write import check_folder, viewer_files, write_viewer

JSON_FILE, PAGE, SUMS = "data_card.json", "data_card.md", "SHA256SUMS"
TEMPLATES = str(Path(__file__).parent / "templates")
WORDS: dict[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))
LICENCE = "no license was named (--license), so nobody may use these data"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TechniqueCard(_Part):
    name: str
    title: str
    source: str


class ModelCard(_Part):
    """``settings``: of its replies, as stored with the answers; empty where they are not."""

    name: str
    settings: dict[str, Any]


class ConsentCard(_Part):
    """``people``: so many of the release agreed to this text."""

    people: int
    text: Consent


class Column(_Part):
    name: str
    data_type: str
    description: str


class File(_Part):
    """``rows``: of a table, with its columns."""

    name: str
    sha256: str
    rows: int | None = None
    description: str = ""
    columns: list[Column] = []


class Card(_Part):
    name: str
    license: str
    made_with: str = f"parlai-humaneval {__version__}"
    techniques: list[TechniqueCard]
    questions: list[str]
    statements: list[str]
    models: list[ModelCard]
    settings: list[dict[str, Any]]
    counts: dict[str, int]
    left_out: list[str]
    consent: list[ConsentCard]
    consent_elsewhere: str
    anonymised: list[str]
    marks: dict[str, int]
    files: list[File] = []


def card_of(
    tables: Tables,
    *,
    tasks: Sequence[str],
    people: int,
    coarse: Coarse,
    marks: Mapping[str, int],
    left_out: Sequence[str],
    consent: Sequence[tuple[Consent, int]],
    consent_elsewhere: str,
    licence: str,
) -> Card:
    """The card of tables that were made anonymous. ``people``: the raters, and the people whose dialogues were judged."""
    frames = {name: getattr(tables, name) for name in get_args(TableName)}
    known = techniques()
    return Card(
        name=", ".join(tasks),
        license=licence.strip() or LICENCE,
        techniques=[
            TechniqueCard(name=name, title=known[name].title, source=known[name].source)
            if name in known
            else TechniqueCard(name=name, title=name, source="")
            for name in _distinct(frames, "technique")
        ],
        questions=_distinct(frames, "question"),
        statements=_distinct(frames, "statement"),
        models=_models(frames),
        settings=[json.loads(text) for text in _distinct(frames, "settings")],
        counts={
            "people": people,
            "dialogues": len(frames["dialogues"]),
            "judgements": len(frames["judgements"]),
            "comparisons": len(frames["comparisons"]),
            "ratings": len(frames["ratings"]),
        },
        left_out=list(left_out),
        consent=[ConsentCard(people=number, text=text) for text, number in consent],
        consent_elsewhere=consent_elsewhere,
        anonymised=[sentence.format(coarse=coarse) for sentence in WORDS["anonymised"]],
        marks=dict(marks),
    )


def _distinct(frames: Mapping[str, pd.DataFrame], column: str) -> list[str]:
    values = [frame[column].dropna() for frame in frames.values() if column in frame and len(frame)]
    return [str(value) for value in pd.concat(values).drop_duplicates().sort_values()] if values else []


def _models(frames: Mapping[str, pd.DataFrame]) -> list[ModelCard]:
    """The models with their settings; of those of finished dialogues that were judged only the names are known."""
    known: dict[str, ModelCard] = {}
    for text in _distinct(frames, "model_settings"):
        for settings in json.loads(text):
            known.setdefault(json.dumps(settings, sort_keys=True), ModelCard(name=settings["name"], settings=settings))
    with_settings = {model.name for model in known.values()}
    names = {name for column in ("model", "model_a", "model_b") for name in _distinct(frames, column)}
    others = [ModelCard(name=name, settings={}) for name in names - with_settings]
    return sorted([*known.values(), *others], key=lambda model: model.name)


def _file(path: Path, tables: Tables) -> File:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    name = next((name for name in get_args(TableName) if name == path.stem), None)
    if name is None:
        return File(name=path.name, sha256=digest)
    columns = [Column(name=one.name, data_type=one.kind, description=one.description) for one in TABLES[name]]
    rows = len(getattr(tables, name))
    return File(name=path.name, sha256=digest, rows=rows, description=TABLE_DESCRIPTIONS[name], columns=columns)


def write_card(card: Card, folder: Path, tables: Tables) -> list[Path]:
    """The card as JSON and as a page, and the checksums of all files as ``sha256sum --check`` reads them."""
    about_files = [_file(path, tables) for path in sorted(folder.iterdir()) if path.is_file()]
    full = card.model_copy(update={"files": about_files})
    as_json, page, sums = folder / JSON_FILE, folder / PAGE, folder / SUMS
    as_json.write_text(full.model_dump_json(indent=2) + "\n", encoding="utf-8")
    templates = Environment(loader=FileSystemLoader(TEMPLATES), trim_blocks=True, lstrip_blocks=True)
    template, to_json = templates.get_template("data_card.md.j2"), partial(json.dumps, ensure_ascii=False)
    page.write_text(template.render(card=full, json=to_json), encoding="utf-8")
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name != SUMS]
    digests = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files]
    sums.write_text("\n".join(digests) + "\n", encoding="utf-8")
    return [as_json, page, sums]


@dataclass(frozen=True)
class ReleaseConsent:
    """``texts``: those with people's consent, and how many gave it. ``uncovered``: pseudonyms without it."""

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


def agreed(data_dir: Path, tasks: Collection[str], people: Collection[str]) -> ReleaseConsent:
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
    return ReleaseConsent(
        [(text, len(agreed_to[digest])) for digest, text in texts.items()], sorted(set(people) - covered)
    )


@dataclass(frozen=True)
class Wanted:
    """``without_text``: why no consent text is here; ``regions``: ISO codes whose telephone numbers are found without +."""

    tasks: Sequence[str]
    folder: Path
    review: Path
    file_format: Literal["csv", "jsonl"] = "csv"
    coarse: Coarse = "day"
    only_who_agreed: bool = False
    without_text: str = ""
    regions: Sequence[str] = ("US", "GB")
    licence: str = ""
    with_viewer: bool = False
    with_images: bool = False
    force: bool = False


@dataclass(frozen=True)
class Released:
    """The written release. ``review``: the list of what was found; None: nothing was."""

    card: Card
    files: list[Path]
    review: Path | None


def release(data_dir: Path, wanted: Wanted) -> Released:
    """Write a release; all of it, or nothing. Raises ResultsError, TableError."""
    check_free(wanted.folder, force=wanted.force)
    if wanted.with_viewer:
        check_folder(wanted.folder / "viewer", force=wanted.force)
    if wanted.folder in wanted.review.resolve().parents:
        what = f"{wanted.review} would be part of the release: it contains data that must not be published"
        raise TableError(what, try_="name another")
    if wanted.review.exists() and not wanted.force:
        raise TableError(f"{wanted.review} already exists", try_="--force replaces it, --review names another file")
    for task in wanted.tasks:
        check_task(data_dir, task)
    records = [record for task in wanted.tasks for record in read_records(data_dir, task)]
    people = people_of(records)
    found = agreed(data_dir, wanted.tasks, people)
    left_out: list[str] = []
    if wanted.only_who_agreed:
        kept = [record for record in records if record.simulated or not people_of([record]) & set(found.uncovered)]
        if gone := len(records) - len(kept):
            many = counted(gone, "record")
            left_out.append(f"{many} with words or answers from people who did not agree to a release.")
        records = kept
        people -= set(found.uncovered)
        found = agreed(data_dir, wanted.tasks, people)
    if any(DECISIONS.exists(data_dir, task) for task in wanted.tasks):
        left_out.append(WORDS["log_left_out"])
    if found.uncovered and (
        found.texts or not wanted.without_text.strip()
    ):  # somebody did not agree, or nobody was asked
        if not found.texts:
            raise ResultsError(WORDS["no_text"], try_=tuple(WORDS["no_text_advice"]))
        names = f"{', '.join(found.uncovered[:5])}{' …' if len(found.uncovered) > 5 else ''}"
        what = WORDS["uncovered"].format(number=len(found.uncovered), people=len(people), names=names)
        raise ResultsError(what, try_=WORDS["uncovered_advice"])
    workers = {form for known in known_workers(data_dir).values() for form in (*names_of(known.name), known.pseudonym)}
    invited = {name for crowd in crowds() for name in crowd.people(data_dir, wanted.tasks)}
    anonymizer = Anonymizer(Cleaner(invited, workers, wanted.regions), wanted.coarse, digests=wanted.with_images)
    clean = anonymizer.tables(tables(records))
    images = anonymizer.images(records)
    if images and not wanted.with_images:
        left_out.append(f"{counted(len(images), 'picture')} of messages and replies.")
        images = []
    stores = [image_store(data_dir, task) for task in wanted.tasks]
    digests = sorted({str(row["digest"]) for row in images})
    read = {digest: [store.read(digest) for store in stores] for digest in digests}
    pictures = {digest: one for digest, contents in read.items() for one in filter(None, contents)}
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
        written = write_tables(clean, Path(draft), wanted.file_format)
        if images:  # by their digests, and a table of whose they are
            contents = {"images.csv": csv_text(images[0], (row.values() for row in images)).encode()}
            contents |= {f"{digest}{SUFFIX}": content for digest, content in pictures.items()}
            for name, content in contents.items():
                written.append(Path(draft) / name)
                written[-1].write_bytes(content)
        written += write_card(card, Path(draft), clean)
        wanted.folder.mkdir(exist_ok=True)
        ours = {JSON_FILE, PAGE, SUMS, "README.md"}
        for path in list(wanted.folder.iterdir()):
            if path.is_file() and (path.name in ours or path.suffix in (".csv", ".jsonl", SUFFIX)):
                path.unlink()
        for path in written:
            os.replace(path, wanted.folder / path.name)
    views: list[Path] = []
    if wanted.with_viewer:
        note = rater_kinds(clean).note
        made = viewer_files(entries(clean, pictures), title=card.name, note=note, pictures=pictures)
        views = write_viewer(made, wanted.folder / "viewer", force=wanted.force)
    if anonymizer.reviews:
        rows = (
            (found.mark, found.text, review.table, review.column, review.row, found.before, found.after)
            for review in anonymizer.reviews
            for found in [review.found]
        )
        columns = ("mark", "found", "table", "column", "row", "before", "after")
        write_private(wanted.review, csv_text(columns, rows).encode())
    files = [*(wanted.folder / path.name for path in written), *views]
    return Released(card, files, wanted.review if anonymizer.reviews else None)
