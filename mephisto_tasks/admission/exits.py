"""How a visit ends, and where the rater goes then."""

from __future__ import annotations

from typing import Literal, Protocol

from mephisto_tasks.admission.wording import RETURN_THE_TASK, TAKE_ANEW
from parlai_humaneval.i18n.translate import t
from parlai_humaneval.schema.steps import Redirect

Outcome = Literal["complete", "screened_out", "no_consent", "timed_out", "returned"]
"""Done; may not take part (a failed practice, say); did not want to; left, or was too slow; gave the task back."""


class Site(Protocol):
    """Where raters come from, and go to in the end."""

    def exit(self, worker_name: str, outcome: Outcome) -> Redirect | None:
        """A worker's visit ends so: where they go. None: they may close the page, or the crowd takes them back."""

    def for_them(self, worker_name: str, text: str, redirect: Redirect | None) -> str:
        """Words for a worker who goes that way; they are written for crowds whose tasks one returns."""

    def work_done(self, agent_id: str) -> None:
        """A worker has done their unit, or as much of it as could be done: they are paid for all of it."""


class NoSite:
    """Raters come by themselves, or the crowd's own page takes them back."""

    def exit(self, worker_name: str, outcome: Outcome) -> Redirect | None:
        return None

    def for_them(self, worker_name: str, text: str, redirect: Redirect | None) -> str:
        return text

    def work_done(self, agent_id: str) -> None:
        """Nobody waits to hear it."""


def instead_of_returning(text: str, what: str) -> str:
    """Words for a rater who is asked to do something else than to return the task, in the language in force."""
    return text.replace(t(TAKE_ANEW), what).replace(t(RETURN_THE_TASK), what)
