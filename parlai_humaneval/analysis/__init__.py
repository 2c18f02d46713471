"""The public face of tables, statistics, planning and reports; it needs no database, ParlAI or Mephisto.

``tables`` (records → tables) · ``read_tables``, ``write_tables`` (files) · ``make_document``, ``write_document`` (reports) ·
the estimates and tests that they are made of. Every test returns a :class:`Result`.

``__init__.pyi`` lists the public names and their modules; a package of your own adds names with
:func:`register_statistic`. They are loaded on use: nobody waits for libraries that they do not need.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

from parlai_humaneval._util.plugins import load_plugins

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_MODULES = {
    alias.name: node.module
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom) and node.module
    for alias in node.names
}
__all__ = sorted({*_MODULES, "register_statistic"})


def register_statistic(name: str, module: str) -> None:
    """Add a statistic of your own: the attribute ``name`` of ``module`` (its full name) becomes public here.

    Raises:
        ValueError: the name is taken.
    """
    if _MODULES.setdefault(name, module) != module:
        raise ValueError(f"there is a public name {name!r} already: choose another one for the statistic")


def __getattr__(name: str) -> Any:
    if name not in _MODULES and not name.startswith("_"):
        load_plugins()
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    load_plugins()
    return sorted({*_MODULES, "register_statistic"})
