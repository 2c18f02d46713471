"""Messages in a JSON list, a cell of a table, or a text such as “User: … Assistant: …”. Roles identify the speakers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import cycle, pairwise
from typing import Any

_LISTS = ("messages", "conversation", "conversations", "dialogue", "dialog", "chat")
PEOPLE = ("user", "human", "prompter", "person", "customer", "human_evaluator")
BOTS = ("assistant", "gpt", "bot", "model", "chatbot", "ai", "chatgpt", "bing", "bard", "agent")
SYSTEM = ("system", "developer")
TOOLS = ("tool", "function", "observation", "function_call")
_KINDS = {**dict.fromkeys(PEOPLE, "person"), **dict.fromkeys(BOTS, "bot"), **dict.fromkeys(SYSTEM, "system")}
_LABEL = re.compile(rf"^[ \t]*({'|'.join(_KINDS)})[ \t]*[:：]\s*", re.IGNORECASE | re.MULTILINE)
_LINE, _RULE = re.compile(r"^.*\S.*$", re.MULTILINE), re.compile(r"\s*[-=*]{3,}\s*")
_FENCE = re.compile(r"^(.*[:：])?[ \t]*(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)  # Also right behind a label


def told_in(prompt: str, reply: str) -> tuple[list[Any], list[Any]]:
    """The messages in two cells of a table, each of which may hold what one said, or a conversation: JSON, or a text with
    labels. A prompt that the reply begins with is there once."""
    asked_for, replied = _texts(prompt), _texts(reply)
    if asked_for and replied:  # of the arena: all that was asked, and all replies
        texts = (text for turn in zip(asked_for, replied, strict=False) for text in turn)
        return [], [{"role": role, "content": text} for role, text in zip(cycle(("user", "bot")), texts, strict=False)]
    # “Model: …” alone is a label only where the prompt has one.
    asked, said = (
        _told(prompt, "user", "person"),
        _told(reply, "bot", *(("bot", "system") if labels_of(prompt) else ())),
    )
    is_repeated = len(said) > 1 and bool(asked) and text_of(asked[0]) in map(text_of, said)
    return ([] if is_repeated else asked), said


def replies_in(cell: str) -> list[str]:
    """What a model said in a cell that holds a reply or a conversation, as :func:`told_in` reads it."""
    others = (*PEOPLE, *SYSTEM, *TOOLS)
    return [text_of(message) for message in told_in("", cell)[1] if role_of(message).lower() not in others]


def texts_of(text: str) -> list[str]:
    """The dialogues of a text file: between lines of dashes, else between blank lines, unless these separate all turns."""
    rules, divides = list[tuple[int, int]](), True
    # Lines of dashes part dialogues before a label, another such line, or the end. Others belong to a message.
    for line in reversed(list(_LINE.finditer(_without_code(text)))):
        if divides and _RULE.fullmatch(line[0]):
            rules.insert(0, line.span())
        else:
            divides = is_text(line[0])
    parts = [text[start:end] for (_, start), (end, _) in pairwise([(0, 0), *rules, (len(text), 0)])]
    parts = [part.strip() for part in parts if part.strip()]
    if len(parts) != 1:
        return parts
    blanks = [match.end() for match in re.finditer(r"\n\s*\n", _without_code(parts[0]))]
    blocks = [parts[0][start:end] for start, end in pairwise([0, *blanks, len(parts[0])])]
    return blocks if all(len(labels_of(block)) > 1 for block in blocks) else parts


def is_text(line: str) -> bool:
    """Whether a line begins with its speaker."""
    return _LABEL.match(line) is not None


def labels_of(text: str) -> list[tuple[re.Match[str], str]]:
    """Labels of a text that begins with one, and their roles. What is in code or not spelled as the first of its kind is
    quoted. “System” is the bot where no other speaks, unless it only begins the text."""
    found = list(_LABEL.finditer(_without_code(text)))
    if not found or text[: found[0].start()].strip():
        return []
    kinds = [_KINDS[match[1].lower()] for match in found]
    spelled = {kind: match[1] for kind, match in zip(reversed(kinds), reversed(found), strict=True)}
    if kinds[0] != "system" and "bot" in kinds:
        spelled.pop("system", None)
    is_bot = "bot" not in kinds and "system" in kinds[1:]
    return [
        (match, "bot" if is_bot and kind == "system" else match[1].lower())
        for match, kind in zip(found, kinds, strict=True)
        if spelled.get(kind) == match[1]
    ]


def _without_code(text: str) -> str:
    """As long as it was, with nothing to read in blocks of code that end."""
    fences = list(_FENCE.finditer(text))
    ends = [fence for fence in fences if not fence[1] and not fence[3].strip()]
    last = {fence[2]: fence.end() for fence in ends}
    parts, begins, opened = [], 0, None
    for fence in fences:
        if opened is None:
            opened = fence if last.get(fence[2], 0) > fence.end() else None
        elif fence[2] == opened[2] and not fence[1] and not fence[3].strip():
            parts += [text[begins : opened.start(2)], "x" * (fence.end() - opened.start(2))]
            begins, opened = fence.end(), None
    return "".join([*parts, text[begins:]])


def said_in(text: str) -> list[dict[str, str]]:
    places = labels_of(text)
    ends = [match.start() for match, _ in places[1:]] + [len(text)]
    return [
        {"role": role, "content": text[match.end() : end].strip()}
        for (match, role), end in zip(places, ends, strict=False)
    ]


def _texts(cell: str) -> list[str]:
    """The texts of a JSON list of texts, of which some may be null; nothing where it is none."""
    data = json_in(cell)
    return [one or "" for one in data] if isinstance(data, list) and {*map(type, data)} <= {str, type(None)} else []


def _told(cell: str, role: str, *kinds: str) -> list[Any]:
    """``role``: of whoever said a text with no label, or with one of these ``kinds`` alone."""
    if texts := _texts(cell):
        return [{"role": role, "content": text} for text in texts]
    data = json_in(cell)
    found = data if isinstance(data, list) else messages_of(data)
    if isinstance(found, list) and found and all(map(is_message, found)):
        return found
    said = said_in(cell)
    if len(said) > 1:
        return said
    is_labelled = bool(said) and _KINDS[said[0]["role"]] in kinds
    return [{"role": role, "content": said[0]["content"] if is_labelled else cell}] if cell else []


def json_in(cell: str | None) -> Any:
    """What a cell of JSON holds; None where it holds none, as tables from elsewhere may."""
    try:
        return json.loads(cell) if cell else None
    except (ValueError, RecursionError):
        return None


def messages_of(data: Any) -> Any:
    return next((data[name] for name in _LISTS if data.get(name)), None) if isinstance(data, Mapping) else None


def is_message(message: Any) -> bool:
    return (
        isinstance(message, Mapping)
        and bool(role_of(message))
        and any(name in message for name in ("content", "value", "text", "message"))
    )


def role_of(message: Mapping[str, Any]) -> str:
    found = first_of(message, ("role", "from", "sender_class", "speaker", "author", "id"))
    return str((found.get("role") if isinstance(found, Mapping) else found) or "").strip()


def text_of(message: Mapping[str, Any]) -> str:
    content = first_of(message, ("content", "value", "text", "message"))
    content = content.get("parts", content.get("text")) if isinstance(content, Mapping) else content
    if isinstance(content, list):  # parts of a message, of which pictures have no text
        parts = [
            part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, (str, Mapping))
        ]
        content = "\n".join(str(part) for part in parts if part not in (None, ""))
    return "" if content is None else str(content).strip()


def pictures_in(message: Mapping[str, Any]) -> int:
    """How many parts of a message are pictures, which have no text."""
    content = first_of(message, ("content", "value", "text", "message"))
    content = content.get("parts") if isinstance(content, Mapping) else content
    found = content if isinstance(content, list) else []
    return sum(
        isinstance(part, Mapping) and "image" in str(part.get("type") or part.get("content_type")) for part in found
    )


def first_of(data: Any, names: tuple[str, ...]) -> Any:
    return next((data[name] for name in names if data.get(name) not in (None, "")), None)
