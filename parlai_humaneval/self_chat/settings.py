"""Settings of a generation: number and length of dialogues, pairs of models, and openings."""

from __future__ import annotations

import hashlib
import itertools
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field, model_validator

from parlai_humaneval._util.data_files import DataError, packaged, validated
from parlai_humaneval._util.errors import HumanevalError, InvalidValue
from parlai_humaneval.dialogues.files import PACKAGED_CORPUS, load_dialogues
from parlai_humaneval.materials.contexts import SpeakerContext, load_contexts, load_openers, packaged_contexts

Pair = tuple[str, str]
"""Two models that talk to each other; twice the same one for a self-chat."""
StartKind = Literal["hi", "openers", "first_exchange", "contexts"]


class SelfChatError(HumanevalError, ValueError):
    """The dialogues cannot be generated as asked; the message says why, and what to do."""


class Shard(NamedTuple):
    """A part of the dialogues of every pair: of every ``of`` in a row the ``number``-th, from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def folder(self) -> str:
        width = max(2, len(str(self.of)))
        return f"shard-{self.number:0{width}}-of-{self.of:0{width}}"

    def numbers(self, num_dialogues: int) -> range:
        return range(self.number - 1, num_dialogues, self.of)


WHOLE = Shard(1, 1)


def shard_of(text: str) -> Shard:
    parts = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", text)
    if not parts:
        raise SelfChatError(f"a shard is written as its number and the number of shards, as in 2/8, not “{text}”")
    shard = Shard(int(parts[1]), int(parts[2]))
    if not 1 <= shard.number <= shard.of:
        raise SelfChatError(f"there is no shard {shard}: with {shard.of} shards, the numbers go from 1 to {shard.of}")
    return shard


class SelfChatSettings(BaseModel, extra="forbid", frozen=True):
    """How many dialogues (``num_dialogues`` of each pair), and of what kind. ``exchanges``: lines of each speaker.
    ``start``: ``hi`` (Smith et al. 2022), a line of a file, the first two lines of a dialogue of a file (Deriu et al.
    2020, §4), or ``contexts``. ``start_file``: where they come from; "": the packaged ones."""

    num_dialogues: int = Field(ge=1)
    exchanges: int = Field(default=6, ge=1)
    start: StartKind = "hi"
    start_file: str = ""
    context_kind: Literal["jsonl", "bst", "convai2"] = "jsonl"
    seed: int = 0

    @model_validator(mode="after")
    def _no_idle_settings(self) -> SelfChatSettings:
        if self.start == "hi" and self.start_file:
            what = f"start “hi” reads no file, but start_file is {self.start_file}"
            raise InvalidValue(what, try_="choose start openers, first_exchange or contexts")
        if self.context_kind != "jsonl" and self.start != "contexts":
            what = f"context_kind {self.context_kind} belongs to start “contexts”, not to “{self.start}”"
            raise InvalidValue(what, try_="set start to contexts, or leave context_kind out")
        return self


def checked_settings(**values: Any) -> SelfChatSettings:
    """Settings from a command line. Raises SelfChatError, in words, where :class:`SelfChatSettings` would refuse them."""
    return validated(SelfChatSettings, values, error=SelfChatError)


def pairs_of(models: Sequence[str], *, pairs: bool) -> list[Pair]:
    """Each model with itself, or with ``pairs`` every two of them: a tournament (Deriu et al. 2020, §3.1)."""
    if not models:
        raise SelfChatError("no model is named", try_="name at least one")
    twice = sorted({name for name in models if list(models).count(name) > 1})
    if twice:
        raise SelfChatError("named twice", where=f"{', '.join(twice)}", try_="name each model once")
    if not pairs:
        return [(name, name) for name in models]
    if len(models) < 2:
        what = f"a pair takes two models, but only {models[0]} is named"
        raise SelfChatError(what, try_="name more, or leave out pairs")
    return list(itertools.combinations(models, 2))


HI = "Hi!"
"""How the conversations of Smith et al. 2022 (§3.1.1) begin, and ParlAI's self-chats."""


@dataclass(frozen=True)
class Start:
    """How a dialogue begins: lines that count as said, whom the two speakers play, and a topic, which they are not
    told."""

    start_id: str
    lines: tuple[str, ...]
    personas: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    topic: str = ""


def load_starts(settings: SelfChatSettings) -> list[Start]:
    """All beginnings of the settings' file, in its order; a SelfChatError where one leaves the models nothing to say."""
    path = start_path(settings)
    if settings.start == "hi" or path is None:
        starts = [Start("hi", (HI,))]
    elif settings.start == "openers":
        starts = [Start(f"opener-{number}", (line,)) for number, line in enumerate(load_openers(path), start=1)]
    elif settings.start == "first_exchange":
        starts = [Start(dialogue.dialogue_id, tuple(dialogue.texts[:2])) for dialogue in load_dialogues(path)]
    else:
        starts = [_of_context(path, context) for context in load_contexts(settings.context_kind, path)]
    longest = max(starts, key=lambda start: len(start.lines))
    if len(longest.lines) >= 2 * settings.exchanges:
        raise SelfChatError(
            f"a dialogue of {settings.exchanges} exchange(s) has {2 * settings.exchanges} lines, and "
            f"{longest.start_id} begins with {len(longest.lines)}, so the models have nothing left to say",
            try_="ask for more exchanges",
        )
    return starts


def start_path(settings: SelfChatSettings) -> Path | None:
    if settings.start_file:
        return Path(settings.start_file).expanduser()
    if settings.start == "contexts" and settings.context_kind != "jsonl":
        what = f"contexts of {settings.context_kind} are not packaged"
        raise SelfChatError(what, try_="name their file as start_file")
    files = {"openers": packaged("openers.txt"), "first_exchange": PACKAGED_CORPUS, "contexts": packaged_contexts()}
    return files.get(settings.start)


def fingerprint(settings: SelfChatSettings) -> str:
    path = start_path(settings)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path else ""


def starts_of(pair: Pair, starts: Sequence[Start], seed: int) -> Iterator[Start]:
    """The beginnings of this pair's dialogues, without end: all of ``starts`` in random order, again and again."""
    rng = random.Random(f"starts\n{pair[0]}\n{pair[1]}\n{seed}")
    while True:
        yield from rng.sample(starts, len(starts))


def _of_context(path: Path, context: SpeakerContext) -> Start:
    """Its human is the first speaker, unless the bot has the first line of the opening."""
    who = [speaker for speaker, _ in context.opening]
    if any(one == following for one, following in itertools.pairwise(who)):
        what = f"context {context.context_id}: in its opening, one speaker has two lines in a row"
        raise DataError(what, where=path, try_="make them one line")
    personas = (tuple(context.human_persona), tuple(context.bot_persona))
    if who and who[0] == "bot":
        personas = personas[::-1]
    lines = tuple(text for _, text in context.opening) or (HI,)
    return Start(context.context_id, lines, personas, context.topic or "")
