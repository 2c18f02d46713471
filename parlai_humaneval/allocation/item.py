"""What a rater of finished dialogues is given: an item shows one or two dialogues, and is judged by one or more people."""

from __future__ import annotations

from dataclasses import dataclass

from parlai_humaneval.allocation.groups import Cell


@dataclass(frozen=True)
class Item:
    """One thing to judge.

    ``item_id`` is the same in every launch over the same dialogues. ``cell``: what is balanced, the models (``human``
    for people) under a metric and setting. ``dialogues``: ids of what is shown; no worker meets one of them twice.
    ``judged``: for each dialogue the index of the speaker who is asked about (0: who speaks first), None: both.
    ``k``: exchanges to show, None: all. ``turn``: the one turn that is asked about, None: all of them, or none.
    ``wanted``: judgements that the item needs, and the most that it gets.
    """

    item_id: str
    cell: Cell
    dialogues: tuple[str, ...]
    judged: tuple[int | None, ...] = (None,)
    k: int | None = None
    turn: int | None = None
    wanted: int = 1


@dataclass(frozen=True)
class PastJudgement:
    """What a database knows of one earlier judgement: enough to go on with the counts.

    ``session``: the unit of work it belongs to; ``complete``: it was answered (else it was only seen). ``numbers``: items
    of that unit, 0 where it is not known, and then nothing of the unit is missing.
    """

    item_id: str
    cell: Cell
    dialogues: tuple[str, ...]
    worker: str
    session: str
    complete: bool
    numbers: int
