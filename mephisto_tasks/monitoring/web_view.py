"""A standing → the HTML of its page, with the report's style, tables and figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from mephisto_tasks.control.orders import Order, Pause, RestoreModel, Resume, ResumeGroup, RetireModel, StopGroup
from mephisto_tasks.monitoring.observe import ago
from mephisto_tasks.monitoring.status import GroupStanding, Standing
from mephisto_tasks.monitoring.view import (
    COLLECTED,
    answer_table,
    checks_table,
    cost_of_more,
    decided_figures,
    decided_table,
    decided_warnings,
    inside_table,
    models_table,
    orders_words,
    progress_words,
    rater_facts,
)
from parlai_humaneval.report.render.html import Drawing, Files, TableView, environment
from parlai_humaneval.report.summary import figure_of
from parlai_humaneval.report.views import IntervalFigure

TEMPLATES = Path(__file__).parent / "templates"
STATIC = Path(__file__).parent / "static"
LATE_S = 15.0
"""Older standings are said to be old: whoever observes may wait for a database."""


@dataclass(frozen=True)
class Button:
    """``asks``: what is said before it is done; ``order``: what is then given, as JSON."""

    key: str
    label: str
    asks: str
    order: str
    name: str = ""
    """For those who only hear the button: the label, and of what."""


@dataclass(frozen=True)
class GroupView:
    standing: GroupStanding
    title: str
    of: str
    button: Button | None
    """None: there is nothing to stop."""


@dataclass(frozen=True)
class ModelView:
    name: str
    button: Button


class Drawer:
    """Draws standings; a figure is drawn again only when its numbers have changed. ``clock``: seconds since the epoch."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._figures: dict[str, tuple[IntervalFigure, Markup]] = {}

    def page(self, standing: Standing) -> str:
        return self._rendered("watch.html.j2", standing)

    def fragment(self, standing: Standing) -> str:
        """What changes of the page."""
        return self._rendered("watch_main.html.j2", standing)

    def _rendered(self, template: str, standing: Standing) -> str:
        draw = Drawing(Files())
        tables = (inside_table(standing), models_table(standing), checks_table(standing))
        age = self._clock() - standing.at
        words: dict[str, Any] = {
            "standing": standing,
            "late": f"What stands here is of {ago(age)} ago: the study takes long to be read." if age > LATE_S else "",
            "answers": list(self._answers(standing, draw)),
            "decided_warnings": decided_warnings(standing),
            "decided": draw.plain(decided_table(standing)) if standing.deciding is not None else None,
            "decided_figures": [self._figure(figure, draw) for figure in decided_figures(standing)],
            "groups": [_group(standing, group, number) for number, group in enumerate(standing.groups)],
            "groups_title": COLLECTED,
            "models": list(_models(standing)),
            "more_asks": cost_of_more(standing),
            "pause": _pause_or_resume(standing),
            "progress": progress_words(standing),
            "facts": rater_facts(standing),
            "orders": orders_words(standing),
            "tables": {table.key: draw.plain(table) for table in tables if table.rows},
            "rows_named": 0,
        }
        page: str = _templates().get_template(template).render(words)
        return page

    def _answers(self, standing: Standing, draw: Drawing) -> Iterator[tuple[str, TableView | None, Markup | None]]:
        for number, answer in enumerate(standing.answers):
            table = answer_table(answer)
            figure = figure_of([answer.summary.model_copy(update={"models": []})])
            svg = None if figure is None else self._figure(figure.model_copy(update={"key": f"pairs_{number}"}), draw)
            yield answer.name, draw.plain(table) if table.rows else None, svg

    def _figure(self, figure: IntervalFigure, draw: Drawing) -> Markup:
        known = self._figures.get(figure.key)
        if known is None or known[0] != figure:
            known = self._figures[figure.key] = (figure, draw.figure(figure).svg)
        return known[1]


@lru_cache(maxsize=1)
def _templates() -> Environment:
    ours = environment().overlay(loader=FileSystemLoader([str(TEMPLATES), *environment().loader.searchpath]))
    assert ours.autoescape
    return ours


def _json(order: Order) -> str:
    return order.model_dump_json(exclude={"order_id", "at", "by", "base"})


def _pause_or_resume(standing: Standing) -> Button | None:
    """None where nobody new comes in anyway: nothing runs, all is there, or the answer is reached.

    Whoever paused the study before its launch ended can still take that back: it holds for the next launch.
    """
    if standing.state == "paused" or (not standing.is_alive and _was_paused(standing)):
        return _resume()
    is_over = standing.deciding is not None and standing.deciding.standing.ended is not None
    is_needed = standing.is_alive and standing.state != "ending" and standing.remaining != 0 and not is_over
    return _pause() if is_needed else None


def _was_paused(standing: Standing) -> bool:
    kinds = [order.kind for order in standing.orders if order.kind in ("pause", "resume")]
    return kinds[-1:] == ["pause"]


def _pause() -> Button:
    asks = (
        "Nobody new may come in until you resume. Who is inside goes on and finishes. It holds for later launches, too."
    )
    return Button("pause", "Pause", asks, _json(Pause()))


def _resume() -> Button:
    return Button("resume", "Resume", "New workers may come in again.", _json(Resume()))


def _group(standing: Standing, group: GroupStanding, number: int) -> GroupView:
    """A group can be stopped while a launch gives it out; what was stopped can go on, from the next launch on at least."""
    title, of = " vs ".join(group.models), ", ".join(filter(None, (group.metric, group.setting)))
    named = f"{title} ({of})"
    is_given_out = standing.is_alive and (group.wanted is None or group.completed < group.wanted)
    button: Button | None = None
    if group.stopped is None and is_given_out:
        asks = f"No new ones of {named} are given out; those under way finish. What is there stays and counts."
        order: Order = StopGroup(models=group.models, setting=group.setting)
        button = Button(f"group-{number}", "Stop", asks, _json(order), f"Stop {named}")
    elif group.stopped is not None:
        asks = f"New ones of {named} are given out again."
        order = ResumeGroup(models=group.models, setting=group.setting)
        button = Button(f"group-{number}", "Go on", asks, _json(order), f"Go on with {named}")
    return GroupView(group, title, of, button)


def _models(standing: Standing) -> Iterator[ModelView]:
    retired: Mapping[str, bool] = {one.model: one.retired for one in standing.models}
    for number, name in enumerate(sorted({model for group in standing.groups for model in group.models})):
        if standing.is_alive or retired.get(name, False):
            yield _model(name, number, is_retired=retired.get(name, False))


def _model(name: str, number: int, *, is_retired: bool) -> ModelView:
    if is_retired:
        button = Button(
            f"model-{number}", "Bring back", f"Groups with {name} are given out again.", _json(RestoreModel(model=name))
        )
    else:
        asks = f"Every pair (group) with {name} is stopped; those under way finish. What is there stays and counts."
        button = Button(f"model-{number}", "Retire", asks, _json(RetireModel(model=name)))
    return ModelView(name, Button(**{**button.__dict__, "name": f"{button.label} {name}"}))
