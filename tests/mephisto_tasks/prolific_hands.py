"""Launches on a stand-in for Prolific on this machine, and participants who come from there to our page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from live import Rater, browser_of
from mturk_hands import arguments
from panel_hands import Participant as FromPanel
from panel_hands import local_url
from servers.prolific import Group, Participant, StandIn, Study

from mephisto_tasks.crowds.crowd import Agree
from mephisto_tasks.crowds.prolific import market
from mephisto_tasks.crowds.prolific.groups import EVERYWHERE
from mephisto_tasks.crowds.prolific.store import OurStudy, ProlificStore
from mephisto_tasks.launch import launch as launching
from mephisto_tasks.launch.config import compose_config
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.simulation.page_client import PageClient

PROLIFIC = ["place=prolific", "mephisto.task.task_reward=0.50"]


@contextmanager
def prolific_at_home(patch: pytest.MonkeyPatch, home: Path, **settings: Any) -> Iterator[StandIn]:
    """A stand-in that this process takes for Prolific, and asks often."""
    patch.setattr(market, "POLL_S", 0.1)
    patch.setenv("PARLAI_HUMANEVAL_HOME", str(home))
    with StandIn(**{"currency": "USD", **settings}) as prolific:
        for name, value in prolific.environment.items():
            patch.setenv(name, value)
        yield prolific


def only_study(site: StandIn) -> Study:
    """The one that there is on Prolific."""
    (study,) = site.market.studies.values()
    return study


def open_places(site: StandIn) -> int:
    """That somebody could take now."""
    with site.market.lock:
        site.market.pass_time()
        studies = [study for study in site.market.studies.values() if study.status == "ACTIVE"]
        return sum(max(0, study.places - site.market.occupied(study)) for study in studies)


class FromProlific(Rater):
    """Somebody who takes a place on Prolific, and opens its link."""

    def __init__(self, run: RunningStudy, site: StandIn, person: str, **about: Any) -> None:
        super().__init__(local_url(run), person)
        self.name = person
        self.person: Participant = site.participant(person_id(person), **about)
        self.come(self.person.take())

    @classmethod
    def by_link(cls, run: RunningStudy, address: str, person: str = "somebody") -> FromProlific:
        """Whoever opens a link, whom Prolific may not know."""
        self = cls.__new__(cls)
        Rater.__init__(self, local_url(run), person)
        self.name = person
        self.come(address)
        return self

    def come(self, address: str) -> None:
        """Open a link."""
        query = parse_qsl(urlsplit(address).query)
        self.client = PageClient(self.url, parameters=query, heartbeat_s=0.5, browser=browser_of(self.name))

    redirect = FromPanel.redirect

    @property
    def status(self) -> str | None:
        """Of their submission on Prolific."""
        return self.person.status

    begin_work = FromPanel.begin_work


def person_id(name: str) -> str:
    """Like Prolific's, and known again: “ann” is 616e6e…"""
    return name.encode().hex().ljust(24, "0")[:24]


def blocked_group(data_dir: Path, site: StandIn) -> Group:
    """That of people who are blocked everywhere, in a data directory that has had a study there."""
    values = ("pw a1b2c3d4", "pw", "prolific", site.workspace.id, site.project.id, "5" * 24, {}, 0.0)
    ProlificStore(data_dir).add(OurStudy(*values))
    group = Group("9" * 24, site.workspace.id, None, EVERYWHERE, "")
    site.market.groups[group.id] = group
    return group


def settings(folder: Path, *more: str) -> list[str]:
    """Of a short PW-Turn study on Prolific, without practice unless ``more`` has one; ``~NAME`` leaves one out."""
    mine = [*arguments(folder, "prolific"), "mephisto.blueprint.dialogues_per_group=2"]
    said = {word.partition("=")[0].lstrip("~") for word in more} | {"mephisto.provider.requester_name"}
    kept = [word for word in mine if word.partition("=")[0] not in said]
    return [*kept, *(word for word in more if "=" in word)]


@asynccontextmanager
async def on_prolific(
    data_dir: Path, *more: str, agree: Agree = lambda quote: None, task: str = "pw_turn"
) -> AsyncIterator[RunningStudy]:
    """A launch there, beside the pages of this loop; of another ``task``, ``more`` are all of its settings."""
    data_dir.mkdir(parents=True, exist_ok=True)
    config = compose_config(task, "local", settings(data_dir, *more) if task == "pw_turn" else list(more))
    manager = launching.run_launch(task, config, data_dir, agree=agree)
    run = await asyncio.to_thread(manager.__enter__)
    try:
        yield run
    finally:
        await asyncio.to_thread(manager.__exit__, None, None, None)
