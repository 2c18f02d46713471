"""Chats in other formats → dialogues in this project's JSON: lists of messages, ShareGPT, ACUTE-Eval's pairs, logs of
ParlAI's ``model_chat``, questions with an answer, and texts such as “User: … Assistant: …”.

The role identifies the speaker: a user is a person, and an assistant is the model that the file names. System messages
are not part of the dialogue. They become context if that is requested.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath
from typing import Any, Literal, get_args

from parlai_humaneval._util.data_files import DataError, packaged, read_yaml
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.dialogues import messages as parts
from parlai_humaneval.dialogues.dialogue import HUMAN

Form = Literal["auto", "messages", "acute_pairs", "model_chat", "exchange", "text"]
FORMS: tuple[Form, ...] = get_args(Form)
SHAPES: Mapping[str, str] = read_yaml(packaged("dialogue_forms.yaml"))
_IDS = ("dialogue_id", "id", "conversation_id", "conv_id", "question_id", "uuid")
_ASKED, _REPLIED = ("question", "prompt", "instruction"), ("answer", "response", "output")
_PAIRS = (
    ("chosen", "rejected"),
    *((f"{name}_{one}", f"{name}_{two}") for one, two in ("ab", "12") for name in ("conversation", *_REPLIED)),
)
"""Fields that hold two conversations, or two answers to one question."""
_UNNAMED = {"chosen": "chosen", "rejected": "rejected"}
_MODELS = ("model", "model_name", "model_id", "generator")
EMPTY = "…"  # Stands for a message without text between two others, so that both speakers keep their turns


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
        return "messages" if data and parts.is_message(data[0]) and form_of(data[0]) is None else None
    if not isinstance(data, Mapping):
        return None
    if isinstance(data.get("dialogue_dicts"), list):
        return "acute_pairs"
    if isinstance(data.get("dialog"), list) and isinstance(data.get("task_description"), Mapping):
        return "model_chat"
    found = parts.messages_of(data)
    if (isinstance(found, list) and found and parts.is_message(found[0])) or _sides(data):
        return "messages"
    text = found if isinstance(found, str) else data.get("text")
    if isinstance(text, str) and len(parts.labels_of(text)) > 1 and "turns" not in data:
        return "text"
    return "exchange" if not found and "turns" not in data and len(_exchange(data)) > 1 else None


def chats_of(data: Any, form: Form, where: str, *, system: bool = False) -> Iterator[dict[str, Any]]:
    """The dialogues in the data of a line, as this project's own JSON has them; ``chat_settings`` says the form, which two
    belong together, and how many turns were empty. Pairs of ACUTE-Eval's onboarding are left out. Raises DataError."""
    is_fit = (
        form_of(data) == form
        if form in ("acute_pairs", "model_chat", "exchange")
        else isinstance(data, (str, list, Mapping))
    )
    if not is_fit or (form == "text" and isinstance(data, list)):
        raise DataError(f"it is not in form={form}", where=where, try_=f"expected {SHAPES[form]}, or form=auto")
    match form:
        case "acute_pairs":
            yield from _acute(data, where)
        case "model_chat":
            said = []
            for act in acts_of(data["dialog"], where):
                speaker = at if isinstance(at := act.data.get("agent_idx"), int) else act.speaker
                said.append(("bot" if speaker % 2 else "human", parts.text_of(act.data)))
            chat = _ours(said, "model_chat")
            model = data["task_description"].get("model_nickname")
            chat["entities"] = {"human": HUMAN, **({"bot": str(model)} if model else {})}
            yield {**chat, "dialogue_id": _id(data)}
        case "exchange":
            yield _chat(data, _exchange(data), where, form, system)
        case "text":
            text = data if isinstance(data, str) else parts.messages_of(data) or data.get("text")
            yield _chat(data, parts.said_in(str(text)), where, "text", system)
        case _:
            sides = _sides(data) if isinstance(data, Mapping) else {}
            pair = _id(data) or PurePath(where).name if sides else ""
            for side, (model, messages) in sides.items():
                chat = _chat({"id": f"{pair}-{side}", "model": model}, messages, where, "messages", system)
                yield {**chat, "chat_settings": {**chat["chat_settings"], "pairs": [pair]}, "start_id": pair}
            if not sides:
                messages = data if isinstance(data, list) else parts.messages_of(data)
                yield _chat(data, messages, where, "messages", system)


def _chat(data: Any, messages: Any, where: str, form: Form, system: bool) -> dict[str, Any]:
    if not isinstance(messages, list):
        raise DataError("there are no messages", where=where, try_=f"expected {SHAPES['messages']}")
    said: list[tuple[str, str]] = []
    context: list[str] = []
    hidden = {"pictures": 0, "tool_messages": 0}
    for number, message in enumerate(messages, start=1):
        if not parts.is_message(message):
            raise DataError(f"message {number} is {message!r}", where=where, try_=f"expected {SHAPES['messages']}")
        role, text = parts.role_of(message), parts.text_of(message)
        hidden["pictures"] += parts.pictures_in(message)
        if role.lower() in parts.SYSTEM:
            context += [text] if system and text else []
        elif role.lower() in parts.TOOLS or (message.get("tool_calls") and not text):
            hidden["tool_messages"] += 1
        else:
            said.append((role, text))
    model = str(parts.first_of(data, _MODELS) or "") if isinstance(data, Mapping) else ""
    roles = {role for role, _ in said}
    entities = {role: HUMAN for role in roles if role.lower() in parts.PEOPLE}
    if model:
        entities |= {role: model for role in roles if role.lower() in parts.BOTS}
    made = _ours(said, form)
    made["entities"] |= entities
    made["chat_settings"] |= {name: count for name, count in hidden.items() if count}
    if isinstance(data, Mapping):
        made["dialogue_id"] = _id(data)
        named = data.get("entities") or {}
        if not isinstance(named, Mapping):
            raise DataError(f"entities is {named!r}", where=where, try_='expected {"speaker": "model or human", …}')
        made["entities"] |= {str(who): str(name) for who, name in named.items()}
        made |= {name: data[name] for name in ("start_id", "seed") if data.get(name) is not None}
    return {**made, "context": context}


def _exchange(data: Mapping[str, Any]) -> list[dict[str, str]]:
    """A question and its answer as messages, as far as they are there."""
    return [
        {"role": role, "content": found}
        for role, names in (("user", _ASKED), ("assistant", _REPLIED))
        for found in [data[name] for name in names if isinstance(data.get(name), str)][:1]
    ]


def _ours(said: list[tuple[str, str]], form: Form) -> dict[str, Any]:
    """Lines without the empty ones at both ends; `EMPTY` replaces empty lines in between."""
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
        isinstance(one, Mapping)
        and isinstance(one.get("dialogue"), list)
        and all(map(parts.is_message, one["dialogue"]))
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
        said = [(parts.role_of(line), parts.text_of(line)) for line in one["dialogue"]]
        chat = _ours(said, "acute_pairs")
        others = {speaker for speaker, _ in said} - {model}
        # In a self-chat the other speaker is the same model.
        chat["entities"] = {model: model, **{who: HUMAN if who.lower() in parts.PEOPLE else model for who in others}}
        chat["chat_settings"]["pairs"] = [" | ".join(sorted(ids))]
        yield {**chat, "dialogue_id": dialogue_id}


def _sides(data: Mapping[str, Any]) -> dict[str, tuple[Any, list[Any]]]:
    """Side → its model and messages, of the first of :data:`_PAIRS` that is there. If the file does not name the models of
    two answers of which one was chosen, they are called chosen and rejected."""
    asked = parts.first_of(data, _ASKED) or ""
    asked = asked if isinstance(asked, str) else json.dumps(asked)
    for names in _PAIRS:
        cells = {name.rpartition("_")[2]: data[name] for name in names if isinstance(data.get(name), (str, list))}
        if len(cells) == 2 and all(cells.values()):
            models = {side: (f"{side}_model", f"model_{side}", f"generator_{side}") for side in cells}
            texts = {side: cell if isinstance(cell, str) else json.dumps(cell) for side, cell in cells.items()}
            told = {side: [*chain(*parts.told_in(asked, text))] for side, text in texts.items()}
            return {side: (parts.first_of(data, models[side]) or _UNNAMED.get(side), told[side]) for side in cells}
    return {}


def _id(data: Any) -> str:
    found = parts.first_of(data, _IDS)
    return "" if found is None else str(found)  # a number such as 0 is one
