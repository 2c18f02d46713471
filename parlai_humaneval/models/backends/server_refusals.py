"""What OpenAI-compatible servers say when they refuse a request, and the option of the zoo entry that mends it.

Servers differ in what they take, and each says so in its own words. All of these words stand in one table, :data:`REFUSALS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import yaml

LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")
"""What servers call the longest reply, in tokens."""
SAMPLING_FIELDS = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "stop")
"""Fields of a request that have their name from the option, and can be left out."""
SHOWN_MODELS = 8
LONGEST_READ = 10_000
"""Letters of a refusal; a proxy may answer with a page."""


@dataclass(frozen=True)
class Mend:
    """A change of a zoo entry after which its server no longer refuses.

    ``value``: what the option should be; None leaves it out. ``advice``: what to do where only people can choose the
    value; empty where ``value`` is it.
    """

    option: str
    value: bool | int | str | None = None
    advice: str = ""

    @property
    def is_settled(self) -> bool:
        """Whether a program can write it into the entry."""
        return not self.advice

    @property
    def as_yaml(self) -> str:
        """The option as it stands in a zoo file."""
        return f"{self.option}: {written(self.value)}"

    @property
    def sentence(self) -> str:
        """What to do, as the second half of a sentence."""
        if not self.is_settled:
            return self.advice
        what = f"leave {self.option} out, by" if self.value is None else "write"
        return f"{what} `{self.as_yaml}` in the options of its zoo entry"


def written(value: bool | int | str | None) -> str:
    """A value as YAML on one line."""
    return yaml.safe_dump(value, allow_unicode=True, width=10_000).removesuffix("\n").removesuffix("\n...")


OUT_OF_TOKENS = Mend("max_tokens", advice="raise max_tokens in the options of its zoo entry")
"""Of a reply that ended before it had any text."""


@dataclass(frozen=True)
class Sent:
    """What the refused request held. ``fields``: beside the messages; ``roles``: of the messages, in their order."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    roles: Sequence[str] = ()
    stream: bool = False

    @property
    def system_role(self) -> str | None:
        """Who told the model how to behave; None where nobody did but the user."""
        return self.roles[0] if self.roles and self.roles[0] in ("system", "developer") else None


@dataclass(frozen=True)
class Refusal:
    """Words of servers (``says``: a regular expression), and what mends it; None where that is something else.

    ``examples``: the words of one server and the option that mends that, as Markdown, for the documentation.
    """

    examples: Mapping[str, str]
    says: str
    mend: Callable[[Sent, re.Match[str]], Mend | None]


def _limit(sent: Sent, match: re.Match[str]) -> Mend | None:
    most = next((group for group in match.groups() if group), None)
    return Mend("max_tokens", int(most)) if most else None


def _roles(sent: Sent, match: re.Match[str]) -> Mend | None:
    if sent.system_role == "developer" and re.search(r"[`'\"]system[`'\"]|\bsystem,", match.string):
        return Mend("system_role", "system")
    return Mend("system_role", "user") if sent.system_role else None


def _alternation(sent: Sent, match: re.Match[str]) -> Mend | None:
    spoken = [role for role in sent.roles if role != sent.system_role]
    if any(first == second for first, second in pairwise(spoken)):
        return Mend("alternate_roles", True)
    return Mend("system_role", "user") if sent.system_role else None


def _prompt(option: str, place: int) -> Callable[[Sent, re.Match[str]], Mend | None]:
    """Of a dialogue that has the bot at its beginning (0) or end (-1), as an empty prompt leaves it."""

    def mend(sent: Sent, match: re.Match[str]) -> Mend | None:
        spoken = [role for role in sent.roles if role != sent.system_role]
        return Mend(option) if spoken and spoken[place] == "assistant" else None

    return mend


def _remedy_for_field(name: str) -> Mend:
    if name == "seed":
        return Mend("send_seed", False)
    if name in LIMIT_FIELDS:
        return Mend("limit_field", next(other for other in LIMIT_FIELDS if other != name))
    if name in SAMPLING_FIELDS:
        return Mend(name)
    return Mend("extra_body", advice=f"leave {name} out of extra_body in the options of its zoo entry")


def _named(sent: Sent, said: str) -> str | None:
    for name in sent.fields:
        camel = re.sub(r"_(\w)", lambda letter: letter[1].upper(), name)
        spelled = f"(?:{re.escape(name)}|{re.escape(camel)})"
        quoted = rf"['\"`“]{spelled}['\"`”]"
        told = rf"\b(?:param(?:eter)?s?|arguments?(?: supplied)?|fields?|model|supports?)\W{{1,3}}(?:\w+\.)?{spelled}\b"
        first = rf"\b{spelled}\b\s+(?:is|are|param|field|argument|must|should)"
        if re.search(f"{quoted}|{told}|{first}", said):
            return name
    return None


def _refused_field(sent: Sent, match: re.Match[str]) -> Mend | None:
    name = _named(sent, match.string)
    return None if name is None else _remedy_for_field(name)


def _other_value(sent: Sent, match: re.Match[str]) -> Mend | None:
    name = _named(sent, match.string)
    if name is None or (name not in SAMPLING_FIELDS and name not in LIMIT_FIELDS):
        return None
    option = "max_tokens" if name in LIMIT_FIELDS else name
    return Mend(option, advice=f"give {option} another value in the options of its zoo entry")


HISTORY = "history_limit"
_LOG = (
    "its log says why; if that is a chat template without a system role, write `system_role: user` in the options of its "
    "zoo entry"
)
REFUSALS: Sequence[Refusal] = (
    Refusal(
        {
            "This model's maximum context length is 4097 tokens. Reduce the length of the messages.": "`history_limit: "
            "20 turns` or `3000 tokens`; without it, as many of the oldest turns are left out as necessary"
        },
        r"context_length_exceeded|exceed_context_size|maximum context length|exceeds? (?:the )?(?:max(?:imum)? )?"
        r"(?:available )?context|(?:longer|larger|greater) than the (?:model\W+s )?(?:maximum )?context"
        r"|context (?:length|window|size)\b.{0,40}exceed|prompt (?:is )?too long|input is too long|too large for model with"
        r"|input token count\b.*exceeds|input length\b.*exceeds|inputs?\W? tokens \+ |inputs?\W? must have less than"
        r"|range of input length|context the overflows|reduce the length of (?:the |your )?(?:messages|prompt|input)"
        r"|request too large for model",
        lambda sent, match: Mend(
            HISTORY, advice="even the newest turn is too long for it: lower max_tokens, or shorten the system prompt"
        ),
    ),
    Refusal(
        {"max_tokens is too large: 6000. This model supports at most 4096 completion tokens": "`max_tokens: 4096`"},
        r"at most (\d+) completion tokens|max_(?:completion_|new_)?tokens[`'\"]? must be "
        r"(?:<=|less than or equal to) [`'\"]?(\d+)|max_tokens: \d+ > (\d+)"
        r"|max_(?:completion_)?tokens\b.*(?:expected a value <=|less than or equal to) (\d+)",
        _limit,
    ),
    Refusal(
        {"Could not finish the message because max_tokens or model output limit was reached": "a higher `max_tokens`"},
        r"could not finish the message because max_tokens|(?:max_(?:completion_)?tokens|max_output_tokens)\b.*below minimum",
        lambda sent, match: OUT_OF_TOKENS,
    ),
    Refusal(
        {"This model only support stream mode, please enable the stream parameter": "`stream: true`"},
        r"only (?:supports?|supported in|available in)?(?: the)? ?stream|only stream|stream(?:ing)? (?:is )?required"
        r"|stream\W{0,2} must be (?:set to )?true|non-?stream(?:ing)? .*not|for non-?stream|when\W+stream=false"
        r"|requires? stream",
        lambda sent, match: None if sent.stream else Mend("stream", True),
    ),
    Refusal(
        {"Unsupported value: 'stream' does not support true with this model": "`stream: false`"},
        r"'stream' does not support true|stream(?:ing)?(?: mode)? is not (?:supported|allowed|available)|not support stream",
        lambda sent, match: Mend("stream", False) if sent.stream else None,
    ),
    Refusal(
        {"System role not supported": "`system_role: user`"},
        r"system role (?:is )?not supported|system[_ ]?(?:instruction|message|prompt)s? (?:is|are) not"
        r"|developer instruction is not enabled|only user and assistant roles"
        r"|(?:unknown variant|input tag|invalid role:?|role:?|does not support|value:?) [`'\"](?:system|developer)[`'\"]"
        r"|role['\"], .{0,60}input should be ['\"]user|\brole (?:system|developer) is not",
        _roles,
    ),
    Refusal(
        {"Conversation roles must alternate user/assistant/...": "`alternate_roles: true`, or `system_role: user`"},
        r"(?:must|should) alternate",
        _alternation,
    ),
    Refusal(
        {"Conversations must start with a user message": "a `begin_prompt` that is not empty"},
        r"(?:first message|conversations?) must (?:be|use|have|start|begin)\b.*user",
        _prompt("begin_prompt", 0),
    ),
    Refusal(
        {"Expected last role User or Tool for serving but got assistant": "a `go_on_prompt` that is not empty"},
        r"expected last role user|must end with a user|last message (?:must|should) (?:be|have|come)\b.*user"
        r"|assistant prefill",
        _prompt("go_on_prompt", -1),
    ),
    Refusal(
        {"`temperature` and `top_p` cannot both be specified for this model": "`top_p: null`"},
        r"temperature\W+and\W+top_p\b.*(?:both|only one)",
        lambda sent, match: Mend("top_p") if "top_p" in sent.fields else None,
    ),
    Refusal(
        {
            "Unrecognized request argument supplied: seed": "`send_seed: false`",
            "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.": "`limit_field: "
            "max_completion_tokens`",
            "'temperature' does not support 0.7 with this model. Only the default (1) value is supported.": "`temperature: "
            "null`; `top_p`, the penalties and `stop` likewise",
        },
        r"(?:not|n't|no longer) support|unsupported|unrecogni[sz]ed|unknown|extra_forbidden|not permitted|not allowed"
        r"|unexpected|deprecated",
        _refused_field,
    ),
    Refusal(
        {"`temperature` must be strictly positive": "another `temperature`, `top_p` or penalty"},
        r"\bmust be\b|\bshould be\b|strictly|\brange\b|less than|greater than|between",
        _other_value,
    ),
    Refusal(
        {"Server is pinned to 'my/model'; requested 'other'.": "`served_model: my/model`"},
        r"server is pinned to ['\"]([^'\"]{1,200})['\"]",
        lambda sent, match: Mend("served_model", match[1]),
    ),
    Refusal(
        {"The model `llama` does not exist": "a `served_model` that `GET /v1/models` lists"},
        r"\bmodels?\b.{0,80}(?:does not exist|not[ _]found|not (?:a )?valid|is invalid|unknown|not available|decommissioned)"
        r"|model_not_found|(?:invalid|unknown|no such)[ _]model|deploymentnotfound",
        lambda sent, match: Mend("served_model", advice="check served_model (GET /models lists what there is)"),
    ),
    Refusal(
        {"Missing required query parameter: api-version (Azure)": "a `base_url` that ends in `/openai/v1`"},
        r"api.version\b.*(?:required|not supported|missing)|missing\b.*api-version",
        lambda sent, match: Mend("base_url", advice="let base_url end in /openai/v1, where Azure needs no api-version"),
    ),
    Refusal(
        {"Internal Server Error": "perhaps `system_role: user`; the log of the server says why"},
        r"internal server error",
        lambda sent, match: Mend("system_role", advice=_LOG) if sent.system_role else None,
    ),
)
"""In the order in which they are looked for: the particular ones first."""
_MOST = (
    r"(?:context (?:length|window|size)(?: is| of(?: only)?)?|n_ctx\W+|<=|allowed(?: length)?|tokens >|limit|\[1,)"
    r"\W*(\d{2,9})",
    r"(\d{2,9}) maximum context",
)
_GIVEN = (
    r"(\d{1,9}) (?:in the messages|in your prompt|`?inputs)",
    r"(?:resulted in|contains(?: at least)?|n_prompt_tokens\W+|your request has|given:)\W*(\d{1,9})",
    r"(?:count|too long:|the first|requested(?: tokens)?|request|input|length)\W*(\d{1,9})",
)
"""Where servers say how many tokens their model can read, and how many it was sent; the surest words first."""


def mend_of(said: str, sent: Sent) -> Mend | None:
    """What mends a refusal in these words; None where they say nothing that is known."""
    for refusal in REFUSALS:
        match = re.search(refusal.says, said[:LONGEST_READ], re.IGNORECASE | re.DOTALL)
        if match is not None and (mend := refusal.mend(sent, match)) is not None:
            return mend
    return None


def tokens_told(said: str) -> tuple[int, int] | None:
    """Most tokens that the model can read, and how many it was sent, as its server says; None where it does not say both."""
    most, sent = _number(_MOST, said), _number(_GIVEN, said)
    return None if most is None or sent is None else (most, sent)


def _number(patterns: Sequence[str], said: str) -> int | None:
    matches = (re.search(pattern, said, re.IGNORECASE) for pattern in patterns)
    return next((int(match[1]) for match in matches if match is not None), None)


def of_listed(mend: Mend, models: Sequence[str]) -> Mend:
    """A wrong ``served_model``, once the server has said which models there are."""
    if mend.option != "served_model" or mend.is_settled or not models:
        return mend
    if len(models) == 1:
        return replace(mend, value=models[0], advice="")
    shown = ", ".join(models[:SHOWN_MODELS]) + (", …" if len(models) > SHOWN_MODELS else "")
    return replace(mend, advice=f"check served_model: it has {shown}")
