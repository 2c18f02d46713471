"""The quality-control model: a random reply that ignores the person, its meaning distorted besides.

T. Ji et al., “Achieving Reliable Human Assessment of Open-Domain Dialogue Systems”, ACL 2022, §3.2. Raters who do
not rate it lower than the other models are not telling models apart.

Meaning distortion: a few words of a reply are replaced by as many words of another dialogue.

T. Ji et al., “Achieving Reliable Human Assessment of Open-Domain Dialogue Systems”, ACL 2022, §3.2 and
Appendix A.1. A word is what stands between blanks, as in the paper's tokenised training set.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parlai.core.loader import register_agent
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.dialogues.files import PACKAGED_CORPUS, load_dialogues
from parlai_humaneval.models.agent.dialogue_agent import DialogueAgent, Line

Words = tuple[str, ...]

LENGTHS = ((3, 1), (5, 2), (8, 3), (15, 4), (29, 5))
"""(most words in the reply, words replaced); longer replies lose a fifth (App. A.1)."""


class CannotDistort(HumanevalError, ValueError):
    """The reply has no word, or no other dialogue offers a distinct sequence of the length needed."""


def span_length(words: int) -> int:
    """How many of a reply's ``words`` are replaced; 0 for an empty reply."""
    if words < 1:
        return 0
    return next((length for most, length in LENGTHS if words <= most), words // 5)


def span_starts(words: int) -> range:
    """Where the replaced span may begin, from 0. From three words on it spares the first and the last word."""
    if words < 3:
        return range(words)
    return range(1, words - span_length(words))


@dataclass(frozen=True)
class Distorter:
    """The training set, as dialogues of lines. Lines are split on use: a large set fits into memory once."""

    dialogues: Sequence[Sequence[str]]

    def distort(self, reply: str, own: int, rng: random.Random) -> str:
        """``reply``, a line of dialogue number ``own``, with one span replaced; the number of words stays.

        Raises:
            CannotDistort: when there is nothing to replace, or nothing to replace it with.
        """
        words = reply.split()
        if not words:
            raise CannotDistort("the reply has no word")
        start, length = rng.choice(span_starts(len(words))), span_length(len(words))
        replacement = self._replacement(tuple(words[start : start + length]), own, rng)
        return " ".join([*words[:start], *replacement, *words[start + length :]])

    def _replacement(self, span: Words, own: int, rng: random.Random) -> Words:
        """A sequence as long as ``span`` and distinct from it, out of a random other dialogue.

        Within one line where any dialogue has a line that long. Only for spans longer than every line are a
        dialogue's lines taken end to end: the paper asks for a sequence of a dialogue, not of a line.
        """
        others = [number for number in range(len(self.dialogues)) if number != own]
        rng.shuffle(others)
        for end_to_end in (False, True):
            for number in others:
                lines = [tuple(line.split()) for line in self.dialogues[number]]
                texts = [tuple(word for line in lines for word in line)] if end_to_end else lines
                distinct = [found for found in _sequences(texts, len(span)) if _sense(found) != _sense(span)]
                if distinct:
                    return rng.choice(distinct)
        raise CannotDistort(f"no other dialogue has {len(span)} words in a row that differ from “{' '.join(span)}”")


def _sequences(texts: Iterable[Words], length: int) -> list[Words]:
    return [text[start : start + length] for text in texts for start in range(len(text) - length + 1)]


def _sense(words: Sequence[str]) -> list[str]:
    """“Dogs,” for “dogs” would distort nothing, so case and punctuation do not make a sequence distinct."""
    return [word.strip(string.punctuation).casefold() for word in words]


class RandomReplies:
    """Every answer of a dialogue file, and the words to distort it with."""

    def __init__(self, path: Path) -> None:
        """Read ``path``.

        Raises:
            DataError: when the file cannot be used: among others when it has fewer than two dialogues.
        """
        dialogues = [dialogue.texts for dialogue in load_dialogues(path)]
        if len(dialogues) < 2:
            raise DataError(
                "holds one dialogue only, and the words that distort a reply come from another one",
                where=path,
                try_="give a file with two or more (in ParlAI's text format, “episode_done:True” ends a dialogue)",
            )
        self.distorter = Distorter(dialogues)
        self.replies = [(number, text) for number, texts in enumerate(dialogues) for text in texts[1:]]
        try:
            self.draw(random.Random(0))
        except CannotDistort as error:
            raise DataError(error, where=path, try_="give a file whose dialogues differ") from error

    def draw(self, rng: random.Random) -> str:
        """One distorted reply; one that cannot be distorted gives way to the next.

        Raises:
            CannotDistort: when no reply of the file can be distorted.
        """
        first = rng.randrange(len(self.replies))
        for step in range(len(self.replies)):
            dialogue, text = self.replies[(first + step) % len(self.replies)]
            try:
                return self.distorter.distort(text, dialogue, rng)
            except CannotDistort as error:
                reason = error
        raise reason


@register_agent("parlai_humaneval/degraded")
class DegradedAgent(DialogueAgent):
    """Answers at random from a dialogue file, with its meaning distorted (Ji et al. 2022, §3.2 and App. A.1).

    Same dialogue, same seed: same reply.
    """

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt)
        group = parser.add_argument_group("Degraded arguments")
        group.add_argument(
            "--dialogue-file",
            type=str,
            default=str(PACKAGED_CORPUS),
            help="Dialogues to take replies and words from: JSONL, ParlAI's text, fbdialog or Conversations format",
        )
        group.add_argument("--seed", type=int, default=0, help="Decides which replies are drawn")
        return parser

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.replies: RandomReplies = (
            shared["replies"] if shared else RandomReplies(Path(opt.get("dialogue_file") or PACKAGED_CORPUS))
        )

    def share(self) -> dict[str, Any]:
        """The replies are shared by all clones."""
        return {**super().share(), "replies": self.replies}

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        return self.replies.draw(rng)
