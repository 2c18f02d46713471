"""What Prolific says of a task's submissions: who took part, how each stands, and which bonuses it lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from mephisto_tasks.crowds.prolific import statuses
from mephisto_tasks.crowds.prolific.client import Prolific
from mephisto_tasks.crowds.prolific.errors import ProlificError, asking

APPROVES_ITSELF_S = 21 * 24 * 3600.0
"""So long after it was handed in, Prolific approves what nobody has looked at."""


@dataclass(frozen=True)
class Submission:
    """One participation.

    ``bonuses``: cents of each bonus that Prolific lists, screen-out payments too; None: not in this answer.
    ``handed_in``: seconds since the epoch, 0 where it was not.
    """

    id: str
    study: str
    participant: str
    status: str
    handed_in: float
    bonuses: tuple[int, ...] | None

    @classmethod
    def of(cls, entry: Mapping[str, Any], study: str) -> Submission:
        """Out of a list, or from a single answer, which name the participant differently."""
        bonuses = entry.get("bonus_payments")
        return cls(
            id=str(entry["id"]),
            study=study,
            participant=str(entry.get("participant_id") or entry.get("participant") or ""),
            status=statuses.plain(entry.get("status")),
            handed_in=_seconds(entry.get("completed_at")),
            bonuses=None if bonuses is None else tuple(int(cents) for cents in bonuses),
        )

    @property
    def is_approved(self) -> bool:
        return self.status in (statuses.APPROVED, statuses.PARTIALLY_APPROVED)

    @property
    def approves_itself_at(self) -> float:
        return self.handed_in + APPROVES_ITSELF_S

    @property
    def is_over(self) -> bool:
        """Given back or too late; its place is for somebody else."""
        return self.status in (statuses.RETURNED, statuses.TIMED_OUT)


@dataclass(frozen=True)
class Study:
    """As Prolific has it; amounts are in its ``currency``, which is empty where nobody knows it."""

    id: str
    reward: Decimal
    screen_out: Decimal
    currency: str
    workspace: str

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Study:
        actions = [action for code in answer.get("completion_codes") or () for action in code.get("actions") or ()]
        paid = next((one["fixed_screen_out_reward"] for one in actions if one.get("fixed_screen_out_reward")), 0)
        return cls(
            id=str(answer["id"]),
            reward=major(answer["reward"]),
            screen_out=major(paid),
            currency=str(answer.get("currency_code") or "").upper(),
            workspace=str(answer.get("workspace") or ""),
        )


class HandedIn:
    """The studies of a task, read when they are first asked for. Raises ProlificError.

    ``workspaces``: study → its workspace, where it is known.
    """

    def __init__(
        self, client: Prolific, study_ids: Collection[str], workspaces: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._client = client
        self._ids, self._workspaces = sorted(study_ids), workspaces
        self._single: dict[str, tuple[int, ...]] = {}

    @cached_property
    def studies(self) -> dict[str, Study]:
        """Those that people could take part in: no drafts, and none that was deleted."""
        with asking("read the studies"):
            read = ((one, read_study(self._client, one)) for one in self._ids)
            known = ((one, answer) for one, answer in read if answer is not None)
            return {
                one: self._with_currency(Study.of(answer))
                for one, answer in known
                if statuses.plain(answer.get("status")) != statuses.UNPUBLISHED
            }

    def _with_currency(self, study: Study) -> Study:
        """That of its workspace, where the study does not say."""
        workspace = self._workspaces.get(study.id) or study.workspace
        if study.currency or not workspace:
            return study
        balance = self._client.get(f"workspaces/{workspace}/balance/")
        return replace(study, currency=str(balance["currency_code"]).upper())

    @cached_property
    def submissions(self) -> dict[str, Submission]:
        """All of them, by their ids."""
        with asking("list the submissions"):
            return {
                str(entry["id"]): Submission.of(entry, study)
                for study in self.studies
                for entry in self._client.pages("submissions/", study=study, ordering="started_at")
            }

    def again(self) -> HandedIn:
        """The same, read anew."""
        newer = HandedIn(self._client, self._ids, self._workspaces)
        newer.studies = self.studies
        return newer

    def listed(self, submission: str) -> Counter[int]:
        """Cents → how many bonuses of that amount Prolific lists for a submission."""
        known = self.submissions.get(submission)
        if known is None:
            return Counter()
        if known.bonuses is not None:
            return Counter(known.bonuses)
        if submission not in self._single:
            with asking(f"look at submission {submission}"):
                answer = Submission.of(self._client.get(f"submissions/{submission}/"), known.study)
            self._single[submission] = answer.bonuses or ()
        return Counter(self._single[submission])

    def screened_out(self, submission: Submission) -> Decimal:
        """What Prolific paid by itself for a failed practice."""
        if submission.status != statuses.SCREENED_OUT:
            return Decimal("0.00")
        study = self.studies[submission.study]
        return study.screen_out or major(next(iter(self.listed(submission.id)), 0))


def read_study(client: Prolific, study_id: str) -> dict[str, Any] | None:
    """As Prolific answers; None: it was deleted there, as drafts can be. Raises ProlificError."""
    try:
        answer: dict[str, Any] = client.get(f"studies/{study_id}/")
    except ProlificError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise
    return answer


def major(cents: object) -> Decimal:
    """Hundredths, as Prolific counts, as an amount."""
    return Decimal(int(str(cents))).scaleb(-2)


def day(at: float) -> str:
    """“5 December”."""
    return f"{datetime.fromtimestamp(at):%-d %B}"


def in_cents(amount: Decimal) -> int:
    return int(amount.scaleb(2))


def _seconds(moment: object) -> float:
    if not moment:
        return 0.0
    return datetime.fromisoformat(str(moment).replace("Z", "+00:00")).timestamp()
