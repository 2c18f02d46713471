"""What the launch asks the router again and again."""

from __future__ import annotations

from typing import Any

from mephisto_tasks.adapter.client_io import StudyIOHandler


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
