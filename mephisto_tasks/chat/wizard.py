"""Pages for partners, who write replies as one of the models: their secret link, their pages, and the desk with
requests. One thread does for them what operator and worlds do for raters' pages."""

from __future__ import annotations

import hashlib
import json
import logging
import queue
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from mephisto_tasks.crowds.registry import offered
from mephisto_tasks.server import packets
from mephisto_tasks.server.router import Router
from mephisto_tasks.server.security import new_token
from mephisto_tasks.server.static import STATIC, SideDoor
from mephisto_tasks.session.answers import check_message, read_answer
from parlai_humaneval._util.files import OWNER_ONLY, create_once, write_private
from parlai_humaneval.display.filtering import offensive_spans
from parlai_humaneval.i18n.translate import Language, Offered, joined, phrase, phrases, speaking, spoken, t, tn
from parlai_humaneval.materials.instructions import load_instructions
from parlai_humaneval.models.backends.human import Desk, Errand
from parlai_humaneval.schema import steps

FOLDER = "partners"  # in the data directory
NAME = "partner"  # of the page, in its address
HERE = Path(__file__).parent
SCRIPT = STATIC / "partner_crowd_source.js"


def partners_door(data_dir: Path, task_name: str, languages: Offered) -> SideDoor:
    """The way in for a task's partners: the raters' page with other words, and a router of its own."""
    words = {tag: _words(language) for tag, language in languages.languages.items()}
    of_languages = {tag: {**told, "words": words[tag]} for tag, told in languages.for_page().items()}
    config = {
        **words[languages.main.tag],
        "languages": of_languages,
        "provider_type": offered(
            lambda crowd: crowd.page_type if crowd.page_entry == "start" else None
        ),  # for pages of earlier versions
        "entry": "start",
        "instructions_first": True,
    }
    files = {"task_config.json": json.dumps(config).encode(), "wrap_crowd_source.js": SCRIPT.read_bytes()}
    return SideDoor(NAME, link_token(data_dir, task_name), Router(), files)


def _words(language: Language) -> dict[str, Any]:
    with speaking(language):
        return load_instructions(HERE / "task_config" / "instructions.yaml", {}, set()).model_dump(mode="json")


def link_token(data_dir: Path, task_name: str) -> str:
    """The token of a task, made at its first launch and kept in a file that only its owner can read."""
    digest = hashlib.sha256(task_name.encode()).hexdigest()[:16]  # task names are free text
    path = data_dir / FOLDER / f"{digest}.token"
    known = create_once(path, new_token().encode()).decode("ascii").strip()
    if not known:  # it was cut off while it was written
        known = new_token()
        write_private(path, known.encode())
    path.chmod(OWNER_ONLY)  # it may have been copied here
    return known


IDLE = phrase("Nobody needs a reply right now. Stay on this page: the next message will appear here.")
AFTER_REPLY = phrase("Your reply was sent. The next message will appear here.")
CHARACTER = phrase("Your character")
NOT_YOURS = phrase("Not in your words")
NO_LONGER = phrase("You no longer need to reply to the previous message.")
NOT_SHOWN = phrase("Your last reply could not be shown to your partner. Please write another one.")
ANOTHER = phrase("This is another conversation, with another person.")
BACK = phrase("You are back in conversation {number}.")
OFFENSIVE = phrase("Please put that another way: “{words}” may offend the person who reads it.")
TOO_MANY = phrase("Enough people are already taking part, so nobody else is needed. Please come back later.")
PHRASES = phrases(__file__)
ENDED = (phrase("Thank you"), PHRASES["ended"])
OTHER_PERSON = phrase("The other person: {line}")

logger = logging.getLogger(__name__)

TICK_S = 0.5  # how often it looks which pages are there
LANGUAGE = "language"  # in a registration: the tag of the language in which the page speaks
AWAY_S = 10.0  # A page that is gone for longer has left; a reload takes a second or two
MAX_PARTNERS = 64  # at once; of those who have left no more than that are remembered
_STOP_S = 5.0


@dataclass(eq=False)
class _Partner:
    """One partner's page. ``here``: they sit at the desk. ``shown``: the last state sent."""

    agent_id: str
    language: Language
    here: bool = False
    seen_at: float = 0.0
    version: int = 0
    shown: steps.PageState | None = None
    confirmed: deque[str] = field(default_factory=lambda: deque(maxlen=50))
    notice: tuple[str, steps.Notice] | None = None  # the notice, and the step that shows it
    errand: Errand | None = None  # in hand when last looked at
    numbers: dict[int, int] = field(default_factory=dict)  # conversation → its number among theirs
    written: dict[int, set[str]] = field(default_factory=dict)
    sent: tuple[Errand, steps.PageState] | None = None
    """The last reply, and what is to be seen until the next message comes."""


class PartnerRoom:
    """Connects partners' pages with a desk. :meth:`start` once the ``router`` runs, :meth:`say_goodbye` before it
    ends."""

    def __init__(self, desk: Desk, router: Router, languages: Offered | None = None) -> None:
        self._desk = desk
        self._router = router
        self._languages = languages or Offered()
        self._partners: dict[str, _Partner] = {}
        self._inbox: queue.SimpleQueue[packets.Packet | None] = queue.SimpleQueue()
        self._over = threading.Event()
        self._warned = False
        self._thread = threading.Thread(target=self._run, name="router-partners", daemon=True)

    def start(self) -> None:
        """Begin to listen; what pages said before is heard now."""
        self._desk.on_change = lambda: self._inbox.put(None)
        self._router.connect_operator(self)
        self._thread.start()

    def say_goodbye(self) -> None:
        """Tell every page that the study has ended, and listen no more. The desk stays as it is."""
        self._over.set()
        self._inbox.put(None)
        if self._thread.is_alive():
            self._thread.join(_STOP_S)

    def to_operator(self, packet: packets.Packet) -> None:
        self._inbox.put(packet)

    def newly_unattended(self) -> bool:
        """True, once each time, when somebody waits for a reply and no partner is here."""
        unattended = self._desk.partners() == 0 and self._desk.waiting() > 0
        news = unattended and not self._warned
        self._warned = unattended
        return news

    # -- in the room's own thread

    def _run(self) -> None:
        while not self._over.is_set():
            for packet in self._arrived():
                try:
                    self._hear(packet)
                except Exception:  # one odd packet must not leave all partners alone
                    logger.exception("a packet from a partner's page could not be handled")
            now = time.monotonic()
            for partner in self._partners.values():
                if self._router.is_here(partner.agent_id):
                    partner.seen_at = now
                    if not partner.here:
                        partner.here = True
                        self._desk.sit_down(partner.agent_id)
                elif partner.here and now - partner.seen_at > AWAY_S:
                    partner.here = False
                    self._desk.stand_up(partner.agent_id)
            for partner in self._partners.values():
                with speaking(partner.language):
                    self._show(partner)
        for partner in self._partners.values():
            with speaking(partner.language):
                title, text = map(t, ENDED)
                self._send(partner, _page(steps.EndStep(title=title, text=text, next="stay")))

    def _arrived(self) -> list[packets.Packet]:
        arrived = []
        try:
            arrived.append(self._inbox.get(timeout=TICK_S))
            while True:
                arrived.append(self._inbox.get_nowait())
        except queue.Empty:
            return [packet for packet in arrived if packet is not None]

    def _hear(self, packet: packets.Packet) -> None:
        kind, data = packet["packet_type"], packet.get("data") or {}
        if kind == packets.REGISTER_AGENT:
            language = self._languages.named(data["provider_data"].get(LANGUAGE))
            with speaking(language):
                agent_id = f"partner-{data['provider_data']['worker_name']}"
                if len(self._partners) >= MAX_PARTNERS:
                    known = self._partners.items()
                    self._partners = {name: there for name, there in known if there.here or name == agent_id}
                details: dict[str, Any] = {"request_id": data["request_id"], "worker_id": None, "agent_id": None}
                if agent_id not in self._partners and len(self._partners) >= MAX_PARTNERS:
                    details |= {"init_task_data": None, "failure_reason": t(TOO_MANY)}
                else:
                    partner = self._partners.setdefault(agent_id, _Partner(agent_id, language))
                    partner.language = language
                    update = self._update(partner, partner.shown or self._state(partner))
                    task_data = {"task_data": {}, "past_live_updates": [update]}
                    details |= {"agent_id": agent_id, "init_task_data": task_data, "failure_reason": None}
                packet = {"packet_type": packets.AGENT_DETAILS, "subject_id": agent_id, "data": details}
                self._router.from_operator(packet)
        elif kind == packets.MEPHISTO_BOUND and packet["subject_id"] in self._partners:
            partner = self._partners[packet["subject_id"]]
            with speaking(partner.language):
                self._answered(partner, data)

    def _answered(self, partner: _Partner, data: dict[str, Any]) -> None:
        update_id = str(data["update_id"])[:100]
        if update_id in partner.confirmed:  # it was resent: the page has not seen the state that confirms it
            partner.shown = None
            return
        partner.confirmed.append(update_id)
        errand = self._desk.in_hand(partner.agent_id)
        if errand is None or partner.errand is not errand or data.get("step_id") != errand.errand_id:
            return  # _show says that it is not needed any more
        state = self._state(partner)
        assert isinstance(state.step, steps.MessageStep)
        answer, problem = read_answer(data, errand.errand_id, (steps.MessageAnswer,))
        if answer is not None:
            problem = check_message(state.step, answer)
            if problem is None and (offensive := offensive_spans(answer.text)):
                problem = t(OFFENSIVE, words="”, “".join(dict.fromkeys(offensive)))
        if answer is None or problem is not None:
            partner.notice = errand.errand_id, steps.Notice(level="error", text=problem or "")
            return
        text = answer.text.strip()
        # First what is known of it: the next message may come the moment the reply is there.
        partner.written.setdefault(errand.conversation, set()).add(text)
        if self._desk.answer(partner.agent_id, errand.errand_id, text):
            said = steps.Entry(entry_id=f"{len(state.transcript)}-sent", speaker="you", text=text)
            wait = steps.WaitStep(text=t(AFTER_REPLY), idle=True)
            after = state.model_copy(update={"transcript": [*state.transcript, said], "step": wait})
            partner.sent, partner.errand = (errand, after), None

    def _show(self, partner: _Partner) -> None:
        before, now = partner.errand, self._desk.in_hand(partner.agent_id)
        if before is not now:
            said = [] if before is None else [t(NO_LONGER)]
            if now is not None:
                last = before or (partner.sent[0] if partner.sent else None)
                known = partner.numbers.get(now.conversation)
                number = partner.numbers.setdefault(now.conversation, len(partner.numbers) + 1)
                if partner.sent is not None and partner.sent[0].heard == now.heard:
                    said.append(t(NOT_SHOWN))
                elif last is not None and last.conversation != now.conversation:
                    said.append(t(ANOTHER) if known is None else t(BACK, number=number))
            partner.errand = now
            notice = steps.Notice(level="info", text=joined(said))
            partner.notice = ("" if now is None else now.errand_id, notice) if said else None
        state = self._state(partner)
        if partner.here and (partner.shown is None or partner.shown.model_copy(update={"version": 0}) != state):
            self._send(partner, state)

    def _state(self, partner: _Partner) -> steps.PageState:
        errand = partner.errand
        if errand is not None:
            heard, number = errand.heard, partner.numbers[errand.conversation]
            turns = sum(speaker == "human" for speaker, _ in heard.dialogue)
            persona = [*heard.persona, *(t(OTHER_PERSON, line=line) for line in heard.partner_persona)]
            mine = partner.written.get(errand.conversation, set())
            transcript = [
                steps.Entry(
                    entry_id=f"{number}-{place}",
                    speaker="partner" if speaker == "human" else "you",
                    text=text,
                    note=t(NOT_YOURS) if speaker == "bot" and text not in mine else None,
                )
                for place, (speaker, text) in enumerate(heard.dialogue)
            ]
            above = label(turns, self._desk.waiting(), self._desk.oldest_wait_s())
            state = _page(
                steps.MessageStep(step_id=errand.errand_id, label=above),
                progress=steps.Progress(unit="conversation", current=number, total=None),
                within=steps.Progress(unit="turn", current=max(turns, 1), total=None),
                context=steps.Context(title=t(CHARACTER), lines=persona) if persona else None,
                transcript=transcript,
            )
        elif partner.sent and partner.sent[0].conversation in self._desk.conversations(partner.agent_id):
            state = partner.sent[1]
        else:
            state = _page(steps.WaitStep(text=t(IDLE), idle=True))
        step_id = errand.errand_id if errand is not None else ""
        notice = partner.notice[1] if partner.notice and partner.notice[0] == step_id else None
        return state.model_copy(update={"notice": notice, "confirmed": list(partner.confirmed)})

    def _send(self, partner: _Partner, state: steps.PageState) -> None:
        update = self._update(partner, state)
        self._router.from_operator(
            {"packet_type": packets.CLIENT_BOUND, "subject_id": partner.agent_id, "data": update}
        )

    def _update(self, partner: _Partner, state: steps.PageState) -> dict[str, Any]:
        partner.version += 1
        partner.shown = state.model_copy(update={"version": partner.version})
        return {"update_id": uuid4().hex, "kind": "state", "state": partner.shown.model_dump(mode="json")}


def label(turns: int, waiting: int = 0, oldest_s: float = 0.0) -> str:
    """Above the field: what to write, how many messages wait besides, and for how long the oldest has."""
    what = t("Write your reply") if turns else t("Write the first message")
    if waiting == 0:
        return what
    minutes = int(oldest_s // 60)  # whole ones, lest the page change every second
    return tn(
        "{what} (1 more message has been waiting for {time})",
        "{what} ({n} more messages are waiting, the oldest for {time})",
        waiting,
        what=what,
        time=t("less than a minute") if minutes == 0 else tn("1 minute", "{n} minutes", minutes),
    )


def _page(step: steps.Step, **shown: Any) -> steps.PageState:
    """Written in the current language; the sender increases the version."""
    phase = "ended" if isinstance(step, steps.EndStep) else "task"
    return steps.PageState.model_validate(
        {"version": 0, "language": spoken().tag, "phase": phase, "step": step, **shown}
    )
