"""One reader for files of finished dialogues, whichever of the usual formats they are in.

- **JSONL of this project**: ``{"dialogue_id": "…", "turns": ["…", "…"]}`` a line; two speakers take turns. ``speakers``
  may name them (two names, or one for each turn), else they are ``speaker_1`` and ``speaker_2``.
- **ParlAI's Conversations**: ``{"dialog": [[{"id": "…", "text": "…"}, …], …]}`` a line, as ``parlai self_chat``,
  ``parlai interactive`` and this project's own self-chats write it; a metadata file beside it is read, too.
- **ParlAI's text format**: ``text:…<TAB>labels:…<TAB>episode_done:True``, an exchange a line.
- **fbdialog**: ``1 text<TAB>reply``, an exchange a line; a dialogue begins where the numbers do (ConvAI2's files).

Both kinds of JSON may hold ``entities``, speaker → who that is: a model's name, or ``human``. The format is told by the
first line. An error names the file, the line and what was expected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from parlai_humaneval._util.data_files import DataError, packaged, read_text, text_lines
from parlai_humaneval._util.text import clean_label
from parlai_humaneval.dialogues.dialogue import Dialogue
from parlai_humaneval.dialogues.formats import (
    CONTEXT,
    FIRST,
    SECOND,
    SILENCE,
    Draft,
    Numbered,
    Reader,
    fbdialog,
    json_lines,
    parlai_text,
)

__all__ = ["CONTEXT", "FIRST", "PACKAGED_CORPUS", "SECOND", "SILENCE", "Entities", "load_dialogues"]

PACKAGED_CORPUS = packaged("corpus.jsonl")
"""The packaged conversations that the embedded models speak from."""

FORMATS = (
    'a JSON object a line ({"dialogue_id": …, "turns": […]} or ParlAI\'s {"dialog": […]}), '
    "ParlAI's text format (text:…<TAB>labels:…), or fbdialog (1 text<TAB>reply)"
)

Entities = Mapping[str, str] | str | None
"""Who the speakers are: speaker → a model's name or ``human``; one name for both; or whatever the file says."""


def load_dialogues(path: Path, entities: Entities = None) -> list[Dialogue]:
    """All dialogues of a file in any of the formats above. Blank lines are passed over.

    A last line without an answer is kept.

    Args:
        path: the file.
        entities: goes before what the file says.

    Raises:
        DataError: the file cannot be read, is empty, or has a line that is not of its format; a dialogue of fewer
            than two lines, or of other than two speakers; an id given twice; an entity of nobody who speaks.
    """
    numbered = [(number, line) for number, line in enumerate(text_lines(read_text(path)), 1) if line.strip()]
    if not numbered:
        raise DataError("is empty", where=path, try_=f"expected {FORMATS}")
    seen: set[str] = set()
    dialogues = []
    for count, draft in enumerate(_reader(path, numbered)(path, numbered), start=1):
        dialogue = _finished(draft, path, f"{path.stem}-{count}", entities)
        if dialogue.dialogue_id in seen:
            raise DataError(f"the id {dialogue.dialogue_id} stands twice", where=f"{path}, line {draft.line_number}")
        seen.add(dialogue.dialogue_id)
        dialogues.append(dialogue)
    _all_speak(path, dialogues, entities)
    return dialogues


def _reader(path: Path, numbered: Sequence[Numbered]) -> Reader:
    number, first = numbered[0]
    first = first.strip()
    if first.startswith("{"):
        return json_lines
    if first.split(" ", 1)[0].isdecimal():
        return fbdialog
    if any(part.startswith("text:") for part in first.split("\t")):
        return parlai_text
    raise DataError("the format is not known", where=f"{path}, line {number}", try_=f"expected {FORMATS}")


def _finished(draft: Draft, path: Path, default_id: str, entities: Entities) -> Dialogue:
    where = f"{path}, line {draft.line_number}"
    _two_speak(draft, where)
    return Dialogue(
        clean_label(draft.dialogue_id or default_id),
        tuple(draft.lines),
        tuple(draft.context),
        draft.line_number,
        entities={speaker: clean_label(name) for speaker, name in _who(draft, where, entities).items()},
        source=str(path),
        settings=draft.settings,
    )


def _two_speak(draft: Draft, where: str) -> None:
    if draft.messages < 2:
        raise DataError(
            f"a dialogue with {draft.messages} line(s) begins here",
            where=where,
            try_="expected at least 2, one of each speaker",
        )
    if len(draft.speakers) == 1:
        raise DataError(
            f"only {draft.speakers[0]} says anything in the dialogue that begins here",
            where=where,
            try_="expected two speakers, and every line or act under the name of its speaker",
        )
    if len(draft.speakers) > 2:
        raise DataError(
            f"{len(draft.speakers)} speakers ({', '.join(draft.speakers)}) are in the dialogue that begins here",
            where=where,
            try_="expected two: give a speaker the same name in all lines",
        )


def _who(draft: Draft, where: str, entities: Entities) -> dict[str, str]:
    unknown = [name for name in draft.entities if name not in draft.speakers]
    if unknown:
        raise DataError(
            f"entities names {unknown[0]}, who says nothing",
            where=where,
            try_=f"name one of the speakers, {' and '.join(draft.speakers)}",
        )
    if isinstance(entities, str):
        return dict.fromkeys(draft.speakers, entities)
    given = {name: who for name, who in (entities or {}).items() if name in draft.speakers}
    return {**draft.entities, **given}


def _all_speak(path: Path, dialogues: Sequence[Dialogue], entities: Entities) -> None:
    """Whoever the caller names must say something somewhere in the file."""
    if entities is None:
        return
    names = [entities] if isinstance(entities, str) else list(entities.values())
    if not all(name.strip() for name in names):
        raise DataError("an entity is empty", where=path, try_="name a model, or human")
    speakers = list(dict.fromkeys(speaker for dialogue in dialogues for speaker in dialogue.speakers))
    unknown = [] if isinstance(entities, str) else [name for name in entities if name not in speakers]
    if unknown:
        raise DataError(
            f"entities names {unknown[0]}, who says nothing in this file",
            where=f"{path}, line {dialogues[0].line_number}",
            try_=f"name one of the speakers, {', '.join(speakers)}",
        )
