"""The replies of one turn while models are still writing them: the part of each that a person may see so far."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from parlai_humaneval.display.presenter import CommonClock, Presenter, settled_end
from parlai_humaneval.models.pool.asking import Answer


@dataclass
class _Heard:
    """One model's reply so far. ``looked_at``: how much of it :attr:`text` was settled when that was last asked."""

    candidate_id: str
    text: str = ""
    looked_at: int = 0
    news: bool = False
    answer: Answer | None = None


class Growth:
    """Hears all models of a turn, and shows their replies in shown order by one clock. Thread-safe. ``order``: of
    showing, by the models' places; ``names``: zoo names to mask."""

    def __init__(self, order: Sequence[int], presenter: Presenter, names: Sequence[str]) -> None:
        self._order = order
        self._presenter = presenter
        self._names = names
        self._replies = [_Heard(secrets.token_hex(8)) for _ in order]
        self._clock = CommonClock(len(order))
        self._lock = threading.Lock()

    def candidate_id(self, place: int) -> str:
        """The id under which the reply of the model at ``place`` is shown, from its first word on."""
        return self._replies[place].candidate_id

    def heard(self, place: int, text: str) -> None:
        """All that the model at ``place`` has written so far; where it was asked again, of its new reply."""
        with self._lock:
            reply = self._replies[place]
            reply.text, reply.news = text, True

    def answered(self, place: int, answer: Answer) -> None:
        """The whole reply of the model at ``place``, which is taken."""
        with self._lock:
            self._replies[place].answer, self._replies[place].news = answer, True

    def shown(self, at: float) -> list[tuple[str, str]]:
        """Candidate id and text of each reply ``at`` a time in seconds; those of which nothing is shown yet are empty."""
        with self._lock:
            for place, reply in enumerate(self._replies):
                news, reply.news = reply.news, False
                if news and reply.answer is not None:
                    text = "" if reply.answer.failed else self._presenter.present(reply.answer.text, self._names).text
                    self._clock.heard(place, text, complete=True)
                elif news and (settled := settled_end(reply.text)) != reply.looked_at:  # the check is expensive
                    reply.looked_at = settled
                    self._clock.heard(place, self._presenter.settled(reply.text, self._names))
            texts = self._clock.shown(at)
            return [(self._replies[place].candidate_id, texts[place]) for place in self._order]

    @property
    def is_over(self) -> bool:
        return self._clock.is_over

    @property
    def replaced(self) -> frozenset[str]:
        """Candidates of which something was shown that is not how their replies begin."""
        return frozenset(self._replies[place].candidate_id for place in self._clock.replaced)
