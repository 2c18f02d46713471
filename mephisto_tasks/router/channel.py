"""The operator's end: a Channel of Mephisto that is a method call, where others are a socket.

Nothing can be lost between operator and router, and nobody else can pose as either.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from mephisto_tasks import compat
from mephisto_tasks.router.core import Router
from mephisto_tasks.router.packets import Packet as WirePacket

compat.prepare()

from mephisto.abstractions._subcomponents.channel import Channel
from mephisto.data_model.packet import Packet

logger = logging.getLogger(__name__)


class InProcessChannel(Channel):
    """An OperatorLink for the router, and a Channel for Mephisto's ClientIOHandler."""

    def __init__(
        self,
        channel_id: str,
        on_channel_open: Callable[[str], None],
        on_catastrophic_disconnect: Callable[[str], None],
        on_message: Callable[[str, Packet], None],
        router: Router,
    ) -> None:
        super().__init__(channel_id, on_channel_open, on_catastrophic_disconnect, on_message)
        self._router = router
        self._open = False
        self._closed = False

    def open(self) -> None:
        self._open = self._router.connect_operator(self)
        if self._open:
            self.on_channel_open(self.channel_id)

    def close(self) -> None:
        if not self._closed:
            self._closed, self._open = True, False
            self._router.disconnect_operator()

    def is_closed(self) -> bool:
        return self._closed

    def is_alive(self) -> bool:
        return self._open

    def enqueue_send(self, packet: Packet) -> bool:
        return self._open and self._router.from_operator(packet.to_sendable_dict())

    def to_operator(self, packet: WirePacket) -> None:
        """Hands a packet to Mephisto, which takes it up in its own loop."""
        try:
            self.on_message(self.channel_id, Packet.from_dict(packet))
        except Exception:
            # Mephisto's loop closes a moment before its channels: that must not end the router.
            logger.exception("The operator could not take a packet of type %s.", packet.get("packet_type"))
