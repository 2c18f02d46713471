"""A ranking on a page fit for publishing: ranks as far as the tests support them, and nothing about the raters.

Ranks are those that the pairs' tests leave possible: a model has at least as many others above it as are significantly
ahead of it, and at least as many below it as are significantly behind. As the tests of all pairs are corrected together,
all these ranges hold at once in 95 of 100 studies. Models that are statistically tied share ranks.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.report.conclusions import DECIDED, leader_words, rank_ranges, rank_words
from parlai_humaneval.report.document import Document, Facts
from parlai_humaneval.report.render.files import PAGE_ENDINGS
from parlai_humaneval.report.render.html import Drawing, environment, references_in
from parlai_humaneval.report.section import ModelLine, Summary, say, sentence
from parlai_humaneval.report.summary import figure_of, heading_of, leading, models_table, title_of
from parlai_humaneval.report.views import Cell, DataTable, TableColumn
from parlai_humaneval.report.views import View as Part
from parlai_humaneval.statistics.core.formatting import counted

RANKS_SOURCE = "Al Mohamad et al. 2022"


class Board(Part):
    """The models of one question. ``asked``: as raters read it. ``told``: a sentence that names the leading model.

    ``answer``: the report's own answer, under the names that are shown; its words are not shown.
    """

    title: str
    asked: list[str]
    told: str
    standings: list[ModelLine]
    answer: Summary


class Leaderboard(Part):
    """The contents of a leaderboard. ``nothing``: why it ranks nobody; empty where it does."""

    title: str
    made: str
    note: str
    basis: str
    boards: list[Board]
    nothing: str = ""
    blinded: bool = False
    version: str


def leaderboard_of(document: Document, *, title: str = "", blind: Mapping[str, str] | None = None) -> Leaderboard:
    """The leaderboard of a report: its answers, and ranks from its pairs.

    ``title``: None: made of the techniques. ``blind``: name of a model → what it is called here; None: by its own name.
    """
    facts, answers = document.facts, leading(document.summaries())
    boards = [board for answer in answers if (board := _board(_renamed(answer, blind or {}), facts))]
    nothing = say("leaderboard", "alone")[0] if answers else facts.nothing
    titles = ": ".join(filter(None, ("Leaderboard", ", ".join(map(title_of, facts.techniques)))))
    raters = facts.raters
    who = "program" if raters.simulated and raters.simulated == raters.workers else "rater"
    complete = [counted(count.complete, f"complete {noun}") for count, noun in raters.counts]
    parts = [counted(raters.workers, who), *complete]
    return Leaderboard(
        title=title or titles,
        made=facts.made,
        note=facts.note,
        basis=f"{', '.join(parts)}.",
        boards=boards,
        nothing="" if boards else nothing,
        blinded=blind is not None,
        version=facts.versions["parlai-humaneval"],
    )


def how_ranked(boards: Sequence[Board]) -> str:
    """An explanation of ranks and intervals."""
    decided = [board.answer.section == DECIDED for board in boards]
    is_all = bool(decided) and all(decided)
    return " ".join(say("leaderboard", "how", all_decided=is_all, some_decided=any(decided)))


def ranked_models(document: Document) -> list[str]:
    """Names of all models that a leaderboard shows, sorted."""
    return sorted({name for answer in leading(document.summaries()) for name in _ranked_models(answer)})


def blind_names(models: Iterable[str], seed: str, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Name of a model → “Model A”, in an order that only ``seed`` reveals; ``known`` ones stay."""
    names = dict(known or {})
    new = sorted(set(models) - names.keys())
    random.Random(f"blind names:{seed}:{len(names)}").shuffle(new)
    endings = chain(ascii_uppercase, count(len(ascii_uppercase) + 1))  # without an end
    free = (label for ending in endings if (label := f"Model {ending}") not in set(names.values()))
    return names | dict(zip(new, free, strict=False))


def _ranked_models(answer: Summary) -> list[str]:
    of_pairs = (name for pair in answer.pairs for name in (pair.first, pair.second))
    return list(dict.fromkeys([*(line.model for line in answer.models), *of_pairs]))


def _renamed(answer: Summary, names: Mapping[str, str]) -> Summary:
    def called(listed: Sequence[str]) -> list[str]:
        return [names.get(name, name) for name in listed]

    best = answer.best
    if best is not None:
        groups = {name: called(getattr(best, name)) for name in ("together", "told", "untested")}
        leader = None if best.leader is None else names.get(best.leader, best.leader)
        unordered = [called(group) for group in best.unordered]
        best = best.model_copy(update={**groups, "leader": leader, "unordered": unordered})
    models = [line.model_copy(update={"model": names.get(line.model, line.model)}) for line in answer.models]
    pairs = [
        pair.model_copy(update=dict(zip(("first", "second"), called([pair.first, pair.second]), strict=True)))
        for pair in answer.pairs
    ]
    return answer.model_copy(update={"verdict": "", "remarks": [], "models": models, "pairs": pairs, "best": best})


def _board(answer: Summary, facts: Facts) -> Board | None:
    standings = standings_of(answer)
    if len(standings) < 2:
        return None
    asked = [
        one.text
        for one in facts.questions
        if (one.technique, one.metric) in ((answer.technique, answer.metric), ("", ""))
    ]
    stated = [one.text for one in facts.statements if one.criterion == answer.question]
    values = [line.estimate for line in answer.models if line.estimate is not None]
    words = {
        "tested": [pair for pair in answer.pairs if pair.differs is not None],
        "only_ties": all(pair.p_clustered is not None and pair.gap is None for pair in answer.pairs),
        "falling": values in (sorted(values), sorted(values, reverse=True)),
    }
    return Board(
        title=heading_of(answer),
        asked=list(dict.fromkeys(stated or asked)),
        told=sentence("leaderboard", "told", answer=answer, leader=leader_words(answer.best, answer.pairs), **words),
        standings=standings,
        answer=answer,
    )


def standings_of(answer: Summary) -> list[ModelLine]:
    """The models of an answer by their best possible rank; of equal ones the order is the answer's own."""
    lines = {line.model: line for line in answer.models}
    models = _ranked_models(answer)
    ranks = rank_ranges(models, answer.pairs)
    unknown = {"n": 0, "unit": "", "estimate": None, "low": None, "high": None, "share": False}
    standings = [
        (lines.get(model) or ModelLine(model=model, **unknown)).model_copy(
            update=dict(zip(("rank_low", "rank_high"), ranks.get(model, (None, None)), strict=True))
        )
        for model in models
    ]
    return sorted(standings, key=lambda line: line.rank_low or 0)


BY_RANK = "Models by rank"


def to_page(board: Leaderboard, *, served: bool = False) -> str:
    """The page as a file: no network, no script. All names and texts are escaped. ``served``: as a server gives it, with
    style and script next to it, which asks for :func:`to_fragment`."""
    return _rendered("leaderboard.html.j2", board, served=served)


def to_fragment(board: Leaderboard) -> str:
    """The part of a served page that changes."""
    return _rendered("leaderboard_main.html.j2", board, served=True)


def check_leaderboard(page: Path, *, force: bool) -> None:
    """Check that a leaderboard can be written to ``page``, before any work. Raises InvalidValue: a wrong ending, no
    such folder, or a place that is taken."""
    if page.suffix.lower() not in PAGE_ENDINGS:
        raise InvalidValue(f"{page} does not end in .html", try_="name the page, such as leaderboard.html")
    if not page.absolute().parent.is_dir():
        raise InvalidValue(
            "there is no such folder", where=f"{page.absolute().parent}", try_="make it first, or name another page"
        )
    if page.is_dir() or (page.exists() and not force):
        raise InvalidValue(f"{page} already exists", try_="name another page, or replace it with --force")


def write_leaderboard(board: Leaderboard, page: Path) -> None:
    """Write the page; an older one is replaced at once or not at all. Raises OSError: the place cannot be written."""
    beside = page.with_name(f".{page.name}.{os.getpid()}")
    beside.write_text(to_page(board), encoding="utf-8")
    beside.replace(page)


def _rendered(template: str, board: Leaderboard, *, served: bool) -> str:
    draw, figures = Drawing(), [figure_of([one.answer]) for one in board.boards]
    words: dict[str, Any] = {
        "board": board,
        "draw": draw,
        "tables": [draw.table(ranks_table(one)) for one in board.boards],
        "figures": [
            figure and figure.model_copy(update={"key": f"board_{place}"}) for place, figure in enumerate(figures)
        ],
        "how": how_ranked(board.boards),
        "sources": [reference.text for reference in references_in([RANKS_SOURCE])],
        "made": board.made.replace("T", " ").replace("+00:00", " UTC"),
        "served": served,
        "rows_named": 0,
    }
    page: str = environment().get_template(template).render(words)
    return page


def ranks_table(board: Board) -> DataTable:
    """The models by rank, with the report's columns."""
    of_models = models_table(board.answer)
    known = tuple(column for column in of_models.columns if column.key != "rank") or (
        TableColumn(key="model", label="Model"),
    )
    columns = (TableColumn(key="rank", label="Rank"), *known)
    values = {str(row["model"]): row for row in of_models.rows}
    rows: list[dict[str, Cell]] = [
        {**values.get(one.model, {"model": one.model}), "rank": rank_words(one.rank_low, one.rank_high)}
        for one in board.standings
    ]
    title = of_models.title if of_models.columns else BY_RANK
    return DataTable(key="leaderboard", title=title, columns=columns, rows=tuple(rows))
