"""A study as Prolific is sent it, and how it is made there once, whatever answer is lost."""

from __future__ import annotations

import html
import logging
import math
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mephisto_tasks.crowds.base import CrowdError
from mephisto_tasks.crowds.panels.panel import PanelFile
from mephisto_tasks.crowds.prolific.client import Prolific
from mephisto_tasks.crowds.prolific.errors import ProlificError, Uncertain, asking
from mephisto_tasks.crowds.prolific.requirements import Filter
from mephisto_tasks.crowds.prolific.store import OurStudy, ProlificStore

logger = logging.getLogger(__name__)

COMPLETE, BY_HAND, NO_CONSENT = "complete", "by_hand", "no_consent"
TURNED_AWAY, SCREENED_OUT = "turned_away", "screened_out"
"""Kinds of completion codes. All but :data:`BY_HAND` are used by our server and never reach a browser; that one is for when
Prolific does not answer. Who is turned away is asked to return; who is screened out is paid at once."""
MARGIN_S = 5 * 60
"""Prolific's clock begins at the link, and ours with the unit."""
LISTED_LATE_S = 3.0
"""A study may be made, and not listed yet."""
SCREEN_OUT_FEATURE, SIGNED_FEATURE = "fixed screen-out payments", "signed links"


def study_body(
    words: Mapping[str, Any],
    settings: Mapping[str, Any],
    panel: PanelFile,
    *,
    url: str,
    reward: int,
    minutes: int,
    longest_s: float,
    places: int,
    most_inside: int,
    filters: Sequence[Filter],
    project: str,
    screen_out: tuple[int, int] | None,
    signed: bool,
) -> dict[str, Any]:
    """What Prolific is sent to make a study, with codes of its own.

    Args:
        words: ``title`` and ``description``.
        settings: below ``mephisto.provider``.
        panel: has the words of the link.
        url: of the raters' page.
        reward: in cents, as ``screen_out`` is: how much, and how often.
        minutes: that a unit takes.
        longest_s: that a rater may take.
        places: open at first.
        most_inside: people at once.
        filters: who sees it.
        project: where it is.
        screen_out: payments to raters who fail the practice.
        signed: links are to be signed.
    """
    least = 2 + 2 * minutes + 2 * math.sqrt(minutes)
    body: dict[str, Any] = {
        "name": words["title"],
        "description": html.escape(str(words["description"]), quote=False),
        "external_study_url": link(url, panel),
        "prolific_id_option": "url_parameters",
        "total_available_places": places,
        "estimated_completion_time": minutes,
        "maximum_allowed_time": math.ceil(max((longest_s + MARGIN_S) / 60, least)),
        "reward": reward,
        "device_compatibility": list(settings["devices"]),
        "completion_codes": _codes(screen_out),
        "filters": list(filters),
        "project": project,
        "submissions_config": {"max_submissions_per_participant": 1, "max_concurrent_submissions": most_inside},
        "study_labels": list(settings["labels"]),
        "content_warnings": list(settings["content_warnings"]),
    }
    return {**body, "is_external_study_url_secure": True} if signed else body


def link(url: str, panel: PanelFile) -> str:
    """The address with the places that Prolific fills in."""
    return f"{url.rstrip('/')}/?{panel.link}"


def _codes(screen_out: tuple[int, int] | None) -> list[dict[str, Any]]:
    def code(kind: str, code_type: str, actor: str, action: dict[str, Any]) -> dict[str, Any]:
        made = f"{kind[:2].upper()}{secrets.token_hex(6).upper()}"
        return {"code": made, "code_type": code_type, "actor": actor, "actions": [action]}

    def returns(reason: str) -> dict[str, Any]:
        return {"action": "REQUEST_RETURN", "return_reason": reason}

    review = {"action": "MANUALLY_REVIEW"}
    made = [
        code(COMPLETE, "COMPLETED", "researcher", review),
        code(BY_HAND, "COMPLETED", "participant", review),
        code(NO_CONSENT, "NO_CONSENT", "researcher", returns("You did not agree to take part.")),
        code(TURNED_AWAY, "SCREENED_OUT", "researcher", returns("There was nothing for you to do in this study.")),
    ]
    if screen_out is not None:
        pays = {"fixed_screen_out_reward": screen_out[0], "slots": screen_out[1]}
        action = {"action": "FIXED_SCREEN_OUT_PAYMENT", **pays}
        made.append(code(SCREENED_OUT, "FIXED_SCREENOUT", "researcher", action))
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
        {
            **code,
            "actions": [{**action, "slots": slots} if "slots" in action else action for action in code["actions"]],
        }
        for code in study.body["completion_codes"]
    ]


def is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether a study that was published can serve for what would be sent now: places can be added, and nothing changed."""

    def plain(body: Mapping[str, Any]) -> dict[str, Any]:
        kept = {
            name: value for name, value in body.items() if name not in ("total_available_places", "submissions_config")
        }
        return {**kept, "completion_codes": [{**code, "code": None} for code in body["completion_codes"]]}

    return plain(one) == plain(other)


def make_draft(client: Prolific, store: ProlificStore, study: OurStudy) -> tuple[OurStudy, list[str]]:
    """Make a draft; with what its workspace lacks, in sentences.

    The study is written down before Prolific is asked. Raises CrowdError.
    """
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
    """What stands in a study on Prolific, for us alone."""
    return f"{task_name} {secrets.token_hex(4)}"


def _made(client: Prolific, store: ProlificStore, study: OurStudy) -> OurStudy:
    sent = {**study.body, "internal_name": study.mark, "metadata": f"parlai-humaneval {study.mark}"}
    with asking("make the study as a draft"):
        try:
            study_id = str(client.post("studies/", sent)["id"])
        except Uncertain:
            time.sleep(LISTED_LATE_S)
            known = find_marked(client, study)
            study_id = known or str(client.post("studies/", sent)["id"])
    store.made(study.mark, study_id)
    return replace(study, study_id=study_id)


def find_marked(client: Prolific, study: OurStudy) -> str:
    """The id of the study with this mark; empty: Prolific has none.

    Raises:
        CrowdError: it has several.
    """
    with asking("look for the study in its project"):
        path = f"projects/{study.project}/studies/"
        found = [str(one["id"]) for one in client.pages(path) if one.get("internal_name") == study.mark]
    if len(found) > 1:
        raise CrowdError(
            f"Prolific has {len(found)} studies named {study.mark!r}, and one was to be made",
            try_=f"delete all but one of these drafts in the web app, and launch again: {', '.join(found)}",
        )
    return found[0] if found else ""
