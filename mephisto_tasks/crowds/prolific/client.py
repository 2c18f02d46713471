"""The one way to Prolific: whose token, how long to wait, and which requests are never sent twice.

Prolific knows no idempotency keys. So a request that creates or pays is sent once: where its answer is lost, the caller gets
:class:`~mephisto_tasks.crowds.prolific.errors.Uncertain`, and has to read what happened.
"""

from __future__ import annotations

import hashlib
import logging
import os
import random
import re
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx
from pydantic import SecretStr

from mephisto_tasks.crowds.prolific.errors import ProlificError, Uncertain, refused, uncertain, unreachable
from mephisto_tasks.server.hosts import opens_elsewhere
from parlai_humaneval.models.zoo.secrets import without_key

BASE = "https://api.prolific.com/api/v1/"
BASE_ENV = "PROLIFIC_API"
PAYS = re.compile(r"bulk-bonus-payments/[^/]+/pay/?$")
"""The request that charges each time it is sent."""
HOOK_SECRET = "X-Hook-Secret"
"""A header that stands in the answer to whoever subscribes: it is put into what :meth:`Prolific.post` returns."""
READINGS = 3
"""So often at most is a list read that changes while it is read."""
_logger = logging.getLogger(__name__)
_writing: defaultdict[bytes, threading.Lock] = defaultdict(threading.Lock)
"""By a digest of the token: Prolific wants one write at a time."""


@dataclass(frozen=True)
class Patience:
    """How long to wait for an answer, and how often to ask.

    Args:
        tries: in all.
        pause_s: at most, before the second; doubled before each later one, and chance shortens it.
        longest_s: of any pause, also of one that Prolific asks for.
        timeout_s: for an answer to begin.
    """

    tries: int = 7
    pause_s: float = 1.0
    longest_s: float = 60.0
    timeout_s: float = 30.0

    def pause(self, number: int, wanted_s: float | None) -> float:
        """Seconds before the try after ``number`` tries. ``wanted_s``: what Prolific asks for."""
        if wanted_s is not None:
            return min(max(wanted_s, 0.0), self.longest_s)
        return random.uniform(0.5, 1.0) * min(self.pause_s * 2.0 ** (number - 1), self.longest_s)


PATIENT = Patience()
"""For work that must be done: together some minutes."""
BRIEF = Patience(tries=2, timeout_s=5.0)
"""For a look: somebody waits for the answer."""


class Prolific:
    """Prolific's API in the name of a token. Threads may share it.

    Args:
        token: its owner's.
        base: of the addresses; None: ``PROLIFIC_API`` of the environment, else Prolific's own.
        patience: with answers.

    Raises:
        ProlificError: the base is no https address, and not on this machine.
    """

    def __init__(self, token: SecretStr | str, base: str | None = None, patience: Patience = PATIENT) -> None:
        self._token = token if isinstance(token, SecretStr) else SecretStr(token)
        del token  # no variable holds it that a traceback could show
        self.base = base_address(base)
        self._patience = patience
        digest = hashlib.sha256(self._token.get_secret_value().encode()).digest()
        self._lock = _writing[digest]
        # An institution's proxy leads to Prolific, and not to a stand-in on this machine.
        proxies = opens_elsewhere(self.base)
        self._http = httpx.Client(timeout=httpx.Timeout(patience.timeout_s, connect=10.0), trust_env=proxies)
        _quiet()

    def __repr__(self) -> str:
        return f"Prolific(base={self.base!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a token is not to be pickled")

    def __enter__(self) -> Prolific:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connections."""
        self._http.close()

    def get(self, path: str, **params: Any) -> Any:
        """What is there. Raises ProlificError."""
        return self._ask("GET", path, params=params, repeat=True)

    def pages(self, path: str, **params: Any) -> Iterator[dict[str, Any]]:
        """Every entry of a list, each once, page by page.

        Where it gets shorter or longer meanwhile, it is read again, so that no entry is lost that moved to another page.
        Raises ProlificError.
        """
        given: set[str] = set()
        for _ in range(READINGS):
            complete = yield from self._reading(path, params, given)
            if complete:
                return

    def post(self, path: str, body: Any = None, *, repeat: bool = False) -> Any:
        """Create or do something; its answer, as text where it is no JSON.

        Args:
            path: below the base.
            body: what is sent as JSON.
            repeat: it changes nothing when it is done twice, so it may be sent again where its answer was lost.

        Raises:
            Uncertain: it was sent, and may have been done. Only without ``repeat``.
            ProlificError: it was not done.
        """
        return self._write("POST", path, body, repeat)

    def patch(self, path: str, body: Any, *, repeat: bool = True) -> Any:
        """Change something. It gives absolute values, so it may be sent again. Raises as :meth:`post` does."""
        return self._write("PATCH", path, body, repeat)

    def delete(self, path: str, body: Any = None, *, repeat: bool = True) -> Any:
        """Delete something, or take members out of it. Raises as :meth:`post` does.

        What was deleted by a request whose answer was lost is not there when it is repeated: status 404.
        """
        return self._write("DELETE", path, body, repeat)

    def public_keys(self) -> dict[str, Any]:
        """The keys by which Prolific signs links: a JWK set. No token is sent. Raises ProlificError."""
        keys: dict[str, Any] = self._ask(
            "GET", urljoin(self.base, "/.well-known/study/jwks.json"), repeat=True, signed=False
        )
        return keys

    def _reading(self, path: str, params: dict[str, Any], given: set[str]) -> Generator[dict[str, Any], None, bool]:
        """One reading of a list; whether nothing moved meanwhile. ``given``: those that need not be given again."""
        asked: set[str] = set()
        read: set[str] = set()
        counts: set[int] = set()
        query: dict[str, Any] | None = params
        while query is not None and str(sorted(query.items())) not in asked:
            asked.add(str(sorted(query.items())))
            try:
                page = self.get(path, **query)
            except ProlificError as error:
                if error.status != HTTPStatus.NOT_FOUND or len(asked) == 1:
                    raise
                return False  # the list got shorter, and this page is past its end
            if isinstance(page, list):
                page = {"results": page}
            for entry in page.get("results", []):
                name = str(entry.get("id") or entry.get("participant_id") or f"entry {len(read)}")
                read.add(name)
                if name not in given:
                    given.add(name)
                    yield entry
            counts |= {count for count in [(page.get("meta") or {}).get("count")] if count is not None}
            following = ((page.get("_links") or {}).get("next") or {}).get("href")
            # Only its query is used: the token goes to no other address, whatever a link says.
            query = {**params, **dict(parse_qsl(urlsplit(following).query))} if following else None
        return not counts or counts == {len(read)}

    def _write(self, method: str, path: str, body: Any, repeat: bool) -> Any:
        if repeat and PAYS.search(path):
            raise ValueError("a payment is never repeated")
        return self._ask(method, path, body=body, repeat=repeat)

    def _ask(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, Any] | None = None,
        body: Any = None,
        repeat: bool,
        signed: bool = True,
    ) -> Any:
        headers = {"Accept": "application/json"}
        sent: dict[str, Any] = {} if body is None else {"json": body}
        auth = _Signature(self._token) if signed else None
        url = urljoin(self.base, path.lstrip("/") if signed else path)
        number = 0
        while True:
            number += 1
            # The lock is given back during pauses.
            with nullcontext() if method == "GET" else self._lock:
                answer, error, wait_s = self._try(method, url, headers, params, sent, auth)
            if error is None:
                return answer
            if isinstance(error, Uncertain) and not repeat:
                raise error
            again = error.may_pass and not (PAYS.search(path) and error.status)
            if not again and not (repeat and error.status == HTTPStatus.CONFLICT):
                raise error
            if number >= self._patience.tries:
                raise error
            time.sleep(self._patience.pause(number, wait_s))

    def _try(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        params: dict[str, Any] | None,
        sent: dict[str, Any],
        auth: httpx.Auth | None,
    ) -> tuple[Any, ProlificError | None, float | None]:
        """The answer, or an error and how long Prolific wants us to wait."""
        writes = method != "GET"
        try:
            response = self._http.request(method, url, headers=headers, params=params or None, auth=auth, **sent)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol) as failure:
            return None, unreachable(self._clean(_why(failure))), None  # nothing was sent
        except httpx.HTTPError as failure:
            return None, unreachable(self._clean(_why(failure)), uncertain=writes), None
        if response.is_success:
            answer, is_page = _read(response)
            if not is_page:
                if HOOK_SECRET in response.headers and isinstance(answer, dict):
                    answer = {**answer, HOOK_SECRET: response.headers[HOOK_SECRET]}
                return answer, None, None
            error = refused(HTTPStatus.BAD_GATEWAY, b"a web page in place of an answer")
        else:
            error = refused(response.status_code, self._clean(response.text).encode())
        broken = response.is_success or response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
        if writes and (broken or response.status_code == HTTPStatus.REQUEST_TIMEOUT):
            error = uncertain(error)
        return None, error, _wanted(response.headers.get("Retry-After"))

    def _clean(self, text: str) -> str:
        return without_key(text, self._token.get_secret_value())


class _Signature(httpx.Auth):
    """Puts the token into a request at the last moment, so that no variable holds it."""

    def __init__(self, token: SecretStr) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Token {self._token.get_secret_value()}"
        yield request


def base_address(base: str | None = None) -> str:
    """Where Prolific is asked, with a slash at its end. Raises ProlificError: it is neither https nor on this machine."""
    given = base or os.environ.get(BASE_ENV) or BASE
    try:
        parts = urlsplit(given)
        known = bool(parts.hostname) and parts.username is None
    except ValueError:
        known = False
    if not known or parts.scheme not in ("http", "https"):
        raise ProlificError(
            f"{given!r} is no address", where=BASE_ENV, try_="write https://… or http://127.0.0.1:PORT/…"
        )
    if parts.scheme == "http" and opens_elsewhere(given):
        raise ProlificError(
            f"{given!r} would show the token to everybody on the way", where=BASE_ENV, try_="write https://…"
        )
    return given.rstrip("/") + "/"


def stand_in() -> str | None:
    """The address of a program on this machine that answers for Prolific; None: another site does."""
    address = base_address()
    return None if opens_elsewhere(address) else address


def _read(response: httpx.Response) -> tuple[Any, bool]:
    """What it says, and whether that is a web page of something between us and Prolific."""
    if not response.content:
        return None, False
    try:
        return response.json(), False
    except ValueError:
        text = response.text
        return text, "html" in response.headers.get("Content-Type", "") or text.lstrip().startswith("<")


def _wanted(retry_after: str | None) -> float | None:
    """Seconds of a header ``Retry-After``: a number, or a time."""
    if not retry_after:
        return None
    try:
        return float(retry_after)
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(retry_after).timestamp() - time.time()
    except ValueError:
        return None


def _why(failure: httpx.HTTPError) -> str:
    if isinstance(failure, httpx.TimeoutException):
        return "it gave no answer in time"
    return (str(failure).strip().splitlines() or [type(failure).__name__])[0]


def _quiet() -> None:
    """The client's own line for each request, with the ids in its address, is not logged; a level that was set stays."""
    logger = logging.getLogger("httpx")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)
