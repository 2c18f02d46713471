"""The quality-control model: a random reply that ignores the person, its meaning distorted besides.

T. Ji et al., “Achieving Reliable Human Assessment of Open-Domain Dialogue Systems”, ACL 2022, §3.2. Raters who do
not rate it lower than the other models are not telling models apart.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parlai.core.loader import register_agent
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser

from parlai_humaneval.models.dialogue_agent import DialogueAgent, Line
from parlai_humaneval.models.small.distortion import CannotDistort, Distorter
from parlai_humaneval.protocol.dialogues.files import PACKAGED_CORPUS, load_dialogues
from parlai_humaneval.protocol.materials.files import MaterialError


class RandomReplies:
    """Every answer of a dialogue file, and the words to distort it with."""

    def __init__(self, path: Path) -> None:
        """Read ``path``.

        Raises:
            MaterialError: when the file cannot be used: among others when it has fewer than two dialogues.
        """
        dialogues = [dialogue.texts for dialogue in load_dialogues(path)]
        if len(dialogues) < 2:
            raise MaterialError(
                f"{path}: holds one dialogue only; the words that distort a reply come from another one, so give a file "
                "with two or more (in ParlAI's text format, “episode_done:True” ends a dialogue)"
            )
        self.distorter = Distorter(dialogues)
        self.replies = [(number, text) for number, texts in enumerate(dialogues) for text in texts[1:]]
        try:
            self.draw(random.Random(0))
        except CannotDistort as error:
            raise MaterialError(f"{path}: {error}; give a file whose dialogues differ") from error

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
