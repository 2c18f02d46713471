"""Raters who come by a link: a panel's, or an invitation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mephisto_tasks.crowds.link.doors import doors_of, gate_of, panel_of
from mephisto_tasks.crowds.link.panel import PanelDoor
from mephisto_tasks.crowds.link.provider import LinkProvider, LinkRequester
from mephisto_tasks.crowds.link.reception import Reception
from mephisto_tasks.crowds.place import Place
from mephisto_tasks.engine.blueprint import StudySharedState


@dataclass
class LinkPlace(Place):
    """The server makes out of a page's address who its visitor is."""

    _reception: Reception | None = None

    @cached_property
    def _panel(self) -> PanelDoor | None:
        return panel_of(self.provider)

    def prepare(self, db: Any) -> list[str]:
        requester = str(self.provider.requester_name)
        if not db.find_requesters(requester_name=requester):
            LinkRequester.new(db, requester)
        return []

    def receive(self, db: Any) -> Reception | None:
        doors = doors_of(self.provider, self.data_dir, self.task_name)
        self._reception = Reception(LinkProvider(db).datastore, doors, self.task_name)
        return self._reception

    def share(self, shared_state: StudySharedState, db: Any) -> None:
        super().share(shared_state, db)
        secure = str(self.config.mephisto.architect.get("public_url") or "").startswith("https://")
        assert self._reception is not None, "visitors are received before anything is shared"
        shared_state.site = self._reception
        shared_state.guard = gate_of(self.provider, self.data_dir, self.task_name, secure=secure).guarded

    def page_words(self) -> dict[str, Any]:
        panel = self._panel
        words = None if panel is None else {"title": panel.panel.title, "may_decline": panel.may_decline}
        return {"panel": words}

    def panel_link(self, url: str) -> str | None:
        return None if self._panel is None else f"{url.rstrip('/')}/?{self._panel.panel.link}".rstrip("?")

    @property
    def only_invited(self) -> bool:
        return self._panel is None
