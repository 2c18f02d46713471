"""How dialogues without a person begin: what is put into the models' mouths, and whom they play."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from parlai_humaneval.protocol.dialogues.files import PACKAGED_CORPUS, load_dialogues
from parlai_humaneval.protocol.materials.contexts import SpeakerContext, load_contexts, packaged_contexts
from parlai_humaneval.protocol.materials.files import MaterialError, packaged
from parlai_humaneval.protocol.materials.openers import load_openers
from parlai_humaneval.self_chat.settings import Pair, SelfChatError, SelfChatSettings

HI = "Hi!"
"""How the conversations of Smith et al. 2022 (§3.1.1) begin, and ParlAI's self-chats."""


@dataclass(frozen=True)
class Start:
    """How one dialogue begins.

    Args:
        start_id: which of the file's beginnings it is.
        lines: what is said already, by turns; the first speaker says the first.
        personas: sentences that the first and the second speaker play.
        topic: what the context is about. It is kept with the dialogue; the models are not told.
    """

    start_id: str
    lines: tuple[str, ...]
    personas: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    topic: str = ""


def load_starts(settings: SelfChatSettings) -> list[Start]:
    """All beginnings of the settings' file, in its order.

    Raises:
        MaterialError: a file that cannot be used.
        SelfChatError: a beginning that leaves nothing for the models to say.
    """
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
            f"a dialogue of {settings.exchanges} exchange(s) has {2 * settings.exchanges} lines, and {longest.start_id} "
            f"begins with {len(longest.lines)}, which leaves the models nothing to say; ask for more exchanges"
        )
    return starts


def start_path(settings: SelfChatSettings) -> Path | None:
    """The file that beginnings come from; None where there is none.

    Raises:
        SelfChatError: contexts of a kind that is not packaged, and no file named.
    """
    if settings.start_file:
        return Path(settings.start_file).expanduser()
    if settings.start == "contexts" and settings.context_kind != "jsonl":
        raise SelfChatError(f"contexts of {settings.context_kind} are not packaged; name their file as start_file")
    files = {
        "openers": packaged("openers.txt"),
        "first_exchange": PACKAGED_CORPUS,
        "contexts": packaged_contexts(),
    }
    return files.get(settings.start)


def fingerprint(settings: SelfChatSettings) -> str:
    """The SHA-256 of the beginnings' file, so that a file that has changed is noticed; "" where there is none."""
    path = start_path(settings)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path else ""


def starts_of(pair: Pair, starts: Sequence[Start], seed: int) -> Iterator[Start]:
    """The beginnings of this pair's dialogues, without end: all of ``starts`` in random order, again and again.

    How many are taken changes none of them, and no other pair does.
    """
    rng = random.Random(f"starts\n{pair[0]}\n{pair[1]}\n{seed}")
    while True:
        yield from rng.sample(starts, len(starts))


def _of_context(path: Path, context: SpeakerContext) -> Start:
    """Its human is the first speaker, unless the bot has the first line of the opening."""
    who = [speaker for speaker, _ in context.opening]
    if any(one == following for one, following in itertools.pairwise(who)):
        raise MaterialError(
            f"{path}: context {context.context_id}: in its opening, one speaker has two lines in a row; make them one line"
        )
    personas = (tuple(context.human_persona), tuple(context.bot_persona))
    if who and who[0] == "bot":
        personas = personas[::-1]
    lines = tuple(text for _, text in context.opening) or (HI,)
    return Start(context.context_id, lines, personas, context.topic or "")
