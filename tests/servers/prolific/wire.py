"""How Prolific is asked: routes, what a request says, pages of lists, and whose things are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from .errors import FOREIGN, ApiError, bad, not_found
from .market import Market
from .records import Study, Submission, User, Workspace

Item = TypeVar("Item")
PAGE = 20
"""Entries at a time where the request does not say."""


@dataclass
class Ask:
    """A request.

    Args:
        market: that is asked.
        user: whose token it has.
        ids: those in its path.
        query: what stands behind its path.
        body: its JSON.
        url: of its path.
    """

    market: Market
    user: User
    ids: tuple[str, ...]
    query: Mapping[str, str]
    body: Any
    url: str

    def field(self, name: str, kind: type | tuple[type, ...] = str) -> Any:
        """What the body must have."""
        if not isinstance(self.body, dict) or name not in self.body:
            raise bad({name: ["This field is required."]})
        value = self.body[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise bad({name: ["Not a valid value."]})
        return value

    def workspace(self, workspace_id: str) -> Workspace:
        """Of the user."""
        workspace = self.market.workspaces.get(workspace_id)
        if workspace is None:
            raise not_found("Workspace")
        if workspace_id not in self.user.workspaces:
            raise FOREIGN
        return workspace

    def study(self, study_id: str = "") -> Study:
        """Of the user; that in the path by default."""
        study = self.market.studies.get(study_id or self.ids[0])
        if study is None:
            raise not_found("Study")
        if study.user != self.user.id and self.market.workspace_of(study).id not in self.user.workspaces:
            raise FOREIGN
        return study

    def submission(self, submission_id: str = "") -> Submission:
        """Of a study of the user; that in the path by default."""
        submission = self.market.submission(submission_id or self.ids[0])
        if submission is None:
            raise not_found("Submission")
        self.study(submission.study.id)
        return submission

    def must_have(self, workspace: Workspace, feature: str, field: str = "") -> None:
        """Refuse what the workspace lacks."""
        if feature not in workspace.features:
            said = "This feature is not enabled for your workspace."
            raise ApiError(self.market.unknowns.gated_status, {field: [said]} if field else said, 140301)


Handler = Callable[[Ask], Any]


@dataclass(frozen=True)
class Route:
    """One of Prolific's: its method, its path with ``{}`` for ids, and the status of a yes."""

    method: str
    path: str
    status: int
    handler: Handler

    @property
    def operation(self) -> str:
        """As faults and the journal call it: ``GET studies/{}/``."""
        return f"{self.method} {self.path}"


ROUTES: list[Route] = []


def route(operation: str, status: int = 200) -> Callable[[Handler], Handler]:
    """Register a function for requests such as ``GET studies/{}/``."""
    method, _, path = operation.partition(" ")

    def register(handler: Handler) -> Handler:
        ROUTES.append(Route(method, path, status, handler))
        return handler

    return register


def match(method: str, path: str) -> tuple[Route, tuple[str, ...]] | None:
    """The route of a path, and the ids in it. One without ids goes before one with."""
    for known in sorted(ROUTES, key=lambda each: each.path.count("{}")):
        found = re.fullmatch(re.escape(known.path).replace(r"\{\}", "([^/]+)"), path)
        if found and known.method == method:
            return known, found.groups()
    return None


def paths(path: str) -> bool:
    """Whether there is such a path for any method."""
    return any(match(method, path) for method in ("GET", "POST", "PATCH", "DELETE"))


def listed(ask: Ask, items: Sequence[Item], view: Callable[[Item], dict[str, Any]], size: int = PAGE) -> dict[str, Any]:
    """A page of many."""
    number, size = _number(ask, "page", 1), _number(ask, "limit", _number(ask, "page_size", size))
    last = max((len(items) + size - 1) // size, 1)
    if number > last:
        raise ApiError(404, "Invalid page.", 140001)

    def link(page: int | None, title: str) -> dict[str, Any]:
        href = None if page is None else f"{ask.url}?{urlencode({**ask.query, 'page': page})}"
        return {"href": href, "title": title}

    return {
        "results": [view(item) for item in items[(number - 1) * size : number * size]],
        "_links": {
            "self": link(number, "Current"),
            "next": link(number + 1 if number < last else None, "Next"),
            "previous": link(number - 1 if number > 1 else None, "Previous"),
            "last": link(last, "Last"),
        },
        "meta": {"count": len(items)},
    }


def whole(items: Sequence[Item], view: Callable[[Item], dict[str, Any]]) -> dict[str, Any]:
    """All at once."""
    return {
        "results": [view(item) for item in items],
        "_links": {"next": {"href": None, "title": "Next"}},
        "meta": {"count": len(items)},
    }


def ordered(ask: Ask, items: Sequence[Item], keys: Mapping[str, Callable[[Item], Any]], default: str) -> list[Item]:
    """By the word ``ordering`` of the query; ``-`` before it: descending."""
    word = ask.query.get("ordering", default)
    name = word.removeprefix("-")
    if name not in keys:
        raise bad({"ordering": [f"{name} is not one of {', '.join(keys)}."]})
    return sorted(items, key=lambda item: (keys[name](item) is None, keys[name](item)), reverse=word.startswith("-"))


def _number(ask: Ask, name: str, default: int) -> int:
    text = ask.query.get(name, str(default))
    if not text.isdecimal() or not int(text) > 0:
        raise ApiError(404, "Invalid page.", 140001)
    return int(text)
