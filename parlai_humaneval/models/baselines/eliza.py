"""ELIZA, the oldest chatbot (J. Weizenbaum, Communications of the ACM 9(1), 1966). The rules are NLTK's."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from parlai.core.loader import register_agent

from parlai_humaneval._util.installing import module_alone
from parlai_humaneval.models.agent.dialogue_agent import DialogueAgent, Line

_eliza = module_alone("nltk.chat.eliza")
if TYPE_CHECKING:
    from nltk.chat.util import Chat
else:
    Chat = _eliza.Chat

_GREETING = re.compile(r"\s*(hi|hey|hello)\b.{0,12}$", re.IGNORECASE)
_GREETINGS = (
    "Hello! How are you feeling today?",
    "Hi there. What is on your mind?",
    "Hello. What would you like to talk about?",
)


class _Rules(Chat):
    """NLTK's rules, with the chance and the choice left to the caller."""

    def replies(self, text: str) -> list[str]:
        for pattern, templates in self._pairs:
            match = pattern.match(text)
            if match:
                said = partial(self._said, match)
                # In one pass: NLTK's own loop never ends when a person types “%1”.
                return [_tidy_reply(re.sub(r"%(\d)", said, template)) for template in templates]
        return []

    def _said(self, match: re.Match[str], slot: re.Match[str]) -> str:
        return str(self._substitute(match.group(int(slot[1]))))


def _tidy_reply(reply: str) -> str:
    reply = re.sub(r"\s+", " ", reply).strip()
    reply = re.sub(r"[.!?]+\s*([.?])$", r"\1", reply)
    reply = re.sub(r"\bi\b", "I", reply)
    return reply[:1].upper() + reply[1:]


_RULES = _Rules(_eliza.pairs, _eliza.reflections)


@register_agent("parlai_humaneval/eliza")
class ElizaAgent(DialogueAgent):
    """Answers by NLTK's ELIZA rules, avoiding what has already been said in this dialogue."""

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        heard = dialogue[-1][1].strip().rstrip(".!")
        said = {text for _, text in dialogue}
        options = list(_GREETINGS) if _GREETING.match(heard) else _RULES.replies(heard)
        fresh = [option for option in options if option not in said]
        return rng.choice(fresh or options or ["Please tell me more."])
