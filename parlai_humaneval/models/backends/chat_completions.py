"""Any model behind an OpenAI-compatible server, local or hosted. The key comes only from an environment variable."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, get_args
from urllib.parse import urlsplit

import yaml
from parlai.core.loader import register_agent
from parlai.core.opt import Opt

from parlai_humaneval._util.errors import InvalidValue, choose_from
from parlai_humaneval.display.text import ONLY_THOUGHTS, is_blank, only_thoughts, parted, without_thoughts
from parlai_humaneval.models.agent import dialogue_agent as agents
from parlai_humaneval.models.backends.base import Heard, Hears, OutsideAgent, Said
from parlai_humaneval.models.backends.chat_server import ChatReply, ChatServer, HistoryTooLong, Server
from parlai_humaneval.models.backends.prompting import BEGIN, GO_ON, SystemRole, Wording, text_of
from parlai_humaneval.models.backends.server_refusals import LIMIT_FIELDS, OUT_OF_TOKENS
from parlai_humaneval.models.zoo.secrets import base_of, is_variable_name, not_a_name
from parlai_humaneval.schema.records import ReplyInfo

logger = logging.getLogger(__name__)

KEY_VARIABLE = "OPENAI_API_KEY"
ADDRESS_VARIABLE = "OPENAI_BASE_URL"
TIMEOUT_S = 30.0
RETRIES = 2
NUMBERS = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
"""Sampling options that are passed on where they are given, and else left to the server."""
CUT = "length"
IMAGE_TOKENS = 500  # of a picture, about, and of its text
TOKENS_OF_A_PRICE = 1_000_000


@dataclass(frozen=True)
class Prices:
    """Prices per million tokens, in ``currency``. None: not known; where both are, nothing has a cost."""

    prompt: float | None = None
    completion: float | None = None
    currency: str = "USD"

    def __post_init__(self) -> None:
        for name, price in (("price_prompt", self.prompt), ("price_completion", self.completion)):
            if price is not None and not 0 <= price < float("inf"):
                raise InvalidValue(
                    f"{price} is not a price", where=name, try_="write a price per million tokens, 0 or more"
                )

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """The cost of one reply, in `currency`; None if a price or a number of tokens is unknown."""
        due = ((self.prompt, prompt_tokens), (self.completion, completion_tokens))
        priced = [(price, tokens) for price, tokens in due if price is not None]
        if not priced or any(tokens is None for _, tokens in priced):
            return None
        return sum(price * (tokens or 0) for price, tokens in priced) / TOKENS_OF_A_PRICE


@register_agent("parlai_humaneval/chat_completions")
class ChatCompletionsAgent(OutsideAgent):
    """Asks a server for each reply, and keeps what it says of it: its model's name, tokens, cost, and why it stopped."""

    OPTIONS = "chat_completions"
    KNOWN: ClassVar = {
        "request_timeout_s": {"default": TIMEOUT_S},
        "request_retries": {"default": RETRIES},
        "api_key_env": {"default": KEY_VARIABLE},
        "begin_prompt": {"default": BEGIN},
        "go_on_prompt": {"default": GO_ON},
    }
    SHARED = ("server",)
    streams = True

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.server: ChatServer = shared["server"] if shared else _connect(opt, self.concurrency)
        self.patience_s = self.server.patience_s
        role: Any = opt.get("system_role") or "system"
        if role not in get_args(SystemRole):
            raise InvalidValue(f"cannot be “{role}”", where="system_role", **choose_from(role, get_args(SystemRole)))
        self.wording = Wording(
            system_prompt=opt.get("system_prompt") or "",
            system_role=role,
            alternate=bool(opt.get("alternate_roles", True)),
            begin_prompt=opt.get("begin_prompt", BEGIN),
            go_on_prompt=opt.get("go_on_prompt", GO_ON),
        )
        self.sampling = _sampling(opt)
        self.max_tokens: int | None = opt.get("max_tokens")
        self.prices = Prices(opt.get("price_prompt"), opt.get("price_completion"), opt.get("currency") or "USD")
        self.stream = bool(opt.get("stream"))
        self.strips_thinking = bool(opt.get("strip_thinking", True))
        self.sends_seed = bool(opt.get("send_seed", True))
        self.limit = agents.history_limit(opt.get(agents.OPTION))

    def ask(self, heard: Heard) -> Said:
        # One seed per turn of a conversation, in [0, 2³¹), which every server accepts.
        seed = agents.chance_of({agents.SEED_FIELD: heard.seed, agents.DIALOGUE_FIELD: heard.dialogue}).getrandbits(31)
        sampling = {**self.sampling, **({"seed": seed} if self.sends_seed else {})}
        reply, requests, left_out = self._asked(heard, sampling)
        text, thoughts = map(self.server.server.without_key, (self._with_beginning(reply), reply.thoughts))
        if is_blank(without_thoughts(text)) and not (self.takes_images and reply.images):
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
        return Said(text, info, reply.images)

    def _with_beginning(self, reply: ChatReply) -> str:
        """The reply's text; where it was cut within thoughts that the chat template begins, with the mark that is not
        in it. That a template does so is known once other thoughts of this server have ended and not begun."""
        both = parted(reply.text)
        self.server.knows_thoughts = True
        if both.thoughts and both.thoughts[0] and reply.text.lstrip().startswith(both.thoughts[0]):
            self.server.begins_thoughts = True
        cut = reply.finish_reason == CUT and self.server.begins_thoughts and not (both.thoughts or reply.thoughts)
        return f"<think>{reply.text}" if cut else reply.text

    def _tell(self, hears: Hears, text: str) -> None:
        """Pass an unfinished reply on, once it is known whether the server's replies begin within thoughts."""
        if self.server.knows_thoughts:
            begun = self.server.begins_thoughts and not parted(text).thoughts
            hears(self.server.server.without_key(f"<think>{text}" if begun else text))

    def _asked(self, heard: Heard, sampling: Mapping[str, Any]) -> tuple[ChatReply, int, int]:
        """The reply, how many requests it took, and how many of the oldest turns the server was not sent."""
        most = self.limit.tokens
        kept, left_out = agents.newest_turns(
            heard.dialogue, lambda end: most is None or self._tokens(heard, end) <= most, self.limit.turns
        )
        before = 0
        while True:
            messages = self.wording.messages(replace(heard, dialogue=tuple(kept)))
            try:
                hears = None if heard.hears is None else partial(self._tell, heard.hears)
                reply, requests = self.server.ask(messages, sampling, stream=self.stream, hears=hears)
            except HistoryTooLong as error:
                shorter, more = self._shortened(heard, kept, error.tokens)
                if not more:
                    raise
                logger.warning(
                    "%s cannot handle a history this long, so the oldest turns (%d) are left out. To limit the history, set "
                    "%s",
                    self.server.server,
                    left_out + more,
                    agents.OPTION,
                )
                kept, left_out, before = shorter, left_out + more, before + error.requests
            else:
                return reply, before + requests, left_out

    def _shortened(
        self, heard: Heard, kept: Sequence[agents.Line], told: tuple[int, int] | None
    ) -> tuple[Sequence[agents.Line], int]:
        """The newest turns that are likely to fit, and how many that leaves out; half of them where the server told no
        size."""
        turns = agents.count_turns(kept)
        if told is None or told[1] <= (room := told[0] - (self.max_tokens or 0)):
            return agents.newest_turns(kept, lambda end: True, max(1, turns // 2))
        whole = self._tokens(heard, kept)
        return agents.newest_turns(
            kept, lambda end: self._tokens(heard, end) * told[1] <= room * whole, max(1, turns - 1)
        )

    def _tokens(self, heard: Heard, dialogue: Sequence[agents.Line]) -> int:
        messages = self.wording.messages(replace(heard, dialogue=tuple(dialogue)))
        return sum(
            -(-len(text_of(content).encode("utf-8", "replace")) // agents.LETTERS_PER_TOKEN)
            + IMAGE_TOKENS * (len(content) if isinstance(content, list) else 0)
            for content in (message["content"] for message in messages)
        )

    def shutdown(self) -> None:
        self.server.close()

    def _told(self, word: str | None) -> str | None:
        return None if word is None else self.server.server.without_key(word)[:200]


_ADDRESS = "write an address such as http://localhost:8000/v1"


def _connect(opt: Opt, concurrency: int) -> ChatServer:
    timeout_s, retries = float(opt.get("request_timeout_s") or TIMEOUT_S), int(opt.get("request_retries", RETRIES))
    if timeout_s <= 0 or retries < 0:
        what = f"request_timeout_s is {timeout_s:g}, and request_retries {retries}"
        raise InvalidValue(what, try_="choose a time-out above 0, and 0 retries or more")
    model = opt.get("served_model")
    if not model:
        advice = "set the name by which the server calls its model (GET /models lists them)"
        raise InvalidValue("is missing", where="served_model", try_=advice)
    address = str(opt.get("base_url") or os.environ.get(ADDRESS_VARIABLE) or "").strip()
    if not address:
        raise InvalidValue(f"base_url (or {ADDRESS_VARIABLE}) is missing", try_=_ADDRESS)
    parts = urlsplit(address)
    if parts.username or parts.password or parts.query:
        # What it was is not told: the message is logged.
        what = "must not contain a user, password or query"
        raise InvalidValue(what, where="base_url", try_="put a key into an environment variable (api_key_env)")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidValue(f"{address!r} is not a web address", where="base_url", try_=_ADDRESS)
    variable = str(opt.get("api_key_env", KEY_VARIABLE) or "").strip()
    if variable and not is_variable_name(variable):
        raise InvalidValue(not_a_name("api_key_env"))  # what was given is not told: it may be a key
    key = os.environ.get(variable, "").strip() if variable else ""
    if not key and variable not in ("", KEY_VARIABLE):
        what = f"the environment variable {variable} is not set"
        raise InvalidValue(what, where="api_key_env", try_="set it to the key, or leave api_key_env empty")
    server = Server(base_url=base_of(address), model=str(model), key_variable=variable, key=key)
    return ChatServer(server, timeout_s=timeout_s, retries=retries, concurrency=concurrency)


def _sampling(opt: Opt) -> dict[str, Any]:
    fields: dict[str, Any] = {name: opt[name] for name in NUMBERS if opt.get(name) is not None}
    if opt.get("max_tokens") is not None:
        if int(opt["max_tokens"]) < 1:
            raise InvalidValue(f"{opt['max_tokens']} is too low", where="max_tokens", try_="choose 1 or more")
        fields[opt.get("limit_field") or LIMIT_FIELDS[0]] = int(opt["max_tokens"])
    if given := opt.get("stop"):
        stops = [given] if isinstance(given, str) else list(given)
        if len(stops) > 1 and all(len(stop) == 1 for stop in stops) and any(stop.isalnum() for stop in stops):
            advice = f"write a list of texts, such as [{''.join(stops)!r}]"  # ParlAI takes a text apart
            raise InvalidValue("must be a list", where="stop", try_=advice)
        fields["stop"] = stops
    if extra := opt.get("extra_body"):
        try:
            fields["extra_body"] = yaml.safe_load(extra) if isinstance(extra, str) else extra
        except yaml.YAMLError:
            fields["extra_body"] = None
        if not isinstance(fields["extra_body"], dict):
            advice = "write further fields as in '{\"top_k\": 40}'"
            raise InvalidValue("must be a JSON object", where="extra_body", try_=advice)
    return fields
