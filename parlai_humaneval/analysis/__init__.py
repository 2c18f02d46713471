"""The public interface to tables, statistics, planning and reports; it needs no database, ParlAI or Mephisto.

``tables`` (records → tables) · ``read_tables``, ``write_tables`` (files) · ``build_report``, ``write_document`` (reports) ·
the estimates and tests that they are made of. Every test returns a :class:`Result`.

``__init__.pyi`` lists the public names and their modules; ``python -W error::DeprecationWarning`` shows which names of a
script are not among them any more. A package of your own adds names with
:func:`register_statistic`. They are loaded on use: nobody waits for libraries that they do not need.
"""

import ast
import json
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval._util.plugins import load_plugins

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_MODULES = {
    alias.name: node.module
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom) and node.module
    for alias in node.names
}
_FORMER = json.loads(Path(__file__).with_name("former_names.json").read_text(encoding="utf-8"))
"""Names that still work here, and warn, until version 1.0: those that are ``renamed``, and those that are ``internal`` now,
by module; and what takes the place of the ``removed`` ones."""
_RENAMED, _REMOVED = _FORMER["renamed"], _FORMER["removed"]
_HOMES = {name: f"parlai_humaneval.{module}" for module, names in _FORMER["internal"].items() for name in names.split()}
__all__ = sorted({*_MODULES, "register_statistic"})


def register_statistic(name: str, module: str) -> None:
    """Add a statistic of your own: the attribute ``name`` of ``module`` (its full name) becomes public here. Raises
    ValueError: the name is taken.

    >>> register_statistic("holm", "my_package.corrections")
    Traceback (most recent call last):
    ValueError: the public name 'holm' is already taken: choose another one for the statistic
    """
    if _MODULES.setdefault(name, module) != module:
        raise InvalidValue(f"the public name {name!r} is already taken", try_="choose another one for the statistic")


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        sentence = f"{__name__}.{name} is now {_RENAMED[name]}; the old name will be removed in version 1.0"
        warnings.warn(sentence, DeprecationWarning, stacklevel=2)
        name = _RENAMED[name]
    elif name in _HOMES:
        sentence = f"{__name__}.{name} is internal now and is in {_HOMES[name]}; version 1.0 removes it from here"
        warnings.warn(sentence, DeprecationWarning, stacklevel=2)
    known = {**_HOMES, **_MODULES}
    if name not in known and not name.startswith("_"):
        load_plugins()
        known = _MODULES
    if name not in known:
        instead = f"; use {_REMOVED[name]}" if name in _REMOVED else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{instead}")
    return getattr(import_module(known[name]), name)


def __dir__() -> list[str]:
    load_plugins()
    return sorted({*_MODULES, "register_statistic"})
