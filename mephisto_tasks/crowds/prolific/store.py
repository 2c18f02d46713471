"""Our studies on Prolific: a small SQLite file, written before each request; requests to Prolific, and the creation of
a study exactly once, even if an answer is lost."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mephisto_tasks.crowds.crowd import CrowdError
from mephisto_tasks.crowds.panels.panel import PanelFile
from mephisto_tasks.crowds.prolific.client import Prolific, ProlificError, Uncertain, asking
from mephisto_tasks.storage.sqlite import Database

PROVIDER = "prolific"
FILE = "prolific.db"
_STUDY = "mark, task_name, account, workspace, project, study_id, body, made"
_ENDING = "session, study_id, kind, due, tries, said, done"


@dataclass(frozen=True)
class OurStudy:
    """A study that we made, or are about to (``study_id`` empty), found there by its ``mark``. ``body``: as it was sent."""

    mark: str
    task_name: str
    account: str
    workspace: str
    project: str
    study_id: str
    body: Mapping[str, Any]
    made: float


@dataclass(frozen=True)
class Ending:
    """How a submission is to end on Prolific; ``done``: when Prolific took it. ``said``: its status then, or the trouble."""

    session: str
    study_id: str
    kind: str
    due: float
    tries: int
    said: str
    done: float | None


class ProlificStore:
    """The file of a data directory. Any thread or process may call it at any time."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self._database = Database(
            data_dir / PROVIDER / FILE,
            error=ProlificError,
            migrations=(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"),),
        )

    def add(self, study: OurStudy) -> None:
        values = (*list(study.__dict__.values())[:6], json.dumps(study.body), study.made)
        self._write(f"INSERT INTO studies ({_STUDY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

    def made(self, mark: str, study_id: str) -> None:
        self._write("UPDATE studies SET study_id = ? WHERE mark = ?", (study_id, mark))

    def changed(self, mark: str, body: Mapping[str, Any]) -> None:
        self._write("UPDATE studies SET body = ? WHERE mark = ?", (json.dumps(body), mark))

    def forget(self, mark: str) -> None:
        """It was never made, or is deleted on Prolific."""
        self._write("DELETE FROM studies WHERE mark = ?", (mark,))

    def studies(self, task_name: str | None = None) -> list[OurStudy]:
        """The studies of a task, or all; oldest first."""
        where, values = ("", ()) if task_name is None else (" WHERE task_name = ?", (task_name,))
        rows = self._database.rows(f"SELECT {_STUDY} FROM studies{where} ORDER BY made, rowid", values)
        found = (dict(zip(_STUDY.split(", "), row, strict=True)) for row in rows)
        return [OurStudy(**{**one, "body": json.loads(one["body"])}) for one in found]

    def end(self, session: str, study_id: str, kind: str, in_s: float) -> None:
        """Note how a submission is to end, in so many seconds at the latest; the first word for it holds."""
        due = time.time() + in_s
        sooner = "ON CONFLICT DO UPDATE SET due = MIN(due, excluded.due)"
        self._write(f"INSERT INTO endings VALUES (?, ?, ?, ?, 0, '', NULL) {sooner}", (session, study_id, kind, due))

    def tried(self, ending: Ending, said: str, *, done: bool, again_s: float = 0.0) -> None:
        now = time.time()
        sql = "UPDATE endings SET tries = tries + 1, said = ?, done = ?, due = ? WHERE session = ?"
        self._write(sql, (said, now if done else None, now + again_s, ending.session))

    def change_kind(self, ending: Ending, kind: str) -> Ending:
        self._write("UPDATE endings SET kind = ? WHERE session = ?", (kind, ending.session))
        return replace(ending, kind=kind)

    def due(self) -> list[Ending]:
        return self.endings("done IS NULL AND due <= ?", time.time())

    def endings(self, where: str = "TRUE", *values: object) -> list[Ending]:
        rows = self._database.rows(f"SELECT {_ENDING} FROM endings WHERE {where} ORDER BY rowid", values)
        return [Ending(*row) for row in rows]

    def lacks(self, workspace: str, feature: str) -> bool:
        """Whether Prolific refused a feature to the workspace the last time."""
        sql = "SELECT 1 FROM lacking WHERE workspace = ? AND feature = ?"
        return bool(self._database.rows(sql, (workspace, feature)))

    def note_lack(self, workspace: str, feature: str) -> None:
        self._write("INSERT OR IGNORE INTO lacking VALUES (?, ?)", (workspace, feature))

    def _write(self, sql: str, values: Sequence[object]) -> None:
        with self._database.writing() as connection:
            connection.execute(sql, values)


COMPLETE, BY_HAND, NO_CONSENT = "complete", "by_hand", "no_consent"
TURNED_AWAY, SCREENED_OUT = "turned_away", "screened_out"
"""Kinds of completion codes. All but :data:`BY_HAND` are used by our server and never reach a browser; that one is for when
Prolific does not answer. Participants who are turned away are asked to return; those screened out are paid at once."""
LISTED_LATE_S = 3.0  # a study may be made, and not listed yet
SCREEN_OUT_FEATURE, SIGNED_FEATURE = "fixed screen-out payments", "signed links"


def link(url: str, panel: PanelFile) -> str:
    return f"{url.rstrip('/')}/?{panel.link}"


def new_codes(screen_out: tuple[int, int] | None) -> list[dict[str, Any]]:
    """Completion codes of a study; ``screen_out``: cents and number of payments to raters who fail the practice."""

    def code(kind: str, code_type: str, action: str, actor: str = "researcher", **more: Any) -> dict[str, Any]:
        made = f"{kind[:2].upper()}{secrets.token_hex(6).upper()}"
        return {"code": made, "code_type": code_type, "actor": actor, "actions": [{"action": action, **more}]}

    refused, nothing = "You did not agree to take part.", "There was nothing for you to do in this study."
    made = [
        code(COMPLETE, "COMPLETED", "MANUALLY_REVIEW"),
        code(BY_HAND, "COMPLETED", "MANUALLY_REVIEW", "participant"),
        code(NO_CONSENT, "NO_CONSENT", "REQUEST_RETURN", return_reason=refused),
        code(TURNED_AWAY, "SCREENED_OUT", "REQUEST_RETURN", return_reason=nothing),
    ]
    if screen_out is not None:
        pays: dict[str, Any] = {"fixed_screen_out_reward": screen_out[0], "slots": screen_out[1]}
        made.append(code(SCREENED_OUT, "FIXED_SCREENOUT", "FIXED_SCREEN_OUT_PAYMENT", **pays))
    return made


def code_of(study: OurStudy, kind: str) -> str | None:
    """The study's completion code of a kind; None: it has none."""
    prefix = kind[:2].upper()
    codes = (str(each["code"]) for each in study.body.get("completion_codes", ()))
    return next((code for code in codes if code.startswith(prefix)), None)


def screen_out_of(study: OurStudy) -> tuple[int, int] | None:
    """Cents of a screen-out payment, and how many there are at most; None: the study pays none."""
    actions = (action for code in study.body.get("completion_codes", ()) for action in code["actions"])
    paying = next((action for action in actions if "slots" in action), None)
    return None if paying is None else (int(paying["fixed_screen_out_reward"]), int(paying["slots"]))


def with_slots(study: OurStudy, slots: int) -> list[dict[str, Any]]:
    """The study's completion codes, with so many screen-out payments."""
    return [
        {**code, "actions": [{**action, "slots": slots} if "slots" in action else action for action in code["actions"]]}
        for code in study.body["completion_codes"]
    ]


def is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether a study that was published can serve for what would be sent now: places can be added, and nothing changed."""

    def plain(body: Mapping[str, Any]) -> dict[str, Any]:
        codes = [{**code, "code": None} for code in body["completion_codes"]]
        return {**body, "completion_codes": codes, "total_available_places": None, "submissions_config": None}

    return plain(one) == plain(other)


def make_draft(client: Prolific, store: ProlificStore, study: OurStudy) -> tuple[OurStudy, list[str]]:
    """Write the study down, and make a draft; with what its workspace lacks, in sentences. Raises CrowdError."""
    remarks: list[str] = []
    while True:
        store.add(study)
        try:
            return _made(client, store, study), remarks
        except Uncertain:
            raise  # it may be there: the next launch looks for it
        except ProlificError as error:
            store.forget(study.mark)
            smaller = _without_features(study, error)
            if smaller is None:
                raise
            study, feature = smaller
            store.note_lack(study.workspace, feature)
            remarks.append(f"The workspace has no {feature} ({error.problems[0].what}).")


def _without_features(study: OurStudy, error: ProlificError) -> tuple[OurStudy, str] | None:
    """The same study without one of the features that not every workspace has."""
    if error.status not in (400, 403, 422):
        return None
    body = dict(study.body)
    if screen_out_of(study) is not None:
        body["completion_codes"] = [code for code in body["completion_codes"] if "slots" not in code["actions"][0]]
        return replace(study, body=body, mark=new_mark(study.task_name)), SCREEN_OUT_FEATURE
    if body.pop("is_external_study_url_secure", False):
        return replace(study, body=body, mark=new_mark(study.task_name)), SIGNED_FEATURE
    return None


def new_mark(task_name: str) -> str:
    return f"{task_name} {secrets.token_hex(4)}"


def _made(client: Prolific, store: ProlificStore, study: OurStudy) -> OurStudy:
    sent = {**study.body, "internal_name": study.mark, "metadata": f"parlai-humaneval {study.mark}"}
    with asking("create the study as a draft"):
        try:
            study_id = str(client.post("studies/", sent)["id"])
        except Uncertain:
            time.sleep(LISTED_LATE_S)
            known = find_marked(client, study)
            study_id = known or str(client.post("studies/", sent)["id"])
    store.made(study.mark, study_id)
    return replace(study, study_id=study_id)


def find_marked(client: Prolific, study: OurStudy) -> str:
    """The id of the study with this mark; empty: Prolific has none. Raises CrowdError: it has several."""
    with asking("look for the study in its project"):
        path = f"projects/{study.project}/studies/"
        found = [str(one["id"]) for one in client.pages(path) if one.get("internal_name") == study.mark]
    if len(found) > 1:
        what = f"Prolific has {len(found)} studies named {study.mark!r}, but there should be only one"
        advice = f"delete all but one of these drafts in the web app, and launch again: {', '.join(found)}"
        raise CrowdError(what, try_=advice)
    return found[0] if found else ""
