"""One connection to an OpenAI-compatible server, for any number of conversations."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from parlai_humaneval.models.hosted.chat_errors import Server, told
from parlai_humaneval.models.hosted.chat_messages import ChatMessage
from parlai_humaneval.models.hosted.chat_replies import BrokenOff, ChatReply, read_stream, read_whole
from parlai_humaneval.models.outside.base import OutsideError
from parlai_humaneval.models.quiet import quiet_http_log

if TYPE_CHECKING:
    import openai

NO_KEY = "none"
"""Sent where there is no key: the client insists on one, and servers that need none ignore it."""
LONGEST_STREAM = 10
"""How many times ``timeout_s`` a stream may take in all, however lively it is."""


LONGEST_PAUSE_S = 8
"""The client's own longest wait between two requests (``MAX_RETRY_DELAY`` in openai)."""


class ChatServer:
    """Sends requests, at most ``concurrency`` at once, and reads the answers.

    Time-outs, errors of the connection and answers 408, 409, 429 and 5xx are asked again up to ``retries`` times by the
    client itself, after 0.5 s, 1 s, 2 s, … (less up to a quarter, by chance) or as long as ``Retry-After`` says. After
    that the error is final: whoever asks does not start over.

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
            OutsideError: when there is none: it says what to check.
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
        requests = before + 1
        try:
            raw = create(model=self.server.model, messages=messages, **sampling, **_streaming(stream, counts))
            requests = before + _requests(raw.http_response.request)
            reply = read_stream(self._pieces(raw.parse())) if stream else read_whole(raw.http_response.content)
            return reply, requests
        except openai.APIStatusError as error:
            requests = before + _requests(error.request)
            if not (counts and error.status_code in (400, 422) and "stream_options" in str(error.body)):
                return self._told(error, requests)
        except openai.APIError as error:
            return self._told(error, max(requests, before + _requests(error.request)))
        except BrokenOff as error:
            return OutsideError(f"{self.server} cannot be understood: {error}")
        except ValueError:  # no JSON, or another schema
            says = "in its stream" if stream else self.server.quote(raw.http_response.text)
            return OutsideError(f"{self.server} answers, but not with a chat completion: {says}")
        self._counts_streams = False
        return self._attempt(messages, sampling, stream, requests)

    def _told(self, error: openai.OpenAIError, requests: int) -> OutsideError:
        return told(self.server, error, requests, exhausted=requests > self._retries)

    def _pieces(self, stream: openai.Stream[Any]) -> Iterator[Any]:
        """The pieces, until they take too long."""
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
    """How often the client sent a request, by what it notes in the headers of the last."""
    return int(last.headers.get("x-stainless-retry-count", 0)) + 1
