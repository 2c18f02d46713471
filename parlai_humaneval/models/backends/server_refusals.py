"""Servers' messages on refused requests, the option that fixes each, and writing the option to a zoo file."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from parlai_humaneval._util.data_files import DataError, packaged, read_yaml
from parlai_humaneval._util.files import write_private
from parlai_humaneval._util.text import clean_label
from parlai_humaneval.models.zoo.entries import ZooError

LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")
SAMPLING_FIELDS = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "stop")
"""Fields of a request that have their name from the option, and can be left out."""
SHOWN_MODELS = 8
LONGEST_READ = 10_000


@dataclass(frozen=True)
class Mend:
    """A change of a zoo entry after which its server no longer refuses; ``value`` None leaves the option out."""

    option: str
    value: bool | int | str | None = None
    advice: str = ""

    @property
    def is_settled(self) -> bool:
        return not self.advice

    @property
    def as_yaml(self) -> str:
        return f"{self.option}: {written(self.value)}"

    @property
    def sentence(self) -> str:
        if not self.is_settled:
            return self.advice
        what = f"leave {self.option} out, by" if self.value is None else "write"
        return f"{what} `{self.as_yaml}` in the options of its zoo entry"


def written(value: bool | int | str | None) -> str:
    return yaml.safe_dump(value, allow_unicode=True, width=10_000).removesuffix("\n").removesuffix("\n...")


OUT_OF_TOKENS = Mend("max_tokens", advice="raise max_tokens in the options of its zoo entry")


@dataclass(frozen=True)
class Sent:
    """What the refused request held. ``fields``: other than messages; ``roles``: of messages, in order."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    roles: Sequence[str] = ()
    stream: bool = False

    @property
    def system_role(self) -> str | None:
        return self.roles[0] if self.roles and self.roles[0] in ("system", "developer") else None

    @property
    def spoken(self) -> list[str]:
        """Whose turn each message is; an empty ``begin_prompt`` or ``go_on_prompt`` leaves the bot at an end of them."""
        return [role for role in self.roles if role != self.system_role]


class Refusal(NamedTuple):
    """Words of servers (``says``: a pattern), and what mends it; ``examples``: as Markdown, for the documentation."""

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
    if any(first == second for first, second in pairwise(sent.spoken)):
        return Mend("alternate_roles", True)
    return Mend("system_role", "user") if sent.system_role else None


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
    if name is None or name in SAMPLING_FIELDS:
        return None if name is None else Mend(name)
    if name == "seed":
        return Mend("send_seed", False)
    if name in LIMIT_FIELDS:
        return Mend("limit_field", next(other for other in LIMIT_FIELDS if other != name))
    return Mend("extra_body", advice=f"leave {name} out of extra_body in the options of its zoo entry")


def _other_value(sent: Sent, match: re.Match[str]) -> Mend | None:
    name = _named(sent, match.string)
    if name is None or (name not in SAMPLING_FIELDS and name not in LIMIT_FIELDS):
        return None
    option = "max_tokens" if name in LIMIT_FIELDS else name
    return Mend(option, advice=f"set {option} to another value in the options of its zoo entry")


HISTORY = "history_limit"
_LOG = (
    "its log says why; if that is a chat template without a system role, write `system_role: user` in the options of its "
    "zoo entry"
)
MENDS: Mapping[str, Callable[[Sent, re.Match[str]], Mend | None]] = {
    "history": lambda sent, match: Mend(
        HISTORY, advice="even the newest turn is too long for the model: lower max_tokens, or shorten the system prompt"
    ),
    "limit": _limit,
    "out_of_tokens": lambda sent, match: OUT_OF_TOKENS,
    "stream": lambda sent, match: None if sent.stream else Mend("stream", True),
    "no_stream": lambda sent, match: Mend("stream", False) if sent.stream else None,
    "roles": _roles,
    "alternation": _alternation,
    "begin_prompt": lambda sent, match: Mend("begin_prompt") if sent.spoken[:1] == ["assistant"] else None,
    "go_on_prompt": lambda sent, match: Mend("go_on_prompt") if sent.spoken[-1:] == ["assistant"] else None,
    "top_p": lambda sent, match: Mend("top_p") if "top_p" in sent.fields else None,
    "refused_field": _refused_field,
    "other_value": _other_value,
    "pinned": lambda sent, match: Mend("served_model", match[1]),
    "model": lambda sent, match: Mend("served_model", advice="check served_model (GET /models lists the names)"),
    "base_url": lambda sent, match: Mend(
        "base_url", advice="let base_url end in /openai/v1, where Azure needs no api-version"
    ),
    "log": lambda sent, match: Mend("system_role", advice=_LOG) if sent.system_role else None,
}
REFUSALS = tuple(
    Refusal(entry["examples"], "".join(entry["says"]), MENDS[entry["mend"]])
    for entry in read_yaml(packaged("server_refusals.yaml"))
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
    if mend.option != "served_model" or mend.is_settled or not models:
        return mend
    if len(models) == 1:
        return replace(mend, value=models[0], advice="")
    shown = ", ".join(models[:SHOWN_MODELS]) + (", …" if len(models) > SHOWN_MODELS else "")
    return replace(mend, advice=f"check served_model: it has {shown}")


def file_of(model: str, files: Iterable[str]) -> Path | None:
    for file in files:
        path = Path(file).expanduser()
        names = (read_yaml(path, error=ZooError) or {}).get("models") or {}
        if any(clean_label(str(name)) == model for name in names):
            return path
    return None


def write_option(file: Path, model: str, mend: Mend) -> None:
    """Write an option into the entry of a model; a ZooError, and nothing, where only people should change it."""
    target = file.resolve()  # a link stays one
    text = target.read_bytes().decode("utf-8")
    changed = _changed(text, model, mend)
    after = None
    with suppress(DataError):
        after = read_yaml(file, text=changed or "")
    if changed is None or not _differs_in(read_yaml(file, text=text), after, model, mend):
        what = f"`{mend.as_yaml}` cannot be written into the options of {model}, which are not a mapping"
        raise ZooError(what, where=file, try_="write it yourself")
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
        write_private(target, changed.encode("utf-8"), mode=mode)
        target.chmod(mode)  # whatever the umask took from it
    except OSError as error:
        what = f"cannot be written ({error.strerror})"
        raise ZooError(what, where=file, try_=f"write `{mend.as_yaml}` yourself") from error


def _changed(text: str, model: str, mend: Mend) -> str | None:
    models = _value(yaml.compose(text, yaml.SafeLoader), "models")
    entry = _value(models, model)
    if not isinstance(entry, yaml.MappingNode) or not _is_inside(entry, models):
        return None
    options = _value(entry, "options")
    if options is None:
        return _with_key(text, entry, "options", f"{{{mend.as_yaml}}}")
    if not isinstance(options, yaml.MappingNode) or not _is_inside(options, entry):
        return None  # it stands elsewhere, and other models have it too
    pair = _yaml_pair(options, mend.option)
    if pair is None:
        return _with_key(text, options, mend.option, written(mend.value))
    key, value = pair
    if not _is_inside(value, options):
        return None
    before, after = text[: value.start_mark.index], text[_end(value, text) :]
    if value.start_mark.line == key.end_mark.line:
        return f"{before}{written(mend.value)}{after}"
    # A block begins on the next line, and a comment may stand on this one.
    colon = text.index(":", key.end_mark.index) + 1
    line_end = text.index("\n", colon)
    line_end -= text[line_end - 1] == "\r"
    return f"{text[:colon]} {written(mend.value)}{text[colon:line_end]}{after}"


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    pair = _yaml_pair(node, key)
    return None if pair is None else pair[1]


def _yaml_pair(node: yaml.Node | None, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((pair for pair in node.value if clean_label(str(pair[0].value)) == key), None)


def _is_inside(inner: yaml.Node, outer: yaml.Node | None) -> bool:
    return outer is not None and bool(outer.start_mark.index <= inner.start_mark.index <= outer.end_mark.index)


def _with_key(text: str, mapping: yaml.MappingNode, key: str, value: str) -> str:
    if not mapping.value:  # {}
        opening = text.index("{", mapping.start_mark.index) + 1
        return f"{text[:opening]}{key}: {value}{text[opening:]}"
    end = _end(mapping.value[-1][1], text)
    if mapping.flow_style:
        return f"{text[:end]}, {key}: {value}{text[end:]}"
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end + 1
    before = text[:line_end] if text[:line_end].endswith("\n") else f"{text[:line_end]}\n"
    newline = "\r\n" if before.endswith("\r\n") else "\n"
    indent = " " * mapping.value[0][0].start_mark.column
    return f"{before}{indent}{key}: {value}{newline}{text[line_end:]}"


def _end(node: yaml.Node, text: str) -> int:
    """Where the text of a node ends; PyYAML counts the lines behind a block to it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last: Any = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last, text)
    return (
        len(text[: node.end_mark.index].rstrip())
        if node.end_mark.index > node.start_mark.index
        else node.end_mark.index
    )


def _differs_in(before: Any, after: Any, model: str, mend: Mend) -> bool:
    """Whether the option is all that is other than before, whatever the change of the text was meant to do."""
    names: Sequence[Any] = [name for name in before["models"] if clean_label(str(name)) == model]
    if not isinstance(after, dict) or len(names) != 1:
        return False
    entry = before["models"][names[0]]
    wanted = {**entry, "options": {**(entry.get("options") or {}), mend.option: mend.value}}
    return bool(after == {**before, "models": {**before["models"], names[0]: wanted}})
