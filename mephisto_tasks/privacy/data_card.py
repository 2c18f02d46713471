"""The data card of a release: what the data are, how they were made, and what was done so that nobody is named."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import pandas as pd
from pydantic import BaseModel, ConfigDict

from mephisto_tasks.privacy.anonymize import Coarse
from parlai_humaneval import __version__
from parlai_humaneval.materials.consent import Consent
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.schema import TABLE_DESCRIPTIONS, TABLES, TableName
from parlai_humaneval.techniques.registry import UnknownTechnique, technique

JSON_FILE, PAGE, SUMS = "data_card.json", "data_card.md", "SHA256SUMS"
LICENCE = "none was named (--license), so that nobody may use these data"


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
    """All that is said of a release, by programs and by people."""

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


def anonymised(coarse: Coarse) -> list[str]:
    """What was done, in sentences."""
    to_the = "to the day" if coarse == "day" else "to the week"
    return [
        "Names of workers, dialogues, judgements, items, units and replies were drawn by lot for this release, the same in "
        "all its tables; which stands for whom was never written down.",
        f"Dates count from the first day of the study, which is called 2000-01-01, {to_the}; there is no time of day.",
        "Times that raters took are whole seconds, and at least one; times that models took are tenths of a second.",
        "Seeds, and numbers of units and assignments, were left out. Rows stand in an order that tells nothing.",
        "In all texts e-mail addresses, telephone numbers, accounts, worker ids, and names of workers and of who was "
        "invited were replaced by marks such as [e-mail]. Other names cannot be found by a program: somebody has to have "
        "read the texts.",
    ]


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
    """The card of tables that were made anonymous. ``people``: who rated, and whose dialogues were judged."""
    frames = {name: getattr(tables, name) for name in get_args(TableName)}
    return Card(
        name=", ".join(tasks),
        license=licence.strip() or LICENCE,
        techniques=[_technique(name) for name in _distinct(frames, "technique")],
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
        anonymised=anonymised(coarse),
        marks=dict(marks),
    )


def _distinct(frames: Mapping[str, pd.DataFrame], column: str) -> list[str]:
    values = [frame[column].dropna() for frame in frames.values() if column in frame and len(frame)]
    return [str(value) for value in pd.concat(values).drop_duplicates().sort_values()] if values else []


def _technique(name: str) -> TechniqueCard:
    try:
        entry = technique(name)
    except UnknownTechnique:
        return TechniqueCard(name=name, title=name, source="")
    return TechniqueCard(name=name, title=entry.title, source=entry.source)


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


def in_markdown(card: Card) -> str:
    """The card for people."""
    lines = [f"# Data card: {card.name}", "", f"**Licence:** {card.license}", "", f"Made with {card.made_with}.", ""]
    lines += ["## What is in it", "", *(f"- {name}: {number:,}" for name, number in card.counts.items()), ""]
    lines += ["## How it was made", ""]
    lines += [f"- {one.title} (`{one.name}`): {one.source}" for one in card.techniques]
    lines += _list("Questions, word for word", [*card.questions, *card.statements])
    lines += ["## Models", ""]
    lines += [f"- **{one.name}**" + (f": `{_plain(one.settings)}`" if one.settings else "") for one in card.models]
    lines += ["", "The settings of the study stand in `data_card.json`.", ""]
    lines += _list("Left out", card.left_out or ["Nothing."])
    lines += ["## Consent", ""]
    lines += [f"No text is stored with the answers. {card.consent_elsewhere}", ""] if card.consent_elsewhere else []
    for agreed in card.consent:
        lines += [f"### Version {agreed.text.version}, {agreed.people} people: {agreed.text.title}", ""]
        for section in [*agreed.text.text, *agreed.text.privacy]:
            lines += [f"**{section.heading}**" if section.heading else "", *section.lines, ""]
        lines += [f"“{agreed.text.agree}” · contact: {agreed.text.contact}", ""]
    lines += _list("What was done so that nobody is named", card.anonymised)
    lines += [f"- {mark}: {number:,} times" for mark, number in card.marks.items()]
    lines += ["", "## Files", "", "| file | rows | SHA-256 |", "|---|---|---|"]
    lines += [f"| {file.name} | {'' if file.rows is None else file.rows} | `{file.sha256}` |" for file in card.files]
    return "\n".join(lines) + "\n"


def _plain(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, ensure_ascii=False)


def _list(title: str, items: Sequence[str]) -> list[str]:
    return ["", f"## {title}", "", *(f"- {item}" for item in items), ""]


def write_card(card: Card, folder: Path, tables: Tables) -> list[Path]:
    """The card as JSON and as a page, and the checksums of all files as ``sha256sum --check`` reads them."""
    about_files = [_file(path, tables) for path in sorted(folder.iterdir()) if path.is_file()]
    full = card.model_copy(update={"files": about_files})
    as_json, page, sums = folder / JSON_FILE, folder / PAGE, folder / SUMS
    as_json.write_text(full.model_dump_json(indent=2) + "\n", encoding="utf-8")
    page.write_text(in_markdown(full), encoding="utf-8")
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name != SUMS]
    digests = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files]
    sums.write_text("\n".join(digests) + "\n", encoding="utf-8")
    return [as_json, page, sums]
