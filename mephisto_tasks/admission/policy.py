"""Who may come in: what Mephisto's side asks the study of a worker, and how a page is told that it may not."""

from __future__ import annotations

from typing import Any, Protocol

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.operations.worker_pool import AgentDetails

from mephisto_tasks.admission.eligibility import Refusal
from parlai_humaneval.i18n.languages import Offered
from parlai_humaneval.i18n.translate import t

KIND = "refusal_kind"
SCREEN = "screen"
TRIES_AGAIN = "try_again_s"
"""Keys in what a page is told: a page of its own for this refusal, and after how many seconds it asks again by itself."""


class Doorkeeper(Protocol):
    """What a study says of a worker, by Mephisto's worker id."""

    busy: str
    """The sentence for somebody who has another page open."""
    for_now: frozenset[str]
    """Kinds of refusals that pass by themselves: whoever hears one stays, and tries again."""
    languages: Offered
    """In which the study speaks."""
    most_at_once: int
    """So many workers may be inside at once, in the practice and at work."""

    def keeps_places(self, ahead: int = 0) -> bool:
        """Whether whoever comes now waits for a moment: all that is left is kept for workers who were cut off.

        ``ahead``: workers who are about to begin.
        """

    def why_not(self, worker_id: str) -> Refusal | None:
        """Why this worker cannot take part now; None when there is no better reason than Mephisto's."""

    def against_rules(self, worker_id: str) -> Refusal | None:
        """Why the study's rules keep a worker out, before any practice; None: they do not."""

    def never_more(self, worker_id: str) -> Refusal | None:
        """Why this worker can do nothing more in this launch, whatever others do; None where that is not so."""

    def begins(self, worker_id: str, *, known_browser: bool) -> None:
        """A worker is about to be given a unit, and comes with their own browser, or with one that was never theirs."""

    def goes_on(self, worker_id: str) -> bool:
        """Whether a worker has something that was cut off, and that they would go on with."""

    def may_return(self, worker_id: str) -> bool:
        """Whether a worker who left a dialogue can be given another."""


def refused(refusal: Refusal, worker_id: str | None = None) -> dict[str, Any]:
    """As a page is told, in the language in force; the kind is for whoever watches the study alone."""
    return {**AgentDetails(worker_id=worker_id, failure_reason=t(refusal.words)).to_dict(), KIND: refusal.kind}
