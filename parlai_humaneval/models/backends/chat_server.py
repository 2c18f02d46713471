"""One connection to an OpenAI-compatible server for all conversations; its answers are not trusted."""

from __future__ import annotations

import difflib
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from parlai_humaneval._util.text import on_one_line
from parlai_humaneval.display.images import MOST_IMAGES, SeenImage, images_in
from parlai_humaneval.models.agent.isolation import quiet_http_log
from parlai_humaneval.models.backends.base import ABSENT, TOO_MANY, Absence, OutsideError, absence_of
from parlai_humaneval.models.backends.prompting import ChatMessage
from parlai_humaneval.models.backends.server_refusals import HISTORY, Mend, Sent, mend_of, of_listed, tokens_told
from parlai_humaneval.models.zoo.secrets import refused_key, without_key

if TYPE_CHECKING:
    import openai


LONGEST = 1_000_000
"""Characters after which a stream is given up: a server that repeats itself must not fill the memory."""


class BrokenOff(ValueError):
    """A stream ended before its reply did, or did not end at all."""


class _Read(BaseModel, extra="ignore", from_attributes=True):
    """Servers add fields of their own; only those that are read must be right."""


class _Words(_Read):
    """``message`` of a choice, or its ``delta``; some send ``content`` in parts, and thoughts under two names or as a
    part."""

    content: str | list[dict[str, Any]] | None = None
    images: Any = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None

    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(str(part.get("text") or "") for part in self.content if part.get("type") == "text")
        return self.content or ""

    def pictures(self) -> tuple[SeenImage, ...]:
        parts = [part for part in self.content if part.get("type") != "text"] if isinstance(self.content, list) else []
        return images_in(parts) + images_in(self.images)

    def thoughts(self) -> str:
        told = next((said for said in (self.reasoning_content, self.reasoning) if isinstance(said, str)), "")
        parts = self.content if isinstance(self.content, list) else []
        return told or "".join(_flat_text(part.get("thinking")) for part in parts if part.get("type") == "thinking")


def _flat_text(said: Any) -> str:
    if isinstance(said, list):
        return "".join(str(part.get("text") or "") for part in said if isinstance(part, dict))
    return said if isinstance(said, str) else ""


class Usage(_Read):
    """Tokens of the request and of the reply, reasoning included."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Choice(_Read):
    """``message`` is that of a whole answer, ``delta`` that of a piece."""

    index: int | None = None
    finish_reason: str | None = None
    message: Any = None
    delta: Any = Field(default_factory=dict)


class _Answer(_Read):
    model: str | None = None
    usage: Usage | None = None
    choices: list[_Choice] = Field(default_factory=list)


class ChatReply(BaseModel, frozen=True):
    """A reply: the first choice's words, or its refusal; or neither. ``thoughts``: what the server tells apart."""

    text: str
    thoughts: str = ""
    images: tuple[SeenImage, ...] = ()
    finish_reason: str | None = None
    model: str | None = None
    usage: Usage = Usage()


def read_whole(body: bytes) -> ChatReply:
    whole = _Answer.model_validate_json(body)
    choice = min(whole.choices or [_Choice()], key=lambda choice: choice.index or 0)
    message = _Words.model_validate(choice.message)
    return ChatReply(
        text=message.text() or message.refusal or "",
        thoughts=message.thoughts(),
        images=message.pictures(),
        finish_reason=choice.finish_reason,
        model=whole.model,
        usage=whole.usage or Usage(),
    )


def read_stream(pieces: Iterable[Any], hears: Callable[[str], None] | None = None) -> ChatReply:
    """A response piece by piece; a ValueError for another schema, :class:`BrokenOff` where it has no end. ``hears`` gets
    the text so far with each piece of it."""
    text = refusal = thoughts = ""
    images: tuple[SeenImage, ...] = ()
    finish_reason, model, usage = None, None, Usage()
    for data in pieces:
        piece = _Answer.model_validate(data)
        model, usage = piece.model or model, piece.usage or usage
        for choice in piece.choices:
            if choice.index:
                continue
            finish_reason = choice.finish_reason or finish_reason
            delta = _Words.model_validate(choice.delta)
            text += delta.text()
            refusal += delta.refusal or ""
            thoughts += delta.thoughts()
            images = (images + delta.pictures())[: MOST_IMAGES + 1]  # one more, so that it is known
            if hears is not None and delta.text():
                hears(text)
        length = len(text) + len(refusal) + len(thoughts)
        if length > LONGEST:
            raise BrokenOff(f"its reply exceeds {LONGEST} characters without an end")
    if finish_reason is None:
        raise BrokenOff(f"its stream broke off after {len(text) + len(refusal) + len(thoughts)} characters")
    return ChatReply(
        text=text or refusal, thoughts=thoughts, images=images, finish_reason=finish_reason, model=model, usage=usage
    )


WHOLE = "application/json"
"""What a server sends that was asked for a stream and gives whole replies all the same."""
NO_KEY = "none"
"""Sent where there is no key: the client insists on one, and servers that need none ignore it."""
LONGEST_STREAM = 10
"""How many times ``timeout_s`` a stream may take in all, however lively it is."""
LONGEST_PAUSE_S = 8
"""The client's own longest wait between two requests (``MAX_RETRY_DELAY`` in openai)."""
LISTING_S = 5.0
LONGEST_NAME = 200


class HistoryTooLong(OutsideError):
    """The model cannot read so much. ``tokens``: the most that it can, and how many it was sent, where it said so."""

    def __init__(self, what: str, mend: Mend, said: str, requests: int) -> None:
        super().__init__(what, try_=mend.sentence, final=True, mend=mend)
        self.tokens = tokens_told(said)
        self.requests = requests


class ChatServer:
    """Sends at most ``concurrency`` requests at once. The client itself asks again up to ``retries`` times; after that
    the error is final, unless the server is absent and whoever asks waits for it. ``timeout_s``: the longest silence;
    ``patience_s``: how long all tries may take."""

    def __init__(self, server: Server, *, timeout_s: float, retries: int, concurrency: int) -> None:
        import openai  # it takes a second, which the command line need not pay

        quiet_http_log()
        self.server = server
        self.begins_thoughts = False  # whether its chat template does, as far as is known
        self.knows_thoughts = False  # whether a reply has shown that
        self._timeout_s = timeout_s
        self._retries = retries
        self._client = openai.OpenAI(
            api_key=server.key or NO_KEY, base_url=server.base_url, timeout=timeout_s, max_retries=retries
        )
        self.patience_s = timeout_s * (retries + 1) + LONGEST_PAUSE_S * retries
        self._free = threading.BoundedSemaphore(concurrency)
        self._counts_streams = True  # until the server says that it knows no `stream_options`
        self._streams = True  # until it says that it knows no `stream`

    def close(self) -> None:
        self._client.close()

    def ask(
        self,
        messages: list[ChatMessage],
        sampling: Mapping[str, Any],
        *,
        stream: bool,
        hears: Callable[[str], None] | None = None,
    ) -> tuple[ChatReply, int]:
        """The reply, and how many requests it took; an OutsideError says what to check. ``stream``: avoids a long
        silence. ``hears`` gets the text so far, from a server that can stream."""
        # The pool starts no more threads than `concurrency`, but another for each that hangs.
        if not self._free.acquire(timeout=self.patience_s):
            raise OutsideError(f"{self.server} is already busy with as many requests as concurrency allows")
        try:
            answer = self._attempt(messages, sampling, stream, hears if self._streams else None)
        finally:
            self._free.release()
        if isinstance(answer, OutsideError):
            # Outside of any handler: the client's own error, which it would else drag along, holds the headers.
            raise answer
        return answer

    def _attempt(
        self,
        messages: list[ChatMessage],
        sampling: Mapping[str, Any],
        wants_stream: bool,
        hears: Callable[[str], None] | None,
        before: int = 0,
    ) -> tuple[ChatReply, int] | OutsideError:
        import openai

        stream = wants_stream or hears is not None
        counts = stream and self._counts_streams
        create: Any = self._client.chat.completions.with_raw_response.create
        plain = {name: value for name, value in sampling.items() if name != "extra_body"}
        fields = {**plain, **sampling.get("extra_body", {})}
        streaming: dict[str, Any] = {"stream": True} if stream else {}
        if counts:
            streaming["stream_options"] = {"include_usage": True}
        sent = Sent(fields, [message["role"] for message in messages], stream)
        requests = before + 1
        try:
            raw = create(model=self.server.model, messages=messages, **sampling, **streaming)
            requests = before + _requests(raw.http_response.request)
            ignored = not wants_stream and raw.http_response.headers.get("Content-Type", "").startswith(WHOLE)
            if stream and not ignored:
                return read_stream(self._timed_pieces(raw.parse()), hears), requests
            return read_whole(raw.http_response.read()), requests
        except openai.APIStatusError as error:
            requests = before + _requests(error.request)
            unknown = str(error.body) if error.status_code in (400, 422) else ""
            if counts and "stream_options" in unknown:
                self._counts_streams = False
            elif hears is not None and not wants_stream and "stream" in unknown:
                self._streams, hears = False, None
            else:
                return self._told(error, requests, sent)
        except openai.APIError as error:
            return self._told(error, max(requests, before + _requests(error.request)), sent)
        except BrokenOff as error:
            return OutsideError(f"the answer of {self.server} cannot be understood: {error}")
        except ValueError:  # no JSON, or another schema
            said = "" if stream else raw.http_response.text
            says = "in its stream" if stream else self.server.quote(said)
            what = f"{self.server} answers, but not with a chat completion: {says}"
            return refused(what, self._mend(said, sent), said, requests)
        except Exception as error:  # while a stream is read, the client does not wrap what its library raises
            if not _is_one_of(error, CUT):
                raise
            cut = f"{self.server} cut the connection, {self.server.quote(str(error))}"
            return OutsideError(cut, absence=Absence(sure=False))
        return self._attempt(messages, sampling, wants_stream, hears, requests)

    def _told(self, error: openai.OpenAIError, requests: int, sent: Sent) -> OutsideError:
        """``error`` of the client, after ``requests`` requests, as one whose message says all."""
        import openai

        # The pool's tries on top of the client's would multiply the requests.
        server, exhausted = self.server, requests > self._retries
        asked = f" ({requests} requests)" if requests > 1 else ""
        body = str(getattr(error, "body", None) or "")
        if isinstance(error, openai.APIStatusError):
            status = error.status_code
            said, variable = _server_message(error), server.key_variable
            answered = f"{server} answered with status {status} and says {server.quote(said)}"
            about_key = refused_key(status, said, variable=variable, option="api_key_env", sent=bool(server.key))
            if about_key:
                return OutsideError(f"{answered}{about_key}{asked}", final=True)
            mend = None if status in ABSENT else self._mend(body, sent)
            # Among requests refused as too many, one may be too large for any minute.
            if mend is not None and (status != TOO_MANY or mend.option == HISTORY):
                return refused(f"{answered}{asked}", mend, body, requests)
            if status in FINAL:
                not_there = "check served_model (GET /models lists the names) and base_url (most end in /v1)"
                other = "check served_model and the options of the request"
                advice = not_there if status == HTTPStatus.NOT_FOUND else other
                return OutsideError(f"{answered}{asked}", try_=advice, final=True)
            absence = absence_of(status, error.response.headers.get("Retry-After"))
            return OutsideError(f"{answered}{asked}", final=exhausted, absence=absence)
        if isinstance(error, openai.APITimeoutError):
            message = f"{server} did not answer in time (request_timeout_s){asked}"
            return OutsideError(message, final=exhausted, absence=_unreached(error))
        if isinstance(error, openai.APIConnectionError):
            cause = server.quote(str(error.__cause__ or error))
            message = f"{server} cannot be reached or cut the connection, {cause}: is it running there?{asked}"
            return OutsideError(message, final=exhausted, absence=_unreached(error))
        said = _server_message(error) or str(error)
        what = f"{server} stopped in the middle and says {server.quote(said)}{asked}"
        return refused(what, self._mend(body or said, sent), body or said, requests)

    def _mend(self, said: str, sent: Sent) -> Mend | None:
        mend = mend_of(said, sent)
        if mend is None or mend.option != "served_model" or mend.is_settled:
            return mend
        try:
            listed = self._client.with_options(timeout=LISTING_S, max_retries=0).models.list().data
            names = [on_one_line(self.server.without_key(str(model.id)), LONGEST_NAME) for model in listed or ()]
        except Exception:  # noqa: BLE001 - whatever else a server gives for a list, the refusal is what there is to tell
            return mend
        # Those that are most like the one asked for stand first.
        names.sort(key=lambda name: -difflib.SequenceMatcher(None, name, self.server.model).ratio())
        return of_listed(mend, names)

    def _timed_pieces(self, stream: openai.Stream[Any]) -> Iterator[Any]:
        deadline = time.monotonic() + LONGEST_STREAM * self._timeout_s
        with stream:
            for piece in stream:
                if time.monotonic() > deadline:
                    raise BrokenOff(f"its reply did not end within {LONGEST_STREAM * self._timeout_s:g} s")
                yield piece


def _requests(last: Any) -> int:
    return int(last.headers.get("x-stainless-retry-count", 0)) + 1


QUOTED = 200
CUT = frozenset({"TransportError"})
UNREACHED = frozenset({"ConnectError", "ConnectTimeout"})
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
        return without_key(text, self.key)

    def quote(self, text: str) -> str:
        line = self.without_key(_BLANKS.sub(" ", _TAGS.sub(" ", text)).strip())
        return f"“{line[:QUOTED]}{'…' if len(line) > QUOTED else ''}”" if line else "nothing"


def refused(message: str, mend: Mend | None, said: str, requests: int) -> OutsideError:
    if mend is None:
        return OutsideError(message)
    if mend.option == HISTORY:
        return HistoryTooLong(message, mend, said, requests)
    return OutsideError(message, try_=mend.sentence, final=True, mend=mend)


def _unreached(error: openai.OpenAIError) -> Absence:
    """Nobody is there where no connection can be made; where one broke or stayed silent, it is likely."""
    return Absence(sure=_is_one_of(error.__cause__, UNREACHED))


def _is_one_of(error: BaseException | None, names: frozenset[str]) -> bool:
    """Whether ``error`` is of a class so called: those of httpx and of httpx2, of which a client may have either."""
    return not names.isdisjoint(kind.__name__ for kind in type(error).__mro__)


def _server_message(error: openai.OpenAIError) -> str:
    body = getattr(error, "body", None)
    return str((isinstance(body, dict) and (body.get("message") or body.get("detail"))) or body or "")
