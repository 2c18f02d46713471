"""The first exchanges of dialogues, for raters who say who is a human and who is a bot (Deriu et al. 2020, §3.1)."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.allocation.groups import Cell
from parlai_humaneval.allocation.item import Item
from parlai_humaneval.allocation.pairing import NotEnough
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue


def segment_items(
    bot_dialogues: Sequence[Dialogue],
    human_dialogues: Sequence[Dialogue],
    lengths: Sequence[int],
    human_share: float,
    per_item: int,
    metric: str,
    *,
    seeded: int = 0,
    seed: int,
) -> list[Item]:
    """Each dialogue at each length is an item.

    Args:
        bot_dialogues: all of them are used.
        human_dialogues: between people; so many are drawn that the share comes true, as near as can be; at least one.
        lengths: exchanges of the segments, without those of the seed.
        human_share: dialogues between people among all, in [0, 1).
        per_item: judgements of a segment.
        metric: of the cells.
        seeded: exchanges at the beginning that no model has said; they are shown before all segments.
        seed: of the draw.

    Raises:
        NotEnough: too few dialogues between people.
        DataError: a dialogue that is shorter than a segment, or whose speakers are not known.
        ValueError: lengths or a share that cannot be.
    """
    if not lengths or min(lengths) < 1 or len(set(lengths)) < len(lengths):
        raise ValueError(f"the lengths of segments are different numbers from 1, such as [2,3,5]; got {list(lengths)}")
    if not 0 <= human_share < 1:
        raise ValueError(f"the share of dialogues between people is at least 0 and less than 1, not {human_share}")
    if not bot_dialogues:
        raise NotEnough(
            "there is no dialogue with a model in it", try_="name files or tasks of them, or models that are to talk"
        )
    _long_enough(bot_dialogues, max(lengths), seeded, "dialogues")
    people = _drawn(human_dialogues, len(bot_dialogues), human_share, max(lengths), seeded, seed)
    return [
        Item(
            f"{metric}:{dialogue.dialogue_id}:{k}",
            Cell(tuple(sorted(dialogue.known_entities())), metric),
            (dialogue.dialogue_id,),
            k=k,
            wanted=per_item,
        )
        for dialogue in [*bot_dialogues, *people]
        for k in lengths
    ]


def _long_enough(dialogues: Sequence[Dialogue], k: int, seeded: int, what: str) -> None:
    short = [one for one in dialogues if one.exchanges < k + seeded]
    if short:
        first = short[0]
        after = f" after {seeded} of the seed" if seeded else ""
        raise DataError(
            f"dialogue {first.dialogue_id} has {first.exchanges} complete exchange(s), but the longest "
            f"segment takes {k}{after} ({len(dialogues) - len(short)} of the {len(dialogues)} {what} are long enough)",
            where=first.place,
            try_="shorten the segments, or name longer dialogues",
        )


def _drawn(people: Sequence[Dialogue], bots: int, share: float, k: int, seeded: int, seed: int) -> list[Dialogue]:
    """``share`` = people / (people + bots), solved for the people. Short ones are passed over, as there is a choice."""
    if not share:
        return []
    number = max(1, math.floor(bots * share / (1 - share) + 0.5))
    fit = [one for one in people if one.exchanges >= k + seeded]
    if people and not fit:
        _long_enough(people, k, seeded, "dialogues between people")
    if number > len(fit):
        raise NotEnough(
            f"a share of {share:g} beside {bots} dialogues with models takes {number} dialogues between "
            f"people, but of {len(people)} only {len(fit)} are long enough for the longest segment",
            try_=f"name more, or lower the share to {math.floor(100 * len(fit) / (len(fit) + bots)) / 100:g}",
        )
    for one in fit:
        if set(one.known_entities()) != {HUMAN}:
            raise DataError(
                f"dialogue {one.dialogue_id} is not between people",
                where=one.place,
                try_="leave it out, or say that both speakers are human",
            )
    return random.Random(f"people:{seed}").sample(fit, number)
