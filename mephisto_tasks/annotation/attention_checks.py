"""Attention checks among the items of a unit: pairs and segments whose right answer is known."""

from __future__ import annotations

import random
import threading
from collections import Counter, defaultdict
from pathlib import Path

from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.display import shown_dialogue
from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.dialogues.dialogue import Dialogue, SaidLine
from parlai_humaneval.i18n.translate import t
from parlai_humaneval.materials.practice import PairItem, Practice, PracticeItem, SegmentItem, load_practice
from parlai_humaneval.schema.records import ShownDialogue

PREFIX = "gold:"
"""Ids of attention checks begin with it."""


class GoldDeck:
    """Gives each worker attention checks that they have not seen; thread-safe.

    Args:
        practice: the checks; None: there are none.
        per_unit: so many a unit, as long as there are new ones.
        seed: of the order.
    """

    def __init__(self, practice: Practice | None, per_unit: int, seed: int) -> None:
        self.items = [] if practice is None else list(practice.items)
        self._per_unit = per_unit
        self._seed = seed
        self._seen: dict[str, set[int]] = defaultdict(set)
        self._judged: Counter[str] = Counter()
        self._lock = threading.Lock()

    def note_shown(self, worker: str, item_id: str) -> None:
        """The worker meets an attention check, in this launch or an earlier one."""
        with self._lock:
            self._seen[worker].add(int(item_id.removeprefix(PREFIX)))

    def note_judged(self, session: str) -> None:
        """An attention check of the unit was answered."""
        with self._lock:
            self._judged[session] += 1

    def judged(self, session: str) -> int:
        """Attention checks of the unit that were answered."""
        with self._lock:
            return self._judged[session]

    def draw(self, worker: str, session: str, visit: str) -> list[int]:
        """Numbers (from 1) of the checks that a unit still lacks; ``visit`` names its part of the chance.

        Who leaves while a check is on the page gets another one in its place: none is got round by that.
        """
        with self._lock:
            fresh = [number for number in range(1, len(self.items) + 1) if number not in self._seen[worker]]
            random.Random(f"golds:{self._seed}:{visit}").shuffle(fresh)
            return fresh[: max(0, self._per_unit - self._judged[session])]

    def has(self, number: int) -> bool:
        """Whether there is one of this number; there is none any more where a study asks no checks from now on."""
        return number <= len(self.items)

    def item(self, number: int) -> PracticeItem:
        return self.items[number - 1]


def load_golds(path: Path, config: StaticConfig) -> Practice:
    """The attention checks of a study.

    Raises:
        DataError: a file that cannot be used, or checks that this study cannot ask.
    """
    golds = load_practice(path, config.metric)
    for number, item in enumerate(golds.items, start=1):
        if isinstance(item, SegmentItem) and any(len(right) > 1 for right in item.right):
            raise DataError(f"item {number}: an attention check has one right label for each speaker", where=path)
    return golds


def shown_pair(item: PairItem, name: str, swapped: bool = False) -> list[ShownDialogue]:
    """The two dialogues of an item of practice; on the left stands the first, unless they are ``swapped``."""
    order = (1, 0) if swapped else (0, 1)
    return [
        shown_dialogue(
            _dialogue(item.conversations[index], f"{name}:{index + 1}"), position=position, judged=item.judged - 1
        )
        for position, index in enumerate(order, start=1)
    ]


def shown_segment(item: SegmentItem, name: str) -> list[ShownDialogue]:
    """The dialogue of an item of practice."""
    return [shown_dialogue(_dialogue(item.lines, name))]


def right_side(item: PairItem, swapped: bool = False) -> str:
    """The right option of a pair as it is shown."""
    on_left = (item.better == 1) != swapped
    return "first" if on_left else "second"


def _dialogue(lines: list[str], name: str) -> Dialogue:
    said = tuple(SaidLine(f"speaker_{number % 2 + 1}", t(text)) for number, text in enumerate(lines))
    return Dialogue(name, said, (), 1, entities={"speaker_1": "practice", "speaker_2": "practice"})
