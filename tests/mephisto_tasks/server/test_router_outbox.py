"""The outbox loses and doubles nothing, whatever is cut when."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mephisto_tasks.server.agents import Outbox
from mephisto_tasks.server.packets import Packet

EVENTS = st.lists(st.sampled_from(["add", "arrive", "cut", "confirm", "reconnect"]), max_size=80)


class Wire:
    """A page on a connection that breaks: nothing arrives out of order, but the tail may be lost."""

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.line: list[Packet] | None = []
        self.got: list[Any] = []
        self.added = 0
        self.last_seq = 0

    def add(self) -> None:
        self.added += 1
        packet = self.outbox.add({"data": self.added})
        if self.line is not None:
            self.line.append(packet)

    def arrive(self) -> None:
        if self.line:
            packet = self.line.pop(0)
            if packet["router_seq"] > self.last_seq:
                self.last_seq = packet["router_seq"]
                self.got.append(packet["data"])

    def cut(self) -> None:
        self.line = None

    def confirm(self) -> None:
        self.outbox.confirm(self.last_seq)

    def reconnect(self) -> None:
        self.line = self.outbox.resume(self.last_seq)


@given(EVENTS)
def test_page_gets_everything_once_and_in_order(events: list[str]) -> None:
    """Any mixture of sending, losing, confirming and reconnecting ends with 1, 2, 3 … at the page."""
    wire = Wire()
    for event in [*events, "reconnect"]:
        getattr(wire, event)()
    while wire.line:
        wire.arrive()
    assert wire.got == list(range(1, wire.added + 1))
    wire.confirm()
    assert len(wire.outbox) == 0


def test_page_from_before_a_restart_still_hears_everything() -> None:
    """A page that saw number 7 of an earlier router gets 8, 9 …, not 1, 2 … that it would drop as repeats."""
    outbox = Outbox()
    outbox.add({"data": "a"})
    outbox.add({"data": "b"})
    assert [packet["router_seq"] for packet in outbox.resume(7)] == [8, 9]
    assert outbox.add({"data": "c"})["router_seq"] == 10
    outbox.confirm(9)
    assert [packet["data"] for packet in outbox.resume(9)] == ["c"]


def test_a_second_window_gets_the_state_that_the_first_one_confirmed() -> None:
    """The state changed after the second had registered, and before it was connected: it would wait for ever."""
    outbox = Outbox()
    for state in ("old", "new"):
        outbox.add({"packet_type": "client_bound_live_update", "data": state})
    outbox.add({"packet_type": "update_status", "data": "in task"})
    outbox.confirm(3)
    assert [packet["data"] for packet in outbox.resume(0)] == ["new"]
    assert [packet["data"] for packet in outbox.resume(1)] == ["new"]
    assert outbox.resume(2) == []
    outbox.add({"packet_type": "client_bound_live_update", "data": "newer"})
    assert [packet["data"] for packet in outbox.resume(1)] == ["newer"]
    outbox.clear()
    assert outbox.resume(0) == []


def test_memory_is_bounded_and_the_newest_stay() -> None:
    outbox = Outbox(capacity=3)
    for number in range(1, 6):
        outbox.add({"data": number, "subject_id": "1"})
    assert [packet["data"] for packet in outbox.resume(0)] == [3, 4, 5]
