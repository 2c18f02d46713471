"""One connection to an OpenAI-compatible server, for any number of conversations.

What goes wrong with it is told in one sentence that says what to check, and holds no key.
"""

from __future__ import annotations

import difflib
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from parlai_humaneval._util.text import on_one_line
from parlai_humaneval.models.agent.isolation import quiet_http_log
from parlai_humaneval.models.backends.base import ABSENT, TOO_MANY, Absence, OutsideError, absence_of
from parlai_humaneval.models.backends.chat_messages import ChatMessage
from parlai_humaneval.models.backends.chat_replies import BrokenOff, ChatReply, read_stream, read_whole
from parlai_humaneval.models.backends.server_refusals import HISTORY, Mend, Sent, mend_of, of_listed, tokens_told
from parlai_humaneval.models.zoo.secrets import refused_key, without_key

if TYPE_CHECKING:
    import openai

NO_KEY = "none"
"""Sent where there is no key: the client insists on one, and servers that need none ignore it."""
LONGEST_STREAM = 10
"""How many times ``timeout_s`` a stream may take in all, however lively it is."""
LONGEST_PAUSE_S = 8
"""The client's own longest wait between two requests (``MAX_RETRY_DELAY`` in openai)."""
LISTING_S = 5.0
"""How long a server may take to list its models, where the one that it was asked for is none of them."""
LONGEST_NAME = 200


class HistoryTooLong(OutsideError):
    """The model cannot read so much. ``tokens``: the most that it can, and how many it was sent; None: it did not say.

    ``requests``: how many that took.
    """

    def __init__(self, what: str, mend: Mend, said: str, requests: int) -> None:
        super().__init__(what, try_=mend.sentence, final=True, mend=mend)
        self.tokens = tokens_told(said)
        self.requests = requests


class ChatServer:
    """Sends requests, at most ``concurrency`` at once, and reads the answers.

    Time-outs, errors of the connection and answers 408, 409, 429 and 5xx are asked again up to ``retries`` times by the
    client itself, after 0.5 s, 1 s, 2 s, … (less up to a quarter, by chance) or as long as ``Retry-After`` says. After
    that the error is final, unless the server is absent (see :class:`~parlai_humaneval.models.backends.base.Absence`) and
    whoever asks waits for it: they do not start over.

    ``patience_s``: how long all that takes at most, but for longer waits that the server asks for.

    Args:
        server: where it is, the model, and the key.
        timeout_s: seconds until a connection must be there, and the longest silence after that.
        retries: see above.
        concurrency: most requests under way at once.
    """

    def __init__(self, server: Server, *, timeout_s: float, retries: int, concurrency: int) -> None:
        import openai  # it takes a second, which the command line need not pay

        quiet_http_log()
        self.server = server
        self.begins_thoughts = False  # whether its chat template does, as far as is known
        self._timeout_s = timeout_s
        self._retries = retries
        self._client = openai.OpenAI(
            api_key=server.key or NO_KEY, base_url=server.base_url, timeout=timeout_s, max_retries=retries
        )
        self.patience_s = timeout_s * (retries + 1) + LONGEST_PAUSE_S * retries
        self._free = threading.BoundedSemaphore(concurrency)
        self._counts_streams = True  # until the server says that it knows no `stream_options`

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def ask(self, messages: list[ChatMessage], sampling: Mapping[str, Any], *, stream: bool) -> tuple[ChatReply, int]:
        """The reply, and how many requests it took.

        Args:
            messages: system prompt and dialogue.
            sampling: further fields of the request; ``extra_body`` holds those that the client does not know.
            stream: gather the reply from pieces, so that a long one is no long silence.

        Raises:
            HistoryTooLong: when there are too many messages.
            OutsideError: when there is none for another reason: it says what to check.
        """
        with self._turn():
            answer = self._attempt(messages, sampling, stream)
        if isinstance(answer, OutsideError):
            # Outside of any handler: the client's own error, which it would else drag along, holds the headers.
            raise answer
        return answer

    def _attempt(
        self, messages: list[ChatMessage], sampling: Mapping[str, Any], stream: bool, before: int = 0
    ) -> tuple[ChatReply, int] | OutsideError:
        """As :meth:`ask`, ``before`` requests later; an error is returned."""
        import openai

        counts = stream and self._counts_streams
        create: Any = self._client.chat.completions.with_raw_response.create
        fields = {
            **{name: value for name, value in sampling.items() if name != "extra_body"},
            **sampling.get("extra_body", {}),
        }
        sent = Sent(fields, [message["role"] for message in messages], stream)
        requests = before + 1
        try:
            raw = create(model=self.server.model, messages=messages, **sampling, **_streaming(stream, counts))
            requests = before + _requests(raw.http_response.request)
            reply = read_stream(self._timed_pieces(raw.parse())) if stream else read_whole(raw.http_response.content)
            return reply, requests
        except openai.APIStatusError as error:
            requests = before + _requests(error.request)
            if not (counts and error.status_code in (400, 422) and "stream_options" in str(error.body)):
                return self._told(error, requests, sent)
        except openai.APIError as error:
            return self._told(error, max(requests, before + _requests(error.request)), sent)
        except BrokenOff as error:
            return OutsideError(f"{self.server} cannot be understood: {error}")
        except ValueError:  # no JSON, or another schema
            said = "" if stream else raw.http_response.text
            says = "in its stream" if stream else self.server.quote(said)
            return refused(
                f"{self.server} answers, but not with a chat completion: {says}", self._mend(said, sent), said, requests
            )
        except Exception as error:  # while a stream is read, the client does not wrap what its library raises
            if not _is_one_of(error, CUT):
                raise
            cut = f"{self.server} cut the connection, {self.server.quote(str(error))}"
            return OutsideError(cut, absence=Absence(sure=False))
        self._counts_streams = False
        return self._attempt(messages, sampling, stream, requests)

    def _told(self, error: openai.OpenAIError, requests: int, sent: Sent) -> OutsideError:
        exhausted = requests > self._retries
        return told(self.server, error, requests, exhausted=exhausted, mend_of=lambda said: self._mend(said, sent))

    def _mend(self, said: str, sent: Sent) -> Mend | None:
        mend = mend_of(said, sent)
        is_other_model = mend is not None and mend.option == "served_model" and not mend.is_settled
        return of_listed(mend, self._models()) if mend is not None and is_other_model else mend

    def _models(self) -> list[str]:
        """What the server calls the models that it has, those most like the one asked for first; empty where it does not
        say."""
        try:
            listed = self._client.with_options(timeout=LISTING_S, max_retries=0).models.list().data
            names = [on_one_line(self.server.without_key(str(model.id)), LONGEST_NAME) for model in listed or ()]
        except Exception:  # noqa: BLE001 - whatever else a server gives for a list, the refusal is what there is to tell
            return []
        return sorted(names, key=lambda name: -difflib.SequenceMatcher(None, name, self.server.model).ratio())

    def _timed_pieces(self, stream: openai.Stream[Any]) -> Iterator[Any]:
        deadline = time.monotonic() + LONGEST_STREAM * self._timeout_s
        with stream:
            for piece in stream:
                if time.monotonic() > deadline:
                    raise BrokenOff(f"its reply did not end within {LONGEST_STREAM * self._timeout_s:g} s")
                yield piece

    @contextmanager
    def _turn(self) -> Iterator[None]:
        # The pool starts no more threads than `concurrency`, but another for each that hangs.
        if not self._free.acquire(timeout=self.patience_s):
            raise OutsideError(f"{self.server} is busy with as many requests as it may get (concurrency)")
        try:
            yield
        finally:
            self._free.release()


def _streaming(stream: bool, counts: bool) -> dict[str, Any]:
    """Fields of a request for a stream; ``counts``: that is to end with the numbers of tokens."""
    if not stream:
        return {}
    return {"stream": True, **({"stream_options": {"include_usage": True}} if counts else {})}


def _requests(last: Any) -> int:
    return int(last.headers.get("x-stainless-retry-count", 0)) + 1


QUOTED = 200
"""Characters of what a server says that are told; a proxy may answer with a whole page."""
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
        """``text`` with the key blotted out, wherever a server repeats it."""
        return without_key(text, self.key)

    def quote(self, text: str) -> str:
        """What the server says, on one line, cut, and without tags and key."""
        line = self.without_key(_BLANKS.sub(" ", _TAGS.sub(" ", text)).strip())
        return f"“{line[:QUOTED]}{'…' if len(line) > QUOTED else ''}”" if line else "nothing"


def told(
    server: Server,
    error: openai.OpenAIError,
    requests: int,
    *,
    exhausted: bool,
    mend_of: Callable[[str], Mend | None],
) -> OutsideError:
    """``error`` of the client, after ``requests`` requests, as one whose message says all.

    ``exhausted``: the client has asked as often as it may, so that the error is final: the pool's tries on top would
    multiply the requests. ``mend_of``: from the server's words to the option that mends what it refused.
    """
    import openai  # it takes a second

    asked = f" ({requests} requests)" if requests > 1 else ""
    body = str(getattr(error, "body", None) or "")
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        answered = f"{server} answered with status {status} and says {server.quote(_server_message(error))}"
        if about_key := _about_key(server, error):
            return OutsideError(f"{answered}{about_key}{asked}", final=True)
        mend = None if status in ABSENT else mend_of(body)
        if mend is not None and (status != TOO_MANY or mend.option == HISTORY):  # one that is too large for any minute
            return refused(f"{answered}{asked}", mend, body, requests)
        if status in FINAL:
            return OutsideError(f"{answered}{asked}", try_=_advice(status), final=True)
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
    return refused(
        f"{server} broke off and says {server.quote(said)}{asked}", mend_of(body or said), body or said, requests
    )


def refused(message: str, mend: Mend | None, said: str, requests: int) -> OutsideError:
    """The error of a server that said so, with the option that mends it, where that is known."""
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
    if isinstance(body, dict):
        return str(body.get("message") or body.get("detail") or body)
    return str(body or "")


def _about_key(server: Server, error: openai.APIStatusError) -> str:
    """That the key is wrong, or none was sent; empty where something else is wrong."""
    return refused_key(
        error.status_code,
        _server_message(error),
        variable=server.key_variable,
        option="api_key_env",
        sent=bool(server.key),
    )


def _advice(status: int) -> str:
    if status == 404:
        return "check served_model (GET /models lists what there is) and base_url (most end in /v1)"
    if status in FINAL:
        return "check served_model and the options of the request"
    return ""
