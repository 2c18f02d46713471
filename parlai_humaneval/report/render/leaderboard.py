"""A leaderboard → one HTML file that needs nothing else, or the page that a server keeps fresh."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parlai_humaneval.report.leaderboard import RANKS_SOURCE, Board, Leaderboard, how_ranked
from parlai_humaneval.report.render.files import PAGE_ENDINGS, OutputError
from parlai_humaneval.report.render.html import Drawing, FigureView, Files, TableView, environment, references_in
from parlai_humaneval.report.summary import figure_of, models_table
from parlai_humaneval.report.views import Cell, DataTable, TableColumn

BY_RANK = "Models by rank"


@dataclass(frozen=True)
class BoardView:
    title: str
    asked: Sequence[str]
    told: str
    table: TableView
    figure: FigureView | None


def to_page(board: Leaderboard) -> str:
    """The page as a file: no network, no script. All names and texts are escaped."""
    return _rendered("leaderboard.html.j2", board, served=False)


def to_served_page(board: Leaderboard) -> str:
    """The page as a server gives it: style and script stand beside it, and the script asks for :func:`to_fragment`."""
    return _rendered("leaderboard.html.j2", board, served=True)


def to_fragment(board: Leaderboard) -> str:
    """What changes of a page that is served."""
    return _rendered("leaderboard_main.html.j2", board, served=True)


def check_leaderboard(page: Path, *, force: bool) -> None:
    """Whether a leaderboard may be written to ``page``, before work goes into it.

    Raises:
        OutputError: a wrong ending, no such folder, or a place that is taken.
    """
    if page.suffix.lower() not in PAGE_ENDINGS:
        raise OutputError(f"{page} does not end in .html", try_="name the page, such as leaderboard.html")
    if not page.absolute().parent.is_dir():
        raise OutputError(
            "there is no such folder", where=f"{page.absolute().parent}", try_="make it first, or name another page"
        )
    if page.is_dir() or (page.exists() and not force):
        raise OutputError(f"{page} stands there already", try_="name another page, or replace it with --force")


def write_leaderboard(board: Leaderboard, page: Path) -> None:
    """Write the page; an older one is replaced at once or not at all.

    Raises:
        OSError: the place cannot be written.
    """
    beside = page.with_name(f".{page.name}.{os.getpid()}")
    beside.write_text(to_page(board), encoding="utf-8")
    beside.replace(page)


def _rendered(template: str, board: Leaderboard, *, served: bool) -> str:
    words: dict[str, Any] = {
        "board": board,
        "boards": [_view(one, place) for place, one in enumerate(board.boards)],
        "how": how_ranked(board.boards),
        "sources": [reference.text for reference in references_in([RANKS_SOURCE])],
        "made": board.made.replace("T", " ").replace("+00:00", " UTC"),
        "served": served,
        "rows_named": 0,
    }
    page: str = environment().get_template(template).render(words)
    return page


def _view(board: Board, place: int) -> BoardView:
    draw = Drawing(Files())
    figure = figure_of([board.answer])
    shown = None if figure is None else draw.figure(figure.model_copy(update={"key": f"board_{place}"}))
    return BoardView(board.title, board.asked, board.told, draw.plain(ranks_table(board)), shown)


def ranks_table(board: Board) -> DataTable:
    """The models by rank, with the columns that the report has of them."""
    of_models = models_table(board.answer)
    known = tuple(column for column in of_models.columns if column.key != "rank") or (
        TableColumn(key="model", label="Model"),
    )
    columns = (TableColumn(key="rank", label="Rank"), *known)
    values = {str(row["model"]): row for row in of_models.rows}
    rows: list[dict[str, Cell]] = [
        {**values.get(one.model, {"model": one.model}), "rank": one.rank} for one in board.standings
    ]
    title = of_models.title if of_models.columns else BY_RANK
    return DataTable(key="leaderboard", title=title, columns=columns, rows=tuple(rows))
