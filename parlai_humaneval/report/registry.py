"""All sections, in the order of a report; each is built only where its table holds something."""

from __future__ import annotations

from importlib import import_module

from parlai_humaneval._util.plugins import load_plugins
from parlai_humaneval.report.section import Builder, Options, Section
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.filters import taken_as_finished

SECTIONS = (
    "stopping",
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
    "judges",
)
"""Each is a module (or package) of ``sections`` with a ``build(tables, options)``, and a key of the report's JSON."""
_NOT_SECTIONS = ("facts", "examples")
"""Other keys of that JSON."""
_ADDED: dict[str, str] = {}


def register_section(key: str, module: str) -> None:
    """Add a section of your own, which stands after all others.

    Args:
        key: of the report's JSON.
        module: its full name; it has a ``build(tables, options)`` that returns a
            :class:`~parlai_humaneval.report.section.Section`, or None where the tables hold nothing for it.

    Raises:
        ValueError: the key is taken.
    """
    if key in (*SECTIONS, *_NOT_SECTIONS) or _ADDED.setdefault(key, module) != module:
        raise ValueError(f"a report has a key {key!r} already: choose another name for the section")


def sections(tables: Tables, options: Options | None = None) -> dict[str, Section]:
    """Key → section, of all that the tables give.

    Raises:
        TableError: a table cannot be used; the message says why.
        PluginError: a package that adds sections cannot be loaded.
    """
    chosen = options or Options()
    counted = taken_as_finished(tables) if chosen.include_partial else tables
    found = {key: build(counted, chosen) for key, build in load_sections().items()}
    return {key: section for key, section in found.items() if section is not None}


def load_sections() -> dict[str, Builder]:
    """Key → what builds the section. Importing them all takes a third of a second."""
    load_plugins()
    modules = {key: f"{__package__}.sections.{key}" for key in SECTIONS} | _ADDED
    return {key: import_module(module).build for key, module in modules.items()}
