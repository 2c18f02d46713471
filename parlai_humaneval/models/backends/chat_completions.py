"""Any model behind an OpenAI-compatible server: vLLM, TGI, llama.cpp, Ollama, ``transformers serve``, or a hosted one.

In a zoo file::

    my_server:
      options:
        model: parlai_humaneval/chat_completions
        base_url: http://localhost:8000/v1
        served_model: my-org/my-model
        system_prompt: "You chat with a stranger. You are this person: {persona}"
        max_tokens: 80

The key stands in an environment variable (``OPENAI_API_KEY``, or what ``api_key_env`` names) and nowhere else.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args
from urllib.parse import urlsplit

import yaml
from parlai.core.loader import register_agent
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval.display.text import is_blank
from parlai_humaneval.display.thoughts import ONLY_THOUGHTS, only_thoughts, parted, without_thoughts
from parlai_humaneval.models.agent.dialogue_agent import DIALOGUE_FIELD, SEED_FIELD, Line, chance_of
from parlai_humaneval.models.agent.history import (
    HELP,
    OPTION,
    count_turns,
    estimated_tokens,
    history_limit,
    newest_turns,
    written_history_limit,
)
from parlai_humaneval.models.backends.addresses import base_of
from parlai_humaneval.models.backends.base import Heard, OutsideAgent, Said
from parlai_humaneval.models.backends.chat_messages import SystemRole, Wording
from parlai_humaneval.models.backends.chat_replies import ChatReply
from parlai_humaneval.models.backends.chat_server import ChatServer, HistoryTooLong, Server
from parlai_humaneval.models.backends.prompting import BEGIN, GO_ON
from parlai_humaneval.models.backends.server_refusals import LIMIT_FIELDS, OUT_OF_TOKENS
from parlai_humaneval.models.zoo.secrets import is_variable_name, not_a_name
from parlai_humaneval.schema.records import ReplyInfo

logger = logging.getLogger(__name__)

KEY_VARIABLE = "OPENAI_API_KEY"
ADDRESS_VARIABLE = "OPENAI_BASE_URL"
TIMEOUT_S = 30.0
RETRIES = 2
NUMBERS: Mapping[str, tuple[type, str]] = {
    "temperature": (float, "Sampling temperature; 0 takes the likeliest token"),
    "top_p": (float, "Nucleus sampling: the share of probability that takes part"),
    "presence_penalty": (float, "Against tokens that were used at all"),
    "frequency_penalty": (float, "Against tokens, by how often they were used"),
}
"""Sampling options that are passed on where they are given, and else left to the server."""
CUT = "length"
"""``finish_reason`` of a reply that reached the most tokens."""
TOKENS_OF_A_PRICE = 1_000_000
"""Tokens that a price is for, as makers publish them."""


@dataclass(frozen=True)
class Prices:
    """Prices per million tokens, in ``currency``. None: not known; where both are, nothing has a cost.

    Raises:
        ValueError: for a price below 0.
    """

    prompt: float | None = None
    completion: float | None = None
    currency: str = "USD"

    def __post_init__(self) -> None:
        for name, price in (("price_prompt", self.prompt), ("price_completion", self.completion)):
            if price is not None and not 0 <= price < float("inf"):
                raise ValueError(f"{name} must be a price per million tokens, 0 or more, not {price}")

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """Of one reply, in :attr:`currency`; None where a price or a number of tokens that it takes is not known."""
        due = ((self.prompt, prompt_tokens), (self.completion, completion_tokens))
        priced = [(price, tokens) for price, tokens in due if price is not None]
        if not priced or any(tokens is None for _, tokens in priced):
            return None
        return sum(price * (tokens or 0) for price, tokens in priced) / TOKENS_OF_A_PRICE


@register_agent("parlai_humaneval/chat_completions")
class ChatCompletionsAgent(OutsideAgent):
    """Asks a server for each reply, and keeps what it says of it: its model's name, tokens, cost, and why it stopped.

    Nothing is asked while it is loaded. Replies of one dialogue under one seed are the same where the server honours seeds.
    """

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt)
        _add_server_args(parser)
        _add_wording_args(parser)
        _add_sampling_args(parser)
        return parser

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.server: ChatServer = shared["server"] if shared else _connect(opt, self.concurrency)
        self.patience_s = self.server.patience_s
        self.wording = _wording(opt)
        self.sampling = _sampling(opt)
        self.max_tokens: int | None = opt.get("max_tokens")
        self.prices = Prices(opt.get("price_prompt"), opt.get("price_completion"), opt.get("currency") or "USD")
        self.stream = bool(opt.get("stream"))
        self.strips_thinking = bool(opt.get("strip_thinking", True))
        self.sends_seed = bool(opt.get("send_seed", True))
        self.limit = history_limit(opt.get(OPTION))

    def share(self) -> dict[str, Any]:
        """The connection, and with it the limit of requests, is shared by all clones."""
        return {**super().share(), "server": self.server}

    def ask(self, heard: Heard) -> Said:
        sampling = {**self.sampling, **({"seed": _seed(heard)} if self.sends_seed else {})}
        reply, requests, left_out = self._asked(heard, sampling)
        text, thoughts = map(self.server.server.without_key, (self._with_beginning(reply), reply.thoughts))
        if is_blank(without_thoughts(text)):
            why = only_thoughts(text) or (ONLY_THOUGHTS if thoughts else "no text")
            advice = f"; {OUT_OF_TOKENS.sentence}" if why != ONLY_THOUGHTS and reply.finish_reason == CUT else ""
            logger.warning(
                "%s gave no reply (finish_reason %s): %s%s", self.server.server, reply.finish_reason, why, advice
            )
        prompt_tokens, completion_tokens = reply.usage.prompt_tokens, reply.usage.completion_tokens
        cost = self.prices.cost(prompt_tokens, completion_tokens)
        info = ReplyInfo(
            served_model=self._told(reply.model),
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            cost=cost,
            currency=None if cost is None else self.prices.currency,
            finish_reason=self._told(reply.finish_reason),
            requests=requests,
            turns_left_out=left_out or None,
            thoughts=thoughts or None,
        )
        return Said(text, info)

    def _with_beginning(self, reply: ChatReply) -> str:
        """The reply's text; where it was cut within thoughts that the chat template begins, with the mark that is not in it.

        That a template does so is known once other thoughts of this server have ended and not begun.
        """
        both = parted(reply.text)
        if both.thoughts and both.thoughts[0] and reply.text.lstrip().startswith(both.thoughts[0]):
            self.server.begins_thoughts = True
        cut = reply.finish_reason == CUT and self.server.begins_thoughts and not (both.thoughts or reply.thoughts)
        return f"<think>{reply.text}" if cut else reply.text

    def _asked(self, heard: Heard, sampling: Mapping[str, Any]) -> tuple[ChatReply, int, int]:
        """The reply, how many requests it took, and how many of the oldest turns the server was not sent.

        These are more than ``history_limit`` wants where its model cannot read the rest either.

        Raises:
            OutsideError: when there is none; where even the newest turn is too long, a :class:`HistoryTooLong`.
        """
        most = self.limit.tokens
        kept, left_out = newest_turns(
            heard.dialogue, lambda end: most is None or self._tokens(heard, end) <= most, self.limit.turns
        )
        before = 0
        while True:
            messages = self.wording.messages(replace(heard, dialogue=tuple(kept)))
            try:
                reply, requests = self.server.ask(messages, sampling, stream=self.stream)
            except HistoryTooLong as error:
                shorter, more = self._shortened(heard, kept, error.tokens)
                if not more:
                    raise
                logger.warning(
                    "%s cannot read so long a history, and is asked without its oldest turns (%d): say by %s how much it "
                    "is to read",
                    self.server.server,
                    left_out + more,
                    OPTION,
                )
                kept, left_out, before = shorter, left_out + more, before + error.requests
            else:
                return reply, before + requests, left_out

    def _shortened(
        self, heard: Heard, kept: Sequence[Line], told: tuple[int, int] | None
    ) -> tuple[Sequence[Line], int]:
        """The newest turns of what was too much, as many as are likely to fit, and how many that leaves out.

        ``told``: how many tokens the server can read, and what it made of what it was sent; else half of it goes.
        """
        turns = count_turns(kept)
        if told is None or told[1] <= (room := told[0] - (self.max_tokens or 0)):
            return newest_turns(kept, lambda end: True, max(1, turns // 2))
        whole = self._tokens(heard, kept)
        return newest_turns(kept, lambda end: self._tokens(heard, end) * told[1] <= room * whole, max(1, turns - 1))

    def _tokens(self, heard: Heard, dialogue: Sequence[Line]) -> int:
        """About as many as the server makes of all that it is sent with this end of the dialogue."""
        messages = self.wording.messages(replace(heard, dialogue=tuple(dialogue)))
        return sum(estimated_tokens(message["content"]) for message in messages)

    def shutdown(self) -> None:
        """Close the connections."""
        self.server.close()

    def _told(self, word: str | None) -> str | None:
        return None if word is None else self.server.server.without_key(word)[:200]


def _seed(heard: Heard) -> int:
    """Of one turn of one conversation, in [0, 2³¹): what every server takes."""
    return chance_of({SEED_FIELD: heard.seed, DIALOGUE_FIELD: heard.dialogue}).getrandbits(31)


def _connect(opt: Opt, concurrency: int) -> ChatServer:
    timeout_s, retries = float(opt.get("request_timeout_s") or TIMEOUT_S), int(opt.get("request_retries", RETRIES))
    if timeout_s <= 0 or retries < 0:
        raise ValueError("request_timeout_s must be above 0, and request_retries not below")
    model = opt.get("served_model")
    if not model:
        raise ValueError(
            "served_model is missing: the name by which the server calls its model (GET /models lists them)"
        )
    variable = str(opt.get("api_key_env", KEY_VARIABLE) or "").strip()
    server = Server(base_url=_address(opt), model=str(model), key_variable=variable, key=_key(variable))
    return ChatServer(server, timeout_s=timeout_s, retries=retries, concurrency=concurrency)


def _address(opt: Opt) -> str:
    address = str(opt.get("base_url") or os.environ.get(ADDRESS_VARIABLE) or "").strip()
    if not address:
        raise ValueError(f"base_url is missing (or {ADDRESS_VARIABLE}): such as http://localhost:8000/v1")
    parts = urlsplit(address)
    if parts.username or parts.password or parts.query:
        # What it was is not told: the message is logged.
        raise ValueError("base_url must hold no user, password or query: a key belongs in an environment variable")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(
            f"base_url must be an http or https address, such as http://localhost:8000/v1, not {address!r}"
        )
    return base_of(address)


def _key(variable: str) -> str:
    """What the environment holds; empty where no key is needed."""
    if not variable:
        return ""
    if not is_variable_name(variable):
        raise ValueError(not_a_name("api_key_env"))  # what was given is not told: it may be a key
    key = os.environ.get(variable, "").strip()
    if not key and variable != KEY_VARIABLE:
        raise ValueError(f"the environment variable {variable} is not set; api_key_env says that it holds the key")
    return key


def _wording(opt: Opt) -> Wording:
    role: Any = opt.get("system_role") or "system"
    if role not in get_args(SystemRole):
        raise ValueError(f"system_role must be {', '.join(get_args(SystemRole))}, not “{role}”")
    return Wording(
        system_prompt=opt.get("system_prompt") or "",
        system_role=role,
        alternate=bool(opt.get("alternate_roles", True)),
        begin_prompt=opt.get("begin_prompt", BEGIN),
        go_on_prompt=opt.get("go_on_prompt", GO_ON),
    )


def _sampling(opt: Opt) -> dict[str, Any]:
    fields: dict[str, Any] = {name: opt[name] for name in NUMBERS if opt.get(name) is not None}
    if opt.get("max_tokens") is not None:
        if int(opt["max_tokens"]) < 1:
            raise ValueError(f"max_tokens must be at least 1, not {opt['max_tokens']}")
        fields[opt.get("limit_field") or LIMIT_FIELDS[0]] = int(opt["max_tokens"])
    if opt.get("stop"):
        fields["stop"] = _stops(opt["stop"])
    if opt.get("extra_body"):
        fields["extra_body"] = _extra(opt["extra_body"])
    return fields


def _stops(given: Sequence[str]) -> list[str]:
    stops = [given] if isinstance(given, str) else list(given)
    if len(stops) > 1 and all(len(stop) == 1 for stop in stops) and any(stop.isalnum() for stop in stops):
        raise ValueError(f"stop must be a list of texts, such as [{''.join(stops)!r}]")  # ParlAI takes a text apart
    return stops


def _extra(given: Any) -> dict[str, Any]:
    try:
        extra = yaml.safe_load(given) if isinstance(given, str) else given
    except yaml.YAMLError:
        extra = None
    if not isinstance(extra, dict):
        raise ValueError("extra_body must be a JSON object of further fields, such as '{\"top_k\": 40}'")
    return extra


def _add_server_args(parser: ParlaiParser) -> None:
    group = parser.add_argument_group("Chat-completions server")
    add = group.add_argument
    add(
        "--base-url",
        type=str,
        default=None,
        help=f"Address of the server, mostly ending in /v1; else {ADDRESS_VARIABLE}",
    )
    add("--api-key-env", type=str, default=KEY_VARIABLE, help="NAME of the environment variable with the key, or empty")
    add("--served-model", type=str, default=None, help="The name by which the server calls the model")
    add("--request-timeout-s", type=float, default=TIMEOUT_S, help="Longest silence of the server, in seconds")
    add(
        "--request-retries",
        type=int,
        default=RETRIES,
        help="Further requests after 429, 5xx, time-outs and lost connections; the pool adds none to these",
    )
    add(
        "--stream",
        type="bool",
        default=False,
        help="Collect the reply from a stream; for slow servers, and those that only stream",
    )
    add("--price-prompt", type=float, default=None, help="Price per million tokens of the request")
    add("--price-completion", type=float, default=None, help="Price per million tokens of the reply")
    add("--currency", type=str, default="USD", help="Currency of the prices")


def _add_wording_args(parser: ParlaiParser) -> None:
    add = parser.add_argument_group("Chat-completions messages").add_argument
    add("--system-prompt", type=str, default="", help="May hold {persona}; else a persona is told after it")
    add(
        "--system-role",
        type=str,
        choices=get_args(SystemRole),
        default="system",
        help="Role of the system prompt; user: the first message of the user begins with it",
    )
    add("--alternate-roles", type="bool", default=True, help="Lines of one speaker in a row become one message")
    add("--begin-prompt", type=str, default=BEGIN, help="Said by the user where the bot has the first line")
    add("--history-limit", type=written_history_limit, default=None, help=HELP)
    add("--go-on-prompt", type=str, default=GO_ON, help="Said by the user where the bot had the last line too")
    add(
        "--strip-thinking",
        type="bool",
        default=True,
        help="Leave thoughts out of what ParlAI shows; raters never see any",
    )


def _add_sampling_args(parser: ParlaiParser) -> None:
    add = parser.add_argument_group("Chat-completions sampling, left to the server where not given").add_argument
    for name, (kind, what) in NUMBERS.items():
        add(f"--{name.replace('_', '-')}", type=kind, default=None, help=what)
    add("--max-tokens", type=int, default=None, help="Longest reply; one that is cut is kept, and noted")
    add(
        "--limit-field",
        type=str,
        choices=LIMIT_FIELDS,
        default=LIMIT_FIELDS[0],
        help="What the server calls max_tokens",
    )
    add("--stop", type=str, nargs="+", default=None, help="Texts at which a reply ends")
    add("--send-seed", type="bool", default=True, help="Send a seed for each turn; false where a server refuses it")
    add("--extra-body", type=str, default=None, help='Further fields as JSON, such as {"top_k": 40}')
