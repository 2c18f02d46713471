"""The statistics by name, and the references."""

from __future__ import annotations

import inspect
import re

from docs.facts.markdown import code, table
from parlai_humaneval import analysis
from parlai_humaneval.report.render.html import all_references

ROLE = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")
"""How docstrings name other names: :class:`Result`."""


def facts() -> dict[str, str]:
    """Public functions of the analysis with what each does, and the whole references."""
    return {"functions.md": _functions(), "references.md": "\n".join(f"- {found.text}" for found in all_references())}


def _functions() -> str:
    found = {name: getattr(analysis, name) for name in analysis.__all__}
    rows = [[code(name), _first_line(what)] for name, what in sorted(found.items(), key=lambda pair: pair[0].lower())]
    return table(["name", "what it is"], [row for row in rows if row[1]])


def _first_line(what: object) -> str:
    if not (inspect.isclass(what) or inspect.isfunction(what)):
        return ""
    told = (inspect.getdoc(what) or "").partition("\n\n")[0].replace("\n", " ")
    return ROLE.sub(r"`\1`", told).replace("``", "`")
