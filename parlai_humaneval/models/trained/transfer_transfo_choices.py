"""Wrong replies to set beside a true one: true replies to something else."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Mapping
from itertools import islice
from typing import Any

KEPT = 1024


class OtherReplies:
    """Remembers the latest true replies of one fold; a wrong one is drawn from them, each as likely as another.

    Args:
        kept: how many are remembered.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._texts: OrderedDict[str, None] = OrderedDict()

    def add(self, text: str) -> None:
        """Remember a true reply."""
        self._texts[text] = None
        self._texts.move_to_end(text)
        if len(self._texts) > self._kept:
            self._texts.popitem(last=False)

    def draw(self, number: int, *, true: str, heard: str, rng: random.Random) -> list[str]:
        """``number`` different replies that are neither ``true`` nor part of the dialogue ``heard``; none if too few."""
        texts = list(self._texts)
        fitting = (text for text in rng.sample(texts, len(texts)) if text != true and text not in heard)
        drawn = list(islice(fitting, number))
        return drawn if len(drawn) == number else []


def offered(example: Mapping[str, Any], true: str) -> list[str]:
    """The task's own candidates for this example; none when the true reply is not among them.

    (Some tasks offer candidates of another kind, as Wizard of Wikipedia does sentences of knowledge.)
    """
    candidates = list(dict.fromkeys(map(str, example.get("label_candidates") or ())))
    return candidates if true in candidates else []


def wrong_replies(
    example: Mapping[str, Any], true: str, number: int, others: OtherReplies, rng: random.Random
) -> list[str]:
    """``number`` wrong replies, of the task's own candidates where it has enough, else of ``others``; else none."""
    own = [candidate for candidate in offered(example, true) if candidate != true]
    if len(own) >= number:
        return rng.sample(own, number)
    return others.draw(number, true=true, heard=str(example.get("full_text") or ""), rng=rng)
