"""What the pages of the site draw from the package: no figure, setting, column or option stands in two places.

``python -m docs.facts FOLDER`` writes each fact as a Markdown file; ``docs/included.py`` puts them where a page
names them (``<!-- included: columns.md -->``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from docs.facts import analysis, columns, commands, decided, house, judges, planning, servers, settings, techniques

MAKERS: tuple[Callable[[], dict[str, str]], ...] = (
    analysis.facts,
    columns.facts,
    commands.facts,
    decided.facts,
    house.facts,
    judges.facts,
    planning.facts,
    servers.facts,
    settings.facts,
    techniques.facts,
)


def all_facts() -> Iterator[tuple[str, str]]:
    """File name → Markdown, of every fact."""
    for make in MAKERS:
        yield from make().items()
