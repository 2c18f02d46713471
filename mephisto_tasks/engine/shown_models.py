"""Which model is behind what stands on raters' pages: known to the launch, and never sent to a page."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class ShownModels:
    """Remembers the model of every reply or line while it is on a page. Thread-safe."""

    models: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, shown: Iterable[tuple[str, str]]) -> None:
        """A page is sent these ids; beside each stands who said it."""
        with self._lock:
            self.models.update(shown)

    def model_of(self, shown_id: str) -> str | None:
        """The model behind an id that is on a page now."""
        with self._lock:
            return self.models.get(shown_id)

    def forget(self, shown_ids: Iterable[str]) -> None:
        """They are on no page any more."""
        with self._lock:
            for shown_id in shown_ids:
                self.models.pop(shown_id, None)
