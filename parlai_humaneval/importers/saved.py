"""ParlAI's saved JSON files → units of work.

A file may hold the chat data alone (as ``model_chat`` writes it into its ``chat_data_folder``), a rater's
``state.json`` or ``agent_data.json`` of a Mephisto data directory, or what Mephisto's ``DataBrowser`` gives; one of
them, a JSON list, or one a line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from parlai_humaneval.importers.units import LeftOut, Unit, UnreadableUnit, shown

DONE = ("completed", "approved")
"""Mephisto's statuses of work that counts; ParlAI's own analysis reads these and no others."""

NOTHING_SAVED = "nothing was saved: not finished"


def json_files(paths: Sequence[Path]) -> list[Path]:
    """The files themselves, and of folders every ``.json`` and ``.jsonl`` below them, in the order of their names.

    Raises:
        UnreadableUnit: a path that is not there, or a folder without such files.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.suffix in (".json", ".jsonl") and file.is_file())
            if not inside:
                raise UnreadableUnit(
                    f"{path} holds no .json or .jsonl file", try_="name the folder or file that ParlAI wrote"
                )
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise UnreadableUnit("there is no such file or folder", where=path)
    return list(dict.fromkeys(found))


def units_of_file(path: Path) -> Iterator[Unit | LeftOut | UnreadableUnit]:
    """What a file holds, in its order. What cannot be read is given as an error, so that others can go on."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        yield UnreadableUnit(f"not UTF-8 ({error.reason} at byte {error.start})", where=path)
        return
    for where, entry in _entries(path, text):
        if isinstance(entry, UnreadableUnit):
            yield entry
            continue
        try:
            yield unit_of(entry, where)
        except UnreadableUnit as error:
            yield error


def _entries(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    try:
        whole = json.loads(text)
    except ValueError as error:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
        if len(lines) < 2 and path.suffix != ".jsonl":
            yield str(path), UnreadableUnit(f"{path} is no JSON: {error}")
            return
        for number, line in lines:
            where = f"{path}, line {number}"
            try:
                yield where, json.loads(line)
            except ValueError as broken:
                yield where, UnreadableUnit(f"{where} is no JSON: {broken}")
        return
    if isinstance(whole, list) and not _judged_pairs(whole):
        yield from ((f"{path}, entry {number}", entry) for number, entry in enumerate(whole, start=1))
    else:
        yield str(path), whole


def _judged_pairs(data: object) -> bool:
    return isinstance(data, list) and bool(data) and isinstance(data[0], dict) and "pairing_dict" in data[0]


def unit_of(entry: Any, where: str) -> Unit | LeftOut:
    """The unit of work in one JSON value, whichever of the forms above it has.

    Raises:
        UnreadableUnit: it has none of them.
    """
    if _judged_pairs(entry):
        return Unit(where, entry)
    if not isinstance(entry, dict):
        raise UnreadableUnit(f"{shown(entry)}, expected an object that ParlAI saved", where=where)
    if "data" in entry and ("status" in entry or "worker_id" in entry):
        status, data = entry.get("status"), entry["data"]
        if status is not None and status not in DONE:
            return LeftOut(f"Mephisto's status is {status}")
        known: dict[str, Any] = {
            "worker": str(entry.get("worker_name") or entry.get("worker_id") or "") or None,
            "started": _time(entry.get("task_start")),
            "ended": _time(entry.get("task_end")),
            "unit_id": _text(entry.get("unit_id")),
            "assignment_id": _text(entry.get("assignment_id")),
        }
        if isinstance(data, list):
            return Unit(where, data, **known)
        if not isinstance(data, dict):
            return LeftOut(NOTHING_SAVED)
        messages = data.get("messages")
        held = tuple(message for message in messages if isinstance(message, dict)) if isinstance(messages, list) else ()
        world = data.get("save_data")
        return _saved(world.get("custom_data") if isinstance(world, dict) else None, where, messages=held, **known)
    if isinstance(entry.get("outputs"), dict) or ("outputs" in entry and "inputs" in entry):
        return of_state(entry, where)
    if "custom_data" in entry:
        return _saved(entry["custom_data"], where)
    return Unit(where, entry)


def _saved(data: Any, where: str, **known: Any) -> Unit | LeftOut:
    return LeftOut(NOTHING_SAVED) if data is None else Unit(where, data, **known)


def of_state(state: Mapping[str, Any], where: str, **known: Any) -> Unit | LeftOut:
    """Of a ``state.json`` (live tasks) or an ``agent_data.json`` (static ones); ``known``: further fields of the unit.

    Raises:
        UnreadableUnit: it is neither.
    """
    outputs = state.get("outputs")
    if outputs is None:
        return LeftOut(NOTHING_SAVED)
    if not isinstance(outputs, dict) or not ("messages" in outputs or "final_data" in outputs):
        raise UnreadableUnit("outputs has neither messages (a live task) nor final_data (ACUTE-Eval)", where=where)
    if "final_data" in outputs:
        return Unit(where, _merged(state.get("inputs"), outputs["final_data"], where), **{**_times(state), **known})
    messages = outputs["messages"]
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise UnreadableUnit("outputs.messages is no list of objects", where=where)
    found = {**_message_times(messages), **known, "messages": tuple(messages)}
    return _saved(_world_data(messages), where, **found)


def _merged(inputs: Any, answers: Any, where: str) -> list[Any]:
    """ACUTE-Eval's pairs, each with its answer, as ParlAI's agent state merges them."""
    if not isinstance(inputs, list) or not isinstance(answers, list) or len(inputs) != len(answers):
        raise UnreadableUnit("inputs and outputs.final_data are not two lists of the same length", where=where)
    if not all(isinstance(one, dict) for one in (*inputs, *answers)):
        raise UnreadableUnit("inputs and outputs.final_data are not lists of objects", where=where)
    return [{**pair, **answer} for pair, answer in zip(inputs, answers, strict=True)]


def _times(state: Mapping[str, Any]) -> dict[str, Any]:
    """Beginning and end as Mephisto 1.x (``metadata``) and earlier ones (``times``) keep them."""
    kept = state.get("metadata") or state.get("times") or {}
    return {"started": _time(kept.get("task_start")), "ended": _time(kept.get("task_end"))}


def _message_times(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    known = [time for message in messages if (time := _time(message.get("timestamp"))) is not None]
    return {"started": known[0], "ended": known[-1]} if known else {}


def _time(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


def _world_data(messages: Sequence[Mapping[str, Any]]) -> Any:
    """What the world saved at the end; earlier versions appended it to the messages under another name."""
    for message in reversed(messages):
        if isinstance(world := message.get("WORLD_DATA"), dict):
            return world.get("custom_data")
        if message.get("final_chat_data") is not None:
            return message["final_chat_data"]
    return None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
