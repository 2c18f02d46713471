"""The only access to Prolific: token, waiting times, errors that say what to do, and requests never sent twice.

Prolific knows no idempotency keys. So a request that creates or pays is sent once: where its answer is lost, the caller gets
:class:`Uncertain`, and has to read what happened."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
import re
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urljoin, urlsplit

import httpx
from pydantic import SecretStr
from typing_extensions import Unpack

from mephisto_tasks.crowds.crowd import CrowdError
from mephisto_tasks.server.hosts import opens_elsewhere
from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval._util.errors import Parts, Problem
from parlai_humaneval._util.files import make_private_folder, read_private, user_home, write_private
from parlai_humaneval._util.text import seconds_to_wait
from parlai_humaneval.models.zoo.secrets import without_key

WORDS: dict[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))
NEW_TOKEN = str(WORDS["keys_advice"])
TOP_UP = "top up the workspace in Prolific's web app, or ask for fewer places"
STATUS_PAGE = "see https://status.prolific.com, and try again later"
PARTICIPANT_UNKNOWN = 140003  # Prolific's code for a participant group that is to hold somebody whom it does not know
WRONG_PROJECT = 140007  # Prolific's code where a token and the project of a study do not belong together
_NO_MONEY = re.compile(r"balance|\bfunds?\b|\btop(ping)?[ -]?up\b|not enough money|credit", re.I)
_TIMES_OUT = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
LONGEST_WORDS = 300  # characters to quote of an answer that is not JSON


class ProlificError(CrowdError):
    """Prolific refused, or could not be asked (``status`` 0). ``code``: its own number for the error."""

    def __init__(self, *what: Any, status: int = 0, code: int | None = None, **parts: Unpack[Parts]) -> None:
        super().__init__(*what, **parts)
        self.status, self.code = status, code

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later: Prolific was out of reach, busy, or broken."""
        return self.status == 0 or self.status in _TIMES_OUT or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR


class Uncertain(ProlificError):
    """A request that creates or pays was sent, and nobody knows whether Prolific acted on it. Never repeat it blindly."""


@contextmanager
def asking(what: str) -> Iterator[None]:
    """A :class:`ProlificError` in the block says what was tried: “cannot WHAT: …”. Its type, status and code stay."""
    try:
        yield
    except ProlificError as error:
        problems = [Problem(f"cannot {what}: {problem.fact}", try_=problem.try_) for problem in error.problems]
        raise type(error)(problems, status=error.status, code=error.code) from error


def refused(status: int, body: bytes) -> ProlificError:
    """The error for an answer other than 2xx, whatever shape its body has."""
    inner = _inner(body)
    number = str(inner.get("error_code", "")) if isinstance(inner, dict) else ""
    code = int(number) if number.isdecimal() else None
    return ProlificError(_problems(status, code, list(_sentences(inner))), status=status, code=code)


def unreachable(why: str, *, uncertain: bool = False) -> ProlificError:
    text = f"Prolific could not be reached ({why})"
    if uncertain:
        return Uncertain(f"{text}, but may have acted on the request anyway")
    return ProlificError(text, try_="check the network, and PROLIFIC_API if it is set")


def uncertain(error: ProlificError) -> Uncertain:
    """The same trouble, met by a request of which nobody knows whether Prolific acted on it."""
    acted = "Prolific may have acted on the request anyway"
    problems = [Problem(f"{problem.what}, and {acted}") for problem in error.problems]
    return Uncertain(problems, status=error.status, code=error.code)


def _problems(status: int, code: int | None, said: list[tuple[str, str]]) -> list[Problem]:
    words = "; ".join(": ".join(filter(None, pair)) for pair in said)
    says = f" (it says: {words})" if words else ""
    of_code = code in (WRONG_PROJECT, PARTICIPANT_UNKNOWN) and status != HTTPStatus.UNAUTHORIZED
    known = read_yaml(Path(__file__).parent / "errors.yaml").get(code if of_code else status)
    if known is not None:
        return [Problem(known["what"].format(says=says), try_=(known["try"].format(new_token=NEW_TOKEN),))]
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
    if isinstance(inner, dict):
        said = inner.get("detail") or inner.get("message") or inner.get("title")
        inner = said or {name: value for name, value in inner.items() if name not in _ABOUT}
    yield from _within("", inner)


def _within(field: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, below in value.items():
            yield from _within(f"{field}.{name}" if field else str(name), below)
    elif isinstance(value, list):
        for place, below in enumerate(value):
            yield from _within(f"{field}.{place}" if isinstance(below, (dict, list)) and field else field, below)
    elif value not in (None, ""):
        yield field, str(value).strip().rstrip(".")


BASE = "https://api.prolific.com/api/v1/"
BASE_ENV = "PROLIFIC_API"
PAYS = re.compile(r"bulk-bonus-payments/[^/]+/pay/?$")  # the request that charges each time it is sent
HOOK_SECRET = "X-Hook-Secret"
"""A header in the answer to a subscription, which `Prolific.post` adds to its result."""
READINGS = 3  # so often at most is a list read that changes while it is read
_writing: defaultdict[bytes, threading.Lock] = defaultdict(threading.Lock)
"""Locks by a digest of the token: Prolific wants one write at a time."""


@dataclass(frozen=True)
class Patience:
    """``tries`` in all; pauses begin at up to ``pause_s`` and double to ``longest_s``; an answer begins in ``timeout_s``."""

    tries: int = 7
    pause_s: float = 1.0
    longest_s: float = 60.0
    timeout_s: float = 30.0

    def pause(self, number: int, wanted_s: float | None) -> float:
        """Seconds before the try after ``number`` tries. ``wanted_s``: what Prolific asks for."""
        if wanted_s is not None:
            return min(max(wanted_s, 0.0), self.longest_s)
        return random.uniform(0.5, 1.0) * min(self.pause_s * 2.0 ** (number - 1), self.longest_s)


PATIENT = Patience()  # for work that must be done: together some minutes
BRIEF = Patience(tries=2, timeout_s=5.0)  # for a look: somebody waits for the answer


class Prolific:
    """Prolific's API in the name of a token, for any thread. Raises ProlificError: no https, and not on this machine."""

    def __init__(self, token: SecretStr | str, base: str | None = None, patience: Patience = PATIENT) -> None:
        self._token = token if isinstance(token, SecretStr) else SecretStr(token)
        del token  # no variable holds it that a traceback could show
        self.base = base_address(base)
        self._patience = patience
        digest = hashlib.sha256(self._token.get_secret_value().encode()).digest()
        self._lock = _writing[digest]
        # An institution's proxy leads to Prolific, and not to a stand-in on this machine.
        proxies = opens_elsewhere(self.base)
        timeout, headers = httpx.Timeout(patience.timeout_s, connect=10.0), {"Accept": "application/json"}
        self._http = httpx.Client(timeout=timeout, headers=headers, trust_env=proxies)
        # The client's own line for each request, with the ids in its address, is not logged; a level that was set stays
        logger = logging.getLogger("httpx")
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)

    def __repr__(self) -> str:
        # A traceback may show a client whose address was refused.
        return f"Prolific(base={getattr(self, 'base', '')!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a token must not be pickled")

    def __enter__(self) -> Prolific:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **params: Any) -> Any:
        """What is there. Raises ProlificError."""
        return self._ask("GET", path, params=params, repeat=True)

    def find(self, path: str) -> Any:
        """Read something; None: it was deleted. Raises ProlificError."""
        try:
            return self.get(path)
        except ProlificError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return None

    def pages(self, path: str, **params: Any) -> Iterator[dict[str, Any]]:
        """Every entry of a list, each once; a list that changes meanwhile is read again. Raises ProlificError."""
        given: set[str] = set()
        for _ in range(READINGS):
            complete = yield from self._reading(path, params, given)
            if complete:
                return

    def post(self, path: str, body: Any = None, *, repeat: bool = False) -> Any:
        """Create or do something. Returns the answer, as text if it is not JSON. ``repeat``: doing it twice changes
        nothing, so that it is sent again where its answer was lost. Raises Uncertain: it may have been done (only
        without ``repeat``); ProlificError: it was not."""
        return self._write("POST", path, body, repeat)

    def patch(self, path: str, body: Any, *, repeat: bool = True) -> Any:
        """Change something. It gives absolute values, so it may be sent again. Raises as :meth:`post` does."""
        return self._write("PATCH", path, body, repeat)

    def cost(self, cents: int, number: int, what: str = "what it costs") -> float:
        """Cents that so many payments cost, with Prolific's fee and tax, by its calculator. Raises ProlificError."""
        if not cents * number:
            return 0
        with asking(f"have Prolific calculate {what}"):
            body = {"reward": cents, "total_available_places": number}
            return float(self.post("study-cost-calculator/", body, repeat=True)["total_cost"])

    def delete(self, path: str, body: Any = None, *, repeat: bool = True) -> Any:
        """Delete something, or take members out of it; 404 when a repeated request did it. Raises as :meth:`post` does."""
        return self._write("DELETE", path, body, repeat)

    def public_keys(self) -> dict[str, Any]:
        """The keys by which Prolific signs links: a JWK set. No token is sent. Raises ProlificError."""
        url = urljoin(self.base, "/.well-known/study/jwks.json")
        keys: dict[str, Any] = self._ask("GET", url, repeat=True, signed=False)
        return keys

    def _reading(self, path: str, params: dict[str, Any], given: set[str]) -> Generator[dict[str, Any], None, bool]:
        """One reading of a list; whether nothing moved meanwhile. ``given``: those that need not be given again."""
        asked, read, counts = set[str](), set[str](), set[int]()
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
            if (count := (page.get("meta") or {}).get("count")) is not None:
                counts.add(count)
            following = ((page.get("_links") or {}).get("next") or {}).get("href")
            # Only its query is used: the token goes to no other address, whatever a link says.
            query = {**params, **dict(parse_qsl(urlsplit(following).query))} if following else None
        return not counts or counts == {len(read)}

    def _write(self, method: str, path: str, body: Any, repeat: bool) -> Any:
        if repeat and PAYS.search(path):
            raise ValueError("a payment is never repeated")
        return self._ask(method, path, body=body, repeat=repeat)

    def _ask(
        self, method: str, path: str, *, params: Any = None, body: Any = None, repeat: bool, signed: bool = True
    ) -> Any:
        url = urljoin(self.base, path.lstrip("/") if signed else path)
        request = self._http.build_request(method, url, params=params or None, json=body)
        auth = _Signature(self._token) if signed else None
        for number in count(1):
            # The lock is given back during pauses.
            with nullcontext() if method == "GET" else self._lock:
                answer, error, wait_s = self._try(request, auth)
            if error is None:
                return answer
            if isinstance(error, Uncertain) and not repeat:
                raise error
            again = error.may_pass and not (PAYS.search(path) and error.status)
            again = again or (repeat and error.status == HTTPStatus.CONFLICT)
            if not again or number >= self._patience.tries:
                raise error
            time.sleep(self._patience.pause(number, wait_s))
        raise AssertionError("the last try returns or raises")

    def _try(self, request: httpx.Request, auth: httpx.Auth | None) -> tuple[Any, ProlificError | None, float | None]:
        """The answer, or an error and how long Prolific wants us to wait."""
        writes = request.method != "GET"
        try:
            response = self._http.send(request, auth=auth)
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
        return None, error, seconds_to_wait(response.headers.get("Retry-After"))

    def _clean(self, text: str) -> str:
        return without_key(text, self._token.get_secret_value())


@dataclass(frozen=True)
class _Signature(httpx.Auth):
    """Puts the token into a request at the last moment, so that no variable holds it."""

    _token: SecretStr

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
        advice = "write https://… or http://127.0.0.1:PORT/…"
        raise ProlificError(f"{given!r} is not an address", where=BASE_ENV, try_=advice)
    if parts.scheme == "http" and opens_elsewhere(given):
        what = f"{given!r} would expose the token to everybody on the way"
        raise ProlificError(what, where=BASE_ENV, try_="write https://…")
    return given.rstrip("/") + "/"


def stand_in() -> str | None:
    """The origin of a program on this machine that answers for Prolific; None: another site does."""
    address = urlsplit(base_address())
    return None if opens_elsewhere(address.geturl()) else f"{address.scheme}://{address.netloc}"


def _read(response: httpx.Response) -> tuple[Any, bool]:
    """What it says, and whether that is a web page of something between us and Prolific."""
    if not response.content:
        return None, False
    try:
        return response.json(), False
    except ValueError:
        text = response.text
        return text, "html" in response.headers.get("Content-Type", "") or text.lstrip().startswith("<")


def _why(failure: httpx.HTTPError) -> str:
    if isinstance(failure, httpx.TimeoutException):
        return "it did not answer in time"
    return (str(failure).strip().splitlines() or [type(failure).__name__])[0]


TOKEN_ENV = "PROLIFIC_TOKEN"
_ENDING = ".token"  # of the file with a requester's token, which its owner alone can read


def read_token(name: str) -> SecretStr:
    """The token kept under a requester's name, else that of the environment. Raises ProlificError: there is none."""
    if has_token(name):
        return _checked(SecretStr(read_private(_file(name)).decode("ascii", "replace")))
    if os.environ.get(TOKEN_ENV):
        return _checked(SecretStr(os.environ[TOKEN_ENV]))
    raise ProlificError(f"there is no Prolific token for the requester {name!r}", try_=NEW_TOKEN)


def which_token(name: str) -> str:
    """A sentence where there are two, of which one is used; else empty."""
    if not has_token(name) or not os.environ.get(TOKEN_ENV):
        return ""
    return f"The token stored for {name} overrides {TOKEN_ENV}. `parlai-humaneval requester forget {name}` deletes it."


def has_token(name: str) -> bool:
    return _file(name).is_file()


def write_token(name: str, token: str | SecretStr) -> None:
    """Keep a token under a requester's name, in place of the former one. Raises ProlificError: it cannot be one."""
    secret = SecretStr(token) if isinstance(token, str) else token
    del token  # no variable holds it that a traceback could show
    checked = _checked(secret)
    make_private_folder(user_home())
    make_private_folder(_folder())
    write_private(_file(name), checked.get_secret_value().encode("ascii"), outlasts_power=True)


def forget_token(name: str) -> bool:
    kept = has_token(name)
    _file(name).unlink(missing_ok=True)
    return kept


def token_names() -> list[str]:
    return sorted(unquote(file.name.removesuffix(_ENDING)) for file in _folder().glob(f"*{_ENDING}"))


def _folder() -> Path:
    return user_home() / "prolific"


def _file(name: str) -> Path:
    return _folder() / f"{quote(name, safe=' ')}{_ENDING}"


def _checked(given: SecretStr) -> SecretStr:
    token = SecretStr(given.get_secret_value().strip())
    if not _is_word(token):
        what = "this is not an API token of Prolific: it must be one word of plain letters"
        raise ProlificError(what, try_=NEW_TOKEN)
    return token


def _is_word(token: SecretStr) -> bool:
    """In a frame of its own: a traceback with its variables never shows the text."""
    text = token.get_secret_value()
    return bool(text) and text.isascii() and text.isprintable() and " " not in text
