"""Launches on a stand-in for MTurk on this machine, and workers who accept HITs there and do them on our page."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from live import TASK, Rater, browser_of
from scripted_models import zoo_file
from servers.mturk import Assignment, Hit, StandIn

from mephisto_tasks.crowds.crowd import Agree, Waiting
from mephisto_tasks.launch import launch as launching
from mephisto_tasks.launch.config import compose_config
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.simulation.page_client import PageClient


@contextmanager
def mturk_at_home(patch: pytest.MonkeyPatch, home: Path, **settings: Any) -> Iterator[StandIn]:
    """A stand-in that this process takes for MTurk, and no AWS files but those in ``home``."""
    for name, file in (("AWS_SHARED_CREDENTIALS_FILE", "credentials"), ("AWS_CONFIG_FILE", "config")):
        patch.setenv(name, str(home / file))
    with StandIn(**settings) as mturk:
        for name, value in mturk.environment.items():
            patch.setenv(name, value)
        yield mturk


def arguments(folder: Path, place: str, *more: str) -> list[str]:
    """Settings of a short PW-Turn study in a place, without practice."""
    return [
        f"place={place}",
        "mephisto.provider.requester_name=lab",
        "mephisto.blueprint.models=[alpha,beta]",
        f"mephisto.blueprint.zoo_files=[{zoo_file(folder, ['alpha', 'beta'])}]",
        "mephisto.blueprint.turns=2",
        "mephisto.blueprint.onboarding_qualification=null",
        "mephisto.blueprint.seed=5",
        "mephisto.architect.port=0",
        f"mephisto.task.task_name={TASK}",
        "mephisto.task.task_reward=0.50",
        *more,
    ]


@contextmanager
def on_mturk(
    data_dir: Path,
    *more: str,
    place: str = "mturk_sandbox",
    dialogues: int = 2,
    agree: Agree | None = None,
    waiting_for: Waiting = lambda _: nullcontext(),
    stop: threading.Event | None = None,
) -> Iterator[RunningStudy]:
    """A launch of that study."""
    data_dir.mkdir(parents=True, exist_ok=True)
    settings = arguments(data_dir, place, f"mephisto.blueprint.dialogues_per_group={dialogues}", *more)
    config = compose_config("pw_turn", "local", settings)
    with launching.run_launch("pw_turn", config, data_dir, waiting_for, agree, stop) as run:
        yield run


@asynccontextmanager
async def on_mturk_beside(data_dir: Path, *more: str, **settings: Any) -> AsyncIterator[RunningStudy]:
    """The same from a coroutine."""
    manager = on_mturk(data_dir, *more, **settings)
    run = await asyncio.to_thread(manager.__enter__)
    try:
        yield run
    finally:
        await asyncio.to_thread(manager.__exit__, None, None, None)


class Turker(Rater):
    """A worker with a HIT, on our page in MTurk's frame."""

    def __init__(self, run: RunningStudy, mturk: StandIn, worker: str = "A1WORKER", hit_id: str | None = None) -> None:
        self.mturk = mturk
        hit = hit_id or mturk.crowd.offered(worker)[0].id
        self.assignment: Assignment = mturk.crowd.accept(worker, hit)
        super().__init__(run, worker, self.assignment.id)
        self.client = PageClient(
            run.url,
            worker_id=worker,
            assignment_id=self.assignment.id,
            provider_data={"hit_id": hit},
            heartbeat_s=0.5,
            browser=browser_of(worker),
        )

    async def do_all(self) -> None:
        """The task, and then MTurk's form."""
        await self.finish()
        self.hand_in()

    def hand_in(self) -> None:
        """MTurk's form, which our page fills in and sends."""
        self.mturk.crowd.submit(self.assignment.id, {"workerId": self.worker})


def open_hits(mturk: StandIn) -> list[Hit]:
    """Those that somebody could accept."""
    now = mturk.clock.now()
    return [hit for hit in mturk.crowd.hits() if hit.status(now) == "Assignable"]


def not_expired(mturk: StandIn) -> list[Hit]:
    """Those whose time is not over, done or not."""
    return [hit for hit in mturk.crowd.hits() if hit.expires > mturk.clock.now()]
