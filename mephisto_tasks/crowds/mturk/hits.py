"""HITs as MTurk has them: making one, asking how it stands, taking it off the market."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any, Literal
from xml.sax.saxutils import escape

from mephisto_tasks.crowds.mturk.errors import MTurkError, asking

QUESTION = (
    '<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd">'
    "<ExternalURL>{url}</ExternalURL><FrameHeight>{height}</FrameHeight></ExternalQuestion>"
)
LONG_AGO = datetime(2015, 1, 1, tzinfo=timezone.utc)
"""MTurk's way to say “now”: a HIT whose time was over then is taken off the market at once."""
AT_ONCE = 8
"""HITs that are taken off side by side; MTurk answers in about a tenth of a second."""
GONE = "AWS.MechanicalTurk.HITDoesNotExist"
MADE_ALREADY = ("AWS.MechanicalTurk.HITAlreadyExists", "AWS.MechanicalTurk.DuplicateRequest")

State = Literal["open", "taken", "submitted", "over"]
"""Of a HIT for one worker: anybody may accept it; a worker has it; it was handed in; nobody can have it any more."""


def study_mark(db_root: str, task_name: str) -> str:
    """What stands in the annotation of every HIT of a study, by which a later launch knows what is left of it."""
    return f"parlai-humaneval {hashlib.sha256(f'{db_root}|{task_name}'.encode()).hexdigest()[:16]}"


def make_hit(client: Any, hit_type_id: str, url: str, *, height: int, lifetime_s: int, annotation: str) -> str:
    """Offer one HIT for one worker; returns its id. However often a lost answer makes us ask, it is made once.

    ``annotation``: unlike that of any other HIT. Raises MTurkError.
    """
    try:
        with asking("make a HIT"):
            made = client.create_hit_with_hit_type(
                HITTypeId=hit_type_id,
                MaxAssignments=1,
                LifetimeInSeconds=lifetime_s,
                Question=QUESTION.format(url=escape(url), height=height),
                RequesterAnnotation=annotation,
                UniqueRequestToken=hashlib.sha256(annotation.encode()).hexdigest()[:64],
            )
        return str(made["HIT"]["HITId"])
    except MTurkError as error:
        if error.code not in MADE_ALREADY:
            raise
        hits = hits_where(client, lambda hit: hit.get("RequesterAnnotation") == annotation)
        if not hits:
            raise
        return str(hits[0]["HITId"])


def hits_where(client: Any, wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """The account's HITs that are as ``wanted``. Raises MTurkError."""
    with asking("list the account's HITs"):
        pages = client.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 100})
        return [hit for page in pages for hit in page["HITs"] if wanted(hit)]


def open_hits(client: Any, known: Collection[str], mark: str) -> list[str]:
    """Ids of :func:`hits_left`. Raises MTurkError."""
    return [str(hit["HITId"]) for hit in hits_left(client, known, mark)]


def hits_left(client: Any, known: Collection[str], mark: str) -> list[dict[str, Any]]:
    """HITs that a worker could still accept, now or when somebody returns them: the ``known`` ones and those of the mark.

    Raises:
        MTurkError
    """
    now = datetime.now(timezone.utc)

    def is_left(hit: dict[str, Any]) -> bool:
        ours = hit["HITId"] in known or str(hit.get("RequesterAnnotation", "")).startswith(mark)
        return ours and hit["HITStatus"] in ("Assignable", "Unassignable") and hit["Expiration"] > now

    return hits_where(client, is_left)


def group_of(client: Any, hit_id: str) -> str:
    """What MTurk shows workers as one entry in their list: HITs of one type. Raises MTurkError."""
    with asking("look at a HIT"):
        return str(client.get_hit(HITId=hit_id)["HIT"]["HITGroupId"])


def state_of(client: Any, hit_id: str) -> State:
    """How a HIT stands. Raises MTurkError, but not for one that was deleted: that is over."""
    try:
        with asking("look at a HIT"):
            hit = client.get_hit(HITId=hit_id)["HIT"]
    except MTurkError as error:
        if error.code == GONE:
            return "over"
        raise
    match hit["HITStatus"]:
        case "Assignable":
            return "open" if hit["Expiration"] > datetime.now(timezone.utc) else "over"
        case "Unassignable":
            return "taken"
        case "Reviewable" | "Reviewing":
            return "submitted" if hit["NumberOfAssignmentsAvailable"] == 0 else "over"
        case _:
            return "over"


def expire(client: Any, hit_ids: Sequence[str]) -> list[str]:
    """Take HITs off the market, several at once; workers who have one may finish it. Returns what went wrong."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="expire-hits") as pool:
        return [problem for problem in pool.map(lambda hit_id: _expire(client, hit_id), hit_ids) if problem]


def _expire(client: Any, hit_id: str) -> str:
    try:
        with asking(f"take the HIT {hit_id} off the market"):
            client.update_expiration_for_hit(HITId=hit_id, ExpireAt=LONG_AGO)
    except MTurkError as error:
        return "" if error.code == GONE else str(error)
    return ""
