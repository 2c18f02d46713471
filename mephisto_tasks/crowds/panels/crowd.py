"""Panels that send raters by link, each a YAML file of this folder or yours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.crowds.crowd import CrowdWords, Submissions
from mephisto_tasks.crowds.invitations.crowd import InvitingCrowd
from mephisto_tasks.crowds.invitations.entry import InvitationDoor
from mephisto_tasks.crowds.link.crowd import Door, LinkLaunch
from mephisto_tasks.crowds.panels.panel import CODES, NO_PANEL, PanelDoor, panel_door, panel_names, read_panel
from mephisto_tasks.crowds.registry import register_crowd
from parlai_humaneval.i18n.translate import phrases

if TYPE_CHECKING:
    from mephisto_tasks.payments.ledger import Payer

_MADE_A_NUMBER = re.compile(r"-?(inf|\d+\.\d+(e[+-]\d+)?|\d+e[+-]\d+)")
"""Python's way to write what was 73E91204 or 1e5 before."""


class PanelSettings(BaseModel, use_attribute_docstrings=True):
    """Settings below ``mephisto.provider``."""

    panel: str = Field(default=NO_PANEL, examples=["prolific"])
    """With place=link: prolific, sona, cloudconnect, toloka, a YAML file, or none. Each panel has its own names for
    participants and codes. Use none for your own invitations."""
    completion_code: str = Field(default="", examples=["C1A2B3"])
    """The panel's code for participants who completed the task (place=link). The panel pays them for it."""
    screen_out_code: str = Field(default="", examples=["C1A2B3"])
    """The panel's code for people who may not take part (place=link). The panel then sends someone else instead."""
    no_consent_code: str = Field(default="", examples=["C1A2B3"])
    """The panel's code for people who do not consent (place=link). The panel then does not count it against them."""
    time_out_code: str = Field(default="", examples=["C1A2B3"])
    """The panel's code for people who were away for too long (place=link). The panel then gives their place to someone
    else."""
    values: dict[str, str] = Field(default_factory=dict, examples=["values.experiment_id=12"])
    """Other values that the panel needs, each as values.NAME=… (SONA). Some need study numbers to grant credit."""


def panel_of(settings: Mapping[str, Any]) -> PanelDoor | None:
    """The door of the panel that the settings name; None where they name none. Raises ConfigError."""
    if str(settings["panel"]) == NO_PANEL:
        return None
    codes = {outcome: _letters(setting, settings[setting]) for outcome, setting in CODES.items()}
    values = {str(name): _letters(f"values.{name}", value) for name, value in settings["values"].items()}
    return panel_door(str(settings["panel"]), codes, values)


def _letters(setting: str, value: object) -> str:
    """A setting as text. Raises ConfigError if YAML made a number of it, which the panel would not recognize."""
    text = "" if value is None else str(value)
    if _MADE_A_NUMBER.fullmatch(text) or isinstance(value, bool):
        advice = f"put it in quotes: {setting.rpartition('.')[2]}: '…'"
        raise ConfigError(f"{setting} was read as the value {text}", try_=advice)
    return text


PHRASES = phrases(__file__)


class PanelLaunch(LinkLaunch):
    @cached_property
    def _panel(self) -> PanelDoor:
        panel = panel_of(self.settings)
        assert panel is not None, "a launch without a panel uses invitations"
        return panel

    def page_words(self) -> dict[str, Any]:
        return {"panel": {"title": self._panel.panel.title, "may_decline": self._panel.may_decline}}

    def panel_link(self, url: str) -> str | None:
        return f"{url.rstrip('/')}/?{self._panel.panel.link}".rstrip("?")


class PanelCrowd(InvitingCrowd):
    """Raters whom a panel sends; those who are invited may come as well."""

    title = "Panels and invitations"
    words = CrowdWords(
        where="by link",
        summary=f"uses a panel ({', '.join(panel_names())}) or invitations",
        link="Link to enter on the panel's site (the site adds the participant's ID):",
    )
    Settings, Launch = PanelSettings, PanelLaunch
    claim_advice = PHRASES["go_on_there_by_panel"]
    literal_settings = (*CODES.values(), "values.")
    private_ids = (r"\b[0-9a-f]{24}\b",)
    example = "place=link panel=prolific completion_code=C1A2B3"

    def takes(self, settings: Mapping[str, Any]) -> bool:
        return str(settings.get("panel", NO_PANEL)) != NO_PANEL

    def who_checks(self, settings: Mapping[str, Any]) -> str:
        return f"set it on {read_panel(str(settings['panel'])).title}'s page of the study"

    def doors(self, settings: Mapping[str, Any], data_dir: Path, task_name: str) -> list[Door]:
        panel = panel_of(settings)
        return [*([panel] if panel is not None else []), InvitationDoor(data_dir, task_name)]

    def submissions(self, data_dir: Path, task_name: str) -> Submissions | None:
        from mephisto_tasks.crowds.panels.payer import PanelSubmissions

        return PanelSubmissions(data_dir, task_name)

    def payer(self, data_dir: Path, task_name: str, requester: str, runs: Sequence[str]) -> Payer:
        from mephisto_tasks.crowds.panels.payer import PanelPayer

        return PanelPayer(data_dir, task_name, self.provider_type, requester, self.title)


register_crowd(PanelCrowd())
