"""One reader for files of finished dialogues, whichever of the usual formats they are in.

- **JSONL of this project**: ``{"dialogue_id": "…", "turns": ["…", "…"]}`` a line; two speakers take turns.
- **ParlAI's Conversations**: ``{"dialog": [[{"id": "…", "text": "…"}, …], …]}`` a line, as ``parlai self_chat`` writes it.
- **ParlAI's text format**: ``text:…<TAB>labels:…<TAB>episode_done:True``, an exchange a line.
- **fbdialog**: ``1 text<TAB>reply``, an exchange a line; a dialogue begins where the numbers do (ConvAI2's files).

The format is told by the first line. An error names the file, the line and what was expected.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from parlai_humaneval.protocol.dialogues import Dialogue, SaidLine
from parlai_humaneval.protocol.materials import MaterialError, Sentence, read_text, text_lines, validated
from parlai_humaneval.protocol.persona_lines import persona_line

FIRST, SECOND = "speaker_1", "speaker_2"
"""Speakers of formats that do not name them; the first is the one that a model would hear."""
SILENCE = "__SILENCE__"
"""Stands in ParlAI's files where nobody said anything."""
CONTEXT = "context"
"""Who “says” persona lines in ParlAI's Conversations."""
FORMATS = (
    'a JSON object a line ({"dialogue_id": …, "turns": […]} or ParlAI\'s {"dialog": […]}), '
    "ParlAI's text format (text:…<TAB>labels:…), or fbdialog (1 text<TAB>reply)"
)

Numbered = tuple[int, str]
"""A line of the file under its number, from 1."""


def load_dialogues(path: Path) -> list[Dialogue]:
    """All dialogues of a file in any of the formats above. Blank lines are passed over.

    Raises:
        MaterialError: the file cannot be read, is empty, or has a line that is not of its format; a dialogue of fewer
            than two lines; an id given twice.
    """
    numbered = [(number, line) for number, line in enumerate(text_lines(read_text(path)), 1) if line.strip()]
    if not numbered:
        raise MaterialError(f"{path}: is empty; expected {FORMATS}")
    seen: set[str] = set()
    dialogues = []
    for count, draft in enumerate(_reader(path, numbered)(path, numbered), start=1):
        dialogue = draft.finished(path, f"{path.stem}-{count}")
        if dialogue.dialogue_id in seen:
            raise MaterialError(f"{path}, line {draft.line_number}: the id {dialogue.dialogue_id} stands twice")
        seen.add(dialogue.dialogue_id)
        dialogues.append(dialogue)
    return dialogues


@dataclass
class _Draft:
    """A dialogue under way."""

    line_number: int
    dialogue_id: str = ""
    lines: list[SaidLine] = field(default_factory=list)
    context: list[str] = field(default_factory=list)

    def say(self, speaker: str, text: str) -> None:
        text = text.strip()
        if text and text != SILENCE:
            self.lines.append(SaidLine(speaker, text))

    def note(self, line: str, where: str) -> None:
        """Keep a line that nobody said."""
        found = persona_line(line)
        if found and not found[1]:
            raise MaterialError(f"{where}: the persona line is empty; write a sentence after it or remove it")
        if line.strip():
            self.context.append(line.strip())

    def exchange(self, text: str, reply: str, where: str) -> None:
        """Add what was heard and its reply. Personas, and with them topics, stand before the first words heard."""
        heard = text.split("\n")
        if not self.lines and any(persona_line(line) for line in heard):
            unsaid = len(heard) if persona_line(heard[-1]) else len(heard) - 1
            for line in heard[:unsaid]:
                self.note(line, where)
            heard = heard[unsaid:]
        self.say(FIRST, "\n".join(heard))
        self.say(SECOND, reply)

    def finished(self, path: Path, default_id: str) -> Dialogue:
        if len(self.lines) < 2:
            raise MaterialError(
                f"{path}, line {self.line_number}: a dialogue with {len(self.lines)} line(s) begins here; "
                "expected at least 2"
            )
        return Dialogue(
            self.dialogue_id or default_id, tuple(self.lines), tuple(self.context), self.line_number, source=str(path)
        )


Reader = Callable[[Path, Sequence[Numbered]], Iterator[_Draft]]


def _reader(path: Path, numbered: Sequence[Numbered]) -> Reader:
    number, first = numbered[0]
    first = first.strip()
    if first.startswith("{"):
        return _json_lines
    if first.split(" ", 1)[0].isdecimal():
        return _fbdialog
    if any(part.startswith("text:") for part in first.split("\t")):
        return _parlai_text
    raise MaterialError(f"{path}, line {number}: the format is not known; expected {FORMATS}")


class _Turns(BaseModel):
    model_config = ConfigDict(extra="ignore")

    dialogue_id: Sentence
    turns: Annotated[list[Sentence], Field(min_length=2)]


class _Act(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: str
    text: str | None = None


class _Conversation(BaseModel):
    model_config = ConfigDict(extra="ignore")

    dialog: list[list[_Act]]
    context: list[_Act] = []


M = TypeVar("M", bound=BaseModel)


def _validated(model: type[M], data: Any, where: str, form: str) -> M:
    try:
        return validated(model, data, where)
    except MaterialError as error:
        raise MaterialError(f"{error}; expected {form}") from error


def _json_lines(path: Path, numbered: Sequence[Numbered]) -> Iterator[_Draft]:
    for number, line in numbered:
        where = f"{path}, line {number}"
        try:
            data = json.loads(line)
        except json.JSONDecodeError as error:
            raise MaterialError(f"{where}: not JSON ({error.msg}); expected one whole dialogue a line") from error
        draft = _Draft(number)
        if isinstance(data, dict) and "dialog" in data:
            _take_conversation(draft, data, where)
        else:
            turns = _validated(_Turns, data, where, '{"dialogue_id": "…", "turns": ["…", "…"]}')
            draft.dialogue_id = turns.dialogue_id
            for index, text in enumerate(turns.turns):
                draft.say((FIRST, SECOND)[index % 2], text)
        yield draft


def _take_conversation(draft: _Draft, data: Any, where: str) -> None:
    conversation = _validated(_Conversation, data, where, '{"dialog": [[{"id": "…", "text": "…"}, …], …]}')
    acts = [*conversation.context, *(act for pair in conversation.dialog for act in pair)]
    outside = len(conversation.context)
    for index, act in enumerate(acts):
        if index < outside or act.id == CONTEXT:
            for line in (act.text or "").split("\n"):
                draft.note(line, where)
        else:
            draft.say(act.id, act.text or "")


def _parlai_text(path: Path, numbered: Sequence[Numbered]) -> Iterator[_Draft]:
    from parlai.utils.misc import str_to_msg  # imported here, because ParlAI takes seconds

    draft: _Draft | None = None
    for number, line in numbered:
        where = f"{path}, line {number}"
        try:
            message = str_to_msg(line.rstrip("\r"))
        except ValueError as error:
            raise MaterialError(f"{where}: {error}; expected text:…<TAB>labels:…") from error
        if "text" not in message:
            raise MaterialError(f"{where}: has no text; expected text:…<TAB>labels:…")
        draft = draft or _Draft(number)
        draft.exchange(message["text"], (message.get("labels") or [""])[0], where)
        if message["episode_done"]:
            yield draft
            draft = None
    if draft:
        yield draft


def _fbdialog(path: Path, numbered: Sequence[Numbered]) -> Iterator[_Draft]:
    draft, last, unanswered = _Draft(numbered[0][0]), 0, list[str]()
    for number, line in numbered:
        where = f"{path}, line {number}"
        count, _, rest = line.strip("\r").partition(" ")
        if not count.strip().isdecimal():
            raise MaterialError(f"{where}: does not begin with a number; expected fbdialog (1 text<TAB>reply)")
        if int(count) <= last:
            _say_rest(draft, unanswered)
            yield draft
            draft, unanswered = _Draft(number), []
        last = int(count)
        parts = rest.replace("\\n", "\n").split("\t")
        if len(parts) == 1 and persona_line(rest):
            draft.note(rest, where)
        elif len(parts) == 1:
            unanswered.append(rest)
        else:
            for text in unanswered:  # what comes before a question is its context
                draft.note(text, where)
            unanswered = []
            draft.exchange(parts[0], parts[1].split("|")[0], where)
    _say_rest(draft, unanswered)
    yield draft


def _say_rest(draft: _Draft, unanswered: Sequence[str]) -> None:
    """Lines at a dialogue's end that got no reply were said all the same."""
    for text in unanswered:
        draft.say(FIRST, text)
