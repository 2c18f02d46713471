"""The doors of a launch: one of its panel, if raters come from one, and one for invitations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mephisto_tasks.crowds.link.arrivals import Door
from mephisto_tasks.crowds.link.gate import Gate
from mephisto_tasks.crowds.link.invitations.door import InvitationDoor
from mephisto_tasks.crowds.link.panel import CODES, NO_PANEL, PanelDoor, panel_door
from mephisto_tasks.engine.config import ConfigError

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
