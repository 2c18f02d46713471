"""What can go wrong between us and Prolific, as sentences that say what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, TypeVar

from mephisto_tasks.crowds.base import CrowdError
from parlai_humaneval._util.errors import Problem

NEW_TOKEN = (
    "make a token in Prolific under Settings → API tokens, and give it to `parlai-humaneval requester add NAME --provider "
    "prolific`, or set PROLIFIC_TOKEN"
)
TOP_UP = "top up the workspace in Prolific's web app, or ask for fewer places"
LATER = "try again in a few minutes"
STATUS_PAGE = "see https://status.prolific.com, and try again later"
PARTICIPANT_UNKNOWN = 140003
"""Prolific's code for a participant group that is to hold somebody whom it does not know."""
WRONG_PROJECT = 140007
"""Prolific's code where a token and the project of a study do not belong together."""
_NO_MONEY = re.compile(r"balance|\bfunds?\b|\btop(ping)?[ -]?up\b|not enough money|credit", re.I)
_TIMES_OUT = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
LONGEST_WORDS = 300
"""Characters of an answer that is no JSON."""


class ProlificError(CrowdError):
    """Prolific refused, or could not be asked.

    ``status``: of its answer, 0 where there was none. ``code``: Prolific's own number for the error.
    """

    status: int = 0
    code: int | None = None

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later: Prolific was out of reach, busy, or broken."""
        return self.status == 0 or self.status in _TIMES_OUT or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR


class Uncertain(ProlificError):
    """A request that creates or pays was sent, and nobody knows whether Prolific acted on it. Never repeat it blindly."""


_Error = TypeVar("_Error", bound=ProlificError)


@contextmanager
def asking(what: str) -> Iterator[None]:
    """A :class:`ProlificError` in the block says what was tried: “cannot WHAT: …”. Its type, status and code stay."""
    try:
        yield
    except ProlificError as error:
        raise made(
            type(error),
            [Problem(f"cannot {what}: {problem.fact}", try_=problem.try_) for problem in error.problems],
            error.status,
            error.code,
        ) from error


def refused(status: int, body: bytes) -> ProlificError:
    """The error for an answer other than 2xx, whatever shape its body has."""
    inner = _inner(body)
    number = str(inner.get("error_code", "")) if isinstance(inner, dict) else ""
    code = int(number) if number.isdecimal() else None
    said = list(_sentences(inner))
    return made(ProlificError, _problems(status, code, said), status, code)


def unreachable(why: str, *, uncertain: bool = False) -> ProlificError:
    """The error for a request without an answer."""
    text = f"Prolific could not be reached ({why})"
    if uncertain:
        return made(Uncertain, [Problem(f"{text}, and may have acted on the request all the same")])
    return made(ProlificError, [Problem(text, try_=("check the network, and PROLIFIC_API if it is set",))])


def uncertain(error: ProlificError) -> Uncertain:
    """The same trouble, met by a request of which nobody knows whether Prolific acted on it."""
    problems = [
        Problem(f"{problem.what}, and Prolific may have acted on the request all the same")
        for problem in error.problems
    ]
    return made(Uncertain, problems, error.status, error.code)


def made(kind: type[_Error], problems: list[Problem], status: int = 0, code: int | None = None) -> _Error:
    """An error of that kind, with what Prolific answered."""
    error = kind(problems)
    error.status, error.code = status, code
    return error


def _problems(status: int, code: int | None, said: list[tuple[str, str]]) -> list[Problem]:
    words = "; ".join(": ".join(filter(None, pair)) for pair in said)
    says = f" (it says: {words})" if words else ""
    if status == HTTPStatus.UNAUTHORIZED:
        return [Problem("Prolific does not recognize this API token: it is wrong or was deleted", try_=(NEW_TOKEN,))]
    if code == WRONG_PROJECT:
        fix = "set project=… to a project of this token's workspace, or use a token made in that workspace"
        return [Problem(f"the API token does not belong to the project of the study{says}", try_=(fix,))]
    if code == PARTICIPANT_UNKNOWN:
        return [Problem(f"Prolific does not recognize some of these participants{says}", try_=("correct their ids",))]
    if status == HTTPStatus.FORBIDDEN:
        fix = "check workspace=… and project=…, or ask Prolific's support to enable the feature"
        return [
            Problem(
                f"Prolific does not allow this with your API token, or the workspace lacks the feature{says}",
                try_=(fix,),
            )
        ]
    if status == HTTPStatus.NOT_FOUND:
        return [
            Problem(
                f"Prolific has nothing with this id{says}",
                try_=("check the id, and whether it was deleted in Prolific",),
            )
        ]
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return [Problem("Prolific is getting too many requests", try_=(LATER,))]
    if status == HTTPStatus.CONFLICT:
        return [Problem(f"somebody changed this in Prolific at the same time{says}", try_=(LATER,))]
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return [Problem(f"Prolific is not working at the moment (status {status}){says}", try_=(STATUS_PAGE,))]
    if _NO_MONEY.search(words):
        return [Problem(f"the Prolific workspace does not have enough money{says}", try_=(TOP_UP,))]
    return [Problem(f"Prolific refused: {sentence}", where=field) for field, sentence in said] or [
        Problem(f"Prolific refused, without saying why (status {status})")
    ]


def _inner(body: bytes) -> Any:
    """What an error's body says, out of its wrapper; of HTML and other text the words."""
    try:
        whole = json.loads(body)
    except ValueError:
        text = body.decode("utf-8", "replace")
        if re.match(r"\s*<", text):
            text = re.sub(r"(?s)<(style|script|title)\b.*?</\1>|<[^>]*>", " ", text)
        return " ".join(text.split())[:LONGEST_WORDS]
    if isinstance(whole, dict) and isinstance(whole.get("error"), (dict, list, str)):
        return whole["error"]
    return whole


_ABOUT = ("status", "error_code", "title", "additional_information", "traceback", "interactive", "message", "detail")


def _sentences(inner: Any) -> Iterator[tuple[str, str]]:
    """Pairs of a field (empty: none) and what is wrong with it."""
    if not isinstance(inner, dict):
        yield from _within("", inner)
    elif inner.get("detail") or inner.get("message") or inner.get("title"):
        yield from _within("", inner.get("detail") or inner.get("message") or inner["title"])
    else:
        yield from _within("", {name: value for name, value in inner.items() if name not in _ABOUT})


def _within(field: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, below in value.items():
            yield from _within(f"{field}.{name}" if field else str(name), below)
    elif isinstance(value, list):
        for place, below in enumerate(value):
            yield from _within(f"{field}.{place}" if isinstance(below, (dict, list)) and field else field, below)
    elif value not in (None, ""):
        yield field, str(value).strip().rstrip(".")
