"""A worker of the stand-in at our page, without a browser: accepts a HIT, does it, and submits it to MTurk."""

from __future__ import annotations

from contextlib import suppress

from mephisto_tasks.simulation.page_client import PageClient
from mephisto_tasks.simulation.raters import Behaviour, Outcome, SimulatedRater
from parlai_humaneval.schema.steps import PageState

from .crowd import NotAllowed, external_url
from .records import Assignment
from .server import StandIn

__all__ = ["page_of", "take_hit", "work"]


def take_hit(mturk: StandIn, worker: str) -> Assignment:
    """Accept the first HIT that is offered. Raises NotAllowed: there is none for this worker."""
    offered = mturk.crowd.offered(worker)
    if not offered:
        raise NotAllowed(f"there are no HITs for {worker}")
    return mturk.crowd.accept(worker, offered[0].id)


def page_of(mturk: StandIn, assignment: Assignment) -> PageClient:
    """The page in MTurk's frame, which knows what MTurk tells it."""
    return PageClient(
        external_url(assignment.hit.question).partition("?")[0],
        worker_id=assignment.worker,
        assignment_id=assignment.id,
        provider_data={"hit_id": assignment.hit.id},
    )


async def work(
    mturk: StandIn,
    worker: str,
    behaviour: Behaviour | None = None,
    *,
    submit: bool = True,
    leave_after: int | None = None,
) -> tuple[Assignment, Outcome]:
    """Do a HIT from accept to submit; one that is refused, stopped, or not to be submitted stays accepted.

    ``leave_after``: so many rated turns, then the page is closed, and the HIT stays accepted.
    """
    assignment = take_hit(mturk, worker)
    rater = _Turker(page_of(mturk, assignment), worker, behaviour or Behaviour(), leave_after)
    with suppress(_Left):
        await rater.run()
    if rater.outcome.finished and submit:
        mturk.crowd.submit(assignment.id, {"workerId": worker})
    return assignment, rater.outcome


class _Left(Exception):
    """The page was closed."""


class _Turker(SimulatedRater):
    def __init__(self, page: PageClient, worker: str, behaviour: Behaviour, leave_after: int | None) -> None:
        super().__init__("", worker, behaviour, seed=1, page=page)
        self._leave_after = leave_after

    async def _step(self, state: PageState) -> PageState:
        if len(self.outcome.turns) == self._leave_after:
            raise _Left
        return await super()._step(state)
