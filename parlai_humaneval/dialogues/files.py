"""One reader for files of finished dialogues, whichever of the usual formats they are in.

- **JSONL of this project**: ``{"dialogue_id": "…", "turns": ["…", "…"]}`` a line; two speakers take turns. ``speakers``
  may name them (two names, or one for each turn), else they are ``speaker_1`` and ``speaker_2``.
- **ParlAI's Conversations**: ``{"dialog": [[{"id": "…", "text": "…"}, …], …]}`` a line, as ``parlai self_chat``,
  ``parlai interactive`` and this project's self-chats write it. A metadata file next to it is read as well.
- **ParlAI's text format**: ``text:…<TAB>labels:…<TAB>episode_done:True``, an exchange a line.
- **Chats** of other projects, as JSON objects (one a line, or a list) or as text: :mod:`.chats`.
- **Tables** (CSV, Excel, Parquet), a dialogue a row, with the columns that chats in JSON have.
- **fbdialog**: ``1 text<TAB>reply``, an exchange a line; a dialogue begins where the numbers do (ConvAI2's files).

JSON may hold ``entities``, speaker → who that is: a model's name, or ``human``. The first line determines the format.
An error names the file, the line and what was expected.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Annotated, Any

from pydantic import BaseModel, Field, model_validator

from parlai_humaneval._util import data_files
from parlai_humaneval._util.data_files import DataError, Sentence, packaged, parse_json, read_text, text_lines
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval._util.text import clean_label
from parlai_humaneval.dialogues.chats import EMPTY, SHAPES, Form, chats_of, form_of
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue, SaidLine, persona_line
from parlai_humaneval.dialogues.messages import PEOPLE, is_text, json_in, texts_of

FIRST, SECOND = "speaker_1", "speaker_2"
"""Speakers of formats that do not name them; the first is the one that a model would hear."""
SILENCE = "__SILENCE__"  # Stands in ParlAI's files where nobody said anything
CONTEXT = "context"  # the speaker of persona lines in ParlAI's Conversations
LOCAL_HUMANS = ("localHuman", "safeLocalHuman")
"""What ParlAI calls the person in `parlai interactive` and `parlai safe_interactive`."""

Numbered = tuple[int, str]  # A line of the file under its number, from 1


@dataclass
class Draft:
    """A dialogue under way; ``entities`` and ``settings`` are what the file itself tells."""

    line_number: int
    dialogue_id: str = ""
    lines: list[SaidLine] = field(default_factory=list)
    context: list[str] = field(default_factory=list)
    entities: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    messages: int = 0
    format: str = ""

    @property
    def speakers(self) -> list[str]:
        return list(dict.fromkeys(line.speaker for line in self.lines))

    def say(self, speaker: str, text: str) -> None:
        """Add what was said. Two messages of one speaker in a row are one line, so that speakers take turns."""
        text = text.strip()
        if not text or text == SILENCE:
            return
        self.messages += 1
        if self.lines and self.lines[-1].speaker == speaker:
            text = f"{self.lines.pop().text}\n{text}"
        self.lines.append(SaidLine(speaker, text))

    def note(self, line: str, where: str) -> None:
        """Keep a line that nobody said."""
        found = persona_line(line)
        if found and not found[1]:
            raise DataError("the persona line is empty", where=where, try_="write a sentence after it or remove it")
        if line.strip():
            self.context.append(line.strip())

    def exchange(self, text: str, reply: str, where: str) -> None:
        """Add what was heard and its reply. Personas, and topics with them, come before the first words heard."""
        heard = text.split("\n")
        if not self.lines and any(persona_line(line) for line in heard):
            unsaid = len(heard) if persona_line(heard[-1]) else len(heard) - 1
            for line in heard[:unsaid]:
                self.note(line, where)
            heard = heard[unsaid:]
        self.say(FIRST, "\n".join(heard))
        self.say(SECOND, reply)


Reader = Callable[[Path, Sequence[Numbered]], Iterator[Draft]]


class _Known(BaseModel, extra="ignore"):
    """What both kinds of JSON lines may tell besides what was said."""

    entities: dict[str, Sentence] = {}
    seed: int | None = None
    start_id: str | int | None = None
    chat_settings: dict[str, Any] = {}

    def settings(self) -> dict[str, Any]:
        told = {"seed": self.seed, "start_id": None if self.start_id is None else str(self.start_id)}
        return {**self.chat_settings, **{name: value for name, value in told.items() if value is not None}}


class _Turns(_Known):
    dialogue_id: Sentence
    turns: Annotated[list[str], Field(min_length=2)]
    speakers: list[Sentence] = [FIRST, SECOND]
    context: list[Sentence] = []

    @model_validator(mode="after")
    def _whose(self) -> _Turns:
        if len(self.speakers) not in (2, len(self.turns)):
            raise InvalidValue(
                f"the number of `speakers` is {len(self.speakers)}",
                try_=f"name two who take turns, or the speaker of each of the {len(self.turns)} turns",
            )
        return self

    def said(self) -> Iterator[tuple[str, str]]:
        names = self.speakers if len(self.speakers) == len(self.turns) else self.speakers * len(self.turns)
        said = [(name, text.strip()) for name, text in zip(names, self.turns, strict=False)]
        places = [place for place, (_, text) in enumerate(said) if text]
        return ((name, text or EMPTY) for name, text in (said[places[0] : places[-1] + 1] if places else []))

    def settings(self) -> dict[str, Any]:
        empty = sum(not text.strip() for text in self.turns)
        return {**super().settings(), **({"empty_turns": empty} if empty else {})}


class _Chat(_Turns):
    dialogue_id: str
    turns: list[str]


class _Act(BaseModel, extra="ignore"):
    id: Sentence
    text: str | None = None
    seeded: bool = False

    @property
    def said(self) -> str:
        text = (self.text or "").strip()
        return "" if text == SILENCE else text


class _Conversation(_Known):
    dialog: list[list[_Act]]
    context: list[_Act] = []
    dialogue_id: str = ""


def chat_reader(form: Form, system: bool, *, is_json: bool = True) -> Reader:
    """A reader of JSON: our own, ParlAI's Conversations, and chats of other projects, distinguished line by line. Without
    ``is_json``, of “User: … Assistant: …”."""

    def drafts(path: Path, numbered: Sequence[Numbered]) -> Iterator[Draft]:
        metadata = _read_metadata(path) if is_json else ({}, {})
        given = _parsed(path, numbered)
        if not is_json:
            given = ((f"{path}, dialogue {n}", n, text) for n, text in enumerate(texts_of(read_text(path)), start=1))
        for where, number, data in given:
            found = form_of(data) if form == "auto" else form
            chats = [data] if found is None else chats_of(data, found, where, system=system)
            for chat in chats:
                yield _draft(chat, where, number, metadata)

    return drafts


def _parsed(path: Path, numbered: Sequence[Numbered]) -> Iterator[tuple[str, int, Any]]:
    """Place, number and data of each line, or of each entry of a list over several lines."""
    lines = [line for _, line in numbered]
    opens = lines[0].strip()
    if (opens.startswith("[") and (len(lines) == 1 or not opens.endswith("]"))) or (opens == "{" and len(lines) > 1):
        whole = parse_json("\n".join(lines), str(path), "expected a list of dialogues, or one whole dialogue per line")
        entries = [whole] if isinstance(whole, dict) or form_of(whole) == "messages" else whole
        yield from ((f"{path}, entry {number}", number, data) for number, data in enumerate(entries, start=1))
        return
    for number, line in numbered:
        where = f"{path}, line {number}"
        yield where, number, parse_json(line, where, "expected one whole dialogue per line")


def _draft(data: Any, where: str, number: int, metadata: tuple[dict[str, str], dict[str, Any]]) -> Draft:
    told_names, told_settings = metadata
    draft = Draft(number)
    if isinstance(data, dict) and isinstance(data.get("dialogue_id"), int):
        data = {**data, "dialogue_id": str(data["dialogue_id"])}
    if isinstance(data, dict) and "dialog" in data:
        draft.format = "ParlAI conversations"
        held = data_files.validated(_Conversation, data, where, f"expected {SHAPES['conversation']}")
        draft.dialogue_id = held.dialogue_id.strip()
        acts = [act for pair in held.dialog for act in pair]
        for act in [*held.context, *(act for act in acts if act.id == CONTEXT)]:
            for line in (act.text or "").split("\n"):
                draft.note(line, where)
        spoken = [act for act in acts if act.id != CONTEXT]
        texts = [index for index, act in enumerate(spoken) if act.said]
        inside = spoken[texts[0] : texts[-1] + 1] if texts else []
        for act in inside:
            draft.say(act.id, act.said or EMPTY)
        empty = sum(not (act.text or "").strip() for act in spoken)
        counts = {"seeded_lines": sum(act.seeded for act in inside), "empty_turns": empty}
        counted = {name: count for name, count in counts.items() if count}
        draft.settings = {**told_settings, **held.settings(), **counted}
        # The speakers in ParlAI's metadata, and its word for the person at the keyboard.
        people = {name: HUMAN for name in draft.speakers if name in LOCAL_HUMANS or name.casefold() in PEOPLE}
        names = {speaker: name for speaker, name in {**told_names, **people}.items() if speaker in draft.speakers}
        draft.entities = {**names, **held.entities}
        return draft
    kind = _Chat if isinstance(data, dict) and "chat_settings" in data else _Turns
    turns = data_files.validated(
        kind, data, where, f"expected {SHAPES['turns']}, {SHAPES['messages']}, or {SHAPES['exchange']}"
    )
    draft.dialogue_id, draft.context = turns.dialogue_id, list(turns.context)
    draft.entities, draft.settings = dict(turns.entities), turns.settings()
    if "empty_turns" in draft.settings:  # worth a remark, also where the form is not
        draft.format = "our form"
    for speaker, text in turns.said():
        draft.say(speaker, text)
    return draft


def parlai_text(path: Path, numbered: Sequence[Numbered]) -> Iterator[Draft]:
    """ParlAI's text format."""
    from parlai.utils.misc import str_to_msg  # imported here, because ParlAI takes seconds

    draft: Draft | None = None
    for number, line in numbered:
        where = f"{path}, line {number}"
        try:
            message = str_to_msg(line.rstrip("\r"))
        except ValueError as error:
            raise DataError(error, where=where, try_="expected text:…<TAB>labels:…") from error
        if "text" not in message:
            raise DataError("has no text", where=where, try_="expected text:…<TAB>labels:…")
        draft = draft or Draft(number, format="ParlAI's text format")
        draft.exchange(message["text"], (message.get("labels") or [""])[0], where)
        if message["episode_done"]:
            yield draft
            draft = None
    if draft:
        yield draft


def fbdialog(path: Path, numbered: Sequence[Numbered]) -> Iterator[Draft]:
    """fbdialog; a dialogue begins where the numbers do."""
    draft, last, unanswered = Draft(numbered[0][0], format="fbdialog"), 0, list[str]()
    for number, line in numbered:
        where = f"{path}, line {number}"
        count, _, rest = line.strip("\r").partition(" ")
        if not count.strip().isdecimal():
            raise DataError("does not begin with a number", where=where, try_="expected fbdialog (1 text<TAB>reply)")
        if int(count) <= last:
            for text in unanswered:
                draft.say(FIRST, text)
            yield draft
            draft, unanswered = Draft(number, format="fbdialog"), []
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
    for text in unanswered:
        draft.say(FIRST, text)
    yield draft


_KEPT = ("task", "model", "model_file", "partner_model_file", "models", "seed", "selfchat_max_turns")
"""Options that say how the conversations were made; ParlAI stores a hundred."""


def _read_metadata(path: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """The metadata of a file of conversations; empty if the file has none. ``parlai self_chat`` calls its speakers
    after the agent's class, so that a name is taken from the options: of the Bot Speaker its models, joined by “+”;
    else the folder or name of the model file; else the kind of model. Raises DataError."""
    file = path.with_suffix(".metadata")
    if path.suffix == ".metadata" or not file.is_file():
        return {}, {}
    form = "fix it, or move it elsewhere: expected the metadata that ParlAI writes next to conversations"
    try:
        data = data_files.read_json(file, form)
        names = [str(name) for name in data.get("speakers") or []]
        options = dict(data.get("opt") or {})
    except (TypeError, AttributeError) as error:
        raise DataError(f"cannot be read ({error})", where=file, try_=form) from error
    kept = {name: options[name] for name in _KEPT if options.get(name) is not None}
    models = "+".join(name.strip() for name in str(options.get("models") or "").split(","))
    own = models or _of_file(str(options.get("model_file") or "")) or str(options.get("model") or "")
    if not own or len(names) > 2:
        return {}, kept
    # In a self-chat the partner may be another model; in a conversation with a person every other speaker is the one.
    partner = _of_file(str(options.get("partner_model_file") or "")) if data.get("self_chat") else ""
    return {name: partner if partner and name.endswith("_2") else own for name in names}, kept


def _of_file(model_file: str) -> str:
    """``…/blender_90M/model`` is blender_90M, ``…/mine.model`` is mine."""
    path = PurePath(model_file)
    return path.parent.name if path.stem == "model" else path.stem


__all__ = ["CONTEXT", "FIRST", "PACKAGED_CORPUS", "SECOND", "SILENCE", "Entities", "load_dialogues"]

OWN_ID = "give each dialogue its own id, or name its model"
TABLES = (".csv", ".tsv", ".xlsx", ".parquet")
SHARED_ID = "shared_id"  # Setting of a dialogue whose id ends with the name of its model
PACKAGED_CORPUS = packaged("corpus.jsonl")  # The packaged conversations that the embedded models speak from

Entities = Mapping[str, str] | str | None
"""The speakers: speaker → a model's name or ``human``; one name for both; or as in the file."""


def load_dialogues(
    path: Path, entities: Entities = None, *, form: Form = "auto", system: bool = False, name: str = ""
) -> list[Dialogue]:
    """All dialogues of a file in any of the formats above. Blank lines are passed over. A last line without an answer
    is kept. ``path``: the file. ``entities``: goes before what the file says. ``form``: that of its chats, where it cannot
    be recognised. ``system``: system messages are context. ``name``: begins the ids of dialogues without one. Raises
    DataError: the file cannot be read, is empty, or has a line that is not of its format; a dialogue of fewer than two
    lines, or of other than two speakers; an id of one model given twice; an entity of nobody who speaks."""
    numbered = [(number, line) for number, line in _lines(path) if line.strip()]
    if not numbered:
        raise DataError("is empty", where=path, try_=f"expected {SHAPES['any']}")
    seen: dict[str, Dialogue] = {}
    for count, draft in enumerate(_reader(path, numbered, form, system)(path, numbered), start=1):
        where = f"{path}, line {draft.line_number}"
        _two_speak(draft, where)
        dialogue_id = clean_label(draft.dialogue_id or f"{name or path.stem}-{count}")
        dialogue = Dialogue(
            dialogue_id,
            tuple(draft.lines),
            tuple(draft.context),
            draft.line_number,
            entities={speaker: clean_label(name) for speaker, name in _who(draft, where, entities).items()},
            source=str(path),
            settings=draft.settings,
            format=f"form={draft.settings['form']}" if "form" in draft.settings else draft.format,
        )
        pairs = draft.settings.get("pairs")
        if pairs and dialogue_id in seen and seen[dialogue_id].lines == dialogue.lines:
            there = seen[dialogue_id].settings["pairs"]  # the same dialogue in another pair
            there.extend(pair for pair in pairs if pair not in there)
            continue
        if dialogue_id in seen and dialogue.models and dialogue.models != seen[dialogue_id].models:
            dialogue = _of_model(dialogue)
        if dialogue.dialogue_id in seen:
            raise DataError(f"the id {dialogue.dialogue_id} appears twice", where=where, try_=OWN_ID)
        seen[dialogue.dialogue_id] = dialogue
    shared = {one.settings.get(SHARED_ID) for one in seen.values()}
    dialogues = [_of_model(one) if one.dialogue_id in shared else one for one in seen.values()]
    if entities is None:
        return dialogues
    # Every speaker that the caller names must say something somewhere in the file.
    if not all(name.strip() for name in ([entities] if isinstance(entities, str) else entities.values())):
        raise DataError("an entity is empty", where=path, try_="name a model, or human")
    speakers = list(dict.fromkeys(speaker for dialogue in dialogues for speaker in dialogue.speakers))
    given = {} if isinstance(entities, str) else _as_spoken(entities, speakers)
    unknown = [name for name in given if name not in speakers]
    if unknown:
        raise DataError(
            f"entities names {unknown[0]}, who says nothing in this file",
            where=f"{path}, line {dialogues[0].line_number}",
            try_=f"name one of the speakers, {', '.join(speakers)}",
        )
    return dialogues


def _lines(path: Path) -> Iterator[Numbered]:
    """The lines of a file; of a table, its rows as JSON, numbered as in a spreadsheet, with the JSON in their cells."""
    if PurePath(path.name.lower().removesuffix(".gz")).suffix not in TABLES:
        yield from enumerate(text_lines(read_text(path)), start=1)
        return
    from parlai_humaneval._util.table_files import read_rows  # imported here, because it loads pandas

    for place, row in read_rows(path, fewest=1).items():
        cells = {name.strip().lower(): str(cell) for name, cell in row.items() if cell not in (None, "")}
        inside = {name: json_in(cell) for name, cell in cells.items() if cell[0] in "[{"}
        nested = {name: data for name, data in inside.items() if isinstance(data, dict) or form_of(data)}
        yield place + 1, json.dumps({**cells, **nested})


def _of_model(dialogue: Dialogue) -> Dialogue:
    """With the name of its model behind its id, which the answer of another model has too."""
    shared, name = dialogue.dialogue_id, "+".join(dialogue.models)
    settings = {"start_id": shared, **dialogue.settings, SHARED_ID: shared}
    return replace(dialogue, dialogue_id=f"{shared}-{name}", settings=settings)


def _reader(path: Path, numbered: Sequence[Numbered], form: Form, system: bool) -> Reader:
    number, first = numbered[0]
    first = first.strip()
    if first.startswith(("{", "[")):
        return chat_reader(form, system)
    if first.split(" ", 1)[0].isdecimal():
        return fbdialog
    if any(part.startswith("text:") for part in first.split("\t")):
        return parlai_text
    if is_text(first):
        return chat_reader("text", system, is_json=False)
    raise DataError("the format is not known", where=f"{path}, line {number}", try_=f"expected {SHAPES['any']}")


def _two_speak(draft: Draft, where: str) -> None:
    if draft.messages < 2:
        what = f"a dialogue with {draft.messages or 'no'} line{'s' * (not draft.messages)} begins here"
        raise DataError(what, where=where, try_="expected at least 2, one of each speaker")
    if len(draft.speakers) == 1:
        raise DataError(
            f"only {draft.speakers[0]} says anything in the dialogue that begins here",
            where=where,
            try_="expected two speakers, and every line or act under the name of its speaker",
        )
    if len(draft.speakers) > 2:
        what = f"{len(draft.speakers)} speakers ({', '.join(draft.speakers)}) are in the dialogue that begins here"
        raise DataError(what, where=where, try_="expected two: give a speaker the same name in all lines")


def _who(draft: Draft, where: str, entities: Entities) -> dict[str, str]:
    told = _as_spoken(draft.entities, draft.speakers)
    unknown = [name for name in told if name not in draft.speakers]
    if unknown:
        what = f"entities names {unknown[0]}, who says nothing"
        raise DataError(what, where=where, try_=f"name one of the speakers, {' and '.join(draft.speakers)}")
    if isinstance(entities, str):
        return dict.fromkeys(draft.speakers, entities)
    given = _as_spoken(entities or {}, draft.speakers)
    return {**told, **{name: who for name, who in given.items() if name in draft.speakers}}


def _as_spoken(entities: Mapping[str, str], speakers: Sequence[str]) -> dict[str, str]:
    """The entities of these speakers, whose names may be written in other case."""
    spelled = {speaker.casefold(): speaker for speaker in speakers} | {speaker: speaker for speaker in speakers}
    return {spelled.get(name, spelled.get(name.casefold(), name)): who for name, who in entities.items()}
