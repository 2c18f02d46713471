"""What a rater's unit will hold, decided when it is taken: items, sides and attention checks in their order."""

from __future__ import annotations

import random
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from parlai_humaneval.protocol.records.judgement import ShownDialogue


class PlannedItem(BaseModel):
    """An item of the study, or an attention check (``gold``: its number in the file, from 1).

    ``swapped``: the first dialogue stands on the right.
    """

    model_config = ConfigDict(extra="forbid")

    item_id: str
    gold: int | None = None
    swapped: bool = False
    seed: int


class BatchPlan(BaseModel):
    """The items that are still to be judged of a unit.

    ``session`` is its name in records, ``name`` that of this visit. ``wanted``: ordinary items of the whole unit,
    ``done``: those of them judged in earlier visits; ``number``: place of the first of ``items``, ``numbers``: of the last.
    """

    model_config = ConfigDict(extra="forbid")

    session: str
    name: str
    wanted: int
    done: int
    number: int
    numbers: int
    items: list[PlannedItem]


@dataclass(frozen=True)
class ItemToJudge:
    """An item as it goes to one rater; see :class:`~parlai_humaneval.protocol.records.judgement.JudgementRecord`.

    ``turn``: the turn whose replies are ranked, where that is asked.
    """

    judgement_id: str
    item_id: str
    group: tuple[str, ...]
    setting: str
    dialogues: list[ShownDialogue]
    seed: int
    session: str
    number: int
    numbers: int
    expected: dict[str, str] | None = None
    turn: int | None = None


def plan_batch(
    *,
    session: str,
    name: str,
    item_ids: list[str],
    golds: list[int],
    done: int,
    wanted: int,
    swap: bool,
    seed: int,
    golds_done: int = 0,
) -> BatchPlan:
    """Attention checks fall among the items at random, sides are swapped at random; all hangs on ``seed`` and ``name``.

    None is the first of a unit: somebody who leaves after a check has judged something by then, and goes on later.

    Args:
        session: the unit's name in records.
        name: of this visit.
        item_ids: in the order in which they were drawn.
        golds: numbers of the attention checks.
        done: items judged in earlier visits.
        wanted: items of the whole unit.
        swap: whether there are two sides.
        seed: the study's.
        golds_done: attention checks judged in earlier visits.
    """
    chance = random.Random(f"batch:{seed}:{name}")
    judged = done + golds_done
    first = 0 if judged else 1
    entries: list[tuple[str, int | None]] = [(item_id, None) for item_id in item_ids]
    for gold in golds:
        entries.insert(chance.randint(min(first, len(entries)), len(entries)), (f"gold:{gold}", gold))
    items = [
        PlannedItem(item_id=item_id, gold=gold, swapped=swap and chance.random() < 0.5, seed=chance.getrandbits(31))
        for item_id, gold in entries
    ]
    return BatchPlan(
        session=session,
        name=name,
        wanted=wanted,
        done=done,
        number=judged + 1,
        numbers=judged + len(items),
        items=items,
    )
