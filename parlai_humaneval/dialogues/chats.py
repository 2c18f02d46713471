"""Chats as others keep them → dialogues of this project's own JSON: lists of messages, ShareGPT, ACUTE-Eval's pairs, logs of
ParlAI's ``model_chat``, and texts such as “User: … Assistant: …”.

Who speaks is known by the role: a user is a person, an assistant the model that the file names. System messages are no part
of the dialogue; they are context where that is asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, pairwise
from typing import Any, Literal, get_args

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.dialogues.dialogue import HUMAN

Form = Literal["auto", "messages", "acute_pairs", "model_chat", "text"]
FORMS: tuple[Form, ...] = get_args(Form)
SHAPES: Mapping[Form, str] = {
    "messages": '{"messages": [{"role": "user", "content": "…"}, …]}',
    "acute_pairs": '{"speakers_to_eval": ["…", "…"], "dialogue_dicts": [{"dialogue": [{"id": "…", "text": "…"}]}, …]}',
    "model_chat": '{"dialog": [{"agent_idx": 0, "text": "…"}, …], "task_description": {"model_nickname": "…"}}',
    "text": "User: …<line break>Assistant: …",
}
_LISTS = ("messages", "conversation", "conversations", "dialogue", "dialog", "chat")
_IDS = ("dialogue_id", "id", "conversation_id", "conv_id", "question_id", "uuid")
_MODELS = ("model", "model_name", "model_id", "generator")
_PEOPLE = ("user", "human", "prompter", "person", "customer", "human_evaluator")
_BOTS = ("assistant", "gpt", "bot", "model", "chatbot", "ai", "chatgpt", "bing", "bard", "agent")
_SYSTEM = ("system", "developer")
_TOOLS = ("tool", "function", "observation", "function_call")
_KINDS = {**dict.fromkeys(_PEOPLE, "person"), **dict.fromkeys(_BOTS, "bot"), **dict.fromkeys(_SYSTEM, "system")}
_LABEL = re.compile(rf"^[ \t]*({'|'.join(_KINDS)})[ \t]*[:：]\s*", re.IGNORECASE | re.MULTILINE)
_LINE, _RULE = re.compile(r"^.*\S.*$", re.MULTILINE), re.compile(r"\s*[-=*]{3,}\s*")
_FENCE = re.compile(r"^(.*[:：])?[ \t]*(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)  # Also right behind a label
EMPTY = "…"  # Stands for a message without text between two others


@dataclass(frozen=True)
class Act:
    """A message in a log of ParlAI's chat tasks, in which a person and a bot speak in turn. ``speaker``: 0 for the person,
    1 for the bot, by its place; ``fixed``: it was given, neither typed nor made by a model."""

    where: str
    data: Mapping[str, Any]
    speaker: int
    fixed: bool


def acts_of(dialog: Sequence[Any], where: str, error: type[HumanevalError] = DataError) -> Iterator[Act]:
    """The messages of a log's ``dialog``. Raises ``error``."""
    for place, data in enumerate(dialog):
        inside = f"{where}, dialog[{place}]"
        if not isinstance(data, Mapping):
            raise error(f"{data!r}, expected an object with agent_idx", where=inside, try_=SHAPES["model_chat"])
        yield Act(inside, data, place % 2, bool(data.get("fake_start")))


def form_of(data: Any) -> Form | None:
    """Which of these forms the data of a line are in; None: none of them."""
    if isinstance(data, list):
        return "messages" if data and _is_message(data[0]) else None
    if not isinstance(data, Mapping):
        return None
    if isinstance(data.get("dialogue_dicts"), list):
        return "acute_pairs"
    if isinstance(data.get("dialog"), list) and isinstance(data.get("task_description"), Mapping):
        return "model_chat"
    found = _messages(data)
    if (isinstance(found, list) and found and _is_message(found[0])) or _sides(data):
        return "messages"
    text = found if isinstance(found, str) else data.get("text")
    return "text" if isinstance(text, str) and len(_labels(text)) > 1 and "turns" not in data else None


def chats_of(data: Any, form: Form, where: str, *, system: bool = False) -> Iterator[dict[str, Any]]:
    """The dialogues in the data of a line, as this project's own JSON has them; ``chat_settings`` says the form, which two
    belong together, and how many turns were empty. Pairs of ACUTE-Eval's onboarding are left out. Raises DataError."""
    is_fit = form_of(data) == form if form in ("acute_pairs", "model_chat") else isinstance(data, (str, list, Mapping))
    if not is_fit or (form == "text" and isinstance(data, list)):
        raise DataError(f"it is not in form={form}", where=where, try_=f"expected {SHAPES[form]}, or form=auto")
    match form:
        case "acute_pairs":
            yield from _acute(data, where)
        case "model_chat":
            yield _model_chat(data, where)
        case "text":
            text = data if isinstance(data, str) else _messages(data) or data.get("text")
            yield _chat(data, _said(str(text)), where, "text", system)
        case _:
            sides = _sides(data) if isinstance(data, Mapping) else []
            pair = _id(data) or where if sides else ""
            for side in sides:
                one = {"id": f"{pair}-{side}", "model": data.get(f"model_{side}")}
                chat = _chat(one, data[f"conversation_{side}"], where, "messages", system)
                yield {**chat, "chat_settings": {**chat["chat_settings"], "pairs": [pair]}, "start_id": pair}
            if not sides:
                yield _chat(data, data if isinstance(data, list) else _messages(data), where, "messages", system)


def told_in(prompt: str, reply: str) -> tuple[list[Any], list[Any]]:
    """The messages in two cells of a table, each of which may hold what one said, or a conversation: JSON, or a text with
    labels. A prompt that the reply begins with is there once."""
    asked_for, replied = _texts(prompt), _texts(reply)
    if asked_for and replied:  # of the arena: all that was asked, and all replies
        texts = (text for turn in zip(asked_for, replied, strict=False) for text in turn)
        return [], [{"role": role, "content": text} for role, text in zip(cycle(("user", "bot")), texts, strict=False)]
    asked, said = _told(prompt, "user", "person"), _told(reply, "bot", "bot", "system")
    is_repeated = bool(asked) and _text(asked[0]) in map(_text, said)
    return ([] if is_repeated else asked), said


def replies_in(cell: str) -> list[str]:
    """What a model said in a cell that holds a reply or a conversation, as :func:`told_in` reads it."""
    others = (*_PEOPLE, *_SYSTEM, *_TOOLS)
    return [_text(message) for message in told_in("", cell)[1] if _role(message).lower() not in others]


def texts_of(text: str) -> list[str]:
    """The dialogues of a text file: between lines of dashes, else between blank lines, unless these separate all turns."""
    parts = [text[start:end] for (_, start), (end, _) in pairwise([(0, 0), *_rules(text), (len(text), 0)])]
    parts = [part.strip() for part in parts if part.strip()]
    if len(parts) != 1:
        return parts
    blanks = [match.end() for match in re.finditer(r"\n\s*\n", _without_code(parts[0]))]
    blocks = [parts[0][start:end] for start, end in pairwise([0, *blanks, len(parts[0])])]
    return blocks if all(len(_labels(block)) > 1 for block in blocks) else parts


def _rules(text: str) -> list[tuple[int, int]]:
    """Where lines of dashes part dialogues: before a label, another such line, or the end. Others belong to a message."""
    found, parts = list[tuple[int, int]](), True
    for line in reversed(list(_LINE.finditer(_without_code(text)))):
        if parts and _RULE.fullmatch(line[0]):
            found.append(line.span())
        else:
            parts = is_text(line[0])
    return found[::-1]


def is_text(line: str) -> bool:
    """Whether a line begins with who speaks."""
    return _LABEL.match(line) is not None


def _labels(text: str) -> list[tuple[re.Match[str], str]]:
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


def _said(text: str) -> list[dict[str, str]]:
    places = _labels(text)
    ends = [match.start() for match, _ in places[1:]] + [len(text)]
    return [
        {"role": role, "content": text[match.end() : end].strip()}
        for (match, role), end in zip(places, ends, strict=False)
    ]


def _texts(cell: str) -> list[str]:
    """The texts of a JSON list of texts, of which some may be null; nothing where it is none."""
    data = _json(cell)
    return [one or "" for one in data] if isinstance(data, list) and {*map(type, data)} <= {str, type(None)} else []


def _told(cell: str, role: str, *kinds: str) -> list[Any]:
    """``role``: of whoever said a text with no label, or with one of these ``kinds`` alone."""
    if texts := _texts(cell):
        return [{"role": role, "content": text} for text in texts]
    data = _json(cell)
    found = data if isinstance(data, list) else _messages(data)
    if isinstance(found, list) and found and all(map(_is_message, found)):
        return found
    said = _said(cell)
    if len(said) > 1:
        return said
    is_labelled = bool(said) and _KINDS[said[0]["role"]] in kinds
    return [{"role": role, "content": said[0]["content"] if is_labelled else cell}] if cell else []


def _json(cell: str) -> Any:
    try:
        return json.loads(cell)
    except ValueError:
        return None


def _chat(data: Any, messages: Any, where: str, form: Form, system: bool) -> dict[str, Any]:
    if not isinstance(messages, list):
        raise DataError("there are no messages", where=where, try_=f"expected {SHAPES['messages']}")
    said: list[tuple[str, str]] = []
    context: list[str] = []
    for number, message in enumerate(messages, start=1):
        if not _is_message(message):
            raise DataError(f"message {number} is {message!r}", where=where, try_=f"expected {SHAPES['messages']}")
        role, text = _role(message), _text(message)
        if role.lower() in _SYSTEM:
            context += [text] if system and text else []
        elif role.lower() not in _TOOLS:
            said.append((role, text))
    model = str(_first(data, _MODELS) or "") if isinstance(data, Mapping) else ""
    roles = {role for role, _ in said}
    entities = {role: HUMAN for role in roles if role.lower() in _PEOPLE}
    if model:
        entities |= {role: model for role in roles if role.lower() in _BOTS}
    made = _ours(said, form)
    made["entities"] |= entities
    if isinstance(data, Mapping):
        made["dialogue_id"] = _id(data)
        named = data.get("entities") or {}
        if not isinstance(named, Mapping):
            raise DataError(f"entities is {named!r}", where=where, try_='expected {"speaker": "model or human", …}')
        made["entities"] |= {str(who): str(name) for who, name in named.items()}
        made |= {name: data[name] for name in ("start_id", "seed") if data.get(name) is not None}
    return {**made, "context": context}


def _ours(said: list[tuple[str, str]], form: Form) -> dict[str, Any]:
    """Lines without empty ones at the ends; :data:`EMPTY` stands for those between."""
    places = [place for place, (_, text) in enumerate(said) if text]
    inside = said[places[0] : places[-1] + 1] if places else []
    empty = len(said) - len(places)
    return {
        "dialogue_id": "",
        "turns": [text or EMPTY for _, text in inside],
        "speakers": [speaker for speaker, _ in inside],
        "entities": {},
        "context": [],
        "chat_settings": {"form": form, **({"empty_turns": empty} if empty else {})},
    }


def _acute(data: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    judged, dialogues = data.get("speakers_to_eval"), data["dialogue_dicts"]
    if data.get("is_onboarding"):
        return
    whole = all(
        isinstance(one, Mapping) and isinstance(one.get("dialogue"), list) and all(map(_is_message, one["dialogue"]))
        for one in dialogues
    )
    judged = judged if isinstance(judged, list) and all(isinstance(one, str) for one in judged) else []
    if not len(judged) == len(dialogues) == 2 or not whole:
        raise DataError("it is not a pair of dialogues", where=where, try_=f"expected {SHAPES['acute_pairs']}")
    ids = [
        str(one.get("id") or f"{data.get('pair_id', '')}{where.rpartition(' ')[2]}{side}")
        for one, side in zip(dialogues, "ab", strict=True)
    ]
    for one, dialogue_id, model in zip(dialogues, ids, judged, strict=True):
        said = [(_role(line), _text(line)) for line in one["dialogue"]]
        chat = _ours(said, "acute_pairs")
        others = {speaker for speaker, _ in said} - {model}
        # In a self-chat the other speaker is the same model.
        chat["entities"] = {model: model, **{who: HUMAN if who.lower() in _PEOPLE else model for who in others}}
        chat["chat_settings"]["pairs"] = [" | ".join(sorted(ids))]
        yield {**chat, "dialogue_id": dialogue_id}


def _model_chat(data: Mapping[str, Any], where: str) -> dict[str, Any]:
    said = []
    for act in acts_of(data["dialog"], where):
        index = act.data.get("agent_idx")
        said.append((("human", "bot")[(index if isinstance(index, int) else act.speaker) % 2], _text(act.data)))
    chat = _ours(said, "model_chat")
    model = data["task_description"].get("model_nickname")
    chat["entities"] = {
        who: HUMAN if who == "human" else str(model) for who in {who for who, _ in said} if who == "human" or model
    }
    return {**chat, "dialogue_id": _id(data)}


def _messages(data: Any) -> Any:
    return next((data[name] for name in _LISTS if data.get(name)), None) if isinstance(data, Mapping) else None


def _sides(data: Mapping[str, Any]) -> list[str]:
    return [side for side in ("a", "b") if isinstance(data.get(f"conversation_{side}"), list)]


def _is_message(message: Any) -> bool:
    return (
        isinstance(message, Mapping)
        and bool(_role(message))
        and any(name in message for name in ("content", "value", "text", "message"))
    )


def _role(message: Mapping[str, Any]) -> str:
    found = _first(message, ("role", "from", "sender_class", "speaker", "author", "id"))
    return str((found.get("role") if isinstance(found, Mapping) else found) or "").strip()


def _text(message: Mapping[str, Any]) -> str:
    content = _first(message, ("content", "value", "text", "message"))
    content = content.get("parts", content.get("text")) if isinstance(content, Mapping) else content
    if isinstance(content, list):  # parts of a message, of which pictures have no text
        parts = [
            part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, (str, Mapping))
        ]
        content = "\n".join(filter(None, parts))
    return str(content or "").strip()


def _id(data: Any) -> str:
    found = _first(data, _IDS)
    return "" if found is None else str(found)  # a number such as 0 is one


def _first(data: Any, names: tuple[str, ...]) -> Any:
    return next((data[name] for name in names if data.get(name) not in (None, "")), None)
