"""How submissions end: our server completes them with codes that no browser ever sees, until Prolific took it."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from urllib.parse import urljoin, urlsplit

from mephisto_tasks.crowds.base import CrowdError
from mephisto_tasks.crowds.link.datastore import sessions
from mephisto_tasks.crowds.prolific import statuses
from mephisto_tasks.crowds.prolific.client import Prolific, base_address, stand_in
from mephisto_tasks.crowds.prolific.drafts import (
    BY_HAND,
    COMPLETE,
    NO_CONSENT,
    SCREENED_OUT,
    TURNED_AWAY,
    code_of,
    screen_out_of,
)
from mephisto_tasks.crowds.prolific.errors import ProlificError
from mephisto_tasks.crowds.prolific.store import PROVIDER, Ending, OurStudy, ProlificStore
from mephisto_tasks.payments.ledger import Ledger

logger = logging.getLogger(__name__)

APP = "https://app.prolific.com/"
PROMISED_S = 15 * 60.0
"""Who is done may still write a comment; then it is completed without them."""
AGAIN_S, LONGEST_S = 5.0, 300.0
MOST_TRIES = 60
"""Together some hours: afterwards Prolific has timed the submission out, and nothing more can be done there."""
PAID = "paid before it was ended"
_OPEN = (statuses.RESERVED, statuses.ACTIVE, statuses.TIMED_OUT)
"""In these a submission can be completed."""


def app_address(path: str = "") -> str:
    """A page of Prolific's web app; of a stand-in on this machine, its own."""
    here = stand_in()
    return urljoin(APP if here is None else "{0.scheme}://{0.netloc}/".format(urlsplit(base_address())), path)


class Endings:
    """Completes the submissions of a task's studies. Thread-safe.

    Args:
        client: that does not wait for long, for raters do.
        store: of the data directory.
        task_name: whose.
    """

    def __init__(self, client: Prolific, store: ProlificStore, task_name: str) -> None:
        self._client, self._store, self._task_name = client, store, task_name
        self._asking: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        """By submission: a rater's thread and the one that asks again must not ask for different things."""

    def promise(self, session: str, study_id: str) -> None:
        """The work is done: it is completed in a while, should its rater just leave."""
        self._store.end(session, study_id, COMPLETE, PROMISED_S)

    def end(self, session: str, study_id: str, kind: str) -> str:
        """End a submission now; the address to which its rater goes."""
        study = self._study(study_id)
        if study is None:
            return app_address("studies")
        if kind == SCREENED_OUT and not self._pays_one_more(study):
            kind = TURNED_AWAY
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
        """Ask again for all that is due."""
        for ending in self._store.due():
            study = self._study(ending.study_id)
            if study is not None:
                self._complete(study, ending.session)

    def _study(self, study_id: str) -> OurStudy | None:
        return next((one for one in self._store.studies(self._task_name) if one.study_id == study_id), None)

    def _pays_one_more(self, study: OurStudy) -> bool:
        """Whether another screen-out payment was agreed to."""
        pays = screen_out_of(study)
        used = self._store.endings("study_id = ? AND kind = ?", study.study_id, SCREENED_OUT)
        return pays is not None and len(used) < pays[1]

    def _complete(self, study: OurStudy, session: str) -> bool:
        """Whether Prolific has it as ended."""
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
