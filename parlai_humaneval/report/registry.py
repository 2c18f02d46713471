"""All analyses, in the order of a report; each is loaded and run only if the tables have the necessary data."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Collection
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, NamedTuple, cast

from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval._util.plugins import load_plugins
from parlai_humaneval.techniques.registry import with_trait

if TYPE_CHECKING:
    from parlai_humaneval.report.section import Options, Section
    from parlai_humaneval.tables.build import Tables
    from parlai_humaneval.techniques.registry import Trait

SECTIONS: dict[str, tuple[str, ...]] = {
    key: tuple(needs) for key, needs in read_yaml(Path(__file__).with_name("sections.yaml")).items()
}
"""Key of the report's JSON, and module of ``sections`` → what its tables must hold."""
_HOMES = {"turns": "turn_choices", "segments": "spot_the_bot"}
"""Key → module, where that has another name."""
_NOT_SECTIONS = ("facts", "examples")
"""Other keys of that JSON."""
_log = logging.getLogger(__name__)


class Analysis(NamedTuple):
    """An analysis. ``module``: its full name. ``build``: None: what the module says. ``needs``: what tables must hold."""

    module: str
    title: str = ""
    build: Callable[[Tables, Options], Section | None] | None = None
    needs: tuple[str, ...] = ()


_ADDED: dict[str, Analysis] = {}


def register_section(key: str, module: str) -> None:
    """Add a custom section after all others; its module is loaded when a report is made.

    ``key``: of the report's JSON. ``module``: its full name; it has a function under
    :func:`parlai_humaneval.report.analysis.analysis` for this key, or a ``build(tables, options)`` that returns a
    :class:`~parlai_humaneval.report.section.Section`, or None where the tables hold nothing for it. Raises ValueError:
    the key is taken.
    """
    add_analysis(key, Analysis(module))


def add_analysis(key: str, added: Analysis) -> None:
    """Add an analysis; what the module of one says itself takes the place of the line that only names the module.
    Raises ValueError: the key is taken."""
    home = _builtin(key).module if key in SECTIONS else _ADDED.get(key, added).module
    if key in _NOT_SECTIONS or home != added.module:
        raise InvalidValue(f"a report already has a key {key!r}", try_="choose another name for the section")
    if added.build is not None or key not in _ADDED:
        _ADDED[key] = added


def sections(tables: Tables, options: Options | None = None) -> dict[str, Section]:
    """Key → section, for everything in the tables; a failed analysis becomes a section with a remark. Raises
    TableError: a table cannot be used; the message says why; PluginError: a package that adds sections cannot be
    loaded."""
    from parlai_humaneval.report.section import Options as Defaults
    from parlai_humaneval.tables.filters import taken_as_finished

    load_plugins()
    chosen = options or Defaults()
    counting = taken_as_finished(tables) if chosen.include_partial else tables
    needed = [key for key, needs in SECTIONS.items() if not needs or any(_held(tables, need) for need in needs)]
    added = {key: one for key, one in _ADDED.items() if key not in SECTIONS}
    every = {key: _builtin(key) for key in needed} | added
    made = {key: _made(key, one, counting, chosen) for key, one in every.items()}
    return {key: section for key, section in made.items() if section is not None}


def _builtin(key: str) -> Analysis:
    return Analysis(f"{__package__}.sections.{_HOMES.get(key, key)}")


def first_table(key: str, held: Collection[str] = ()) -> str:
    """The first of the tables ``held`` that a section needs, the source of its rows; "" if it needs none."""
    needs = SECTIONS.get(key) or (_ADDED[key].needs if key in _ADDED else ())
    tables = [need.partition(".")[0] for need in needs]
    return next((table for table in tables if table in held), next(iter(tables), ""))


def _held(tables: Tables, need: str) -> bool:
    """Whether it has rows (``turns``), any value (``turns.text``), or one of a trait (``turns.technique=points``)."""
    place, _, value = need.partition("=")
    table, _, column = place.partition(".")
    held = getattr(tables, table)
    if not hasattr(held, "columns"):
        return bool(held)
    if not column:
        return len(held) > 0
    if column not in held:
        return False
    filled = held[column].str.lower().isin(with_trait(cast("Trait", value))) if value else held[column].notna()
    return bool(filled.any())


def _made(key: str, one: Analysis, tables: Tables, options: Options) -> Section | None:
    from parlai_humaneval.report.section import FailedSection
    from parlai_humaneval.tables.columns import TableError

    try:
        module = None if one.build else import_module(one.module)
        one = _ADDED.get(key, one)  # with what the decorator in the module has said
        if not all(_held(tables, need) for need in one.needs):
            return None
        section = (one.build or module.build)(tables, options)  # type: ignore[union-attr]  # without a build of its own it has a module
        for shown in (section.summary, section.data_tables, section.figures, section.methods) if section else ():
            shown()  # what fails must fail here
    except TableError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the rest of the report stands
        _log.debug("the analysis %s failed", key, exc_info=True)
        frames = extract_tb(error.__traceback__)
        home = getattr(sys.modules.get(one.module), "__file__", None)
        of_its_author = [frame for frame in frames if frame.filename == home]
        where = (of_its_author or frames)[-1]
        return FailedSection.of(one.title or key, error, f"{where.filename}, line {where.lineno}")
    return section
