"""One rater's unit of work: its parts, one after another, and the comment box. Parts are dialogues, or items to judge."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from mephisto_tasks.session.page import PageSession
from parlai_humaneval.i18n.translate import phrase
from parlai_humaneval.schema.events import Failed, FeedbackGiven
from parlai_humaneval.schema.steps import FeedbackStep, Notice, Progress

P = TypeVar("P")

WHERE_YOU_WERE = Notice(
    level="info", text=phrase("Welcome back! You go on where you were: nothing that you did is lost.")
)
"""Said to a rater who comes back in the middle of something."""


class World(Protocol):
    """What holds one part with the rater."""

    @property
    def name(self) -> str:
        """The part is called so in logs."""

    def run(self) -> None:
        """Hold the part to its end; what the page raises when the rater leaves goes on to the caller."""


class HeldUnit(ABC, Generic[P]):
    """Holds the parts of a unit in order; an engine says how a part is held, and what becomes of those that are left.

    Args:
        page: the rater's page.
        parts: what is still to be held.
        name: of the unit in logs, before any part began.
        go_on: said above the first question of a rater who did some parts of the unit earlier.
        between: said above the first question of every part but the first.
        over: says that nothing else comes, and asks for a comment.
    """

    greeting: Notice | None = None
    """Said above the first question of somebody whose earlier unit was cut off by the end of a launch."""

    def __init__(
        self,
        page: PageSession,
        parts: Sequence[P],
        *,
        name: str,
        over: str,
        go_on: Notice | None = None,
        between: Notice | None = None,
    ) -> None:
        self.page = page
        self.parts = parts
        self.done: list[P] = []
        self.world: World | None = None
        """The part that runs, or ran last."""
        self._name = name
        self._over = over
        self._go_on = go_on
        self._between = between

    @property
    def name(self) -> str:
        """What runs, or ran last, for logs."""
        return self._name if self.world is None else self.world.name

    def run(self) -> None:
        """Hold every part to its end.

        Raises:
            mephisto.data_model.exceptions.AbsentAgentError: the rater left, timed out, or the launch ends.
        """
        held = False
        for part in self.parts:
            name = self.part_id(part)
            if not self.page.recorded.finished(name):
                notice = self._between if held else self._welcome(name)
                if notice is not None:
                    self.page.notice = notice
                self.hold(part)
                held = True
            else:
                self.page.progress = self.progress_at(part)
            self.done.append(part)

    def _welcome(self, part: str) -> Notice | None:
        if self.page.recorded.begun(part):
            return WHERE_YOU_WERE
        return self._go_on

    @abstractmethod
    def part_id(self, part: P) -> str:
        """The part is called so in records."""

    @abstractmethod
    def hold(self, part: P) -> None:
        """One part to its end; :attr:`world` is what holds it."""

    @abstractmethod
    def progress_at(self, part: P) -> Progress | None:
        """What the page counts at the end of a part, of those that an earlier visit did; None: nothing is known."""

    @abstractmethod
    def leave(self, worker: str, agent: str) -> None:
        """The rater went away: what is left is given out again."""

    def ask_feedback(self) -> None:
        """The comment box at the end; the unit is complete whatever happens here."""
        if self.page.recorded.has_feedback:
            return
        text = self.page.ask_feedback(FeedbackStep(step_id="feedback", label=self._over)).text
        if text.strip():
            self.page.state.append(FeedbackGiven(at=time.time(), text=text))

    def fail(self, reason: str) -> None:
        """Write down that the part could not go on through no fault of the rater."""
        if self.world is not None:
            self.page.state.append(Failed(at=time.time(), reason=reason))
