"""The quality-control model: a random reply, its meaning distorted by words of another dialogue. T. Ji et al.,
“Achieving Reliable Human Assessment of Open-Domain Dialogue Systems”, ACL 2022, §3.2 and Appendix A.1."""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from parlai.core.loader import register_agent
from parlai.core.opt import Opt

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.dialogues.files import PACKAGED_CORPUS, load_dialogues
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.models.agent.dialogue_agent import DialogueAgent, Line

Words = tuple[str, ...]

LENGTHS = ((3, 1), (5, 2), (8, 3), (15, 4), (29, 5))
"""(most words in the reply, words replaced); longer replies lose a fifth (App. A.1)."""


def span_length(words: int) -> int:
    if words < 1:
        return 0
    return next((length for most, length in LENGTHS if words <= most), words // 5)


def span_starts(words: int) -> range:
    """Where the replaced span may begin, from 0. From three words on it spares the first and the last word."""
    return range(words) if words < 3 else range(1, words - span_length(words))


@dataclass(frozen=True)
class Distorter:
    """The training set, as dialogues of lines. Lines are split on use: a large set fits into memory once."""

    dialogues: Sequence[Sequence[str]]

    def distort(self, reply: str, own: int, rng: random.Random) -> str:
        """``reply`` of dialogue number ``own`` with one span replaced; InvalidValue where there is nothing to replace
        it with."""
        words = reply.split()
        if not words:
            raise InvalidValue("the reply has no word")
        start, length = rng.choice(span_starts(len(words))), span_length(len(words))
        replacement = self._replacement(tuple(words[start : start + length]), own, rng)
        return " ".join([*words[:start], *replacement, *words[start + length :]])

    def _replacement(self, span: Words, own: int, rng: random.Random) -> Words:
        """A distinct sequence as long as ``span`` of a random other dialogue: in one line if any is long enough, else
        end to end."""
        others = [number for number in range(len(self.dialogues)) if number != own]
        rng.shuffle(others)
        for end_to_end in (False, True):
            for number in others:
                lines = [tuple(line.split()) for line in self.dialogues[number]]
                texts = [tuple(word for line in lines for word in line)] if end_to_end else lines
                starts = ((text, at) for text in texts for at in range(len(text) - len(span) + 1))
                sequences = [text[at : at + len(span)] for text, at in starts]
                distinct = [found for found in sequences if _sense(found) != _sense(span)]
                if distinct:
                    return rng.choice(distinct)
        raise InvalidValue(f"no other dialogue has {len(span)} words in a row that differ from “{' '.join(span)}”")


def _sense(words: Sequence[str]) -> list[str]:
    """“Dogs,” for “dogs” would distort nothing, so case and punctuation do not make a sequence distinct."""
    return [word.strip(string.punctuation).casefold() for word in words]


class RandomReplies:
    """Every answer of a dialogue file, and the words to distort it with."""

    def __init__(self, path: Path) -> None:
        dialogues = [dialogue.texts for dialogue in load_dialogues(path)]
        if len(dialogues) < 2:
            raise DataError(worded(__file__, "other_dialogues"), where=path)
        self.distorter = Distorter(dialogues)
        self.replies = [(number, text) for number, texts in enumerate(dialogues) for text in texts[1:]]
        try:
            self.draw(random.Random(0))
        except InvalidValue as error:
            raise DataError(error, where=path, try_="give a file whose dialogues differ") from error

    def draw(self, rng: random.Random) -> str:
        first = rng.randrange(len(self.replies))
        for step in range(len(self.replies)):
            dialogue, text = self.replies[(first + step) % len(self.replies)]
            try:
                return self.distorter.distort(text, dialogue, rng)
            except InvalidValue as error:
                reason = error
        raise reason


@register_agent("parlai_humaneval/degraded")
class DegradedAgent(DialogueAgent):
    """Answers at random from a dialogue file, with its meaning distorted. Same dialogue, same seed: same reply."""

    OPTIONS = "degraded"
    KNOWN: ClassVar = {"dialogue_file": {"default": str(PACKAGED_CORPUS)}}
    SHARED = ("replies",)

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.replies: RandomReplies = (
            shared["replies"] if shared else RandomReplies(Path(opt.get("dialogue_file") or PACKAGED_CORPUS))
        )

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        return self.replies.draw(rng)
