"""A server as a model: a JSON object is posted, and one comes back (:mod:`parlai_humaneval.models.backends.base`)."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar

from parlai.core.loader import register_agent
from parlai.core.opt import Opt

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.models.agent.isolation import quiet_http_log
from parlai_humaneval.models.backends import base
from parlai_humaneval.models.zoo import secrets

CONNECT_RETRIES = 5
"""With httpx's pauses of 0, ½, 1, 2 and 4 s: so long may a server that is started again be gone at each try."""


class Endpoint:
    """A server's address, and the connections to it, which threads share; a ValueError where the address or key is none."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        import httpx  # here, because the command line need not wait for it

        url = str(options.get("url") or "")
        try:
            self._url = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise InvalidValue(
                f"is not an address ({error})", where="url", try_="write http://… or https://…"
            ) from error
        if self._url.scheme not in ("http", "https") or not self._url.host:
            raise InvalidValue("is not an address", where="url", try_="write http://… or https://…")
        if trouble := secrets.key_in_address(url):
            raise InvalidValue(trouble, where="url")
        self.name = str(self._url.copy_with(query=None, fragment=None))  # a query may hold a key all the same
        self._variable = str(options.get("authorization_env") or "").strip()
        self._key = _authorization(self._variable)
        quiet_http_log()
        limits = httpx.Limits(max_connections=int(options.get("concurrency") or base.CONCURRENCY))
        retries = options.get("connect_retries")
        self._client = httpx.Client(
            headers={"Accept": "application/json", **({"Authorization": self._key} if self._key else {})},
            transport=httpx.HTTPTransport(retries=CONNECT_RETRIES if retries is None else int(retries), limits=limits),
        )

    def close(self) -> None:
        self._client.close()

    def post(self, question: bytes, timeout_s: float) -> bytes:
        """The body of the answer, the key blotted out; :class:`BadAnswer` when there is none in time."""
        try:
            return self.without_key(self._post(question, timeout_s).decode("utf-8", "surrogateescape")).encode(
                "utf-8", "surrogateescape"
            )
        except base.BadAnswer as error:
            message, final, absence = self.without_key(str(error)), error.final, error.absence
        # Outside of the handler: what httpx raised may hold what the server said.
        raise base.BadAnswer(message, final=final, absence=absence)

    def without_key(self, text: str) -> str:
        return secrets.without_key(text, self._key)

    def _post(self, question: bytes, timeout_s: float) -> bytes:
        import httpx

        headers = {"Content-Type": "application/json"}
        until = time.monotonic() + timeout_s
        try:
            with self._client.stream(
                "POST", self._url, content=question, headers=headers, timeout=timeout_s
            ) as response:
                body = b""
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > base.MAX_BYTES:
                        raise base.BadAnswer(f"the answer is longer than {base.MAX_BYTES:,} bytes", where=self.name)
                    if time.monotonic() > until:
                        raise TimeoutError
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise base.BadAnswer(f"{self.name} cannot be reached: {error}", absence=base.Absence()) from error
        except (httpx.TimeoutException, TimeoutError) as error:
            late = f"{self.name} gave no answer within {timeout_s:g} s"
            raise base.BadAnswer(late, absence=base.Absence(sure=False)) from error
        except httpx.HTTPError as error:
            cut = f"{self.name} closed the connection in the middle of its answer: {error}"
            raise base.BadAnswer(cut, absence=base.Absence(sure=False)) from error
        status = response.status_code
        if status == HTTPStatus.OK:
            return body
        if response.has_redirect_location:
            what = f"{self.name} redirects to another address (status {status})"
            raise base.BadAnswer(what, try_="set url to that address")
        said = self.without_key(body.decode("utf-8", "replace"))  # before it is cut
        about_key = secrets.refused_key(
            status, said, variable=self._variable, option="authorization_env", sent=bool(self._key)
        )
        advice = _ADVICE.get(status, "")
        if secrets.speaks_chat(self.name):
            advice = f": {_CHAT_AGENT.format(base=secrets.base_of(self.name))}"
        raise base.BadAnswer(
            f"{self.name} answered with status {status} {response.reason_phrase}: {base.shown(said.encode())}"
            f"{about_key or advice}",
            final=bool(about_key),
            absence=None if about_key else base.absence_of(status, response.headers.get("Retry-After")),
        )


_CHAT_AGENT = (
    "this is the address of a server with OpenAI's API: use the agent "
    "parlai_humaneval.agents.chat_completions:ChatCompletionsAgent with base_url {base} and served_model"
)
_ADVICE: Mapping[int, str] = {
    HTTPStatus.NOT_FOUND: ": check the path in the url",
    HTTPStatus.METHOD_NOT_ALLOWED: ": requests are sent by POST; check the path in the url",
    **dict.fromkeys(
        (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY),
        ': it must take a JSON object with "history", "persona" and "seed", and ignore keys that it does not know',
    ),
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: ": it must take application/json",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ": it must take a whole dialogue at once",
}


def _authorization(variable: str) -> str:
    if not variable:
        return ""
    if not secrets.is_variable_name(variable):
        raise InvalidValue(secrets.not_a_name("authorization_env"))  # what was given is not told: it may be a key
    value = os.environ.get(variable, "").strip()
    if not value:
        what = f"the environment variable {variable} is not set"
        raise InvalidValue(what, where="authorization_env", try_="set it to the header, such as “Bearer …”")
    if not (value.isascii() and value.isprintable()):  # httpx would show it in its error
        what = f"{variable} contains characters that a header must not contain"
        raise InvalidValue(what, where="authorization_env", try_="use letters, digits and signs of ASCII")
    return value


@register_agent("parlai_humaneval/http_endpoint")
class HttpEndpointAgent(base.ContractAgent):
    """Posts the question; a server that refuses connections is given some seconds, and redirects are not followed."""

    OPTIONS = "http_endpoint"
    KNOWN: ClassVar = {"connect_retries": {"default": CONNECT_RETRIES}}
    SHARED = ("endpoint",)

    @classmethod
    def lacks(cls, options: Mapping[str, Any], folder: Path) -> list[str]:
        try:
            Endpoint(options).close()
        except ValueError as error:
            return [f"{error}."]
        return []

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        if shared:
            self.endpoint: Endpoint = shared["endpoint"]
            return
        self.endpoint = Endpoint(opt)
        try:
            self.ask(base.GREETING)
        except BaseException:
            self.endpoint.close()
            raise

    def ask(self, heard: base.Heard) -> base.Said:
        said = super().ask(heard)
        return replace(said, text=self.endpoint.without_key(said.text))  # JSON has several spellings for a key

    def exchange(self, question: bytes) -> bytes:
        return self.endpoint.post(question, self.request_timeout_s)

    def shutdown(self) -> None:
        self.endpoint.close()
