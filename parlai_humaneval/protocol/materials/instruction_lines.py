"""Which lines of a task's instructions hold in a study, so that what raters read is true of it.

In the YAML file a line may be written ``{when: persona, text: …}`` or ``{unless: [persona, practice], text: …}``. It stays
where every flag of ``when`` is on and none of ``unless`` is. A section takes the same two keys; one that is left without
lines goes as well. A text that stands alone (the title, say) may be a list of such pieces, which are joined.
``{shared: NAME}`` stands for a part of ``data/shared_instructions.yaml``, which holds what tasks have in common.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib.resources import files
from typing import Any

import yaml

from parlai_humaneval.languages.speaking import joined

FLAGS: Mapping[str, str] = {
    "persona": "raters play a character",
    "first_message": "the first message is said for them",
    "rater_ends": "the rater ends the chat, from some turn on",
    "practice": "there is a practice before the first chat",
    "told_at_once": "after each answer of the practice one is told whether it was right",
    "reasons": "raters say why they chose",
    "none_allowed": "none of the replies may be chosen",
    "several_choices": "several replies may be chosen at a turn",
    "written_fallback": "where none is chosen, the rater writes a better reply",
    "several_settings": "settings that differ in this are run side by side",
    "several_conversations": "the pay is for several chats, one after another",
    "topic_free": "raters name a topic before a chat",
    "opinion": "they say what they think of it",
    "topic_icebreaker": "a sentence is given as the topic",
    "topic_changes": "raters note new topics with a button",
    "offer_topics": "a button offers topics",
    "human_partner": "a person is among the models, so that raters may talk to one",
    "several_items": "a unit holds several things to judge",
    "self_chat": "both speakers of what is judged are programs",
    "human_bot": "what is judged are chats between a person and a program",
    "labels": "raters say of each speaker whether it is a human or a bot",
    "features": "raters compare two speakers in several respects",
    "human_dialogues": "some of the chats are between two people",
    "replay": "a chat is gone through turn by turn",
    "ranking": "raters put replies in order",
    "scales": "raters rate on scales that say what each point means",
    "own_consent": "a text of the researchers' own asks for consent, and says what is kept and published",
    "unpaid": "raters are promised no pay",
    "part_paid": "who leaves before the end is paid for the part that they did",
    "left_paid": "who leaves before the end is paid for the whole",
    "ties": "two replies may share a place in an order",
}
"""What a line can be made to depend on. With several settings, a flag is on where it is on in one of them."""


CONDITIONS = ("when", "unless")
"""Keys that say when something holds."""
NO_WORDS = frozenset({*CONDITIONS, "at"})
"""Keys of what is not said."""
_GONE = object()
"""In place of what does not hold."""


class InstructionError(ValueError):
    """A condition or a shared part that does not exist; the message names those that do."""


def shared_parts() -> dict[str, Any]:
    """The parts that tasks have in common, by name."""
    text = (files("parlai_humaneval") / "data" / "shared_instructions.yaml").read_text(encoding="utf-8")
    parts: dict[str, Any] = yaml.safe_load(text)
    return parts


def with_shared(data: Any, parts: Mapping[str, Any]) -> Any:
    """``data`` with every ``{shared: NAME}`` replaced; within a list, a part that is a list takes its place there.

    Raises:
        InstructionError: a name that is not among ``parts``, or a condition on a part that is more than a text.
    """
    if isinstance(data, list):
        found: list[Any] = []
        for item in data:
            new = with_shared(item, parts)
            spliced = isinstance(item, dict) and isinstance(new, list)
            found.extend(new if spliced else [new])
        return found
    if not isinstance(data, dict):
        return data
    if "shared" not in data:
        return {key: with_shared(item, parts) for key, item in data.items()}
    return _part(data, parts)


def _part(data: Mapping[str, Any], parts: Mapping[str, Any]) -> Any:
    name = data["shared"]
    if name not in parts:
        raise InstructionError(f"there is no shared part {name!r}; known: {', '.join(parts)}")
    conditions = {key: item for key, item in data.items() if key != "shared"}
    part = with_shared(parts[name], parts)
    if not conditions:
        return part
    if not isinstance(part, str):
        raise InstructionError(f"the shared part {name!r} has conditions of its own; name it without any")
    return {**conditions, "text": part}


def that_holds(data: Mapping[str, Any], flags: Collection[str]) -> dict[str, Any]:
    """The instructions as they hold with these ``flags``: conditions decided and gone, pieces of a text joined.

    Raises:
        InstructionError: a condition that names no flag.
    """
    kept = {key: _kept(item, flags) for key, item in data.items()}
    return {
        key: joined(map(str, item)) if isinstance(item, list) else item
        for key, item in kept.items()
        if item is not _GONE
    }


def _kept(data: Any, flags: Collection[str]) -> Any:
    """``data`` without what does not hold; :data:`_GONE` where that is all of it."""
    if isinstance(data, list):
        return [new for item in data if (new := _kept(item, flags)) is not _GONE]
    if not isinstance(data, dict):
        return data
    if not _holds(data, flags):
        return _GONE
    new = {key: _kept(item, flags) for key, item in data.items() if key not in CONDITIONS}
    if new.keys() == {"text"}:
        return new["text"]
    return _GONE if data.get("lines") and not new["lines"] else new


def _holds(data: Mapping[str, Any], flags: Collection[str]) -> bool:
    wanted, unwanted = _flags(data.get("when", [])), _flags(data.get("unless", []))
    return all(flag in flags for flag in wanted) and not any(flag in flags for flag in unwanted)


def _flags(named: Any) -> list[str]:
    names = named if isinstance(named, list) else [named]
    for name in names:
        if name not in FLAGS:
            raise InstructionError(f"a line depends on {name!r}, which is no flag; known: {', '.join(FLAGS)}")
    return names
