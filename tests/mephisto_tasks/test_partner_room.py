"""The partners' room without pages: who has gone, who is one too many, and what was sent twice."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mephisto_tasks.chat import wizard as room_module
from mephisto_tasks.chat import wizard as words
from mephisto_tasks.chat.wizard import PartnerRoom, partners_door
from mephisto_tasks.server import packets
from mephisto_tasks.server.router import Router
from parlai_humaneval.i18n.translate import offered
from parlai_humaneval.models.backends.base import Heard
from parlai_humaneval.models.backends.human import Desk

MOST = 64
A_RELOAD_S, GONE_S = 5.0, 30.0


class Pages:
    """Stands for the router: which pages are there, and what each was sent."""

    def __init__(self) -> None:
        self.here: set[str] = set()
        self.sent: list[packets.Packet] = []

    def connect_operator(self, link: Any) -> bool:
        return True

    def is_here(self, agent_id: str) -> bool:
        return agent_id in self.here

    def from_operator(self, packet: packets.Packet) -> bool:
        self.sent.append(packet)
        return True

    def registered(self) -> list[dict[str, Any]]:
        return [packet["data"] for packet in self.sent if packet["packet_type"] == packets.AGENT_DETAILS]

    def states(self) -> list[dict[str, Any]]:
        return [packet["data"]["state"] for packet in self.sent if packet["packet_type"] == packets.CLIENT_BOUND]


def eventually(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.005)


class Scene:
    """A room at a desk, its pages, and a clock that only the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(room_module, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(room_module, "TICK_S", 0.01)
        self.desk, self.pages = Desk(), Pages()
        self.room = PartnerRoom(self.desk, cast(Router, self.pages), offered("auto"))
        self.room.start()

    def register(self, name: str, language: str = "en") -> dict[str, Any]:
        """What the page is told."""
        before = len(self.pages.registered())
        data = {"request_id": name, "provider_data": {"worker_name": name, "language": language}}
        self.room.to_operator({"packet_type": packets.REGISTER_AGENT, "subject_id": "", "data": data})
        eventually(lambda: len(self.pages.registered()) > before)
        return self.pages.registered()[-1]

    def come(self, name: str) -> None:
        """Register, and sit at the desk."""
        assert self.register(name)["agent_id"] == f"partner-{name}"
        seated = self.desk.partners()
        self.pages.here.add(f"partner-{name}")
        eventually(lambda: self.desk.partners() == seated + 1)

    def say(self, name: str, **data: Any) -> None:
        self.room.to_operator({"packet_type": packets.MEPHISTO_BOUND, "subject_id": f"partner-{name}", "data": data})

    def look_around(self) -> None:
        """Let the room have looked around at this time of the clock: what it was told before is heard by then."""
        self.register("somebody")
        self.register("somebody")


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    made = Scene(monkeypatch)
    yield made
    made.desk.close()
    made.room.say_goodbye()


def test_a_reload_is_no_leaving_and_leaving_is(scene: Scene) -> None:
    """Guards both sides: a page that is away for seconds keeps its place, one that stays away frees its messages."""
    scene.come("p1")
    scene.pages.here.clear()
    scene.now += A_RELOAD_S
    scene.look_around()
    assert scene.desk.partners() == 1
    scene.now += GONE_S
    eventually(lambda: scene.desk.partners() == 0)


def test_so_many_partners_and_no_more_until_one_has_gone(scene: Scene) -> None:
    """Guards memory against whoever has the link: the next page is told so, and comes in when another has left."""
    for number in range(MOST):
        scene.come(f"p{number}")
    refused = scene.register("one-more")
    assert (refused["agent_id"], refused["failure_reason"]) == (None, words.TOO_MANY)
    assert scene.register("p3")["agent_id"] == "partner-p3"  # who is known may reload
    scene.pages.here.discard("partner-p7")
    scene.now += GONE_S
    eventually(lambda: scene.desk.partners() == MOST - 1)
    assert scene.register("one-more")["agent_id"] == "partner-one-more"


def test_an_answer_that_is_sent_again_is_confirmed_again_and_heard_once(scene: Scene) -> None:
    """Guards a lost confirmation: the page gets its state anew, and the same words do not count twice."""
    scene.come("p1")
    answers: list[str] = []
    heard = Heard(dialogue=(("human", "Hi!"),), persona=(), partner_persona=(), seed=1)
    asking = threading.Thread(target=lambda: answers.append(scene.desk.ask(heard, patience_s=10)), daemon=True)
    asking.start()
    eventually(lambda: any(state["step"]["kind"] == "message" for state in scene.pages.states()))
    step_id = scene.pages.states()[-1]["step"]["step_id"]
    answer = {"update_id": "u1", "kind": "message", "step_id": step_id, "text": "Hello!"}
    scene.say("p1", **answer)
    eventually(lambda: answers == ["Hello!"])
    eventually(lambda: scene.pages.states()[-1]["confirmed"] == ["u1"])
    scene.look_around()  # and nothing is left to be sent
    before = len(scene.pages.states())
    scene.say("p1", **answer)
    eventually(lambda: len(scene.pages.states()) > before)
    scene.look_around()
    assert scene.pages.states()[-1]["confirmed"] == ["u1"]
    assert answers == ["Hello!"]


def test_each_partner_reads_their_own_language(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Guards the partners' page of a study in Chinese: what the room says, and in which language the page is told to be."""
    scene = Scene(monkeypatch)
    for language, said in (
        ("zh", "目前没有人需要回复"),
        ("en", "Nobody needs a reply"),
        ("xx", "Nobody needs a reply"),
    ):
        (update,) = scene.register(language, language)["init_task_data"]["past_live_updates"]
        assert update["state"]["language"] == language.replace("xx", "en")
        assert update["state"]["step"]["text"].startswith(said)
    scene.room.say_goodbye()
    door = json.loads(partners_door(tmp_path, "t", offered("auto")).files["task_config.json"])
    assert door["title"] == "Write replies"
    assert door["languages"]["zh"]["words"]["title"] == "撰写回复"
