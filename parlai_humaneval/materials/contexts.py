"""The starting point of a conversation: each side's persona, earlier lines, and the topic.

Personas, first lines and topics have a file each. Contexts hold all of it; they come from local files: BlendedSkillTalk's,
ConvAI2's, or this project's own format. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

from parlai_humaneval._util.data_files import (
    DataError,
    Sentence,
    packaged,
    parse_json,
    read_jsonl,
    read_text,
    text_lines,
    validated,
)
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.dialogues.dialogue import persona_line
from parlai_humaneval.dialogues.files import load_dialogues


class Persona(BaseModel, extra="forbid"):
    """Sentences that the Human Speaker plays (Smith et al. 2022, §3.1.1: two of them)."""

    persona_id: Sentence
    sentences: Annotated[list[Sentence], Field(min_length=1)]


def load_personas(path: Path | None = None) -> list[Persona]:
    """Personas from a JSONL file: ``{"persona_id": …, "sentences": [… , …]}`` a line; default: the packaged set. Raises
    DataError."""
    return read_jsonl(path or packaged("personas.jsonl"), Persona, "persona", lambda persona: persona.persona_id)


def load_openers(path: Path | None = None) -> list[str]:
    """First lines of a conversation, in the file's order; default: the packaged ones. Ma et al. 2023 (FFAEval), §3.3,
    start from utterances of this kind. Raises DataError."""
    return _distinct_lines(path or packaged("openers.txt"), "opener")


def load_topics(path: Path | None = None) -> list[str]:
    """Topics to offer to a rater who does not know what to talk about; default: the packaged ones. Raises DataError."""
    return _distinct_lines(path or packaged("topics.txt"), "topic")


def _distinct_lines(path: Path, what: str) -> list[str]:
    first_seen: dict[str, int] = {}
    for number, line in enumerate(text_lines(read_text(path)), start=1):
        text, where = line.strip(), f"{path}, line {number}"
        if not text:
            raise DataError("the line is empty", where=where, try_=f"write one {what} or remove the line")
        if text in first_seen:
            raise DataError(f"the {what} of line {first_seen[text]} appears here again", where=where)
        first_seen[text] = number
    if not first_seen:
        raise DataError(f"holds no {what}", where=path, try_="write one per line")
    return list(first_seen)


ContextKind = Literal["bst", "convai2", "jsonl"]
WIZARD = "wizard_of_wikipedia"
"""The one source of BlendedSkillTalk whose additional context is a topic that ParlAI shows to both sides."""


class SpeakerContext(BaseModel, extra="forbid", frozen=True):
    """The start of one conversation. ``opening``: (who, what) of the lines already said before the rater's first
    message."""

    context_id: Sentence
    human_persona: list[Sentence] = Field(default_factory=list)
    bot_persona: list[Sentence] = Field(default_factory=list)
    opening: list[tuple[Literal["human", "bot"], Sentence]] = Field(default_factory=list)
    topic: Sentence | None = None

    @model_validator(mode="after")
    def _not_empty(self) -> SpeakerContext:
        if not (self.human_persona or self.bot_persona or self.opening or self.topic):
            what = "a context needs at least one of human_persona, bot_persona, opening and topic"
            raise InvalidValue(what, try_="add one, or leave the context out")
        return self


def packaged_contexts() -> Path:
    """The project's own set: a persona of two sentences for the human, one of four or five for the bot."""
    return packaged("contexts.jsonl")


def load_contexts(kind: ContextKind, path: Path | None = None) -> list[SpeakerContext]:
    """Contexts of a file of the given kind; ``jsonl`` without a path is the packaged set. Raises DataError."""
    readers: dict[str, Callable[[Path], list[SpeakerContext]]] = {
        "bst": load_bst_contexts,
        "convai2": load_convai2_contexts,
        "jsonl": load_jsonl_contexts,
    }
    if kind not in readers:
        raise DataError(f"no such kind “{kind}”", where="contexts", try_=f"choose one of {', '.join(readers)}")
    if path is None and kind != "jsonl":
        raise DataError(f"{kind} is not packaged", where="contexts", try_="name its file on this machine")
    return readers[kind](path or packaged_contexts())


def load_jsonl_contexts(path: Path) -> list[SpeakerContext]:
    """Contexts from JSONL, the fields of :class:`SpeakerContext` a line. Raises DataError."""
    return read_jsonl(path, SpeakerContext, "context", lambda context: context.context_id)


def load_convai2_contexts(path: Path) -> list[SpeakerContext]:
    """Personas of ConvAI2 (Dinan et al. 2019) from ParlAI's file, e.g. ``train_both_original.txt``. The bot plays “your
    persona”, as in ParlAI's teacher; the human gets the partner's, where the file has it. Raises DataError."""
    contexts = []
    for dialogue in load_dialogues(path):
        found = [persona for persona in map(persona_line, dialogue.context) if persona]
        own, partner = ([sentence for whose, sentence in found if whose == who] for who in ("own", "partner"))
        if not own:
            raise DataError(
                "the dialogue that begins here has no “your persona:” lines",
                where=f"{path}, line {dialogue.line_number}",
                try_="give a file with personas, such as train_both_original.txt",
            )
        contexts.append(SpeakerContext(context_id=dialogue.dialogue_id, human_persona=partner, bot_persona=own))
    return contexts


Pair = Annotated[list[Annotated[list[Sentence], Field(min_length=1)]], Field(min_length=2, max_length=2)]


class _Episode(BaseModel, extra="ignore"):
    """The keys of a BlendedSkillTalk episode that its context is made of."""

    personas: Pair
    context_dataset: str
    additional_context: str | None = None
    free_turker_utterance: Sentence
    guided_turker_utterance: Sentence


class _Personas(BaseModel):
    personas: Pair


def load_bst_contexts(path: Path, safe_personas: Path | None = None) -> list[SpeakerContext]:
    """Contexts of BlendedSkillTalk (E. Smith et al. 2020) from ParlAI's ``train.json``, ``valid.json`` or
    ``test.json``. The human plays the first person (the “free” speaker), the bot the second (the “guided” one); the
    opening consists of both seed utterances. A JSON list of persona pairs, ``[[[…, …], […, …]], …]``, is read too and gives
    no opening. With ``safe_personas`` (ParlAI's ``safe_personas.txt``: sentences with “|” between them) only episodes
    all of whose sentences stand there are kept, as ParlAI's own worlds do. Raises DataError."""
    contexts = [_of_episode(path, number, item) for number, item in enumerate(_json_list(path), start=1)]
    if safe_personas is not None:
        # ParlAI's list and its episodes differ in punctuation; what counts as equal is ParlAI's to say.
        from parlai.tasks.blended_skill_talk.worlds import _standardize

        lines = text_lines(read_text(safe_personas))
        safe = {_standardize(sentence) for line in lines for sentence in line.strip().split("|")}
        contexts = [
            context
            for context in contexts
            if all(_standardize(sentence) in safe for sentence in [*context.human_persona, *context.bot_persona])
        ]
    if not contexts:
        raise DataError("holds no episode" + (f" that {safe_personas} allows" if safe_personas else ""), where=path)
    return contexts


def _json_list(path: Path) -> list[Any]:
    expected = "expected ParlAI's blended_skill_talk/train.json, valid.json or test.json: a JSON list of episodes"
    text = read_text(path)
    if not text.strip():
        raise DataError("is empty", where=path, try_=expected)
    hint = "; a list of safe personas goes with an episode file, as safe_personas" if "|" in text else ""
    data = parse_json(text, path, expected + hint)
    if not isinstance(data, list):
        raise DataError("is JSON, but not a list", where=path, try_=expected)
    return data


def _of_episode(path: Path, number: int, item: Any) -> SpeakerContext:
    where, context_id = f"{path}, episode {number}", f"{path.stem}-{number}"
    if isinstance(item, list):
        human, bot = validated(_Personas, {"personas": item}, where).personas
        return SpeakerContext(context_id=context_id, human_persona=human, bot_persona=bot)
    episode = validated(_Episode, item, where)
    human, bot = episode.personas
    return SpeakerContext(
        context_id=context_id,
        human_persona=human,
        bot_persona=bot,
        opening=[("human", episode.free_turker_utterance), ("bot", episode.guided_turker_utterance)],
        topic=(episode.additional_context or None) if episode.context_dataset == WIZARD else None,
    )
