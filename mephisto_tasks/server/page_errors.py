"""What pages report of their own faults: cut, few, and written to the log where nobody waits for it.

Mephisto writes such reports in the loop in which every rater's answer is taken up: a flood of them would stop the study.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
from collections.abc import Mapping
from typing import Any

from mephisto_tasks.server.security import RateLimit
from parlai_humaneval._util.text import on_one_line

logger = logging.getLogger(__name__)

LONGEST = 2000
"""Letters of one report."""
OF_ALL_PER_SECOND = 1.0
OF_ALL_BURST = 30.0
"""Of all pages together: a fault of the page itself shows on each of them, and a few reports tell of it."""
WAITING = 30
"""Most reports that wait to be written, where a terminal stands still or a disk is slow."""
TOO_MANY_ERRORS = "Too many errors were reported; this one was not written down."
NOT_OF_A_PAGE = "Only a page that takes part in the study may report an error, with its agent's token."


class PageErrors:
    """Takes reports from the loop of the router (or of the operator), and writes them in a thread of its own."""

    def __init__(self, limit: RateLimit | None = None) -> None:
        self._limit = limit or RateLimit(OF_ALL_PER_SECOND, OF_ALL_BURST)
        self._waiting: queue.Queue[str | None] = queue.Queue(WAITING)
        self._thread: threading.Thread | None = None
        self._left_out = 0

    def take(self, who: str, report: Mapping[str, Any]) -> bool:
        """Has ``report`` written down; False where too many came, of which only the number is written. Never waits."""
        if not self._limit.allows():
            self._left_out += 1
            return False
        lost = f" ({self._left_out:,} more were left out before it)" if self._left_out else ""
        try:
            self._waiting.put_nowait(f"The page of {who} reports an error: {_words(report)}{lost}")
        except queue.Full:
            self._left_out += 1
            return False
        self._left_out = 0
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="page-errors", daemon=True)
            self._thread.start()
        return True

    def close(self) -> None:
        """Ends the thread once it has written what waits; what does not find room is lost, as nobody looks on."""
        if self._thread is not None:
            try:
                self._waiting.put_nowait(None)
            except queue.Full:
                return
            self._thread = None

    def _write(self) -> None:
        while (text := self._waiting.get()) is not None:
            logger.warning("%s", text)


def _words(report: Mapping[str, Any]) -> str:
    kind, text = report.get("error_type"), report.get("text")
    if isinstance(text, str):
        said = f"{kind[:100]}: {text[:LONGEST]}" if isinstance(kind, str) else text
    else:
        said = json.dumps(dict(report), ensure_ascii=False)
    return on_one_line(said, LONGEST)
