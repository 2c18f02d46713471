"""The doors of a launch: one of its panel, if raters come from one, and one for invitations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mephisto_tasks.crowds.link.arrivals import Door
from mephisto_tasks.crowds.link.gate import Gate
from mephisto_tasks.crowds.link.invitations.door import InvitationDoor
from mephisto_tasks.crowds.link.panel import CODES, NO_PANEL, PanelDoor, panel_door


def panel_of(provider: Any) -> PanelDoor | None:
    """The door of the panel that ``mephisto.provider`` names; None where it names none.

    Raises:
        ConfigError: the panel is unknown, or the settings lack what it needs.
    """
    if str(provider.panel) == NO_PANEL:
        return None
    codes = {outcome: str(provider[setting]) for outcome, setting in CODES.items()}
    return panel_door(str(provider.panel), codes, {str(name): str(value) for name, value in provider["values"].items()})


def doors_of(provider: Any, data_dir: Path, task_name: str) -> list[Door]:
    """Every door of a launch, in the order in which they are asked."""
    panel = panel_of(provider)
    invitations = InvitationDoor(data_dir, task_name)
    return [invitations] if panel is None else [panel, invitations]


def gate_of(provider: Any, data_dir: Path, task_name: str, *, secure: bool) -> Gate:
    """What keeps the study from those who have no good link; ``secure``: it is reached by https only."""
    return Gate(InvitationDoor(data_dir, task_name), only_invited=str(provider.panel) == NO_PANEL, secure=secure)
