"""What a rater's unit will hold, decided when it is taken: items, sides and attention checks in their order."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from parlai_humaneval.schema.records import ShownDialogue


class PlannedItem(BaseModel):
    """An item of the study, or an attention check (``gold``: its number in the file, from 1).

    ``swapped``: the first dialogue stands on the right. ``visit``: the one that drew it, where that is not the one that the
    unit was planned for.
    """

    model_config = ConfigDict(extra="forbid")

    item_id: str
    gold: int | None = None
    swapped: bool = False
    seed: int
    visit: str = ""


class BatchPlan(BaseModel):
    """The items of a unit; where it goes on under a plan of its own, those that were left.

    ``session`` is its name in records, ``name`` that of the visit that it was planned for. ``wanted``: ordinary items of the
    whole unit, ``done``: those of them judged before that; ``number``: place of the first of ``items``, ``numbers``: of the
    last.
    """

    model_config = ConfigDict(extra="forbid")

    session: str
    name: str
    wanted: int
    done: int
    number: int
    numbers: int
    items: list[PlannedItem]
    page_key: str = ""
    language: str = ""

    def judgement_id(self, index: int) -> str:
        """Of the item that stands at an index."""
        return f"{self.items[index].visit or self.name}-{self.number + index}"

    def without(self, lost: Mapping[str, str | None], visit: str) -> BatchPlan:
        """The same plan where items were ``lost`` to others, or attention checks are asked no more: each with what stands in
        its place, None for nothing.

        None after the first of them has begun; the ``visit`` names them, so that none is taken for what began there.
        """
        items: list[PlannedItem] = []
        fewer = 0
        changed = False
        for item in self.items:
            other = lost.get(item.item_id, item.item_id)
            changed = changed or other != item.item_id
            if other is not None:
                update = {"item_id": other, "visit": visit} if changed else {}
                items.append(item.model_copy(update=update))
            elif item.gold is None:
                fewer += 1
        numbers = self.numbers - (len(self.items) - len(items))
        return self.model_copy(update={"items": items, "numbers": numbers, "wanted": self.wanted - fewer})


@dataclass(frozen=True)
class ItemToJudge:
    """An item as it goes to one rater; see :class:`~parlai_humaneval.schema.records.JudgementRecord`.

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
