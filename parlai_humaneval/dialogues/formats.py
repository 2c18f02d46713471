"""The formats of dialogue files, one reader each: numbered lines of a file → drafts of dialogues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from parlai_humaneval._util.data_files import DataError, Sentence, parse_json, read_json, validated
from parlai_humaneval.dialogues.dialogue import HUMAN, SaidLine
from parlai_humaneval.dialogues.personas import persona_line

FIRST, SECOND = "speaker_1", "speaker_2"
"""Speakers of formats that do not name them; the first is the one that a model would hear."""
SILENCE = "__SILENCE__"
"""Stands in ParlAI's files where nobody said anything."""
NOTHING_SAID = "…"
"""Stands for an act without text between two others, so that both speakers keep their turns."""
CONTEXT = "context"
"""Who “says” persona lines in ParlAI's Conversations."""
LOCAL_HUMANS = ("localHuman", "safeLocalHuman")
"""What ParlAI calls the person in `parlai interactive` and `parlai safe_interactive`."""
OURS = '{"dialogue_id": "…", "turns": ["…", "…"]}'
CONVERSATION = '{"dialog": [[{"id": "who speaks", "text": "…"}, …], …]}'

Numbered = tuple[int, str]
"""A line of the file under its number, from 1."""


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
        """Add what was heard and its reply. Personas, and with them topics, stand before the first words heard."""
        heard = text.split("\n")
        if not self.lines and any(persona_line(line) for line in heard):
            unsaid = len(heard) if persona_line(heard[-1]) else len(heard) - 1
            for line in heard[:unsaid]:
                self.note(line, where)
            heard = heard[unsaid:]
        self.say(FIRST, "\n".join(heard))
        self.say(SECOND, reply)


Reader = Callable[[Path, Sequence[Numbered]], Iterator[Draft]]


class _Known(BaseModel):
    """What both kinds of JSON lines may tell besides what was said."""

    model_config = ConfigDict(extra="ignore")

    entities: dict[str, Sentence] = {}
    seed: int | None = None
    start_id: str | None = None

    def settings(self) -> dict[str, Any]:
        return {name: value for name in ("seed", "start_id") if (value := getattr(self, name)) is not None}


class _Turns(_Known):
    dialogue_id: Sentence
    turns: Annotated[list[Sentence], Field(min_length=2)]
    speakers: list[Sentence] = [FIRST, SECOND]
    context: list[Sentence] = []

    @model_validator(mode="after")
    def _whose(self) -> _Turns:
        if len(self.speakers) not in (2, len(self.turns)):
            raise ValueError(
                f"speakers must name two who take turns, or the speaker of each of the {len(self.turns)} turns; "
                f"{len(self.speakers)} stand there"
            )
        return self

    def said(self) -> Iterator[tuple[str, str]]:
        names = self.speakers if len(self.speakers) == len(self.turns) else self.speakers * len(self.turns)
        return zip(names, self.turns, strict=False)


class _Act(BaseModel):
    model_config = ConfigDict(extra="ignore")

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


def json_lines(path: Path, numbered: Sequence[Numbered]) -> Iterator[Draft]:
    """Our own JSONL and ParlAI's Conversations, told apart line by line."""
    told = _read_metadata(path)
    for number, line in numbered:
        where = f"{path}, line {number}"
        data = parse_json(line, where, "expected one whole dialogue a line")
        draft = Draft(number)
        if isinstance(data, dict) and "dialog" in data:
            _take_conversation(draft, validated(_Conversation, data, where, f"expected {CONVERSATION}"), where)
            draft.settings = {**told.settings, **draft.settings}
            draft.entities = {**_told_entities(draft, told.names), **draft.entities}
        else:
            turns = validated(_Turns, data, where, f"expected {OURS}")
            draft.dialogue_id, draft.context = turns.dialogue_id, list(turns.context)
            draft.entities, draft.settings = dict(turns.entities), turns.settings()
            for speaker, text in turns.said():
                draft.say(speaker, text)
        yield draft


def _take_conversation(draft: Draft, conversation: _Conversation, where: str) -> None:
    draft.dialogue_id = conversation.dialogue_id.strip()
    draft.entities, draft.settings = dict(conversation.entities), conversation.settings()
    acts = [act for pair in conversation.dialog for act in pair]
    for act in [*conversation.context, *(act for act in acts if act.id == CONTEXT)]:
        for line in (act.text or "").split("\n"):
            draft.note(line, where)
    spoken = [act for act in acts if act.id != CONTEXT]
    texts = [index for index, act in enumerate(spoken) if act.said]
    inside = spoken[texts[0] : texts[-1] + 1] if texts else []
    for act in inside:
        draft.say(act.id, act.said or NOTHING_SAID)
    seeded = sum(act.seeded for act in inside)
    if seeded:
        draft.settings["seeded_lines"] = seeded


def _told_entities(draft: Draft, names: Mapping[str, str]) -> dict[str, str]:
    """Who speaks by ParlAI's metadata: its speakers, and its word for the person at the keyboard."""
    speakers = draft.speakers
    people = {speaker: HUMAN for speaker in speakers if speaker in LOCAL_HUMANS}
    return {speaker: name for speaker, name in {**names, **people}.items() if speaker in speakers}


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
        draft = draft or Draft(number)
        draft.exchange(message["text"], (message.get("labels") or [""])[0], where)
        if message["episode_done"]:
            yield draft
            draft = None
    if draft:
        yield draft


def fbdialog(path: Path, numbered: Sequence[Numbered]) -> Iterator[Draft]:
    """fbdialog; a dialogue begins where the numbers do."""
    draft, last, unanswered = Draft(numbered[0][0]), 0, list[str]()
    for number, line in numbered:
        where = f"{path}, line {number}"
        count, _, rest = line.strip("\r").partition(" ")
        if not count.strip().isdecimal():
            raise DataError("does not begin with a number", where=where, try_="expected fbdialog (1 text<TAB>reply)")
        if int(count) <= last:
            _say_rest(draft, unanswered)
            yield draft
            draft, unanswered = Draft(number), []
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


def _say_rest(draft: Draft, unanswered: Sequence[str]) -> None:
    for text in unanswered:
        draft.say(FIRST, text)


_KEPT = ("task", "model", "model_file", "partner_model_file", "models", "seed", "selfchat_max_turns")
"""Options that say how the conversations were made; ParlAI stores a hundred."""


@dataclass(frozen=True)
class _ToldByMetadata:
    """What ParlAI's metadata, beside a file of conversations, tells of who speaks in them.

    ``names``: speaker → the name of its model, where it can be told. ``settings``: the options worth keeping.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def _read_metadata(path: Path) -> _ToldByMetadata:
    """The metadata of a file of conversations; nothing is told where there is none.

    ``parlai self_chat`` calls its speakers after the agent's class, so that a name is taken from the options: of the Bot
    Speaker its models, joined by “+”; else the folder or name of the model file; else the kind of model.

    Raises:
        DataError: there is one, but it is not ParlAI's.
    """
    file = path.with_suffix(".metadata")
    if path.suffix == ".metadata" or not file.is_file():
        return _ToldByMetadata()
    form = "mend it, or move it elsewhere: expected the metadata that ParlAI writes beside conversations"
    try:
        data = read_json(file, form)
        speakers, opt = data.get("speakers") or [], data.get("opt") or {}
        names = [str(name) for name in speakers]
        options = dict(opt)
    except (TypeError, AttributeError) as error:
        raise DataError(f"cannot be read ({error})", where=file, try_=form) from error
    kept = {name: options[name] for name in _KEPT if options.get(name) is not None}
    return _ToldByMetadata(_names(names, options, bool(data.get("self_chat"))), kept)


def _names(speakers: list[str], opt: Mapping[str, Any], self_chat: bool) -> dict[str, str]:
    """In a self-chat the partner may be another model; in a conversation with a person every other speaker is the one."""
    own = _model_name(opt)
    if not own or len(speakers) > 2:
        return {}
    partner = _of_file(str(opt.get("partner_model_file") or "")) or own
    if not self_chat:
        return dict.fromkeys(speakers, own)
    return {speaker: partner if speaker.endswith("_2") else own for speaker in speakers}


def _model_name(opt: Mapping[str, Any]) -> str:
    models = opt.get("models")
    if models:
        return "+".join(name.strip() for name in str(models).split(","))
    return _of_file(str(opt.get("model_file") or "")) or str(opt.get("model") or "")


def _of_file(model_file: str) -> str:
    """``…/blender_90M/model`` is blender_90M, ``…/mine.model`` is mine."""
    path = PurePath(model_file)
    return path.parent.name if path.stem == "model" else path.stem
