"""One item on a rater's page, while it is judged: what stands there, and every answer written down when it arrives."""

from __future__ import annotations

import time
from collections.abc import Sequence

from mephisto_tasks.annotation.plans import ItemToJudge
from mephisto_tasks.session.display import ShownModels
from mephisto_tasks.session.page import PageSession
from parlai_humaneval.schema.events import Judged
from parlai_humaneval.schema.panels import Panel
from parlai_humaneval.schema.records import GivenAnswer


class ItemPage:
    """The page of a rater who judges ``item``; ``shown`` is told who said each line that stands on it."""

    def __init__(self, item: ItemToJudge, page: PageSession, shown: ShownModels) -> None:
        self.item = item
        self.page = page
        self._shown = shown
        self._on_page: list[str] = []

    def show_panels(self, panels: list[Panel], speakers: Sequence[Sequence[tuple[str, str]]] = ()) -> None:
        """Put dialogues on the page; ``speakers``: line id → speaker of each panel, known to the launch alone."""
        self.page.panels = panels
        for lines in speakers:
            self.note(lines)

    def note(self, said: Sequence[tuple[str, str]]) -> None:
        """Line or candidate id → who said what stands on the page, known to the launch alone."""
        self._shown.note(said)
        self._on_page += [shown_id for shown_id, _ in said]

    def forget(self) -> None:
        """The item is over: nothing of it is on the page any more."""
        self._shown.forget(self._on_page)

    def step_id(self, what: str) -> str:
        """Unique among the steps of a unit."""
        return f"{what}-{self.item.number}"

    def is_answered(self) -> bool:
        """True, once for each step, where it was answered in an earlier visit."""
        return self.page.recorded.take(Judged) is not None

    def store(self, answers: list[GivenAnswer]) -> None:
        """Write answers down, now."""
        self.page.state.append(Judged(at=time.time(), answers=answers))
