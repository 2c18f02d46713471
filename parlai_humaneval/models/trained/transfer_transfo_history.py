"""A dialogue as TransferTransfo reads it: who the speakers are, then what each said, marked by the speaker.

``<bos> own persona and knowledge <speaker1> the partner's persona <speaker1> Hi! <speaker2> Hello, …``
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parlai.core.message import Message
from parlai.core.opt import Opt
from parlai.core.torch_agent import History

from parlai_humaneval.models.trained.transfer_transfo_tokens import BOS, PARTNER, SELF, ids_of
from parlai_humaneval.protocol.materials.persona_lines import split_persona


class SpeakerHistory(History):
    """Keeps the turns of a dialogue apart by their speakers, and personas apart from what was said.

    Persona lines count as such until the partner has said something; later they are the partner's own words.
    Speaker tokens stand in place of ParlAI's delimiter and person tokens, whose options change nothing.

    Options:
        max_history: exchanges besides the last message that are read (authors' code: 2); below 0: all.
        history_size: ParlAI's: turns that are read; below 1: no limit.
    """

    def __init__(self, opt: Opt, **arguments: Any) -> None:
        super().__init__(opt, **arguments)
        most = 2 * int(opt.get("max_history", 2)) + 1
        self._kept = min(limit for limit in (most, self.size, 10**9) if limit > 0)
        self._bos, self._partner, self._self = ids_of(self.dict, (BOS, PARTNER, SELF))
        self.reset()

    def reset(self) -> None:
        """Forget the dialogue and the personas."""
        super().reset()
        self.own: list[str] = []
        self.partners: list[str] = []
        self.turns: list[list[int]] = []
        self._heard_partner = False

    def update_history(self, obs: Message, temp_history: str | None = None) -> None:
        """Hear the partner."""
        text = str(obs.get(self.field) or "")
        if not self._heard_partner:
            heard = split_persona(text)
            self.own += heard.own
            self.partners += heard.partner
            text = heard.said
        if text:
            self._heard_partner = True
            self._add(self._partner, text)

    def add_reply(self, text: str) -> None:
        """Hear what was said in the model's name."""
        self._add(self._self, text)

    def _add(self, speaker: int, text: str) -> None:
        self.history_strings.append(text)
        self.turns.append([speaker, *self.parse(text)])

    def get_history_str(self) -> str:
        """All that is known, as lines of text."""
        return "\n".join([*self.own, *self.partners, *self.history_strings])

    def get_history_vec(self) -> list[int]:
        """All token ids; see :meth:`context`."""
        return self.context()

    def context(self, knowledge: str = "", most: int | None = None) -> list[int]:
        """Token ids of who the speakers are, of ``knowledge`` and of the latest turns.

        Args:
            knowledge: what the model knows for this turn; it stands behind its persona.
            most: the longest list returned. Of older turns the beginning is cut; the start loses its end only when
                it alone would take more than half of ``most`` and the turns need the place.
        """
        turns = self.turns[-self._kept :]
        start = self._start(knowledge)
        if most is not None:
            start = start[: max(most // 2, most - sum(map(len, turns)))]
            turns = _latest(turns, most - len(start))
        return [*start, *(token for turn in turns for token in turn)]

    def _start(self, knowledge: str) -> list[int]:
        own = " ".join([*self.own, *([knowledge] if knowledge else [])])
        start = [self._bos, *self.parse(own)]
        return [*start, self._partner, *self.parse(" ".join(self.partners))] if self.partners else start


def _latest(turns: Sequence[list[int]], most: int) -> list[list[int]]:
    """The last turns in at most ``most`` tokens; the oldest of them keeps its speaker, and loses its beginning."""
    kept: list[list[int]] = []
    for turn in reversed(turns):
        if len(turn) > most:
            return [[turn[0], *turn[len(turn) - most + 1 :]], *kept] if most > 1 else kept
        kept.insert(0, turn)
        most -= len(turn)
    return kept
