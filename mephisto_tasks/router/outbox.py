"""What one page has not confirmed yet."""

from __future__ import annotations

import logging
from collections import deque

from mephisto_tasks.router.packets import Packet

logger = logging.getLogger(__name__)

CAPACITY = 2000
"""Most packets kept for one page. A page that is away gets a handful; this only bounds memory."""


class Outbox:
    """Packets for one page, numbered 1, 2, 3 …, kept until confirmed.

    ``confirm(n)`` is cumulative: everything up to ``n`` arrived. ``resume(n)`` gives what a page that
    has everything up to ``n`` still lacks, in order.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._waiting: deque[Packet] = deque()
        self._last = 0
        self._capacity = capacity

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def last_seq(self) -> int:
        """The greatest number given so far."""
        return self._last

    def add(self, packet: Packet) -> Packet:
        """Numbers ``packet``, keeps it, and returns it with its ``router_seq``."""
        self._last += 1
        numbered = {**packet, "router_seq": self._last}
        self._waiting.append(numbered)
        if len(self._waiting) > self._capacity:
            lost = self._waiting.popleft()
            logger.warning(
                "Agent %s has %d packets unconfirmed; the oldest is dropped.",
                lost.get("subject_id"),
                self._capacity,
            )
        return numbered

    def confirm(self, seq: int) -> None:
        """Forgets everything up to ``seq``; numbers that were never given change nothing more."""
        while self._waiting and self._waiting[0]["router_seq"] <= seq:
            self._waiting.popleft()

    def resume(self, seq: int) -> list[Packet]:
        """Confirms up to ``seq`` and returns all that waits, oldest first.

        A page that has seen a greater number than was ever given here comes from before a restart of the
        router: numbering goes on behind it, or the page would take everything new for repeats.
        """
        if seq > self._last:
            for offset, packet in enumerate(self._waiting, start=1):
                packet["router_seq"] = seq + offset
            self._last = seq + len(self._waiting)
        else:
            self.confirm(seq)
        return list(self._waiting)

    def clear(self) -> None:
        """Forgets all: nobody will ask again."""
        self._waiting.clear()
