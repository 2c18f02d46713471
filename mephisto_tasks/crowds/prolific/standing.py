"""How a task's studies stand on Prolific, asked for a look: places, people, what waits for approval, unread messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from mephisto_tasks.crowds.base import SiteState
from mephisto_tasks.crowds.prolific import statuses
from mephisto_tasks.crowds.prolific.client import BRIEF, Prolific
from mephisto_tasks.crowds.prolific.errors import asking
from mephisto_tasks.crowds.prolific.handed_in import Submission, read_study
from mephisto_tasks.crowds.prolific.store import OurStudy, ProlificStore
from mephisto_tasks.crowds.prolific.tokens import read_token


def states(data_dir: Path, task_name: str) -> list[SiteState]:
    """One for each account that has studies of the task. Raises ProlificError."""
    studies = [study for study in ProlificStore(data_dir).studies(task_name) if study.study_id]
    studies.sort(key=lambda study: study.account)
    found = []
    for account, of_account in groupby(studies, key=lambda study: study.account):
        with Prolific(read_token(account), patience=BRIEF) as client, asking("look how the study stands"):
            found.append(_state(client, f"Prolific ({account})", list(of_account)))
    return found


def _state(client: Prolific, title: str, studies: Sequence[OurStudy]) -> SiteState:
    read = {study.study_id: read_study(client, study.study_id) for study in studies}
    there = {one: answer for one, answer in read.items() if answer is not None}
    ids, answers = list(there), list(there.values())
    counts: Counter[str] = Counter()
    for one in ids:
        for word, count in client.get(f"studies/{one}/submissions/counts/").items():
            counts[statuses.plain(word)] += int(count or 0)
    waiting: list[Submission] = []
    if counts[statuses.AWAITING_REVIEW]:
        for one in ids:
            listed = client.pages("submissions/", study=one, awaiting_review=True, ordering="started_at")
            submissions = (Submission.of(entry, one) for entry in listed)
            waiting += [each for each in submissions if each.status == statuses.AWAITING_REVIEW]
    return SiteState(
        title=title,
        status=statuses.plain(answers[-1].get("status")).lower() if answers else "deleted",
        places=sum(int(answer.get("total_available_places") or 0) for answer in answers),
        taken=sum(int(answer.get("places_taken") or 0) for answer in answers),
        at_work=counts[statuses.ACTIVE] + counts[statuses.RESERVED],
        returned=counts[statuses.RETURNED],
        timed_out=counts[statuses.TIMED_OUT],
        screened_out=counts[statuses.SCREENED_OUT],
        rejected=counts[statuses.REJECTED],
        approved=counts[statuses.APPROVED] + counts[statuses.PARTIALLY_APPROVED],
        waiting=len(waiting),
        approved_by_itself_at=min((one.approves_itself_at for one in waiting), default=None),
        unread=sum(_is_of(message, ids) for message in client.get("messages/unread/").get("results", ())),
    )


def _is_of(message: dict[str, Any], studies: Sequence[str]) -> bool:
    return (message.get("data") or {}).get("study_id") in studies
