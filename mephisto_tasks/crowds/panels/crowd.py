"""The doors of a launch: one of its panel, if raters come from one, and one for invitations.

Raters who come by a link: a panel's, or an invitation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mephisto_tasks.adapter.blueprint import StudySharedState
from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.crowds.crowd import Place
from mephisto_tasks.crowds.invitations.entry import InvitationDoor
from mephisto_tasks.crowds.panels.arrivals import Door
from mephisto_tasks.crowds.panels.panel import CODES, NO_PANEL, PanelDoor, panel_door
from mephisto_tasks.crowds.panels.provider import LinkProvider, LinkRequester
from mephisto_tasks.crowds.panels.reception import Gate, Reception

_MADE_A_NUMBER = re.compile(r"-?(inf|\d+\.\d+(e[+-]\d+)?|\d+e[+-]\d+)")
"""Python's way to write what was 73E91204 or 1e5 before."""


def panel_of(provider: Any) -> PanelDoor | None:
    """The door of the panel that ``mephisto.provider`` names; None where it names none.

    Raises:
        ConfigError: the panel is unknown, or the settings lack what it needs.
    """
    if str(provider.panel) == NO_PANEL:
        return None
    codes = {outcome: _letters(setting, provider[setting]) for outcome, setting in CODES.items()}
    values = {str(name): _letters(f"values.{name}", value) for name, value in provider["values"].items()}
    return panel_door(str(provider.panel), codes, values)


def _letters(setting: str, value: object) -> str:
    """What stands in a conf. Raises ConfigError for a number that YAML made of it: the panel would not know it again."""
    text = "" if value is None else str(value)
    if _MADE_A_NUMBER.fullmatch(text) or isinstance(value, bool):
        raise ConfigError(
            f"{setting} was read as the number {text}. Put it in quotes where it stands: "
            f"{setting.rpartition('.')[2]}: '…'"
        )
    return text


def doors_of(provider: Any, data_dir: Path, task_name: str) -> list[Door]:
    """Every door of a launch, in the order in which they are asked."""
    panel = panel_of(provider)
    invitations = InvitationDoor(data_dir, task_name)
    return [invitations] if panel is None else [panel, invitations]


def gate_of(provider: Any, data_dir: Path, task_name: str, *, secure: bool) -> Gate:
    """What keeps the study from those who have no good link; ``secure``: it is reached by https only."""
    return Gate(InvitationDoor(data_dir, task_name), only_invited=str(provider.panel) == NO_PANEL, secure=secure)


@dataclass
class LinkPlace(Place):
    """The server makes out of a page's address who its visitor is."""

    _reception: Reception | None = None

    @cached_property
    def _panel(self) -> PanelDoor | None:
        return panel_of(self.provider)

    def prepare(self, db: Any) -> list[str]:
        requester = str(self.provider.requester_name)
        if not db.find_requesters(requester_name=requester):
            LinkRequester.new(db, requester)
        return []

    def receive(self, db: Any) -> Reception | None:
        doors = doors_of(self.provider, self.data_dir, self.task_name)
        self._reception = Reception(LinkProvider(db).datastore, doors, self.task_name)
        return self._reception

    def share(self, shared_state: StudySharedState, db: Any) -> None:
        super().share(shared_state, db)
        secure = str(self.config.mephisto.architect.get("public_url") or "").startswith("https://")
        assert self._reception is not None, "visitors are received before anything is shared"
        shared_state.site = self._reception
        shared_state.guard = gate_of(self.provider, self.data_dir, self.task_name, secure=secure).guarded

    def page_words(self) -> dict[str, Any]:
        panel = self._panel
        words = None if panel is None else {"title": panel.panel.title, "may_decline": panel.may_decline}
        return {"panel": words}

    def panel_link(self, url: str) -> str | None:
        return None if self._panel is None else f"{url.rstrip('/')}/?{self._panel.panel.link}".rstrip("?")

    @property
    def only_invited(self) -> bool:
        return self._panel is None
