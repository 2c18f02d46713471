"""What a launch asks the router again and again, and how it lets raters in while it ends."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

from mephisto_tasks.adapter.client_io import StudyIOHandler
from mephisto_tasks.adapter.operator import COMING_IN_S, StudyWorkerPool


class Channel:
    """Notes what is sent, and does ``also`` something."""

    def __init__(self, also: Any) -> None:
        self.sent: list[str] = []
        self._also = also

    def enqueue_send(self, packet: Any) -> None:
        self.sent.append(packet.type)
        self._also()


def test_asking_who_has_left_survives_what_goes_wrong() -> None:
    """Guards the finding of raters who left: a channel that fails, or that the end of the launch takes away meanwhile, ends
    neither this question nor, with it, all later ones."""
    study: Any = None
    admission: Any = None
    handler = StudyIOHandler(None, study, admission)

    def broken() -> None:
        raise OSError("gone")

    channels = {
        "shrinks": Channel(lambda: handler.channels.pop("shrinks")),
        "broken": Channel(broken),
        "good": Channel(lambda: None),
    }
    handler.channels.update(channels)
    handler._request_status_update()
    assert [channel.sent for channel in channels.values()] == [["request_statuses"]] * 3


def test_an_end_waits_for_who_is_coming_in_and_for_nobody_else() -> None:
    """Guards the registration of a rater against a database that closes under it, and each end against idle seconds."""
    pool = StudyWorkerPool(SimpleNamespace(saving=None), None, None)  # type: ignore[arg-type]  # only its entrance is used
    began = time.monotonic()
    pool.shutdown()
    assert time.monotonic() - began < COMING_IN_S / 2
    pool = StudyWorkerPool(SimpleNamespace(saving=None), None, None)  # type: ignore[arg-type]  # only its entrance is used
    inside, may_leave, is_in = threading.Event(), threading.Event(), []

    async def registration() -> None:
        inside.set()
        may_leave.wait()
        is_in.append(True)

    threading.Thread(target=pool._let_in, args=[registration()], daemon=True).start()
    inside.wait()
    threading.Timer(0.2, may_leave.set).start()
    pool.shutdown()
    assert is_in == [True]
