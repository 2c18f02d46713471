"""Prolific through its API: a crowd by link whose study the launch creates, publishes, follows and ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.config.task import WorkerRules
from mephisto_tasks.crowds import crowd
from mephisto_tasks.crowds.crowd import cents_of
from mephisto_tasks.crowds.link.crowd import Door, LinkCrowd
from mephisto_tasks.crowds.prolific.settings import ProlificSettings
from mephisto_tasks.crowds.registry import register_crowd
from mephisto_tasks.payments.policy import Quote
from mephisto_tasks.storage.provider_names import Finding

PROVIDER = "prolific"
DEVICES = ("desktop", "tablet", "mobile")
WARNINGS = ("sensitive", "explicit")
CURRENCIES = ("USD", "GBP")
CHECKED_THERE = ("locales", "min_approval_rate", "min_approved")  # rules that become filters


class ProlificCrowd(LinkCrowd):
    place = provider_type = PROVIDER
    title = "Prolific"
    words = crowd.CrowdWords(
        where="on Prolific",
        summary="runs the study on Prolific and spends real money, after showing the total and asking you",
        link="The study on Prolific:",
    )
    example = "place=prolific requester_name=my_lab task_reward=1.80"
    Settings = ProlificSettings
    literal_settings = ("workspace", "project")
    market = crowd.Market(opens_at_once=True, lists_study=True)
    costs_money = True
    private_ids = (r"\b[0-9a-f]{24}\b",)

    def stand_in(self) -> str | None:
        from mephisto_tasks.crowds.prolific.client import stand_in

        return stand_in()

    def check(self, settings: Mapping[str, Any]) -> None:
        for name, known in (("devices", DEVICES), ("content_warnings", WARNINGS)):
            if unknown := [word for word in settings[name] if word not in known]:
                raise ConfigError(f"{unknown[0]!r} is unknown", where=name, try_=f"choose from: {', '.join(known)}")
        if settings["currency"] not in CURRENCIES:
            what = f"{settings['currency']!r} is not a currency of Prolific"
            raise ConfigError(what, where="currency", try_="write USD or GBP")
        paid, slots = (
            cents_of("screen_out_pay", settings["screen_out_pay"], "Prolific"),
            int(settings["screen_out_slots"]),
        )
        cents_of("bonus_budget", settings["bonus_budget"], "Prolific")
        if bool(paid) != bool(slots):
            what = "screen_out_pay and screen_out_slots need each other: the amount, and the maximum number of people"
            lacking = "screen_out_slots" if paid else "screen_out_pay"
            raise ConfigError(what, try_=f"add {lacking}=…, or leave both out")

    def remarks(self, rules: WorkerRules, settings: Mapping[str, Any]) -> list[str]:
        nothing = WorkerRules()
        unchecked = rules.model_copy(update={name: getattr(nothing, name) for name in CHECKED_THERE})
        return super().remarks(unchecked, settings)

    def who_checks(self, settings: Mapping[str, Any]) -> str:
        return "Prolific has no such rule"

    def quote_more(self, units: int, settings: Mapping[str, Any]) -> Quote | None:
        from mephisto_tasks.crowds.prolific.client import Prolific, read_token
        from mephisto_tasks.crowds.prolific.quote import Asked, find_workspace, quote_of

        name = str(settings.get("provider.requester_name"))
        reward = cents_of("task_reward", settings.get("task.task_reward"), "Prolific")
        where = (str(settings.get(f"provider.{word}") or "") for word in ("workspace", "project", "currency"))
        with Prolific(read_token(name)) as client:
            pays = find_workspace(client, *where)
            return quote_of(client, pays, name, Asked(units, reward, minutes=60), None, None)

    def doors(self, settings: Mapping[str, Any], data_dir: Path, task_name: str) -> list[Door]:
        from mephisto_tasks.crowds.panels.panel import read_panel
        from mephisto_tasks.crowds.prolific.arrivals import ProlificDoor

        return [ProlificDoor(read_panel(PROVIDER))]

    def launch(
        self, config: DictConfig, data_dir: Path, task_name: str, waiting_for: crowd.Waiting
    ) -> crowd.CrowdLaunch:
        from mephisto_tasks.crowds.prolific.launch import ProlificLaunch

        return ProlificLaunch(self, config, data_dir, task_name, waiting_for)

    def blocks(self) -> crowd.SiteBlocks | None:
        from mephisto_tasks.crowds.prolific.groups import ProlificBlocks

        return ProlificBlocks()

    def accounts(self) -> crowd.Accounts | None:
        from mephisto_tasks.crowds.prolific.accounts import ProlificAccounts

        return ProlificAccounts()

    def payer(self, data_dir: Path, task_name: str, requester: str, runs: Sequence[str]) -> crowd.Payer:
        from mephisto_tasks.crowds.prolific.payer import ProlificPayer

        return ProlificPayer(data_dir, task_name, requester)

    def health(self, data_dir: Path) -> list[Finding]:
        from mephisto_tasks.crowds.prolific.accounts import left_open

        found = super().health(data_dir)
        return [*found, *(left_open(data_dir) if all(one.status == "ok" for one in found) else [])]

    def site_states(self, data_dir: Path, task_name: str) -> list[crowd.SiteState]:
        from mephisto_tasks.crowds.prolific.handed_in import states

        return states(data_dir, task_name)

    def forget_there(self, data_dir: Path, person: crowd.Forgotten, *, stays_blocked: bool) -> list[str]:
        from mephisto_tasks.crowds.prolific.groups import take_out

        return take_out(data_dir, person, stays_blocked=stays_blocked)

    def traces(self, data_dir: Path, person: crowd.Forgotten) -> list[crowd.Trace]:
        sessions = self.outside_ids(data_dir, person)
        marks = ", ".join("?" * len(sessions))
        ended: list[tuple[str, Sequence[Any]]] = [(f"DELETE FROM endings WHERE session IN ({marks})", sessions)]
        more = [crowd.Trace(data_dir / PROVIDER / "prolific.db", ended)] if sessions else []
        return [*super().traces(data_dir, person), *more]


register_crowd(ProlificCrowd())
