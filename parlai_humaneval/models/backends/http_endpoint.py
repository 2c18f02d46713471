"""A server as a model: a JSON object is posted to it, and one comes back.

The contract stands in :mod:`parlai_humaneval.models.backends.json_protocol`. In a zoo file::

    my_bot:
      options: {model: "parlai_humaneval.agents.http_endpoint:HttpEndpointAgent", url: "http://127.0.0.1:8080/"}

For a server with OpenAI's interface there is :mod:`parlai_humaneval.models.backends.chat_completions`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parlai.core.loader import register_agent
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.models.agent.isolation import quiet_http_log
from parlai_humaneval.models.backends.addresses import base_of, speaks_chat
from parlai_humaneval.models.backends.base import CONCURRENCY, GREETING, Absence, Heard, Said, absence_of
from parlai_humaneval.models.backends.json_protocol import MAX_BYTES, BadAnswer, ContractAgent, shown
from parlai_humaneval.models.zoo.secrets import is_variable_name, key_in_address, not_a_name, refused_key, without_key

if TYPE_CHECKING:
    import httpx

CONNECT_RETRIES = 5
"""With httpx's pauses of 0, ½, 1, 2 and 4 s: so long may a server that is started again be gone at each try."""


class Endpoint:
    """A server's address, and the connections to it, which threads share.

    Raises:
        ValueError: for an address that is none, or holds a password, or when the key is not in the environment.
    """

    def __init__(self, url: str, authorization_env: str, concurrency: int, connect_retries: int) -> None:
        import httpx  # here, because the command line need not wait for it

        try:
            self._url = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise ValueError(f"url: not an address: {error}") from error
        if self._url.scheme not in ("http", "https") or not self._url.host:
            raise ValueError("url: expected an address that begins with http:// or https://")
        if trouble := key_in_address(url):
            raise InvalidValue(trouble, where="url")
        self.name = str(self._url.copy_with(query=None, fragment=None))  # a query may hold a key all the same
        self._key = _authorization(authorization_env)
        self._variable = authorization_env
        quiet_http_log()
        limits = httpx.Limits(max_connections=concurrency)
        self._client = httpx.Client(
            headers={"Accept": "application/json", **({"Authorization": self._key} if self._key else {})},
            transport=httpx.HTTPTransport(retries=connect_retries, limits=limits),
        )

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def post(self, question: bytes, timeout_s: float) -> bytes:
        """The body of the answer; :class:`BadAnswer` when there is none, or not within ``timeout_s`` seconds.

        The key is blotted out where a server repeats it.
        """
        try:
            return self.without_key(self._post(question, timeout_s).decode("utf-8", "surrogateescape")).encode(
                "utf-8", "surrogateescape"
            )
        except BadAnswer as error:
            message, final, absence = self.without_key(str(error)), error.final, error.absence
        # Outside of the handler: what httpx raised may hold what the server said.
        raise BadAnswer(message, final=final, absence=absence)

    def without_key(self, text: str) -> str:
        """``text`` with the key blotted out."""
        return without_key(text, self._key)

    def _post(self, question: bytes, timeout_s: float) -> bytes:
        import httpx

        headers = {"Content-Type": "application/json"}
        until = time.monotonic() + timeout_s
        try:
            with self._client.stream(
                "POST", self._url, content=question, headers=headers, timeout=timeout_s
            ) as response:
                body = self._body(response, until)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise BadAnswer(f"{self.name} cannot be reached: {error}", absence=Absence()) from error
        except (httpx.TimeoutException, TimeoutError) as error:
            late = f"{self.name} gave no answer within {timeout_s:g} s"
            raise BadAnswer(late, absence=Absence(sure=False)) from error
        except httpx.HTTPError as error:
            cut = f"{self.name} cut the connection in the middle: {error}"
            raise BadAnswer(cut, absence=Absence(sure=False)) from error
        self._look_at(response, body)
        return body

    def _body(self, response: httpx.Response, until: float) -> bytes:
        body = b""
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > MAX_BYTES:
                raise BadAnswer(f"the answer is longer than {MAX_BYTES:,} bytes", where=self.name)
            if time.monotonic() > until:
                raise TimeoutError
        return body

    def _look_at(self, response: httpx.Response, body: bytes) -> None:
        status = response.status_code
        if status == HTTPStatus.OK:
            return
        if response.has_redirect_location:
            raise BadAnswer(f"{self.name} sends on to another address (status {status})", try_="give that as the url")
        said = self.without_key(body.decode("utf-8", "replace"))  # before it is cut
        about_key = refused_key(status, said, variable=self._variable, option="authorization_env", sent=bool(self._key))
        raise BadAnswer(
            f"{self.name} answered with status {status} {response.reason_phrase}: {shown(said.encode())}"
            f"{about_key or self._advice(status)}",
            final=bool(about_key),
            absence=None if about_key else absence_of(status, response.headers.get("Retry-After")),
        )

    def _advice(self, status: int) -> str:
        """What to do about an answer to a question that has the contract's form; empty where it says nothing of that."""
        if speaks_chat(self.name):
            return f": {_CHAT_AGENT.format(base=base_of(self.name))}"
        return _ADVICE.get(status, "")


_CHAT_AGENT = (
    "this is the address of a server with OpenAI's interface, for which there is the agent "
    "parlai_humaneval.agents.chat_completions:ChatCompletionsAgent with base_url {base} and served_model"
)
_ADVICE: Mapping[int, str] = {
    HTTPStatus.NOT_FOUND: ": is the path of the url right?",
    HTTPStatus.METHOD_NOT_ALLOWED: ": the question is sent by POST; is the path of the url right?",
    **dict.fromkeys(
        (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY),
        ': it must take a JSON object with "history", "persona" and "seed", and ignore keys that it does not know',
    ),
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: ": it must take application/json",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ": it must take a whole dialogue at once",
}
"""By status, what a server of the contract has to do that refuses a question."""


def _authorization(variable: str) -> str:
    """The header that the environment holds; empty where none is asked for."""
    if not variable:
        return ""
    if not is_variable_name(variable):
        raise ValueError(not_a_name("authorization_env"))  # what was given is not told: it may be a key
    value = os.environ.get(variable, "").strip()
    if not value:
        raise InvalidValue(
            f"the environment has no {variable}",
            where="authorization_env",
            try_="set it to the header, such as “Bearer …”",
        )
    if not (value.isascii() and value.isprintable()):  # httpx would show it in its error
        raise ValueError(f"authorization_env: {variable} holds characters that no header may hold")
    return value


@register_agent("parlai_humaneval/http_endpoint")
class HttpEndpointAgent(ContractAgent):
    """Posts the question and reads the answer. Redirects are not followed.

    A server that refuses connections is given some seconds to come back, at each of the pool's tries; a pool holds the
    question for longer (``outage_s``).
    """

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt)
        group = parser.add_argument_group("Arguments of a server as a model")
        group.add_argument("--url", type=str, help="Its address, without a name, password or key in it")
        group.add_argument(
            "--authorization-env",
            type=str,
            help="Name of an environment variable whose value is sent as the header Authorization",
        )
        group.add_argument(
            "--connect-retries",
            type=int,
            default=CONNECT_RETRIES,
            help="How often connecting is tried again, after 0, 0.5, 1, 2, … seconds",
        )
        return parser

    @classmethod
    def lacks(cls, options: Mapping[str, Any], folder: Path) -> list[str]:
        """What is wrong with the address or the key; the server is not asked."""
        try:
            _endpoint(options).close()
        except ValueError as error:
            return [f"{error}."]
        return []

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        if shared:
            self.endpoint: Endpoint = shared["endpoint"]
            return
        self.endpoint = _endpoint(opt)
        try:
            self.ask(GREETING)
        except BaseException:
            self.endpoint.close()
            raise

    def share(self) -> dict[str, Any]:
        """All clones share the connections."""
        return {**super().share(), "endpoint": self.endpoint}

    def ask(self, heard: Heard) -> Said:
        return Said(self.endpoint.without_key(super().ask(heard).text))  # JSON has several spellings for a key

    def exchange(self, question: bytes) -> bytes:
        return self.endpoint.post(question, self.request_timeout_s)

    def shutdown(self) -> None:
        """Close the connections."""
        self.endpoint.close()


def _endpoint(options: Mapping[str, Any]) -> Endpoint:
    retries = options.get("connect_retries")
    return Endpoint(
        str(options.get("url") or ""),
        str(options.get("authorization_env") or "").strip(),
        int(options.get("concurrency") or CONCURRENCY),
        CONNECT_RETRIES if retries is None else int(retries),
    )
