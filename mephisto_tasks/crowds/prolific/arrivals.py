"""Arrivals from Prolific, and the ends of submissions. Ids in an address are checked against Prolific's data on the
submission. Our server sends completions, with codes that no browser ever sees, until Prolific has accepted them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

from aiohttp import web

from mephisto_tasks.admission.visits import Arrival, OnlyLooks, Outcome, Parameters, TurnedAway, instead_of_returning
from mephisto_tasks.crowds.link.crowd import DECLINED, RETURNED_ALREADY, Reception
from mephisto_tasks.crowds.link.datastore import LinkDatastore, sessions
from mephisto_tasks.crowds.panels.panel import PanelDoor
from mephisto_tasks.crowds.prolific import statuses
from mephisto_tasks.crowds.prolific.client import HOOK_SECRET, Prolific, ProlificError, asking, stand_in
from mephisto_tasks.crowds.prolific.store import (
    BY_HAND,
    COMPLETE,
    NO_CONSENT,
    PROVIDER,
    SCREENED_OUT,
    TURNED_AWAY,
    Ending,
    OurStudy,
    ProlificStore,
    code_of,
    screen_out_of,
)
from mephisto_tasks.payments.ledger import Ledger
from mephisto_tasks.storage.provider_names import CrowdError, NotYetKnown
from parlai_humaneval.i18n.translate import phrase, phrases, t
from parlai_humaneval.schema.steps import Redirect

SIGNATURE = "prolific_token"
ISSUER = "https://www.prolific.com"
SLACK_S = 60.0  # between two clocks
KEYS_FRESH_S = 24 * 3600.0
ASKED_AGAIN_S = 30.0  # for a key that is not among those known, at most so often
PHRASES = phrases(__file__)
NOT_SIGNED = PHRASES["not_signed"]
_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")
"""The prefix of the digest in a PKCS #1 v1.5 signature."""


@dataclass
class SignedLinks:
    """Checks tokens by Prolific's public keys. Only RS256 counts: a token must not choose how it is checked."""

    client: Prolific
    _keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    _read_at: float = float("-inf")

    def check(self, token: str, session: str) -> None:
        """Raises TurnedAway: the token is not of this submission, or is invalid; NotYetKnown: no keys are available."""
        try:
            head, claims, signature = token.split(".")
            header, said = _decoded(head), _decoded(claims)
            signed = f"{head}.{claims}".encode()
            value = _integer(signature)
        except ValueError:
            raise TurnedAway(NOT_SIGNED) from None
        key = self._key(str(header.get("kid", ""))) if header.get("alg") == "RS256" else None
        now = time.time()
        good = (
            key is not None
            and _is_of(signed, value, key)
            and said.get("iss") == ISSUER
            and said.get("sub") == session
            and _number(said.get("exp")) > now - SLACK_S
            and _number(said.get("iat")) < now + SLACK_S
        )
        if not good:
            raise TurnedAway(NOT_SIGNED)

    def _key(self, name: str) -> tuple[int, int] | None:
        age = time.monotonic() - self._read_at
        if age > KEYS_FRESH_S or (name not in self._keys and age > ASKED_AGAIN_S):
            try:
                listed = self.client.public_keys()["keys"]
            except ProlificError as error:
                if name not in self._keys:
                    raise NotYetKnown from error
                return self._keys[name]
            self._read_at, rsa = time.monotonic(), (key for key in listed if key.get("kty") == "RSA")
            self._keys = {str(key["kid"]): (_integer(key["n"]), _integer(key["e"])) for key in rsa}
        return self._keys.get(name)


def _is_of(signed: bytes, signature: int, key: tuple[int, int]) -> bool:
    """Whether the signature is the key's: the whole padded block is compared, so that nothing in it is parsed."""
    modulus, exponent = key
    length = (modulus.bit_length() + 7) // 8
    if signature >= modulus or length < 256:
        return False
    digest = _SHA256 + hashlib.sha256(signed).digest()
    wanted = b"\x00\x01" + b"\xff" * (length - len(digest) - 3) + b"\x00" + digest
    return hmac.compare_digest(pow(signature, exponent, modulus).to_bytes(length, "big"), wanted)


def _decoded(part: str) -> Mapping[str, Any]:
    said = json.loads(_bytes(part))
    if not isinstance(said, dict):
        raise ValueError("no object")
    return said


def _bytes(part: str) -> bytes:
    return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)


def _integer(part: str) -> int:
    return int.from_bytes(_bytes(part), "big")


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else float("nan")


logger = logging.getLogger(__name__)

EVENT = "submission.status.change"
CALL_TIME, CALL_SIGNATURE = "X-Prolific-Request-Timestamp", "X-Prolific-Request-Signature"
WITHOUT = "%s. Prolific cannot report changes immediately, so it is asked every few seconds, as without webhooks=true"


class Hooks:
    """One subscription while a launch runs; what a killed launch of ``whose`` left is ended by its next."""

    def __init__(self, client: Prolific, workspace: str, whose: str) -> None:
        self._client, self._workspace = client, workspace
        self._secret = self._subscription = ""
        self._beginning = f"{hashlib.sha256(whose.encode()).hexdigest()[:12]}-"
        self.path = f"/hooks/{self._beginning}{secrets.token_urlsafe(16)}"
        """Secret of the raters' server; nobody else knows it."""
        self.nudge: Callable[[], None] = lambda: None  # looks at Prolific at once

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.read()
        if not self._is_signed(request.headers.get(CALL_TIME, ""), request.headers.get(CALL_SIGNATURE, ""), body):
            raise web.HTTPForbidden(reason="The signature is wrong.")
        self.nudge()
        return web.Response(status=204)

    def _is_signed(self, timestamp: str, signature: str, body: bytes) -> bool:
        if not self._secret or not timestamp.isascii():
            return False
        made = hmac.new(self._secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
        return hmac.compare_digest(base64.b64encode(made), signature.encode())

    def subscribe(self, url: str) -> None:
        """Be told at our ``url``; failures are logged. A workspace's one secret is never replaced: others may use it."""
        try:
            with asking("make Prolific report changes"):
                known = list(self._client.pages("hooks/secrets/", workspace_id=self._workspace))
                secret = known[0] if known else self._client.post("hooks/secrets/", {"workspace_id": self._workspace})
                self._secret = str(secret.get("value") or "")
                if not self._secret:
                    logger.warning(WITHOUT, "The workspace has a secret for webhooks that Prolific does not show")
                    return
                target = f"{url.rstrip('/')}{self.path}"
                for there in list(self._client.pages("hooks/subscriptions/", workspace_id=self._workspace)):
                    if urlsplit(str(there.get("target_url"))).path.rpartition("/hooks/")[2].startswith(self._beginning):
                        self._client.delete(f"hooks/subscriptions/{there['id']}/")
                body = {"workspace_id": self._workspace, "event_type": EVENT, "target_url": target}
                made = self._client.post("hooks/subscriptions/", body)
                self._subscription = str(made["id"])
                confirmation = {"secret": made[HOOK_SECRET]}
                self._client.post(f"hooks/subscriptions/{self._subscription}/", confirmation, repeat=True)
        except (CrowdError, LookupError, TypeError, AttributeError) as error:  # or the answer has another form
            logger.warning(WITHOUT, str(error).rstrip("."))

    def unsubscribe(self) -> None:
        if not self._subscription:
            return
        try:
            with asking("end the subscription"):
                self._client.delete(f"hooks/subscriptions/{self._subscription}/")
        except CrowdError as error:
            logger.warning("%s. Prolific ends it automatically after a few days", error)


APP = "https://app.prolific.com/"
PROMISED_S = 15 * 60.0  # raters may still write a comment at the end; then it is completed without them
AGAIN_S, LONGEST_S = 5.0, 300.0
MOST_TRIES = 60
"""Together some hours: afterwards Prolific has timed the submission out, and nothing more can be done there."""
PAID = "paid before it was ended"
_OPEN = (statuses.RESERVED, statuses.ACTIVE, statuses.TIMED_OUT)  # in these a submission can be completed


def app_address(path: str = "") -> str:
    """A page of Prolific's web app; of a stand-in on this machine, its own."""
    here = stand_in()
    return urljoin(APP if here is None else f"{here}/", path)


class Endings:
    """Completes the submissions of a task's studies. Thread-safe."""

    def __init__(self, client: Prolific, store: ProlificStore, task_name: str) -> None:
        self._client, self._store, self._task_name = client, store, task_name
        self._asking: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        """One lock per submission: a rater's thread and the retrying thread must not request different things."""

    def promise(self, session: str, study_id: str) -> None:
        """The work is done: it is completed in a while, should its rater just leave."""
        self._store.end(session, study_id, COMPLETE, PROMISED_S)

    def end(self, session: str, study_id: str, kind: str) -> str:
        study = self._study(study_id)
        if study is None:
            return app_address("studies")
        if kind == SCREENED_OUT:
            pays, used = screen_out_of(study), self._store.endings("study_id = ? AND kind = ?", study_id, SCREENED_OUT)
            kind = kind if pays is not None and len(used) < pays[1] else TURNED_AWAY
        self._store.end(session, study_id, kind, AGAIN_S)
        done = self._complete(study, session)
        code = code_of(study, BY_HAND)
        if done or kind != COMPLETE or code is None:
            return app_address("studies")
        return app_address(f"submissions/complete?cc={code}")

    def asks_to_return(self, session: str) -> bool:
        """Whether the submission was ended so that its participant is asked to return it."""
        return any(one.kind in (TURNED_AWAY, NO_CONSENT) for one in self._store.endings("session = ?", session))

    def flush(self) -> None:
        for ending in self._store.due():
            study = self._study(ending.study_id)
            if study is not None:
                self._complete(study, ending.session)

    def _study(self, study_id: str) -> OurStudy | None:
        return next((one for one in self._store.studies(self._task_name) if one.study_id == study_id), None)

    def _complete(self, study: OurStudy, session: str) -> bool:
        with self._asking[session]:
            (ending,) = self._store.endings("session = ?", session)
            if ending.done is None and self._is_paid(session):
                self._store.tried(ending, PAID, done=True)
                return True
            return ending.done is not None or self._ask(study, ending)

    def _is_paid(self, session: str) -> bool:
        """Whether ``pay`` has gone before: completed now, the submission would be approved by itself, and paid once more."""
        data_dir, task_name = self._store.data_dir, self._task_name
        payments = [one for one in Ledger(data_dir, task_name).payments() if one.state != "failed"]
        theirs = sessions(data_dir, task_name, PROVIDER) if payments else ()
        agents = {visit.agent_id for visit in theirs if visit.session == session and visit.agent_id}
        return any(one.assignment == session or one.agent_id in agents for one in payments)

    def _ask(self, study: OurStudy, ending: Ending) -> bool:
        path, code = f"submissions/{ending.session}/", code_of(study, ending.kind)
        try:
            body = {"action": "COMPLETE", "completion_code": code}
            answer = self._client.post(f"{path}transition/", body, repeat=True)
            status = statuses.plain(answer.get("status") if isinstance(answer, dict) else "")
            if status in _OPEN:
                status = statuses.plain(self._client.get(path)["status"])
            return self._note(ending, status)
        except ProlificError as error:
            if error.may_pass or error.status in (401, 403):
                return self._later(ending, error)
            return self._look(study, ending, error)

    def _look(self, study: OurStudy, ending: Ending, refused: ProlificError) -> bool:
        """Prolific refused: it may have been ended before, or be somebody's who never arrived there."""
        try:
            status = statuses.plain(self._client.get(f"submissions/{ending.session}/")["status"])
        except ProlificError as error:
            return self._later(ending, error)
        if status in _OPEN and ending.kind == SCREENED_OUT:  # it pays none: they are asked to return, and owed a bonus
            return self._ask(study, self._store.change_kind(ending, TURNED_AWAY))
        return self._note(ending, status) if status not in _OPEN else self._later(ending, refused)

    def _note(self, ending: Ending, status: str) -> bool:
        done = status not in _OPEN
        self._store.tried(ending, status, done=done, again_s=_pause(ending))
        return done

    def _later(self, ending: Ending, error: CrowdError) -> bool:
        given_up = ending.tries + 1 >= MOST_TRIES
        self._store.tried(ending, str(error), done=given_up, again_s=_pause(ending))
        if ending.tries == 0 or given_up:
            logger.warning("a submission could not be ended on Prolific: %s", error)
        return False


def _pause(ending: Ending) -> float:
    return min(AGAIN_S * 2.0 ** min(ending.tries, 10), LONGEST_S)


FRESH_S = 5.0  # how long an answer of Prolific's counts
MOST_KEPT = 5000
ROOM_S = 20.0  # how long who comes for a place that was just given back waits for its unit
RETURN_THERE = phrase("return your submission on {site}")
PLEASE_RETURN = phrase("Please return your submission on {site}.")
DECLINED_THERE = (DECLINED[0], PHRASES["declined_there"])


@dataclass
class Arrivals:
    """Asks Prolific about each arrival; participants who were let in continue while it is out of reach. Thread-safe."""

    client: Prolific
    studies: Callable[[], Sequence[str]]
    visits: LinkDatastore
    task_name: str
    signed: SignedLinks | None = None  # checks links; None: they have no signature
    has_room: Callable[[], bool] = lambda: True  # else newcomers wait for a while
    _came: dict[str, float] = field(default_factory=dict)
    _said: dict[str, tuple[float, Mapping[str, Any] | None]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, arrival: Arrival, parameters: Parameters) -> None:
        """Raises TurnedAway: they do not come from the study; NotYetKnown: Prolific cannot be asked now."""
        known = self.visits.of_session(self.task_name, arrival.door, arrival.session)
        was_here = known is not None and known.worker_name == arrival.worker_name
        if self.signed is not None and not was_here:
            self.signed.check(str(parameters.get(SIGNATURE, "")), arrival.session)
        try:
            said = self._ask(arrival.session)
        except ProlificError as error:
            if was_here:
                return
            raise NotYetKnown from error
        if said is None:
            raise OnlyLooks(PHRASES["preview"])
        participant = str(said.get("participant") or said.get("participant_id") or "")
        study = str(said.get("study_id") or said.get("study") or "")
        is_theirs = f"{arrival.door}:{participant}" == arrival.worker_name and study == arrival.study
        if not is_theirs or study not in self.studies():
            raise TurnedAway(PHRASES["not_yours"])
        if not was_here and statuses.plain(said.get("status")) not in (statuses.RESERVED, statuses.ACTIVE):
            raise TurnedAway(PHRASES["over"], RETURNED_ALREADY[0])
        came = self._came.setdefault(arrival.session, time.monotonic())
        if not was_here and time.monotonic() - came < ROOM_S and not self.has_room():
            raise NotYetKnown

    def _ask(self, session: str) -> Mapping[str, Any] | None:
        """Prolific's data on a submission; None: it has none. Raises ProlificError."""
        with self._lock:
            kept = self._said.get(session)
        if kept is not None and time.monotonic() - kept[0] < FRESH_S:
            return kept[1]
        said: Mapping[str, Any] | None = None
        try:
            said = self.client.get(f"submissions/{session}/")
        except ProlificError as error:
            if error.may_pass or error.status not in (400, 404):
                raise
        with self._lock:
            if len(self._said) >= MOST_KEPT:
                self._said.clear()
            self._said[session] = (time.monotonic(), said)
        return said


@dataclass(frozen=True)
class ProlificDoor(PanelDoor):
    """The panel's door, whose arrivals Prolific confirms, and whose endings our server says there."""

    arrivals: Arrivals | None = None  # of a launch; without it nobody is asked
    endings: Endings | None = None
    practised: Callable[[str], bool] = lambda worker_name: False
    """Whether a worker did the practice in this visit, and nothing else."""

    def arrival(self, parameters: Parameters) -> Arrival | None:
        arrival = super().arrival(parameters)
        if arrival is not None and self.arrivals is not None:
            self.arrivals.check(arrival, parameters)
        return arrival

    @property
    def may_decline(self) -> bool:
        return True

    def exit(self, arrival: Arrival, outcome: Outcome) -> Redirect | None:
        """Send the participant back to Prolific, unless they were away or returned the task; they may come again."""
        kinds: dict[Outcome, str] = {"complete": COMPLETE, "no_consent": NO_CONSENT, "screened_out": TURNED_AWAY}
        kind = kinds.get(outcome)
        if outcome == "screened_out" and self.practised(arrival.worker_name):
            kind = SCREENED_OUT
        if kind is None or self.endings is None or not arrival.session:
            return None
        return Redirect(site=self.panel.title, url=self.endings.end(arrival.session, arrival.study, kind))


class ProlificReception(Reception):
    """Receives visitors, and notes at once what was done: a finished dialogue must not time out on Prolific."""

    declined = DECLINED_THERE

    def __init__(self, store: LinkDatastore, door: ProlificDoor, task_name: str) -> None:
        super().__init__(store, [door], task_name, PROVIDER)
        self._ends = door.endings

    def work_done(self, agent_id: str) -> None:
        super().work_done(agent_id)
        visit = self._store.of_agent(agent_id)
        if visit is not None and visit.session and self._ends is not None:
            self._ends.promise(visit.session, visit.study)

    def for_them(self, worker_name: str, text: str, redirect: Redirect | None) -> str:
        """Whom Prolific asks to return their submission, we ask as well: else it waits until its time is over."""
        visit = self._store.newest_of(self._task_name, worker_name)
        if redirect is None or visit is None or self._ends is None or not self._ends.asks_to_return(visit.session):
            return super().for_them(worker_name, text, redirect)
        said = instead_of_returning(text, t(RETURN_THERE, site=redirect.site))
        return said if said != text else f"{text} {t(PLEASE_RETURN, site=redirect.site)}"

    def screened_out(self, worker_name: str) -> Redirect | None:
        """A participant who was away and for whom nothing is left is sent back as well: no unit is kept for them."""
        return self.exit(worker_name, "screened_out")
