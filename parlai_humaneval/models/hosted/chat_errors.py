"""What went wrong with a chat-completions server, in one sentence that says what to check, and holds no key."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from parlai_humaneval.models.outside.base import OutsideError
from parlai_humaneval.models.zoo.keys import without_key

if TYPE_CHECKING:
    import openai

QUOTED = 200
"""Characters of what a server says that are told; a proxy may answer with a whole page."""
FINAL = frozenset({400, 401, 403, 404, 405, 413, 422})
"""Answers that stay the same, however often one asks: something about the request is wrong."""

_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


@dataclass(frozen=True)
class Server:
    """Whom one asks. Its text is how an error names it; the key is in neither that nor the ``repr``."""

    base_url: str
    model: str
    key_variable: str
    key: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"“{self.model}” at {self.base_url}"

    def without_key(self, text: str) -> str:
        """``text`` with the key blotted out, wherever a server repeats it."""
        return without_key(text, self.key)

    def quote(self, text: str) -> str:
        """What the server says, on one line, cut, and without tags and key."""
        line = self.without_key(_BLANKS.sub(" ", _TAGS.sub(" ", text)).strip())
        return f"“{line[:QUOTED]}{'…' if len(line) > QUOTED else ''}”" if line else "nothing"


def told(server: Server, error: openai.OpenAIError, requests: int, *, exhausted: bool) -> OutsideError:
    """``error`` of the client, after ``requests`` requests, as one whose message says all.

    ``exhausted``: the client has asked as often as it may, so that the error is final: the pool's tries on top would
    multiply the requests.
    """
    import openai  # it takes a second

    asked = f" ({requests} requests)" if requests > 1 else ""
    if isinstance(error, openai.APIStatusError):
        says = server.quote(_said(error))
        advice = _advice(server, error.status_code)
        message = f"{server} answered with status {error.status_code} and says {says}{advice}{asked}"
        return OutsideError(message, final=exhausted or error.status_code in FINAL)
    if isinstance(error, openai.APITimeoutError):
        return OutsideError(f"{server} did not answer in time (request_timeout_s){asked}", final=exhausted)
    if isinstance(error, openai.APIConnectionError):
        cause = server.quote(str(error.__cause__ or error))
        message = f"{server} cannot be reached or cut the connection, {cause}: is it running there?{asked}"
        return OutsideError(message, final=exhausted)
    return OutsideError(f"{server} broke off and says {server.quote(_said(error) or str(error))}{asked}")


def _said(error: openai.OpenAIError) -> str:
    """The server's own words, out of the envelope that most of them use."""
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        return str(body.get("message") or body.get("detail") or body)
    return str(body or "")


def _advice(server: Server, status: int) -> str:
    if status in (401, 403):
        given = "is set, but may be wrong" if server.key else "is not set"
        return f": check the key; {server.key_variable or 'api_key_env'} {given}"
    if status == 404:
        return ": check served_model (GET /models lists what there is) and base_url (most end in /v1)"
    if status in FINAL:
        return ": check served_model and the options of the request"
    return ""
