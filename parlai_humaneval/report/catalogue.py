"""All sections, in the order of a report; each is built only where its table holds something."""

from __future__ import annotations

from importlib import import_module

from parlai_humaneval.report.section import Builder, Options, Section
from parlai_humaneval.tables.counting import taken_as_finished
from parlai_humaneval.tables.from_records import Tables

SECTIONS = (
    "turns",
    "free_for_all",
    "comparisons",
    "rankings",
    "direct_assessment",
    "likert",
    "segments",
    "agreement",
    "design",
    "crowd_time",
    "justifications",
    "replies",
)
"""Each is a module (or package) beside this one with a ``build(tables, options)``, and a key of the report's JSON."""


def sections(tables: Tables, options: Options | None = None) -> dict[str, Section]:
    """Key → section, of all that the tables give.

    Raises:
        TableError: a table cannot be used; the message says why.
    """
    chosen = options or Options()
    counted = taken_as_finished(tables) if chosen.include_partial else tables
    found = {key: _builder(key)(counted, chosen) for key in SECTIONS}
    return {key: section for key, section in found.items() if section is not None}


def _builder(key: str) -> Builder:
    build: Builder = import_module(f"{__package__}.sections.{key}").build
    return build
